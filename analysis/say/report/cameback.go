package report

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// mostBack is up to how many more than before count as none, and mostBackShare up to which share.
const (
	mostBack      = 2
	mostBackShare = 0.1
)

// course are the totals of a kind over captures of one process start, with those that matter of them.
type course struct {
	totals           analysis.Counts
	first, top, last int
}

// peak is the course of a kind that rose and fell again, by enough to be told. It is false for another
// one.
func (d *diagnosing) peak(s *Series, k analysis.Kind) (course, bool) {
	totals := d.whole(s, k, d.totals(s, k))
	c := course{totals, totals.FirstAt(), totals.HighestAt(), totals.LastAt()}
	ends := max(totals[c.first].N, totals[c.last].N)
	rise := totals[c.top].N - ends
	return c, d.epoch(s, c.first) == d.epoch(s, c.last) && rise >= leastRise && float64(rise) >= leastRiseShare*float64(ends)
}

// back reports that the last count is about the first one, or less.
func (c course) back() bool { return c.within(c.more()) }

// more is how many more the last count has than the first one.
func (c course) more() int { return c.totals[c.last].N - c.totals[c.first].N }

// within reports a difference that is none beside the first count.
func (c course) within(n int) bool {
	return n <= mostBack || float64(n) <= mostBackShare*float64(c.totals[c.first].N)
}

// backAt is the first capture after the highest one with no more than the last one has.
func (c course) backAt() int {
	for i := c.top + 1; i < c.last; i++ {
		if n := c.totals[i]; n.Known() && n.N <= c.totals[c.last].N {
			return i
		}
	}
	return c.last
}

// cameBack words a total that rose and fell again, with the group that is most of it and without, nil for
// another one.
func (d *diagnosing) cameBack(s *Series, k analysis.Kind) []string {
	c, fell := d.peak(s, k)
	if !fell {
		return nil
	}
	rose := fmt.Sprintf("%s rose from %d to %d at %s", wording.Kinds(d.worded(s, k)), c.totals[c.first].N, c.totals[c.top].N, d.label(s, c.top))
	at := c.backAt()
	since := fmt.Sprintf(" and were back at %d at %s", c.totals[at].N, d.label(s, at))
	if !c.back() || !c.within(-c.more()) {
		since = fmt.Sprintf(" and fell to %d at %s", c.totals[at].N, d.label(s, at))
	}
	if most := d.mostOf(s, k, c); most != "" {
		return []string{rose + ", " + most + "," + since, rose + since}
	}
	return []string{rose + since}
}

// mostOf names the group that is more than half of a rise: "47 of them Kafka producers".
func (d *diagnosing) mostOf(s *Series, k analysis.Kind, c course) string {
	for i := range s.Families {
		f := &s.Families[i]
		if f.Kind != k || f.isTotal() || f.isChildProcess() || analysis.IsWhole(f.Attributes) || c.top >= len(f.Counts) {
			continue
		}
		if n := f.Counts[c.top].N; 2*(n-f.Counts[c.first].N) > c.totals[c.top].N-c.totals[c.first].N {
			x := s.nameOf(d.nouns, f, nil)
			return fmt.Sprintf("%d of them %s", n, x.all())
		}
	}
	return ""
}

// mostPeaks is up to how many captures a peak that did not come back is told as a growth: over more
// of them the verdicts tell a recovery from a load that rises and falls.
const mostPeaks = 4

// peaked words a total that rose and fell again within few captures, to another level than it began
// at, "" without one.
func (d *diagnosing) peaked(s *Series) string {
	for _, k := range d.compared(s) {
		c, fell := d.peak(s, k)
		if !fell || c.back() || len(c.totals.Known()) > mostPeaks {
			continue
		}
		return fmt.Sprintf("%s%s grew from %d to %d until %s, and %s left at %s", wording.Capital(wording.Kinds(d.worded(s, k))), s.place("of"), c.totals[c.first].N, c.totals[c.top].N, d.label(s, c.top), remaining(c.totals[c.last].N), d.label(s, c.last))
	}
	return ""
}
