package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

var limitHeads = [...]string{"Limit of", "Used", "Limit", "Share", "Per hour (95 %)", "Time left (95 %)"}

// words are the case as text for a ticket.
func (c *Case) words() document.Document {
	var m document.Document
	m.Heading(1, c.Headline)
	if c.Answer != nil {
		c.Answer.write(&m)
	} else {
		m.Paragraph(c.Lead)
	}
	if c.Paging != nil {
		m.Paragraph(c.Paging.Text + ". " + c.Paging.Note)
	}
	for _, s := range c.Short {
		m.Paragraph(capital(s.Verdict) + ", " + s.Process + ": " + s.Title + ".")
		for _, p := range []Pair{{"How sure", s.Sure}, {"What to do", s.Todo}} {
			if p.Value != "" {
				m.Item(p.Name + ": " + p.Value)
			}
		}
		m.Gap()
	}
	m.Paragraph(c.ShortNote)
	m.Paragraph(c.About)
	if len(c.Columns) > 0 {
		head := []string{"Snapshot"}
		times := []string{"Taken at (UTC)"}
		for _, k := range c.Columns {
			label := k.Label
			if k.Restart != "" {
				label += " (restarted: " + k.Restart + ")"
			}
			head = append(head, label)
			times = append(times, strings.TrimSpace(k.Day+" "+k.Clock))
		}
		rows := [][]string{times}
		for _, g := range c.Groups {
			for _, r := range g.Rows {
				rows = append(rows, append([]string{g.Process + ", " + strings.ToLower(r.Name)}, r.Cells...))
			}
		}
		m.Table(1, head, rows)
		m.Paragraph(c.ColumnNote)
		for _, o := range c.Others {
			m.Item(o.Process + ", " + o.About + ": " + o.Course)
		}
	}
	told := len(c.Findings) == 0 && len(c.SetAside) > 0
	if len(c.Findings) > 0 || told {
		m.Heading(2, "Findings")
	}
	if told {
		m.Paragraph(c.Rising)
		for _, q := range c.Quiet {
			m.Paragraph(q)
		}
	}
	for _, f := range c.Findings {
		m.Heading(3, f.Number+". "+f.Title+" ("+f.Verdict+", "+f.Process+")")
		f.write(&m)
		for _, held := range f.Behind {
			m.Heading(4, held.Number+". Behind it: "+held.Title+" ("+held.Verdict+", "+held.Process+")")
			held.write(&m)
		}
	}
	for _, l := range c.Listed {
		m.Item(l.Number + ". " + l.Title + " (" + l.Verdict + ", " + l.Process + ")")
	}
	if c.ListedNote != "" {
		m.Gap()
		m.Paragraph(c.ListedNote)
	}
	for _, a := range c.SetAside {
		m.Item("marked benign: " + a.Title + " (" + a.Process + "). " + a.Text)
	}
	m.Gap()
	for _, d := range c.Doubts {
		m.Paragraph(openWords + d.Name + ": " + d.Value)
	}
	c.listLocks(&m)
	writeContention(&m, c.Contention)
	c.listObjects(&m)
	if len(c.Limits) > 0 {
		m.Heading(2, "Limits")
		var rows [][]string
		for _, l := range c.Limits {
			rows = append(rows, []string{l.Process + ", " + l.What, l.Used, l.Bound, l.Share, l.Rate, l.Left})
		}
		m.Table(1, limitHeads[:], rows)
	}
	for _, q := range c.Quiet {
		if !told {
			m.Paragraph(q)
		}
	}
	for _, x := range c.Context {
		m.Heading(2, x.Process+": "+wording.Lower(seenWords))
		for _, t := range x.Thresholds {
			m.Item(t.Name + ": " + t.Value)
		}
		m.Gap()
		m.Paragraph(x.Healthy)
	}
	c.listFamilies(&m)
	if c.ProblemCount > 0 {
		m.Heading(2, "Problems")
		for _, p := range c.Problems {
			m.Item(problemLine(p))
		}
		if c.MoreProblems > 0 {
			m.Item(fmt.Sprintf("and %d more kinds of problems", c.MoreProblems))
		}
		m.Gap()
	}
	return m
}

// write adds what stands below the heading of a finding.
func (f *CaseFinding) write(m *document.Document) {
	m.Paragraph(f.Text)
	m.Paragraph(f.TriageText)
	m.Paragraph(f.Memory)
	for _, e := range append(slices.Clone(f.Evidence), f.MoreEvidence...) {
		m.Item(e.Name + ": " + e.Value)
	}
	if len(f.Versions) > 0 {
		m.Gap()
		m.Table(len(report.VersionHead()), report.VersionHead(), f.Versions)
	}
	m.Add(stackBlocks(f.Stack)...)
	writeShares(m, f.Shares)
	writeKnown(m, f.Advice, f.Known, f.KnownNote)
	if f.Next != "" {
		m.Paragraph(report.DoThis + ": " + f.Next)
	}
}

// maxListed bounds the families in a text, which is read in a ticket.
const maxListed = 60

// listFamilies adds the families that a filter passes, without one those that changed.
func (c Case) listFamilies(m *document.Document) {
	var rows [][]string
	more := c.MoreFamilies
	add := func(all []CaseFamily) {
		for _, f := range all {
			still := f.Verdict == string(analysis.Stable) || f.Verdict == string(analysis.TooFewPoints)
			switch {
			case c.Applied == "" && still:
			case len(rows) == maxListed:
				more++
			default:
				rows = append(rows, []string{f.Handle, f.Name.Text(), f.Process, f.Kind, strings.Join(f.Counts, " "), f.Verdict})
			}
		}
	}
	for _, u := range c.Units {
		add(u.Families)
	}
	add(c.Families)
	if len(rows) == 0 && c.Applied == "" {
		return
	}
	m.Heading(2, "Families")
	m.Paragraph(c.Applied)
	if len(rows) > 0 {
		m.Table(6, []string{"", "Family", "Process", "Kind", "Counts", "Verdict"}, rows)
	}
	if len(rows) == maxListed && more > 0 {
		m.Paragraph(wording.PagePlural(int64(more), "more family is", "more families are") + " left out here.")
	}
}
