package trend

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Unit is a set of families that rise together at a constant ratio: one leaked session
// is 12 goroutines and 5 descriptors. Counts cannot distinguish causes that act in
// lockstep. A unit therefore means "rise together" and never "have one cause".
type Unit struct {
	// ID is "u1", "u2", ... by rise.
	ID      string
	Verdict analysis.Verdict
	// RecoveredAt is the snapshot at which the members went away together, or -1. Units
	// are formed from the snapshots before it.
	RecoveredAt int
	// KeptAt is the snapshot at which other families that had risen with these went away,
	// or -1.
	KeptAt int
	// Families are in order of rise, the seed first.
	Families []Share
	// Counts are the sums over all families per snapshot, nil if a family has no
	// evidence. Instances are the units since the first snapshot of the part: the
	// summed rise divided by the summed ratio.
	Counts    analysis.Counts
	Instances []*float64
	// Evidence is about the summed counts.
	Evidence []analysis.Evidence
}

// Share is one family of a unit.
type Share struct {
	Fingerprint string
	Kind        analysis.Kind
	// Ratio is members per instance. It is a whole number if all ratios are within a
	// tenth of one.
	Ratio float64
	// Rise is the rise of the family in the judged part.
	Rise int
}

// leastInstances is the number of instances from which they are counted. Two may be
// steps that several causes took together.
const leastInstances = 3

// Countable reports whether the rise is a number of equal instances: every ratio is
// whole, and at least three instances have come.
func (u Unit) Countable() bool {
	for _, f := range u.Families {
		if f.Ratio != math.Trunc(f.Ratio) || float64(f.Rise) < (leastInstances-0.5)*f.Ratio {
			return false
		}
	}
	return len(u.Families) > 0
}

// Units are the families that rise together, largest rise first.
func (s *Series) Units() []Unit {
	var out []Unit
	for _, u := range s.judgements().units {
		out = append(out, u.result())
	}
	return out
}

// UnitOf is the id of a family's unit, "" if it rises alone.
func (s *Series) UnitOf(fingerprint string) string {
	if j := s.judgements().byFingerprint[fingerprint]; j != nil && j.unit != nil {
		return j.unit.id
	}
	return ""
}

// unit is a Unit under construction.
type unit struct {
	id       string
	families []*risingFamily
	// keptAt is the snapshot at which the rest of the unit went away and these families
	// stayed, or 0.
	keptAt int
	// part has the summed counts of all families and their merged identities.
	part      *part
	signals   *signals
	verdict   analysis.Verdict
	recovered map[string]*recovery
}

// risingFamily is a family that may be part of a unit.
type risingFamily struct {
	judgement *judgement
	part      *part
	recovered *recovery
	rise      int
	ratio     float64
	// counts holds the count at each snapshot, -1 if none is usable.
	counts []int32
}

// The smallest rise of a rising family, and the fewest intervals in which it must rise:
// a single step cannot be compared. One member less suffices for a family that never
// falls and rises in four intervals, because chance does not do that.
const (
	leastRise      = 5
	fewestRises    = 2
	steadyRise     = 4
	fewestInCommon = 3
)

// newUnits groups the rising families that are in lockstep and judges every group by
// its summed counts.
func (s *Series) newUnits(all []*judgement, buf *buffers) []*unit {
	rising := s.risingFamilies(all)
	var units []*unit
	for _, r := range rising {
		best, least := -1, math.Inf(1)
		for k, u := range units {
			if off, ok := s.inLockstep(r, u.families[0]); ok && off < least {
				best, least = k, off
			}
		}
		if best < 0 {
			units = append(units, &unit{families: []*risingFamily{r}})
			continue
		}
		units[best].families = append(units[best].families, r)
	}
	units = slices.DeleteFunc(units, func(u *unit) bool { return len(u.families) < 2 })
	var parts []*unit
	for _, u := range units {
		u.setRatios()
		for _, cause := range u.splitByCause() {
			parts = append(parts, cause.splitByRecovery()...)
		}
	}
	for k, u := range parts {
		u.id = "u" + itoa(k+1)
		u.judge(s, buf)
		for _, r := range u.families {
			r.judgement.unit = u
		}
	}
	return parts
}

// splitByRecovery divides a unit into the families that went away together and those
// that keep their rise. What stays after the cause is gone is a finding of its own.
// Ratios remain those of the undivided unit. A part of one family is no unit.
func (u *unit) splitByRecovery() []*unit {
	left, kept := &unit{}, &unit{}
	for _, r := range u.families {
		if r.recovered != nil {
			left.families = append(left.families, r)
		} else {
			kept.families = append(kept.families, r)
		}
	}
	at := left.endedAt()
	if at < 0 || len(kept.families) == 0 || slices.ContainsFunc(kept.families, func(r *risingFamily) bool { return !slices.ContainsFunc(r.counts[at:], known) }) {
		return []*unit{u} // nothing left, nothing stayed, or there are no later counts
	}
	kept.keptAt = at
	for _, r := range kept.families {
		r.judgement.keptAt = at
	}
	return slices.DeleteFunc([]*unit{left, kept}, func(u *unit) bool { return len(u.families) < 2 })
}

func known(count int32) bool { return count >= 0 }

// endedAt is the first snapshot at which a family went away, or -1.
func (u *unit) endedAt() int {
	at := -1
	for _, r := range u.families {
		if r.recovered != nil && (at < 0 || r.recovered.at.index < at) {
			at = r.recovered.at.index
		}
	}
	return at
}

// risingFamilies are the candidates for units, largest rise first.
func (s *Series) risingFamilies(all []*judgement) []*risingFamily {
	ends := recoveries(all)
	var rising []*risingFamily
	for _, j := range all {
		if j.part.gain() < steadyRise && len(ends) == 0 || j.signals.counted {
			continue // a total has families of several units in it
		}
		r := &risingFamily{judgement: j, part: j.part, recovered: j.recovered}
		if r.recovered == nil {
			r.recovered = j.part.leftWith(ends)
			if r.recovered != nil {
				r.part = j.part.before(r.recovered.at.index)
			}
		}
		if r.rise = r.part.gain(); !r.part.risesOften(r.rise) || r.recovered == nil && j.comesAndGoes() {
			continue
		}
		r.counts = make([]int32, len(s.Snapshots))
		for i := range r.counts {
			r.counts[i] = -1
		}
		for _, run := range r.part.runs {
			for _, pt := range run {
				r.counts[pt.index] = int32(pt.count)
			}
		}
		rising = append(rising, r)
	}
	slices.SortStableFunc(rising, func(a, b *risingFamily) int {
		return cmp.Or(cmp.Compare(b.rise, a.rise), cmp.Compare(a.judgement.part.family.Kind, b.judgement.part.family.Kind),
			strings.Compare(a.judgement.part.family.Fingerprint, b.judgement.part.family.Fingerprint))
	})
	return rising
}

// comesAndGoes reports that most members were gone at the next snapshot: requests that happen
// to be more at a time, whatever else grows beside them. Counts that rise by more than noise
// do not happen.
func (j *judgement) comesAndGoes() bool {
	if !j.signals.cohortsSeen || j.signals.risen >= levelSuspicious {
		return false
	}
	born, established, _ := j.signals.cohort.tried(j.part.tracking)
	return born >= fewestEstablished && 2*established < born
}

// recoveries are the snapshots at which some proven growth ended, in order.
func recoveries(all []*judgement) []int {
	var ends []int
	for _, j := range all {
		if j.recovered != nil && !slices.Contains(ends, j.recovered.at.index) {
			ends = append(ends, j.recovered.at.index)
		}
	}
	slices.Sort(ends)
	return ends
}

// leftWith returns the fall of a family that is too small for a recovery of its own, at
// a snapshot where another family recovered.
func (p *part) leftWith(ends []int) *recovery {
	run := p.lastRun()
	if len(ends) == 0 || len(run) == 0 {
		return nil
	}
	base := run[0].count
	for k := 1; k < len(run); k++ {
		base = min(base, run[k-1].count)
		rise := run[k-1].count - base
		if rise < steadyRise || !slices.Contains(ends, run[k].index) || 5*(run[k].count-base) > rise || !p.staysLow(run[k:], base, rise) {
			continue
		}
		return &recovery{at: run[k], peak: run[k-1], base: base, gone: -1}
	}
	return nil
}

// gain is the sum of increments within epochs.
func (p *part) gain() int {
	gain := 0
	for _, run := range p.runs {
		gain += run[len(run)-1].count - run[0].count
	}
	return gain
}

// risesOften reports whether a part rises in enough intervals to be compared with
// others.
func (p *part) risesOften(rise int) bool {
	if rise < steadyRise {
		return false
	}
	rises, fallen := 0, 0
	for _, run := range p.runs {
		for k := 1; k < len(run); k++ {
			switch by := run[k].count - run[k-1].count; {
			case by > 0:
				rises++
			case by < 0:
				if fallen -= by; fallen > rise {
					return false // noise
				}
			}
		}
	}
	return rise >= leastRise && rises >= fewestRises || fallen == 0 && rises >= steadyRise
}

// inLockstep reports whether f rises as seed does, at a constant ratio from interval to
// interval. off is the largest deviation as a share of the rise of f. Intervals without
// evidence of one of them are left out of both.
func (s *Series) inLockstep(f, seed *risingFamily) (off float64, ok bool) {
	riseF, riseS, common, longest := 0, 0, 0, 0
	s.inCommon(f, seed, func(stepF, stepS, run int) bool {
		riseF, riseS, longest = riseF+stepF, riseS+stepS, max(longest, run)
		common++
		return true
	})
	if longest < fewestInCommon-1 || riseF <= 0 || riseS <= 0 || common == 0 {
		return 0, false
	}
	allowed := 0.05 * float64(riseF)
	if riseF < 20 {
		allowed = max(1, allowed)
	} else {
		allowed = max(2, allowed)
	}
	ratio := float64(riseF) / float64(riseS)
	sumF, sumS, worst := 0, 0, 0.0
	s.inCommon(f, seed, func(stepF, stepS, _ int) bool {
		sumF, sumS = sumF+stepF, sumS+stepS
		worst = max(worst, abs(float64(sumF)-ratio*float64(sumS)))
		return worst <= allowed+1e-9
	})
	return worst / float64(riseF), worst <= allowed+1e-9
}

// inCommon calls visit for each interval between snapshots that show both families. It
// passes the two increments and the number of intervals so far in the epoch.
func (s *Series) inCommon(a, b *risingFamily, visit func(stepA, stepB, run int) bool) {
	before, run := -1, 0
	for i := range a.counts {
		if a.counts[i] < 0 || b.counts[i] < 0 {
			continue
		}
		if before >= 0 && s.Epochs[before] == s.Epochs[i] {
			run++
			if !visit(int(a.counts[i]-a.counts[before]), int(b.counts[i]-b.counts[before]), run) {
				return
			}
		} else {
			run = 0
		}
		before = i
	}
}

// setRatios sets the ratios relative to the smallest rise, multiplied by 2, 3 or 4 if
// that makes all of them nearly whole.
func (u *unit) setRatios() {
	smallest := u.families[0].rise
	for _, r := range u.families {
		smallest = min(smallest, r.rise)
	}
	for factor := 1.0; factor <= 4; factor++ {
		whole := true
		for _, r := range u.families {
			r.ratio = factor * float64(r.rise) / float64(smallest)
			whole = whole && abs(r.ratio-math.Round(r.ratio)) <= 0.1
		}
		if whole {
			for _, r := range u.families {
				r.ratio = math.Round(r.ratio)
			}
			return
		}
	}
	for _, r := range u.families {
		r.ratio = math.Round(10*float64(r.rise)/float64(smallest)) / 10
	}
}

// judge judges the unit like one family, by its summed counts and merged identities.
// The unit proves more than its families if growth, cohorts and births in three
// intervals agree.
func (u *unit) judge(s *Series, buf *buffers) {
	u.part = u.sum(s)
	u.signals = u.part.measure(buf)
	u.verdict = u.families[0].judgement.signals.verdict
	if u.pooled() {
		if !proves(u.verdict) {
			u.verdict = analysis.Leaking
		}
		if u.signals.loadFit.scales {
			u.verdict = analysis.Scaling
		}
	}
	u.part.remember(u.signals, buf)
	if u.remembers() && u.signals.verdict.Rank() < u.verdict.Rank() {
		u.verdict = u.signals.verdict
	}
	u.recovered = make(map[string]*recovery)
	for _, r := range u.families {
		if r.recovered != nil {
			u.recovered[r.judgement.part.family.Fingerprint] = r.recovered
		}
	}
}

// remembers reports that an earlier part proved a leak of the unit, whose members are still
// there.
func (u *unit) remembers() bool { return u.signals.memory != nil && !u.proven() }

func (u *unit) proven() bool { return proves(u.verdict) && u.pooled() }

// pooled reports that the summed counts and merged identities prove a growth.
func (u *unit) pooled() bool {
	return u.signals.up >= levelSuspicious && u.signals.cohorts && u.signals.stop == nil && birthIntervals(u.signals.cohort) >= 3
}

func birthIntervals(c cohort) int {
	n := 0
	for _, born := range c.born {
		if born > 0 {
			n++
		}
	}
	return n
}

// sum is the part with the summed counts at the snapshots that show all families.
func (u *unit) sum(s *Series) *part {
	seed := u.families[0].part
	sum := &part{
		series: s, family: seed.family, dated: seed.dated, first: seed.first, until: seed.until,
		tracking: &tracking{members: make([][]int32, len(s.Snapshots)), complete: make([]bool, len(s.Snapshots))},
	}
	for _, run := range seed.runs {
		var points []point
		for _, pt := range run {
			pt.count = 0
			everywhere := true
			for _, r := range u.families {
				everywhere = everywhere && r.counts[pt.index] >= 0
				pt.count += int(r.counts[pt.index])
			}
			if everywhere {
				points = append(points, pt)
			}
		}
		if len(points) > 0 {
			sum.runs = append(sum.runs, points)
		}
	}
	for i := range s.Snapshots {
		sum.tracking.complete[i] = true
	}
	for _, r := range u.families {
		sum.tracking.merge(r.part.tracking)
	}
	return sum
}

// merge adds the members of another family.
func (t *tracking) merge(other *tracking) {
	offset := int32(len(t.first))
	t.first = append(t.first, other.first...)
	t.ids = append(t.ids, other.ids...)
	for i, present := range other.members {
		t.complete[i] = t.complete[i] && other.complete[i]
		for _, number := range present {
			t.members[i] = append(t.members[i], number+offset)
		}
	}
}

func (u *unit) result() Unit {
	p := u.part
	out := Unit{
		ID: u.id, Verdict: u.verdict, RecoveredAt: -1, KeptAt: -1,
		Counts: make(analysis.Counts, len(p.series.Snapshots)), Instances: make([]*float64, len(p.series.Snapshots)),
	}
	ratio := 0.0
	for _, r := range u.families {
		f := r.judgement.part.family
		out.Families = append(out.Families, Share{Fingerprint: f.Fingerprint, Kind: f.Kind.Worded(f.Attributes), Ratio: r.ratio, Rise: r.rise})
		ratio += r.ratio
	}
	out.RecoveredAt = u.endedAt()
	if u.keptAt > 0 {
		out.KeptAt = u.keptAt
	}
	u.count(&out, ratio)
	out.Evidence = append(countEvidence(p, u.signals), cohortEvidence(p, u.signals)...)
	return out
}

// count fills in the whole series, including the time after a recovery.
func (u *unit) count(out *Unit, ratio float64) {
	start, epoch := 0, -1
	for i := range u.part.series.Snapshots {
		total, everywhere := 0, true
		for _, r := range u.families {
			p := u.part.series.parts[r.judgement.part.family.Fingerprint]
			count, ok := p.countAt(i)
			everywhere = everywhere && ok
			total += count
		}
		if !everywhere {
			continue
		}
		if e := u.part.series.Epochs[i]; e != epoch {
			start, epoch = total, e
		}
		instances := float64(total-start) / ratio
		out.Counts[i], out.Instances[i] = analysis.Counted(total), &instances
	}
}

// countAt is the usable count at a snapshot.
func (p *part) countAt(i int) (int, bool) {
	for _, run := range p.runs {
		if k, ok := slices.BinarySearchFunc(run, i, func(pt point, i int) int { return cmp.Compare(pt.index, i) }); ok {
			return run[k].count, true
		}
	}
	return 0, false
}

// evidenceFor is the evidence that a family rises as part of a unit.
func (u *unit) evidenceFor(j *judgement) []analysis.Evidence {
	var own *risingFamily
	for _, r := range u.families {
		if r.judgement == j {
			own = r
		}
	}
	e := analysis.Evidence{Rule: ruleUnit, Form: "in_step", N: len(u.families) - 1, Names: []string{u.id}, Figures: map[analysis.Figure]float64{}}
	if u.result().Countable() {
		e.Figures["ratio"] = own.ratio
	}
	if j.verdict() != j.signals.verdict {
		c := u.signals.cohort
		e.Form, e.Verdict = "added_up", j.signals.verdict
		e.Figures["rise"], e.Figures["stayed"], e.Figures["intervals"] = float64(u.signals.fit.rise), float64(sum(c.alive)), float64(birthIntervals(c))
	}
	evidence := one(e)
	if u.remembers() && j.verdict() != j.signals.verdict {
		evidence = append(memoryEvidence(u.part, u.signals), evidence...)
	}
	return evidence
}
