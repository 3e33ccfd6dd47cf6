package gate

import (
	"io"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// Places says where the files of stacks and captures lie for the reader of a SARIF log.
type Places struct {
	// File returns the address of a source file. It is relative to the directory of the
	// checkout if within is set.
	File func(file string) (uri string, within bool)
	// Capture is the address of what was read, for items without a stack.
	Capture string
}

// checkout is the base of addresses within the checkout, by the convention of SARIF's readers.
const checkout = "%SRCROOT%"

// SARIF writes items as a log of SARIF 2.1.0, those that are set aside with the reason as
// suppressed. Each result has the first line of own code in its stack as its place.
func SARIF(w io.Writer, r *report.Gate, version string, places Places) error {
	run := sarif.NewRunWithInformationURI("leakdiff", "")
	run.Tool.Driver.InformationURI = nil
	run.Tool.Driver.WithVersion(version)
	for _, item := range slices.Concat(r.Items, r.SetAside) {
		run.AddRule(item.Rule).WithDescription(wording.RuleMeaning(item.Rule))
		run.AddResult(resultOf(r, item, run.GetRuleIndex(item.Rule), places))
	}
	log := sarif.NewReport()
	log.AddRun(run)
	return log.PrettyWrite(w)
}

func resultOf(r *report.Gate, item report.GateItem, rule int, places Places) *sarif.Result {
	title, text := wording.Printable(item.Title), wording.Printable(item.Text)
	out := sarif.NewRuleResult(item.Rule).WithRuleIndex(rule).WithLevel(level(item.Rule))
	out.WithMessage(sarif.NewTextMessage(item.Process + ": " + title + ": " + text))
	first := ""
	if len(item.Families) > 0 {
		first = item.Families[0]
	}
	out.WithPartialFingerprints(map[string]string{"family/v1": strings.TrimLeft(item.Process+"/"+first, "/")})
	at := sarif.NewPhysicalLocation()
	if f := ownFrame(item.Stack); f != nil {
		at.WithArtifactLocation(address(places, f.File)).WithRegion(sarif.NewRegion().WithStartLine(max(1, f.Line)))
	} else {
		at.WithArtifactLocation(sarif.NewSimpleArtifactLocation(places.Capture)).WithRegion(sarif.NewRegion().WithStartLine(1))
	}
	out.AddLocation(sarif.NewLocationWithPhysicalLocation(at))
	if len(item.Stack) > 0 {
		stack := sarif.NewStack().WithMessage(sarif.NewTextMessage("One of its members"))
		for i := range item.Stack {
			f := &item.Stack[i]
			location := sarif.NewLocation().WithMessage(sarif.NewTextMessage(wording.Printable(f.Function)))
			if f.File != "" {
				location.WithPhysicalLocation(sarif.NewPhysicalLocation().WithArtifactLocation(address(places, f.File)).WithRegion(sarif.NewRegion().WithStartLine(max(1, f.Line))))
			}
			stack.AddFrame(sarif.NewStackFrame().WithLocation(location))
		}
		out.AddStack(stack)
	}
	if r.Baseline && item.Before != nil {
		state := "updated"
		switch {
		case item.Why != "":
			state = "unchanged"
		case *item.Before == 0:
			state = "new"
		}
		out.WithBaselineState(state)
	}
	if item.Why != "" {
		out.AddSuppression(sarif.NewSuppression().WithKind("external").WithStatus("accepted").WithJustification(item.Why))
	}
	return out
}

func address(places Places, file string) *sarif.ArtifactLocation {
	uri, within := places.File(file)
	out := sarif.NewSimpleArtifactLocation(uri)
	if within {
		out.WithURIBaseID(checkout)
	}
	return out
}

// ownFrame is the first frame of own code that has a file, or else the first that has one.
func ownFrame(stack []report.StackFrame) (first *report.StackFrame) {
	for i := range stack {
		f := &stack[i]
		if f.File == "" {
			continue
		}
		if f.Own {
			return f
		}
		if first == nil {
			first = f
		}
	}
	return first
}

// level is how SARIF calls the weight of a rule.
func level(rule string) string {
	switch rule {
	case string(analysis.Leaking), report.OverBudget:
		return "error"
	case string(analysis.Suspicious):
		return "warning"
	}
	return "note"
}
