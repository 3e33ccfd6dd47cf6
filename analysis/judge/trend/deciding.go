package trend

import (
	"fmt"
	"math"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// decides names what would change a verdict: the next snapshot and what it would have
// to show.
func (p *part) decides(s *signals, verdict analysis.Verdict, recovered bool) []analysis.Evidence {
	say := func(format string, args ...any) []analysis.Evidence { return one(ruleDecides, format, args...) }
	switch verdict {
	case analysis.Leaking:
		switch {
		case recovered:
			return say("if it grows again after that, its cause is still there")
		case s.marked > 0:
			return say("nothing changes this: a mark of the runtime is a proof")
		}
		return say("this answer is wrong if most of %s are gone in a later capture, or if a load grew by as much", p.accusedText(s))
	case analysis.Scaling:
		return say("it is a leak if it goes on rising while %s stands still", s.loadFit.name())
	case analysis.Suspicious:
		return say("%s", p.proofOfGrowth(s))
	case analysis.Stopped:
		return say("it would be growing again if a snapshot%s had more than %d", p.later(), p.lastRun()[len(p.lastRun())-1].count)
	case analysis.Grew:
		return say("%s", p.proofOfGrowth(s))
	case analysis.New:
		return say("one more snapshot%s would tell: more members by then are a growth, the same ones a step", p.later())
	case analysis.Shrinking, analysis.Gone:
		return say("members that come back at the next snapshot%s would change this", p.later())
	case analysis.Stable:
		if s.fit.n == 0 {
			return nil
		}
		return say("a rise to %d or more at a later snapshot would change this", p.leastNoticeable())
	case analysis.TooFewPoints:
		if s.usable == 0 {
			return say("a complete dump would tell")
		}
		return say("one more snapshot of the same process%s would show whether it grows; three more, whether its members stay", p.later())
	}
	return nil
}

func (f loadFit) name() string {
	if f.load == nil {
		return "the load of its unit"
	}
	return f.load.words()
}

// accusedText names the members that must be gone before a leak is refuted.
func (p *part) accusedText(s *signals) string {
	if n := sum(s.cohort.alive); n > 0 {
		return fmt.Sprintf("those %d members", n)
	}
	if s.ages.holds {
		return fmt.Sprintf("the %d old members", s.ages.kept)
	}
	return "the members counted last"
}

// proofOfGrowth names the evidence that a suspicion lacks.
func (p *part) proofOfGrowth(s *signals) string {
	lacking := fewestCohortPoints - max(s.fit.n, min(1, s.usable))
	switch {
	case !s.identified && p.unfollowed():
		return fmt.Sprintf("a dump that names its members (debug=2 for goroutines)%s would tell whether they stay", p.later())
	case lacking > 1:
		return fmt.Sprintf("%d more snapshots%s would decide: births in two of them that stay are a leak", lacking, p.laterAt(s))
	case s.cohorts:
		return fmt.Sprintf("a count that goes on rising at the next snapshot%s would speak for a leak", p.laterAt(s))
	case s.ages.holds:
		return fmt.Sprintf("one more snapshot%s would tell more: members born since that stay speak for a leak", p.laterAt(s))
	default:
		return fmt.Sprintf("one more snapshot%s would tell more: a leak keeps the members born so far and adds others, a plateau is flat", p.laterAt(s))
	}
}

// enoughBirths is the number of births that cohorts need, plus some that have no time
// to become established.
const enoughBirths = fewestEstablished + 4

// decidesIn is the time in hours until enough members are born at the present rate. Without a
// rate it is the usual interval.
func (p *part) decidesIn(s *signals) float64 {
	rate := p.presentRate(s)
	if span := longestSpan(p.comparable()); rate <= 0 && p.dated && span > 0 {
		rate = float64(s.fit.rise) / span
	}
	if rate <= 0 {
		return p.interval().Hours()
	}
	return min(enoughBirths/rate, (30 * 24 * time.Hour).Hours())
}

// presentRate is that of the births in members per hour, 0 if it is not known.
func (p *part) presentRate(s *signals) float64 {
	switch {
	case s.ages.kept > 0 && s.ages.oldest > 0:
		return float64(s.ages.kept) / s.ages.oldest
	case p.dated:
		return p.possibleSlope(s.fit)
	}
	return 0
}

// laterAt is later, or the time until enough members are born at the present rate if
// that is longer.
func (p *part) laterAt(s *signals) string {
	rate := p.presentRate(s)
	if rate <= 0 || !p.dated && p.first.IsZero() {
		return p.later()
	}
	needed := hoursLong(enoughBirths / rate)
	usual := p.interval()
	if needed <= usual || needed > 30*24*time.Hour {
		return p.later()
	}
	if needed > time.Hour {
		needed = needed.Round(30 * time.Minute)
	}
	return " in " + wording.Duration(needed.Round(time.Minute))
}

// possibleSlope is the slope of the counts. It is 0 if the pairs of counts exclude a
// growth.
func (p *part) possibleSlope(f fit) float64 {
	runs, buf := p.comparable(), new(buffers)
	if !f.filled && f.mayGrow(runs, buf) {
		f.medianSlope(runs, buf)
	}
	return f.slope
}

// later is the best time for the next snapshot: the usual interval, at least half an
// hour.
func (p *part) later() string {
	runs := p.comparable()
	span := longestSpan(runs)
	if !p.dated || span == 0 {
		if p.dated || len(p.runs) > 0 && !p.first.IsZero() {
			return " in 30 minutes"
		}
		return ""
	}
	if wait := p.interval(); wait > 30*time.Minute {
		return " in " + wording.Duration(wait)
	}
	return " in 30 minutes"
}

// interval is the usual interval between snapshots, at least half an hour.
func (p *part) interval() time.Duration {
	runs := p.comparable()
	if len(runs) == 0 {
		return 30 * time.Minute
	}
	return max(30*time.Minute, hoursLong(longestSpan(runs)/float64(max(1, len(runs[0])-1))).Round(time.Minute))
}

// leastNoticeable is the smallest count that would be a growth from the present level.
func (p *part) leastNoticeable() int {
	run := p.lastRun()
	start := run[0].count
	z := 2.33
	rise := max(leastGrowth(float64(start)), z*z+math.Sqrt(math.Pow(z, 4)+4*z*z*float64(start)))
	return max(most(run)+1, start+int(math.Ceil(rise)))
}
