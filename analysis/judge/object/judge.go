package object

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// leastMove is how far a count must move to be judged: no rule accuses less.
const leastMove = 3

// judge gives the verdicts: the objects of a kind are judged as the members of a family are,
// by the goroutine that each was first known by.
func judge(all []Kind, snapshots []*analysis.Snapshot, epochs []int) {
	var moved []*Kind
	for i := range all {
		k := &all[i]
		k.Judgement = analysis.Judgement{Verdict: analysis.TooFewPoints, RecoveredAt: -1, Survivors: -1}
		if moves(k.Counts) >= leastMove {
			moved = append(moved, k)
		} else if len(k.Counts.Known()) > 1 {
			k.Judgement.Verdict = analysis.Stable
		}
	}
	if len(moved) == 0 {
		return
	}
	in := trend.Input{Epochs: epochs}
	for i, s := range snapshots {
		only := bare(s)
		for _, k := range moved {
			k.addTo(only, i)
		}
		slices.SortFunc(only.Groups, func(a, b analysis.Group) int {
			return strings.Compare(a.Family.Fingerprint, b.Family.Fingerprint)
		})
		in.Snapshots = append(in.Snapshots, only)
	}
	judged := trend.NewSeries(in).JudgeAll()
	for _, k := range moved {
		k.Judgement = judged[k.family.Fingerprint]
	}
}

// bare is a snapshot without its members.
func bare(s *analysis.Snapshot) *analysis.Snapshot {
	return &analysis.Snapshot{
		ID: s.ID, Label: s.Label, Process: s.Process, CapturedAt: s.CapturedAt, Times: s.Times, LowerBound: s.LowerBound, Truncated: s.Truncated,
		Inexact: s.Inexact, Figures: s.Figures,
	}
}

// addTo adds the objects of snapshot i to one that has objects in place of goroutines.
func (k *Kind) addTo(only *analysis.Snapshot, i int) {
	n := k.Counts[i]
	if !n.Known() {
		return
	}
	if only.Totals.Goroutines == nil {
		only.Totals.Goroutines = new(int)
	}
	*only.Totals.Goroutines += n.N
	if n.N > 0 {
		only.Groups = append(only.Groups, analysis.Group{Family: k.family, Count: n.N, OldestWait: -1, Members: analysis.Members{Columns: &analysis.Columns{ID: k.roots[i]}}})
	}
}

// Moved reports that the number of objects changed, or that one took the place of another.
func (k *Kind) Moved() bool {
	return moves(k.Counts) > 0 || slices.ContainsFunc(k.Born, analysis.Count.Any)
}

// moves is how far the highest count is from the lowest.
func moves(counts analysis.Counts) int {
	known := counts.Known()
	if len(known) == 0 {
		return 0
	}
	return slices.Max(known) - slices.Min(known)
}
