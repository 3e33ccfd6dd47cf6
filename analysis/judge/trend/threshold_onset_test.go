package trend

import (
	"math"
	"strings"
	"testing"
)

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
		"80": "t0 to t1",
		"79": "before t0 to t1",
	} {
		if got := began(only(piling("100 160 220 280 340 400 " + left)).series(t)); got != want {
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
	for counts, want := range map[string]string{"0 20": "", "0 0 20": "t1 to t2"} {
		if got := began(only(piling(counts)).series(t)); got != want {
			t.Errorf("%s: %q, want %q", counts, got, want)
		}
	}
}

func TestThreeWindowsThatAreAllDateNothing(t *testing.T) {
	windows := func(from ...int) (out []Window) {
		for _, k := range from {
			out = append(out, Window{From: k, To: k + 1})
		}
		return out
	}
	for _, tc := range []struct {
		name      string
		windows   []Window
		snapshots int
		want      bool
	}{
		{"three windows that are all", windows(0, 1, 2), 4, true},
		{"two windows that are all", windows(0, 1), 3, false},
		{"three windows before the last snapshot", windows(0, 1, 2), 5, false},
		{"three windows after the first interval", windows(1, 2, 3), 5, false},
		{"none", nil, 2, false},
	} {
		if got := coverAll(tc.windows, tc.snapshots); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
