package report

import (
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
}

// mostDrawnPoints is the number of snapshots of a case up to which all its charts are
// made with its report: those of larger ones are made when a reader asks for them.
const mostDrawnPoints = 100

// Drawn is made from the evidence of a series and its report.
func (j *JudgedSeries) Drawn(s *Series) *Drawn {
	out := &Drawn{States: map[analysis.Kind][]map[string]int{}, Cohorts: map[string][]trend.Cohort{}}
	for _, k := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread} {
		out.States[k] = statesOver(j.Snapshots, k)
	}
	for i := range s.Families {
		if f := &s.Families[i]; rising(f.Verdict) {
			out.Cohorts[f.Fingerprint] = j.Trend.Cohorts(f.Fingerprint)
		}
	}
	return out
}

// statesOver counts the members of a kind by state in each snapshot.
func statesOver(snapshots []*analysis.Snapshot, kind analysis.Kind) []map[string]int {
	out := make([]map[string]int, len(snapshots))
	for i, s := range snapshots {
		for k := range s.Groups {
			g := &s.Groups[k]
			if g.Family == nil || g.Family.Kind != kind {
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
