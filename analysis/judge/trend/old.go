package trend

import (
	"math"
	"slices"
)

// The thresholds of old members (statistics.md R8): a member is old once it was seen for
// oldStays times the median stay of those that left. oldChance is the probability of so few
// old ones that left, if age did not protect them.
const (
	oldStays  = 3
	oldChance = 0.01
)

// life is one member in the points of a run.
type life struct{ first, last int }

// lives are the members of the run. Those of the first point have first 0.
func (c *cohort) lives(t *tracking) []life {
	run := c.run
	begin, end := run[0].index, run[len(run)-1].index
	out := make([]life, len(t.first))
	for number := range out {
		out[number] = life{-1, -1}
	}
	for k, pt := range run {
		for _, number := range t.members[pt.index] {
			if seen := int(t.first[number]); seen < begin || seen > end {
				continue
			}
			if out[number].first < 0 {
				out[number].first = k
			}
			out[number].last = k
		}
	}
	return slices.DeleteFunc(out, func(l life) bool { return l.first < 0 })
}

// keepsOld looks for a leak among members of which most leave soon. Among equal sessions age
// protects nobody; in a mixture the old ones do not leave. Where it finds one, the cohort is
// that of the old members. Of requests beside sessions the requests say when a member is old,
// then those that were seen more than once.
func (c *cohort) keepsOld(t *tracking, gate float64) {
	all := c.lives(t)
	at := make([]float64, len(c.run))
	for k := range c.run {
		if at[k] = float64(k); c.dated {
			at[k] = c.run[k].at
		}
	}
	for _, least := range []int{1, 2} {
		if out, ok := c.oldOnes(all, at, oldStays*medianStay(all, at, least), gate); ok {
			*c = out
			return
		}
	}
}

// stay is how long a member is expected to have been there: it came and left in the middle of
// an interval.
func (l life) stay(at []float64) float64 {
	return (at[l.last]+at[min(l.last+1, len(at)-1)])/2 - (at[max(l.first-1, 0)]+at[l.first])/2
}

// medianStay is that of the members that left and were seen so many times, NaN if none did.
func medianStay(all []life, at []float64, least int) float64 {
	var left []float64
	for _, l := range all {
		if l.last < len(at)-1 && l.last-l.first+1 >= least {
			left = append(left, l.stay(at))
		}
	}
	if len(left) == 0 {
		return math.NaN()
	}
	slices.Sort(left)
	return left[len(left)/2]
}

// oldOnes is the cohort of the members that were seen for w, ok if it proves that they do not
// leave as the younger do.
func (c *cohort) oldOnes(all []life, at []float64, w, gate float64) (out cohort, ok bool) {
	run, end := c.run, len(c.run)-1
	young, below, above := 0, 0.0, 0.0
	goneOld, becameOld := 0, 0
	out = cohort{run: run, dated: c.dated, born: c.born, established: make([]int, len(run)), alive: make([]int, len(run)), tested: make([]bool, len(run)), older: w}
	for k := 1; k < len(run); k++ {
		out.tested[k] = at[end]-at[k] >= w
	}
	for _, l := range all {
		age := at[l.last] - at[l.first]
		if l.last < end {
			age = l.stay(at)
		}
		if below += min(age, w); age < w {
			if l.last < end {
				young++
			}
			continue
		}
		above += age - w
		if at[l.last]-at[l.first] < w {
			continue
		}
		becameOld++
		if l.last < end {
			goneOld++
		}
		if l.first > 0 {
			out.established[l.first]++
			if l.last == end {
				out.alive[l.first]++
			}
		}
	}
	if float64(goneOld) > mostGone*float64(becameOld) {
		return out, false
	}
	expected := float64(young) / below * above // NaN if nobody was there for any time
	if !(atMost(goneOld, max(expected, math.SmallestNonzeroFloat64)) <= oldChance) {
		return out, false
	}
	out.judge()
	alive := sum(out.alive)
	out.alone = out.steady() && 10*goneOld <= becameOld && float64(alive-goneOld) >= gate
	return out, out.holds
}

// old reports that a member first seen at one snapshot counts as old at another: every member
// does unless the cohort is that of the old ones.
func (c *cohort) old(first, at int) bool {
	if c.older == 0 {
		return true
	}
	begin, end := -1, -1
	for k, pt := range c.run {
		if begin < 0 && pt.index >= first {
			begin = k
		}
		if pt.index <= at {
			end = k
		}
	}
	if begin < 0 || end < begin {
		return false
	}
	if !c.dated {
		return float64(end-begin) >= c.older
	}
	return c.run[end].at-c.run[begin].at >= c.older
}
