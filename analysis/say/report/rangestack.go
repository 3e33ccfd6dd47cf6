package report

import (
	"slices"

	"leakdiff/analysis"
)

// RangeStack is the stack of a family in a part of the time: that of the members that Came in it,
// or of all in the last snapshot of it that has them, where none came or their ids are not known.
type RangeStack struct {
	LocatedStack
	Came bool
	// States are those of the members, each where it was last seen in the range.
	States map[string]int
}

// RangeStack returns the stack of a family between two snapshots, nil where it has none.
func (j *JudgedSeries) RangeStack(fingerprint string, first, last int) *RangeStack {
	came := j.cameIn(fingerprint, first, last)
	if l := j.located(j.OwnCode(), came, last); l != nil {
		return &RangeStack{LocatedStack: *l, Came: true, States: came.States}
	}
	for i := last; i >= first; i-- {
		if l := j.LocatedStack(fingerprint, i); l != nil {
			return &RangeStack{LocatedStack: *l, States: GroupOf(j.Snapshots[i], fingerprint).States}
		}
	}
	return nil
}

// cameIn are the members of a family that came after one snapshot, up to another, each with the
// state and the stack where it was last seen.
func (j *JudgedSeries) cameIn(fingerprint string, first, last int) *analysis.Group {
	came := map[analysis.Identity]bool{}
	for _, l := range j.Trend.Lifelines(fingerprint, -1) {
		if l.First > first && l.First <= last {
			came[l.Identity] = true
		}
	}
	out := &analysis.Group{Count: len(came), States: map[string]int{}}
	for i := last; i > first && len(came) > 0; i-- {
		g := GroupOf(j.Snapshots[i], fingerprint)
		if g == nil {
			continue
		}
		out.Family = g.Family
		for m := range g.Members.All() {
			if !came[m.Identity] {
				continue
			}
			delete(came, m.Identity)
			if m.State != "" {
				out.States[m.State]++
			}
			if m.Variant >= 0 && m.Variant < len(g.Variants) {
				count(&out.Variants, g.Variants[m.Variant])
			}
		}
	}
	return out
}

// count adds one member to the variant of a stack.
func count(variants *[]analysis.Variant, v analysis.Variant) {
	i := slices.IndexFunc(*variants, func(x analysis.Variant) bool { return x.Fingerprint == v.Fingerprint })
	if i < 0 {
		i, v.Count = len(*variants), 0
		*variants = append(*variants, v)
	}
	(*variants)[i].Count++
}

// Trace is the stack as pages show it. from and to are the labels of the range, at that of the
// snapshot of the stack.
func (r *RangeStack) Trace(from, to, at string) *Trace {
	out := r.LocatedStack.Trace(at)
	if r.Came {
		out.Caption = "Stack of " + share(r.Of.Kind, r.Of.Members, r.Of.Of) + " that came from " + from + " to " + to
	}
	return out
}
