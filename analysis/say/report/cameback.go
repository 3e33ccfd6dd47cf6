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

// atOnce reports that the last of some counts is where most of the rise from the first came.
func atOnce(rise analysis.Counts) bool {
	first, last := rise[0].N, rise[len(rise)-1].N
	before := rise[:len(rise)-1]
	return before[before.HighestAt()].N-first < last-before[before.HighestAt()].N
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
