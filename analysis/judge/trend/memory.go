package trend

import (
	"leakdiff/analysis"
)

// The thresholds of memory (statistics.md R9): a leak is remembered while rememberedKept of at
// least fewestEstablished members that proved it are still there. It has stopped where at
// least stopExpected were due and fewer than rememberedPace of them came: no accusation, though more
// may come.
const (
	rememberedKept = 0.8
	rememberedPace = 0.3
	mostRemembered = 36
)

// memory is an earlier snapshot at which the series proved a leak.
type memory struct {
	at       point
	kept, of int
}

// remember looks for a leak that an earlier part of the last epoch proves, and whose members
// are still there: such a verdict does not turn to stable while they live.
func (p *part) remember(s *signals, buf *buffers) {
	run := p.lastRun()
	if s.proven() || len(run) <= fewestCohortPoints || s.fit.rise <= 0 || p.tracking == nil || p.until > 0 {
		return
	}
	last := run[len(run)-1]
	if !p.tracking.complete[last.index] {
		return
	}
	if c := (cohort{run: run, dated: p.dated}); c.stayed(p.tracking) < fewestEstablished {
		return
	}
	present := make([]bool, len(p.tracking.first))
	for _, number := range p.tracking.members[last.index] {
		present[number] = true
	}
	for k := len(run) - 2; k >= fewestCohortPoints-1 && k >= len(run)-1-mostRemembered; k-- {
		earlier := p.before(run[k+1].index)
		m := earlier.measure(buf)
		if m.verdict != analysis.Leaking || !m.cohorts {
			continue
		}
		found := memory{at: run[k]}
		for _, number := range p.tracking.members[run[k].index] {
			if first := int(p.tracking.first[number]); first <= run[0].index || first >= run[k].index || !m.cohort.old(first, run[k].index) {
				continue
			}
			if found.of++; present[number] {
				found.kept++
			}
		}
		if found.of < fewestEstablished || float64(found.kept) < rememberedKept*float64(found.of) {
			return // the newest one counts
		}
		s.memory = &found
		if p.slowedSince(k) || s.verdict == analysis.Stopped {
			s.verdict = analysis.Stopped
		} else {
			s.verdict = analysis.Suspicious
		}
		return
	}
}

// slowedSince reports that far fewer members came since point k of the last epoch than the
// pace until then would have brought.
func (p *part) slowedSince(k int) bool {
	run, births := p.staying()
	before, past, since, time := 0, 0.0, 0, 0.0
	spans := lengths(run)
	limit := p.lastRun()[k].index
	for i := 1; i < len(run); i++ {
		if run[i].index <= limit {
			if before > 0 || births[i] > 0 {
				before, past = before+births[i], past+spans[i-1]
			}
			continue
		}
		since, time = since+births[i], time+spans[i-1]
	}
	if past == 0 {
		return false
	}
	expected := float64(before) / past * time
	return expected >= stopExpected && float64(since) < rememberedPace*expected
}

func memoryEvidence(p *part, s *signals) []analysis.Evidence {
	if s.memory == nil {
		return nil
	}
	return one(analysis.Evidence{Rule: ruleMemory, At: new(s.memory.at.index), N: s.memory.kept, Of: s.memory.of, Identity: p.identity()})
}
