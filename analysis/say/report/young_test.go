package report

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"leakdiff/analysis"
)

// TestALeakIsSaidToBeYoung: captures at minutes after 03:00; the first that came are in capture since.
func TestALeakIsSaidToBeYoung(t *testing.T) {
	const bound = ": a call to a dead peer ends after 15 min 24 s (tcp_retries2), so one capture at "
	for _, tt := range []struct {
		name        string
		minutes     []float64
		since       int
		ended, wait int
		state, want string
		endedAt     int
	}{
		{"reads that are younger than a dead peer's", []float64{0, 5, 10}, 0, 0, 0, "IO wait", ", and none that came is older than 10 min" + bound + "03:16:00 decides", 0},
		{"just below the bound", []float64{0, 8, 15.39}, 0, 0, 0, "IO wait", ", and none that came is older than 15 min 23 s" + bound + "03:16:00 decides", 0},
		{"at the bound a dead peer's call has ended", []float64{0, 8, 15.4}, 0, 0, 0, "IO wait", ", and nothing ended so far", 0},
		{"they came later: their age counts, not that of the captures", []float64{0, 20, 30}, 2, 0, 0, "IO wait", ", and none that came is older than 10 min" + bound + "03:46:00 decides", 0},
		{"no network", []float64{0, 5, 10}, 0, 0, 0, "select", ", and nothing ended so far", 0},
		{"just under an hour", []float64{0, 30, 59.9}, 0, 0, 0, "select", ", and nothing ended so far", 0},
		{"an hour is long", []float64{0, 30, 60}, 0, 0, 0, "select", "", 0},
		{"one waits longer than the captures span", []float64{0, 5, 10}, 0, 0, 11, "select", "", 0},
		{"one waits as long as they span", []float64{0, 5, 10}, 0, 0, 10, "select", ", and nothing ended so far", 0},
		{"one ended", []float64{0, 5, 10}, 0, 1, 0, "IO wait", "", 0},
		{"without times nothing is said", []float64{-1, -1, -1}, 0, 0, 0, "IO wait", "", 0},
		{"they ended later", []float64{0, 5, 10}, 0, 0, 0, "select", "", 3},
	} {
		r := &Report{Series: []Series{{Families: []Family{{Fingerprint: "a", Kind: analysis.KindGoroutine, States: map[string]int{tt.state: 30, "select": 1}, OldestWait: &tt.wait}}}}}
		s := &r.Series[0]
		for i, at := range tt.minutes {
			id := fmt.Sprint(i)
			s.Snapshots = append(s.Snapshots, id)
			s.Families[0].Counts = append(s.Families[0].Counts, analysis.Counted(10*(i+1)))
			one := Snapshot{ID: id}
			if at >= 0 {
				one.CapturedAt = new(time.Date(2026, 5, 21, 3, 0, 0, 0, time.UTC).Add(time.Duration(at * float64(time.Minute))))
			}
			r.Snapshots = append(r.Snapshots, one)
		}
		l := answer{finding: &Finding{Families: []string{"a"}}, claims: Claims{First: 0, Since: tt.since, Last: 2, Ended: tt.ended, EndedAt: cmp.Or(tt.endedAt, -1), RestartedAt: -1}}
		if got := r.diagnosing(nil).young(l); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestClusteredCapturesAreSaid: captures at minutes after the first.
func TestClusteredCapturesAreSaid(t *testing.T) {
	for _, tt := range []struct {
		name    string
		minutes []float64
		want    string
	}{
		{"all but the first in a tenth of the time", []float64{0, 18, 19, 19.5, 20}, ", and 4 of 5 captures lie within 2 min"},
		{"all but the last", []float64{0, 0.5, 1, 20}, ", and 3 of 4 captures lie within 1 min"},
		{"in just more than a tenth", []float64{0, 17.9, 19, 19.5, 20}, ""},
		{"three quarters of them", []float64{0, 30, 60, 92, 93, 94, 95, 96, 97, 98, 99, 100}, ", and 9 of 12 captures lie within 8 min"},
		{"fewer than three quarters", []float64{0, 30, 60, 80, 93, 94, 95, 96, 97, 98, 99, 100}, ""},
		{"even ones", []float64{0, 5, 10, 15, 20}, ""},
		{"three captures", []float64{0, 19, 20}, ""},
	} {
		r := &Report{Series: []Series{{}}}
		for i, at := range tt.minutes {
			id := fmt.Sprint(i)
			r.Series[0].Snapshots = append(r.Series[0].Snapshots, id)
			r.Snapshots = append(r.Snapshots, Snapshot{ID: id, CapturedAt: new(time.Date(2026, 5, 21, 3, 0, 0, 0, time.UTC).Add(time.Duration(at * float64(time.Minute))))})
		}
		if got := r.diagnosing(nil).clustered(&r.Series[0]); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
