package trend

import (
	"maps"
	"math"
	"runtime"
	"sync"

	"leakdiff/analysis"
)

// The names of the evidence rules. Pages and texts may key on them.
const (
	ruleLeakedMark = "leaked_mark"
	ruleSeries     = "series"
	ruleRoseOnce   = "rose_once"
	ruleAges       = "ages"
	ruleCohort     = "cohort"
	ruleSurvivors  = "survivors"
	ruleLabels     = "labels"
	ruleWindow     = "window"
	rulePlateau    = "plateau"
	ruleObjects    = "objects"
	ruleTurnover   = "turnover"
	ruleStopped    = "stopped"
	rulePassing    = "passing"
	ruleEmptied    = "emptied"
	ruleReturned   = "returned"
	ruleBatches    = "batches"
	ruleMemory     = "memory"
	rulePresence   = "presence"
	ruleRecovery   = "recovery"
	ruleUnit       = "unit"
	ruleRetained   = "retained"
	ruleMissing    = "missing"
	ruleSpan       = "span"
	ruleLoad       = "load"
	ruleDecides    = "decides"
)

// judgements are the judgements on all families of a series, before they are worded.
type judgements struct {
	byFingerprint map[string]*judgement
	all           []*judgement
	units         []*unit
}

// judgement is the judgement on one family.
type judgement struct {
	// part is the judged part: all snapshots, or those before a recovery.
	part      *part
	signals   *signals
	recovered *recovery
	unit      *unit
	// keptAt is the snapshot at which the families that rose with this one went away,
	// while this one stayed. It is 0 if none did.
	keptAt int
	// alone reports that the part is the newest start of the process.
	alone bool
}

func (s *Series) judgements() *judgements {
	s.once.Do(func() { s.judged = s.judgeFamilies() })
	return s.judged
}

func (s *Series) judgeFamilies() *judgements {
	judged := &judgements{byFingerprint: make(map[string]*judgement, len(s.Families)), all: make([]*judgement, len(s.Families))}
	s.eachFamily(func() func(k int) {
		buf := new(buffers)
		return func(k int) { judged.all[k] = s.ordered[k].judge(buf) }
	})
	for _, j := range judged.all {
		judged.byFingerprint[j.part.family.Fingerprint] = j
	}
	judged.units = s.newUnits(judged.all, new(buffers))
	return judged
}

// eachFamily calls the function that work returns for the index of every family, in
// several goroutines. Families do not depend on each other until units are formed. Each
// goroutine has its own function.
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

// judge measures a family. If the part before a recovery proves a leak, it measures
// that part.
func (p *part) judge(buf *buffers) *judgement {
	if r, ok := p.recovered(); ok {
		before := p.before(r.at.index)
		// With two or three snapshots before it, a fall suggests a backlog that has
		// drained.
		signals := before.measure(buf)
		lasted := 1.0
		if signals.verdict == analysis.Leaking && signals.marked == 0 {
			lasted = p.lasted(r)
		}
		if signals.proven() && (signals.fit.n >= 4 || signals.marked > 0) && lasted >= backlogGrowth {
			if lasted < briefGrowth || r.drained {
				signals.verdict = analysis.Suspicious
			}
			return &judgement{part: before, signals: signals, recovered: &r}
		}
	}
	signals := p.measure(buf)
	if alone := p.newestStart(); alone != nil {
		if own := alone.measure(buf); own.verdict == analysis.Leaking {
			return &judgement{part: alone, signals: own, alone: true}
		}
	}
	p.remember(signals, buf)
	if signals.verdict == analysis.Suspicious {
		if ended := p.endedByStart(); ended != nil {
			signals.verdict, signals.stop = analysis.Stopped, ended
		}
	}
	return &judgement{part: p, signals: signals}
}

// newestStart is the part since the last start of the process, if it has more members than any
// start before showed. A pool that fills anew after each start has as many as before.
func (p *part) newestStart() *part {
	run := p.lastRun()
	if run == nil {
		return nil
	}
	alone, before, seen := *p, 0, 0
	for _, run := range p.runs[:len(p.runs)-1] {
		before, seen = max(before, most(run)), max(seen, len(run))
	}
	alone.runs = p.runs[len(p.runs)-1:]
	if seen < 2 || float64(run[len(run)-1].count-before) < leastGrowth(float64(before)) {
		return nil
	}
	return &alone
}

// A growth that went away is no leak if it lasted less than backlogGrowth of the last epoch:
// requests that pile up behind a hanging dependency look like that. Below briefGrowth it may
// be either.
const (
	backlogGrowth = 0.25
	briefGrowth   = 1.0 / 3
)

// lasted is the share of the last epoch that a growth lasted before it went away. It begins
// where the count was last near its base.
func (p *part) lasted(r recovery) float64 {
	run := p.lastRun()
	begin := run[0]
	for _, pt := range run {
		if pt.index < r.peak.index && 5*(pt.count-r.base) <= r.peak.count-r.base {
			begin = pt
		}
	}
	whole := run[len(run)-1].at - run[0].at
	if whole <= 0 {
		return 1
	}
	return (r.peak.at - begin.at) / whole
}

// Verdicts returns the verdicts on all families by fingerprint, without evidence.
func (s *Series) Verdicts() map[string]analysis.Verdict {
	all := make(map[string]analysis.Verdict, len(s.Families))
	for _, j := range s.judgements().all {
		all[j.part.family.Fingerprint] = j.verdict()
	}
	return all
}

// JudgeAll returns the judgement on every family by fingerprint: the verdict, the
// evidence for it and the evidence against it, in that order and with figures. Two
// calls return equal judgements.
func (s *Series) JudgeAll() map[string]analysis.Judgement {
	all := make(map[string]analysis.Judgement, len(s.Families))
	for _, j := range s.judgements().all {
		all[j.part.family.Fingerprint] = j.result()
	}
	return all
}

// verdict is the family's own verdict, or that of its unit if the unit proves more.
func (j *judgement) verdict() analysis.Verdict {
	own := j.signals.verdict
	if j.unit == nil || proves(own) || j.signals.stop != nil || j.signals.idles {
		return own
	}
	if j.unit.proven() || j.unit.remembers() && j.unit.verdict.Rank() < own.Rank() {
		return j.unit.verdict
	}
	return own
}

// recovery is the family's own, or that of the unit whose verdict it has.
func (j *judgement) recovery() *recovery {
	if j.recovered == nil && j.unit != nil && j.verdict() != j.signals.verdict {
		return j.unit.recovered[j.part.family.Fingerprint]
	}
	return j.recovered
}

// judgedPart is the part that the verdict covers. A recovery that the unit proves cuts
// the part as the family's own does.
func (j *judgement) judgedPart() (*part, *signals) {
	r := j.recovery()
	if r == nil || j.part.until > 0 {
		return j.part, j.signals
	}
	p := j.part.before(r.at.index)
	return p, p.measure(new(buffers))
}

func (j *judgement) result() analysis.Judgement {
	p, s := j.judgedPart()
	r := j.recovery()
	var evidence []analysis.Evidence
	for _, rule := range evidenceRules() {
		evidence = append(evidence, rule(p, s)...)
	}
	if j.verdict().Rose() {
		evidence = qualifyCounts(evidence)
	}
	if j.keptAt > 0 {
		evidence = append(evidence, p.retained(j.keptAt)...)
	}
	if j.unit != nil {
		evidence = append(evidence, j.unit.evidenceFor(j)...)
	}
	evidence = append(evidence, p.missing(s)...)
	evidence = append(evidence, p.shortSpan(s, j.verdict(), r != nil)...)
	whole := s.fit
	whole.fill(p.comparable(), new(buffers))
	judged := analysis.Judgement{
		Verdict: j.verdict(), RecoveredAt: -1, Survivors: p.survivors(),
		Slope: whole.slope, SlopeUnit: p.slopeUnit(), Rise: s.fit.rise, Life: p.life(s),
	}
	if r != nil {
		judged.RecoveredAt = r.at.index
		evidence = append(evidence, p.recoveryEvidence(*r))
	}
	judged.Evidence = append(evidence, p.decides(s, j.verdict(), r != nil)...)
	if judged.Life != nil {
		judged.Life.RenewedAt = p.renewedAt()
		judged.Life.StandsSince = p.standsSince()
		judged.Life.Had, judged.Life.Kept = p.kept()
	}
	for _, e := range judged.Evidence {
		// JSON has no such numbers. Loads may be any.
		maps.DeleteFunc(e.Figures, func(_ analysis.Figure, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	}
	switch judged.Verdict {
	case analysis.Grew, analysis.New, analysis.Suspicious, analysis.Stopped:
		if !s.respawns { // more captures show the same
			judged.DecidesIn = p.decidesIn(s)
		}
	}
	return judged
}

// qualifyCounts marks counts that prove nothing by themselves: other evidence accuses,
// members that stay, ages or the unit.
func qualifyCounts(evidence []analysis.Evidence) []analysis.Evidence {
	for i, e := range evidence {
		if e.Rule == ruleSeries && (e.Form == "noise" || e.Form == "below_gate") {
			evidence[i].Form += "_alone"
		}
	}
	return evidence
}

// signals are the measurements of one part and the verdict on them.
type signals struct {
	verdict analysis.Verdict

	usable int
	fit    fit
	// up and down are the levels of S, or none if the counts moved only once. risen is
	// up before that correction.
	up, down, risen level
	// onceUp and onceDown are the evidence of a movement that happened once, or nil.
	onceUp, onceDown *analysis.Evidence
	marked           int
	markedAt         int
	loadFit          loadFit
	// follows is a gauge of the program to which the counts are in proportion, or nil.
	follows *following
	// counted is set for a total without members, steady where it also rises in nearly each
	// step beside a demand that stays.
	counted, steady bool
	// respawns reports members that start their own successors: their counts alone accuse nobody, and
	// raise no suspicion once one fell: some chain ended.
	respawns, fell bool
	ages           ages
	// cohort is the strongest one. cohorts reports that it holds, cohortsSeen that some
	// epoch had enough snapshots for one.
	cohort      cohort
	cohorts     bool
	cohortsSeen bool
	// turnover reports that most of the members that had stayed for a while are gone.
	turnover bool
	// identified reports that members can be followed in some epoch.
	identified bool
	// balance counts who came and left between the ends of each epoch. grew reports
	// that it proves a growth.
	balance balance
	grew    bool
	// stop is where the growth ended, or nil.
	stop *stop
	// passing reports that more are there at a time and none of them stays. batches is in
	// how many intervals members came, 0 if their spacing says nothing.
	passing bool
	batches int
	// acquitted is how many came more than a third of the window ago, the last of them at
	// acquittedAt, if none of them is there. It is 0 if that shows nothing.
	acquitted, acquittedAt int
	// returned is the level that a start before held, at which it is again, or 0. warmed reports a
	// rise after a start that hardly goes on.
	returned int
	warmed   bool
	// idles reports workers of a pool without a task, which end by themselves later than was captured.
	idles bool
	// renewed reports a level at which all members are replaced.
	renewed bool
	// emptied is a fall that took nearly all members, beyond which the count has not grown, or
	// nil.
	emptied *emptying
	// memory is an earlier proof of a leak whose members are still there, or nil.
	memory *memory
	// appeared and vanished are set while the family is new or just gone.
	appeared, vanished bool
}

// proven reports a verdict that remains valid after the recovery of its cause.
func (s *signals) proven() bool { return proves(s.verdict) }

func proves(v analysis.Verdict) bool { return v == analysis.Leaking || v == analysis.Scaling }

// measure collects the evidence of a part and decides. Each step may use earlier ones:
// ages overrule "rose once", and loads are compared only with what rose.
func (p *part) measure(buf *buffers) *signals {
	s := &signals{usable: p.usable(), idles: p.idles(), respawns: p.respawns, fell: p.fell()}
	p.measureMarks(s)
	p.measureCounted(s)
	s.fit = fitCounts(p.comparable(), buf)
	p.weighByIdentity(s, buf)
	s.up, s.down = s.fit.rising(), s.fit.falling()
	s.risen = s.up
	s.ages = p.measureAges(buf)
	p.measureOnce(s)
	p.measureCohorts(s)
	p.measurePassing(s)
	p.measureAcquittal(s)
	if s.up >= levelSuspicious || s.cohorts || s.ages.holds {
		s.emptied = p.emptied()
	}
	p.measureBatches(s)
	p.measureBalance(s)
	p.measureLoad(s, buf)
	p.measurePresence(s)
	p.measureRenewal(s)
	p.measureRestart(s, buf)
	if !s.passing && (s.grew || s.suspects() || s.accuses()) {
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

// evidenceRules are the functions that collect the evidence, in the order of the pages.
func evidenceRules() []func(*part, *signals) []analysis.Evidence {
	return []func(*part, *signals) []analysis.Evidence{
		markEvidence, memoryEvidence, balanceEvidence, stopEvidence, countEvidence, loadEvidence, onceEvidence, ageEvidence, cohortEvidence, passingEvidence, emptiedEvidence, returnedEvidence, batchEvidence, survivorEvidence, windowEvidence, labelEvidence, plateauEvidence, objectEvidence, presenceEvidence,
	}
}

// verdicts are the rules for each verdict. The first match wins.
func verdicts() [11]func(*signals) (analysis.Verdict, bool) {
	return [11]func(*signals) (analysis.Verdict, bool){
		func(s *signals) (analysis.Verdict, bool) { return analysis.Leaking, s.marked > 0 },
		func(s *signals) (analysis.Verdict, bool) { return analysis.TooFewPoints, s.fit.n < 2 && !s.ages.holds },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Stable, s.renewed || s.returned > 0 },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Scaling, s.loadFit.scales },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Leaking, s.stop == nil && s.accuses() },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Suspicious, s.stop == nil && s.suspects() },
		func(s *signals) (analysis.Verdict, bool) { return analysis.New, s.appeared },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Stopped, s.stop != nil && s.stop.settled() },
		func(s *signals) (analysis.Verdict, bool) {
			return analysis.Grew, s.grew || s.stop != nil || s.passing || s.acquitted > 0 && s.up >= levelSuspicious || s.emptied != nil
		},
		func(s *signals) (analysis.Verdict, bool) { return analysis.Shrinking, s.down >= levelSuspicious },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Gone, s.vanished },
	}
}

// suspects is the rule for "suspicious". Members that stay and are old prove nothing where most
// of the members are replaced and as many left as came.
func (s *signals) suspects() bool {
	if s.passing || s.acquitted > 0 || s.emptied != nil || s.warmed || s.respawns && s.fell {
		return false
	}
	return s.up >= levelSuspicious || (s.cohorts && s.fit.rise > 0 || s.ages.holds) && (s.grew || !s.turnover)
}

// accuses is the rule for "leaking". If most members that had stayed are gone, members
// are replaced, and nothing accuses. Cohorts that grew after one start of the process
// count beside ages only if the counts of its other starts also go on: a pool fills
// anew after every restart.
func (s *signals) accuses() bool {
	switch {
	case s.counted && !s.steady, s.follows != nil, s.respawns:
		return false // it may follow a load that nobody captured, or knows to be one
	case s.turnover || s.passing || s.acquitted > 0 || s.emptied != nil || s.warmed || s.idles:
		return false
	case s.batches > 0 && !(s.ages.holds && s.up == levelLeaking):
		return false // resizes of a pool look the same
	case s.cohort.older > 0:
		return true
	case s.cohorts && s.up >= levelSuspicious:
		return s.fit.epochs < 2 || s.up == levelLeaking || s.ages.holds
	case s.cohort.alone && s.fit.epochs < 2:
		return true
	case s.cohorts && s.ages.holds:
		return s.fit.epochs < 2 || s.fit.n < 6 || s.fit.goesOn(1)
	case s.ages.holds:
		return s.up == levelLeaking || s.fit.n < 4 && s.up >= levelSuspicious
	default:
		return s.up == levelLeaking && !s.identified
	}
}
