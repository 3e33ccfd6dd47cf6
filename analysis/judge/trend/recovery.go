package trend

import "leakdiff/analysis"

// recovery is the snapshot at which the cause of a growth went away.
type recovery struct {
	at point
	// peak is the point before it, base the smallest count before that.
	peak point
	base int
	// gone is how many members of the peak are gone, -1 without identities.
	gone int
	// drained reports that members were ending before the fall, one after another.
	drained bool
}

// recovered returns the first snapshot of the last epoch at which the rise is gone and
// does not come back. The caller judges on the part before it whether the rise was a
// leak.
func (p *part) recovered() (recovery, bool) {
	run := p.lastRun()
	if len(run) == 0 {
		return recovery{}, false
	}
	base, fell, highest := run[0].count, 0, 0
	for i := 2; i < len(run); i++ {
		fell = max(fell, run[i-2].count-run[i-1].count)
		base, highest = min(base, run[i-1].count), max(highest, run[i-1].count)
		rise := run[i-1].count - base
		if rise < 8 || 5*(run[i].count-base) > rise {
			continue
		}
		if fell >= 8 && 2*fell >= rise {
			return recovery{}, false // members were freed before: a sawtooth and no leak that recovered
		}
		r := recovery{at: run[i], peak: run[i-1], base: base, gone: -1, drained: 5*(highest-run[i-1].count) > highest-base}
		if !p.staysLow(run[i:], min(r.base, run[i].count), rise) || growsAgain(run, i, rise) {
			return recovery{}, false
		}
		if !p.sameLeft(run[0], &r) {
			continue
		}
		if p.keepsTurningOver(run[i:]) {
			return recovery{}, false
		}
		return r, true
	}
	return recovery{}, false
}

// retained reports that the family kept its members while others that rose with it went
// away.
func (p *part) retained(at int) []analysis.Evidence {
	run := p.lastRun()
	last := run[len(run)-1]
	return one(analysis.Evidence{Rule: ruleRetained, N: last.count - run[0].count, From: new(run[0].index), To: new(last.index), At: new(at)})
}

// staysLow refuses families that grow again from the level to which they fell. A cache
// emptied at intervals is no leak that recovered, not even the last time.
func (p *part) staysLow(later []point, base, rise int) bool {
	for _, pt := range later {
		if 2*(pt.count-base) > rise {
			return false
		}
	}
	return true
}

// growsAgain reports that the count rises after the fall at point i at half the pace of before
// or more: something frees all of them at times, and this was not the last time.
func growsAgain(run []point, i, rise int) bool {
	last := run[len(run)-1]
	again, after, before := last.count-run[i].count, last.at-run[i].at, run[i-1].at-run[0].at
	return again >= 8 && 2*float64(again)*before >= float64(rise)*after
}

// The thresholds of a family that something emptied before: of the members that had been there
// for a while at most emptiedKept stayed, and the count is not above emptiedPeak times the one
// at which that happened.
const (
	emptiedKept = 0.2
	emptiedPeak = 1.2
)

// emptying is the last fall of the last epoch that took nearly all members with it.
type emptying struct {
	before, at point
	// peak is the highest count until then.
	peak int
}

// emptied returns the last emptying of a family that has not grown beyond what it was then. A
// cache that is emptied at intervals rises like a leak in between (statistics.md R10).
func (p *part) emptied() *emptying {
	run := p.lastRun()
	if p.tracking == nil {
		return nil
	}
	var found *emptying
	peak := 0
	for i := 1; i < len(run); i++ {
		peak = max(peak, run[i-1].count)
		fall := run[i-1].count - run[i].count
		if fall < 8 || 2*fall < run[i-1].count || !p.emptiedAt(run, i) {
			continue
		}
		found = &emptying{before: run[i-1], at: run[i], peak: peak}
	}
	if found == nil || float64(run[len(run)-1].count) > emptiedPeak*float64(found.peak) {
		return nil
	}
	return found
}

// emptiedAt reports that the members that were seen at two points before point i are gone at
// it.
func (p *part) emptiedAt(run []point, i int) bool {
	t := p.tracking
	if i < 2 || !t.complete[run[i-2].index] || !t.complete[run[i-1].index] || !t.complete[run[i].index] {
		return false
	}
	still := make(map[int32]bool, len(t.members[run[i].index]))
	for _, number := range t.members[run[i].index] {
		still[number] = true
	}
	established, kept := 0, 0
	for _, number := range t.members[run[i-1].index] {
		if int(t.first[number]) < run[i-1].index {
			established++
			if still[number] {
				kept++
			}
		}
	}
	return established >= fewestEstablished && float64(kept) <= emptiedKept*float64(established)
}

func emptiedEvidence(p *part, s *signals) []analysis.Evidence {
	if s.emptied == nil {
		return nil
	}
	e := s.emptied
	return one(analysis.Evidence{Rule: ruleEmptied, Identity: p.identity(), Points: []analysis.Point{{At: e.before.index, N: e.before.count}, {At: e.at.index, N: e.at.count}}})
}

// keepsTurningOver refuses families whose members come and go after the fall as well.
// What is freed every day was never a leak.
func (p *part) keepsTurningOver(later []point) bool {
	followed := p.tracking.followed(later)
	if len(followed) == 0 {
		return false
	}
	c := cohort{run: followed, dated: p.dated}
	c.follow(p.tracking)
	return c.turnover
}

// sameLeft compares identities if both sides have them. Those that had come since the first
// point and stayed must be among the ones that went.
func (p *part) sameLeft(first point, r *recovery) bool {
	t := p.tracking
	if !t.complete[r.peak.index] || !t.complete[r.at.index] {
		return true
	}
	still := make(map[int32]bool, len(t.members[r.at.index]))
	for _, number := range t.members[r.at.index] {
		still[number] = true
	}
	established, kept := 0, 0
	r.gone = 0
	for _, number := range t.members[r.peak.index] {
		if !still[number] {
			r.gone++
		}
		if seen := int(t.first[number]); seen > first.index && seen < r.peak.index {
			established++
			if still[number] {
				kept++
			}
		}
	}
	return 5*kept <= established
}
