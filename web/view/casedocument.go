package view

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// familiesInWords are the families that a filter passes, without one those that changed. A page
// has a column for each snapshot and what stayed; a ticket has room for neither.
func (c *Case) familiesInWords() document.TextOnly {
	var rows [][]string
	add := func(all []CaseFamily) {
		for _, f := range all {
			if still := f.Verdict == string(analysis.Stable) || f.Verdict == string(analysis.TooFewPoints); c.Applied != "" || !still {
				rows = append(rows, []string{f.Handle, f.Name.Text(), f.Process, f.Kind, strings.Join(f.Counts, " "), verdictWord(f.Verdict)})
			}
		}
	}
	for _, u := range c.Units {
		add(u.Families)
	}
	add(c.Families)
	var out document.Section
	out.Title = document.Words("Families")
	out.Paragraph(c.Applied)
	out.Table(6, []string{"", "Family", "Process", "Kind", "Counts", "Verdict"}, rows)
	if len(rows) > 0 && c.MoreFamilies > 0 {
		out.Paragraph(wording.PagePlural(int64(c.MoreFamilies), "more family is", "more families are") + " in the JSON.")
	}
	return document.TextOnly{Blocks: document.Blocks{out}}
}
