package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// Rise is the course of counts: the first one, the peak if it lies above both ends, and the last
// one, of the start of the process in which they rose most. It is empty where nothing was
// captured.
type Rise struct {
	Counts []int `json:"counts"`
	// Again is the first count after a restart that followed, nil without one.
	Again *int `json:"restarted_with,omitempty"`
}

// RiseOf is the course of counts. Epochs may be nil. A restart is no recovery.
func RiseOf(counts analysis.Counts, epochs []int) Rise {
	var runs [][]int
	epoch := -1
	for i, c := range counts {
		if !c.Known() {
			continue
		}
		at := 0
		if epochs != nil {
			at = epochs[i]
		}
		if at != epoch || len(runs) == 0 {
			runs, epoch = append(runs, nil), at
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], c.N)
	}
	if len(runs) == 0 {
		return Rise{}
	}
	told := 0
	for i, run := range runs {
		if slices.Max(run)-run[0] > slices.Max(runs[told])-runs[told][0] {
			told = i
		}
	}
	if len(runs) == 1 && len(runs[0]) == 1 {
		return Rise{Counts: runs[0]}
	}
	first, last, peak := runs[told][0], runs[told][len(runs[told])-1], slices.Max(runs[told])
	out := Rise{Counts: []int{first, last}}
	if peak > last && peak > first {
		out.Counts = []int{first, peak, last}
	}
	if end := len(runs) - 1; end > told {
		out.Again = &runs[end][0]
	}
	return out
}

// Text words a course: "0 to 24", "4 to 64 and back to 4", "3 to 162, restarted with 16".
func (r Rise) Text() string { return r.joined(" to ", " and back to ") }

// Arrows draws a course: "4 → 64 → 4".
func (r Rise) Arrows() string { return r.joined(" → ", " → ") }

func (r Rise) joined(up, down string) string {
	if len(r.Counts) == 0 {
		return "not captured"
	}
	text := strconv.Itoa(r.Counts[0])
	for i, n := range r.Counts[1:] {
		between := up
		if i > 0 {
			between = down
		}
		text += between + strconv.Itoa(n)
	}
	if r.Again != nil {
		text += fmt.Sprintf(", restarted with %d", *r.Again)
	}
	return text
}

// Rises words the course of counts.
func Rises(counts analysis.Counts, epochs []int) string { return RiseOf(counts, epochs).Text() }

// A sentence lists at most mostCounts figures. Of more it lists endCounts at both ends
// and the highest one.
const (
	mostCounts = 16
	endCounts  = 4
)

// inWords lists counts in the order of the snapshots, of many only the informative
// ones: "5 7 9 11 … 403 … 3 2 1 0". Those of a cut dump are lower bounds.
func (j *JudgedSeries) inWords(counts analysis.Counts, kind analysis.Kind) string {
	return listed(counts, func(i int) bool { return j.Snapshots[i].Bounded(kind) })
}

// listed lists counts as inWords does; bounded reports lower bounds.
func listed(counts analysis.Counts, bounded func(i int) bool) string {
	words := make([]string, len(counts))
	for i, c := range counts {
		words[i] = "–"
		if c.Known() {
			words[i] = strconv.Itoa(c.N)
			if bounded(i) {
				words[i] = "≥" + words[i]
			}
		}
	}
	if n := len(words); n > mostCounts {
		middle := []string{"…"}
		if top := counts.HighestAt(); top >= endCounts && top < n-endCounts {
			middle = []string{"…", words[top], "…"}
		}
		words = slices.Concat(words[:endCounts], middle, words[n-endCounts:])
	}
	return strings.Join(words, " ")
}

// rises is Rises over the snapshots whose counts are no lower bounds.
func (j *JudgedSeries) rises(counts analysis.Counts, kind analysis.Kind) string {
	return Rises(counts.Only(func(i int) bool { return !j.Snapshots[i].Bounded(kind) }), j.Trend.Epochs)
}
