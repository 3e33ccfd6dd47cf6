package view

import (
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Page is the page with any number of snapshots side by side.
func (c Compare) Page() Page {
	out := Page{Shell: c.Shell}
	out.Shell.Captured = c.Captured()
	d := &out.Body
	d.Title(c.Headline)
	for _, m := range c.Minds {
		d.Mind(m)
	}
	if c.Frozen {
		d.Say("note", c.Applied)
	} else {
		d.Add(c.tools(), c.picker(), applied(c.Applied))
	}
	if c.LeftOut != "" {
		d.Mind(c.LeftOut)
	}
	d.Add(document.Heading{Level: 2, Look: document.Hidden, Text: document.Words("Families")})
	d.Say("empty", c.Empty)
	var note document.Text
	if c.Figures != "" && !c.Frozen {
		note = document.Text{document.Marked(document.Strong, "Figures: "+c.Figures+"; Δ in members."), document.Plain(" ")}
	}
	d.Add(document.Paragraph{Look: "note cap", Text: append(note, document.Plain("Δ is the last complete figure minus the first. A dash says that the kind was not captured, ≥ that the dump is cut."))})
	if len(c.Heads) > 0 {
		d.Add(c.table())
	}
	return out
}

func (c *Compare) tools() document.Group {
	out := document.Group{Look: "tools", Blocks: c.Box.Blocks()}
	out.Add(tabBlocks("Kind", c.Tabs)...)
	out.Add(tabBlocks("Figures", c.Shows)...)
	out.Add(tabBlocks("Figures divided", c.Pers)...)
	return out
}

// picker chooses the snapshots of the columns.
func (c *Compare) picker() document.Group {
	form := document.Form{Action: "/compare"}
	for _, h := range c.Hidden {
		form.Add(document.Hide(h.Name, h.Value))
	}
	for _, g := range c.Picks {
		picks := document.Group{Look: "picks"}
		for _, p := range g.Picks {
			picks.Add(document.Label{Blocks: document.Blocks{document.Field{Type: "checkbox", Name: "s", Value: p.Value, Checked: p.Checked}, document.Words(p.Text)}})
		}
		form.Add(document.Fieldset{LegendLook: "h4", Legend: document.Words(g.Name), Blocks: document.Blocks{picks}})
	}
	form.Say("note", c.PicksNote)
	form.Add(document.Line{Look: "act", Blocks: document.Blocks{
		document.Press{Look: "btn", Type: "submit", Text: "Show these"},
		document.Text{document.LinkButton("btn quiet", c.Elsewhere, "Add a snapshot of another case")},
	}})
	return document.Group{Look: "withs", Blocks: document.Blocks{document.Fold{Look: "with", Open: len(c.Heads) < 2, Summary: document.Words("Snapshots…"), Blocks: document.Blocks{form}}}}
}

func (c *Compare) table() document.Table {
	out := document.Table{Look: "data many-s", Label: "Families over the snapshots", Caption: "Families with their figures in each snapshot", Head: []document.Cell{c.Name.cell()}}
	for i := range c.Heads {
		out.Head = append(out.Head, c.Heads[i].cell())
	}
	out.Head = append(out.Head, c.Delta.cell(), document.Cell{Words: "Verdict"})
	totals := document.Part{}
	for _, t := range c.Totals {
		row := document.Row{Look: "plain", Cells: []document.Cell{{Header: true, Text: document.Words(t.Name)}}}
		for _, cell := range t.Cells {
			row.Cells = append(row.Cells, document.Cell{Text: document.Text{document.Marked(document.Strong, cell.Text)}})
		}
		totals.Rows = append(totals.Rows, document.Row{Look: row.Look, Cells: append(row.Cells, document.Cell{}, document.Cell{})})
	}
	out.Parts = append(out.Parts, totals)
	wide := len(c.Heads) + 2
	for i := range c.Sections {
		s := &c.Sections[i]
		part := document.Part{Rows: []document.Row{{Look: "sec plain", Cells: []document.Cell{
			{Group: true, ID: document.ID("h-" + s.Name), Text: document.Text{document.Plain(s.Title + " "), document.Marked("sub", s.Note)}}, {Span: wide},
		}}}}
		for k := range s.Rows {
			part.Rows = append(part.Rows, s.Rows[k].row())
		}
		if s.More != "" {
			part.Rows = append(part.Rows, document.Row{Look: "plain none", Cells: []document.Cell{{Header: true, Look: document.Muted, Text: moreText(s.More, s.MoreURL)}, {Span: wide}}})
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

// moreText says what a list leaves out, and leads to all of it.
func moreText(more, url string) document.Text {
	if url == "" {
		return document.Words(more)
	}
	return document.Text{document.Plain(more + " "), document.LinkTo(url, "Show all")}
}

func (h *CompareHead) cell() document.Cell {
	text := document.Text{document.LinkTo(h.URL, h.Label)}
	switch arrow := h.Order.Arrow; {
	case h.Order.URL != "":
		if arrow == "" {
			arrow = "↕"
		}
		text = append(text, document.Span{URL: h.Order.URL, Text: arrow, Link: &document.Link{Look: "quiet", Label: "Sort by " + h.Order.Text}})
	case arrow != "":
		text = append(text, document.Marked(document.Glyph, arrow))
	}
	text = append(text, document.Marked("sub", h.Clock))
	if h.Note != "" {
		text = append(text, document.Marked("sub", h.Note))
	}
	return document.Cell{Look: document.Figured, Title: h.Full, Plain: strings.TrimSpace(h.Label + " " + h.Note), Sort: document.ID(h.Order.Sort), Text: text}
}

// row is one family over the columns.
func (r *CompareRow) row() document.Row {
	out := document.Row{Cells: make([]document.Cell, 0, len(r.Cells)+3)}
	out.Cells = append(out.Cells, document.Cell{Header: true, Blocks: r.Name.inUnit(r.Unit), Plain: r.Unit + " " + r.Name.Text()})
	for _, c := range r.Cells {
		out.Cells = append(out.Cells, document.Cell{Text: document.Text{figureSpan(c.Text, c.Sign)}})
	}
	return document.Row{Cells: append(out.Cells, document.Cell{Text: document.Text{deltaSpan(r.Delta, r.Compared)}}, document.Cell{Look: "ver", Text: judgedText(r.Verdict, r.Triage)})}
}

// inUnit is the name of a family in a table, behind its unit.
func (f *FamilyName) inUnit(unit string) document.Blocks {
	out := make(document.Blocks, 0, 3)
	if unit != "" {
		out.Add(document.Text{document.Marked(document.Chip, unit)})
	}
	return append(out, f.titleBlock(), f.byBlock())
}

// figureSpan is a figure; one with a sign is a change.
func figureSpan(text string, sign int) document.Span {
	switch {
	case sign != 0:
		return document.Span{Look: document.Change, Text: text, Sign: sign}
	case text == "n/a":
		return document.Marked(document.Muted, text)
	}
	return document.Plain(text)
}

// deltaSpan is a difference, n/a where it is not known.
func deltaSpan(n int, known bool) document.Span {
	switch {
	case !known:
		return document.Marked(document.Muted, "n/a")
	case n == 0:
		return document.Marked(document.Change, "0")
	}
	return document.Span{Look: document.Change, Text: wording.Signed(n), Sign: n}
}

// judgedText is a verdict with what a person decided.
func judgedText(verdict, triage string) document.Text {
	out := document.Text{document.Marked(document.Verdict, verdict)}
	if verdict == "" {
		out[0] = document.Marked(document.Muted, "not judged")
	}
	if triage != "" {
		out = append(out, document.Plain(" "), document.Marked(document.Mark, triage))
	}
	return out
}
