package view

import (
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Page is the page that compares two snapshots.
func (d Diff) Page() Page {
	out := Page{Shell: d.Shell}
	out.Shell.Captured = d.Captured()
	b := &out.Body
	b.Title(d.Headline)
	if d.A.ID == "" {
		return out
	}
	b.Add(d.summary()...)
	for _, m := range d.Minds {
		b.Mind(m)
	}
	if d.Why != nil {
		b.Add(document.PageOnly{Blocks: document.Blocks{d.Why.section()}}) // it answers a click
	}
	if len(d.Advice) > 0 {
		b.Add(d.advice())
	}
	if d.Frozen {
		b.Say("note", d.Applied)
	} else {
		b.Add(d.tools(), d.others(), applied(d.Applied))
	}
	b.Add(document.Heading{Level: 2, Look: document.Hidden, Text: document.Words("Families")})
	b.Say("empty", d.Empty)
	var note document.Text
	if d.Figures != "" && !d.Frozen {
		note = document.Text{document.Marked(document.Strong, "A and B: "+d.Figures+"; Δ in members."), document.Plain(" ")}
	}
	b.Add(document.PageOnly{Blocks: document.Blocks{ // it explains the small lines
		document.Paragraph{Look: "note cap", Text: append(note, document.Plain("What grew first, then new, unchanged, shrunk, gone. Small lines: own scale from 0, one step per snapshot; the band is A to B."))},
	}})
	for i := range d.Sections {
		b.Add(d.section(&d.Sections[i])...)
	}
	if len(d.Objects) > 0 {
		b.Add(d.objects())
	}
	b.Add(document.Drawing{Chart: d.Twin})
	return out
}

// summary is A and B with what came and went between them.
func (d *Diff) summary() document.Blocks {
	sides := document.Blocks{d.side("A", &d.A)}
	if d.Swap != "" {
		sides.Add(document.Text{{URL: d.Swap, Text: "⇄", Link: &document.Link{Look: "btn quiet", Label: "Swap A and B", Key: "s"}}})
	}
	sides.Add(d.side("B", &d.B))
	if d.HasTotal {
		sides.Add(document.Group{Look: "abcell delta", Blocks: document.Blocks{document.Group{Blocks: document.Blocks{document.Text{
			document.Marked(document.Muted, "Δ"), {Look: document.NewLine}, document.Made("big", deltaSpan(d.Total, true)), document.Plain(" "), document.Marked(document.Soft, d.Percent),
		}}}}})
	}
	line := document.Group{Look: "abline", Blocks: document.Blocks{document.PageOnly{Blocks: sides}, d.sidesInWords()}}
	flow := document.Group{Look: "flow"}
	if d.Summary == nil {
		flow.Add(document.Paragraph{Text: document.Words(d.Unfollowed)})
	} else {
		counted := func(look document.Look, figure, word string) document.Span {
			return document.Made(look, document.Marked(document.Figured, figure), document.Plain(" "+word))
		}
		text := document.Text{counted("word", d.Ended, "ended"), counted("word", d.Survive, "survived"), counted("word r", d.Born, "born")}
		flow.Add(document.Drawing{Chart: *d.Summary}, document.Paragraph{Text: append(text, pictureLink(d.Summary.ID, "This bar")...)})
	}
	line.Add(flow)
	if len(d.Totals) < 2 {
		return document.Blocks{line}
	}
	totals := document.List{Look: "totals", Label: "Totals of A and B"}
	for _, t := range d.Totals {
		text := document.Text{document.Plain(t.Kind + " "), document.Marked(document.Figured, t.A), document.Plain(" → "), document.Marked(document.Figured, t.B), document.Plain(" ")}
		if t.Known {
			text = append(text, deltaSpan(t.Delta, true))
		}
		totals.Items = append(totals.Items, document.Item{Blocks: document.Blocks{text}})
	}
	return document.Blocks{line, totals}
}

// sidesInWords are A and B with process, day and case, which stand in the frame of a page.
func (d *Diff) sidesInWords() document.TextOnly {
	terms := document.Terms{}
	for _, p := range []Pair{{"A", d.A.words(d.Unit)}, {"B", d.B.words(d.Unit)}} {
		terms.Rows = append(terms.Rows, p.term())
	}
	if d.HasTotal {
		terms.Rows = append(terms.Rows, Pair{"Δ", wording.Signed(d.Total) + " " + d.Unit + " " + d.Percent}.term())
	}
	return document.TextOnly{Blocks: document.Blocks{terms}}
}

func (s *DiffSide) words(unit string) string {
	return s.Process + " " + s.Label + ", " + s.Full + " UTC" + ofCase(s.Case) + ", " + s.Count + " " + unit
}

// side is one of both snapshots.
func (d *Diff) side(mark string, s *DiffSide) document.Group {
	text := document.Text{
		document.Made(document.Strong, document.LinkTo(s.URL, s.Label)), document.Plain(" "), {Look: document.Muted, Text: s.Clock, Title: s.Full},
		{Look: document.NewLine}, document.Marked("big", s.Count), document.Plain(" " + d.Unit),
	}
	if s.Case != nil {
		text = append(text, document.Span{Look: document.NewLine}, document.Marked(document.Muted, "of"), document.Plain(" "), document.LinkTo(s.Case.URL, s.Case.Text))
	}
	return document.Group{Look: "abcell", Blocks: document.Blocks{document.Text{document.Marked(document.Side, mark)}, document.Group{Blocks: document.Blocks{text}}}}
}

// advice returns what the findings of the series say of what grows, folded where the case is at
// hand.
func (d *Diff) advice() document.Fold {
	title := document.Words("What grows here, and what to do")
	out := document.Fold{Look: "todo", Open: d.Frozen, Summary: title, Rest: true}
	out.Add(document.TextOnly{Blocks: document.Blocks{document.Heading{Level: 2, Text: title}}}) // that of the findings in it
	out.Say("note", "By "+d.AdviceOf+"; the members between A and B are in the tables below.")
	for i := range d.Advice {
		a := &d.Advice[i]
		box := document.Group{Look: "box", Role: "section"}
		box.Add(document.Heading{Level: 3, Text: document.Text{document.LinkTo(a.Name.URL, a.Name.Text()), document.Plain(" "), document.Marked(document.Verdict, a.Verdict)}})
		for _, p := range a.Facts {
			box.Add(labelled(p.Name, p.Value))
		}
		box.Add(stackBlocks(a.Stack)...)
		for _, p := range a.Todo {
			box.Add(labelled(p.Name, p.Value))
		}
		out.Add(box)
	}
	return out
}

func (d *Diff) tools() document.Group {
	out := document.Group{Look: "tools", Blocks: d.Box.Blocks()}
	out.Add(tabBlocks("Kind", d.Tabs)...)
	out.Add(tabBlocks("Figures of A and B", d.Shows)...)
	out.Add(tabBlocks("Figures divided", d.Pers)...)
	return out
}

// others choose other snapshots, and the baseline.
func (d *Diff) others() document.Group {
	out := document.Group{Look: "withs"}
	if len(d.Choices) > 0 {
		form := document.Form{Look: "compare", Action: "/diff-pick"}
		form.Add(document.Hide("case", d.CaseID))
		form.Add(pickTwo(d.A.ID, d.B.ID, d.Choices, d.MoreChoices)...)
		form.Add(document.Press{Look: "btn", Type: "submit", Text: "Compare"})
		line := document.Line{Look: "act"}
		if d.Several != "" {
			line.Add(document.Text{document.LinkButton("btn", d.Several, "Several snapshots side by side")})
		}
		if d.Elsewhere != "" {
			line.Add(document.Text{document.LinkButton("btn", d.Elsewhere, "A snapshot of another case as A")})
		}
		out.Add(document.Fold{Look: "with", Summary: document.Words("Compare with…"), Blocks: document.Blocks{form, line}})
	}
	if d.Baseline != nil {
		out.Add(d.baseline())
	}
	return out
}

// pickTwo are the select boxes of A and B.
func pickTwo(a, b string, groups []ChoiceGroup, more bool) document.Blocks {
	out := document.Blocks{document.Text{document.Made("word", document.Marked(document.Side, "A"))}}
	out.Add(chooseBlocks("a", "A", a, groups, more, "A")...)
	out.Add(document.Text{document.Made("word", document.Marked(document.Side, "B"))})
	out.Add(chooseBlocks("b", "B", b, groups, more, "B")...)
	return out
}

// baseline chooses the baseline of the series.
func (d *Diff) baseline() document.Fold {
	b := d.Baseline
	form := document.Form{Look: "act", Post: true, Action: "/cases/" + d.CaseID + "/baseline"}
	form.Add(document.Hide("series", b.Series), document.Hide("back", b.Back))
	form.Add(keyBlocks(b.NeedsKey, "baseline")...)
	if b.A != "" {
		form.Add(document.Press{Look: "btn", Name: "snapshot", Value: b.A, Text: "Use A (" + d.A.Label + ") as the baseline"})
	}
	if b.B != "" {
		form.Add(document.Press{Look: "btn", Name: "snapshot", Value: b.B, Text: "Use B (" + d.B.Label + ")"})
	}
	if b.Chosen {
		form.Add(document.Press{Look: "btn quiet", Name: "snapshot", Text: "Back to the first snapshot"})
	}
	return document.Fold{Look: "with", Summary: document.Words("Baseline: " + b.Text), Blocks: document.Blocks{form}}
}

func (d *Diff) section(s *DiffSection) document.Blocks {
	title := document.Text{document.Marked(document.Strong, s.Title), document.Plain(" "), document.Marked(document.Muted, s.Note)}
	switch {
	case s.Name == string(diff.Unchanged) && !s.Empty(): // a ticket is about what changed
		return document.Blocks{document.PageOnly{Blocks: d.opening(s, title)}, document.TextOnly{Blocks: document.Blocks{document.Paragraph{Text: title}}}}
	case s.Empty():
		return document.Blocks{document.Paragraph{Look: "dsec none", Text: title}}
	}
	return d.opening(s, title)
}

// opening is a section with its families, folded or not.
func (d *Diff) opening(s *DiffSection, title document.Text) document.Blocks {
	id := "h-" + s.Name
	if s.Folded {
		return document.Blocks{document.Fold{Look: "dsec", SummaryID: document.ID(id), Summary: title, Blocks: d.table(s)}}
	}
	out := document.Group{Role: "section", Look: "dsec", LabelledBy: document.ID(id)}
	out.Add(document.Heading{Level: 3, ID: document.ID(id), Text: title})
	out.Add(d.table(s)...)
	return document.Blocks{out}
}

const diffColumns = 11

func (d *Diff) table(s *DiffSection) document.Blocks {
	out := document.Table{Look: "data diff", Label: s.Title + " families, A to B", Caption: s.Title + " families from " + d.A.Label + " to " + d.B.Label, Head: sortCells(d.Heads)}
	if d.Figures != "" {
		out.Look += " chg-ab"
	}
	for i := range s.Units {
		u := &s.Units[i]
		out.Parts = append(out.Parts, document.Part{Look: "unit", Rows: append([]document.Row{u.band()}, d.rows(u.Rows)...)})
	}
	alone := document.Part{}
	if len(s.Units) > 0 && len(s.Rows) > 0 {
		alone.Rows = append(alone.Rows, document.Row{Look: "u plain", Cells: []document.Cell{{
			Group: true, Span: diffColumns, Look: "fam", Text: document.Text{document.Marked(document.Strong, "alone"), document.Plain(" "), document.Marked(document.Muted, "no constant ratio to another family")},
		}}})
	}
	alone.Rows = append(alone.Rows, d.rows(s.Rows)...)
	out.Parts = append(out.Parts, alone)
	if s.More == "" {
		return document.Blocks{out}
	}
	return document.Blocks{out, document.Paragraph{Look: "note left", Text: moreText(s.More, s.MoreURL)}}
}

// band is the row above the families of a unit; its box folds them.
func (u *DiffUnit) band() document.Row {
	name := document.Made("word", document.Span{Look: document.Unit, Text: u.ID, Title: u.Lead}, document.Plain(" "), document.Marked(document.Muted, u.Families), document.Plain(" "+u.Each))
	fold := document.Label{Look: "check", Blocks: document.Blocks{document.Field{Type: "checkbox", Checked: true}, document.Text{name}}}
	judged := document.Text{document.Marked(document.Verdict, u.Verdict)}
	if u.Triage != "" {
		judged = append(judged, document.Marked(document.Mark, u.Triage))
	}
	return document.Row{Look: "u", Cells: []document.Cell{
		{Group: true, Span: 2, Look: "fam", Blocks: document.Blocks{fold}},
		figureCell("num", "A", u.A, u.SignA), figureCell("num", "B", u.B, u.SignB), {Look: "num", Name: "Δ", Text: document.Text{deltaSpan(u.Delta, u.Known)}},
		{Span: 5, Look: "rest"}, {Look: "ver", Text: judged},
	}}
}

func figureCell(look document.Look, name, text string, sign int) document.Cell {
	return document.Cell{Look: look, Name: name, Text: document.Text{figureSpan(text, sign)}}
}

// rows are families in A and B, each with what it shows when it is opened.
func (d *Diff) rows(all []DiffRow) []document.Row {
	out := make([]document.Row, 0, len(all))
	for i := range all {
		r := &all[i]
		out = append(out, r.row())
		if r.Detail != nil {
			out = append(out, d.opened(r))
		}
	}
	return out
}

// row is one family in A and B, closed.
func (r *DiffRow) row() document.Row {
	name := r.Name.inUnit(r.Unit)
	if r.Toggle != "" {
		link := document.Span{URL: r.Toggle, Text: "▸", Link: &document.Link{ID: document.ID(r.Anchor + "-o"), Look: "tw", Expanded: "false", Label: "Open " + r.Name.Text()}}
		if r.Open {
			link.Text, link.Link.Expanded, link.Link.Label = "▾", "true", "Close "+r.Name.Text()
		}
		name = append(document.Blocks{document.Text{link}}, name...)
	}
	judged := judgedText(r.Verdict, r.Triage)
	if r.Fate != "" {
		judged[0] = document.Made("v later", document.Marked(document.Icon, "×"), document.Plain(r.Fate))
	}
	out := document.Row{ID: document.ID(r.Anchor), Cells: []document.Cell{
		{Look: "fam", Blocks: name, Plain: r.Unit + " " + r.Name.Text()}, {Look: "sp", Blocks: document.Blocks{document.Drawing{Chart: r.Spark}}},
		figureCell("num", "A", r.A, r.SignA), figureCell("num", "B", r.B, r.SignB), {Look: "num", Name: "Δ", Text: document.Text{deltaSpan(r.Delta, !r.Unknown)}},
		figureCell("num soft", "%", r.Percent, 0), figureCell("num", "New", r.New, 0), figureCell("num", "Gone", r.Gone, 0), figureCell("num", "Survived", r.Survived, 0),
		figureCell("num soft", "Oldest wait", r.Wait, 0), {Look: "ver", Text: judged},
	}}
	if r.Open {
		out.Look = "isopen"
	}
	return out
}

// opened returns what an open row shows, and what the reader of a frozen page opens.
func (d *Diff) opened(r *DiffRow) document.Row {
	out, detail := document.Row{Look: "plain open"}, d.detail(r)
	if !r.Open {
		summary := "Attributes and evidence"
		if r.Detail.HasStacks {
			summary = "Stacks, states and waits"
		}
		out.Look, detail = "plain toopen", document.Fold{Look: "more", Summary: document.Words(summary), Rest: true, Blocks: document.Blocks{detail}}
	}
	out.Cells = []document.Cell{{Span: diffColumns, Blocks: document.Blocks{detail}}}
	return out
}

// objects are the kinds of objects of which A and B have different numbers.
func (d *Diff) objects() document.Section {
	table := document.Table{Look: "data objs", Label: "Objects, A to B", Caption: "Kinds of objects that changed from A to B", Head: heads("Objects", "Each", "A*", "B*", "Δ*", "Born*", "Ended*"), Parts: []document.Part{{}}}
	for _, o := range d.Objects {
		name := document.Span{Look: document.Function, Text: o.Name.Path + o.Name.Name, URL: o.URL, Link: quietLink}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Look: "fam", Title: o.Name.Full, Text: document.Text{name}}, {Text: document.Words(o.Each)},
			{Look: "num", Text: document.Words(o.A)}, {Look: "num", Text: document.Words(o.B)}, {Look: "num", Text: document.Text{deltaSpan(o.Delta, true)}},
			{Look: "num", Text: document.Words(o.Born)}, {Look: "num", Text: document.Words(o.Ended)},
		}})
	}
	out := document.NewSection("h-o", "Objects", "Kinds that changed from A to B: things of the program with all their goroutines, proven by identity.", table)
	out.Say("note", d.ObjectsNote)
	return out
}
