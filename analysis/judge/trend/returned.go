package trend

import "leakdiff/analysis"

// The thresholds of a family after a restart (statistics.md R15). It is back where its count is at
// most returnedShare of what the start before held: the newer half of its counts, at least
// fewestHeld, within levelNear. The filling of a pool ends where births in the last interval fall
// below slowedWarmUp of the pace of the first, with fewer than fewCounts snapshots.
const (
	returnedShare = 1.1
	fewestHeld    = 2
	levelNear     = 0.1
	slowedWarmUp  = 0.25
	fewCounts     = 6
)

// measureRestart finds families that are back at what they held before a restart, and pools that
// fill after it. What leaked before it is neither, and who goes on in an even pace is not back.
func (p *part) measureRestart(s *signals, buf *buffers) {
	if s.warmed = p.warmed(s.fit.n); !s.cohort.alone || !s.cohort.steady() {
		s.returned = p.returned()
	}
	if (s.warmed || s.returned > 0) && p.before(p.lastRun()[0].index).measure(buf).verdict == analysis.Leaking {
		s.warmed, s.returned = false, 0
	}
}

// returned is the level that the start before the last one held, if the count is back at it, else
// 0: the family has not grown.
func (p *part) returned() int {
	if len(p.runs) < 2 {
		return 0
	}
	before, run := p.runs[len(p.runs)-2], p.lastRun()
	held := before[len(before)/2:]
	level := held[len(held)-1].count
	if len(held) < fewestHeld || float64(most(held)-fewest(held)) > levelNear*float64(most(held)) ||
		float64(run[len(run)-1].count) > returnedShare*float64(level) {
		return 0
	}
	return level
}

// warmed reports that the rise since the last of several starts hardly goes on, in a series that is
// too short to tell a pool that fills from a leak.
func (p *part) warmed(n int) bool {
	run, births := p.staying()
	if len(p.runs) < 2 || n >= fewCounts || len(run) < 3 {
		return false
	}
	spans, last := lengths(run), len(run)-1
	return float64(births[last])*spans[0] < slowedWarmUp*float64(births[1])*spans[last-1]
}

func returnedEvidence(p *part, s *signals) []analysis.Evidence {
	if s.returned == 0 {
		return nil
	}
	run := p.lastRun()
	return one(analysis.Evidence{Rule: ruleReturned, N: run[len(run)-1].count, Of: s.returned, At: new(run[0].index)})
}
