package report

import (
	"math"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
)

// Families that rise at one pace are not always one thing: two leaks of two a second do so as
// well. What one function started, or one object holds, is one thing; descriptors belong to the
// code that rises in their steps. Everything else is a thing of its own, with an answer of its
// own.

// things divides a point of several families into a point for each thing, the largest first.
// The first one keeps the unit.
func (j *JudgedSeries) things(p trend.Point, objects []Object, byPrint map[string]*Family) []trend.Point {
	if p.Unit == "" || len(p.Families) < 2 {
		return []trend.Point{p}
	}
	var groups [][]string
	var observed []string
	for _, print := range lead(p.Families, byPrint) {
		if byPrint[print].Role == string(trend.ObserverEffect) {
			observed = append(observed, print) // a finding of their own tells them
			continue
		}
		at := slices.IndexFunc(groups, func(g []string) bool {
			return slices.ContainsFunc(g, func(other string) bool { return oneThing(byPrint[other], byPrint[print], objects) })
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], print)
	}
	if len(groups) < 2 {
		return []trend.Point{p}
	}
	slices.SortStableFunc(groups, func(a, b []string) int {
		x, y := byPrint[a[0]], byPrint[b[0]]
		if code := hasStack(x); code != hasStack(y) {
			if code {
				return -1
			}
			return 1
		}
		return y.Rise - x.Rise
	})
	groups[0] = append(groups[0], observed...)
	out := make([]trend.Point, len(groups))
	for i, g := range groups {
		out[i] = p
		out[i].Families = g
		if i > 0 || len(groups[0]) == 1 {
			out[i].Unit = ""
		}
		out[i].Verdict = byPrint[g[0]].Verdict
	}
	return out
}

func hasStack(f *Family) bool {
	return f.Kind == analysis.KindGoroutine || f.Kind == analysis.KindThread
}

// oneThing reports two families of one cause.
func oneThing(a, b *Family, objects []Object) bool {
	for i := range objects {
		if o := &objects[i]; o.Level != analysis.ByGoroutine && o.keepsBoth(a, b) {
			return true
		}
	}
	switch {
	case hasStack(a) && hasStack(b):
		if library(a) != library(b) {
			// The standard library keeps goroutines for the code that calls it.
			return inSteps(a.Counts, b.Counts) || inSteps(b.Counts, a.Counts)
		}
		return a.Kind == b.Kind && (a.CreatedBy != "" && a.CreatedBy == b.CreatedBy || a.entry() == b.entry() && !apart(a, b) || startedWithin(a, b) || startedWithin(b, a) || samePool(a, b))
	case hasStack(a) || hasStack(b):
		code, held := a, b
		if hasStack(b) {
			code, held = b, a
		}
		return inSteps(code.Counts, held.Counts)
	case a.Attributes["protocol"] != "" || b.Attributes["protocol"] != "":
		return twoEnds(a, b)
	}
	return a.Kind == b.Kind && a.Attributes["type"] == b.Attributes["type"] || inSteps(a.Counts, b.Counts) || inSteps(b.Counts, a.Counts)
}

// apart reports families that different functions of the program started: two places to mend.
func apart(a, b *Family) bool {
	return a.CreatedBy != "" && b.CreatedBy != "" && a.CreatedBy != b.CreatedBy && !family.OfStandardLibrary(a.CreatedBy) && !family.OfStandardLibrary(b.CreatedBy)
}

// library reports goroutines that the standard library started and that are in it alone.
func library(f *Family) bool {
	return f.CreatedBy != "" && family.OfStandardLibrary(f.CreatedBy) && !slices.ContainsFunc(f.Frames, func(frame string) bool { return !family.OfStandardLibrary(frame) })
}

// keepsBoth reports two families of the objects: parts of them, or what rises in step with them.
// Goroutines and threads that other code starts are parts or nothing: two leaks may be as fast.
func (o *Object) keepsBoth(a, b *Family) bool {
	has := func(f *Family) bool {
		return slices.Contains(o.Families, f.Fingerprint) ||
			(!hasStack(f) || library(f)) && slices.ContainsFunc(o.InStep, func(x InStep) bool { return x.Fingerprint == f.Fingerprint })
	}
	return has(a) && has(b)
}

// startedWithin reports that b was started by a function that stands in the stack of a.
func startedWithin(a, b *Family) bool {
	return b.CreatedBy != "" && slices.Contains(a.Frames, b.CreatedBy)
}

// samePool reports threads of one pool.
func samePool(a, b *Family) bool {
	return a.Attributes["pool"] != "" && a.Attributes["pool"] == b.Attributes["pool"]
}

// twoEnds reports the two ends of the same connections: a client to an address and the server
// on it, in the same state.
func twoEnds(a, b *Family) bool {
	return a.Attributes["state"] == b.Attributes["state"] && a.Attributes["role"] != b.Attributes["role"] && inSteps(a.Counts, b.Counts) &&
		(a.Attributes["remote"] != "" && a.Attributes["remote"] == b.Attributes["local"] || b.Attributes["remote"] != "" && b.Attributes["remote"] == a.Attributes["local"])
}

// inSteps reports that b rises with a by a whole number each time, as far as captures of two
// kinds that are taken one after another can show it: within a tenth.
func inSteps(a, b analysis.Counts) bool {
	firstA, topA := a.FirstAt(), a.HighestAt()
	firstB, topB := b.FirstAt(), b.HighestAt()
	if firstA < 0 || firstB < 0 {
		return false
	}
	riseA, riseB := float64(a[topA].N-a[firstA].N), float64(b[topB].N-b[firstB].N)
	if riseA <= 0 || riseB <= 0 {
		return false
	}
	ratio := riseB / riseA
	return ratio >= 0.9 && math.Abs(ratio-math.Round(ratio)) <= 0.1*ratio
}
