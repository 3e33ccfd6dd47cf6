package ingest

import (
	"path"
	"strings"
	"time"

	"leakdiff/analysis"
)

// when resolves the time from a collector's manifest, the data itself or names. If none
// of them has one, the times of files may decide (dateByFiles).
func (b *builder) when(s *analysis.Snapshot) {
	if at, where := b.r.manifestTime(b.g.dir); !at.IsZero() {
		s.CapturedAt = at
		s.TimeFact = analysis.Fact{Value: at.Format(time.RFC3339Nano), Source: where, Confidence: analysis.High}
	}
	for _, p := range b.g.parts {
		if p.inner.IsZero() || p.heap != nil && b.g.lists() {
			continue
		}
		if s.CapturedAt.IsZero() {
			s.CapturedAt = p.inner.UTC()
			s.TimeFact = analysis.Fact{Value: s.CapturedAt.Format(time.RFC3339Nano), Source: p.timeSource(), Confidence: analysis.High}
			s.Zoneless = p.zoneless
		} else if d := p.inner.Sub(s.CapturedAt).Abs(); d > sameInstant && !p.zoneless {
			if s.Times == nil {
				s.Times = map[analysis.Kind]time.Time{}
			}
			s.Times[p.kind()] = p.inner.UTC()
		}
	}
	if !s.CapturedAt.IsZero() {
		return
	}
	if at, where, ok := b.namedTime(); ok {
		s.CapturedAt = at
		s.TimeFact = analysis.Fact{Value: at.Format(time.RFC3339), Source: where, Confidence: analysis.Medium}
		return
	}
	for _, p := range b.g.context {
		if !p.ran.IsZero() {
			s.CapturedAt = p.ran
			s.TimeFact = analysis.Fact{Value: p.ran.Format(time.RFC3339), Source: "date in " + path.Base(p.path) + " of the collector", Confidence: analysis.Medium}
			return
		}
	}
	for _, p := range append(append([]*part{}, b.g.context...), b.g.parts...) {
		if (p.contention != nil || p.heap != nil || p.figures != nil) && !p.inner.IsZero() {
			s.CapturedAt = p.inner.UTC()
			s.TimeFact = analysis.Fact{Value: s.CapturedAt.Format(time.RFC3339Nano), Source: p.timeSource(), Confidence: analysis.Medium}
			return
		}
	}
	if at, ok := timeInName(b.r.archive); ok && (b.r.lone || b.oneCapture()) {
		s.CapturedAt = at
		s.TimeFact = analysis.Fact{Value: at.Format(time.RFC3339), Source: "name of the upload", Confidence: analysis.Medium}
	}
}

// oneCapture reports whether a known collector puts one capture of each host into
// such an archive.
func (b *builder) oneCapture() bool {
	for _, p := range b.g.parts {
		if p.placing.captured {
			return true
		}
	}
	return false
}

// timeSource names the source of the inner time.
func (p *part) timeSource() string {
	source := "time inside " + path.Base(p.path)
	if p.source != "" && !p.printed() {
		source = "time of the log lines in " + path.Base(p.path)
	}
	if p.zoneless {
		source += ", which names no zone and is taken as UTC"
	}
	if p.dayless {
		source += ", and no day: the last one that fits is taken"
	}
	return source
}

// manifestTime finds captured_at in the directory or, nearest first, above it.
func (r *reader) manifestTime(dir string) (time.Time, string) {
	if r.manifests == nil {
		r.manifests = map[string]*part{}
		for _, p := range r.parts {
			if !p.captured.IsZero() && r.manifests[p.dir] == nil {
				r.manifests[p.dir] = p
			}
		}
	}
	for {
		if p := r.manifests[dir]; p != nil {
			return p.captured, p.path
		}
		if dir == "" {
			return time.Time{}, ""
		}
		dir = strings.TrimSuffix(directoryOf(dir), "/")
	}
}

func (b *builder) namedTime() (time.Time, string, bool) {
	named := b.g.parts
	if len(named) == 0 { // metrics alone
		named = b.g.context
	}
	for _, p := range named {
		if !p.placing.at.IsZero() {
			return p.placing.at, "path of a " + p.placing.product, true
		}
		if at, ok := timeInName(path.Base(p.where())); ok {
			return at, "file name", true
		}
	}
	parts := strings.Split(b.g.dir, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if at, ok := timeInName(parts[i]); ok {
			return at, "directory name", true
		}
	}
	return time.Time{}, "", false
}
