package trend

import (
	"math"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestWhatLeftWasALeakOnBothSidesOfItsThresholds(t *testing.T) {
	pods := func(values ...float64) map[string][]float64 { return map[string][]float64{"pods": values} }
	tests := []struct {
		name      string
		in        scenario
		loads     map[string][]float64
		want      analysis.Verdict
		recovered int
	}{
		{"four snapshots prove what left", only(piling("0 10 20 30 0")), nil, analysis.Leaking, 4},
		{"three that followed their load prove nothing", only("#100 #200 #300 #0"), pods(10, 20, 30, 30), analysis.Gone, -1},
		{"four that followed their load prove it", only("#100 #200 #300 #400 #0"), pods(10, 20, 30, 40, 40), analysis.Scaling, 4},
		{"it lasted 3 of 8 minutes", only(piling("0 10 20 30 0 0")).at("0 60 120 180 240 480"), nil, analysis.Leaking, 4},
		{"it lasted 3 of 15 minutes", only(piling("0 10 20 30 0 0")).at("0 60 120 180 240 900"), nil, analysis.Gone, -1},
		{"it lasted 3 of 10 minutes, from a fifth of its peak on", only(piling("0 4 10 15 20 0 0")).at("0 60 120 180 240 300 600"), nil, analysis.Suspicious, 5},
		{"it lasted 4 of 10 minutes, a quarter of its peak being no start", only(piling("0 5 10 15 20 0 0")).at("0 60 120 180 240 300 600"), nil, analysis.Leaking, 5},
		{"less than a fifth ended before the others", only(piling("0 20 40 60 80 100 82 0")), nil, analysis.Leaking, 7},
		{"more than a fifth ended before the others", only(piling("0 20 40 60 80 100 78 0")), nil, analysis.Suspicious, 7},
		{"it lasted 3 of 10 minutes", only(piling("0 10 20 30 0 0")).at("0 60 120 180 240 600"), nil, analysis.Suspicious, 4},
	}
	for _, tc := range tests {
		got := NewSeries(Input{Snapshots: tc.in.snapshots(t), Loads: tc.loads}).JudgeAll()[onlyFamily]
		if got.Verdict != tc.want || got.RecoveredAt != tc.recovered {
			t.Errorf("%s: %s, recovered at %d; want %s, %d: %v", tc.name, got.Verdict, got.RecoveredAt, tc.want, tc.recovered, got.Evidence)
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

func TestGrowthStopsByCountsUnlessThreeDumpsNameTheirMembers(t *testing.T) {
	for line, want := range map[string]bool{
		"#1 #5 #20 1-20 1-20":    true,  // two listings: the counts rose until t2
		"#1 #5 1-20 1-20 1-20":   false, // three listings: nobody came since the first
		"#1 #5 1-20 1-20 1-21,9": false,
	} {
		s := only(line).series(t)
		if got := s.parts[onlyFamily].stopped() != nil; got != want {
			t.Errorf("%s: stopped %v, want %v", line, got, want)
		}
	}
}

func TestHalfOfTheIdsAreOneProcess(t *testing.T) {
	for line, want := range map[string]int{"1-9,100 1-5": 0, "1-9,100 1-4": 1} {
		snaps := scenario{families: map[string]string{onlyFamily: line}}.snapshots(t)
		if got := Epochs(snaps)[1]; got != want {
			t.Errorf("%s: epoch %d, want %d", line, got, want)
		}
	}
}

func TestTheOldestGoroutineOrTheMetricsTellTheUptime(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*analysis.Snapshot)
	}{
		{"the oldest goroutine waits for ten hours", func(snap *analysis.Snapshot) {
			snap.Groups = append(snap.Groups, analysis.Group{Family: &analysis.Family{Fingerprint: "g1:main", Kind: analysis.KindGoroutine}, Count: 1, OldestWait: 600})
		}},
		{"the metrics name a start ten hours ago", func(snap *analysis.Snapshot) {
			snap.Figures = map[string]float64{"process_start_time_seconds": float64(testEpoch.Add(-10 * time.Hour).Unix())}
		}},
	} {
		// Members of more than 95 % of ten hours came with the start.
		for wait, want := range map[int32]int{570: 10, 571: 9} {
			snap := aged(10, append(every(60, 300, 30), wait)...)
			snap.Process.Start.Value = ""
			tc.change(snap)
			if a := seriesOf([]*analysis.Snapshot{snap}).parts[onlyFamily].measureAges(new(buffers)); a.kept != want {
				t.Errorf("%s, a member of %d minutes: %d ages count, want %d", tc.name, wait, a.kept, want)
			}
		}
	}
}

func TestMembersOfTheStartAreNoBirths(t *testing.T) {
	// Of 48 hours 95 % are 45.6.
	for hours, want := range map[float64]int{45.5: 3, 45.7: 2} {
		snap := aged(48, 1, 2, 3)
		s := NewSeries(Input{Snapshots: []*analysis.Snapshot{snap}, Elapsed: []map[string][]float64{{onlyFamily: {1, 2, hours}}}})
		born := 0
		for _, b := range s.Births(onlyFamily, 0) {
			born += b.Born
		}
		if born != want {
			t.Errorf("one of %v hours: %d births, want %d", hours, born, want)
		}
	}
}

// plainWindows are the probabilities of the intervals by their definition: the hinge is tried
// at eight places inside each, the residual of the best one sets the scale, at least 2, and
// each place counts with exp(-excess / (2 scale)).
func plainWindows(run []point) []float64 {
	epochs := make([]int, len(run))
	residuals, best := make([][]float64, len(run)-1), math.Inf(1)
	for k := range residuals {
		width := run[k+1].at - run[k].at
		for _, eighth := range []float64{1. / 16, 3. / 16, 5. / 16, 7. / 16, 9. / 16, 11. / 16, 13. / 16, 15. / 16} {
			left := plainResidual(run, epochs, run[k].at+width*eighth)
			residuals[k] = append(residuals[k], left)
			best = min(best, left)
		}
	}
	// A level, a slope and a bend are fitted.
	scale := math.Max(2, best/float64(len(run)-3))
	masses, total := make([]float64, len(residuals)), 0.0
	for k, tried := range residuals {
		for _, left := range tried {
			masses[k] += math.Exp((best-left)/(2*scale)) * (run[k+1].at - run[k].at)
		}
		total += masses[k]
	}
	for k := range masses {
		masses[k] /= total
	}
	return masses
}

func TestTheWindowsOfAnOnsetHaveTheProbabilityOfTheirDefinition(t *testing.T) {
	for name, counts := range map[string][]int{
		"counts that scatter as expected": {100, 104, 97, 101, 108, 117, 121, 133, 138, 149},
		"counts that scatter more":        {400, 470, 350, 440, 380, 520, 500, 640, 560, 700},
	} {
		run := runOf(counts...)
		want := plainWindows(run)
		words := make([]string, len(counts))
		for k, n := range counts {
			words[k] = "#" + itoa(n)
		}
		p := only(strings.Join(words, " ")).at("0 3600 7200 10800 14400 18000 21600 25200 28800 32400").series(t).parts[onlyFamily]
		if begun := p.begun(); begun >= 0 {
			t.Fatalf("%s: begun at t%d, which rules windows out", name, begun)
		}
		told, mass := p.onsetWindows(), 0.0
		for _, w := range told {
			mass += w.Mass
			if math.Abs(w.Mass-want[w.From]) > 1e-6 {
				t.Errorf("%s: t%d to t%d has %.4f, by its definition %.4f", name, w.From, w.To, w.Mass, want[w.From])
			}
		}
		least := 1.0
		for _, w := range told {
			least = min(least, w.Mass)
		}
		if mass < 0.95 || mass-least >= 0.95 {
			t.Errorf("%s: the %d windows have %.4f, the least %.4f: not the smallest set with 95 %%", name, len(told), mass, least)
		}
	}
}

func TestGrowthBeganBeforeOnBothSidesOfHalfTheRate(t *testing.T) {
	// Later 20 come in each interval.
	for counts, want := range map[string]bool{"100 111 131 151": true, "100 109 129 149": false} {
		p := only(piling(counts)).series(t).parts[onlyFamily]
		if got := p.grewBefore(0, -1); got != want {
			t.Errorf("%s: grew before %v, want %v", counts, got, want)
		}
		if got := p.bornEvenly(0); got != want {
			t.Errorf("%s: born evenly %v, want %v", counts, got, want)
		}
	}
	// Four fifths of the start are left when the cause is gone: the start was healthy.
	for left, want := range map[string]string{
		"80": "began between t0 and t1",
		"79": "began before t1, perhaps before t0: it was as fast in the first interval as later",
	} {
		if got := only(piling("100 160 220 280 340 400 " + left)).series(t).OnsetText(onlyFamily); got != want {
			t.Errorf("%s left: %q, want %q", left, got, want)
		}
	}
}

func TestGrowthHadBegunWhereCountsLeaveTheirScatter(t *testing.T) {
	for counts, want := range map[string]int{
		"99 129 129": -1, "99 130 130": 1, // three times the root of 100
		"5 5 5 50 5": -1, "5 5 5 50 50": 3,
	} {
		if got := only(unidentified(counts)).series(t).parts[onlyFamily].begun(); got != want {
			t.Errorf("%s: %d, want %d", counts, got, want)
		}
	}
}

func TestAnOnsetNeedsThreeCounts(t *testing.T) {
	for counts, want := range map[string]string{"0 20": "", "0 0 20": "began between t1 and t2"} {
		if got := only(piling(counts)).series(t).OnsetText(onlyFamily); got != want {
			t.Errorf("%s: %q, want %q", counts, got, want)
		}
	}
}

func TestTheOnsetInWordsTurnsAtThreeWindows(t *testing.T) {
	windows := func(from ...int) (out []Window) {
		for _, k := range from {
			out = append(out, Window{From: k, To: k + 1})
		}
		return out
	}
	events := make([]Event, 7)
	for k := range events {
		events[k] = Event{At: hour(float64(k)), Kind: "deploy", Text: "1." + itoa(k)}
	}
	happened := windows(1)
	happened[0].Events = events
	tests := []struct {
		name  string
		onset Onset
		n     int
		want  string
	}{
		{"three windows and even births", Onset{Windows: windows(0, 1, 2), Before: true, Evenly: true}, 9, "began before t1, perhaps before t0: as many came in the first interval as later"},
		{"two windows and even births", Onset{Windows: windows(0, 1), Before: true, Evenly: true}, 9, "began before t2, perhaps before t0: it was as fast in the first interval as later"},
		{"three windows that are all", Onset{Windows: windows(0, 1, 2)}, 4, "cannot be dated by its counts: it may have begun anywhere between t0 and t3"},
		{"two windows that are all", Onset{Windows: windows(0, 1)}, 3, "began between t0 and t2 (95 % of the probability)"},
		{"six windows apart", Onset{Windows: windows(1, 3, 5, 7, 9, 11)}, 20, "began between t1 and t2, between t3 and t4, between t5 and t6, between t7 and t8 and 2 more (95 % of the probability)"},
		{"seven events", Onset{Windows: happened}, 9, "began between t1 and t2; in that time: deploy 1.0 at 2026-11-21 03:00:00Z, deploy 1.1 at 2026-11-21 04:00:00Z, deploy 1.2 at 2026-11-21 05:00:00Z, deploy 1.3 at 2026-11-21 06:00:00Z, deploy 1.4 at 2026-11-21 07:00:00Z and 2 more"},
	}
	for _, tc := range tests {
		s := only(strings.TrimSpace(strings.Repeat("1 ", tc.n))).series(t)
		if got := tc.onset.text(s); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
