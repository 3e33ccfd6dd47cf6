package trend

import (
	"math"
	"time"
)

// cohort is the evidence of cohorts in one epoch: members were born in several
// intervals and do not leave. Intervals are numbered by the snapshot that ends them.
// The members of the first snapshot are never new.
type cohort struct {
	run   []point
	dated bool
	// born, established and alive have one entry per point of run. born are the members
	// first seen there. established are those still present at the next counted
	// snapshot. alive are the established members still present at the end.
	born, established, alive []int
	// tested reports which intervals have a next counted snapshot.
	tested []bool
	holds  bool
	// turnover reports that more than a fifth of the members that had stayed for a
	// while are gone. Such members are sessions and no leak, whatever ages and counts
	// show.
	turnover bool
	// alone reports that the cohorts suffice as evidence.
	alone bool
	// older is set if the cohort is that of members that outlived most others: how long, in
	// the unit of the run.
	older float64
	// largest is the largest share of one interval in alive. spread reports that none has too
	// many.
	largest float64
	spread  bool
}

// fewestCohortPoints is one snapshot for the start, two for births and one in which
// both cohorts are still present.
const fewestCohortPoints = 4

// fewestEstablished is the least number of members that must have stayed to the end.
const fewestEstablished = 8

// mostGone is the share of established members, including those of the first snapshot,
// that may leave before a leak is contradicted.
const mostGone = 0.2

// The bounds of the least spacing. Members must live at least this long. Otherwise
// requests in flight would count as established.
const (
	shortestSpacing = 500 * time.Millisecond
	longestSpacing  = time.Hour
)

func spacing(run []point) float64 {
	share := 0.02 * spanOf(run)
	return max(shortestSpacing.Hours(), min(longestSpacing.Hours(), share))
}

// gone counts the members that were seen at two counted snapshots and are not present
// at the end. Members of the first snapshot are included: sessions that are replaced
// show it there first.
func (c *cohort) gone(t *tracking, settled []int32) (gone, stayed int) {
	run := c.run
	next := nextCounted(run, 0, leastSpacing(run, c.dated))
	old := make([]bool, len(t.first))
	if next > 0 {
		for _, number := range t.members[run[next].index] {
			old[number] = int(t.first[number]) <= run[0].index
		}
	}
	for number := range old {
		if old[number] || settled[number] > 0 {
			gone++
		}
	}
	for _, number := range t.members[run[len(run)-1].index] {
		if old[number] || settled[number] > 0 {
			gone--
			stayed++
		}
	}
	return gone, stayed
}

// newCohort follows the members of one run. All points of the run must be followed.
// Members that are not present at the end matter only if enough others stayed, so they
// are followed only then.
func newCohort(run []point, t *tracking, dated bool) cohort {
	c := cohort{run: run, dated: dated}
	if c.stayed(t) < fewestEstablished {
		return c
	}
	c.follow(t)
	return c
}

// stayed counts the members at the end that were born in an interval of the run, not
// just before its end.
func (c *cohort) stayed(t *tracking) int {
	n := 0
	first, last := c.run[0].index, c.run[len(c.run)-2].index
	for _, number := range t.members[c.run[len(c.run)-1].index] {
		if born := int(t.first[number]); born > first && born <= last {
			n++
		}
	}
	return n
}

// follow counts who was born, settled and stayed, and judges.
func (c *cohort) follow(t *tracking) {
	if c.born != nil {
		return
	}
	run := c.run
	c.born, c.established, c.alive = make([]int, len(run)), make([]int, len(run)), make([]int, len(run))
	c.tested = make([]bool, len(run))
	var gone, stayed int
	if t.last != nil {
		gone, stayed = c.followSpans(t)
	} else {
		gone, stayed = c.followSightings(t)
	}
	c.turnover = gone+stayed >= fewestEstablished && float64(gone) > mostGone*float64(gone+stayed)
	c.judge()
	c.alone = c.holds && c.steady() && 10*gone <= stayed
}

// followSpans uses only the first and last sighting of each member. That suffices
// because no member was away in between. Numbers ascend with the first sighting.
func (c *cohort) followSpans(t *tracking) (gone, stayed int) {
	run := c.run
	next := make([]int32, len(run)) // the snapshot at which members born at a point must still be present
	least := leastSpacing(run, c.dated)
	for k := range run {
		next[k] = math.MaxInt32
		if n := nextCounted(run, k, least); n >= 0 {
			next[k], c.tested[k] = int32(run[n].index), k > 0
		}
	}
	end := int32(run[len(run)-1].index)
	k := 0
	for number, first := range t.first {
		for k < len(run) && int32(run[k].index) < first {
			k++
		}
		if k == len(run) {
			break
		}
		last := t.last[number]
		if last < int32(run[k].index) {
			continue
		}
		if k > 0 {
			c.born[k]++
		}
		switch {
		case last < next[k]:
			continue
		case last < end:
			gone++
		default:
			stayed++
		}
		if k == 0 {
			continue
		}
		c.established[k]++
		if last >= end {
			c.alive[k]++
		}
	}
	return gone, stayed
}

// followSightings looks up each member at every point.
func (c *cohort) followSightings(t *tracking) (gone, stayed int) {
	run := c.run
	interval := make([]int32, len(t.first)) // the interval of each member, 0 for members of the first point
	for k := 1; k < len(run); k++ {
		for _, number := range t.members[run[k].index] {
			first := int(t.first[number])
			if first > run[k-1].index && first <= run[k].index {
				interval[number] = int32(k)
				c.born[k]++
			}
		}
	}
	settled := make([]int32, len(t.first))
	least := leastSpacing(run, c.dated)
	for k := 1; k < len(run); k++ {
		next := nextCounted(run, k, least)
		if next < 0 {
			continue
		}
		c.tested[k] = true
		for _, number := range t.members[run[next].index] {
			if interval[number] == int32(k) {
				settled[number] = int32(k)
				c.established[k]++
			}
		}
	}
	for _, number := range t.members[run[len(run)-1].index] {
		if k := settled[number]; k > 0 {
			c.alive[k]++
		}
	}
	return c.gone(t, settled)
}

// leastSpacing is the spacing minimum of a run. It is 0 if some point has no date; then
// the next point counts.
func leastSpacing(run []point, dated bool) float64 {
	if dated && len(timedOf(run)) == len(run) {
		return spacing(run)
	}
	return 0
}

// nextCounted returns the first point that is at least the spacing minimum after point
// k, or -1.
func nextCounted(run []point, k int, least float64) int {
	for m := k + 1; m < len(run); m++ {
		if least == 0 || run[m].at-run[k].at >= least {
			return m
		}
	}
	return -1
}

func (c *cohort) judge() {
	established := sum(c.established)
	alive, intervals, time := c.share()
	// A single interval has all of them, which its share refuses.
	c.holds = len(c.run) >= fewestCohortPoints && alive >= fewestEstablished && 5*(established-alive) <= established &&
		(intervals >= 3 || len(c.run) < 8) && 5*c.newer(lengths(c.run), time) >= alive && c.spread
}

// share counts the alive and the intervals in which they were born, sums the time of the tested
// intervals, and looks for an interval that has too many of them.
func (c *cohort) share() (alive, intervals int, time float64) {
	alive = sum(c.alive)
	spans := lengths(c.run)
	for k := 1; k < len(c.run); k++ {
		if c.alive[k] > 0 {
			intervals++
		}
		if c.tested[k] {
			time += spans[k-1]
		}
	}
	c.spread = true
	for k := 1; k < len(c.run) && alive > 0; k++ {
		share := float64(c.alive[k]) / float64(alive)
		c.largest = max(c.largest, share)
		part := 0.0
		if time > 0 {
			part = spans[k-1] / time
		}
		c.spread = c.spread && share <= max(0.70, min(0.90, part+0.15))+1e-9
	}
	return alive, intervals, time
}

// newer counts the alive members of the intervals that end in the newer half of the
// tested time. A pool that fills after a start has few of them. Without this test it
// would look like a leak for ever.
func (c *cohort) newer(spans []float64, time float64) int {
	n, passed := 0, 0.0
	for k := 1; k < len(c.run); k++ {
		if !c.tested[k] {
			continue
		}
		if passed += spans[k-1]; 2*passed > time {
			n += c.alive[k]
		}
	}
	return n
}

// steady is stricter than holds. It requires births in most of the tested intervals
// (six are enough, at least four), and in the newer half at least 80 % of the births
// that an even distribution would put there.
func (c *cohort) steady() bool {
	tested, intervals, time := 0, 0, 0.0
	spans := lengths(c.run)
	for k := 1; k < len(c.run); k++ {
		if c.tested[k] {
			tested++
			time += spans[k-1]
		}
		if c.alive[k] > 0 {
			intervals++
		}
	}
	return intervals >= 4 && intervals >= min((tested+1)/2, 6) && 10*c.newer(spans, time) >= 4*sum(c.alive)
}

func sum(values []int) int {
	total := 0
	for _, v := range values {
		total += v
	}
	return total
}

// bestCohort returns the strongest cohort: first one that holds, then the one with the
// most alive members, then the newest epoch. ok is false if no epoch has enough
// followed snapshots.
func (p *part) bestCohort() (best cohort, ok bool) {
	for _, run := range p.runs {
		followed := p.tracking.followed(run)
		if len(followed) < fewestCohortPoints {
			continue
		}
		c := newCohort(followed, p.tracking, p.dated)
		better := c.holds && !best.holds || c.holds == best.holds && sum(c.alive) >= sum(best.alive)
		if !ok || better {
			best, ok = c, true
		}
	}
	return best, ok
}
