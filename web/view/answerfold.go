package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// AnswerFold is a part of the page that is folded: its key, its title and what is inside.
type AnswerFold struct {
	Key, Title, Inside string
	Open               bool
}

// The parts of a case page below its answer.
const (
	FoldFindings = "findings"
	FoldEvidence = "evidence"
	FoldTimeline = "timeline"
	FoldGroups   = "groups"
	FoldObjects  = "objects"
	FoldFiles    = "files"
	FoldForms    = "forms"
)

// folds says what is inside of each part, and which are open.
func (m *caseMaker) folds(c *Case, a *Answer, d *report.Diagnosis) {
	asked := strings.Split(m.in.Query.Get("open"), ",")
	add := func(key, title, inside string, open bool) {
		open = open || slices.Contains(asked, key) || slices.Contains(asked, "all")
		a.Folds = append(a.Folds, AnswerFold{Key: key, Title: title, Inside: inside, Open: open})
	}
	findings := "nothing that grows"
	if n := len(c.Findings) + len(c.Listed); n > 0 {
		findings = wording.PagePlural(int64(n), "finding", "findings") + " in full"
	}
	title := "Findings"
	if also := d.Also; len(also) > 0 {
		title = "Also found"
		findings = Visible(strings.Join(also[:min(len(also), 3)], "; "))
		if more := len(also) - 3 + d.More; more > 0 {
			findings += fmt.Sprintf("; and %d more", more)
		}
	}
	add(FoldFindings, title, findings, m.number > 1)
	if inside := m.evidenceInside(c); inside != "" {
		add(FoldEvidence, "Evidence", inside, m.in.Charts != "")
	}
	if len(c.Columns) > 0 {
		one, more := "instant", "instants"
		if slices.ContainsFunc(m.page, func(i int) bool { return m.in.Report.Series[i].Captures != nil }) {
			one, more = "judged instant", "judged instants"
		}
		inside := wording.PagePlural(int64(len(m.columns)), one, more) + ", " + wording.PagePlural(int64(len(m.in.Report.Series)), "process", "processes") + ", every figure"
		if c.Pickers {
			inside += "; compare A with B"
		}
		add(FoldTimeline, "Timeline and dumps", inside, false)
	}
	if c.FamilyCount > 0 {
		rose := 0
		for i := range m.in.Report.Series {
			for _, f := range m.in.Report.Series[i].Families {
				if f.Verdict.Rose() && len(m.in.Report.Series[i].Snapshots) > 1 {
					rose++
				}
			}
		}
		inside := wording.PagePlural(int64(c.FamilyCount), "group", "groups")
		if rose > 0 {
			inside += fmt.Sprintf(", %d grew", rose)
		}
		filtered := c.Box.Text != "" || c.Applied != ""
		add(FoldGroups, "All groups", inside+"; filter", filtered)
	}
	if len(c.Objects) > 0 {
		n := 0
		for _, o := range c.Objects {
			n += len(o.Rows) + len(o.MoreRows)
		}
		add(FoldObjects, "Objects", wording.PagePlural(int64(n), "kind", "kinds")+" of objects, with who holds them", false)
	}
	files := "bundles, processes, problems"
	if len(m.in.Bundles) > 0 {
		files = wording.PagePlural(int64(len(m.in.Bundles)), "bundle", "bundles") + ", " + wording.ProblemCounts(m.in.Report.Problems)
	}
	add(FoldFiles, "Files", files, false)
	if !c.Frozen {
		add(FoldForms, "This case", "add files, title, ticket, own modules, retention, delete", len(c.Form.Over) > 0)
	}
}

// evidenceInside names the kinds of evidence of a page.
func (m *caseMaker) evidenceInside(c *Case) string {
	var parts []string
	if len(c.Locks) > 0 {
		parts = append(parts, "who waits for whom")
	}
	if len(c.Contention) > 0 {
		parts = append(parts, "who waited for others")
	}
	if len(c.Heaps) > 0 {
		parts = append(parts, "what the heap holds")
	}
	if n := len(c.Minis) + len(c.MoreMinis); n > 0 {
		parts = append(parts, wording.PagePlural(int64(n), "chart", "charts")+" of what grows")
	}
	if len(c.Context) > 0 {
		parts = append(parts, "what is normal for the program")
	}
	if len(c.Limits) > 0 {
		parts = append(parts, wording.PagePlural(int64(len(c.Limits)), "limit", "limits"))
	}
	if c.Further != nil {
		parts = append(parts, "states and births over time")
	}
	return strings.Join(parts, ", ")
}

// Fold is a part of the page by its key; nil where the page has none.
func (a *Answer) Fold(key string) *AnswerFold {
	for i := range a.Folds {
		if a.Folds[i].Key == key {
			return &a.Folds[i]
		}
	}
	return nil
}
