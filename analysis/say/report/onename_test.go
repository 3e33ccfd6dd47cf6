package report

import (
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/say/noun"
)

// TestTwoProcessesOfOneNameAreNotMixedUp has three processes of one name on one host, of which
// the last one holds the second.
func TestTwoProcessesOfOneNameAreNotMixedUp(t *testing.T) {
	host := "node1"
	r := Report{
		Series: []Series{{Process: "app", Host: &host}, {Process: "app", Host: &host}, {Process: "app", Host: &host}},
		Order:  []Order{{First: "app", Held: []string{"app"}, FirstSeries: 2, HeldSeries: []int{1}, Rule: edge.ByCloseWait, Level: edge.KernelState}},
	}
	if got := r.seriesInOrder(); !slices.Equal(got, []int{0, 2, 1}) {
		t.Errorf("in order: %v", got)
	}
	d := r.diagnosing(noun.Builtin())
	for series, want := range []string{unknown, unknown, certain} {
		if got := d.cause(answer{series: series, finding: &Finding{}}); got == nil || got.Word != want {
			t.Errorf("the cause of process %d is %+v, want %s", series, got, want)
		}
	}
	if got := r.taken(); got != "0 dumps of 3 processes" {
		t.Errorf("%q", got)
	}
}

func TestASnapshotHasTheVerdictsOfItsOwnProcess(t *testing.T) {
	family := func(v analysis.Verdict) []Family {
		return []Family{{Fingerprint: "g1:1", Kind: analysis.KindGoroutine, Verdict: v}}
	}
	r := Report{
		Snapshots: []Snapshot{{ID: "a", Process: "app", Families: []SnapshotFamily{{Fingerprint: "g1:1", Kind: analysis.KindGoroutine, Members: 7}}}},
		Series: []Series{
			{Process: "app", Snapshots: []string{"a"}, Families: family(analysis.Leaking)},
			{Process: "app", Snapshots: []string{"b"}, Families: family(analysis.Stable)},
		},
	}
	var out strings.Builder
	if err := SnapshotCSV(&out, r, "a"); err != nil || !strings.HasSuffix(out.String(), ",leaking\r\n") {
		t.Errorf("%v, %q", err, out.String())
	}
}
