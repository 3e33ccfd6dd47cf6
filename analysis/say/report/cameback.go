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
