package trend

import (
	"math"
	"slices"
)

// The thresholds of members that stay (statistics.md R12). A member is old once it was seen for a
// share of the window. Of those that became old at most oldGone left, oldNewer of them came in the
// newer half of the time in which they could, at least youngLeft left before, and oldChance is the
// probability of so few old ones that left, if age did not protect them.
const (
	oldGone         = 0.1
	oldNewer        = 0.15
	youngLeft       = 5
	oldChance       = 0.0025
	fewestOldSpells = 3
)

// oldAges are the shares of the window after which a member is old: too few captures see the
// typical stay of those that leave.
func oldAges() []float64 { return []float64{1. / 8, 1. / 5, 1. / 3, 1. / 2} }

// life is one member in the points of a run.
type life struct{ first, last int }

// lives are the members that came after the first point of the run.
func (c *cohort) lives(t *tracking) []life {
	run := c.run
	out := make([]life, len(t.first))
	for number := range out {
		out[number] = life{-1, -1}
	}
	for k, pt := range run {
		for _, number := range t.members[pt.index] {
			if seen := int(t.first[number]); seen <= run[0].index {
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

// times are those of the points, or their order where they have none.
func (c *cohort) times() []float64 {
	at := make([]float64, len(c.run))
	for k := range c.run {
		if at[k] = float64(k); c.dated {
			at[k] = c.run[k].at
		}
	}
	return at
}

// keeps is the cohort of the members that stay among others of which most leave soon. Among equal
// sessions age protects nobody; in a mixture the old ones do not leave.
func (c *cohort) keeps(t *tracking) (out cohort, ok bool) {
	c.follow(t)
	all, at := c.lives(t), c.times()
	for _, share := range oldAges() {
		if out, ok = c.oldOnes(all, at, share*(at[len(at)-1]-at[0])); ok {
			return out, true
		}
	}
	return out, false
}

// keepers is the cohort of those that stay in the last epoch. Members that move to another family
// have not ended.
func (p *part) keepers() (out cohort, ok bool) {
	followed := p.tracking.followed(p.lastRun())
	if len(followed) < fewestCohortPoints || p.series.moving()[p.family.Fingerprint] {
		return out, false
	}
	c := cohort{run: followed, dated: p.dated}
	if c.stayed(p.tracking) < fewestEstablished {
		return out, false
	}
	return c.keeps(p.tracking)
}

// stay is how long a member is expected to have been there: it came and left in the middle of
// an interval.
func (l life) stay(at []float64) float64 {
	return (at[l.last]+at[min(l.last+1, len(at)-1)])/2 - (at[l.first-1]+at[l.first])/2
}

// oldOnes is the cohort of the members that were seen for w, ok if it proves that they do not
// leave as the younger do.
func (c *cohort) oldOnes(all []life, at []float64, w float64) (out cohort, ok bool) {
	run, end := c.run, len(c.run)-1
	young, below, above, gone := 0, 0.0, 0.0, 0
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
		if out.established[l.first]++; l.last == end {
			out.alive[l.first]++
		} else {
			gone++
		}
	}
	alive, intervals, time := out.share()
	if alive < fewestEstablished || intervals < fewestOldSpells || !out.spread || young < youngLeft ||
		float64(gone) > oldGone*float64(alive+gone) || float64(out.newer(lengths(run), time)) < oldNewer*float64(alive) {
		return out, false
	}
	out.holds, out.alone = true, true
	return out, atMost(gone, max(float64(young)/below*above, math.SmallestNonzeroFloat64)) <= oldChance
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
