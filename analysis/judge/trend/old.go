package trend

import (
	"math"
	"slices"
	"sort"
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
// that of the old members.
func (c *cohort) keepsOld(t *tracking, gate float64) {
	run, all := c.run, c.lives(t)
	end := len(run) - 1
	at := make([]float64, len(run))
	for k := range run {
		if at[k] = float64(k); c.dated {
			at[k] = run[k].at
		}
	}
	stay := func(l life) float64 {
		return (at[l.last]+at[min(l.last+1, end)])/2 - (at[max(l.first-1, 0)]+at[l.first])/2
	}
	var left []float64
	for _, l := range all {
		if l.last < end {
			left = append(left, stay(l))
		}
	}
	if len(left) == 0 {
		return
	}
	sort.Float64s(left)
	w := oldStays * left[len(left)/2]
	young, below, above := 0, 0.0, 0.0
	goneOld, becameOld := 0, 0
	out := cohort{run: run, dated: c.dated, born: c.born, established: make([]int, len(run)), alive: make([]int, len(run)), tested: make([]bool, len(run)), older: w}
	for k := 1; k < len(run); k++ {
		out.tested[k] = at[end]-at[k] >= w
	}
	for _, l := range all {
		age := at[l.last] - at[l.first]
		if l.last < end {
			age = stay(l)
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
		if l.first > 0 && out.tested[l.first] {
			out.established[l.first]++
			if l.last == end {
				out.alive[l.first]++
			}
		}
	}
	if below <= 0 || float64(goneOld) > mostGone*float64(becameOld) {
		return
	}
	expected := float64(young) / below * above
	if atMost(goneOld, max(expected, math.SmallestNonzeroFloat64)) > oldChance {
		return
	}
	if out.judge(); !out.holds {
		return
	}
	alive := sum(out.alive)
	out.alone = out.steady() && 10*goneOld <= becameOld && float64(alive-goneOld) >= gate
	*c = out
}
