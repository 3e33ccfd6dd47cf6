package report_test

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

// bornAllAlong is a dump of a server whose workers were started all along its 15 hours, with ids
// that begin at from.
func bornAllAlong(from, workers int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [select, 900 minutes]:\nmain.main()\n\t/srv/main.go:9 +0x1\n\n")
	for k := range workers {
		fmt.Fprintf(&b, "goroutine %d [chan receive, %d minutes]:\nmain.work(0x1)\n\t/srv/work.go:21 +0x1\ncreated by main.serve in goroutine 1\n\t/srv/work.go:9 +0x1\n\n", from+7*k, 780-18*k)
	}
	return b.String()
}

func TestNothingIsAccusedThatAllReplicasHoldAlike(t *testing.T) {
	one := textInput("web-0.txt", bornAllAlong(1000, 40))
	both := []bundle.Input{one, textInput("web-1.txt", bornAllAlong(9000, 41))}
	for name, tc := range map[string]struct {
		inputs   []bundle.Input
		verdict  analysis.Verdict
		findings int
	}{"one server": {both[:1], analysis.Suspicious, 1}, "replicas": {both, analysis.TooFewPoints, 0}} {
		r := built(t, tc.inputs).Report
		findings := 0
		for _, s := range r.Series {
			for _, f := range s.Findings {
				if f.Verdict == analysis.Suspicious {
					findings++
				}
			}
			for _, f := range s.Families {
				if f.Counts.Highest() > 1 && f.Verdict != tc.verdict {
					t.Errorf("%s: %s is %s", name, f.Title, f.Verdict)
				}
			}
		}
		if r.Diagnosis.Verdict != tc.verdict || findings != tc.findings {
			t.Errorf("%s: %s, %d findings: %s", name, r.Diagnosis.Verdict, findings, r.Diagnosis.Sentence)
		}
	}
}

func TestReplicasThatOnlyDeclareGoroutinesAreComparedByThese(t *testing.T) {
	var inputs []bundle.Input
	for i, n := range []int{100, 300, 900} {
		inputs = append(inputs, textInput(fmt.Sprintf("web-%d.txt", i), fmt.Sprintf("goroutine profile: total %d\n", n)))
	}
	got := built(t, inputs).Report.Diagnosis.Sentence
	if want := "3 replicas of web with one dump each: web-0 100, web-1 300, web-2 900 goroutines declared."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
