package trend

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// heads makes n captures a minute apart. The process starts anew at each index of restarts.
func heads(n int, restarts map[int]bool) []*analysis.Snapshot {
	out := make([]*analysis.Snapshot, n)
	all := make([]analysis.Snapshot, n)
	pid := 1
	for i := range out {
		if restarts[i] {
			pid++
		}
		all[i].CapturedAt = minute(i)
		all[i].Process.PID = analysis.Fact{Value: strconv.Itoa(pid)}
		out[i] = &all[i]
	}
	return out
}

func minute(i int) time.Time {
	return time.Date(2026, 11, 21, 0, i, 0, 0, time.UTC)
}

func TestEveryCaptureOfAShortSeriesIsJudged(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64} {
		if got := len(Select(heads(n, nil), nil)); got != n {
			t.Errorf("%d of %d captures are judged", got, n)
		}
	}
}

// The indexes are counted by hand from the rule.
func TestOlderCapturesAreThinned(t *testing.T) {
	tests := []struct {
		name     string
		n        int
		restarts map[int]bool
		events   []Event
		older    []int // those before the newest 64
	}{
		{"65 captures", 65, nil, nil, []int{0}},
		{"66 captures", 66, nil, nil, []int{0}},
		{"72 captures", 72, nil, nil, []int{0, 4}},
		{"128 captures", 128, nil, nil, []int{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60}},
		{"136 captures: every eighth of those older than 127", 136, nil, nil, []int{0, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68}},
		{"both sides of a restart", 72, map[int]bool{7: true}, nil, []int{0, 4, 6, 7}},
		{"both sides of an event between two captures", 72, nil, []Event{{At: minute(2).Add(time.Second)}}, []int{0, 2, 3, 4}},
		{"both sides of an event at the time of a capture", 72, nil, []Event{{At: minute(2)}}, []int{0, 1, 2, 4}},
		{"an event before the first capture", 72, nil, []Event{{At: minute(-9)}}, []int{0, 4}},
		{"an event after the last capture", 72, nil, []Event{{At: minute(99)}}, []int{0, 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.older
			for i := test.n - 64; i < test.n; i++ {
				want = append(want, i)
			}
			if got := Select(heads(test.n, test.restarts), test.events); !slices.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

func TestAChangeOfVersionIsKept(t *testing.T) {
	in := heads(72, nil)
	for i, s := range in {
		s.Process.PID = analysis.Fact{}
		s.Process.Version = analysis.Fact{Value: "1.2", Confidence: analysis.High}
		if i < 6 {
			s.Process.Version.Value = "1.1"
		}
	}
	if got, want := Select(in, nil)[:4], []int{0, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestASelectionIsBoundedForEveryLength(t *testing.T) {
	every := map[int]bool{}
	for i := range 100_000 {
		every[i] = true
	}
	for _, n := range []int{65, 100, 300, 1_000, 4_096, 10_000, 65_536, 100_000} {
		for name, restarts := range map[string]map[int]bool{"one start": nil, "a restart at each": every} {
			if got := len(Select(heads(n, restarts), nil)); got > 313 {
				t.Errorf("%s: %d of %d captures are judged", name, got, n)
			}
		}
	}
}

// What left never returns, and the newest capture always comes.
func TestASelectionIsNestedOverAppends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(201, 3_000)).Draw(t, "captures")
		restarts := map[int]bool{}
		for _, at := range rapid.SliceOfN(rapid.IntRange(1, n), 0, 40).Draw(t, "restarts") {
			restarts[at] = true
		}
		var events []Event
		for _, at := range rapid.SliceOfN(rapid.IntRange(-5, n+5), 0, 40).Draw(t, "events") {
			events = append(events, Event{At: minute(at).Add(30 * time.Second)})
		}
		all := heads(n+8, restarts)
		had := Select(all[:n], events)
		if again := Select(all[:n], events); !slices.Equal(had, again) {
			t.Fatalf("two runs differ: %v and %v", had, again)
		}
		for more := n + 1; more <= len(all); more++ {
			now := Select(all[:more], events)
			for _, i := range now {
				if i < more-1 && !slices.Contains(had, i) {
					t.Fatalf("capture %d is chosen of %d, and was not of %d", i, more, more-1)
				}
			}
			if fresh := now[len(now)-1]; fresh != more-1 {
				t.Fatalf("the newest of %d is not chosen", more)
			}
			if len(now) > 313 {
				t.Fatalf("%d are chosen of %d", len(now), more)
			}
			had = now
		}
	})
}
