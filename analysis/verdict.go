package analysis

// Verdict is what may be said about a family of a series.
type Verdict string

// The verdicts, in rank order.
const (
	Leaking    Verdict = "leaking"
	Suspicious Verdict = "suspicious"
	Scaling    Verdict = "scaling"
	// Stopped grew and has ended, and what came stays; Grew has more members than before,
	// which is a fact and no accusation.
	Stopped      Verdict = "stopped"
	Grew         Verdict = "grew"
	New          Verdict = "new"
	Shrinking    Verdict = "shrinking"
	Gone         Verdict = "gone"
	Stable       Verdict = "stable"
	TooFewPoints Verdict = "too_few_points"
)

// Verdicts are all of them, in rank order.
func Verdicts() []Verdict {
	return []Verdict{Leaking, Suspicious, Scaling, Stopped, Grew, New, Shrinking, Gone, Stable, TooFewPoints}
}

// Rank orders verdicts from the worst, 0, to the least telling.
func (v Verdict) Rank() int {
	for i, other := range Verdicts() {
		if v == other {
			return i
		}
	}
	return len(Verdicts()) - 1
}

// Rose reports a verdict on a family that has more members than before: one that
// accuses, that explains the growth, or that states it. Where a family of a series has
// such a verdict, nothing may say that nothing grew.
func (v Verdict) Rose() bool {
	switch v {
	case Leaking, Suspicious, Scaling, Stopped, Grew, New:
		return true
	}
	return false
}

// Evidence is one reason for a verdict: the rule that spoke and its figures in
// words.
type Evidence struct {
	// Rule is series, rose_once, cohort, survivors, ages, leaked_mark, recovery,
	// missing, span, ...
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Judgement is the verdict on one family of one series.
type Judgement struct {
	Verdict Verdict `json:"verdict"`
	// RecoveredAt is the index in the series at which the cause went away, -1
	// where it did not.
	RecoveredAt int        `json:"recovered_at"`
	Evidence    []Evidence `json:"evidence"`
	// Survivors is how many members of the last snapshot of the judged part were
	// there when the family first grew; -1 without identities.
	Survivors int `json:"survivors"`
	// Slope is per hour where times are known, per snapshot otherwise; Rise is
	// the sum of last minus first over the epochs.
	Slope     float64 `json:"slope"`
	SlopeUnit string  `json:"slope_unit"`
	Rise      int     `json:"rise"`
}
