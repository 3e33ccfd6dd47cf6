package trend

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// measureMarks reads the "(leaked)" marks of the runtime's leak profile. A mark is a
// proof by reachability, in cut dumps too.
func (p *part) measureMarks(s *signals) {
	for _, m := range p.marks {
		if m.index <= p.end() && m.members >= s.marked {
			s.marked, s.markedAt = m.members, m.index
		}
	}
}

func markEvidence(p *part, s *signals) []analysis.Evidence {
	if s.marked == 0 {
		return nil
	}
	return one(ruleLeakedMark, "the runtime marked %s as leaked at %s: nothing that can still run can wake them",
		wording.Plural(s.marked, "member", "members"), p.series.label(s.markedAt))
}

// end is the last snapshot of the part. Marks count in cut dumps too, although these
// have no point.
func (p *part) end() int {
	if p.until > 0 {
		return p.until - 1
	}
	return len(p.series.Snapshots) - 1
}

// countEvidence puts the trend into words.
func countEvidence(p *part, s *signals) []analysis.Evidence {
	if s.fit.n == 0 {
		return nil
	}
	runs := p.comparable()
	return one(ruleSeries, "%s%s", p.countsText(runs), p.significance(s, longestSpan(runs)))
}

// significance words the statistics of the counts. The typical rate is Theil and Sen's:
// half of all pairs of snapshots move faster.
func (p *part) significance(s *signals, span float64) string {
	f := s.fit
	f.fill(p.comparable(), new(buffers))
	moved := s.risen > levelNone || s.down > levelNone || s.onceDown != "" || f.n < 4 && s.grew
	switch {
	case f.n < 4 && moved:
		// Too few counts for a trend: report what happened, never what is happening.
		return ""
	case f.n < 4 && abs(float64(f.rise)) >= f.gate:
		return "; not distinguishable from noise"
	case f.n < 4 || f.growth == 0:
		return "; within noise"
	case moved:
		return fmt.Sprintf("; %s, %s%s", p.rateText(f, span), chance(f.p()), stepText(f))
	case abs(f.growth) < f.gate && abs(float64(f.rise)) >= f.gate:
		return fmt.Sprintf("; no steady growth: between most snapshots it is %s, and a change counts from %s on", p.rate(f.slope), wording.Decimal(f.gate))
	case abs(f.growth) < f.gate:
		return fmt.Sprintf("; within noise: the typical rate %s would make %s in %s, and a change counts from %s on", p.rate(f.slope),
			wording.Decimal(f.growth), p.span(span), wording.Decimal(f.gate))
	case f.n >= 6 && !f.goesOn(f.sign()):
		return fmt.Sprintf("; typical rate %s, %s, but the newer half hardly moves", p.rate(f.slope), chance(f.p()))
	default:
		return fmt.Sprintf("; typical rate %s, not distinguishable from noise (%s)", p.rate(f.slope), chance(f.p()))
	}
}

// rateText words the rate. If the change was uneven it words two rates: the whole
// change over the whole span, and the typical rate between two snapshots. The typical
// rate alone would contradict the rise printed beside it.
func (p *part) rateText(f fit, span float64) string {
	typical := fmt.Sprintf("%s (95 %% interval %s to %s)", p.rate(f.slope), p.rate(f.low), p.rate(f.high))
	whole := float64(f.rise)
	if f.epochs > 1 || span == 0 || abs(f.growth-whole) <= 0.25*abs(whole) {
		return "typical rate " + typical
	}
	return fmt.Sprintf("%s on the whole, but unevenly: %s between most snapshots", p.rate(whole/span), typical)
}

func stepText(f fit) string {
	if f.straight {
		return ""
	}
	return "; it rose in one step"
}

// countsText words the course of the counts: "9 snapshots over 9 min 5 s: rose by 48,
// from 0 (t0) to 48 (t8)".
func (p *part) countsText(runs [][]point) string {
	where := ""
	if len(runs) > 1 {
		where = fmt.Sprintf(" in %d epochs", len(runs))
	}
	n := 0
	for _, run := range runs {
		n += len(run)
	}
	text := fmt.Sprintf("%s%s over %s: ", wording.Plural(n, "snapshot", "snapshots"), where, p.over(runs))
	for r, run := range runs {
		if r == 4 {
			return text + fmt.Sprintf(" and %d more epochs", len(runs)-r)
		}
		if r > 0 {
			text += "; "
		}
		text += p.runText(run)
	}
	return text
}

// runText words one run: "grew by 40, from 0 (t0) to 40 (t1)".
func (p *part) runText(run []point) string {
	first, last := run[0], run[len(run)-1]
	ends := fmt.Sprintf("from %d (%s) to %d (%s)", first.count, p.label(first), last.count, p.label(last))
	switch rise := last.count - first.count; {
	case rise > 0 && len(run) == 2:
		return fmt.Sprintf("grew by %d, %s", rise, ends)
	case rise > 0:
		return fmt.Sprintf("rose by %d, %s", rise, ends)
	case rise < 0:
		return fmt.Sprintf("fell by %d, %s", -rise, ends)
	case flat([][]point{run}):
		return fmt.Sprintf("%d in all", first.count)
	default:
		return fmt.Sprintf("%d at both ends (%s and %s), between %d and %d", first.count, p.label(first), p.label(last),
			fewest(run), most(run))
	}
}

// p is the p-value in the direction of the slope.
func (f fit) p() float64 {
	if f.slope < 0 {
		return f.pDown
	}
	return f.pUp
}

// sign is the direction of the slope.
func (f fit) sign() float64 {
	if f.slope < 0 {
		return -1
	}
	return 1
}

// measureOnce removes the level of counts that moved once. Ages overrule it for a rise:
// continuing births are no single step.
func (p *part) measureOnce(s *signals) {
	if s.up > levelNone && !s.ages.holds {
		if text, once := p.movedOnce(p.comparable(), 1); once {
			s.up, s.onceUp = levelNone, text
		}
	}
	if s.down > levelNone {
		if text, once := p.movedOnce(p.comparable(), -1); once {
			s.down, s.onceDown = levelNone, text
		}
	}
}

func onceEvidence(_ *part, s *signals) []analysis.Evidence {
	var evidence []analysis.Evidence
	if s.onceUp != "" {
		evidence = one(ruleRoseOnce, "rose %s", s.onceUp)
	}
	if s.onceDown != "" {
		evidence = append(evidence, one(ruleRoseOnce, "fell %s", s.onceDown)...)
	}
	return evidence
}

// step is the change of one interval in a given direction.
type step struct {
	from, to point
	by       int
	// length is in hours, or 1 if some count has no date.
	length float64
}

func stepsOf(runs [][]point, sign int) []step {
	all := flatten(runs)
	dated := len(timedOf(all)) == len(all)
	var steps []step
	for _, run := range runs {
		for k, length := range lengths(run) {
			if !dated {
				length = 1
			}
			steps = append(steps, step{run[k], run[k+1], sign * (run[k+1].count - run[k].count), length})
		}
	}
	return steps
}

// movedOnce reports a single rise or fall: up to five counts that changed in one
// interval before the last, or that have not changed since.
func (p *part) movedOnce(runs [][]point, sign int) (string, bool) {
	steps := stepsOf(runs, sign)
	n := len(steps) + len(runs)
	rise, whole := 0, 0.0
	for _, st := range steps {
		rise += st.by
		whole += st.length
	}
	if n > 5 {
		return "", false
	}
	for k, st := range steps[:len(steps)-1] {
		share, expected := float64(st.by)/float64(rise), 0.0
		if whole > 0 {
			expected = st.length / whole
		}
		if 5*st.by < 4*rise || share <= min(0.95, expected+0.15) {
			continue
		}
		text := fmt.Sprintf("by %d between %s and %s", st.by, p.label(st.from), p.label(st.to))
		if unchanged(steps[k+1:]) {
			return text + ", flat since", true
		}
		return text + fmt.Sprintf(", %d of %d in all", st.by, rise), true
	}
	late := 0
	for _, st := range steps[max(0, len(steps)-2):] {
		late += st.by
	}
	if 20*late > rise {
		return "", false
	}
	return fmt.Sprintf("by %d until %s, hardly at all in the last two intervals", rise-late, p.label(steps[len(steps)-2].from)), true
}

func unchanged(steps []step) bool {
	for _, st := range steps {
		if st.by != 0 {
			return false
		}
	}
	return true
}

// measureCohorts measures cohorts in the epoch with the strongest cohort.
func (p *part) measureCohorts(s *signals) {
	for _, run := range p.runs {
		s.identified = s.identified || p.identifies(run)
	}
	if !s.identified {
		return
	}
	if s.cohort, s.cohortsSeen = p.bestCohort(); !s.cohortsSeen {
		return
	}
	if s.ages.holds || s.up > levelNone {
		s.cohort.follow(p.tracking)
	}
	s.cohorts, s.turnover = s.cohort.holds, s.cohort.turnover
}

func cohortEvidence(p *part, s *signals) []analysis.Evidence {
	if !s.cohortsSeen {
		return nil
	}
	c := s.cohort
	c.follow(p.tracking)
	born, established, alive := sum(c.born), sum(c.established), sum(c.alive)
	first, last := c.run[0], c.run[len(c.run)-1]
	if born == 0 {
		return one(ruleCohort, "no member was born from %s to %s", p.label(first), p.label(last))
	}
	var births []string
	intervals := 0
	for k, n := range c.born {
		if n > 0 {
			births = append(births, fmt.Sprintf("%s %d", p.label(c.run[k]), n))
		}
		if c.alive[k] > 0 {
			intervals++
		}
	}
	came := fmt.Sprintf("%s came after %s (%s)", wording.Plural(born, "member", "members"), p.label(first), wording.Commas(births, 12))
	if established == 0 {
		return one(ruleCohort, "%s; none of them was there at the next snapshot", came)
	}
	who := "that could be followed"
	if c.older > 0 {
		who = "older than " + p.span(c.older)
	}
	text := fmt.Sprintf("%d of %d %s are still there at %s; %s", alive, established, who, p.label(last), came)
	if alive > 0 {
		text += fmt.Sprintf(", in %s, at most %s of them in one", wording.Plural(intervals, "interval", "intervals"), wording.Share(c.largest))
	}
	return one(ruleCohort, "%s", text)
}

// life is what the cohorts show, else the balance of the first and the last snapshot.
func (p *part) life(s *signals) *analysis.Life {
	if s.cohortsSeen {
		c := s.cohort
		c.follow(p.tracking)
		established, alive := sum(c.established), sum(c.alive)
		if established > 0 {
			born := sum(c.born)
			return &analysis.Life{Born: born, Gone: born - c.present(p.tracking), Followed: established, Stayed: alive}
		}
	}
	if b := s.balance; b.known {
		return &analysis.Life{Born: b.born, Gone: b.gone, Followed: b.first, Stayed: b.stayed}
	}
	return nil
}

// identifies reports whether identities can support or refute a growth in a run. One
// dump with ids at the end of a series of counts cannot.
func (p *part) identifies(run []point) bool {
	followed, peopled := p.tracking.followed(run), 0
	for k := range followed {
		if followed[k].count > 0 {
			peopled++
		}
		if peopled >= 2 {
			return true
		}
	}
	return peopled == 1 && len(followed) >= fewestCohortPoints
}

// survivors counts the members at the end of the judged part that were present when the
// family first grew, in the last epoch that allows it. It is -1 without identities.
func (p *part) survivors() int {
	for r := len(p.runs) - 1; r >= 0; r-- {
		followed := p.tracking.followed(p.runs[r])
		if len(followed) < 2 {
			continue
		}
		from := firstGrowth(p.runs[r])
		if most(followed) == 0 || !p.tracking.complete[from.index] {
			return -1
		}
		return p.tracking.common(from.index, followed[len(followed)-1].index)
	}
	return -1
}

func survivorEvidence(p *part, s *signals) []analysis.Evidence {
	if s.showsBalance() && s.balance.known && len(p.runs) == 1 {
		return nil // the balance already reports it
	}
	for r := len(p.runs) - 1; r >= 0; r-- {
		followed := p.tracking.followed(p.runs[r])
		if len(followed) < 2 {
			continue
		}
		if most(followed) == 0 {
			return nil
		}
		return one(ruleSurvivors, "%s", p.survivorText(followed))
	}
	return nil
}

// survivorText words what became of the members of the first snapshot that has any: "38
// of 40 members of t1 are still there at t7, 2 are new".
func (p *part) survivorText(followed []point) string {
	last := followed[len(followed)-1]
	from := firstGrowth(followed)
	if from.index == last.index {
		from = followed[len(followed)-2]
	}
	if from.count == 0 {
		if moved := p.movedIn(from.index, last.index); moved > 0 {
			text := fmt.Sprintf("%d of %d members of %s watched something that still existed at %s", moved, last.count, p.label(last), p.label(from))
			if born := last.count - moved; born > 0 {
				text += fmt.Sprintf(", %d are new", born)
			}
			return text
		}
		return fmt.Sprintf("no member of %s was there at %s, %d are new", p.label(last), p.label(from), last.count)
	}
	kept := p.tracking.common(from.index, last.index)
	text := fmt.Sprintf("%d of %d members of %s are still there at %s", kept,
		len(p.tracking.members[from.index]), p.label(from), p.label(last))
	if moved := p.stillListed(from.index, last.index) - kept; moved > 0 {
		text += fmt.Sprintf(", %d in another group, since what they watched is gone", moved)
	}
	if born := len(p.tracking.members[last.index]) - kept; born > 0 {
		if moved := p.movedIn(from.index, last.index); moved > 0 {
			text += fmt.Sprintf(", %d watched something that still existed then", moved)
			born -= moved
		}
		if born > 0 {
			text += fmt.Sprintf(", %d are new", born)
		}
	}
	return text
}

// firstGrowth is the first point with more members than the one before it, else the
// first point.
func firstGrowth(run []point) point {
	for k := 1; k < len(run); k++ {
		if run[k].count > run[k-1].count {
			return run[k]
		}
	}
	return run[0]
}

// leastNew is how many members a family needs that is new or gone.
const leastNew = 3

// measurePresence finds families that appeared or vanished as a whole in the last
// epoch.
func (p *part) measurePresence(s *signals) {
	run := p.lastRun()
	if len(run) == 0 {
		return
	}
	last := len(run) - 1
	if k := arrival(run); k > 0 {
		_, _, other := p.versions(run[k-1], run[k])
		s.appeared = !other && run[last].count-p.movedIn(run[k-1].index, run[last].index) >= leastNew && k >= last-1
	} else if k := departure(run); k > 0 {
		_, _, other := p.versions(run[k-1], run[k])
		s.vanished = !other && most(run)-p.stillListed(run[k-1].index, run[last].index) >= leastNew && k >= last-1
	}
}

func presenceEvidence(p *part, _ *signals) []analysis.Evidence {
	run := p.lastRun()
	if len(run) < 2 {
		if len(run) == 1 && len(p.runs) > 1 {
			return one(rulePresence, "since the restart at %s there is one snapshot: %s", p.label(run[0]), wording.Plural(run[0].count, "member", "members"))
		}
		return nil
	}
	if k := arrival(run); k > 0 {
		if before, after, other := p.versions(run[k-1], run[k]); other {
			return one(rulePresence, "absent in version %s, there in version %s", before, after)
		}
		if n := p.movedIn(run[k-1].index, run[k].index); n > 0 {
			return one(rulePresence, "not there before %s; %d of its %s then watched something that still existed at %s, so that the watch is older", p.label(run[k]), n, wording.Plural(run[k].count, "member", "members"), p.label(run[k-1]))
		}
		return one(rulePresence, "not there before %s", p.label(run[k]))
	}
	if k := departure(run); k > 0 {
		if before, after, other := p.versions(run[k-1], run[k]); other {
			return one(rulePresence, "there in version %s, absent in version %s", before, after)
		}
		if n := p.stillListed(run[k-1].index, run[k].index); n > 0 {
			return one(rulePresence, "gone since %s; %d of its %s at %s are in another group now: the watch is still there, and what it watched is not", p.label(run[k]), n, wording.Plural(run[k-1].count, "member", "members"), p.label(run[k-1]))
		}
		return one(rulePresence, "gone since %s", p.label(run[k]))
	}
	return nil
}

// arrival is the first point with members after points without, or 0. A family that
// vanished again has no arrival.
func arrival(run []point) int {
	if run[0].count > 0 || run[len(run)-1].count == 0 {
		return 0
	}
	for k, pt := range run {
		if pt.count > 0 {
			return k
		}
	}
	return 0
}

// departure is the first of the closing points without members, or 0.
func departure(run []point) int {
	k := len(run)
	for k > 0 && run[k-1].count == 0 {
		k--
	}
	if k == len(run) {
		return 0
	}
	return k
}

func most(run []point) int {
	n := 0
	for _, pt := range run {
		n = max(n, pt.count)
	}
	return n
}

func fewest(run []point) int {
	n := run[0].count
	for _, pt := range run {
		n = min(n, pt.count)
	}
	return n
}

func (p *part) versions(a, b point) (before, after string, other bool) {
	before = p.series.Snapshots[a.index].Process.Version.Value
	after = p.series.Snapshots[b.index].Process.Version.Value
	return before, after, differ(before, after)
}

func one(rule, format string, args ...any) []analysis.Evidence {
	return []analysis.Evidence{{Rule: rule, Text: fmt.Sprintf(format, args...)}}
}

func abs(v float64) float64 { return max(v, -v) }
