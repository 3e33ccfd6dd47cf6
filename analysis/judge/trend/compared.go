package trend

import (
	"math"

	"leakdiff/analysis"
)

// Compared judges two counts of a family of which no members are known, the earlier one first,
// by the rules for two snapshots: New if at least three are there of what was not, Grew beyond
// the effect gate and the noise of counts, Stable otherwise.
func Compared(before, now int) analysis.Verdict {
	rise := float64(now - before)
	switch {
	case before == 0 && now >= leastNew:
		return analysis.New
	case before > 0 && rise >= leastGrowth(float64(before)) && rise/math.Sqrt(2*float64(before+now)) >= 2.33:
		return analysis.Grew
	}
	return analysis.Stable
}

// Beyond reports a rise that is more than what comes and goes: ten members, and 15 %. Compared
// demands as much, and that it is beyond the noise of counts, which nobody needs to know where
// members are followed by identity.
func Beyond(before, now int) bool { return float64(now-before) >= leastGrowth(float64(before)) }

// NoMore reports that a count is what it was before, but for what comes and goes: two members
// or 15 %, as of a family that follows its load.
func NoMore(before, now int) bool { return float64(now-before) <= max(2, 0.15*float64(before)) }
