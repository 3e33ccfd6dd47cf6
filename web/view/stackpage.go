package view

import (
	"leakdiff/analysis/say/document"
)

// detail is a family in A and B: its stacks or attributes, states, waits and evidence.
func (d *Diff) detail(r *DiffRow) document.Block {
	t := r.Detail
	out := document.Group{Look: "detail"}
	out.Add(d.detailHead(r))
	if t.HasStacks {
		var sides document.PageOnly
		switch d.Stacks {
		case "split":
			sides.Add(t.split("stacks wide-grid both"))
		case "unified":
			sides.Add(t.unified("stacks uni"))
		default:
			sides.Add(t.split("stacks wide-grid"), t.unified("stacks uni narrow-only"))
		}
		key := document.Text{
			document.Made("word", document.Marked(document.OnlyA, "−"), document.Plain(" only in A")), document.Made("word", document.Marked(document.OnlyB, "+"), document.Plain(" only in B")),
			document.Made("word", document.Marked(document.Strong, "~"), document.Plain(" same function, other line")), document.Marked("word", "leaf on top"),
		}
		if t.Elided != "" {
			key = append(key, document.Marked("word", t.Elided))
		}
		sides.Add(document.Paragraph{Look: "key", Text: key})
		// A text has no columns for A and B: the pair is a unified diff.
		out.Add(sides, document.TextOnly{Blocks: document.Blocks{document.Code{Lines: t.text()}}})
	} else {
		out.Add(attributeTable(t.Attributes)...)
	}
	trio := document.Group{Look: "trio"}
	if t.HasStacks || t.BarA != nil || t.BarB != nil {
		trio.Add(t.states())
	}
	if t.HasWaits || t.Waits != nil {
		waits := part("Waiting at least, minutes, at B")
		if t.Waits != nil {
			waits.Add(document.Drawing{Chart: *t.Waits}, pictureLink(t.Waits.ID, "Waits"))
		} else {
			waits.Say(document.Muted, "No member shows a wait of a minute or more.")
		}
		trio.Add(waits)
	}
	if len(t.Evidence) > 0 {
		evidence := part("Evidence")
		for _, e := range t.Evidence {
			evidence.Add(labelled(e.Name, e.Value))
		}
		trio.Add(evidence)
	}
	out.Add(trio)
	return out
}

// part is a small section.
func part(title string) document.Group {
	return document.Group{Role: "section", Blocks: document.Blocks{document.Heading{Level: 4, Look: "h4", Text: document.Words(title)}}}
}

func (d *Diff) detailHead(r *DiffRow) document.Group {
	t := r.Detail
	out := document.Group{Look: "dhead"}
	out.Add(document.Paragraph{Text: document.Words(t.Lead + " " + t.Triage)})
	for _, l := range []Link{{"Open family", t.FamilyURL}, {"Why one family?", t.Why}, {"Why not the nearest?", t.WhyNot}} {
		if l.URL != "" {
			out.Add(document.Text{document.LinkButton("btn quiet", l.URL, l.Text)})
		}
	}
	if t.HasStacks && d.Split != "" {
		// Without a choice wide pages split and narrow ones unify; u changes to the other.
		split := document.Tab{Text: "Split", URL: d.Split, Current: d.Stacks == "split"}
		unified := document.Tab{Text: "Unified", URL: d.Unified, Current: d.Stacks == "unified"}
		other := &unified
		if unified.Current {
			other = &split
		}
		other.Key, other.KeyLabel = "u", "split or unify the stacks"
		out.Add(document.Tabs{Label: "Stacks", List: []document.Tab{split, unified}})
	}
	out.Add(pictureLink(r.Spark.ID, "The line of this family"))
	return out
}

func (t *DiffDetail) states() document.Group {
	out := part("States")
	if t.BarA == nil && t.BarB == nil {
		out.Say(document.Muted, "No state was printed.")
		return out
	}
	table := document.Table{Look: "mini-t", Caption: "States in A and B", Unseen: true, Parts: []document.Part{{}}}
	row := func(side string, states []State, bar document.Blocks) {
		words := stateText(states)
		if len(states) == 0 {
			words = document.Text{document.Marked(document.Muted, "none")}
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Text: document.Text{document.Marked(document.Side, side)}}, {Blocks: bar}, {Text: words},
		}})
	}
	var a, b document.Blocks
	if t.BarA != nil {
		a.Add(document.Drawing{Chart: *t.BarA})
	}
	if t.BarB != nil {
		b.Add(document.Drawing{Chart: *t.BarB})
	}
	row("A", t.StatesA, a)
	row("B", t.StatesB, b)
	out.Add(table)
	return out
}

// split has A to the left and B to the right.
func (t *DiffDetail) split(look document.Look) document.Group {
	head := func(side, label, words string) document.Heading {
		return document.Heading{Level: 4, Look: "h4", Text: document.Text{document.Marked(document.Side, side), document.Plain(" " + label + " "), document.Marked(document.Muted, words)}}
	}
	out := document.Group{Look: look}
	out.Add(head("A", t.LabelA, t.HeadA), head("B", t.LabelB, t.HeadB))
	for _, run := range t.Stack {
		var lines document.Blocks
		for i := range run.Lines {
			l := &run.Lines[i]
			lines.Add(l.cell(l.A), l.cell(l.B))
		}
		if run.Fold != "" {
			lines = document.Blocks{run.fold(document.Group{Look: "wide-grid", Blocks: lines})}
		}
		out.Add(lines...)
	}
	return out
}

// unified has both in one column, marked like a diff.
func (t *DiffDetail) unified(look document.Look) document.Group {
	out := document.Group{Look: look}
	out.Add(document.Heading{Level: 4, Look: "h4", Text: document.Text{
		document.Marked(document.Side, "A"), document.Plain(" " + t.LabelA + " "), document.Marked(document.Muted, "and"), document.Plain(" "), document.Marked(document.Side, "B"), document.Plain(" " + t.LabelB),
	}})
	for _, run := range t.Stack {
		lines := unifiedLines(run.Lines)
		if run.Fold != "" {
			lines = document.Blocks{run.fold(lines...)}
		}
		out.Add(lines...)
	}
	return out
}

func unifiedLines(all []StackLine) document.Blocks {
	var out document.Blocks
	for i := range all {
		l := &all[i]
		switch {
		case l.B != nil:
			out.Add(l.cell(l.B))
		case l.A != nil:
			out.Add(l.cell(l.A))
		}
	}
	return out
}

func (r *StackRun) fold(lines ...document.Block) document.Fold {
	return document.Fold{Look: "foldrun", SummaryLook: document.Look("fr " + r.Lines[0].Mark), Summary: document.Text{r.Lines[0].mark(), document.Marked("foldt", r.Fold)}, Blocks: lines}
}

// mark says on which side a line is.
func (l *StackLine) mark() document.Span {
	sign, words := "", ""
	switch l.Mark {
	case "del":
		sign, words = "−", "only in A: "
	case "add":
		sign, words = "+", "only in B: "
	case "chg":
		sign, words = "~", "other line: "
	default:
		return document.Made("m")
	}
	return document.Made("m", document.Plain(sign), document.Marked(document.Hidden, words))
}

// cell is one side of a line, hatched where it is missing.
func (l *StackLine) cell(f *FrameLine) document.Group {
	if f == nil {
		return document.Group{Look: "fr pad"}
	}
	look := "fr " + l.Mark
	var called document.Text
	if l.Creator {
		look, called = look+" cr", document.Text{document.Plain("created by ")}
	}
	called = append(called, document.Span{Look: document.Function, Text: f.Func.Path + f.Func.Name, Title: f.Func.Full})
	return document.Group{Look: document.Look(look), Blocks: document.Blocks{document.Text{l.mark(), document.Made("ff", called...), document.Marked("loc", f.Loc)}}}
}

// attributeTable lists what identifies a family that has no stack.
func attributeTable(attributes []Pair) document.Blocks {
	if len(attributes) == 0 {
		return document.Blocks{document.Paragraph{Look: document.Muted, Text: document.Words("This family has neither a stack nor attributes to show.")}}
	}
	table := document.Table{Look: "data attrs", Caption: "What identifies this family", Unseen: true, Head: heads("Attribute", "Value"), Parts: []document.Part{{}}}
	for _, a := range attributes {
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Look: "plain", Cells: []document.Cell{{Header: true, Text: document.Words(a.Name)}, {Text: document.Text{document.Marked(document.Literal, a.Value)}}}})
	}
	return document.Blocks{table}
}

// section explains why members are one family, or why families are two.
func (w *DiffWhy) section() document.Section {
	out := document.Section{Look: "block why", Anchor: "why", ID: "h-why", Title: document.Words(w.Title)}
	if w.Close != "" {
		out.End.Add(document.Text{document.LinkButton("btn quiet end", w.Close, "Close")})
	}
	out.Add(document.Paragraph{Text: document.Words(w.Lead)})
	if len(w.Lines) > 0 {
		two := document.Paragraph{Look: "two", Text: document.Text{
			document.Marked(document.OnlyA, "−"), document.Plain(" "), document.Marked(document.Muted, "only in the first:"), document.Plain(" "), document.LinkTo(w.First.URL, w.First.Text()), {Look: document.NewLine},
			document.Marked(document.OnlyB, "+"), document.Plain(" "), document.Marked(document.Muted, "only in the second:"), document.Plain(" "), document.LinkTo(w.Second.URL, w.Second.Text()),
		}}
		key := document.Text{document.Marked("word", "without a mark: compared and equal"), document.Marked("word", "leaf on top"), document.Marked("word", "lines, states and numbers of closures are not compared")}
		out.Add(document.Group{Look: "stacks", Blocks: append(document.Blocks{two}, unifiedLines(w.Lines)...)}, document.Paragraph{Look: "key", Text: key})
	}
	if len(w.Steps) > 0 {
		out.Add(normTable(w.Steps)...)
		out.Add(document.Paragraph{Look: "note", Text: document.Words(w.KeyNote)})
	}
	if len(w.Attributes) > 0 {
		out.Add(w.attributes())
	}
	if len(w.Others) > 0 {
		form := document.Form{Look: "compare"}
		for _, h := range w.Hidden {
			form.Add(document.Hide(h.Name, h.Value))
		}
		form.Add(document.Hide("why", w.Fingerprint), label("why-other", "Why not the same family as"),
			document.Select{ID: "why-other", Name: "why", Value: w.SecondPrint, Groups: []document.Choices{{List: options(w.Others)}}}, document.Press{Look: "btn", Type: "submit", Text: "Compare keys"})
		out.Add(form)
	}
	return out
}

func (w *DiffWhy) attributes() document.Table {
	two := w.Second.Kind != ""
	out := document.Table{Look: "data attrs", Label: "Attributes", Caption: "What identifies the families", Head: heads("Attribute", "Value"), Parts: []document.Part{{}}}
	if two {
		out.Head = heads("Attribute", "First", "Second")
	}
	for _, a := range w.Attributes {
		name := document.Words(a.Name)
		if a.Other {
			name = document.Text{document.Marked(document.Glyph, "≠"), document.Plain(" " + a.Name)}
		}
		row := document.Row{Look: "plain", Cells: []document.Cell{{Header: true, Text: name}, {Text: document.Text{document.Marked(document.Literal, a.First)}}}}
		if two {
			row.Cells = append(row.Cells, document.Cell{Text: document.Text{document.Marked(document.Literal, a.Second)}})
		}
		out.Parts[0].Rows = append(out.Parts[0].Rows, row)
	}
	return out
}

// normTable returns what each frame becomes before it is compared, and by which rule.
func normTable(steps []NormStep) document.Blocks {
	out := document.Table{Look: "data norm", Label: "Normalisation", Caption: "Each printed frame, the rule that changed it, and what is compared", Head: heads("#*", "As printed, leaf on top", "Rule", "Compared"), Parts: []document.Part{{}}}
	for i := range steps {
		out.Parts[0].Rows = append(out.Parts[0].Rows, steps[i].row())
	}
	return document.Blocks{out}
}

func (s *NormStep) row() document.Row {
	out := document.Row{Look: "plain"}
	var printed, compared document.Text
	if s.Creator {
		printed, compared = document.Words("created by "), document.Words("created by ")
	}
	frame := document.Made("fn")
	for _, p := range s.Pieces {
		if p.Cut {
			frame.Inside = append(frame.Inside, document.Marked("cut", p.Text))
		} else {
			frame.Inside = append(frame.Inside, document.Plain(p.Text))
		}
	}
	rule := document.Words(s.Rule)
	if s.Title {
		out.Look += " title"
		rule = append(rule, document.Plain(" "), document.Marked(document.Strong, "title of the family"))
	}
	if s.Dropped {
		out.Look += " dropped"
		compared = document.Text{document.Marked(document.Muted, "not compared")}
	} else {
		compared = append(compared, document.Marked(document.Function, s.To.Path+s.To.Name))
	}
	out.Cells = []document.Cell{{Look: "num muted", Text: document.Words(s.Number)}, {Text: append(printed, frame)}, {Look: "rule", Text: rule}, {Text: compared}}
	return out
}
