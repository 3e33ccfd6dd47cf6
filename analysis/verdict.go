package analysis

// Verdict is the verdict on a family of a series.
type Verdict string

// The verdicts, in rank order.
const (
	Leaking    Verdict = "leaking"
	Suspicious Verdict = "suspicious"
	Scaling    Verdict = "scaling"
	// Stopped grew and has ended, and the new members stay. Grew has more members than
	// before, which is a fact and no accusation.
	Stopped      Verdict = "stopped"
	Grew         Verdict = "grew"
	New          Verdict = "new"
	Shrinking    Verdict = "shrinking"
	Gone         Verdict = "gone"
	Stable       Verdict = "stable"
	TooFewPoints Verdict = "too_few_points"
)

// Verdicts returns all verdicts in rank order.
func Verdicts() []Verdict {
	return []Verdict{Leaking, Suspicious, Scaling, Stopped, Grew, New, Shrinking, Gone, Stable, TooFewPoints}
}

// Rank orders verdicts from the worst, 0, to the least informative.
func (v Verdict) Rank() int {
	for i, other := range Verdicts() {
		if v == other {
			return i
		}
	}
	return len(Verdicts()) - 1
}

// Rose reports a verdict on a family that has more members than before: one that
// accuses, explains or states the growth. If a family of a series has such a verdict,
// no text may claim that nothing grew.
func (v Verdict) Rose() bool {
	switch v {
	case Leaking, Suspicious, Scaling, Stopped, Grew, New:
		return true
	}
	return false
}

// Grows reports a verdict on a family that still grows: one that accuses or explains.
func (v Verdict) Grows() bool { return v == Leaking || v == Suspicious || v == Scaling }

// Evidence is one reason for a verdict: the rule and its figures in words.
type Evidence struct {
	// Rule is series, rose_once, cohort, survivors, ages, leaked_mark, recovery,
	// missing, span, ...
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Judgement is the verdict on one family of one series.
type Judgement struct {
	Verdict Verdict `json:"verdict"`
	// RecoveredAt is the index in the series at which the cause went away, or -1.
	RecoveredAt int        `json:"recovered_at"`
	Evidence    []Evidence `json:"evidence"`
	// Survivors is how many members of the last snapshot of the judged part were
	// present when the family first grew, -1 without identities.
	Survivors int `json:"survivors"`
	// Slope is per hour if times are known, else per snapshot. Rise is the sum of last
	// minus first over the epochs.
	Slope     float64 `json:"slope"`
	SlopeUnit string  `json:"slope_unit"`
	Rise      int     `json:"rise"`
	// Life is what identities show of the judged part, nil without them.
	Life *Life `json:"life,omitempty"`
	// DecidesIn is how many hours after the last snapshot more of them decide, 0 where nothing
	// is open.
	DecidesIn float64 `json:"decides_in_hours,omitempty"`
}

// Life counts members by identity.
type Life struct {
	// Born came after the first snapshot. Gone were followed and have ended.
	Born int `json:"born"`
	Gone int `json:"gone"`
	// Stayed of the Followed are still there at the end: of those that two snapshots or more
	// could show, or of those that were there at first.
	Followed int `json:"followed"`
	Stayed   int `json:"stayed"`
	// RenewedAt is the last snapshot of which, as of all before it, no member is left: none
	// is older. It is nil where some stay.
	RenewedAt *int `json:"renewed_at,omitempty"`
}
