package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// Rises words a growth in figures: "0 to 24", with the peak if it fell again ("4 to 64
// and back to 4"). Epochs may be nil. A restart is no recovery and is named: "3 to 162,
// restarted with 16".
func Rises(counts []*int, epochs []int) string {
	var runs [][]int
	epoch := -1
	for i, c := range counts {
		if c == nil {
			continue
		}
		at := 0
		if epochs != nil {
			at = epochs[i]
		}
		if at != epoch || len(runs) == 0 {
			runs, epoch = append(runs, nil), at
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], *c)
	}
	if len(runs) == 0 {
		return "not captured"
	}
	told := 0
	for i, run := range runs {
		if slices.Max(run)-run[0] > slices.Max(runs[told])-runs[told][0] {
			told = i
		}
	}
	if len(runs) == 1 && len(runs[0]) == 1 {
		return strconv.Itoa(runs[0][0])
	}
	text := course(runs[told])
	if last := len(runs) - 1; last > told {
		text += fmt.Sprintf(", restarted with %d", runs[last][0])
	}
	return text
}

// course words one epoch in figures.
func course(run []int) string {
	first, last, peak := run[0], run[len(run)-1], slices.Max(run)
	if peak > last && peak > first {
		return fmt.Sprintf("%d to %d and back to %d", first, peak, last)
	}
	return fmt.Sprintf("%d to %d", first, last)
}

// A sentence lists at most mostCounts figures. Of more it lists endCounts at both ends
// and the highest one.
const (
	mostCounts = 16
	endCounts  = 4
)

// inWords lists counts in the order of the snapshots, of many only the informative
// ones: "5 7 9 11 … 403 … 3 2 1 0". Those of a cut dump are lower bounds.
func (j *JudgedSeries) inWords(counts []*int, kind analysis.Kind) string {
	return listed(counts, func(i int) bool { return j.Snapshots[i].Bounded(kind) })
}

// listed lists counts as inWords does; bounded reports lower bounds.
func listed(counts []*int, bounded func(i int) bool) string {
	words := make([]string, len(counts))
	for i, c := range counts {
		words[i] = "–"
		if c != nil {
			words[i] = strconv.Itoa(*c)
			if bounded(i) {
				words[i] = "≥" + words[i]
			}
		}
	}
	if n := len(words); n > mostCounts {
		top := -1
		for i, c := range counts {
			if c != nil && (top < 0 || *c > *counts[top]) {
				top = i
			}
		}
		middle := []string{"…"}
		if top >= endCounts && top < n-endCounts {
			middle = []string{"…", words[top], "…"}
		}
		words = slices.Concat(words[:endCounts], middle, words[n-endCounts:])
	}
	return strings.Join(words, " ")
}

// rises is Rises over the snapshots whose counts are no lower bounds.
func (j *JudgedSeries) rises(counts []*int, kind analysis.Kind) string {
	whole := slices.Clone(counts)
	for i := range whole {
		if j.Snapshots[i].Bounded(kind) {
			whole[i] = nil
		}
	}
	return Rises(whole, j.Trend.Epochs)
}

func lastCount(counts []*int) int {
	for i := len(counts) - 1; i >= 0; i-- {
		if counts[i] != nil {
			return *counts[i]
		}
	}
	return 0
}
