package knowledge

import (
	"slices"
	"time"

	"leakdiff/analysis"
)

// Rank is an accusation after the catalogue was consulted.
type Rank struct {
	Verdict  analysis.Verdict
	Evidence analysis.Evidence
	// Changed reports that the catalogue changed the verdict.
	Changed bool
	// By is the entry that set the accusation aside, or empty.
	By string
}

// RuleNormal, RuleKnown and RuleAside are the evidence rules of the catalogue.
const (
	RuleNormal = "normal_stack"
	RuleKnown  = "known_leak"
	RuleAside  = "set_aside"
)

// Weigh combines a verdict with the catalogue. It does not accuse a growth that a
// published report knows to be no leak, or a healthy family within its expected count.
// It accuses a count above the expected one that has the signature of a published leak.
// A proof by identities outweighs normal stacks, and the evidence then says so. It does
// not outweigh a report on the same growth.
func (r Result) Weigh(s Seen) (Rank, bool) {
	same := Rank{Verdict: s.Verdict}
	accused := accuses(s.Verdict)
	if rank, ok := r.aside(s); ok && accused {
		return rank, true
	}
	if h := r.Healthy; h != nil && accused {
		switch {
		case s.Proven:
			same.Evidence = h.weighed("proven")
			if s.Followed {
				same.Evidence = h.weighed("proven_by_id")
			}
			return same, true
		case h.decides && h.Within:
			return Rank{Verdict: analysis.Stable, Changed: true, Evidence: h.weighed("within")}, true
		}
		same.Evidence = h.weighed("own_evidence")
		return same, true
	}
	for _, k := range r.Known {
		if k.Basis == Excess {
			return Rank{Verdict: analysis.Suspicious, Changed: true, Evidence: analysis.Evidence{
				Rule: RuleKnown, Form: "excess", N: s.Count, Of: r.Healthy.Expected, Names: []string{k.Entry.ID, r.Healthy.Normal.Expected.Text},
			}}, true
		}
	}
	return same, false
}

// aside is the verdict if a report knows this growth to be no leak. The mark of the
// runtime, and a published leak with the same stack, state and growth, still accuse. An
// entry alone acquits nobody: a backlog must have been seen to drain or to level. An
// entry without a bound needs a frame of its project and counts that level.
func (r Result) aside(s Seen) (Rank, bool) {
	if s.Marked || slices.ContainsFunc(r.Known, Match.accuses) {
		return Rank{}, false
	}
	for _, k := range r.Known {
		if k.Entry.Status == Leak || !k.Speaks() {
			continue
		}
		why := analysis.Evidence{Rule: RuleAside, Form: "by_status", Verdict: s.Verdict, Names: []string{k.Entry.ID, string(k.Entry.Status), k.Entry.Origin}}
		if k.Entry.Status == BoundedBacklog {
			older := k.older(s)
			if older == olderBeyond {
				continue
			}
			if !k.drained(s, older, &why) {
				return Rank{Verdict: analysis.Suspicious, Changed: s.Verdict != analysis.Suspicious, Evidence: why}, true
			}
		} else if k.Entry.Origin == "" {
			if k.frames == 0 {
				continue // a listing shows no frame of the project
			}
			if s.Rise == nil || !s.Rise().Level {
				why.Rule, why.Form = RuleKnown, "unless_it_levels"
				return Rank{Verdict: analysis.Suspicious, Changed: s.Verdict != analysis.Suspicious, Evidence: why}, true
			}
		}
		return Rank{Verdict: analysis.Stable, Changed: true, By: k.Entry.ID, Evidence: why}, true
	}
	return Rank{}, false
}

// levelShare is how far a backlog may exceed births times bound and still count as
// level.
const levelShare = 1.2

// drained reports whether a backlog was seen to drain or to level. It adds to the evidence what
// was seen or what would decide.
func (m Match) drained(s Seen, older older, e *analysis.Evidence) bool {
	bound := m.Entry.BoundMinutes
	rise := Rise{Present: -1}
	if s.Rise != nil {
		rise = s.Rise()
	}
	e.Figures = map[analysis.Figure]float64{"bound_minutes": float64(bound)}
	level := rise.PerMinute * float64(bound)
	switch {
	case older == olderWithin && s.Span >= bound && rise.Present >= bound:
		form, oldest := m.backlog(s)
		e.Form = form
		if oldest >= 0 {
			e.Figures["oldest_minutes"] = float64(oldest)
		}
		return true
	case rise.Level && rise.PerMinute > 0 && float64(s.Count) <= levelShare*level:
		e.Form, e.N = "backlog_levels", s.Count
		e.Figures["per_minute"] = rise.PerMinute
		return true
	}
	e.Rule, e.Form = RuleKnown, "backlog_open"
	if rise.PerMinute > 0 {
		e.Figures["per_minute"], e.Figures["level"] = rise.PerMinute, level
	}
	if !rise.Began.IsZero() {
		decides := rise.Began.Add(time.Duration(bound) * 3 * time.Minute / 2)
		e.Figures["decides_unix"] = float64(decides.Unix())
	}
	return false
}

// weighed is the evidence that a normal stack was weighed against the growth of a family.
func (h *Healthy) weighed(form analysis.Form) analysis.Evidence {
	e := h.Reason
	e.Form = form
	return e
}
