package trend

import "leakdiff/analysis"

// The rules that evidence names. Pages and texts may key on them.
const (
	ruleLeakedMark = "leaked_mark"
	ruleSeries     = "series"
	ruleRoseOnce   = "rose_once"
	ruleCohort     = "cohort"
	ruleSurvivors  = "survivors"
	rulePresence   = "presence"
	ruleRecovery   = "recovery"
	ruleMissing    = "missing"
	ruleSpan       = "span"
	ruleLoad       = "load"
)

// Judge says what may be said about one family: the verdict of statistics.md 4
// and, in its order, the evidence for and against, with figures. An unknown
// fingerprint has too few points. Two calls give equal judgements.
func (s *Series) Judge(fingerprint string) analysis.Judgement {
	return s.judge(fingerprint, new(scratch))
}

// JudgeAll judges every family, by fingerprint.
func (s *Series) JudgeAll() map[string]analysis.Judgement {
	room := new(scratch)
	all := make(map[string]analysis.Judgement, len(s.Families))
	for _, family := range s.Families {
		all[family.Fingerprint] = s.judge(family.Fingerprint, room)
	}
	return all
}

func (s *Series) judge(fingerprint string, room *scratch) analysis.Judgement {
	row := s.groups[fingerprint]
	if row == nil {
		return analysis.Judgement{
			Verdict: analysis.TooFewPoints, RecoveredAt: -1, Survivors: -1, SlopeUnit: "per hour",
			Evidence: []analysis.Evidence{{Rule: ruleMissing, Text: "no snapshot of this series has this family"}},
		}
	}
	family := &analysis.Family{Fingerprint: fingerprint, Kind: s.kindOf(row)}
	whole := s.newPart(family)
	if r, ok := whole.recovered(); ok {
		before := whole.before(r.at.index)
		if judged, signals := before.judge(room); signals.proven() {
			judged.RecoveredAt = r.at.index
			judged.Evidence = append(judged.Evidence, before.recoveryText(r))
			return judged
		}
	}
	judged, _ := whole.judge(room)
	return judged
}

// signals is what the evidence of one part amounts to, before any verdict.
type signals struct {
	verdict analysis.Verdict

	usable int
	line   line
	// up and down are the levels of S, none where the counts moved only once.
	up, down level
	marked   bool
	// scaling says that the counts follow an external load.
	scaling bool
	cohorts bool
	// cohortsSeen says that some epoch had enough snapshots for cohorts.
	cohortsSeen bool
	// identified says that some epoch lets members be followed at all.
	identified bool
	// appeared and vanished are set while the family is new or just gone.
	appeared, vanished bool
	survivors          int
}

// proven reports a verdict that outlives the recovery of its cause.
func (s *signals) proven() bool {
	return s.verdict == analysis.Leaking || s.verdict == analysis.Scaling
}

// gatherers are the kinds of evidence in the order in which they are told. Each
// adds what it found to the signals. Further evidence has its place here: ages of
// one dump (A) before roseOnce, which they overrule; counts per load (SL) after
// load; shared objects (O) after survivors.
func gatherers() []func(*part, *signals, *scratch) []analysis.Evidence {
	return []func(*part, *signals, *scratch) []analysis.Evidence{
		gatherMarks,
		gatherCounts,
		gatherLoad,
		gatherRoseOnce,
		gatherCohorts,
		gatherSurvivors,
		gatherPresence,
	}
}

// verdicts are the rows of statistics.md 4, first match wins.
func verdicts() []func(*signals) (analysis.Verdict, bool) {
	return []func(*signals) (analysis.Verdict, bool){
		func(s *signals) (analysis.Verdict, bool) { return analysis.Leaking, s.marked },
		func(s *signals) (analysis.Verdict, bool) { return analysis.TooFewPoints, s.line.n < 2 },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Scaling, s.scaling },
		func(s *signals) (analysis.Verdict, bool) {
			byIdentity := s.up >= levelSuspicious && s.cohorts
			byCounts := s.up == levelLeaking && !s.identified
			return analysis.Leaking, byIdentity || byCounts
		},
		func(s *signals) (analysis.Verdict, bool) {
			return analysis.Suspicious, s.cohorts || s.up >= levelSuspicious
		},
		func(s *signals) (analysis.Verdict, bool) { return analysis.Shrinking, s.down >= levelSuspicious },
		func(s *signals) (analysis.Verdict, bool) { return analysis.New, s.appeared },
		func(s *signals) (analysis.Verdict, bool) { return analysis.Gone, s.vanished },
	}
}

func (p *part) judge(room *scratch) (analysis.Judgement, *signals) {
	s := &signals{verdict: analysis.Stable, usable: p.usable(), survivors: -1}
	var evidence []analysis.Evidence
	for _, gather := range gatherers() {
		evidence = append(evidence, gather(p, s, room)...)
	}
	for _, row := range verdicts() {
		if verdict, ok := row(s); ok {
			s.verdict = verdict
			break
		}
	}
	evidence = append(evidence, p.missing(s)...)
	evidence = append(evidence, p.spanText(s)...)
	return analysis.Judgement{
		Verdict: s.verdict, RecoveredAt: -1, Evidence: evidence, Survivors: s.survivors,
		Slope: s.line.slope, SlopeUnit: p.slopeUnit(), Rise: s.line.rise,
	}, s
}
