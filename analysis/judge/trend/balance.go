package trend

import (
	"math"

	"leakdiff/analysis"
)

// balance counts the members that came and left between the first and the last snapshot
// of each epoch, summed over the epochs.
type balance struct {
	// known reports that identities are known. Without them only rise is set.
	known bool
	// born are present at the end and not at the start, gone the reverse. stayed are
	// present at both ends. first is the number at the start. passed came and ended between
	// the ends.
	born, gone, stayed, first, passed int
	// end is the last snapshot.
	end int
	// rise is born minus gone. Without identities it is last minus first.
	rise int
}

// leastBalance is the smallest rise by identity that is reported. balanceChance is the
// probability below which more births than deaths are no coincidence, leastDeviation the deviation
// from which a rise is more than noise.
const (
	leastBalance   = 3
	balanceChance  = 0.01
	leastDeviation = 2.33
)

// measureBalance decides from identities whether the family grew. In a steady family
// births and deaths are equally likely. If nobody left, that fact is the evidence. If
// members are replaced, chance must be excluded.
func (p *part) measureBalance(s *signals) {
	runs := p.comparable()
	moves := p.family != nil && changesFamily(p.family) && !hasStack(p.family.Kind)
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
		b.passed = p.passed(runs)
		s.grew = outweighs(b.born, b.gone, b.passed)
	} else {
		s.grew = float64(b.rise) >= s.fit.gate && s.fit.z >= leastDeviation
	}
}

// weighByIdentity takes the deviation of the counts from who came and who left where that is
// known: twelve new members beside a standing base of 200 have the noise of 12, not of 412
// (statistics.md R2).
func (p *part) weighByIdentity(s *signals, buf *buffers) {
	runs := p.comparable()
	if s.fit.n < fewestCohortPoints || s.fit.rise < leastBalance || p.tracking == nil {
		return
	}
	b := p.balanceOf(runs)
	if !b.known || b.born+b.gone == 0 {
		return
	}
	if z := deviation(b.born, b.gone); z > s.fit.z {
		s.fit.z = z
		if s.fit.unlikely(1, s.fit.pUp) {
			s.fit.fill(runs, buf)
		}
	}
}

// outweighs reports that births exceed deaths by more than chance explains. passed members came and
// left between the ends: where there are any, members take turns though none of those at the ends left.
func outweighs(born, gone, passed int) bool {
	return born-gone >= leastBalance && (gone+passed == 0 ||
		atLeast(born+passed, born+gone+2*passed) <= balanceChance || deviation(born, gone) >= leastDeviation)
}

// deviation is a rise in standard deviations of who came and who left, with overdispersion 2.
func deviation(born, gone int) float64 {
	return float64(born-gone) / math.Sqrt(2*float64(born+gone))
}

// passed counts the members that came after the first snapshot of a run and ended before its last one.
func (p *part) passed(runs [][]point) int {
	n, seen := 0, make([]bool, len(p.tracking.first))
	for _, run := range runs {
		first, last := run[0].index, run[len(run)-1].index
		for _, number := range p.tracking.members[last] {
			seen[number] = true
		}
		for _, pt := range run[1 : len(run)-1] {
			for _, number := range p.tracking.members[pt.index] {
				if seen[number] || int(p.tracking.first[number]) <= first {
					continue
				}
				seen[number] = true
				if l, ok := p.listing(number, pt.index); !ok || int(l.first) > first && int(l.last) < last {
					n++
				}
			}
		}
	}
	return n
}

func (p *part) balanceOf(runs [][]point) balance {
	b := balance{known: p.tracking != nil}
	for _, run := range runs {
		first, last := run[0], run[len(run)-1]
		b.rise += last.count - first.count
		b.end = last.index
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
		// A watch whose target disappeared or appeared is listed in another family. It
		// was neither born nor has it ended.
		b.born += after - stayed - p.moved(last.index, first.index)
		b.gone += before - stayed - p.moved(first.index, last.index)
		b.stayed += stayed
		b.first += before
	}
	b.rise = b.born - b.gone
	return b
}

// moved counts the members of a snapshot that another one lists in another family. Goroutines and
// threads also count that came after it and were in another family first: their births are those of
// their population.
func (p *part) moved(snapshot, other int) int {
	if p.family == nil || !changesFamily(p.family) {
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
		l, ok := p.listing(number, snapshot)
		if ok && (int(l.first) <= other && other <= int(l.last) || other < snapshot && hasStack(p.family.Kind) && l.first < p.tracking.first[number]) {
			n++
		}
	}
	return n
}

// atLeast is the probability of k heads or more in n throws of a fair coin.
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

// showsBalance reports whether the evidence includes the balance. It does if there are
// too few snapshots for cohorts, or if no other rule speaks.
func (s *signals) showsBalance() bool {
	return s.grew && (s.fit.n < fewestCohortPoints || s.verdict == analysis.Grew || s.verdict == analysis.Stopped)
}

// balanceEvidence reports who came and who left: 40 are new, 0 gone, 212 of 212 are still there.
func balanceEvidence(p *part, s *signals) []analysis.Evidence {
	if !s.showsBalance() {
		return nil
	}
	return one(p.turnover(s))
}

func (p *part) turnover(s *signals) analysis.Evidence {
	b := s.balance
	if !b.known {
		return analysis.Evidence{Rule: ruleTurnover, Form: "counts", N: b.rise}
	}
	e := analysis.Evidence{Rule: ruleTurnover, Form: "followed", N: b.stayed, Of: b.first, Identity: p.identity(),
		Figures: map[analysis.Figure]float64{"new": float64(b.born), "gone": float64(b.gone)}}
	if b.passed > 0 {
		e.Figures["passed"] = float64(b.passed)
	}
	run := p.lastRun()
	if len(p.runs) > 1 || len(run) != 3 || !p.tracking.complete[run[1].index] {
		return e
	}
	// With three snapshots, both intervals are reported.
	middle := run[1].index
	first := len(p.tracking.members[middle]) - p.tracking.common(run[0].index, middle)
	second := len(p.tracking.members[run[2].index]) - p.tracking.common(middle, run[2].index)
	e.Points = []analysis.Point{{At: middle, N: first}, {At: run[2].index, N: second}}
	return e
}

// stop is the point at which a growth ended.
type stop struct {
	// at is the point of the last births that count.
	at point
	// before counts the births until then, after the births since. expected is the
	// number of births since then at the former rate.
	before, after int
	expected      float64
	// recent counts the newest births of before, at least a third of them, and took is the time in
	// which they came. closing is the time since.
	recent        int
	took, closing float64
	// level reports that others take the place of those that end since then.
	level bool
}

// gap is the mean time between the newest births.
func (s *stop) gap() float64 { return s.took / float64(s.recent) }

// settled reports that the time since the last births is long against the gaps between the newest of
// them. Births that only come slower have longer gaps than all births together show.
func (s *stop) settled() bool {
	due := s.closing/s.gap() + 1e-9 // times are hours
	return due >= stopExpected && float64(s.after) <= stopAfter*due
}

// The thresholds of a stop: stopExpected is the least number of births expected at the
// former rate. stopAfter is the share of them that may still come. So few have a chance of
// .0067 at most, that of none where five are expected. stopQuiet is how much longer the pause
// must be than any pause before it.
const (
	stopExpected = 5
	stopAfter    = 0.1
	stopQuiet    = 2
	// stopFall is the share of births that may be gone since the highest count.
	stopFall = 0.2
	// stopRecent is of how many births one is among the newest.
	stopRecent = 3
)

// stopped returns the point of the last epoch at which the growth ended, or nil: no more came, or
// the count is the same since, while members are replaced.
func (p *part) stopped() *stop {
	if out := endOf(p.staying()); out != nil {
		return out
	}
	run := p.lastRun()
	if p.tracking == nil || len(run) == 0 {
		return nil
	}
	at := len(run) - 1
	for at > 0 && run[at-1].count == run[at].count && p.replaced(run[at-1], run[at]) {
		at--
	}
	if at > len(run)-3 { // two counts may be the same by chance
		return nil
	}
	out := endOf(run, increments(run))
	if out == nil || out.at.index != run[at].index || !out.settled() {
		return nil
	}
	out.level = true
	return out
}

// replaced reports that members of a point are gone at the next one.
func (p *part) replaced(before, now point) bool {
	t := p.tracking
	return t.complete[before.index] && t.complete[now.index] && t.common(before.index, now.index) < before.count
}

// endOf is the point of a run after which hardly any more of the births came. Quiet time before the
// first birth belongs to the onset and is no pause.
func endOf(run []point, births []int) *stop {
	if len(run) == 0 {
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
			closing > stopQuiet*quiet+1e-9 &&
			float64(peak-last) <= stopFall*float64(before) { // a fall since then is no standstill
			out := &stop{at: run[k], before: before, after: after, expected: expected, closing: closing}
			out.recent, out.took = newest(births[:k+1], spans, before)
			return out
		}
	}
	return nil
}

// newest counts the newest of all births, at least one of stopRecent of them, and the time from the
// begin of the interval in which the first of these came.
func newest(births []int, spans []float64, all int) (n int, took float64) {
	for i := len(births) - 1; i > 0 && stopRecent*n < all; i-- {
		n, took = n+births[i], took+spans[i-1]
	}
	return n, took
}

// fewestSinceStart is how many counts since the last start of a process show that it does not grow.
const fewestSinceStart = 3

// endedByStart is the end of a growth with the process that grew: at its pace the next process would
// have had stopExpected more, and it has hardly any. It is nil where the time since does not tell.
func (p *part) endedByStart() *stop {
	if len(p.runs) < 2 {
		return nil
	}
	was, now := p.runs[len(p.runs)-2], p.runs[len(p.runs)-1]
	if len(was) < 2 || len(now) < fewestSinceStart || p.otherVersion(was[0].index, now[0].index) {
		return nil // another version may be the fix, which versions are compared for
	}
	first, last := was[0], was[len(was)-1]
	before, past := last.count-first.count, last.at-first.at
	if before <= 0 || past <= 0 {
		return nil
	}
	closing := now[len(now)-1].at - now[0].at
	expected := float64(before) / past * closing
	after := 0
	for _, pt := range now {
		after = max(after, pt.count-now[0].count)
	}
	if expected < stopExpected || float64(after) > stopAfter*min(expected, float64(before)) || now[len(now)-1].count >= last.count {
		return nil
	}
	return &stop{at: last, before: before, after: after, expected: expected, recent: before, took: past, closing: closing}
}

// otherVersion reports two snapshots of different versions of the program.
func (p *part) otherVersion(i, k int) bool {
	if p.series == nil {
		return false
	}
	return p.series.Snapshots[i].Process.Release() != p.series.Snapshots[k].Process.Release()
}

// staying returns the points of the last epoch. For each point it returns how many
// members at the end of the epoch were first seen there. Members of the first point
// count nowhere. If members cannot be followed, the increments of the counts are used.
func (p *part) staying() ([]point, []int) {
	run := p.lastRun()
	followed := p.tracking.followed(run)
	if len(followed) < 3 || followed[len(followed)-1].index != run[len(run)-1].index {
		return run, increments(run)
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
		// A watch whose mount goes comes into another family: that is an arrival here.
		if k := at[p.tracking.first[number]]; k > 0 {
			births[k]++
		}
	}
	births[len(births)-1] = p.toStay(followed, births[len(births)-1])
	return followed, births
}

// increments are the changes of the counts, by the point that ends each interval.
func increments(run []point) []int {
	out := make([]int, len(run))
	for k := 1; k < len(run); k++ {
		out[k] = run[k].count - run[k-1].count
	}
	return out
}

// toStay is how many of the members that came last will be there at the next snapshot, if as
// many stay as of those that came before them: the others are requests.
func (p *part) toStay(run []point, last int) int {
	t := p.tracking
	born, stayed := 0, 0
	for k := 1; k < len(run)-1; k++ {
		next := make(map[int32]bool, len(t.members[run[k+1].index]))
		for _, number := range t.members[run[k+1].index] {
			next[number] = true
		}
		for _, number := range t.members[run[k].index] {
			if first := int(t.first[number]); first <= run[k-1].index || first > run[k].index {
				continue
			}
			if born++; next[number] {
				stayed++
			}
		}
	}
	if born < fewestEstablished {
		return last
	}
	return int(math.Round(float64(last) * float64(stayed) / float64(born)))
}

// atMost is the Poisson probability of k events or fewer with the given mean.
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
	e := analysis.Evidence{Rule: ruleStopped, Form: "stands", N: s.stop.before, At: new(s.stop.at.index),
		Figures: map[analysis.Figure]float64{"expected": math.Round(s.stop.expected)}}
	switch {
	case s.stop.level:
		e.Form, e.Of, e.Identity = "level", s.stop.at.count, p.identity()
		return one(e)
	case s.stop.after > 0:
		if e.Form = "slows"; s.stop.settled() {
			e.Form = "slowed"
		}
		e.Figures["after"] = float64(s.stop.after)
	case !s.stop.settled():
		e.Form = "paused"
		if p.dated {
			e.Figures["gap"], e.Figures["quiet"] = s.stop.gap(), s.stop.closing
		}
	}
	if p.tracking.complete[p.lastRun()[len(p.lastRun())-1].index] {
		e.Identity = p.identity()
		e.Figures["stayed"] = float64(s.stop.before)
	}
	return one(e)
}
