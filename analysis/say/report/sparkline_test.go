package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"leakdiff/analysis"
)

func TestASparklineShowsTheCourseOfCounts(t *testing.T) {
	of := analysis.CountsOf
	for _, tt := range []struct {
		name   string
		counts analysis.Counts
		epochs []int
		want   string
	}{
		{"from the least to the highest", of(3, 8, 20, 45, 90), nil, "▁▁▂▄█"},
		{"a small rise looks small", of(212, 253), nil, "▇█"},
		{"equal counts are level", of(7, 7, 7), nil, "███"},
		{"zeros are low", of(0, 0), nil, "▁▁"},
		{"what is not known is a dot", of(1, -1, 9), nil, "▁·█"},
		{"a restart is a bar", of(3, 162, 16), []int{0, 0, 1}, "▁█|▂"},
		{"nothing known is nothing", of(-1, -1), nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := sparkline(tt.counts, tt.epochs); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	long := make([]int, 1000)
	long[500] = 9
	if got := sparkline(of(long...), nil); utf8.RuneCountInString(got) != mostColumns || !strings.ContainsRune(got, '█') {
		t.Errorf("a long series: %q", got)
	}
}
