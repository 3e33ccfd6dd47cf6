package trend

import (
	"fmt"
	"math"

	"leakdiff/analysis"
)

// balance is who came and who left between the first and the last snapshot of each
// epoch, added up (statistics.md 10, R1).
type balance struct {
	// known says that identities tell; otherwise only rise does.
	known bool
	// born are at the end and not at the start, gone the reverse; stayed of first
	// are at both ends.
	born, gone, stayed, first int
	// rise is born less gone, or last less first by the counts.
	rise int
}

// Smallest rise by identity that is worth a word, and the chance below which more
// births than deaths are no coincidence.
const (
	leastBalance  = 3
	balanceChance = 0.01
)

// measureBalance asks the identities whether the family grew. In a steady family births
// and deaths are equally likely. Where nobody left, the fact itself is the evidence;
// where members take turns, chance must be excluded.
func (p *part) measureBalance(s *signals) {
	runs := p.comparable()
	moves := p.family != nil && p.family.Kind == analysis.KindWatch // between families
	if len(runs) == 0 || s.fit.rise < leastBalance && !moves {
		return
	}
	for _, run := range runs {
		if _, _, other := p.versions(run[0], run[len(run)-1]); other {
			return // another program has its own families
		}
	}
	s.balance = p.balanceOf(runs)
	b := &s.balance
	if b.known {
		s.grew = outweighs(b.born, b.gone)
	} else {
		s.grew = float64(b.rise) >= s.fit.gate && s.fit.z >= 2.33
	}
}

// outweighs reports that so many more were born than left that it is no coincidence.
func outweighs(born, gone int) bool {
	return born-gone >= leastBalance && (gone == 0 || atLeast(born, born+gone) <= balanceChance)
}

func (p *part) balanceOf(runs [][]point) balance {
	b := balance{known: p.tracking != nil}
	for _, run := range runs {
		first, last := run[0], run[len(run)-1]
		b.rise += last.count - first.count
		b.known = b.known && p.tracking.complete[first.index] && p.tracking.complete[last.index]
	}
	if !b.known {
		return b
	}
	b.rise = 0
	for _, run := range runs {
		first, last := run[0], run[len(run)-1]
		before, after := len(p.tracking.members[first.index]), len(p.tracking.members[last.index])
		stayed := p.tracking.common(first.index, last.index)
		// A watch whose target went or came is in another family; it was neither born
		// nor has it ended.
		b.born += after - stayed - p.moved(last.index, first.index)
		b.gone += before - stayed - p.moved(first.index, last.index)
		b.stayed += stayed
		b.first += before
	}
	b.rise = b.born - b.gone
	return b
}

// moved counts the members of a snapshot that another one lists in another family.
func (p *part) moved(snapshot, other int) int {
	if p.family == nil || p.family.Kind != analysis.KindWatch {
		return 0
	}
	there := make(map[int32]bool, len(p.tracking.members[other]))
	for _, number := range p.tracking.members[other] {
		there[number] = true
	}
	n := 0
	for _, number := range p.tracking.members[snapshot] {
		if there[number] {
			continue
		}
		if l, ok := p.listing(number, snapshot); ok && int(l.first) <= other && other <= int(l.last) {
			n++
		}
	}
	return n
}

// atLeast is the chance of k heads or more in n throws of a fair coin.
func atLeast(k, n int) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		sum += math.Exp(logChoose(n, i) - float64(n)*math.Ln2)
	}
	return sum
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// showsBalance says that who came and who left is what a reader wants to know: where
// there are too few snapshots for cohorts, or nothing else speaks.
func (s *signals) showsBalance() bool {
	return s.grew && (s.fit.n < fewestCohortPoints || s.verdict == analysis.Grew || s.verdict == analysis.Stopped)
}

// balanceEvidence says who came and who left: "40 new, 0 gone, 212 of 212 still there".
func balanceEvidence(p *part, s *signals) []analysis.Evidence {
	if !s.showsBalance() {
		return nil
	}
	return one(ruleTurnover, "%s", p.balanceText(s))
}

func (p *part) balanceText(s *signals) string {
	b := s.balance
	if !b.known {
		return fmt.Sprintf("%d more by the counts; without identities it is not known who came and who left", b.rise)
	}
	text := fmt.Sprintf("%d new, %d gone", b.born, b.gone)
	if b.first > 0 {
		text += fmt.Sprintf(", %d of %d still there", b.stayed, b.first)
	}
	run := p.lastRun()
	if len(p.runs) > 1 || len(run) != 3 || !p.tracking.complete[run[1].index] {
		return text
	}
	// Of three snapshots both intervals are told.
	middle := run[1].index
	first := len(p.tracking.members[middle]) - p.tracking.common(run[0].index, middle)
	second := len(p.tracking.members[run[2].index]) - p.tracking.common(middle, run[2].index)
	return text + fmt.Sprintf("; %d came until %s, %d until %s", first, p.label(run[1]), second, p.label(run[2]))
}

// stop is where a growth has ended (statistics.md 10, R3).
type stop struct {
	// at is the point of the last births that count.
	at point
	// before were born until then, after since; expected is what the pace until then
	// would have shown since.
	before, after int
	expected      float64
}

// Thresholds of R3: births that the former pace would have brought, the share of them
// that may still come, the chance of so few, and how much longer than any pause before
// the growth must have stood still.
const (
	stopExpected = 5
	stopAfter    = 0.1
	stopChance   = 0.007
	stopQuiet    = 2
	// stopFall is the share of the births that may have gone since the highest count.
	stopFall = 0.2
)

// stopped looks in the last epoch for the point at which the growth ended, nil where it
// has not. Quiet time before the first birth is onset and no pause.
func (p *part) stopped() *stop {
	run, births := p.staying()
	if len(run) < 3 {
		return nil
	}
	peak, last := most(run), run[len(run)-1].count
	spans := lengths(run)
	before, past, quiet, pause := 0, 0.0, 0.0, 0.0
	for k := 1; k < len(run)-1; k++ {
		if before == 0 && births[k] <= 0 {
			continue
		}
		before, past = max(0, before+births[k]), past+spans[k-1]
		if births[k] <= 0 {
			pause += spans[k-1]
			continue
		}
		quiet, pause = max(quiet, pause), 0
		closing, after := 0.0, 0
		for m := k + 1; m < len(run); m++ {
			closing, after = closing+spans[m-1], after+births[m]
		}
		if past == 0 {
			continue
		}
		after = max(0, after)
		expected := float64(before) / past * closing
		if expected >= stopExpected && float64(after) <= stopAfter*min(expected, float64(before)) &&
			atMost(after, expected) <= stopChance && closing > stopQuiet*quiet+1e-9 &&
			float64(peak-last) <= stopFall*float64(before) { // what fell since has not stood still
			return &stop{at: run[k], before: before, after: after, expected: expected}
		}
	}
	return nil
}

// staying are the points of the last epoch and, for each, how many of the members at
// its end were first seen there; those of the first point are in none. Where members
// cannot be followed, the increments of the counts stand in.
func (p *part) staying() ([]point, []int) {
	run := p.lastRun()
	if len(run) < 3 {
		return nil, nil
	}
	followed := p.tracking.followed(run)
	if len(followed) < 3 || followed[len(followed)-1].index != run[len(run)-1].index {
		births := make([]int, len(run))
		for k := 1; k < len(run); k++ {
			births[k] = run[k].count - run[k-1].count
		}
		return run, births
	}
	births := make([]int, len(followed))
	last := followed[len(followed)-1].index
	at := make([]int, last+1) // the interval that ends at or after each snapshot
	for k := 1; k < len(followed); k++ {
		for i := followed[k-1].index + 1; i <= followed[k].index; i++ {
			at[i] = k
		}
	}
	for _, number := range p.tracking.members[last] {
		first := int(p.tracking.first[number])
		if l, ok := p.listing(number, last); ok {
			first = min(first, int(l.first))
		}
		if k := at[first]; k > 0 {
			births[k]++
		}
	}
	return followed, births
}

// atMost is the chance of k events or fewer where mean are expected.
func atMost(k int, mean float64) float64 {
	sum := 0.0
	for i := 0; i <= k; i++ {
		g, _ := math.Lgamma(float64(i + 1))
		sum += math.Exp(float64(i)*math.Log(mean) - mean - g)
	}
	return sum
}

func stopEvidence(p *part, s *signals) []analysis.Evidence {
	if s.stop == nil {
		return nil
	}
	text := fmt.Sprintf("grew by %d until %s, stands since", s.stop.before, p.label(s.stop.at))
	if s.stop.after > 0 {
		text = fmt.Sprintf("grew by %d until %s and by %d since", s.stop.before, p.label(s.stop.at), s.stop.after)
	}
	if p.tracking.complete[p.lastRun()[len(p.lastRun())-1].index] {
		text += fmt.Sprintf("; the %d are still there", s.stop.before)
	}
	return one(ruleStopped, "%s; its own pace would have shown %d more", text, int(math.Round(s.stop.expected)))
}
