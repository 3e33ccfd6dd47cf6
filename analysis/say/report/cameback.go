package report

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// cameBack words a total that rose to at least twice its ends and was back at the last capture, "" for
// another one.
func (d *diagnosing) cameBack(s *Series, k analysis.Kind) string {
	totals := d.whole(s, k, d.totals(s, k))
	first, top, last := totals.FirstAt(), totals.HighestAt(), totals.LastAt()
	if totals[last].N > totals[first].N || d.epoch(s, first) != d.epoch(s, last) || totals[top].N < max(2*totals[first].N, totals[first].N+leastRise) {
		return ""
	}
	return fmt.Sprintf("%s rose from %d to %d at %s and were back at %d at %s",
		wording.Kinds(d.worded(s, k)), totals[first].N, totals[top].N, d.label(s, top), totals[last].N, d.label(s, last))
}

// atOnce reports that counts rose in one step: no other has a quarter of the rise from the first to the
// last.
func atOnce(rise analysis.Counts) bool {
	known, steps := rise.Known(), 0
	for i := 1; i < len(known); i++ {
		if 4*(known[i]-known[i-1]) >= known[len(known)-1]-known[0] {
			steps++
		}
	}
	return steps < 2
}

// mostPeaks is up to how many captures a peak between lower ends is told as such: over more of
// them the verdicts tell a recovery from a load that rises and falls.
const mostPeaks = 4

// peaked words a total that rose and fell again within few captures, "" without one: what came
// was there, and is gone.
func (d *diagnosing) peaked(s *Series) string {
	for _, k := range d.compared(s) {
		totals := d.whole(s, k, d.totals(s, k))
		first, top, last := totals.FirstAt(), totals.HighestAt(), totals.LastAt()
		if len(totals.Known()) > mostPeaks || top == first || top == last || d.epoch(s, first) != d.epoch(s, last) {
			continue
		}
		if totals[last].N <= totals[first].N && atOnce(totals[first:top+1]) {
			continue // a burst, which cameBack tells
		}
		ends := max(totals[first].N, totals[last].N)
		if rise := totals[top].N - ends; rise < leastRise || float64(rise) < leastRiseShare*float64(ends) {
			continue
		}
		return fmt.Sprintf("%s%s grew from %d to %d until %s, and %s left at %s", wording.Capital(wording.Kinds(d.worded(s, k))), s.place("of"), totals[first].N, totals[top].N, d.label(s, top), remaining(totals[last].N), d.label(s, last))
	}
	return ""
}
