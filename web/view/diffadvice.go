package view

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// maxDiffAdvice is the number of findings a comparison repeats.
const maxDiffAdvice = 3

// DiffAdvice is a finding about a family that grows from A to B: how sure it is, and
// what to do.
type DiffAdvice struct {
	Name    FamilyName
	Verdict string
	Facts   []Pair
	Stack   *document.Stack
	Todo    []Pair `json:",omitempty"`
}

// advice repeats the first findings of the series that are about families with more
// members in B than in A, so that a comparison can be read without its case.
func (m *diffMaker) advice(d *Diff, rows []diff.Row) {
	grows := map[string]*analysis.Family{}
	for i := range rows {
		if rows[i].Delta > 0 {
			grows[rows[i].Family.Fingerprint] = rows[i].Family
		}
	}
	d.AdviceOf = wording.PagePlural(int64(len(m.in.Labels)), "snapshot", "snapshots") + " of " + printable(m.in.Series.Process)
	var traces report.Traces
	for i := range m.in.Series.Findings {
		f := &m.in.Series.Findings[i]
		if len(d.Advice) == maxDiffAdvice {
			return
		}
		if f.Kind != "" || len(f.Families) == 0 || grows[f.Families[0]] == nil {
			continue
		}
		a := DiffAdvice{Name: m.nameOf(grows[f.Families[0]]), Verdict: f.Mark()}
		evidence := f.Evidence
		if known := m.families[f.Families[0]]; evidence == nil && known != nil {
			evidence = known.Evidence
		}
		for _, e := range evidence[:min(len(evidence), 2)] {
			a.Facts = append(a.Facts, Pair{Name: ruleWord(e.Rule), Value: Visible(arrow(e.Text))})
		}
		a.Stack = newStack(traces.Of(f, m.labelOf), nil)
		a.Todo = m.todo(f)
		d.Advice = append(d.Advice, a)
	}
}

// labelOf returns that of a snapshot of the series.
func (m *diffMaker) labelOf(id string) string {
	if i := slices.Index(m.in.Series.Snapshots, id); i >= 0 && i < len(m.in.Labels) {
		return m.in.Labels[i]
	}
	return id
}

// todo returns what the catalogue says of a finding, or its next step.
func (m *diffMaker) todo(f *report.Finding) (out []Pair) {
	for _, k := range f.Known[:min(len(f.Known), 2)] {
		known := newKnownLeak(k)
		out = append(out, Pair{Name: known.Label, Value: strings.Join(nonEmpty(known.Title, known.Versions), ". ")})
	}
	for _, key := range f.Classes {
		class := m.in.Catalogue.Class(key)
		if class == nil {
			continue
		}
		a := newClassAdvice(class, nil)
		out = append(out, Pair{Name: "Cause", Value: a.Cause}, Pair{Name: "First check", Value: a.FirstCheck})
		if len(a.Remedy) > 0 {
			out = append(out, Pair{Name: "Remedy", Value: a.Remedy[0]})
		}
		return out
	}
	if f.Next != "" {
		out = append(out, Pair{Name: "Next", Value: Visible(f.Next)})
	}
	return out
}
