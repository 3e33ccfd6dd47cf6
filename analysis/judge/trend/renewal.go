package trend

import "slices"

// fewestRenewed is from how many members on a family can be called replaced, levelShare by how
// much its counts may differ meanwhile.
const (
	fewestRenewed = 5
	levelShare    = 0.15
)

// renewedAt is the last snapshot of which, as of all before it, no member is left at the end of
// the last epoch: nothing is older. It is nil where some stay, or identities are missing, and
// where no earlier members were all replaced by it: one end of many is no turnover. Who leaves a
// family whose members move may be in another one.
func (p *part) renewedAt() *int {
	run := p.lastRun()
	if p.tracking == nil || len(run) < 2 || p.family != nil && p.series.moving()[p.family.Fingerprint] {
		return nil
	}
	last := run[len(run)-1]
	if last.count < fewestRenewed || !p.tracking.complete[last.index] {
		return nil
	}
	var at *int
	for _, pt := range run[:len(run)-1] {
		if !p.tracking.complete[pt.index] || p.tracking.common(pt.index, last.index) > 0 {
			break
		}
		if pt.count > 0 {
			index := pt.index
			at = &index
		}
	}
	if at == nil || !slices.ContainsFunc(run, func(pt point) bool {
		return pt.index < *at && pt.count > 0 && p.tracking.common(pt.index, *at) == 0
	}) {
		return nil
	}
	return at
}

// standsSince is the first snapshot of the last run since which nobody came or left, for two intervals
// at least, where somebody left in half of the intervals before it. It is nil otherwise.
func (p *part) standsSince() *int {
	run := p.lastRun()
	if p.tracking == nil || len(run) < 3 || run[len(run)-1].count < fewestRenewed {
		return nil
	}
	common := func(k int) int { // of point k and the one before
		if !p.tracking.complete[run[k-1].index] || !p.tracking.complete[run[k].index] {
			return -1
		}
		return p.tracking.common(run[k-1].index, run[k].index)
	}
	at := len(run) - 1
	for at > 0 && run[at].count == run[at-1].count && common(at) == run[at].count {
		at--
	}
	left := 0
	for k := 1; k <= at; k++ {
		if n := common(k); n >= 0 && n < run[k-1].count {
			left++
		}
	}
	if at > len(run)-3 || left == 0 || 2*left < at {
		return nil
	}
	index := run[at].index
	return &index
}

// measureRenewal finds a family whose members are all replaced at a level: the count may have
// risen to it, but nobody stays. None is left of at least half of the snapshots, and the counts
// of as many are level.
func (p *part) measureRenewal(s *signals) {
	run := p.lastRun()
	at := p.renewedAt()
	if at == nil || len(run) < 3 || len(p.runs) > 1 {
		return
	}
	half := run[(len(run)-1)/2:]
	s.renewed = *at >= half[0].index && float64(most(half)-fewest(half)) <= max(2, levelShare*float64(most(half)))
}
