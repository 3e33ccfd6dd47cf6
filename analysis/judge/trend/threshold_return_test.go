package trend

import (
	"testing"

	"leakdiff/analysis"
)

// restarted is a series of counts by starts of the process, without identities.
func restarted(starts ...[]int) *part {
	p, at := &part{dated: true}, 0
	for _, counts := range starts {
		var run []point
		for _, n := range counts {
			run = append(run, point{index: at, count: n, at: float64(at), timed: true})
			at++
		}
		p.runs = append(p.runs, run)
	}
	p.tracking = &tracking{members: make([][]int32, at), complete: make([]bool, at)}
	return p
}

func TestAFamilyIsBackAfterARestartOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name   string
		starts [][]int
		want   int
	}{
		{"as many as before", [][]int{{20, 90, 100}, {5, 60, 100}}, 100},
		{"a tenth more", [][]int{{20, 100, 100}, {5, 110}}, 100},
		{"more than a tenth more", [][]int{{20, 100, 100}, {5, 111}}, 0},
		{"the start before stood within a tenth", [][]int{{20, 90, 100}, {100}}, 100},
		{"the start before still rose", [][]int{{20, 89, 100}, {100}}, 0},
		{"it rose until its newer half", [][]int{{10, 50, 100, 100}, {100}}, 100},
		{"one count of the start before", [][]int{{100}, {20, 100}}, 0},
		{"one start", [][]int{{20, 100, 100}}, 0},
		{"the start before the last one decides", [][]int{{200, 200}, {100, 100}, {150}}, 0},
	}
	for _, tc := range tests {
		if got := restarted(tc.starts...).returned(); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestAWarmUpEndsOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name   string
		n      int
		starts [][]int
		want   bool
	}{
		{"less than a quarter of the first pace", 5, [][]int{{10, 10}, {0, 40, 49}}, true},
		{"a quarter of the first pace", 5, [][]int{{10, 10}, {0, 40, 50}}, false},
		{"six counts", 6, [][]int{{10, 10, 10}, {0, 40, 49}}, false},
		{"one start", 3, [][]int{{0, 40, 49}}, false},
		{"one count since the start", 3, [][]int{{10, 10}, {0}}, false},
		{"two counts that fall since the start", 4, [][]int{{10, 10}, {40, 20}}, false},
	}
	for _, tc := range tests {
		if got := restarted(tc.starts...).warmed(tc.n); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	late := restarted([]int{10, 10}, []int{0, 40, 49}) // the last interval is half as long
	late.runs[1][2].at = 3.5
	if late.warmed(5) {
		t.Error("nine in half of the time are less than a quarter of 40")
	}
	for name, s := range map[string]signals{
		"is suspicious": {fit: fit{n: 5, epochs: 2}, up: levelSuspicious, warmed: true},
		"accuses":       {fit: fit{n: 5, epochs: 1}, cohorts: true, up: levelLeaking, warmed: true},
	} {
		if s.suspects() || s.accuses() {
			t.Errorf("a warm-up that ends %s", name)
		}
	}
}

func TestWhoIsBackIsStable(t *testing.T) {
	sc := only("#20 #90 #100 #5 #60 #100")
	sc.pids = "1 1 1 2 2 2"
	got := sc.series(t).JudgeAll()[onlyFamily]
	if got.Verdict != analysis.Stable {
		t.Errorf("%s, want stable", got.Verdict)
	}
	for _, e := range got.Evidence {
		if e.Rule == ruleReturned && e.N == 100 && e.Of == 100 {
			return
		}
	}
	t.Error("nothing says that it is back")
}

func TestWhatLeakedBeforeARestartIsNotBack(t *testing.T) {
	for name, tc := range map[string]struct {
		line, pids string
		back       bool
	}{
		"it leaked, and its last two counts are near each other": {"1-10 1-30 1-50 1-70 1-90 1-94 201-210 201-230 201-250", "1 1 1 1 1 1 2 2 2", false},
		"it stood": {"1-90 1-90 1-91 1-91 1-92 1-92 201-210 201-230 201-250", "1 1 1 1 1 1 2 2 2", true},
	} {
		sc := only(tc.line)
		sc.pids = tc.pids
		s := sc.series(t)
		p := s.judgements().byFingerprint[onlyFamily].part
		signals := p.measure(new(buffers))
		if got := signals.returned > 0; got != tc.back {
			t.Errorf("%s: back at %d, %s", name, signals.returned, signals.verdict)
		}
	}
}
