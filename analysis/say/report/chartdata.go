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

// Lives counts the members that were first seen at the snapshot First and last at Last.
type Lives struct{ First, Last, N int }

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
	n := map[Lives]int{}
	for _, l := range j.Trend.Lifelines(fingerprint, -1) {
		n[Lives{First: l.First, Last: l.Last}]++
	}
	out := make([]Lives, 0, len(n))
	for l, count := range n {
		l.N = count
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Lives) int { return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last)) })
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
