package ingest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/say/wording"
)

// readContention reads a text with mutex and block profiles. Their figures grow from the
// start of the process, so the last one of each kind has the others in it.
func readContention(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	found, problems, err := goroutine.ParseContention(body, goroutine.Config{Path: p.path, Stacks: &r.dumped})
	r.problem(problems...)
	if err != nil {
		return err
	}
	last := map[analysis.ContentionProfile]*goroutine.Contention{}
	for i := range found {
		last[found[i].Profile] = &found[i]
	}
	if more := len(found) - len(last); more > 0 {
		r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note,
			What: wording.Plural(more, "earlier profile of the file is left out", "earlier profiles of the file are left out"),
			Why:  "mutex and block profiles count from the start of the process, so the last one has the others in it",
			Hint: "put each into a file of its own to see them all"})
	}
	for _, kind := range []analysis.ContentionProfile{analysis.MutexProfile, analysis.BlockProfile} {
		if c := last[kind]; c != nil {
			r.contention(p, a, c)
		}
	}
	return nil
}

func readContentionProto(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	c, problems, err := goroutine.ParseContentionProto(body, goroutine.Config{Path: p.path, Stacks: &r.dumped})
	r.problem(problems...)
	if err != nil {
		return err
	}
	p.inner, p.name = c.Time, programName(c.Executable)
	r.contention(p, a, &c)
	return nil
}

// contention keeps a profile, unless it is empty.
func (r *reader) contention(p *part, a *analysis.Artifact, c *goroutine.Contention) {
	words := fmt.Sprintf("%s profile: %s in %s, %s in all", c.Profile, wording.Plural(int(c.Count), "wait", "waits"), wording.Plural(c.Records, "record", "records"), wording.Duration(c.Delay))
	a.Rows, a.Truncated = a.Rows+c.Records, a.Truncated || c.Truncated
	if a.Outcome != "" {
		a.Outcome += "; "
	}
	a.Outcome += atLeast(words, c.Truncated, c.Refused)
	if c.Records > 0 {
		p.contention = append(p.contention, c.Contention)
		return
	}
	if c.Refused > 0 {
		return
	}
	how := "runtime.SetMutexProfileFraction"
	if c.Profile == analysis.BlockProfile {
		how = "runtime.SetBlockProfileRate"
	}
	r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note,
		What: fmt.Sprintf("the %s profile is empty", c.Profile),
		Why:  "nobody waited, or the program does not count waits: it does so after " + how,
		Hint: "nothing, if the question is no contention"})
}

// contentions keeps one profile of each kind: a whole one first, and one since the start of
// the process before one of some seconds.
func (b *builder) contentions() {
	for _, p := range b.g.context {
		for i := range p.contention {
			c := &p.contention[i]
			at := slices.IndexFunc(b.s.Contention, func(x analysis.Contention) bool { return x.Profile == c.Profile })
			switch {
			case at < 0:
				b.s.Contention = append(b.s.Contention, *c)
			case lacks(&b.s.Contention[at]) > lacks(c):
				b.s.Contention[at] = *c
			}
		}
	}
	slices.SortFunc(b.s.Contention, func(x, y analysis.Contention) int { return strings.Compare(string(y.Profile), string(x.Profile)) })
}

// lacks grades what a profile does not have.
func lacks(c *analysis.Contention) (n int) {
	if c.LowerBound {
		n += 2
	}
	if c.Window > 0 {
		n++
	}
	return n
}

// contendedGroup is the one of a directory that a mutex or block profile belongs to: the only
// one with goroutines, else the only one, else that nearest in time. It is nil if that is
// open: figures that grow from the start of the process belong to one time.
func contendedGroup(groups []*group, c *part) *group {
	if with := slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return !g.hasGoroutines() }); len(with) > 0 {
		groups = with
	}
	if len(groups) == 1 {
		return groups[0]
	}
	var best *group
	distance := nearest + 1
	for _, g := range groups {
		at := g.inner()
		if c.inner.IsZero() || at.IsZero() {
			continue
		}
		if d := at.Sub(c.inner).Abs(); d < distance {
			best, distance = g, d
		}
	}
	return best
}

func (g *group) hasGoroutines() bool {
	return slices.ContainsFunc(g.parts, func(p *part) bool { return p.text != nil || p.profile != nil })
}

// contends reports whether the group is mutex and block profiles alone.
func (g *group) contends() bool {
	return len(g.parts) == 0 && slices.ContainsFunc(g.context, func(p *part) bool { return p.contention != nil })
}

// loose names the mutex, block and heap profiles that belong to no snapshot.
func (r *reader) loose(all []*group) {
	for _, p := range r.parts {
		if p.contention == nil && p.heap == nil || slices.ContainsFunc(all, func(g *group) bool { return slices.Contains(g.context, p) || slices.Contains(g.parts, p) }) {
			continue
		}
		what := "the profile of waits is not shown"
		if p.heap != nil {
			what = "what the heap holds is not shown"
		}
		r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
			What: what,
			Why:  "several dumps lie beside it, and neither its name nor its time says to which of them it belongs",
			Hint: "put it into one directory with the dump of the same time, or upload it alone"})
	}
}
