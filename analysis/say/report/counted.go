package report

import (
	"slices"

	"leakdiff/analysis"
)

// countTotals gives a total of which no capture shows a family one of its own, so that it is
// judged like any family without identities.
func (j *JudgedSeries) countTotals() {
	for _, kind := range analysis.Kinds() {
		named := slices.ContainsFunc(j.Snapshots, func(s *analysis.Snapshot) bool {
			return slices.ContainsFunc(s.Groups, func(g analysis.Group) bool { return g.Family.Kind == kind })
		})
		if named {
			continue
		}
		total := analysis.TotalOf(kind)
		for _, s := range j.Snapshots {
			if n := s.Totals.Of(kind); n != nil && s.Totals.Counted(kind) == kind {
				s.Groups = append(s.Groups, analysis.Group{Family: total, Count: *n, OldestWait: -1})
			}
		}
	}
}
