package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
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
			proven := "here its growth is proven"
			if s.Followed {
				proven = "here each one was followed by its id"
			}
			same.Evidence = analysis.Evidence{Rule: RuleNormal, Text: h.Text + "; " + proven}
			return same, true
		case h.decides && h.Within:
			return Rank{Verdict: analysis.Stable, Changed: true, Evidence: analysis.Evidence{Rule: RuleNormal, Text: "it grows, but within what is normal: " + h.Text}}, true
		}
		same.Evidence = analysis.Evidence{Rule: RuleNormal, Text: h.Text + "; the growth is judged by its own evidence"}
		return same, true
	}
	for _, k := range r.Known {
		if k.Basis == Excess {
			return Rank{Verdict: analysis.Suspicious, Changed: true, Evidence: analysis.Evidence{Rule: RuleKnown, Text: fmt.Sprintf("%d where %d are expected (%s), with the signature of %s",
				s.Count, r.Healthy.Expected, r.Healthy.Normal.Expected.Text, k.Entry.ID)}}, true
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
		why := strings.TrimSuffix(k.Text, ".")
		if k.Entry.Status == BoundedBacklog {
			older := k.older(s)
			if older == olderBeyond {
				continue
			}
			var seen bool
			if why, seen = k.drained(s, older); !seen {
				return Rank{Verdict: analysis.Suspicious, Changed: s.Verdict != analysis.Suspicious, Evidence: analysis.Evidence{Rule: RuleKnown, Text: why}}, true
			}
		} else if k.Entry.Origin == "" {
			if k.frames == 0 {
				continue // a listing shows no frame of the project
			}
			if s.Rise == nil || !s.Rise().Level {
				return Rank{Verdict: analysis.Suspicious, Changed: s.Verdict != analysis.Suspicious, Evidence: analysis.Evidence{Rule: RuleKnown,
					Text: fmt.Sprintf("may be %s (%s): %s; a count that levels off would show it", k.Entry.ID, strings.ReplaceAll(string(k.Entry.Status), "-", " "), wording.Lower(why))}}, true
			}
		}
		return Rank{Verdict: analysis.Stable, Changed: true, By: k.Entry.ID, Evidence: analysis.Evidence{Rule: RuleAside,
			Text: fmt.Sprintf("by its figures alone it is %s; %s sets that aside (%s): %s", s.Verdict, k.Entry.ID, strings.ReplaceAll(string(k.Entry.Status), "-", " "), wording.Lower(why))}}, true
	}
	return Rank{}, false
}

// levelShare is how far a backlog may exceed births times bound and still count as
// level.
const levelShare = 1.2

// drained reports whether a backlog was seen to drain or to level, and words what was
// seen or what would decide.
func (m Match) drained(s Seen, older older) (string, bool) {
	bound := m.Entry.BoundMinutes
	rise := Rise{Present: -1}
	if s.Rise != nil {
		rise = s.Rise()
	}
	level := rise.PerMinute * float64(bound)
	switch {
	case older == olderWithin && s.Span >= bound && rise.Present >= bound:
		return m.backlog(s), true
	case rise.Level && rise.PerMinute > 0 && float64(s.Count) <= levelShare*level:
		return fmt.Sprintf("a backlog that drains by itself within %d minutes; it levels at %d, which %.3g births a minute explain", bound, s.Count, rise.PerMinute), true
	}
	text := fmt.Sprintf("may be the bounded backlog %s, which drains within %d minutes", m.Entry.ID, bound)
	if rise.PerMinute > 0 {
		text += fmt.Sprintf(": at %.3g a minute it would level at about %.0f", rise.PerMinute, level)
	}
	if rise.Began.IsZero() {
		return text + fmt.Sprintf("; a capture %d minutes after the growth began decides", bound+bound/2), false
	}
	decides := rise.Began.Add(time.Duration(bound) * 3 * time.Minute / 2)
	return text + "; a capture after " + wording.ClockMinute(decides) + " decides", false
}
