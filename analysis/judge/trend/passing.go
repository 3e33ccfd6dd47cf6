package trend

import (
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// The thresholds of a growth in which nobody stays (statistics.md R7): of at least passingBorn
// members that could have stayed at most passingStayed did.
const (
	passingBorn   = 20
	passingStayed = 0.1
)

// measurePassing finds families of which more are there at a time while nobody stays: load or
// latency, and no retention.
func (p *part) measurePassing(s *signals) {
	if !s.cohortsSeen || s.cohorts || s.ages.holds || s.marked > 0 || s.up < levelSuspicious {
		return
	}
	born, established, alive := s.cohort.tried(p.tracking)
	s.passing = born >= passingBorn && float64(established) <= passingStayed*float64(born) && alive < fewestEstablished
}

// idleHours is twice the minute for which a cached pool keeps a worker without a task.
const idleHours = 2.0 / 60

// idles reports threads of an executor that wait for a task for a limited time, captured for less than
// that: a burst leaves as many, and they end.
func (p *part) idles() bool {
	frames := p.family.Loose
	task := slices.Index(frames, "java.util.concurrent.ThreadPoolExecutor.getTask")
	if p.family.Kind != analysis.KindThread || task < 0 || !p.dated {
		return false
	}
	timed := func(frame string) bool { return strings.HasSuffix(frame, "Queue.poll") }
	return slices.ContainsFunc(frames[:task], timed) && p.length(p.runs) < idleHours
}

// tried counts the members born in intervals after which they could be seen again, those that
// were, and those of them that are there at the end.
func (c *cohort) tried(t *tracking) (born, established, alive int) {
	c.follow(t)
	for k := range c.born {
		if c.tested[k] {
			born += c.born[k]
		}
	}
	return born, sum(c.established), sum(c.alive)
}

func passingEvidence(p *part, s *signals) []analysis.Evidence {
	if s.acquitted > 0 && !s.passing {
		return one(analysis.Evidence{Rule: rulePassing, Form: "none_left", Of: s.acquitted, At: new(s.acquittedAt), Identity: p.identity()})
	}
	if !s.passing {
		return nil
	}
	born, established, _ := s.cohort.tried(p.tracking)
	return one(analysis.Evidence{Rule: rulePassing, N: established, Of: born, Identity: p.identity()})
}

// The thresholds of an acquittal (statistics.md R13): at least acquittalBorn members came more than
// acquittalAge of the window ago, and none of them is there. Those that came since are seen again
// as often, within acquittalExcess standard deviations and acquittalMore members: else a leak may
// have begun.
const (
	acquittalBorn   = 20
	acquittalAge    = 1.0 / 3
	acquittalExcess = 2.33
	acquittalMore   = 3
)

// measureAcquittal finds families of which nobody stays.
func (p *part) measureAcquittal(s *signals) {
	if !s.cohortsSeen || s.cohorts || s.marked > 0 {
		return
	}
	c := cohort{run: p.tracking.followed(p.lastRun()), dated: p.dated}
	if len(c.run) < fewestCohortPoints {
		return
	}
	at, end := c.times(), len(c.run)-1
	var born, again [2]float64 // of those that came early, and since
	last := 0                  // the last point at which some came early
	for _, l := range c.lives(p.tracking) {
		late := 0
		if at[end]-at[l.first] <= acquittalAge*(at[end]-at[0]) {
			late = 1
		} else if last = max(last, l.first); l.last == end {
			return
		}
		if l.first < end {
			if born[late]++; l.last > l.first {
				again[late]++
			}
		}
	}
	share := again[0] / born[0] // NaN if nobody came
	expected := share * born[1]
	if born[0] >= acquittalBorn && again[1] <= expected+max(acquittalMore, acquittalExcess*math.Sqrt(expected*(1-share))) {
		s.acquitted, s.acquittedAt = int(born[0]), c.run[last].index
	}
}

// The thresholds of batches (statistics.md R5): members came in fewer than mostBatches
// intervals, with pauses between them that chance explains with batchChance at most.
const (
	mostBatches = 4
	batchChance = 0.05
)

// measureBatches finds members that came in a few batches: a pool that is resized looks the
// same as a leak then.
func (p *part) measureBatches(s *signals) {
	if !s.cohorts {
		return
	}
	run, births := p.staying()
	first, last, with, all := -1, -1, 0, 0
	for k, n := range births {
		if n <= 0 {
			continue
		}
		if first < 0 {
			first = k
		}
		last, with, all = k, with+1, all+n
	}
	if first < 0 || with >= mostBatches {
		return
	}
	spans := lengths(run)
	time := 0.0
	for k := first; k <= last; k++ {
		time += spans[k-1]
	}
	empty, expected := 0, 0.0
	for k := first + 1; k < last; k++ {
		if births[k] <= 0 {
			empty++
		}
		if time > 0 {
			expected += math.Pow(1-spans[k-1]/time, float64(all))
		}
	}
	if 1-atMost(empty-1, max(expected, math.SmallestNonzeroFloat64)) <= batchChance {
		s.batches = with
	}
}

func batchEvidence(p *part, s *signals) []analysis.Evidence {
	if s.batches == 0 {
		return nil
	}
	return one(analysis.Evidence{Rule: ruleBatches, N: s.batches, Identity: p.identity()})
}
