package trend

import "time"

// cohort is evidence C in one epoch: members that were born in several intervals
// and do not leave (statistics.md 3). Intervals are numbered by the snapshot that
// ends them; the first snapshot's members are never new.
type cohort struct {
	run []point
	// born, established and alive have one entry per point of run: members first
	// seen there, those of them still there at the next counted snapshot, those of
	// these still there at the end.
	born, established, alive []int
	// tested says which intervals have a next counted snapshot.
	tested []bool
	holds  bool
	// largest is the largest share of one interval in the established alive.
	largest float64
}

// Cohorts need four snapshots: one for the start, two births, one to see both
// stay.
const fewestCohortPoints = 4

// The spacing minimum of statistics.md, Scale: members must outlive at least
// this, or requests in flight would count as established.
const (
	shortestSpacing = 500 * time.Millisecond
	longestSpacing  = 30 * time.Minute
)

func spacing(run []point) float64 {
	share := 0.02 * spanOf(run)
	return max(shortestSpacing.Hours(), min(longestSpacing.Hours(), share))
}

// newCohort follows the members of one run. All its points are followed ones.
func newCohort(run []point, members *crowd, dated bool) cohort {
	c := cohort{
		run:         run,
		born:        make([]int, len(run)),
		established: make([]int, len(run)),
		alive:       make([]int, len(run)),
		tested:      make([]bool, len(run)),
	}
	interval := make([]int32, len(members.first)) // 0 for members of the first point
	for k := 1; k < len(run); k++ {
		for _, number := range members.members[run[k].index] {
			first := int(members.first[number])
			if first > run[k-1].index && first <= run[k].index {
				interval[number] = int32(k)
				c.born[k]++
			}
		}
	}
	settled := make([]int32, len(members.first))
	for k := 1; k < len(run); k++ {
		next := nextCounted(run, k, dated)
		if next < 0 {
			continue
		}
		c.tested[k] = true
		for _, number := range members.members[run[next].index] {
			if interval[number] == int32(k) {
				settled[number] = int32(k)
				c.established[k]++
			}
		}
	}
	for _, number := range members.members[run[len(run)-1].index] {
		if k := settled[number]; k > 0 {
			c.alive[k]++
		}
	}
	c.judge()
	return c
}

// nextCounted is the first point at least the spacing minimum after point k, -1
// where there is none. Without dates it is the next one.
func nextCounted(run []point, k int, dated bool) int {
	least := 0.0
	if dated && len(placedOf(run)) == len(run) {
		least = spacing(run)
	}
	for m := k + 1; m < len(run); m++ {
		if least == 0 || run[m].at-run[k].at >= least {
			return m
		}
	}
	return -1
}

func (c *cohort) judge() {
	established, alive := sum(c.established), sum(c.alive)
	intervals, time := 0, 0.0
	spans := lengths(c.run)
	for k := 1; k < len(c.run); k++ {
		if c.alive[k] > 0 {
			intervals++
		}
		if c.tested[k] {
			time += spans[k-1]
		}
	}
	c.holds = len(c.run) >= fewestCohortPoints && alive >= 8 && 5*(established-alive) <= established &&
		intervals >= fewestIntervals(len(c.run))
	for k := 1; k < len(c.run) && alive > 0; k++ {
		share := float64(c.alive[k]) / float64(alive)
		c.largest = max(c.largest, share)
		part := 0.0
		if time > 0 {
			part = spans[k-1] / time
		}
		if share > max(0.70, min(0.90, part+0.15))+1e-9 {
			c.holds = false
		}
	}
}

func fewestIntervals(n int) int {
	if n >= 8 {
		return 3
	}
	return 2
}

func sum(values []int) int {
	total := 0
	for _, v := range values {
		total += v
	}
	return total
}

// bestCohort is the cohort that says most: one that holds before others, then
// the most established members alive, then the newest epoch. ok is false where
// no epoch has enough followed snapshots.
func (p *part) bestCohort() (best cohort, ok bool) {
	for _, run := range p.runs {
		followed := p.crowd.followed(run)
		if len(followed) < fewestCohortPoints {
			continue
		}
		c := newCohort(followed, p.crowd, p.dated)
		better := c.holds && !best.holds || c.holds == best.holds && sum(c.alive) >= sum(best.alive)
		if !ok || better {
			best, ok = c, true
		}
	}
	return best, ok
}
