package report

import (
	"bytes"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestWhatWasNotUnderstoodIsSaidFirst(t *testing.T) {
	for _, tc := range []struct {
		name    string
		n       int
		refused []int
		says    []string
	}{
		{"of one snapshot", 1, []int{0}, []string{"One dump of app: at least 13 goroutines"}},
		{"of one of a series", 6, []int{3}, []string{"app started at least 50 goroutines in main.leak and none ended."}},
		{"of two", 6, []int{1, 3}, []string{"at least 50 goroutines"}},
		{"of many", 6, []int{1, 2, 3}, []string{"at least 50 goroutines"}},
		{"of all", 2, []int{0, 1}, []string{"app: at least 13 goroutines at t0 and 23 at t1; nothing can be said about growth", "not understood as a whole"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			snapshots := leak("app", tc.n)
			for _, i := range tc.refused {
				snapshots[i].LowerBound, snapshots[i].Refused = true, 2
			}
			c := Build(snapshots, nil, Options{})
			for _, want := range tc.says {
				if got := c.Report.Diagnosis.Sentence; !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
			for _, i := range tc.refused {
				if s := c.Report.Snapshots[i]; !s.LowerBound || s.Refused != 2 {
					t.Errorf("%+v", s)
				}
			}
			var out bytes.Buffer
			if err := JSON(&out, c.Report); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out.String(), `"refused":2`); n != len(tc.refused) {
				t.Errorf("refused is said %d times, want %d", n, len(tc.refused))
			}
		})
	}
}

func TestTheOnlyDumpOfOneOrTwoSaysHowLongOneWaits(t *testing.T) {
	for _, tc := range []struct {
		name    string
		ids     map[string][]int64
		minutes int
		want    string
	}{
		{"two", map[string][]int64{"main.leak": {41}, "main.pool": {77}}, 5774, "One dump of app: 2 goroutines, one 5774 minutes in select"},
		{"one", map[string][]int64{"main.leak": {41}}, 1, "One dump of app: 1 goroutine, 1 minute in select"},
		{"three", map[string][]int64{"main.leak": {41}, "main.pool": {77, 78}}, 5774, "One dump of app: 3 goroutines, 2 of them in main.pool, blocked in select, the oldest for 4 d"},
		{"two that show no wait", map[string][]int64{"main.leak": {41}, "main.pool": {77}}, -1, "One dump of app: 2 goroutines"},
	} {
		s := snapshot("app", "t0", 0, tc.ids)
		for i := range s.Groups {
			if s.Groups[i].Family.Title != "main.pool" {
				s.Groups[i].OldestWait = tc.minutes
			}
		}
		if got := Build([]analysis.Snapshot{s}, nil, Options{}).Report.Diagnosis.Sentence; strings.TrimSuffix(got, ".") != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestTwoDumpsOfWhichNoneIsWholeAreNotCalledQuiet(t *testing.T) {
	for name, state := range map[string]string{"both whole": "grew", "one is not": "cannot be compared", "none is": "cannot be compared"} {
		snapshots := leak("app", 2)
		for i := range snapshots {
			if name == "none is" || name == "one is not" && i == 1 {
				snapshots[i].LowerBound, snapshots[i].Refused = true, 2
			}
		}
		if got := Build(snapshots, nil, Options{}).Report.Diagnosis.State; got != state {
			t.Errorf("%s: %q, want %q", name, got, state)
		}
	}
}
