package evidence

import (
	"fmt"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/wording"
)

// Normal words why a stack may be normal: "a normal stack of client-go: 2 for each informer,
// that is 24 by the number of informers in the same snapshot".
func Normal(e analysis.Evidence) string {
	text := fmt.Sprintf("a normal stack of %s: %s", name(e, 0), name(e, 1))
	_, counted := e.Figures["expected"]
	switch {
	case len(e.Names) < 3:
	case counted:
		text += fmt.Sprintf(", that is %s by the number of %ss in the same snapshot", whole(e, "expected"), name(e, 2))
	default:
		text += ", their number is not known"
	}
	if e.N > 0 {
		text += fmt.Sprintf("; %d are above that", e.N)
	}
	return text
}

func normal(e analysis.Evidence) string {
	switch e.Form {
	case "within":
		return "it grows, but within what is normal: " + Normal(e)
	case "proven":
		return Normal(e) + "; here its growth is proven"
	case "proven_by_id":
		return Normal(e) + "; here each one was followed by its id"
	}
	return Normal(e) + "; the growth is judged by its own evidence"
}

// known words that a published report accuses a growth, or what would show that it does not.
func known(e analysis.Evidence) string {
	switch e.Form {
	case "excess":
		return fmt.Sprintf("%d where %d are expected (%s), with the signature of %s", e.N, e.Of, name(e, 1), name(e, 0))
	case "backlog_open":
		return open(e)
	}
	return fmt.Sprintf("may be %s (%s): %s; a count that levels off would show it", name(e, 0), statusOf(e), wording.Lower(reason(e)))
}

// setAside words that a report sets aside what the figures say.
func setAside(e analysis.Evidence) string {
	return fmt.Sprintf("by its figures alone it is %s; %s sets that aside (%s): %s", verdict(e.Verdict), name(e, 0), statusOf(e), wording.Lower(reason(e)))
}

// statusOf is the status of the entry in words.
func statusOf(e analysis.Evidence) string { return strings.ReplaceAll(name(e, 1), "-", " ") }

// reason is what the report of an entry says of a growth like this.
func reason(e analysis.Evidence) string {
	if e.Form == "backlog_levels" {
		return fmt.Sprintf("a backlog that drains by itself within %s minutes; it levels at %d, which %.3g births a minute explain", whole(e, "bound_minutes"), e.N, e.Figures["per_minute"])
	}
	if e.Form == "by_status" || e.Form == "unless_it_levels" {
		return strings.TrimSuffix(byStatus(knowledge.Status(name(e, 1)), name(e, 2)), ".")
	}
	return backlog(e.Form, int(e.Figures["bound_minutes"]), int(e.Figures["oldest_minutes"]))
}

// open words what would decide on a backlog that was not seen to drain.
func open(e analysis.Evidence) string {
	bound := int(e.Figures["bound_minutes"])
	text := fmt.Sprintf("may be the bounded backlog %s, which drains within %d minutes", name(e, 0), bound)
	if rate := e.Figures["per_minute"]; rate > 0 {
		text += fmt.Sprintf(": at %.3g a minute it would level at about %.0f", rate, e.Figures["level"])
	}
	if at, began := e.Figures["decides_unix"]; began {
		return text + "; a capture after " + wording.ClockMinute(time.Unix(int64(at), 0)) + " decides"
	}
	return text + fmt.Sprintf("; a capture %d minutes after the growth began decides", bound+bound/2)
}

// Meaning words what a match with an entry of the catalogue means.
func Meaning(m knowledge.Match) string {
	e := m.Entry
	switch m.Meaning {
	case "unseen":
		return "Possible: the stack fits what the fix changed, and no published dump shows it yet."
	case "no_states":
		return "Possible: healthy programs have this stack as well, and this form of dump shows no states; a dump with debug=2 decides."
	case "no_stack":
		return "Possible: there is no stack to compare; it needs " + needs(e) + "."
	case "grows_with_fix":
		return "Same signature and growth, but the version that was seen has the fix: no accusation."
	case "grows_before":
		return "Same signature and growth, but the version that was seen is older than the leak: no accusation."
	case "has_fix":
		return "Same signature, but the version that was seen has the fix: no accusation."
	case "is_older":
		return "Same signature, but the version that was seen is older than the leak: no accusation."
	case "similar":
		return "Similar only: every program that uses these functions can show this stack; it needs " + needs(e) + "."
	case "looks":
		return "Same signature, and nothing shows that it grows or is above what is expected: no accusation."
	case "by_status":
		return byStatus(e.Status, e.Origin)
	}
	same := map[analysis.Form]string{"same_group": "Same group as ", "same_stack": "Same stack as ", "same_stack_and_state": "Same stack and state as "}[m.Meaning]
	if same == "" {
		return wording.Capital(backlog(m.Meaning, e.BoundMinutes, m.Oldest)) + "."
	}
	this, grown := "this published leak", "it grows"
	if e.Origin != "" {
		this = "this entry of your own"
	}
	if m.Basis == knowledge.Excess {
		grown = "there are more than expected"
	}
	return same + this + ", and " + grown + "."
}

// byStatus words what an entry that is no leak says of what looks like it.
func byStatus(s knowledge.Status, origin string) string {
	upstream := "upstream"
	if origin != "" {
		upstream = "by who wrote the entry"
	}
	switch s {
	case knowledge.LimitNotLeak:
		return "A limit that is used up, no leak: raise it, or need less."
	case knowledge.NormalPerContainer:
		return "Looks like this report, where one for each container was normal: compare with the number of containers."
	case knowledge.NormalPerRequest:
		return "Looks like this report, where one for each open request was normal: compare with the number of requests."
	case knowledge.StuckNotLeak:
		return "Blocked on what this report names; that it grows as well is not claimed."
	case knowledge.FalseAlarm:
		return "Looks like this report, which was judged legitimate " + upstream + "."
	}
	return ""
}

// backlog words the relation of a backlog to its bound, both in minutes.
func backlog(form analysis.Form, bound, oldest int) string {
	drains := fmt.Sprintf("a queue that is worked off within %d minutes", bound)
	switch form {
	case "backlog_beyond":
		return fmt.Sprintf("such a queue is worked off within %d minutes; its oldest has waited for at least %d", bound, oldest)
	case "backlog_waits":
		if oldest < 1 {
			return drains + "; its oldest waits less than a minute"
		}
		return drains + fmt.Sprintf("; its oldest waits at least %d", oldest)
	case "backlog_within":
		return drains + "; none was seen for longer"
	}
	return drains + "; these dumps show no waits to tell"
}

// needs names the evidence that would distinguish an entry matched by a listing from
// similar ones.
func needs(e *knowledge.Entry) string {
	var parts []string
	if len(e.Signature.Frames) > 0 && !e.Generic() {
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
