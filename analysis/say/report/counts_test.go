package report

import (
	"testing"

	"leakdiff/analysis"
)

func TestASentenceListsFewOfManyCounts(t *testing.T) {
	series := func(n, peak int) (*JudgedSeries, analysis.Counts) {
		j, counts := &JudgedSeries{}, make(analysis.Counts, n)
		for i := range counts {
			v := i
			if i == peak {
				v = 900
			}
			counts[i] = analysis.Counted(v)
			j.Snapshots = append(j.Snapshots, &analysis.Snapshot{})
		}
		return j, counts
	}
	for name, tc := range map[string]struct {
		n, peak int
		want    string
	}{
		"all of a few":            {5, -1, "0 1 2 3 4"},
		"both ends of sixty":      {60, -1, "0 1 2 3 … 56 57 58 59"},
		"the highest among sixty": {60, 30, "0 1 2 3 … 900 … 56 57 58 59"},
	} {
		t.Run(name, func(t *testing.T) {
			j, counts := series(tc.n, tc.peak)
			if got := j.inWords(counts, analysis.KindGoroutine); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
