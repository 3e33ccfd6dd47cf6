package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis/say/wording"
)

// AnswerFold is a part of the page that is folded: its key, its title and how much is inside.
type AnswerFold struct {
	Key, Title, Inside string
	Open               bool
}

// The parts of a case page below its answer.
const (
	FoldFindings = "findings"
	FoldGroups   = "groups"
	FoldTimeline = "timeline"
	FoldFiles    = "files"
)

// foldOf is the part that shows what addresses once opened by a name of its own.
var foldOf = map[string]string{"evidence": FoldFindings, "objects": FoldGroups, "forms": FoldFiles}

// folds says how much is inside of each part, and which are open.
func (m *caseMaker) folds(c *Case, a *Answer) {
	asked := strings.Split(m.in.Query.Get("open"), ",")
	for i, key := range asked {
		if of := foldOf[key]; of != "" {
			asked[i] = of
		}
	}
	add := func(key, title, inside string, open bool) {
		open = open || slices.Contains(asked, key) || slices.Contains(asked, "all")
		a.Folds = append(a.Folds, AnswerFold{Key: key, Title: title, Inside: inside, Open: open})
	}
	also := len(c.Findings) + len(c.Listed)
	if len(c.Findings) > 0 && c.Findings[0].Answered {
		also--
	}
	title, inside := "Evidence", ""
	if also > 0 {
		title, inside = "Also", wording.PagePlural(int64(also), "finding", "findings")
	}
	add(FoldFindings, title, inside, m.number > 1 || m.in.Charts != "")
	if c.FamilyCount > 0 {
		inside := wording.Exact(int64(c.FamilyCount))
		if rose := m.rose(); rose > 0 {
			inside += fmt.Sprintf(", %d grew", rose)
		}
		add(FoldGroups, "Groups", inside, c.Box.Text != "" || c.Applied != "")
	}
	if len(c.Columns) > 0 {
		inside := wording.Exact(int64(len(m.columns)))
		if slices.ContainsFunc(m.page, func(i int) bool { return m.in.Report.Series[i].Captures != nil }) {
			inside += " judged"
		}
		add(FoldTimeline, "Dumps", inside, false)
	}
	add(FoldFiles, "Files", wording.ProblemCounts(m.in.Report.Problems), len(c.Form.Over) > 0)
}

// rose counts the families that rose between snapshots.
func (m *caseMaker) rose() int {
	n := 0
	for i := range m.in.Report.Series {
		for _, f := range m.in.Report.Series[i].Families {
			if f.Verdict.Rose() && len(m.in.Report.Series[i].Snapshots) > 1 {
				n++
			}
		}
	}
	return n
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
