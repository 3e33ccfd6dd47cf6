package wording

import (
	"fmt"

	"leakdiff/analysis"
)

// Recovered says that a growth ended within the captures.
const Recovered = "its cause went away"

// MarkedBenign is a reason for which a growth does not count in a pipeline.
const MarkedBenign = "marked benign"

// NothingHeld says that nothing could be compared or checked.
const NothingHeld = "Nothing was compared or checked: no dump was found. Name captures of the program."

// NotInBaseline says that there is nothing to compare a process with.
func NotInBaseline(process string) string {
	if process == "" {
		process = "a process without a name"
	}
	return "The baseline does not have " + process + ": what the report says of it counts."
}

// NotComparedKinds says which kinds of a process the baseline has no evidence of.
func NotComparedKinds(process string, kinds []string) string {
	if process == "" {
		process = "the process"
	}
	return "The baseline has no " + Ands(kinds) + " of " + process + ": these were not compared."
}

// ProcessOn names a process with what tells it from others of its name: "shop on node-3, pid 71".
// host and pid may be empty.
func ProcessOn(process, host, pid string) string {
	if process == "" {
		process = "a process without a name"
	}
	if host != "" {
		process += " on " + host
	}
	if pid != "" {
		process += ", pid " + pid
	}
	return process
}

// ProcessNotCaptured says that a process of the baseline was not captured now.
func ProcessNotCaptured(who string) string {
	return "Not compared: the baseline has " + who + ", which was not captured now. It may have ended, or grown unseen: capture it again, or make a new baseline if it is gone for good."
}

// KindsNotCaptured says which kinds of a process the baseline has and nothing captured now.
func KindsNotCaptured(who string, kinds []string) string {
	return "Not compared: the baseline has " + Ands(kinds) + " of " + who + ", which were not captured now. They may have grown unseen: capture them again as for the baseline, or make a new baseline without them."
}

// LastCut says that the last capture of a process is cut, so that growth may be behind its end.
func LastCut(process string) string {
	return "Not compared: the last capture of " + ProcessOn(process, "", "") + " is cut, or was not understood as a whole, so that more may be there. Capture again, with debug=1 beside debug=2 where there are many."
}

// BaselineCut says that growth since a baseline is unclear because the baseline is cut, and names
// what would be new or more.
func BaselineCut(process string, titles []string) string {
	return "Not compared: the dumps of " + ProcessOn(process, "", "") + " in the baseline are cut. Whether " + List(titles, 5) + Fit(len(titles), " is", " are") + " new or more is not known: make the baseline again from whole dumps."
}

// CountsNothing says that a line of a budget means nothing that was captured, and for objects
// which types there are.
func CountsNothing(line int, text string, types []string) string {
	said := fmt.Sprintf("Line %d of the budget counts nothing: nothing is %s", line, text)
	if len(types) > 0 {
		said += "; there are objects of " + List(types, 8)
	}
	return said + "."
}

// NoMoreThanInBaseline is the reason for which a growth does not count that was there before.
func NoMoreThanInBaseline(before, now int) string {
	return fmt.Sprintf("%d in the baseline, %d now", before, now)
}

// SinceBaseline compares members with the baseline: "12 goroutines in the baseline, 96 now."
func SinceBaseline(before, now int, kind analysis.Kind) string {
	if before == 0 {
		return Members(kind, now) + " that the baseline does not have."
	}
	return fmt.Sprintf("%s in the baseline, %d now.", Members(kind, before), now)
}

// GrewSinceBaseline is SinceBaseline as a sentence about a thing of a process, without a full
// stop.
func GrewSinceBaseline(thing, process string, before, now int) string {
	if process != "" {
		thing += " of " + process
	}
	if before == 0 {
		return fmt.Sprintf("%s are new since the baseline: %d", thing, now)
	}
	return fmt.Sprintf("%s grew from %d to %d since the baseline", thing, before, now)
}

// TotalRose says that a total rose that no family explains.
func TotalRose(kinds string, from, to int) string {
	return fmt.Sprintf("All %s rose from %d to %d, in no group by itself.", kinds, from, to)
}

// OverBudget says by how much a line of a budget is exceeded: "96 now; the budget allows 40,
// 2 per connections at 20."
func OverBudget(now int, allowed float64, each float64, load string, value float64) string {
	text := fmt.Sprintf("%d now; the budget allows %s", now, Decimal(allowed))
	if load != "" {
		text += fmt.Sprintf(", %s per %s at %s", Decimal(each), load, Decimal(value))
	}
	return text + "."
}

// MoreThanInBaseline counts growths: "6 of 14 growths are new or more than in the baseline, 8
// are set aside." all reports that everything of the baseline was compared.
func MoreThanInBaseline(n, aside int, all bool) string {
	switch {
	case n == 0 && !all && aside == 0:
		return "Not all of the baseline was compared; what was is not new or more."
	case n == 0 && !all:
		return "Not all of the baseline was compared; what was is not new or more, and " + Plural(aside, "growth is", "growths are") + " set aside."
	case n == 0 && aside == 0:
		return "Nothing is new or more than in the baseline."
	case n == 0:
		return "Nothing is new or more than in the baseline; " + Plural(aside, "growth is", "growths are") + " set aside."
	case aside == 0:
		return Plural(n, "growth is", "growths are") + " new or more than in the baseline."
	}
	return fmt.Sprintf("%d of %d growths %s new or more than in the baseline; %s set aside.", n, n+aside, Fit(n, "is", "are"), Plural(aside, "is", "are"))
}

// BudgetExceeded counts the lines of a budget that are exceeded. all reports that every line was
// checked.
func BudgetExceeded(lines int, all bool) string {
	if lines == 0 && !all {
		return "Not all of the budget could be checked."
	}
	if lines == 0 {
		return "The budget holds."
	}
	return Plural(lines, "line of the budget is", "lines of the budget are") + " exceeded."
}

// RuleMeaning says what a verdict or a rule of a gate means.
func RuleMeaning(rule string) string {
	switch rule {
	case "leaking":
		return "It grows, and what came stays."
	case "suspicious":
		return "It grows; too little is known to call it a leak."
	case "stopped":
		return "It grew and stands; what came is still there."
	case "grew":
		return "There is more of it than before."
	case "new":
		return "It was not there before."
	}
	return "There is more of it than the budget allows."
}
