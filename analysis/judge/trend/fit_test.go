package trend

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestChanceThatAllPairsRise(t *testing.T) {
	// The chance is 1/n!.
	for n, want := range map[int]string{2: "0.500", 3: "0.167", 4: "0.042", 5: "0.008"} {
		if got := strconv.FormatFloat(allPairsRise(n), 'f', 3, 64); got != want {
			t.Errorf("n = %d: p = %s, want %s", n, got, want)
		}
	}
}

// The normal p-value decides. It must not be smaller than the exact one allows.
func TestTheNormalTailFollowsTheExactOne(t *testing.T) {
	for n := 4; n <= 9; n++ {
		for s, exact := range exactTail(n) {
			variance := float64(n*(n-1)*(2*n+5)) / 18
			got := tail(s, variance)
			for _, limit := range []float64{0.25, 0.1, 0.05, 0.01} {
				if got <= limit && exact > limit*1.15 {
					t.Errorf("n = %d, S = %d: p = %.4f passes %.2f, the exact p %.4f does not", n, s, got, limit, exact)
				}
			}
		}
	}
}

// exactTail counts permutations by inversions (Mahonian numbers): the probability of
// each positive S or more.
func exactTail(n int) map[int]float64 {
	ways := []float64{1}
	for k := 2; k <= n; k++ {
		next := make([]float64, len(ways)+k-1)
		for inversions, w := range ways {
			for more := range k {
				next[inversions+more] += w
			}
		}
		ways = next
	}
	all := math.Gamma(float64(n) + 1)
	tails := make(map[int]float64)
	sum := 0.0
	for inversions, w := range ways {
		sum += w
		if s := n*(n-1)/2 - 2*inversions; s > 0 {
			tails[s] = sum / all
		}
	}
	return tails
}

func runOf(counts ...int) []point {
	run := make([]point, len(counts))
	for i, count := range counts {
		run[i] = point{index: i, count: count, at: float64(i), timed: true}
	}
	return run
}

func TestLevelsOfCounts(t *testing.T) {
	tests := []struct {
		name string
		runs [][]point
		want level
	}{
		{"two counts are never more than suspicious", [][]point{runOf(0, 400)}, levelSuspicious},
		{"three counts are never more than suspicious", [][]point{runOf(0, 400, 800)}, levelSuspicious},
		{"four counts must rise in every pair", [][]point{runOf(0, 20, 40, 60)}, levelLeaking},
		{"four counts with one tie are suspicious", [][]point{runOf(0, 20, 20, 60)}, levelSuspicious},
		{"five counts rise in every pair", [][]point{runOf(4, 12, 22, 29, 41)}, levelLeaking},
		{"nine more members are no effect", [][]point{runOf(0, 3, 6, 9)}, levelNone},
		{"a tenth of many is no effect", [][]point{runOf(1000, 1024, 1048, 1072, 1096, 1120)}, levelNone},
		{"a rise within the noise of a large family is none", [][]point{runOf(300, 315, 330, 345)}, levelNone},
		{"a single step is no line", [][]point{runOf(10, 11, 12, 80, 81, 82, 83, 84)}, levelNone},
		{"a growth that has stopped is none", [][]point{runOf(0, 30, 60, 90, 92, 92, 91, 92)}, levelNone},
		{"eight counts rise in most pairs", [][]point{runOf(10, 20, 18, 35, 40, 55, 52, 70)}, levelLeaking},
		{"two epochs that rise add up", [][]point{runOf(2, 20, 40, 60), runOf(3, 22, 39, 61)}, levelLeaking},
		{"epochs of two counts say no more than suspicious", [][]point{runOf(0, 30), runOf(0, 30), runOf(0, 30)}, levelSuspicious},
		{"a warm-up after every restart is none", [][]point{runOf(5, 30, 31, 31), runOf(5, 30, 31, 31)}, levelNone},
		{"no epoch has anything to compare", nil, levelNone},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := filledFit(tc.runs)
			if got := f.rising(); got != tc.want {
				t.Errorf("level = %d, want %d (%+v)", got, tc.want, f)
			}
			mirrored := make([][]point, len(tc.runs))
			for r, run := range tc.runs {
				for _, pt := range run {
					pt.count = -pt.count
					mirrored[r] = append(mirrored[r], pt)
				}
			}
			if got := filledFit(mirrored); got.slope != -f.slope || math.Abs(got.pDown-f.pUp) > 1e-12 {
				t.Errorf("mirrored: slope %v, p %v; want %v, %v", got.slope, got.pDown, -f.slope, f.pUp)
			}
		})
	}
}

// filledFit is the fit with everything that a judgement needs only beyond the gate.
func filledFit(runs [][]point) fit {
	buf := new(buffers)
	f := fitCounts(runs, buf)
	f.fill(runs, buf)
	return f
}

// Skipping parts of a fit, because p-value or pairs exclude a growth, must not change
// its level.
func TestLevelsAreThoseOfTheWholeLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := make([][]point, rapid.IntRange(1, 3).Draw(t, "epochs"))
		for r := range runs {
			counts := make([]int, rapid.IntRange(2, 45).Draw(t, "snapshots"))
			per, noise := rapid.IntRange(-4, 4).Draw(t, "per snapshot"), rapid.IntRange(0, 12).Draw(t, "noise")
			for i := range counts {
				counts[i] = 200 + i*per + rapid.IntRange(0, noise).Draw(t, "more")
			}
			runs[r] = runOf(counts...)
		}
		got, want := fitCounts(runs, new(buffers)), filledFit(runs)
		if got.rising() != want.rising() || got.falling() != want.falling() {
			t.Fatalf("rises %v, falls %v; whole: %v, %v", got.rising(), got.falling(), want.rising(), want.falling())
		}
	})
}

func TestTheSlopeIgnoresOneOutlier(t *testing.T) {
	f := filledFit([][]point{runOf(0, 10, 20, 500, 40, 50, 60)})
	if f.slope != 10 {
		t.Errorf("slope = %v, want 10", f.slope)
	}
	if f.low > f.slope || f.high < f.slope {
		t.Errorf("interval %v to %v does not hold the slope %v", f.low, f.high, f.slope)
	}
}

func TestUndatedPointsStayInCountsAndOutOfSlopes(t *testing.T) {
	run := runOf(0, 10, 999, 30, 40)
	run[2].timed = false
	f := filledFit([][]point{run})
	if f.n != 5 || f.slope != 10 {
		t.Errorf("n = %d, slope = %v; want 5 and 10", f.n, f.slope)
	}
}

func TestThinningKeepsBothEnds(t *testing.T) {
	counts := make([]int, 5000)
	for i := range counts {
		counts[i] = i
	}
	got := thin(runOf(counts...), 100, new(buffers))
	if len(got) != 100 || got[0].count != 0 || got[99].count != 4999 {
		t.Errorf("%d points from %d to %d, want 100 from 0 to 4999", len(got), got[0].count, got[99].count)
	}
}

func TestNthAgreesWithSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 60).Draw(t, "values")
		if rapid.Bool().Draw(t, "ties") {
			for i := range values {
				values[i] = math.Round(values[i])
			}
		}
		k := rapid.IntRange(0, len(values)-1).Draw(t, "k")
		sorted := slices.Sorted(slices.Values(values))
		if got := nth(slices.Clone(values), k); got != sorted[k] {
			t.Fatalf("nth %d = %v, want %v", k, got, sorted[k])
		}
		n := len(sorted)
		want := (sorted[(n-1)/2] + sorted[n/2]) / 2
		if got := median(slices.Clone(values)); got != want {
			t.Fatalf("median = %v, want %v", got, want)
		}
	})
}
