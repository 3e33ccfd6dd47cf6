package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestTheCellsOfMembersMarkARestartABoundAndWhatIsNotKnown(t *testing.T) {
	m := MembersData{Labels: []string{"t0", "t1", "t2"}, Values: analysis.Counts{analysis.Counted(3), analysis.Counted(162), {}}, Epochs: []int{2}, Lower: []bool{false, true, false}}
	head, rows := m.Cells()
	if d := cmp.Diff([][]string{{"Snapshot", "t0", "t1", "t2 (restarted)"}, {"Members", "3", "≥\u00a0162", "–"}}, append([][]string{head}, rows...)); d != "" {
		t.Error(d)
	}
}
