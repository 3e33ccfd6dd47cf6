package trend

import "leakdiff/analysis"

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
	return one(analysis.Evidence{Rule: ruleLeakedMark, N: s.marked, At: new(s.markedAt)})
}

// end is the last snapshot of the part. Marks count in cut dumps too, although these
// have no point.
func (p *part) end() int {
	if p.until > 0 {
		return p.until - 1
	}
	return len(p.series.Snapshots) - 1
}

// countEvidence is the course of the counts and the statistics on it.
func countEvidence(p *part, s *signals) []analysis.Evidence {
	if s.fit.n == 0 {
		return nil
	}
	runs := p.comparable()
	e := analysis.Evidence{Rule: ruleSeries, Unit: p.unit(), Figures: map[analysis.Figure]float64{"span": p.length(runs)}}
	for r, run := range runs {
		e.N += len(run)
		if r < mostCourses {
			e.Courses = append(e.Courses, courseOf(run))
		}
	}
	if len(runs) > 1 {
		e.Figures["epochs"] = float64(len(runs))
	}
	p.significance(s, longestSpan(runs), &e)
	return one(e)
}

// mostCourses is how many epochs evidence lists of a count.
const mostCourses = 4

func courseOf(run []point) analysis.Course {
	first, last := run[0], run[len(run)-1]
	return analysis.Course{From: first.index, To: last.index, Counts: len(run), First: first.count, Last: last.count, Lowest: fewest(run), Highest: most(run)}
}

// significance adds the statistics of the counts. The typical rate is Theil and Sen's:
// half of all pairs of snapshots move faster.
func (p *part) significance(s *signals, span float64, e *analysis.Evidence) {
	f := s.fit
	f.fill(p.comparable(), new(buffers))
	moved := s.risen > levelNone || s.down > levelNone || s.onceDown != nil || f.n < 4 && s.grew
	switch {
	case f.n < 4 && moved:
		// Too few counts for a trend: report what happened, never what is happening.
		e.Form = "few"
		return
	case f.n < 4 && abs(float64(f.rise)) >= f.gate:
		e.Form = "perhaps_noise"
		return
	case f.n < 4 || f.growth == 0:
		e.Form = "noise"
		return
	}
	e.Figures["slope"] = f.slope
	switch {
	case moved:
		e.Form = "trend"
		if !f.straight {
			e.Form = "one_step"
		}
		e.Figures["low"], e.Figures["high"], e.Figures["p"] = f.low, f.high, f.p()
		// If the change was uneven the typical rate alone would contradict the rise.
		if whole := float64(f.rise); f.epochs < 2 && span != 0 && abs(f.growth-whole) > 0.25*abs(whole) {
			e.Figures["overall"] = whole / span
		}
	case abs(f.growth) < f.gate && abs(float64(f.rise)) >= f.gate:
		e.Form = "unsteady"
		e.Figures["gate"] = f.gate
	case abs(f.growth) < f.gate:
		e.Form = "below_gate"
		e.Figures["gate"], e.Figures["growth"], e.Figures["growth_span"] = f.gate, f.growth, span
	case f.n >= 6 && !f.goesOn(f.sign()):
		e.Form = "levelled"
		e.Figures["p"] = f.p()
	default:
		e.Form = "unproven"
		e.Figures["p"] = f.p()
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
		if s.onceUp = movedOnce(p.comparable(), 1); s.onceUp != nil {
			s.up = levelNone
		}
	}
	if s.down > levelNone {
		if s.onceDown = movedOnce(p.comparable(), -1); s.onceDown != nil {
			s.down = levelNone
		}
	}
}

func onceEvidence(_ *part, s *signals) []analysis.Evidence {
	var evidence []analysis.Evidence
	for _, e := range []*analysis.Evidence{s.onceUp, s.onceDown} {
		if e != nil {
			evidence = append(evidence, *e)
		}
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

// movedOnce is the evidence of a single rise or fall, nil without one: up to five counts that
// changed in one interval before the last, or that have not changed since. A fall counts
// below 0.
func movedOnce(runs [][]point, sign int) *analysis.Evidence {
	steps := stepsOf(runs, sign)
	n := len(steps) + len(runs)
	rise, whole := 0, 0.0
	for _, st := range steps {
		rise += st.by
		whole += st.length
	}
	if n > 5 {
		return nil
	}
	for k, st := range steps[:len(steps)-1] {
		share, expected := float64(st.by)/float64(rise), 0.0
		if whole > 0 {
			expected = st.length / whole
		}
		if 5*st.by < 4*rise || share <= min(0.95, expected+0.15) {
			continue
		}
		e := analysis.Evidence{Rule: ruleRoseOnce, Form: "mostly", N: sign * st.by, Of: sign * rise, From: new(st.from.index), To: new(st.to.index)}
		if unchanged(steps[k+1:]) {
			e.Form = "flat_since"
		}
		return &e
	}
	late := 0
	for _, st := range steps[max(0, len(steps)-2):] {
		late += st.by
	}
	if 20*late > rise {
		return nil
	}
	return &analysis.Evidence{Rule: ruleRoseOnce, Form: "slowed", N: sign * (rise - late), Of: sign * rise, To: new(steps[len(steps)-2].from.index)}
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
	if !s.cohort.alone {
		if old, ok := p.keepers(); ok {
			s.cohort = old
		}
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
	e := analysis.Evidence{Rule: ruleCohort, N: alive, Of: established, From: new(c.run[0].index), To: new(c.run[len(c.run)-1].index), Unit: p.unit(), Identity: p.identity()}
	if born == 0 {
		e.Form = "none_born"
		return one(e)
	}
	intervals, with := 0, 0
	for k, n := range c.born {
		if n > 0 {
			if with++; with <= mostBirths {
				e.Points = append(e.Points, analysis.Point{At: c.run[k].index, N: n})
			}
		}
		if c.alive[k] > 0 {
			intervals++
		}
	}
	e.Figures = map[analysis.Figure]float64{"born": float64(born), "births": float64(with)}
	if established == 0 {
		e.Form = "none_stayed"
		return one(e)
	}
	e.Form = "followed"
	if c.older > 0 {
		e.Figures["older"] = c.older
	}
	if alive > 0 {
		e.Figures["intervals"], e.Figures["largest"] = float64(intervals), c.largest
	}
	return one(e)
}

// mostBirths is how many intervals with births evidence lists.
const mostBirths = 12

// life is what the cohorts show, else the balance of the first and the last snapshot.
func (p *part) life(s *signals) *analysis.Life {
	if s.cohortsSeen {
		c := s.cohort
		c.follow(p.tracking)
		established, alive := sum(c.established), sum(c.alive)
		if established > 0 {
			gone, away := p.ended(c.run)
			return &analysis.Life{
				Born: sum(c.born), Moved: p.wereElsewhere(c.run[0].index), Gone: gone, Away: away,
				Followed: established, Stayed: alive, End: c.run[len(c.run)-1].index,
			}
		}
	}
	if b := s.balance; b.known {
		return &analysis.Life{Born: b.born + b.passed, Gone: b.gone + b.passed, Followed: b.first, Stayed: b.stayed, FromFirst: true, End: b.end}
	}
	return nil
}

// kept counts the members of the first snapshot of the last epoch, and those of them that are
// there at its end.
func (p *part) kept() (had, kept int) {
	run := p.lastRun()
	if p.tracking == nil || len(run) < 2 {
		return 0, 0
	}
	first, last := run[0].index, run[len(run)-1].index
	if !p.tracking.complete[first] || !p.tracking.complete[last] {
		return 0, 0
	}
	return len(p.tracking.members[first]), p.tracking.common(first, last)
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
		return one(p.survived(followed))
	}
	return nil
}

// survived is what became of the members of the first snapshot that has any: 38 of the 40
// members of t1 are still there at t7, 2 are new.
func (p *part) survived(followed []point) analysis.Evidence {
	last := followed[len(followed)-1]
	from := firstGrowth(followed)
	if from.index == last.index {
		from = followed[len(followed)-2]
	}
	e := analysis.Evidence{Rule: ruleSurvivors, From: new(from.index), To: new(last.index), Identity: p.identity(), Figures: map[analysis.Figure]float64{}}
	moved := p.movedIn(from.index, last.index)
	if from.count == 0 {
		e.Form, e.N, e.Of = "none_before", 0, last.count
		if moved > 0 {
			e.Form, e.N = "from_elsewhere", moved
		}
		e.Figures["new"] = float64(last.count - moved)
		return e
	}
	kept := p.tracking.common(from.index, last.index)
	e.Form, e.N, e.Of = "stayed", kept, len(p.tracking.members[from.index])
	if gone := p.stillListed(from.index, last.index) - kept; gone > 0 {
		e.Figures["went_elsewhere"] = float64(gone)
	}
	if born := len(p.tracking.members[last.index]) - kept; born > 0 {
		if moved > 0 {
			e.Figures["from_elsewhere"] = float64(moved)
		}
		e.Figures["new"] = float64(max(0, born-moved))
	}
	return e
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

// leastNew is the number of members that a family needs that is new or gone.
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
		s.appeared = !other && run[last].count-p.cameMoving(run[last].index) >= leastNew && k >= last-1
	} else if k := departure(run); k > 0 {
		_, _, other := p.versions(run[k-1], run[k])
		s.vanished = !other && most(run)-p.stillListed(run[k-1].index, run[last].index) >= leastNew && k >= last-1
	}
}

func presenceEvidence(p *part, _ *signals) []analysis.Evidence {
	run := p.lastRun()
	if len(run) < 2 {
		if len(run) == 1 && len(p.runs) > 1 {
			return one(analysis.Evidence{Rule: rulePresence, Form: "after_restart", At: new(run[0].index), N: run[0].count})
		}
		return nil
	}
	if k := arrival(run); k > 0 {
		return one(p.presence(run[k-1], run[k], "new", p.movedIn(run[k-1].index, run[k].index), run[k].count))
	}
	if k := departure(run); k > 0 {
		return one(p.presence(run[k-1], run[k], "gone", p.stillListed(run[k-1].index, run[k].index), run[k-1].count))
	}
	return nil
}

// presence is that a family is new or gone at a point, or only there in one of two versions.
// n of its members were or are in another family.
func (p *part) presence(before, at point, form analysis.Form, n, of int) analysis.Evidence {
	e := analysis.Evidence{Rule: rulePresence, Form: form, From: new(before.index), At: new(at.index)}
	if old, now, other := p.versions(before, at); other {
		e.Form, e.Names = form+"_in_version", []string{old, now}
	} else if n > 0 {
		e.Form, e.N, e.Of, e.Identity = form+"_elsewhere", n, of, p.identity()
	}
	return e
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

func one(e analysis.Evidence) []analysis.Evidence { return []analysis.Evidence{e} }

func abs(v float64) float64 { return max(v, -v) }
