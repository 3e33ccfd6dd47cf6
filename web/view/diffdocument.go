package view

import (
	"strings"

	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// words are the comparison as text for a ticket.
func (d *Diff) words() document.Document {
	var m document.Document
	m.Heading(1, d.Headline)
	for _, w := range d.Minds {
		m.Paragraph("Mind: " + w)
	}
	if d.Dropped != "" {
		m.Paragraph(d.Dropped)
	}
	if d.Applied != "" {
		m.Paragraph(d.Applied)
	}
	if d.A.ID != "" {
		m.Item("A: " + d.A.Process + " " + d.A.Label + ", " + d.A.Full + " UTC" + ofCase(d.A.Case))
		m.Item("B: " + d.B.Process + " " + d.B.Label + ", " + d.B.Full + " UTC")
		m.Gap()
	}
	if len(d.Totals) > 0 {
		var rows [][]string
		for _, t := range d.Totals {
			delta := "n/a"
			if t.Known {
				delta = wording.Signed(t.Delta)
			}
			rows = append(rows, []string{t.Kind, t.A, t.B, delta})
		}
		m.Table(1, []string{"Total", "A", "B", "Δ"}, rows)
	}
	if len(d.Advice) > 0 {
		m.Heading(2, adviceTitle+", by "+d.AdviceOf)
	}
	for _, a := range d.Advice {
		m.Heading(3, a.Name.Text()+" ("+a.Verdict+")")
		for _, p := range a.Facts {
			m.Item(p.Name + ": " + p.Value)
		}
		m.Gap()
		m.Add(stackBlocks(a.Stack)...)
		for _, p := range a.Todo {
			m.Item(p.Name + ": " + p.Value)
		}
		m.Gap()
	}
	for _, s := range d.Sections {
		m.Heading(2, s.Title+": "+s.Note)
		if s.Name == string(diff.Unchanged) || s.Empty() {
			continue
		}
		for _, u := range s.Units {
			delta := "n/a"
			if u.Known {
				delta = wording.Signed(u.Delta)
			}
			m.Item(strings.TrimSpace("unit "+u.ID+", "+u.Lead+", "+u.Families+" "+u.Each) + ": A " + u.A + ", B " + u.B + ", Δ " + delta)
		}
		if len(s.Units) > 0 {
			m.Gap()
		}
		var rows [][]string
		for _, r := range s.all() {
			delta := wording.Signed(r.Delta)
			if r.Unknown {
				delta = "n/a"
			}
			rows = append(rows, []string{r.Name.Text(), r.A, r.B, delta, r.Percent, r.New, r.Gone, r.Survived, r.Wait, r.verdictOf()})
		}
		m.Table(1, []string{"Family", "A", "B", "Δ", "%", "New", "Gone", "Survived", "Oldest wait", "Verdict"}, rows)
		for _, r := range s.all() {
			if r.Detail != nil {
				m.Heading(3, r.Name.Text())
				m.Paragraph(r.Detail.Lead)
				m.Paragraph(r.Detail.Triage)
				for _, e := range r.Detail.Evidence {
					m.Item(e.Name + ": " + e.Value)
				}
				m.Gap()
				if r.Detail.HasStacks {
					m.Fence(r.Detail.text())
				}
			}
		}
	}
	d.listObjects(&m)
	return m
}

// text writes the stack pair as a unified diff.
func (d *DiffDetail) text() []string {
	var out []string
	one := func(mark string, f *FrameLine, creator bool) {
		if f == nil {
			return
		}
		s := mark + " " + f.Func.Full
		if creator {
			s = mark + " created by " + f.Func.Full
		}
		if f.Loc != "" {
			s += "  " + f.Loc
		}
		out = append(out, s)
	}
	for _, run := range d.Stack {
		for _, l := range run.Lines {
			switch l.Mark {
			case "same":
				one(" ", l.A, l.Creator)
			case "chg":
				one("~", l.B, l.Creator)
			default:
				one("-", l.A, l.Creator)
				one("+", l.B, l.Creator)
			}
		}
	}
	return out
}

// verdictWord is a verdict in words: "too_few_points" gives "too few points".
func verdictWord(v string) string {
	if v == "" {
		return "not judged"
	}
	return strings.ReplaceAll(v, "_", " ")
}
