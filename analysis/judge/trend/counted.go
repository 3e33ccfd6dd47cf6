package trend

import (
	"math"
	"slices"

	"leakdiff/analysis"
)

// What a count alone needs to prove a leak (gauges.md 3): so many points over so long that
// rise in nearly each step, beside a demand that stays.
const (
	fewestCounted = 10
	countedSpan   = 1.0 // hours
	countedRising = 8.0 / 9
	// countedEven is what the first and the last quarter of the time have at least of the rise, for
	// an even share: a cycle of a day or the filling of a cache begins or ends slowly.
	countedEven  = 0.7
	steadyDemand = 1.1
)

// measureCounted weighs the count of a total, which may follow a load that nobody captured.
func (p *part) measureCounted(s *signals) {
	if s.counted = analysis.IsTotal(p.family.Attributes); !s.counted {
		return
	}
	run := p.lastRun()
	if len(run) < fewestCounted || !p.dated || run[len(run)-1].at-run[0].at < countedSpan {
		return
	}
	rising := 0
	for i := range run[1:] {
		if run[i+1].count > run[i].count {
			rising++
		}
	}
	s.steady = float64(rising) >= countedRising*float64(len(run)-1) && evenly(run) && slices.ContainsFunc(p.series.loads, func(l load) bool { return p.stays(&l) })
}

// evenly reports that the rise of the first and the last quarter of the time is nearly an even
// share of the whole.
func evenly(run []point) bool {
	first, last := run[0], run[len(run)-1]
	for _, quarter := range [][2]float64{{0, 0.25}, {0.75, 1}} {
		span := last.at - first.at
		rise := countAt(run, first.at+quarter[1]*span) - countAt(run, first.at+quarter[0]*span)
		if rise < countedEven/4*float64(last.count-first.count) {
			return false
		}
	}
	return true
}

// countAt is the count at a time, between two points on the line that joins them.
func countAt(run []point, at float64) float64 {
	for i := range run[1:] {
		if a, b := run[i], run[i+1]; at <= b.at && b.at > a.at {
			return float64(a.count) + float64(b.count-a.count)*(at-a.at)/(b.at-a.at)
		}
	}
	return float64(run[len(run)-1].count)
}

// stays reports a load that is known at all points and hardly varies.
func (p *part) stays(l *load) bool {
	if l.asked != nil || !p.hasLoad(l) {
		return false
	}
	low, high := math.Inf(1), 0.0
	for _, run := range p.runs {
		for _, pt := range run {
			low, high = min(low, l.values[pt.index]), max(high, l.values[pt.index])
		}
	}
	return low > 0 && high <= steadyDemand*low
}
