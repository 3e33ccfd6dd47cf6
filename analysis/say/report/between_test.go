package report

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// twoProcesses are a client and a server on one host, whose families grow by these
// counts.
func twoProcesses(callers, callees string, caller, callee string) []analysis.Snapshot {
	var out []analysis.Snapshot
	for i, n := range numbersOf(callers) {
		out = append(out, snapshot("client", fmt.Sprintf("t%d", i), i*10, map[string][]int64{caller: upTo(int64(n)), "main.idle": {1, 2}}))
	}
	for i, n := range numbersOf(callees) {
		out = append(out, snapshot("server", fmt.Sprintf("t%d", i), i*10, map[string][]int64{callee: upTo(int64(n)), "main.idle": {1, 2}}))
	}
	return out
}

func numbersOf(text string) []int {
	var out []int
	for word := range strings.FieldsSeq(text) {
		n := 0
		fmt.Sscan(word, &n)
		out = append(out, n)
	}
	return out
}

func TestGrowthsOfTwoProcessesThatRiseTogetherNameEachOtherAndNoCause(t *testing.T) {
	const call, serve = "google.golang.org/grpc.(*ClientConn).Invoke", "google.golang.org/grpc.(*Server).handleStream"
	const notKnown = "; which of them is the cause is open."
	for _, tt := range []struct {
		name                           string
		callers, callees, caller, call string
		want                           bool
	}{
		{"in step, a call on one side and its handler on the other", "0 10 20 30 40 50", "0 20 40 60 80 100", call, serve, true},
		{"in step until both recover", "0 10 20 30 40 50 0", "0 20 40 60 80 100 0", call, serve, true},
		{"in step, but nobody calls", "0 10 20 30 40 50", "0 20 40 60 80 100", "main.work", serve, false},
		{"in step, but nobody serves", "0 10 20 30 40 50", "0 20 40 60 80 100", call, "main.work", false},
		{"another rhythm", "0 10 20 30 40 50", "0 60 65 70 75 100", call, serve, false},
		{"the other process stands still", "0 10 20 30 40 50", "50 50 50 50 50 50", call, serve, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Build(twoProcesses(tt.callers, tt.callees, tt.caller, tt.call), nil, Options{})
			text, rules := map[string]string{}, map[string]int{}
			for _, s := range c.Report.Series {
				for _, f := range s.Findings {
					text[s.Process] += f.Text
					if f.Behind {
						t.Errorf("%q is put behind another process", f.Title)
					}
					for _, e := range f.Evidence {
						if e.Rule == "across_processes" {
							rules[s.Process]++
						}
					}
				}
			}
			want := 0
			if tt.want {
				want = 1
			}
			for process, other := range map[string]string{"client": "server", "server": "client"} {
				if n := strings.Count(text[process], " in "+other+notKnown); n != want || rules[process] != want {
					t.Errorf("%s says it %d times with %d lines of evidence, want %d: %s", process, n, rules[process], want, text[process])
				}
				for _, direction := range []string{"look there", "follows from", "waits inside", "waits for"} {
					if strings.Contains(text[process], direction) {
						t.Errorf("%s states a direction, %q: %s", process, direction, text[process])
					}
				}
			}
		})
	}
}

func TestAFindingNamesTheFirstOfManyThatRiseWithIt(t *testing.T) {
	f := Finding{Text: "It grows.", Evidence: []Evidence{saidHere("cohort", "nobody leaves")}}
	f.risesWith([]string{"a in x", "b in x", "c in y", "d in y", "e in z"})
	const want = "grew at the same time: a in x, b in x, c in y, 2 more; which of them is the cause is open"
	if f.Text != "It grows. Grew"+want[len("grew"):]+"." || f.Evidence[0].Text != want || len(f.Evidence) != 2 {
		t.Errorf("text %q, evidence %+v", f.Text, f.Evidence)
	}
}

func TestWhatAnswersTheCaptureIsToldAsItsOwnEffect(t *testing.T) {
	const gather = "k8s.io/kubernetes/vendor/github.com/prometheus/client_golang/prometheus.(*Registry).Gather"
	for _, tt := range []struct {
		name     string
		function string
		want     bool
	}{
		{"a vendored metrics registry", gather, true},
		{"a pprof handler", "net/http/pprof.handler.ServeHTTP", true},
		{"the program's own code", "main.(*Registry).Gather", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var snapshots []analysis.Snapshot
			for i := range 6 {
				snapshots = append(snapshots, snapshot("app", fmt.Sprintf("t%d", i), i*10, map[string][]int64{tt.function: upTo(int64(20 * i)), "main.idle": {1, 2}}))
			}
			s := Build(snapshots, nil, Options{}).Report.Series[0]
			if len(s.Findings) != 1 {
				t.Fatalf("%d findings", len(s.Findings))
			}
			f := s.Findings[0]
			if got := f.Kind == ObserverFinding; got != tt.want {
				t.Errorf("kind %q, title %q", f.Kind, f.Title)
			}
			if role := s.Families[0].Role; (role == "observer_effect") != tt.want {
				t.Errorf("role %q", role)
			}
			if s.Families[0].Verdict != analysis.Leaking {
				t.Errorf("verdict %q: a role is no verdict", s.Families[0].Verdict)
			}
		})
	}
}

func TestTheObserversShareOfAUnitIsAFindingOfItsOwn(t *testing.T) {
	var snapshots []analysis.Snapshot
	for i := range 7 {
		snapshots = append(snapshots, snapshot("app", fmt.Sprintf("t%d", i), i*10, map[string][]int64{
			"main.worker": upTo(int64(20 * i)), "github.com/prometheus/client_golang/prometheus.(*Registry).Gather": upTo(int64(10 * i)),
		}))
	}
	s := Build(snapshots, nil, Options{}).Report.Series[0]
	if len(s.Findings) != 2 || s.Findings[0].Unit != "u1" || s.Findings[1].Kind != ObserverFinding {
		t.Fatalf("findings %+v", s.Findings)
	}
	if f := s.Findings[1]; f.Title != "Requests for metrics or profiles hang: 0 to 60 goroutines" || !strings.Contains(f.Text, "They grow with main.worker") {
		t.Errorf("%s\n%s", f.Title, f.Text)
	}
}
