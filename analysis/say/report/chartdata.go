package report

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// Drawn is what the further charts of a series are made from beside its report.
type Drawn struct {
	// States counts members by state, one entry per snapshot, by kind; nil where no
	// member of the kind printed a state.
	States map[analysis.Kind][]map[string]int `json:",omitempty"`
	// Cohorts are the births of growing families, by fingerprint.
	Cohorts map[string][]trend.Cohort `json:",omitempty"`
	// Lives are the members of families that rose, by fingerprint.
	Lives map[string][]Lives `json:",omitempty"`
	// FamilyStates counts the members of families with a stack that rose by state, one entry per
	// snapshot.
	FamilyStates map[string][]map[string]int `json:",omitempty"`
}

// Lives counts the members that were first seen at the snapshot First and last at Last. Some are
// the members that lines stand for, spread evenly.
type Lives struct {
	First, Last, N int
	Some           []analysis.Identity `json:",omitempty"`
}

// mostBirths bounds the members of a family that have lines of their own, but each of its Lives has
// one.
const mostBirths = 60

// mostDrawnPoints is the number of snapshots of a case up to which all its charts are
// made with its report: those of larger ones are made when a reader asks for them.
const mostDrawnPoints = 100

// Drawn is made from the evidence of a series and its report.
func (j *JudgedSeries) Drawn(s *Series) *Drawn {
	out := &Drawn{States: map[analysis.Kind][]map[string]int{}, Cohorts: map[string][]trend.Cohort{}, Lives: map[string][]Lives{}, FamilyStates: map[string][]map[string]int{}}
	for _, k := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread} {
		out.States[k] = statesOver(j.Snapshots, func(f *analysis.Family) bool { return f.Kind == k })
	}
	for i := range s.Families {
		f := &s.Families[i]
		if rising(f.Verdict) {
			out.Cohorts[f.Fingerprint] = j.Trend.Cohorts(f.Fingerprint)
		}
		if f.Verdict.Rose() {
			out.Lives[f.Fingerprint] = j.cohortsSeen(f.Fingerprint)
			if len(f.Frames) > 0 {
				out.FamilyStates[f.Fingerprint] = statesOver(j.Snapshots, func(x *analysis.Family) bool { return x.Fingerprint == f.Fingerprint })
			}
		}
	}
	return out
}

// cohortsSeen counts the members of a family by their first and last snapshot.
func (j *JudgedSeries) cohortsSeen(fingerprint string) []Lives {
	var out []Lives
	all := j.Trend.Lifelines(fingerprint, -1)
	slices.SortStableFunc(all, func(a, b trend.Lifeline) int { return cmp.Or(a.First-b.First, a.Last-b.Last) })
	per := max(1, (len(all)+mostBirths-1)/mostBirths)
	for _, l := range all {
		k := len(out) - 1
		if k < 0 || out[k].First != l.First || out[k].Last != l.Last {
			out, k = append(out, Lives{First: l.First, Last: l.Last}), k+1
		}
		if out[k].N++; out[k].N%per == 1%per {
			out[k].Some = append(out[k].Some, l.Identity)
		}
	}
	return out
}

// statesOver counts the members of some families by state in each snapshot.
func statesOver(snapshots []*analysis.Snapshot, of func(*analysis.Family) bool) []map[string]int {
	out := make([]map[string]int, len(snapshots))
	for i, s := range snapshots {
		for k := range s.Groups {
			g := &s.Groups[k]
			if g.Family == nil || !of(g.Family) {
				continue
			}
			for state, n := range g.States {
				if out[i] == nil {
					out[i] = map[string]int{}
				}
				out[i][state] += n
			}
		}
	}
	return out
}
