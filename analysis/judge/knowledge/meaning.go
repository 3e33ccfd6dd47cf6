package knowledge

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// meaning words a match by its status and basis.
func meaning(m Match, s Seen) string {
	e := m.Entry
	this, upstream := "this published leak", "upstream"
	if e.Origin != "" {
		this, upstream = "this entry of your own", "by who wrote the entry"
	}
	switch {
	case m.Basis == Possible && e.Signature.Unseen && s.Family.Kind == analysis.KindGoroutine:
		return "Possible: the stack fits what the fix changed, and no published dump shows it yet."
	case m.Basis == Possible && s.Family.Kind == analysis.KindGoroutine && len(s.States) == 0:
		return "Possible: healthy programs have this stack as well, and this form of dump shows no states; a dump with debug=2 decides."
	case m.Basis == Possible:
		return "Possible: there is no stack to compare; it needs " + needs(e) + "."
	case m.RuledOut && m.Versions.Verdict == VersionFixed:
		return "Same signature and growth, but the version that was seen has the fix: no accusation."
	case m.RuledOut:
		return "Same signature and growth, but the version that was seen is older than the leak: no accusation."
	case m.Basis == Looks && m.Versions.Verdict == VersionFixed:
		return "Same signature, but the version that was seen has the fix: no accusation."
	case m.Basis == Looks && m.Versions.Verdict == VersionBefore:
		return "Same signature, but the version that was seen is older than the leak: no accusation."
	case m.Similar:
		return "Similar only: every program that uses these functions can show this stack; it needs " + needs(e) + "."
	case m.Basis == Looks:
		return "Same signature, and nothing shows that it grows or is above what is expected: no accusation."
	}
	grown := "it grows"
	if m.Basis == Excess {
		grown = "there are more than expected"
	}
	switch e.Status {
	case Leak:
		same := "Same stack and state as "
		if len(s.States) == 0 {
			same = "Same stack as "
		}
		if s.Family.Kind != analysis.KindGoroutine && len(e.Signature.Frames) == 0 {
			same = "Same group as "
		}
		return same + this + ", and " + grown + "."
	case BoundedBacklog:
		return wording.Capital(m.backlog(s)) + "."
	case LimitNotLeak:
		return "A limit that is used up, no leak: raise it, or need less."
	case NormalPerContainer:
		return "Looks like this report, where one for each container was normal: compare with the number of containers."
	case NormalPerRequest:
		return "Looks like this report, where one for each open request was normal: compare with the number of requests."
	case StuckNotLeak:
		return "Blocked on what this report names; that it grows as well is not claimed."
	case FalseAlarm:
		return "Looks like this report, which was judged legitimate " + upstream + "."
	}
	return ""
}

// needs names the evidence that would distinguish an entry matched by a listing from
// similar ones.
func needs(e *Entry) string {
	var parts []string
	if len(e.Signature.Frames) > 0 && !e.generic() {
		parts = append(parts, "a dump with "+e.Signature.Frames[0])
	}
	if e.Project != "" {
		parts = append(parts, e.Project+" in the program")
	}
	if c := e.Versions.Component; c != "" && len(e.Versions.Fixed) > 0 {
		parts = append(parts, "a version of "+c+" before "+strings.Join(e.Versions.Fixed, ", "))
	}
	if e.Trigger != "" {
		parts = append(parts, "its trigger")
	}
	if len(parts) == 0 {
		return "the stack or the code that made it"
	}
	return strings.Join(parts, ", and ")
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

// backlog words the relation of a backlog to its bound.
func (m Match) backlog(s Seen) string {
	drains := fmt.Sprintf("a queue that is worked off within %d minutes", m.Entry.BoundMinutes)
	switch m.older(s) {
	case olderBeyond:
		oldest := s.OldestWait
		if s.Stayed != nil {
			oldest = max(oldest, s.Stayed())
		}
		return fmt.Sprintf("such a queue is worked off within %d minutes; its oldest has waited for at least %d", m.Entry.BoundMinutes, oldest)
	case olderWithin:
		if oldest := s.OldestWait; s.Timed {
			if s.Stayed != nil {
				oldest = max(oldest, s.Stayed())
			}
			return drains + "; its oldest waits " + waits(oldest)
		}
		return drains + "; none was seen for longer"
	}
	return drains + "; these dumps show no waits to tell"
}

func waits(minutes int) string {
	if minutes < 1 {
		return "less than a minute"
	}
	return fmt.Sprintf("at least %d", minutes)
}
