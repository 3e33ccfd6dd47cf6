package report

import (
	"slices"

	"leakdiff/analysis"
)

// countTotals gives the totals of captures that show no family at all a family each, so that
// they are judged like any family without identities. Beside families a total is judged by
// itself (trend.Total).
func (j *JudgedSeries) countTotals() {
	if slices.ContainsFunc(j.Snapshots, func(s *analysis.Snapshot) bool { return len(s.Groups) > 0 }) {
		return
	}
	for _, kind := range append(analysis.Kinds(), analysis.KindCount) {
		total := analysis.TotalOf(kind)
		for _, s := range j.Snapshots {
			if n := s.Totals.Of(kind); n != nil && s.Totals.Counted(kind) == kind {
				s.Groups = append(s.Groups, analysis.Group{Family: total, Count: *n, OldestWait: -1})
			}
		}
	}
}
