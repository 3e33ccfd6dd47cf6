package trend

import (
	"math"
	"slices"

	"leakdiff/analysis"
)

// plateauEvidence reports members that are replaced at a level count: 400 members at a level
// of 80, about 960 an hour.
// The count of a leak cannot be level. Turnover is its innocent double.
func plateauEvidence(p *part, s *signals) []analysis.Evidence {
	stopped := s.stop != nil && s.stop.level
	if s.fit.n == 0 || !stopped && (s.up > levelNone || s.down > levelNone || s.cohorts) {
		return nil
	}
	run := p.lastRun()
	if stopped {
		run = slices.DeleteFunc(slices.Clone(run), func(pt point) bool { return pt.index < s.stop.at.index })
	}
	followed := p.tracking.followed(run)
	if len(followed) != len(run) || fewest(run) == 0 {
		return nil
	}
	low, high := fewest(run), most(run)
	// Level means within the gate, or within the scatter of counts with overdispersion
	// 2.
	if float64(high-low) >= max(leastGrowth(float64(run[0].count)), 4*math.Sqrt(2*float64(high))) {
		return nil
	}
	born := 0
	for k := 1; k < len(followed); k++ {
		for _, number := range p.tracking.members[followed[k].index] {
			if int(p.tracking.first[number]) > followed[k-1].index {
				born++
			}
		}
	}
	last := followed[len(followed)-1]
	// A population with fewer births or deaths than half its members is a standing one.
	gone := followed[0].count + born - last.count
	if 2*born < last.count || 2*gone < last.count {
		return nil
	}
	e := analysis.Evidence{Rule: rulePlateau, N: born, Unit: p.unit(), Identity: p.identity(), Figures: map[analysis.Figure]float64{"low": float64(low), "high": float64(high)}}
	if hours := spanOf(followed); p.dated && hours > 0 {
		e.Figures["rate"] = float64(born) / hours
	}
	return one(e)
}
