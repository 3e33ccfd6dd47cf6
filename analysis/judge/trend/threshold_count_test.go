package trend

import (
	"fmt"
	"testing"

	"leakdiff/analysis"
)

func TestTheLevelsOfCountsTurnAtTheirThresholds(t *testing.T) {
	// A trend that passes everything; each case takes one thing away.
	strong := func(n int) fit {
		return fit{n: n, longest: n, epochs: 1, z: 5, filled: true, straight: true, growth: 10, gate: 10, slope: 1, newer: 1, newest: 1}
	}
	tests := []struct {
		name   string
		n      int
		p      float64
		change func(*fit)
		want   level
	}{
		{"one snapshot", 1, 0, nil, levelNone},
		{"two snapshots", 2, 1, nil, levelSuspicious},
		{"two snapshots, deviation 2.33", 2, 1, func(f *fit) { f.z = 2.33 }, levelSuspicious},
		{"two snapshots, deviation 2.32", 2, 1, func(f *fit) { f.z = 2.32 }, levelNone},
		{"three snapshots", 3, 0, nil, levelSuspicious},
		{"four snapshots", 4, 0.05, nil, levelLeaking},
		{"four snapshots of epochs of two", 4, 0.05, func(f *fit) { f.longest = 2 }, levelSuspicious},
		{"four snapshots, p .051", 4, 0.051, nil, levelSuspicious},
		{"four snapshots, p .25", 4, 0.25, nil, levelSuspicious},
		{"four snapshots, p .26", 4, 0.26, nil, levelNone},
		{"four snapshots, a step", 4, 0.05, func(f *fit) { f.straight = false }, levelSuspicious},
		{"five snapshots, deviation 2.33", 5, 0.05, func(f *fit) { f.z = 2.33 }, levelLeaking},
		{"five snapshots, deviation 2.32", 5, 0.05, func(f *fit) { f.z = 2.32 }, levelNone},
		{"five snapshots that stand", 5, 0.05, func(f *fit) { f.newer = 0 }, levelLeaking},
		{"six snapshots that stand", 6, 0.05, func(f *fit) { f.newer = 0 }, levelNone},
		{"six snapshots, p .05, small deviation", 6, 0.05, func(f *fit) { f.z = 0 }, levelLeaking},
		{"six snapshots, p .06", 6, 0.06, nil, levelSuspicious},
		{"seven snapshots, p .05", 7, 0.05, nil, levelLeaking},
		{"eight snapshots, p .05", 8, 0.05, nil, levelSuspicious},
		{"eight snapshots, p .01", 8, 0.01, nil, levelLeaking},
		{"eight snapshots, p .011", 8, 0.011, nil, levelSuspicious},
		{"eight snapshots, p .1", 8, 0.1, nil, levelSuspicious},
		{"eight snapshots, p .11", 8, 0.11, nil, levelNone},
		{"eight snapshots, p .1, deviation 1.64", 8, 0.1, func(f *fit) { f.z = 1.64 }, levelSuspicious},
		{"eight snapshots, p .1, deviation 1.63", 8, 0.1, func(f *fit) { f.z = 1.63 }, levelNone},
		{"eight snapshots, a step", 8, 0.01, func(f *fit) { f.straight = false }, levelSuspicious},
		{"eight snapshots, a step, deviation 1.64", 8, 0.01, func(f *fit) { f.straight, f.z = false, 1.64 }, levelSuspicious},
		{"eight snapshots, a step, deviation 1.63", 8, 0.01, func(f *fit) { f.straight, f.z = false, 1.63 }, levelNone},
		{"six snapshots of epochs of three", 6, 0.05, func(f *fit) { f.longest = 3 }, levelLeaking},
		{"six snapshots of epochs of two", 6, 0.05, func(f *fit) { f.longest = 2 }, levelSuspicious},
		{"growth below the gate", 8, 0.01, func(f *fit) { f.growth = 9.9 }, levelNone},
		{"the newer half at .31", 8, 0.01, func(f *fit) { f.newer = 0.31 }, levelLeaking},
		{"the newer half at .3", 8, 0.01, func(f *fit) { f.newer = 0.3 }, levelNone},
		{"one start, the newest halves stand", 8, 0.01, func(f *fit) { f.newest = 0 }, levelLeaking},
		{"two starts, the newest halves at .31", 8, 0.01, func(f *fit) { f.epochs, f.newest = 2, 0.31 }, levelLeaking},
		{"two starts, the newest halves at .3", 8, 0.01, func(f *fit) { f.epochs, f.newest = 2, 0.3 }, levelNone},
	}
	for _, tc := range tests {
		f := strong(tc.n)
		if tc.change != nil {
			tc.change(&f)
		}
		if got := f.level(1, tc.p); got != tc.want {
			t.Errorf("%s: level %d, want %d", tc.name, got, tc.want)
		}
	}
	for start, want := range map[float64]float64{0: 10, 66: 10, 100: 15, 200: 30} {
		if got := leastGrowth(start); got != want {
			t.Errorf("gate of %v: %v, want %v", start, got, want)
		}
	}
}

func TestGrewTurnsAtItsThresholds(t *testing.T) {
	for _, tc := range []struct {
		born, gone, passed int
		want               bool
	}{
		{3, 0, 0, true}, {2, 0, 0, false}, {4, 1, 0, false}, {9, 1, 0, false}, {10, 1, 0, true}, {60, 40, 0, false}, {70, 40, 0, true},
		{3, 0, 1, false}, {9, 0, 1, true}, {8, 0, 1, false}, {10, 0, 100, false}, {11, 0, 100, true}, {2, 0, 100, false},
	} {
		if got := outweighs(tc.born, tc.gone, tc.passed); got != tc.want {
			t.Errorf("%d new, %d gone, %d passed: %v, want %v", tc.born, tc.gone, tc.passed, got, tc.want)
		}
	}
	// Without identities: the gate and a deviation of 2.33.
	for counts, want := range map[string]analysis.Verdict{"#30 #20": analysis.Stable, "#1 #10": analysis.Stable, "#1 #13": analysis.Stable, "#1 #14": analysis.Grew} {
		verdict := only(counts).series(t).JudgeAll()[onlyFamily].Verdict
		if got := verdict.Rose(); got != (want == analysis.Grew) {
			t.Errorf("%s: %s", counts, verdict)
		}
	}
}

func TestDeviationsByIdentity(t *testing.T) {
	p := only("1-200 1-204 1-208 1-212").series(t).parts[onlyFamily]
	s := signals{fit: fit{n: 4, rise: 12, z: 0.4, filled: true}}
	if p.weighByIdentity(&s, new(buffers)); fmt.Sprintf("%.3f", s.fit.z) != "2.449" { // 12 over the root of 24
		t.Errorf("deviation %.3f, want 2.449", s.fit.z)
	}
	for n, want := range map[int]bool{3: false, 4: true} {
		s := signals{fit: fit{n: n, rise: 12, filled: true}}
		if p.weighByIdentity(&s, new(buffers)); s.fit.z > 0 != want {
			t.Errorf("%d snapshots: %v, want it weighed: %v", n, s.fit.z, want)
		}
	}
	counted := only("#1 #14").series(t).parts[onlyFamily]
	for z, want := range map[float64]bool{2.32: false, 2.33: true, 2.4: true} {
		s := signals{fit: fit{n: 2, rise: 13, gate: 10, z: z}}
		if counted.measureBalance(&s); s.grew != want {
			t.Errorf("deviation %v: grew %v, want %v", z, s.grew, want)
		}
	}
	for gate, want := range map[float64]bool{13: true, 13.1: false} {
		s := signals{fit: fit{n: 2, rise: 13, gate: gate, z: 3}}
		if counted.measureBalance(&s); s.grew != want {
			t.Errorf("gate %v: grew %v, want %v", gate, s.grew, want)
		}
	}
}

func TestAFamilyScalesOnBothSidesOfItsThresholds(t *testing.T) {
	tests := []struct {
		name, counts string
		loads        []float64
		want         bool
	}{
		{"in proportion", "#100 #150 #200", []float64{100, 150, 200}, true},
		{"15 % above", "#100 #172 #200", []float64{100, 150, 200}, true},
		{"16 % above", "#100 #174 #200", []float64{100, 150, 200}, false},
		{"two members beside", "#4 #8 #8", []float64{4, 6, 8}, true},
		{"2.3 members beside", "#4 #9 #8", []float64{4, 6.7, 8}, false},
		{"three members beside", "#4 #9 #8", []float64{4, 6, 8}, false},
		{"a load that varies by 10 %", "#100 #105 #110", []float64{100, 105, 110}, true},
		{"a load that varies by 9 %", "#100 #105 #109", []float64{100, 105, 109}, false},
		{"a small variation, 3.5 % beside", "#1000 #1087 #1100", []float64{1000, 1050, 1100}, true},
		{"a small variation, 4 % beside", "#1000 #1092 #1100", []float64{1000, 1050, 1100}, false},
		{"two snapshots with a load", "#0 #4 #8", []float64{0, 4, 8}, true},
		{"one snapshot with a load", "#0 #0 #8", []float64{0, 0, 8}, false},
	}
	for _, tc := range tests {
		s := only(tc.counts).series(t)
		if _, got := s.parts[onlyFamily].scalesWith(&load{name: "pods", values: tc.loads}, 0); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestALineFitsAsWellAsAStepWithinFivePercent(t *testing.T) {
	for counts, want := range map[string]bool{
		"#0 #10 #20 #30 #40 #50": true, "#0 #0 #0 #50 #50 #50": false, "#0 #1 #2 #50 #51 #52": false, "#0 #15 #15 #30 #30 #50": true,
		"#0 #0 #0 #12 #12 #32": true,  // 0.99 times the rest of a step
		"#0 #0 #0 #8 #16 #36":  false, // 1.08 times
	} {
		if got := straight(only(counts).series(t).parts[onlyFamily].comparable()); got != want {
			t.Errorf("%s: %v, want %v", counts, got, want)
		}
	}
}

func TestTwoStartsGoOnOnlyWhereBothDo(t *testing.T) {
	// The second start goes on at 15 of 27.5 a snapshot, the newer halves of both at 7.5.
	half := [][]point{runOf(0, 30, 60, 60), runOf(0, 30, 60, 75)}
	if got := filledFit(half).rising(); got != levelNone {
		t.Errorf("one of two starts goes on: level %d, want none", got)
	}
	both := [][]point{runOf(0, 30, 60, 75), runOf(0, 30, 60, 75)}
	if got := filledFit(both).rising(); got == levelNone {
		t.Error("both starts go on: level none")
	}
}

func TestLevelledNeedsFourCounts(t *testing.T) {
	for counts, want := range map[string]bool{"20 20 20": false, "20 20 20 20": true, "0 10 20 30": false} {
		if got := only(piling(counts)).series(t).Levelled(onlyFamily); got != want {
			t.Errorf("%s: %v, want %v", counts, got, want)
		}
	}
}

func TestTheIntervalOfASlopeIsThatOfSen(t *testing.T) {
	// Ten counts have 45 pairs and a variance of 125: 1.96 times its root is 21.91, so that the
	// bounds are the slopes of rank (45 - 21.91) / 2 = 11.5 and (45 + 21.91) / 2 + 1 = 34.5.
	slopes := make([]float64, 45)
	for k := range slopes {
		slopes[k] = float64(k + 1)
	}
	if low, high := interval(slopes, 125); low != 12 || high != 34 {
		t.Errorf("%v to %v, want the 12th and the 34th of 45", low, high)
	}
	few := []float64{1, 2, 3, 4, 5, 6}
	if low, high := interval(few, 1); low != 2 || high != 5 {
		t.Errorf("%v to %v, want the 2nd and the 5th of 6", low, high)
	}
}

func TestPairsAreThoseOfThirtySixSnapshots(t *testing.T) {
	long := make([]int, 100)
	for k := range long {
		long[k] = k
	}
	// 36 × 35 × 77 / 18.
	if f := fitCounts([][]point{runOf(long...)}, new(buffers)); f.variance != 5390 {
		t.Errorf("variance %v, want 5390, that of 36 points", f.variance)
	}
	// Of forty starts the first and the last count of each are left: one rises, the others
	// end where they began.
	starts := [][]point{runOf(0, 9, 9)}
	for range 39 {
		starts = append(starts, runOf(9, 0, 9))
	}
	f := fitCounts(starts, new(buffers))
	if f.variance != 40 || f.pUp != 0.5 {
		t.Errorf("variance %v, p %v; want 40 and 0.5", f.variance, f.pUp)
	}
}

func TestAStartWithOneSnapshotDoesNotHideOneWithTwo(t *testing.T) {
	sc := only("1-20 1-40 51-53")
	sc.pids = "1 1 2"
	if got := sc.series(t).JudgeAll()[onlyFamily].Verdict; got != analysis.Grew {
		t.Errorf("%s, want grew", got)
	}
}

func TestABoundOfAQuintillionIsNone(t *testing.T) {
	for bound, want := range map[float64]int{9e17: 1, 1.1e18: 0} {
		snaps := only("1-9 1-9").snapshots(t)
		for _, snap := range snaps {
			snap.Figures = map[string]float64{"memory_max_bytes": bound, "resident_memory_bytes": 5e8}
		}
		if got := len(seriesOf(snaps).Limits()); got != want {
			t.Errorf("%v: %d limits, want %d", bound, got, want)
		}
	}
}

func TestAFamilyThatScattersScalesOnBothSidesOfItsThresholds(t *testing.T) {
	even, wide, narrow := []float64{60, 80, 100, 120, 140, 160}, []float64{100, 110, 120, 130, 140, 145}, []float64{100, 108, 116, 124, 131, 138}
	tests := []struct {
		name, counts string
		loads        []float64
		want         bool
	}{
		{"19 beside a hundred", "60 80 119 120 140 160", even, true},
		{"21 beside a hundred: twice the root are 20", "60 80 121 120 140 160", even, false},
		{"for each unit of the load 7 more, where 16 count", "58 78 118 121 143 165", even, true},
		{"for each unit of the load 10 more, where 16 count", "57 78 118 121 144 167", even, false},
		{"a load that varies by 45 %, 20 beside 120", "100 110 140 130 140 145", wide, true},
		{"a load that varies by 38 %, 20 beside 116", "100 108 136 124 131 138", narrow, false},
	}
	for _, tc := range tests {
		s := NewSeries(Input{Snapshots: only(unidentified(tc.counts)).snapshots(t), Loads: map[string][]float64{"pods": tc.loads}})
		if verdict := s.JudgeAll()[onlyFamily].Verdict; (verdict == analysis.Scaling) != tc.want {
			t.Errorf("%s: %s, want scaling: %v", tc.name, verdict, tc.want)
		}
	}
}
