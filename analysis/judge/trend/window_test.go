package trend

import (
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestTheLastTraceOfTheLastStartOfAProcessIsEvidence(t *testing.T) {
	births := func(started, ended int) map[string]analysis.Births {
		return map[string]analysis.Births{onlyFamily: {Window: 36 * time.Second, Started: started, Ended: ended}}
	}
	for _, tc := range []struct {
		name  string
		in    scenario
		given map[int]map[string]analysis.Births
		want  string
	}{
		{"no trace", only("1-20 1-23"), nil, ""},
		{"a trace of other families", only("1-20 1-23"), map[int]map[string]analysis.Births{1: {"another": {Started: 3}}}, ""},
		{"a trace between the dumps", only("1-20 1-21 1-23"), map[int]map[string]analysis.Births{1: births(42, 0)}, "42 at=t1 ended=0 hours=0.01"},
		{"a trace beside a dump alone", only("1-20"), map[int]map[string]analysis.Births{0: births(42, 3)}, "42 at=t0 ended=3 hours=0.01"},
		{"one in which others ended", only("1-20"), map[int]map[string]analysis.Births{0: {onlyFamily: {Window: 36 * time.Second, Started: 42, Untold: 9}}}, "42 at=t0 ended=0 hours=0.01 untold=9"},
		{"the last of two", only("1-20 1-21 1-23"), map[int]map[string]analysis.Births{1: births(42, 0), 2: births(7, 1)}, "7 at=t2 ended=1 hours=0.01"},
		{"one before the restart", scenario{families: map[string]string{onlyFamily: "1-20 101-120 101-123"}, pids: "1 2 2"}, map[int]map[string]analysis.Births{0: births(42, 0)}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			snaps := tc.in.snapshots(t)
			before := seriesOf(snaps).JudgeAll()[onlyFamily]
			for i, b := range tc.given {
				snaps[i].Births = b
			}
			judged := seriesOf(snaps).JudgeAll()[onlyFamily]
			if judged.Verdict != before.Verdict {
				t.Errorf("the trace makes %s of %s", judged.Verdict, before.Verdict)
			}
			if tc.want != "" {
				wantEvidence(t, judged, ruleWindow, tc.want)
				return
			}
			for _, e := range judged.Evidence {
				if e.Rule == ruleWindow {
					t.Errorf("evidence of no trace: %+v", e)
				}
			}
		})
	}
}
