package gate

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// word is the rule in words.
func word(i *report.GateItem) string { return strings.ReplaceAll(i.Rule, "_", " ") }

// place is the line of own code, " (cart.go:41)", or empty.
func place(i *report.GateItem) string {
	f := ownFrame(i.Stack)
	if f == nil {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", f.File[strings.LastIndexAny(f.File, `/\`)+1:], f.Line)
}

// line is an item in a line: its process if several are meant, its title, what a title alone
// does not say, and its place.
func line(r *report.Gate, i *report.GateItem) string {
	text := i.Title
	if several(r) {
		text = name(i.Process, i.Host) + ": " + text
	}
	switch {
	case i.Why != "":
		text += ": " + i.Why
	case i.Finding && i.Before != nil && i.Now != nil:
		text += ": " + wording.NoMoreThanInBaseline(*i.Before, *i.Now)
	case !i.Finding:
		text += ": " + wording.Clause(i.Text)
	}
	return text + place(i)
}

// several reports items of more than one process.
func several(r *report.Gate) bool {
	first := ""
	for _, item := range slices.Concat(r.Items, r.SetAside) {
		of := name(item.Process, item.Host)
		if first == "" {
			first = of
		}
		if of != first {
			return true
		}
	}
	return false
}

// mostListed is how many items a text lists of those that count, and of those set aside.
const mostListed = 20

// listed are the items that a text lists, and how many it leaves out. Without a baseline
// the report itself tells what grows.
func listed(r *report.Gate, items []report.GateItem) (out []report.GateItem, more int) {
	for _, item := range items {
		if r.Baseline || item.Rule == report.OverBudget {
			out = append(out, item)
		}
	}
	more = max(0, len(out)-mostListed)
	return out[:len(out)-more], more
}

// heading says how many items count.
func heading(r *report.Gate) string {
	over := 0
	for i := range r.Items {
		if r.Items[i].Rule == report.OverBudget {
			over++
		}
	}
	budget := 0
	for _, u := range r.Unchecked {
		if u.Line > 0 {
			budget++
		}
	}
	var said []string
	if r.Baseline {
		said = append(said, wording.MoreThanInBaseline(len(r.Items)-over, len(r.SetAside), budget == len(r.Unchecked)))
	}
	if r.Budget {
		said = append(said, wording.BudgetExceeded(over, budget == 0))
	}
	return strings.Join(said, " ")
}

// notes are what could not be checked, and the notes.
func notes(r *report.Gate) (out []string) {
	for k, u := range r.Unchecked {
		if k == mostListed {
			out = append(out, fmt.Sprintf("%d more could not be compared or checked.", len(r.Unchecked)-k))
			break
		}
		out = append(out, u.Text)
	}
	return append(out, r.Notes...)
}

// fails is the first sentence of a report that fails by the verdicts, with the stack of what
// failed. It is empty for one that passes.
func fails(r *report.Gate, verdicts []analysis.Verdict) (text string, stack []string) {
	i := r.Failed(verdicts)
	if i == nil {
		return "", nil
	}
	if !r.Baseline && !r.Budget {
		return "Fails: " + byRule(r, verdicts) + ".", nil
	}
	return "Fails: " + wording.Clause(i.Sentence) + ".", report.StackLines(i.Stack)
}

// byRule are the items that accuse, by their rules: "1 leaking and 2 suspicious".
func byRule(r *report.Gate, verdicts []analysis.Verdict) string {
	var rules, said []string
	n := map[string]int{}
	for i := range r.Items {
		if x := &r.Items[i]; x.Accuses(verdicts) {
			if n[x.Rule]++; n[x.Rule] == 1 {
				rules = append(rules, x.Rule)
			}
		}
	}
	for _, rule := range rules {
		said = append(said, fmt.Sprintf("%d %s", n[rule], strings.ReplaceAll(rule, "_", " ")))
	}
	return wording.List(said, len(said))
}

// Text is what counts in lines for a terminal or a log: what fails by the verdicts, then a
// heading. Of a report that is held against nothing it is the first alone.
func Text(r *report.Gate, verdicts []analysis.Verdict) string {
	var b strings.Builder
	if text, stack := fails(r, verdicts); text != "" {
		fmt.Fprintln(&b, wording.Printable(text))
		for _, frame := range stack {
			fmt.Fprintf(&b, "  %s\n", wording.Printable(frame))
		}
	}
	if !r.Baseline && !r.Budget {
		return b.String()
	}
	fmt.Fprintln(&b, heading(r))
	items, more := listed(r, r.Items)
	for _, item := range items {
		fmt.Fprintf(&b, "  %-11s %s\n", word(&item), wording.Printable(line(r, &item)))
	}
	if more > 0 {
		fmt.Fprintf(&b, "  %d more\n", more)
	}
	items, more = listed(r, r.SetAside)
	for _, item := range items {
		fmt.Fprintf(&b, "  %-11s %s\n", "set aside", wording.Printable(line(r, &item)))
	}
	if more > 0 {
		fmt.Fprintf(&b, "  %d more set aside\n", more)
	}
	for _, note := range notes(r) {
		fmt.Fprintln(&b, wording.Printable(note))
	}
	return b.String()
}

// Document is Text for a comment in an issue or a pull request.
func Document(r *report.Gate, verdicts []analysis.Verdict) document.Document {
	var d document.Document
	if text, stack := fails(r, verdicts); text != "" {
		d.Paragraph(text)
		if len(stack) > 0 {
			d.Fence(stack)
		}
	}
	if !r.Baseline && !r.Budget {
		return d
	}
	d.Paragraph(heading(r))
	items, more := listed(r, r.Items)
	for _, item := range items {
		d.Item(wording.Capital(word(&item)) + ": " + line(r, &item))
	}
	if more > 0 {
		d.Item(fmt.Sprintf("%d more", more))
	}
	items, more = listed(r, r.SetAside)
	for _, item := range items {
		d.Item("Set aside: " + line(r, &item))
	}
	if more > 0 {
		d.Item(fmt.Sprintf("%d more set aside", more))
	}
	for _, note := range notes(r) {
		d.Paragraph(note)
	}
	return d
}
