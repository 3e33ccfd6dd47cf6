package view

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
)

// stateLooks are the verdicts as which the states of a case are drawn. Others are drawn as stable.
var stateLooks = map[report.State]analysis.Verdict{
	report.Leaks: analysis.Leaking, report.Deadlock: analysis.Leaking, report.Crashed: analysis.Leaking, // red, as in the terminal
	report.MayLeak: analysis.Suspicious, report.Grew: analysis.Grew, report.GrewOnce: analysis.Stopped, report.IsNew: analysis.New,
	report.Saturated: analysis.Saturated, report.AtItsLimit: analysis.Saturated,
	report.OneDump: analysis.TooFewPoints, report.OneDumpEach: analysis.TooFewPoints, report.CannotTell: analysis.TooFewPoints, report.NotCompared: analysis.TooFewPoints,
	report.Logged: analysis.TooFewPoints, report.Counted: analysis.TooFewPoints, report.NoProcess: analysis.TooFewPoints, report.NothingRead: analysis.TooFewPoints,
}

// statesOf are what the filter of the list calls verdicts, if cases with them are called otherwise.
var statesOf = map[analysis.Verdict]string{
	analysis.Suspicious: string(report.MayLeak), analysis.Scaling: string(report.NoLeak) + ", follows its load", analysis.Stopped: string(report.GrewOnce),
	analysis.Stable: string(report.NoLeakSeen), analysis.TooFewPoints: string(report.OneDump) + ", or too few",
}

// stateChip is the state of a case, "leaking until t7", drawn alike on its page and in lists.
func stateChip(state string) AnswerChip {
	word, _, _ := strings.Cut(state, " until ")
	look, known := stateLooks[report.State(word)]
	if !known {
		look = analysis.Stable
	}
	return AnswerChip{Look: string(look), Text: Visible(state)}
}

// calm reports that nothing is accused.
func (c AnswerChip) calm() bool { return unaccused(c.Look) }

// unaccused reports a verdict by which a line that rises is no warning.
func unaccused(verdict string) bool {
	return verdict == string(analysis.Stable) || verdict == string(analysis.Scaling)
}

// span draws the chip. A leak stands out.
func (c AnswerChip) span() document.Span {
	look := document.Verdict
	if c.Look == string(analysis.Leaking) {
		look = document.Judged
	}
	return document.Span{Look: look, Text: c.Look, Inside: document.Words(c.Text)}
}
