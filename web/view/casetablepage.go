package view

import (
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// timelineBlocks are the totals of all processes over time, drawn and as figures, with the
// ways to compare two snapshots.
func (c Case) timelineBlocks() document.Blocks {
	var legend document.Text
	for _, l := range c.Legend {
		look := "word"
		if l.Class != "" {
			look = "lg " + l.Class
		}
		legend = append(legend, document.Marked(document.Look(look), l.Text))
	}
	out := document.NewSection("h-time", "Timeline", c.About)
	out.End.Add(document.Paragraph{Look: "end legend", Text: append(legend, pictureLink(c.Timeline.ID, "Timeline")...)})
	out.Add(document.Drawing{Chart: c.Timeline, Main: true})
	if c.Pickers {
		out.Add(c.pickers()...)
	} else {
		out.Add(c.figures()...)
	}
	if len(c.Others) > 0 {
		out.Add(c.others())
	}
	return document.Blocks{out}
}

// pickers choose two snapshots: in the table, or from lists.
func (c *Case) pickers() document.Blocks {
	pick := document.Form{Action: "/diff-pick"}
	pick.Add(document.Hide("case", c.ID))
	pick.Add(c.figures()...)
	pick.Add(document.Group{Look: "act", Blocks: document.Blocks{
		document.Press{Look: "btn primary", Type: "submit", Text: "Compare A and B", Key: "d"}, document.Text{document.Marked("muted hint", "picked in the table")},
	}})
	choose := document.Form{Look: "compare", Action: "/diff-pick"}
	choose.Add(document.Hide("case", c.ID), document.Text{document.Marked(document.Muted, "or choose")})
	choose.Add(pickTwo(c.A, c.B, c.Choices, c.MoreChoices)...)
	choose.Add(document.Press{Look: "btn", Type: "submit", Text: "Compare", Key: "d", KeyLabel: "Compare the chosen A and B"})
	if !c.Form.NeedsKey {
		choose.Add(document.Press{Look: "btn quiet", Type: "submit", Text: "Use A as the baseline", To: "/cases/" + c.ID + "/baseline", Post: true})
	}
	if c.Several != "" {
		choose.Add(document.Text{document.LinkButton("btn quiet", c.Several, "Several side by side")})
	}
	return document.Blocks{pick, choose}
}

// figures is the table below the timeline.
func (c *Case) figures() document.Blocks {
	table := document.Table{Look: "data snaps", Label: "Snapshots, figures", Caption: "The figures of the timeline; a dash says that it was not captured", Head: heads("Snapshot"), Parts: []document.Part{{}}}
	switch {
	case len(c.Columns) > 12:
		table.Look += " many"
	case len(c.Columns) < 5:
		table.Look += " few"
	}
	times := document.Row{Look: "meta plain", Cells: []document.Cell{{Header: true, Text: document.Words("Taken at"), Plain: "Taken at (UTC)"}}}
	for _, k := range c.Columns {
		head := document.Cell{Look: document.Figured, Title: k.Label + ", " + k.Full, Words: k.Label}
		if k.Restart != "" {
			head.Plain = k.Label + " (restarted: " + k.Restart + ")"
			head.Text = append(head.Text, document.Span{Look: document.NewLine}, document.Span{Look: document.Muted, Text: "restarted", Title: "restarted before it: " + k.Restart})
		}
		table.Head = append(table.Head, head)
		var at document.Text
		if k.Day != "" {
			at = document.Text{document.Marked(document.Strong, k.Day), {Look: document.NewLine}}
		}
		times.Cells = append(times.Cells, document.Cell{Look: document.Figured, Text: append(at, document.Plain(k.Clock)), Plain: strings.TrimSpace(k.Day + " " + k.Clock)})
	}
	rows := []document.Row{times}
	for i := range c.Groups {
		rows = append(rows, c.Groups[i].rows(len(c.Columns)+1)...)
	}
	table.Parts[0].Rows = rows
	if c.ColumnNote == "" {
		return document.Blocks{table}
	}
	return document.Blocks{table, document.Paragraph{Look: "note", Text: document.Words(c.ColumnNote)}}
}

// rows are the figures of one process.
func (g *CaseGroup) rows(columns int) []document.Row {
	name := document.Text{document.Plain(g.Process + " "), document.Marked(document.Muted, g.About)}
	if g.Baseline != "" {
		name = append(name, document.Plain(" "), document.Marked(document.Chip, "baseline "+g.Baseline))
	}
	out := []document.Row{{Look: "grp plain", Cells: []document.Cell{{Group: true, Span: columns, Text: name}}}}
	for i, r := range g.Rows {
		row := document.Row{Look: "plain", Cells: []document.Cell{{Header: true, Text: document.Words(r.Name)}}}
		if r.Strong {
			row.Look = "plain strong"
		}
		for k, figure := range r.Cells {
			cell := document.Cell{Look: document.Figured, Words: figure}
			if i == 0 && k < len(g.Links) && g.Links[k].URL != "" {
				cell.Words, cell.Text = "", document.Text{document.LinkTo(g.Links[k].URL, figure)}
			}
			row.Cells = append(row.Cells, cell)
		}
		out = append(out, row)
	}
	if len(g.Picks) > 0 {
		out = append(out, g.picks("a", "A", "compare from"), g.picks("b", "B", "to"))
	}
	return out
}

// picks choose one side of a comparison.
func (g *CaseGroup) picks(field, mark, words string) document.Row {
	out := document.Row{Look: "pickrow plain noprint", Cells: []document.Cell{{Header: true, Text: document.Text{document.Marked(document.Side, mark), document.Plain(" " + words)}}}}
	for _, p := range g.Picks {
		cell := document.Cell{Look: document.Figured}
		if p.Value != "" {
			checked := p.A
			if field == "b" {
				checked = p.B
			}
			cell.Blocks.Add(document.Label{Look: "pick", Blocks: document.Blocks{
				document.Field{Type: "radio", Name: field, Value: p.Value, Checked: checked}, document.Text{document.Marked(document.Hidden, mark+" = "+p.Text)},
			}})
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// others are the processes of a large case in a line each.
func (c *Case) others() document.Fold {
	table := document.Table{Look: "data", Label: "Further processes", Head: heads("Process", "What it is", "First to last"), Parts: []document.Part{{}}}
	for _, o := range c.Others {
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Text: document.Text{document.LinkTo(o.URL, o.Process)}}, {Words: o.About}, {Words: o.Course},
		}})
	}
	return rest(wording.PagePlural(int64(len(c.Others)), "more process", "more processes"), table)
}

// miniBlocks are the charts of what grows.
func (c Case) miniBlocks() document.Blocks {
	if len(c.Minis) == 0 {
		return nil
	}
	out := document.NewSection("h-m", "Growing units and families", c.MiniNote, c.minis(c.Minis))
	if len(c.MoreMinis) > 0 {
		out.Add(rest(wording.PagePlural(int64(len(c.MoreMinis)), "more chart", "more charts"), c.minis(c.MoreMinis)))
	}
	return document.Blocks{out}
}

func (c *Case) minis(all []CaseMini) document.Group {
	out := document.Group{Look: "minis"}
	for i := range all {
		f := &all[i]
		process := document.Made("proc", document.Plain(f.Process+f.Unit+" "))
		if f.Triage != "" {
			process.Inside = append(process.Inside, document.Marked(document.Mark, f.Triage))
		}
		name := document.Made("whole", f.Name.shortText()...)
		if f.Name.URL != "" {
			name = document.Span{URL: f.Name.URL, Title: f.Name.Title.Full, Inside: f.Name.shortText(), Link: &document.Link{}}
		}
		out.Add(c.mini(document.Text{process, document.Marked(document.Verdict, f.Verdict), name}, document.Drawing{Chart: f.Chart}, f.Note, f.Chart.ID))
	}
	return out
}

// mini is a small chart with its caption and its note.
func (c *Case) mini(caption document.Text, drawing document.Drawing, note, id string) document.Group {
	return document.Group{Role: "figure", Look: "mini", Blocks: document.Blocks{
		document.Group{Role: "caption", Blocks: document.Blocks{caption}}, drawing, document.Paragraph{Text: append(document.Words(note+" "), pictureLink(id, "This chart")...)},
	}}
}

// shortText is the name of a family below a chart.
func (f *FamilyName) shortText() document.Text {
	out := document.Text{f.span()}
	out[0].URL, out[0].Link = "", nil
	if f.Function {
		out[0].Title = ""
		if f.Aside != "" {
			out = append(out, document.Plain(" "), document.Marked("via", f.Aside))
		}
	}
	return out
}

// limitBlocks returns what the system allows and how long it lasts.
func (c Case) limitBlocks() document.Blocks {
	if len(c.Limits) == 0 {
		return nil
	}
	table := document.Table{
		Look: "data lim", Label: "Limits, use and rate", Caption: "Use, rate and time left of each limit, with 95 % intervals",
		Head: heads("Limit", "Process", "Used*", "of*", "%*", "per hour (95 %)*", "Full in (95 %)"), Parts: []document.Part{{}},
	}
	charts := document.Group{Look: "minis below"}
	for _, l := range c.Limits {
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Text: document.Words(l.What)}, {Text: document.Words(l.Process)}, {Look: "num", Text: document.Words(l.Used)}, {Look: "num", Text: document.Words(l.Bound)},
			{Look: "num soft", Text: document.Words(l.Share)}, {Look: "num", Text: document.Words(l.Rate)}, {Text: document.Words(l.Left)},
		}})
		if len(l.Chart.Labels) > 1 {
			charts.Add(c.mini(document.Text{document.Marked("proc", l.Process), document.Marked("whole", l.What)}, document.Drawing{Chart: l.Chart}, l.Note, l.Chart.ID))
		}
	}
	return document.Blocks{document.NewSection("h-l", "Limits", "What the system allows, what of it is used, and how long it lasts at the present rate.", table, charts)}
}

// familyBlocks is the table of all families, units first.
func (c Case) familyBlocks() document.Blocks {
	if c.FamilyCount == 0 {
		return nil
	}
	note := "Every family of every process, with its members per snapshot."
	if len(c.Units) > 0 {
		note += " Units first, counted in instances where their members come at whole ratios, else in members; each unfolds to its families."
	}
	out := document.NewSection("h-all", "Families", note)
	if c.Frozen {
		out.Say("note", c.Applied)
	} else {
		out.Add(document.Group{Look: "tools", Blocks: c.Box.Blocks()})
	}
	summary := "All " + wording.Number(int64(c.FamilyCount)) + " families"
	if c.Box.Note != "" && c.Box.Error == "" {
		summary = c.Box.Note
	}
	out.Add(document.Fold{Look: "fold", Open: c.Answer != nil || c.Box.Text != "" || c.Applied != "", Summary: document.Words(summary), Blocks: document.Blocks{c.familyTable()}})
	return document.Blocks{document.PageOnly{Blocks: document.Blocks{out}}, c.familiesInWords()}
}

func (c *Case) familyTable() document.Table {
	out := document.Table{Look: "data allfam", Label: "All families", Shown: true, Caption: "Worst verdict first, then by rise.", Head: heads("Family", "Process", "Kind")}
	if c.MoreFamilies > 0 {
		out.Caption += " " + wording.Number(int64(c.MoreFamilies)) + " more do not fit; the JSON twin lists them."
	}
	for _, k := range c.Columns {
		out.Head = append(out.Head, document.Cell{Look: document.Figured, Words: k.Label})
	}
	out.Head = append(out.Head, heads("Rise*", "Verdict")...)
	for i := range c.Units {
		u := &c.Units[i]
		part := document.Part{Look: "unit", Rows: []document.Row{u.row()}}
		for k := range u.Families {
			part.Rows = append(part.Rows, u.Families[k].row())
		}
		out.Parts = append(out.Parts, part)
	}
	alone := document.Part{Rows: make([]document.Row, len(c.Families))}
	for i := range c.Families {
		alone.Rows[i] = c.Families[i].row()
	}
	out.Parts = append(out.Parts, alone)
	return out
}

// row is a unit; its box unfolds its families.
func (u *CaseUnit) row() document.Row {
	name := document.Made("word", document.Marked(document.Strong, "unit "+u.ID), document.Plain(" "+u.Each+" "), document.Marked(document.Muted, "("+wording.Number(int64(len(u.Families)))+" families)"))
	fold := document.Label{Look: "check", Blocks: document.Blocks{document.Field{Type: "checkbox"}, document.Text{name}}}
	cells := []document.Cell{{Header: true, Look: "fam", Blocks: document.Blocks{fold}}, {Text: document.Words(u.Process)}, {Text: document.Words("unit")}}
	return document.Row{Look: "u", Cells: counted(cells, u.Counts, u.Rise, u.Verdict, u.Triage)}
}

// counted adds the figures of a row, and what is thought of it.
func counted(cells []document.Cell, counts []string, rise, verdict, triage string) []document.Cell {
	for _, n := range counts {
		cells = append(cells, document.Cell{Look: document.Figured, Words: n})
	}
	judged := document.Text{document.Marked(document.Verdict, verdict)}
	if triage != "" {
		judged = append(judged, document.Marked(document.Mark, triage))
	}
	return append(cells, document.Cell{Look: document.Figured, Words: rise}, document.Cell{Text: judged})
}

func (f *CaseFamily) row() document.Row {
	kind := document.Words(f.Kind)
	if f.Each != "" {
		kind = append(kind, document.Plain(" "), document.Marked(document.Muted, "× "+f.Each))
	}
	cells := make([]document.Cell, 0, len(f.Counts)+5)
	cells = counted(append(cells, document.Cell{Header: true, Look: "fam", Blocks: document.Blocks{f.Name.titleBlock()}}, document.Cell{Words: f.Process}, document.Cell{Text: kind}), f.Counts, f.Rise, f.Verdict, f.Triage)
	if f.Role != "" {
		last := &cells[len(cells)-1]
		last.Text = append(last.Text, document.Marked(document.Verdict, f.Role))
	}
	return document.Row{Look: f.Lane, Cells: cells}
}
