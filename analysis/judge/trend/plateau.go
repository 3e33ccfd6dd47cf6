package trend

import (
	"fmt"
	"math"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// plateauEvidence reports members that are replaced at a level count: "plateau at 80:
// 400 members were replaced at a level count, about 960/h new, and the old ones leave".
// The count of a leak cannot be level. Turnover is its innocent double.
func plateauEvidence(p *part, s *signals) []analysis.Evidence {
	if s.up > levelNone || s.down > levelNone || s.fit.n == 0 || s.cohorts {
		return nil
	}
	run := p.lastRun()
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
	text := fmt.Sprintf("plateau at %s: %s %s replaced at a level count", between(low, high), wording.Plural(born, "member", "members"), wording.Fit(born, "was", "were"))
	if hours := spanOf(followed); p.dated && hours > 0 {
		text += fmt.Sprintf(", about %s/h new", wording.Decimal(float64(born)/hours))
	}
	return one(rulePlateau, "%s, and the old ones leave", text)
}

func between(low, high int) string {
	if low == high {
		return itoa(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}
