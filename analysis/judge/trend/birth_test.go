package trend

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestBirthsAreCountedByIdentity(t *testing.T) {
	for _, tt := range []struct {
		name, line, pids string
		cut, missing     int
		want             []Cohort
	}{
		{"three come and nobody leaves", "1-2 1-5 1-8", "", -1, -1, []Cohort{{0, 1, 3}, {1, 2, 3}}},
		{"as many leave as come: the count alone would say 0", "1-3 4-6 7-9", "", -1, -1, []Cohort{{0, 1, 3}, {1, 2, 3}}},
		{"one that was away is not born again", "1-2 2 1-2", "", -1, -1, []Cohort{{0, 1, 0}, {1, 2, 0}}},
		{"absent at first, all of them are born", ". 1-4", "", -1, -1, []Cohort{{0, 1, 4}}},
		{"over a snapshot without this kind", "1 . 1-3", "", -1, 1, []Cohort{{0, 2, 2}}},
		{"over a cut dump, whose members count as born", "1-2 1-3 1-4", "", 1, -1, []Cohort{{0, 2, 2}}},
		{"not over a restart", "1-2 1-4 11-12 11-15", "7 7 8 8", -1, -1, []Cohort{{0, 1, 2}, {2, 3, 3}}},
		{"not without identities", "#2 #5 #9", "", -1, -1, nil},
		{"not in one snapshot", "1-2", "", -1, -1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := only(tt.line)
			sc.pids = tt.pids
			snaps := sc.snapshots(t)
			if tt.cut >= 0 {
				snaps[tt.cut].LowerBound = true
			}
			if tt.missing >= 0 {
				snaps[tt.missing].Groups, snaps[tt.missing].Totals = nil, analysis.Totals{}
			}
			if d := cmp.Diff(tt.want, seriesOf(snaps).Cohorts(onlyFamily)); d != "" {
				t.Error(d)
			}
		})
	}
	if got := seriesOf([]*analysis.Snapshot{}).Cohorts(onlyFamily); got != nil {
		t.Errorf("a family that the series does not have gives %v", got)
	}
}
