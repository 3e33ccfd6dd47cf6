package trend

import (
	"testing"
	"time"

	"leakdiff/analysis"
)

// countedSeries has goroutines that were counted every so often, beside a number of pods.
func countedSeries(every time.Duration, counts []int, pods func(i int) float64) *Series {
	total := analysis.TotalOf(analysis.KindGoroutine)
	var snaps []*analysis.Snapshot
	at := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	for i, n := range counts {
		s := &analysis.Snapshot{CapturedAt: at.Add(time.Duration(i) * every), Totals: analysis.Totals{Goroutines: &n}}
		s.Groups = []analysis.Group{{Family: total, Count: n, OldestWait: -1}}
		if pods != nil {
			s.Figures = map[string]float64{"kubelet_running_pods": pods(i)}
		}
		snaps = append(snaps, s)
	}
	return NewSeries(Input{Snapshots: snaps})
}

func TestWhatACountAloneProves(t *testing.T) {
	rising := func(n, step int) (out []int) {
		for i := range n {
			out = append(out, 100+step*i)
		}
		return out
	}
	// notRising has ten points of which so many steps do not rise.
	notRising := func(flat int) []int {
		out := rising(10, 20)
		for i := range flat {
			out[3+2*i] = out[2+2*i]
		}
		return out
	}
	steady := func(int) float64 { return 42 }
	to := func(last float64) func(int) float64 {
		return func(i int) float64 {
			if i == 9 {
				return last
			}
			return 100
		}
	}
	const suspicious, leaking = analysis.Suspicious, analysis.Leaking
	for _, tc := range []struct {
		name   string
		every  time.Duration
		counts []int
		pods   func(int) float64
		want   analysis.Verdict
	}{
		{"ten points in an hour and a half beside a demand that stays", 10 * time.Minute, rising(10, 20), steady, leaking},
		{"without a demand", 10 * time.Minute, rising(10, 20), nil, suspicious},
		{"nine points", 10 * time.Minute, rising(9, 20), steady, suspicious},
		{"an hour", 400 * time.Second, rising(10, 20), steady, leaking},
		{"nine seconds less than an hour", 399 * time.Second, rising(10, 20), steady, suspicious},
		{"one step in nine does not rise", 10 * time.Minute, notRising(1), steady, leaking},
		{"two steps in nine do not", 10 * time.Minute, notRising(2), steady, suspicious},
		{"a demand that varies by 10 %", 10 * time.Minute, rising(10, 20), to(110), leaking},
		{"and by 11 %", 10 * time.Minute, rising(10, 20), to(111), suspicious},
		{"half of a daily cycle beside a demand that stays", time.Hour, []int{100, 104, 115, 134, 158, 186, 214, 242, 266, 285, 296, 300}, steady, suspicious},
		{"a cache that fills", 10 * time.Minute, []int{60, 90, 114, 133, 148, 160, 170, 178, 184, 189, 193, 196}, steady, suspicious},
		{"a last quarter with 70 % of an even share", 10 * time.Minute, []int{0, 110, 220, 330, 440, 550, 660, 770, 880, 990, 1060, 1130, 1200}, steady, leaking},
		{"and with less", 10 * time.Minute, []int{0, 110, 220, 330, 440, 550, 660, 770, 880, 991, 1060, 1130, 1200}, steady, suspicious},
		{"a demand that it follows", 10 * time.Minute, rising(10, 20), func(i int) float64 { return 50 + 10*float64(i) }, analysis.Scaling},
		{"counts that stay", 10 * time.Minute, []int{100, 101, 100, 99, 100, 101, 100, 100, 99, 100}, steady, analysis.Stable},
		{"a daily cycle", 2 * time.Hour, []int{100, 150, 230, 280, 300, 270, 210, 150, 110, 100, 140, 220, 285, 300, 260, 205, 140, 105, 100}, steady, analysis.Stable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := countedSeries(tc.every, tc.counts, tc.pods).JudgeAll()
			if j := got[analysis.TotalOf(analysis.KindGoroutine).Fingerprint]; j.Verdict != tc.want {
				t.Errorf("%s, want %s", j.Verdict, tc.want)
			}
		})
	}
}
