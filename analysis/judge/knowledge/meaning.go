package knowledge

import "leakdiff/analysis"

// meaning is what a match means by its status and basis, with the minutes that the oldest
// member of a backlog has waited.
func meaning(m Match, s Seen) (analysis.Form, int) {
	e := m.Entry
	switch {
	case m.Basis == Possible && e.Signature.Unseen && s.Family.Kind == analysis.KindGoroutine:
		return "unseen", -1
	case m.Basis == Possible && s.Family.Kind == analysis.KindGoroutine && len(s.States) == 0:
		return "no_states", -1
	case m.Basis == Possible:
		return "no_stack", -1
	case m.RuledOut && m.Versions.Verdict == VersionFixed:
		return "grows_with_fix", -1
	case m.RuledOut:
		return "grows_before", -1
	case m.Basis == Looks && m.Versions.Verdict == VersionFixed:
		return "has_fix", -1
	case m.Basis == Looks && m.Versions.Verdict == VersionBefore:
		return "is_older", -1
	case m.Similar:
		return "similar", -1
	case m.Basis == Looks:
		return "looks", -1
	}
	switch {
	case e.Status == BoundedBacklog:
		return m.backlog(s)
	case e.Status != Leak:
		return "by_status", -1
	case s.Family.Kind != analysis.KindGoroutine && len(e.Signature.Frames) == 0:
		return "same_group", -1
	case len(s.States) == 0:
		return "same_stack", -1
	}
	return "same_stack_and_state", -1
}

// older compares the oldest member with the bound of a backlog.
type older int

const (
	olderUnknown older = iota
	olderWithin
	olderBeyond
)

// older compares the oldest member, by waits and by identities, with the bound. If
// neither is known, a series shorter than the bound cannot contain an older member of
// the growth.
func (m Match) older(s Seen) older {
	bound, stayed := m.Entry.BoundMinutes, -1
	if s.Stayed != nil {
		stayed = s.Stayed()
	}
	switch {
	case s.OldestWait >= bound || stayed >= bound:
		return olderBeyond
	case s.Timed || stayed >= 0 || s.Span > 0 && s.Span < bound:
		return olderWithin
	}
	return olderUnknown
}

// backlog is the relation of a backlog to its bound, with the minutes that its oldest member
// has waited.
func (m Match) backlog(s Seen) (analysis.Form, int) {
	oldest := s.OldestWait
	if s.Stayed != nil {
		oldest = max(oldest, s.Stayed())
	}
	switch m.older(s) {
	case olderBeyond:
		return "backlog_beyond", oldest
	case olderWithin:
		if s.Timed {
			return "backlog_waits", oldest
		}
		return "backlog_within", -1
	}
	return "backlog_unknown", -1
}
