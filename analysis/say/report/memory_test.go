package report

import (
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// TestMemoryIsToldBeyondTheNoiseOfHealthyPrograms has resident memory in MiB, one for each capture.
func TestMemoryIsToldBeyondTheNoiseOfHealthyPrograms(t *testing.T) {
	for name, tt := range map[string]struct {
		seen []float64
		heap bool // it grew
		want bool
	}{
		"a young Go heap while it is captured four times":  {[]float64{7.7, 9.5, 11.4, 12.8}, false, false},
		"a service of threads, in each of three intervals": {[]float64{41, 49.3, 57.6, 65.9}, false, true},
		"16 MiB in each of three intervals":                {[]float64{40, 45, 51, 56}, false, true},
		"15 MiB in each of three intervals":                {[]float64{40, 45, 50, 55}, false, false},
		"16 MiB that are less than a fifth":                {[]float64{90, 95, 100, 106}, false, false},
		"in two of three intervals":                        {[]float64{40, 65, 60, 70}, false, true},
		"in two of four intervals":                         {[]float64{40, 75, 70, 65, 70}, false, false},
		"in two of four intervals, to twice as much":       {[]float64{40, 95, 90, 78, 80}, false, true},
		"two captures, and not twice as much":              {[]float64{40, 79}, false, true},
		"two captures, and twice as much":                  {[]float64{40, 80}, false, true},
		"two captures, and twice as much of little":        {[]float64{8, 20}, false, false},
		"two captures with a heap that grew":               {[]float64{18, 36}, true, true},
		"two captures with a heap that grew by little":     {[]float64{40, 50}, true, true},
		"two captures with a heap that grew, and 4 MiB":    {[]float64{8, 12}, true, false},
		"one capture":      {[]float64{400}, false, false},
		"memory that fell": {[]float64{80, 60, 50, 40}, false, false},
	} {
		j := &JudgedSeries{Trend: &trend.Series{}}
		for _, mib := range tt.seen {
			j.Snapshots = append(j.Snapshots, &analysis.Snapshot{Figures: map[string]float64{"resident_memory_bytes": mib * mebibyte}})
			j.Trend.Epochs = append(j.Trend.Epochs, 0)
		}
		if got := j.memoryRisen(tt.heap) != nil; got != tt.want {
			t.Errorf("%s: told %v", name, got)
		}
	}
}
