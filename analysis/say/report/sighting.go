package report

import (
	"math"
	"slices"
	"strings"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
)

// sighting is a family in one snapshot.
type sighting struct {
	snapshot int
	group    *analysis.Group
}

// lastOf returns the last snapshot that has each family.
func (j *JudgedSeries) lastOf() map[string]sighting {
	out := make(map[string]sighting, len(j.Trend.Families))
	for i := len(j.Snapshots) - 1; i >= 0; i-- {
		for k := range j.Snapshots[i].Groups {
			g := &j.Snapshots[i].Groups[k]
			if _, ok := out[g.Family.Fingerprint]; !ok {
				out[g.Family.Fingerprint] = sighting{i, g}
			}
		}
		if len(out) == len(j.Trend.Families) {
			break
		}
	}
	return out
}

// judgedAt is the last snapshot that has a family. If its cause went away, it is the
// snapshot just before.
func (j *JudgedSeries) judgedAt(f *analysis.Family, last sighting) sighting {
	at := j.Judged[f.Fingerprint].RecoveredAt - 1
	if at < 0 {
		return last
	}
	if before := GroupOf(j.Snapshots[at], f.Fingerprint); before != nil {
		return sighting{at, before}
	}
	return last
}

// seen is a family as the catalogue needs it.
func (j *JudgedSeries) seen(f *analysis.Family, at sighting) knowledge.Seen {
	judgement, g, s := j.Judged[f.Fingerprint], at.group, j.Snapshots[at.snapshot]
	return knowledge.Seen{
		Family: f, Program: s.Process.Name.Value, States: g.States, Count: g.Count, OldestWait: g.OldestWait,
		Timed:   f.Kind == analysis.KindGoroutine && len(g.States) > 0,
		Verdict: judgement.Verdict, Proven: j.proven(f.Fingerprint, judgement), Followed: judgement.Survivors >= 0, Marked: hasRule(judgement, "leaked_mark"),
		Stayed: sync.OnceValue(func() int { return j.stayed(f.Fingerprint, at) }), Span: j.minutes(j.Trend.EpochStart(at.snapshot), at.snapshot),
		Rise:     func() knowledge.Rise { return j.riseOf(f.Fingerprint, at) },
		Versions: j.versionsOf(g, at.snapshot),
	}
}

func hasRule(judgement analysis.Judgement, rule string) bool {
	return slices.ContainsFunc(judgement.Evidence, func(e analysis.Evidence) bool { return e.Rule == rule })
}

// minutes is the time between two snapshots, 0 if one has no time.
func (j *JudgedSeries) minutes(from, to int) int {
	a, b := j.Snapshots[from].CapturedAt, j.Snapshots[to].CapturedAt
	if a.IsZero() || b.IsZero() {
		return 0
	}
	return int(b.Sub(a).Minutes())
}

// stayed is the number of minutes for which the oldest member of a snapshot has been
// seen in snapshots of the same run, -1 if members or times are unknown.
func (j *JudgedSeries) stayed(fingerprint string, at sighting) int {
	if !at.group.Members.Identified() || j.Snapshots[at.snapshot].CapturedAt.IsZero() {
		return -1
	}
	there := make(map[analysis.Identity]bool, at.group.Members.Len())
	for id := range at.group.Members.Identities() {
		there[id] = true
	}
	for i := j.Trend.EpochStart(at.snapshot); i < at.snapshot; i++ {
		g := GroupOf(j.Snapshots[i], fingerprint)
		if g == nil || j.Snapshots[i].CapturedAt.IsZero() || !g.Members.Identified() {
			continue
		}
		for id := range g.Members.Identities() {
			if there[id] {
				return j.minutes(i, at.snapshot)
			}
		}
	}
	return 0
}

// riseOf is the rise of a family in the run of the process of a sighting.
func (j *JudgedSeries) riseOf(fingerprint string, at sighting) knowledge.Rise {
	out := knowledge.Rise{Present: -1}
	counts, start := j.Trend.Counts(fingerprint), j.Trend.EpochStart(at.snapshot)
	count := func(i int) int { return counts[i].N }
	first, began := -1, -1
	for i := start; i <= at.snapshot; i++ {
		if first < 0 && count(i) > 0 {
			first = i
		}
		if began < 0 && count(i) > count(start) {
			began = i
		}
	}
	taken := j.Snapshots[at.snapshot].CapturedAt
	if began >= 0 {
		out.Began, first = j.Snapshots[began].CapturedAt, began
	}
	if first >= 0 && !taken.IsZero() && !j.Snapshots[first].CapturedAt.IsZero() {
		out.Present = j.minutes(first, at.snapshot)
	}
	born := 0
	for _, c := range j.Trend.Cohorts(fingerprint) {
		if c.From >= start && c.To <= at.snapshot {
			born += c.Born
		}
	}
	if span := taken.Sub(j.Snapshots[start].CapturedAt).Minutes(); span > 0 && !j.Snapshots[start].CapturedAt.IsZero() {
		out.PerMinute = float64(born) / span
	}
	out.Level = j.Trend.Levelled(fingerprint)
	return out
}

// proven reports a growth that identities or a unit prove.
func (j *JudgedSeries) proven(fingerprint string, judgement analysis.Judgement) bool {
	if j.Trend.UnitOf(fingerprint) != "" {
		return true
	}
	return judgement.Verdict == analysis.Leaking && (judgement.Survivors >= 0 || hasRule(judgement, "leaked_mark") || hasRule(judgement, "ages"))
}

// versionsOf returns the versions in a snapshot, or in the nearest one before it: a
// page of metrics that hangs has no version.
func (j *JudgedSeries) versionsOf(g *analysis.Group, at int) knowledge.SeenVersions {
	out := knowledge.SeenVersions{Program: j.Snapshots[at].Process.Name.Value}
	out.Listed = j.packages()
	for i := at; i >= j.Trend.EpochStart(at); i-- {
		if p := &j.Snapshots[i].Process; p.Version.Known() {
			out.Release, out.Source = p.Release(), p.Version.Source
			break
		}
	}
	out.Files = func() []string { return append(modules(g), j.modulesOf(j.Trend.Epochs[at])...) }
	return out
}

// modules returns the file names of a group's first stack that contain a module's
// version.
func modules(g *analysis.Group) []string {
	if len(g.Variants) == 0 || g.Variants[0].Stack == nil {
		return nil
	}
	var out []string
	for _, f := range g.Variants[0].Stack.Frames {
		if strings.Contains(f.File, "@v") {
			out = append(out, f.File)
		}
	}
	return out
}

// modulesOf returns such file names of all stacks of one run of the process, by its
// last snapshot with goroutines.
func (j *JudgedSeries) modulesOf(epoch int) []string {
	if files, ok := j.files[epoch]; ok {
		return files
	}
	var out []string
	seen := map[string]bool{}
	for i := len(j.Snapshots) - 1; i >= 0 && out == nil; i-- {
		if j.Trend.Epochs[i] != epoch {
			continue
		}
		for k := range j.Snapshots[i].Groups {
			for _, file := range modules(&j.Snapshots[i].Groups[k]) {
				at := strings.Index(file, "@v")
				if end := strings.IndexByte(file[at:], '/'); end > 0 {
					file = file[:at+end+1]
				}
				if !seen[file] {
					seen[file] = true
					out = append(out, file)
				}
			}
		}
	}
	if j.files == nil {
		j.files = map[int][]string{}
	}
	j.files[epoch] = out
	return out
}

// unitsOf counts the units of healthy goroutines.
func unitsOf(s *analysis.Snapshot) knowledge.Units {
	u := knowledge.Units{}
	pods, known := 0.0, false
	for _, name := range []string{"kubelet_running_pods", "kubelet_desired_pods"} {
		if v, ok := s.Figures[name]; ok && !math.IsNaN(v) {
			pods, known = max(pods, v), true
		}
	}
	if known {
		u["pod"] = int(pods)
	}
	listeners, connections, ended := 0, 0, false
	for i := range s.Groups {
		a := s.Groups[i].Family.Attributes
		switch {
		case s.Groups[i].Family.Kind != analysis.KindDescriptor:
		case a["role"] == "listen":
			listeners, ended = listeners+s.Groups[i].Count, true
		case a["type"] == "tcp" || a["type"] == "tcp6" || a["type"] == "unix":
			connections, ended = connections+s.Groups[i].Count, true
		}
	}
	if ended && !s.Bounded(analysis.KindDescriptor) {
		u["listener"], u["connection"] = listeners, connections
	}
	return u
}
