package trend

import (
	"runtime"
	"strings"
	"sync"

	"leakdiff/analysis"
)

// The rules that evidence names. Pages and texts may key on them.
const (
	ruleLeakedMark = "leaked_mark"
	ruleSeries     = "series"
	ruleRoseOnce   = "rose_once"
	ruleAges       = "ages"
	ruleCohort     = "cohort"
	ruleSurvivors  = "survivors"
	rulePlateau    = "plateau"
	ruleObjects    = "objects"
	ruleTurnover   = "turnover"
	ruleStopped    = "stopped"
	rulePresence   = "presence"
	ruleRecovery   = "recovery"
	ruleUnit       = "unit"
	ruleRetained   = "retained"
	ruleMissing    = "missing"
	ruleSpan       = "span"
	ruleLoad       = "load"
	ruleDecides    = "decides"
)

// study is what all families of a series amount to, before any words.
type study struct {
	of    map[string]*inquiry
	order []*inquiry
	units []*unit
}

// inquiry is one family under judgement.
type inquiry struct {
	// part is what is judged: the whole, or what came before a recovery.
	part      *part
	signals   *signals
	recovered *recovery
	unit      *unit
	// keptAt is the snapshot at which what rose with the family went away while it stayed,
	// 0 where nothing did.
	keptAt int
}

func (s *Series) studied() *study {
	s.once.Do(func() { s.study = s.newStudy() })
	return s.study
}

func (s *Series) newStudy() *study {
	st := &study{of: make(map[string]*inquiry, len(s.Families)), order: make([]*inquiry, len(s.Families))}
	s.eachFamily(func() func(k int) {
		room := new(scratch)
		return func(k int) { st.order[k] = s.ordered[k].inquire(room) }
	})
	for _, q := range st.order {
		st.of[q.part.family.Fingerprint] = q
	}
	st.units = s.newUnits(st.order, new(scratch))
	return st
}

// eachFamily calls what work returns for the place of every family, in several
// goroutines: families know nothing of each other until units are formed. Each
// goroutine has its own work.
func (s *Series) eachFamily(work func() func(k int)) {
	workers := min(runtime.GOMAXPROCS(0), 1+len(s.Families)/64)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			do := work()
			for k := w; k < len(s.Families); k += workers {
				do(k)
			}
		})
	}
	wait.Wait()
}

// inquire measures a family, on the part before its cause went away where that
// part proves a leak.
func (p *part) inquire(room *scratch) *inquiry {
	if r, ok := p.recovered(); ok {
		before := p.before(r.at.index)
		// Of two or three snapshots before it, a fall says rather that a backlog has
		// drained.
		if signals := before.measure(room); signals.proven() && (signals.line.n >= 4 || signals.marked > 0) {
			return &inquiry{part: before, signals: signals, recovered: &r}
		}
	}
	return &inquiry{part: p, signals: p.measure(room)}
}

// Verdicts are the verdicts on all families, by fingerprint, without their words.
func (s *Series) Verdicts() map[string]analysis.Verdict {
	all := make(map[string]analysis.Verdict, len(s.Families))
	for _, q := range s.studied().order {
		all[q.part.family.Fingerprint] = q.verdict()
	}
	return all
}

// JudgeAll says what may be said about every family, by fingerprint: the verdict of
// statistics.md 4 and, in its order, the evidence for and against, with figures. Two
// calls return equal judgements.
func (s *Series) JudgeAll() map[string]analysis.Judgement {
	all := make(map[string]analysis.Judgement, len(s.Families))
	for _, q := range s.studied().order {
		all[q.part.family.Fingerprint] = q.told()
	}
	return all
}

// verdict is the family's own, or that of the unit that proves more.
func (q *inquiry) verdict() analysis.Verdict {
	if q.unit != nil && q.unit.proven() && !q.signals.proven() && q.signals.stop == nil {
		return q.unit.verdict
	}
	return q.signals.verdict
}

// recovery is that of the family, or of the unit whose verdict it has.
func (q *inquiry) recovery() *recovery {
	if q.recovered == nil && q.unit != nil && q.verdict() != q.signals.verdict {
		return q.unit.recovered[q.part.family.Fingerprint]
	}
	return q.recovered
}

// judged is what the verdict speaks of: a recovery that the unit proves cuts the
// part as one of its own does.
func (q *inquiry) judged() (*part, *signals) {
	r := q.recovery()
	if r == nil || q.part.until > 0 {
		return q.part, q.signals
	}
	p := q.part.before(r.at.index)
	return p, p.measure(new(scratch))
}

func (q *inquiry) told() analysis.Judgement {
	p, s := q.judged()
	r := q.recovery()
	var evidence []analysis.Evidence
	for _, tell := range tellers() {
		evidence = append(evidence, tell(p, s)...)
	}
	if q.verdict().Rose() {
		evidence = alone(evidence)
	}
	if q.keptAt > 0 {
		evidence = append(evidence, p.retained(q.keptAt)...)
	}
	if q.unit != nil {
		evidence = append(evidence, q.unit.toldOf(q)...)
	}
	evidence = append(evidence, p.missing(s)...)
	evidence = append(evidence, p.spanText(s, q.verdict(), r != nil)...)
	whole := s.line
	whole.fill(p.comparable(), new(scratch))
	judged := analysis.Judgement{
		Verdict: q.verdict(), RecoveredAt: -1, Survivors: p.survivors(),
		Slope: whole.slope, SlopeUnit: p.slopeUnit(), Rise: s.line.rise,
	}
	if r != nil {
		judged.RecoveredAt = r.at.index
		evidence = append(evidence, p.recoveryText(*r))
	}
	judged.Evidence = append(evidence, p.decides(s, q.verdict(), r != nil)...)
	return judged
}

// alone says of counts that prove nothing by themselves that it is another reason which
// accuses: members that stay, ages, the unit.
func alone(evidence []analysis.Evidence) []analysis.Evidence {
	for i, e := range evidence {
		if e.Rule == ruleSeries {
			evidence[i].Text = strings.Replace(e.Text, "; within noise", "; the counts alone would be within noise", 1)
		}
	}
	return evidence
}

// signals is what the evidence of one part amounts to, before any verdict.
type signals struct {
	verdict analysis.Verdict

	usable int
	line   line
	// up and down are the levels of S, none where the counts moved only once;
	// risen is the level before that.
	up, down, risen level
	// onceUp and onceDown tell a movement that happened once.
	onceUp, onceDown string
	marked           int
	markedAt         int
	follows          follows
	ages             ages
	// cohort is the best one, and cohorts says that it holds. cohortsSeen says that
	// some epoch had enough snapshots for one.
	cohort      cohort
	cohorts     bool
	cohortsSeen bool
	// turnover says that identities show members leave: most of those that stayed
	// for a while are gone.
	turnover bool
	// identified says that some epoch lets members be followed at all.
	identified bool
	// turned is who came and left between the ends of each epoch, grew that they say
	// so (R1).
	turned turned
	grew   bool
	// stop is where the growth ended, nil where it did not (R3).
	stop *stop
	// appeared and vanished are set while the family is new or just gone.
	appeared, vanished bool
}

// proven reports a verdict that outlives the recovery of its cause.
func (s *signals) proven() bool { return proves(s.verdict) }

func proves(v analysis.Verdict) bool { return v == analysis.Leaking || v == analysis.Scaling }

// measure collects the evidence of a part and decides. Each step may use those
// before it: ages overrule "rose once", and a load is asked where anything accuses.
func (p *part) measure(room *scratch) *signals {
	s := &signals{usable: p.usable()}
	p.measureMarks(s)
	s.line = fitLine(p.comparable(), room)
	s.up, s.down = s.line.rising(), s.line.falling()
	s.risen = s.up
	s.ages = p.measureAges(room)
	p.measureOnce(s)
	p.measureCohorts(s)
	p.measureLoad(s, room)
	p.measurePresence(s)
	p.measureTurned(s)
	if s.grew || s.suspects() || s.accuses() {
		s.stop = p.stopped()
	}
	s.verdict = analysis.Stable
	for _, row := range verdicts() {
		if verdict, ok := row(s); ok {
			s.verdict = verdict
			break
		}
	}
	return s
}

// tellers put the evidence into words, in the order in which it is read.
func tellers() []func(*part, *signals) []analysis.Evidence {
	return []func(*part, *signals) []analysis.Evidence{
		tellMarks, tellTurned, tellStopped, tellCounts, tellLoad, tellOnce, tellAges, tellCohorts, tellSurvivors, tellPlateau, tellObjects, tellPresence,
	}
}

// verdicts are the rows of statistics.md 4 and 10, first match wins.
func verdicts() [10]func(*signals) (analysis.Verdict, bool) {
	return [10]func(*signals) (analysis.Verdict, bool){
		func(s *signals) (analysis.Verdict, bool) { return analysis.Leaking, s.marked > 0 },
		func(s *signals) (analysis.Verdict, bool) { return analysis.TooFewPoints, s.line.n < 2 && !s.ages.holds },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Scaling, s.follows.scales },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Leaking, s.stop == nil && s.accuses() },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Suspicious, s.stop == nil && s.suspects() },
		func(s *signals) (analysis.Verdict, bool) { return analysis.New, s.appeared },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Stopped, s.stop != nil },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Grew, s.grew },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Shrinking, s.down >= levelSuspicious },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Gone, s.vanished },
	}
}

// suspects is the row "suspicious" of statistics.md 4.
func (s *signals) suspects() bool { return s.cohorts || s.ages.holds || s.up >= levelSuspicious }

// accuses is the row "leaking" of statistics.md 4. Where most of those who had
// stayed are gone again, members take turns, whatever else rises; and cohorts that
// grew after one start of the process count beside ages only while the counts of
// its other starts go on as well: a pool fills anew after every restart.
func (s *signals) accuses() bool {
	switch {
	case s.turnover:
		return false
	case s.cohorts && s.up >= levelSuspicious:
		return s.line.epochs < 2 || s.up == levelLeaking || s.ages.holds
	case s.cohort.alone && s.line.epochs < 2:
		return true
	case s.cohorts && s.ages.holds:
		return s.line.epochs < 2 || s.line.n < 6 || s.line.goesOn(1)
	case s.ages.holds:
		return s.up == levelLeaking || s.line.n < 4 && s.up >= levelSuspicious
	default:
		return s.up == levelLeaking && !s.identified
	}
}
