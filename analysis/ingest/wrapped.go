package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"leakdiff/analysis"
	"leakdiff/analysis/detect"
	"leakdiff/analysis/envelope"
)

// readWrapped reads the dumps that a log, a JSON string or a page carries. Each
// is freed of its wrapping, named by its content like any file, and read by the
// same parser; its places are then those in the file that carries it.
func readWrapped(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	sections, info, problems, err := envelope.Unwrap(body, envelope.Config{Path: p.path, Now: r.cfg.Now()})
	r.problems = append(r.problems, problems...)
	var parts []*part
	for i := range sections {
		found, fault := r.section(&sections[i], p, a)
		if fault != nil {
			r.refused(p.path, fault)
		}
		parts = append(parts, found...)
	}
	if len(parts) == 0 {
		if a.Kind != detect.Wrapped {
			a.Status = analysis.Ignored
		}
		if info.LoneHeaders > 0 && a.Kind == detect.Wrapped {
			a.Outcome = plural(info.LoneHeaders, "crash trace", "crash traces") + ", no dump"
		}
		return err
	}
	if a.Kind != detect.Wrapped {
		a.Kind, a.Confidence = detect.Wrapped, analysis.High
		a.Reason = fmt.Sprintf("%s in it: %s", plural(len(parts), "dump", "dumps"), info.Form)
	}
	a.Members = 0
	for i, q := range parts {
		q.ordinal, q.section = i, true
		n, _ := q.own()
		a.Members += n
		if len(parts) > 1 {
			q.outcome = fmt.Sprintf("dump %d of %d: %s", i+1, len(parts), q.outcome)
		}
	}
	a.Status = analysis.Read
	a.Outcome = plural(a.Members, "goroutine", "goroutines")
	if parts[0].threads != nil {
		a.Outcome = plural(a.Members, "thread", "threads")
	}
	if len(parts) > 1 {
		a.Outcome += fmt.Sprintf(" in %d dumps", len(parts))
	}
	r.parts = append(r.parts, parts...)
	return nil
}

// section reads one unwrapped dump as the file that it would have been.
func (r *reader) section(s *envelope.Section, p *part, a *analysis.Artifact) ([]*part, error) {
	body, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	rest := bufio.NewReaderSize(body, detect.SniffLimit)
	head, err := rest.Peek(detect.SniffLimit)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	found := detect.Sniff(detect.Head{Bytes: head, Path: "", Size: s.Bytes, Whole: int64(len(head)) == s.Bytes})
	read := r.formats[found.Kind]
	if read == nil || !holdsMembers[found.Kind] {
		return nil, nil
	}
	inner := &part{path: p.path, form: found.Kind, modified: p.modified, artifact: -1}
	before, problems := len(r.parts), len(r.problems)
	var counts analysis.Artifact
	err = read(r, rest, inner, &counts)
	parts := append([]*part{}, r.parts[before:]...)
	r.parts = r.parts[:before]
	if len(parts) == 0 && inner.says() {
		parts = append(parts, inner)
	}
	for i := problems; i < len(r.problems); i++ {
		if at := &r.problems[i]; at.Offset >= 0 {
			at.Line, at.Offset = s.Locate(at.Offset)
		}
	}
	for _, q := range parts {
		q.relocate(s)
		q.name, q.host = s.Source.Program, s.Source.Host
		if q.name == "" {
			q.name = s.Source.Container
		}
		if s.Source.Pod != "" {
			// A pod's own host name; the pods of one node are not one process.
			q.host = s.Source.Pod
		}
		if q.pid == 0 {
			q.pid = s.Source.PID
		}
		q.source = s.Form
		if !s.Time.IsZero() && (q.inner.IsZero() || q.zoneless && !s.Zoneless) {
			// The dump's own line names no zone; the log's does.
			q.inner, q.zoneless, q.dayless = s.Time, s.Zoneless, s.Dayless
		}
		if s.Truncated {
			r.cut(q)
		}
		a.Truncated = a.Truncated || s.Truncated || counts.Truncated
		if q.outcome == "" {
			q.outcome = counts.Outcome
		}
	}
	return parts, err
}

// holdsMembers are the kinds whose dumps are looked for inside other text.
var holdsMembers = map[string]bool{
	detect.GoroutineDebug2: true, detect.GoroutineCrash: true, detect.GoroutineDebug1: true,
	detect.ThreadDump: true, detect.ThreadJSON: true,
}

// relocate turns places in the unwrapped text into places in the file.
func (p *part) relocate(s *envelope.Section) {
	if p.text != nil {
		for _, c := range p.text.stacks {
			c.Packed = relocated(&c.Packed, s)
		}
	}
	if p.threads != nil {
		for _, g := range p.threads.groups {
			m := &g.Members
			for i := range m.Offset {
				m.Line[i], m.Offset[i], m.Length[i] = spanOf(s, m.Offset[i], m.Length[i])
			}
		}
	}
	if p.profile != nil {
		for i := range p.profile.offsets {
			rec := &p.profile.offsets[i]
			_, end := s.Locate(rec.Offset + rec.Length)
			rec.Line, rec.Offset = s.Locate(rec.Offset)
			rec.Length = max(end-rec.Offset, 0)
		}
	}
}

// spanOf is the place in the file of length bytes at an offset of the unwrapped text.
func spanOf(s *envelope.Section, offset int64, length int32) (line, at int64, n int32) {
	_, end := s.Locate(offset + int64(length))
	line, at = s.Locate(offset)
	return line, at, int32(min(max(end-at, 0), 1<<31-1))
}

func relocated(p *analysis.Packed, s *envelope.Section) (out analysis.Packed) {
	for m := range p.All() {
		m.Line, m.Offset, m.Length = spanOf(s, m.Offset, m.Length)
		out.Append(m)
	}
	return out
}
