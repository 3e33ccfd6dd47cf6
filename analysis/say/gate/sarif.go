package gate

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
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

// The objects of SARIF 2.1.0, with the properties that readers show. Tests check logs by the
// schema of the standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Invocations []sarifInvocation `json:"invocations,omitempty"`
		Results     []sarifResult     `json:"results"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string       `json:"id"`
		Short sarifMessage `json:"shortDescription"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifMessage       `json:"message"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Locations    []sarifLocation    `json:"locations"`
		Stacks       []sarifStack       `json:"stacks,omitempty"`
		Baseline     string             `json:"baselineState,omitempty"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Message  *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifStack struct {
		Message sarifMessage `json:"message"`
		Frames  []sarifFrame `json:"frames"`
	}
	sarifFrame struct {
		Location sarifLocation `json:"location"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification"`
	}
)

// SARIF writes items as a log of SARIF 2.1.0, those that are set aside with the reason as
// suppressed. Each result has the first line of own code in its stack as its place. What could
// not be checked, and notes, are notifications of the run.
//
// What fails by the verdicts is a warning at least.
func SARIF(w io.Writer, r *report.Gate, version string, places Places, verdicts []analysis.Verdict) error {
	run := sarifRun{Results: []sarifResult{}}
	driver := &run.Tool.Driver
	*driver = sarifDriver{Name: "leakdiff", Version: version, Rules: []sarifRule{}}
	for _, item := range slices.Concat(r.Items, r.SetAside) {
		rule := slices.IndexFunc(driver.Rules, func(known sarifRule) bool { return known.ID == item.Rule })
		if rule < 0 {
			rule = len(driver.Rules)
			driver.Rules = append(driver.Rules, sarifRule{item.Rule, sarifMessage{wording.RuleMeaning(item.Rule)}})
		}
		result := resultOf(r, &item, places)
		result.RuleIndex = rule
		if item.Why == "" && item.Accuses(verdicts) {
			result.Level = "error"
		}
		run.Results = append(run.Results, result)
	}
	ran := sarifInvocation{Successful: len(r.Unchecked) == 0}
	for _, u := range r.Unchecked {
		ran.Notifications = append(ran.Notifications, sarifNotification{"error", sarifMessage{wording.Printable(u.Text)}})
	}
	for _, note := range r.Notes {
		ran.Notifications = append(ran.Notifications, sarifNotification{"note", sarifMessage{wording.Printable(note)}})
	}
	if len(ran.Notifications) > 0 {
		run.Invocations = []sarifInvocation{ran}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func resultOf(r *report.Gate, item *report.GateItem, places Places) sarifResult {
	first := ""
	if len(item.Families) > 0 {
		first = item.Families[0]
	}
	out := sarifResult{
		Rule: item.Rule, Level: level(item.Rule),
		Message:      sarifMessage{wording.Printable(name(item.Process, item.Host) + ": " + item.Title + ": " + item.Text)},
		Fingerprints: map[string]string{"family/v1": strings.TrimLeft(item.Process+"/"+first, "/")},
	}
	at := sarifPhysical{sarifArtifact{URI: places.Capture}, sarifRegion{1}}
	if f := ownFrame(item.Stack); f != nil {
		at = placeOf(f, places)
	}
	out.Locations = []sarifLocation{{Physical: &at}}
	if len(item.Stack) > 0 {
		stack := sarifStack{Message: sarifMessage{"One of its members"}}
		for i := range item.Stack {
			f := &item.Stack[i]
			location := sarifLocation{Message: &sarifMessage{wording.Printable(f.Function)}}
			if f.File != "" {
				place := placeOf(f, places)
				location.Physical = &place
			}
			stack.Frames = append(stack.Frames, sarifFrame{location})
		}
		out.Stacks = []sarifStack{stack}
	}
	if r.Baseline && item.Before != nil {
		switch {
		case item.Why != "":
			out.Baseline = "unchanged"
		case *item.Before == 0:
			out.Baseline = "new"
		default:
			out.Baseline = "updated"
		}
	}
	if item.Why != "" {
		out.Suppressions = []sarifSuppression{{"external", "accepted", item.Why}}
	}
	return out
}

func placeOf(f *report.StackFrame, places Places) sarifPhysical {
	uri, within := places.File(f.File)
	at := sarifPhysical{sarifArtifact{URI: uri}, sarifRegion{max(1, f.Line)}}
	if within {
		at.Artifact.Base = checkout
	}
	return at
}

// ownFrame is the first frame of own code that has a file, or else the first one of another
// module, or else of the standard library.
func ownFrame(stack []report.StackFrame) *report.StackFrame {
	var found [3]*report.StackFrame
	for i := range stack {
		f := &stack[i]
		rank := 0
		switch {
		case f.File == "":
			continue
		case !f.Own && !family.OfStandardLibrary(f.Function):
			rank = 1
		case !f.Own:
			rank = 2
		}
		if found[rank] == nil {
			found[rank] = f
		}
	}
	return cmp.Or(found[0], found[1], found[2])
}

// level is how SARIF calls the weight of a rule.
func level(rule string) string {
	switch rule {
	case string(analysis.Leaking), string(analysis.Saturated), report.OverBudget:
		return "error"
	case string(analysis.Suspicious):
		return "warning"
	}
	return "note"
}
