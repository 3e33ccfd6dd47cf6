package trend

import (
	"math"
	"time"

	"leakdiff/analysis"
)

// decides names what would change a verdict: the next snapshot and what it would have
// to show.
func (p *part) decides(s *signals, verdict analysis.Verdict, recovered bool) []analysis.Evidence {
	e := analysis.Evidence{Rule: ruleDecides}
	switch verdict {
	case analysis.Leaking:
		switch {
		case recovered:
			e.Form = "if_again"
		case s.marked > 0:
			e.Form = "marked"
		default:
			e.Form, e.N = p.refuted(s)
		}
	case analysis.Scaling:
		e.Form = "if_load_stands"
		if s.loadFit.load != nil {
			e.Names = s.loadFit.load.names()
		}
	case analysis.Suspicious, analysis.Grew:
		p.proofOfGrowth(s, &e)
	case analysis.Stopped:
		e.Form, e.N = "if_more", p.lastRun()[len(p.lastRun())-1].count
		waiting(&e, p.later())
	case analysis.New:
		e.Form = "one_more"
		waiting(&e, p.later())
	case analysis.Shrinking, analysis.Gone:
		e.Form = "if_back"
		waiting(&e, p.later())
	case analysis.Stable:
		if s.fit.n == 0 {
			return nil
		}
		e.Form, e.N = "if_rise", p.leastNoticeable()
	case analysis.TooFewPoints:
		if e.Form = "complete_dump"; s.usable > 0 {
			e.Form = "one_then_three"
			waiting(&e, p.later())
		}
	}
	return one(e)
}

// refuted is which members must be gone before a leak is refuted, and how many.
func (p *part) refuted(s *signals) (analysis.Form, int) {
	if n := sum(s.cohort.alive); n > 0 {
		return "if_those_gone", n
	}
	if s.ages.holds {
		return "if_old_gone", s.ages.kept
	}
	return "if_last_gone", 0
}

// proofOfGrowth is the evidence that a suspicion lacks.
func (p *part) proofOfGrowth(s *signals, e *analysis.Evidence) {
	lacking := fewestCohortPoints - max(s.fit.n, min(1, s.usable))
	wait := p.laterAt(s)
	switch {
	case !s.identified && p.unfollowed() && !s.respawns:
		e.Form, wait = "identities", p.later()
	case lacking > 1:
		e.Form, e.N = "more_snapshots", lacking
	case s.cohorts:
		e.Form = "goes_on"
	case s.ages.holds:
		e.Form = "born_and_stay"
	default:
		e.Form = "adds_others"
	}
	waiting(e, wait)
}

// waiting adds after how many hours the next snapshot is best taken, nothing for 0.
func waiting(e *analysis.Evidence, hours float64) {
	if hours > 0 {
		e.Unit, e.Figures = analysis.PerHour, map[analysis.Figure]float64{"wait": hours}
	}
}

// enoughBirths is the number of births that cohorts need, plus some that have no time
// to become established.
const enoughBirths = fewestEstablished + 4

// decidesIn is the time in hours until enough members are born at the present rate, at least
// stopExpected gaps between the newest births: none in that time shows that no more come. Without a
// rate it is the usual interval.
func (p *part) decidesIn(s *signals) float64 {
	rate := p.presentRate(s)
	if span := longestSpan(p.comparable()); rate <= 0 && p.dated && span > 0 {
		rate = float64(s.fit.rise) / span
	}
	wait := 0.0
	if rate > 0 {
		wait = enoughBirths / rate
	}
	if run, births := p.staying(); p.dated && len(run) > 1 {
		if n, took := newest(births, lengths(run), sum(births)); n > 0 {
			wait = max(wait, stopExpected*took/float64(n))
		}
	}
	if wait <= 0 {
		return p.interval().Hours()
	}
	return min(wait, (30 * 24 * time.Hour).Hours())
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
func (p *part) laterAt(s *signals) float64 {
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
	return needed.Round(time.Minute).Hours()
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

// later is in how many hours the next snapshot is best taken: the usual interval, at least
// half an hour. It is 0 if no time is known.
func (p *part) later() float64 {
	runs := p.comparable()
	span := longestSpan(runs)
	if !p.dated || span == 0 {
		if p.dated || len(p.runs) > 0 && !p.first.IsZero() {
			return 0.5
		}
		return 0
	}
	return p.interval().Hours()
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
