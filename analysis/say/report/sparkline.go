package report

import (
	"slices"
	"strings"

	"leakdiff/analysis"
)

// heights are the columns of a sparkline, the lowest first.
var heights = []rune("▁▂▃▄▅▆▇█")

// mostColumns is how many columns a sparkline has at most. Of longer series each column is
// the highest of its snapshots.
const mostColumns = 24

// sparkline draws counts in one line. The lowest level is the least count, or zero where the
// least is more than half of the highest: a small change must look small. Unknown counts are
// dots. A bar marks the restarts that epochs tell.
//
//	3 8 20 45 90 → "▁▁▂▄█"
func sparkline(counts analysis.Counts, epochs []int) string {
	known := counts.Known()
	if len(known) == 0 {
		return ""
	}
	low, high := slices.Min(known), slices.Max(known)
	if 2*low > high {
		low = 0
	}
	width := min(len(counts), mostColumns)
	var b strings.Builder
	for i := range width {
		from, to := i*len(counts)/width, (i+1)*len(counts)/width
		if from > 0 && epochs != nil && epochs[to-1] != epochs[from-1] {
			b.WriteByte('|')
		}
		b.WriteRune(level(counts[from:to], low, high))
	}
	return b.String()
}

// level is the column of the highest of some counts.
func level(counts analysis.Counts, low, high int) rune {
	switch {
	case counts.FirstAt() < 0:
		return '·'
	case high == low:
		return heights[0]
	}
	return heights[((counts.Highest()-low)*(len(heights)-1)*2+high-low)/(2*(high-low))]
}
