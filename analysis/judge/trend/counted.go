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
	steadyDemand  = 1.1
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
	s.steady = float64(rising) >= countedRising*float64(len(run)-1) && slices.ContainsFunc(p.series.loads, func(l load) bool { return p.stays(&l) })
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
