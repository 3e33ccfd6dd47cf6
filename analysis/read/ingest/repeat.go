package ingest

import (
	"path"
	"slices"
	"sort"
	"time"

	"leakdiff/analysis/read/detect"
)

// joinRepeats moves dumps found inside a log to the capture of the same instant, if
// another file holds it as well: a log of the program repeats what a collector saved.
func joinRepeats(all []*group) []*group {
	var out []*group
	for _, g := range all {
		home := (*group)(nil)
		if g.logged() {
			home = g.sameInstant(all)
		}
		if home == nil {
			out = append(out, g)
			continue
		}
		home.parts = append(home.parts, g.parts...)
	}
	return out
}

// logged reports whether all of the group was read out of logs.
func (g *group) logged() bool {
	return len(g.parts) > 0 && !slices.ContainsFunc(g.parts, func(p *part) bool { return !p.section })
}

func (g *group) sameInstant(all []*group) *group {
	at := g.inner()
	if at.IsZero() {
		return nil
	}
	var best *group
	for _, h := range all {
		if h == g || h.logged() || h.inner().IsZero() || h.inner().Sub(at).Abs() > sameInstant {
			continue
		}
		if g.pid() != 0 && h.pid() != 0 && g.pid() != h.pid() || !h.hasKindOf(g) {
			continue
		}
		if best == nil || h.inner().Sub(at).Abs() < best.inner().Sub(at).Abs() {
			best = h
		}
	}
	return best
}

func (g *group) hasKindOf(other *group) bool {
	for _, p := range g.parts {
		for _, q := range other.parts {
			if p.threads != nil && q.threads != nil || p.text != nil && q.text != nil {
				return true
			}
		}
	}
	return false
}

// joinAbove moves the listing of a process to its capture in a directory below, where each has one:
// t0/lsof.txt and t0/4711/fdinfo/ of pid 4711 are one instant.
func joinAbove(all []*group) []*group {
	type place struct {
		dir string
		pid int
	}
	at, below := map[place][]*group{}, map[place][]*group{}
	for _, g := range all {
		if pid := g.pid(); pid != 0 {
			at[place{g.dir, pid}] = append(at[place{g.dir, pid}], g)
			above := place{path.Dir(g.dir), pid}
			below[above] = append(below[above], g)
		}
	}
	return slices.DeleteFunc(all, func(g *group) bool {
		here := place{g.dir, g.pid()}
		homes := below[here]
		if g.dir == "" || len(at[here]) != 1 || len(homes) != 1 || slices.ContainsFunc(g.parts, func(p *part) bool { return p.listing == nil }) {
			return false
		}
		proc, listed := false, false
		for _, p := range homes[0].parts {
			proc, listed = proc || p.fdinfo != nil || p.links != nil, listed || p.listing != nil
		}
		if !proc || listed {
			return false
		}
		homes[0].parts = append(homes[0].parts, g.parts...)
		return true
	})
}

// nearest is how far metrics may be from the dump that they describe.
const nearest = 60 * time.Second

// pairMetrics moves metrics that state their own time and are alone in their directory
// to the snapshot nearest in time, if it is nearer than half the way to the next one: a
// HashiCorp bundle keeps them under other numbers than the dumps.
func pairMetrics(all []*group) []*group {
	var dumps, out []*group
	for _, g := range all {
		if len(g.parts) > 0 && !g.inner().IsZero() {
			dumps = append(dumps, g)
		}
	}
	sort.SliceStable(dumps, func(i, j int) bool { return dumps[i].inner().Before(dumps[j].inner()) })
	for _, g := range all {
		if len(g.parts) > 0 || g.contends() || g.inner().IsZero() || len(dumps) == 0 {
			out = append(out, g)
			continue
		}
		i := closest(dumps, g.inner())
		limit := nearest
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(dumps) && dumps[j].dir == dumps[i].dir {
				limit = min(limit, dumps[j].inner().Sub(dumps[i].inner()).Abs()/2)
			}
		}
		if dumps[i].inner().Sub(g.inner()).Abs() <= limit {
			dumps[i].context = append(dumps[i].context, g.context...)
		} else if !g.hashicorp() {
			out = append(out, g)
		}
	}
	return out
}

func (g *group) hashicorp() bool {
	return slices.ContainsFunc(g.context, func(p *part) bool { return p.form == detect.MetricsJSON })
}

func closest(sorted []*group, at time.Time) int {
	best := 0
	for i := range sorted {
		if sorted[i].inner().Sub(at).Abs() < sorted[best].inner().Sub(at).Abs() {
			best = i
		}
	}
	return best
}
