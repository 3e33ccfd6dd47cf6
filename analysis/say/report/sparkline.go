package report

import "strings"

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
func sparkline(counts []*int, epochs []int) string {
	low, high := -1, 0
	for _, n := range counts {
		if n != nil {
			high = max(high, *n)
			if low < 0 || *n < low {
				low = *n
			}
		}
	}
	if low < 0 {
		return ""
	}
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
func level(counts []*int, low, high int) rune {
	top := -1
	for _, n := range counts {
		if n != nil {
			top = max(top, *n)
		}
	}
	switch {
	case top < 0:
		return '·'
	case high == low:
		return heights[0]
	}
	return heights[((top-low)*(len(heights)-1)*2+high-low)/(2*(high-low))]
}
