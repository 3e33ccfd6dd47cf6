package view

import (
	"slices"

	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

// The pages of a family and of a kind of objects are of one make: the thing with its key
// figures, the code that started it, the evidence, what explains it, and folded lists.

// thingHead is the name of a thing with its sentences and its chips.
func thingHead(path string, name, chips document.Text, sentences ...document.Text) document.Group {
	title := document.Heading{Level: 1}
	if path != "" {
		title.Text = document.Text{document.Marked("p", path), document.Plain(" ")}
	}
	title.Text = append(title.Text, document.Made("n", name...))
	box := document.Group{Blocks: document.Blocks{title}}
	for _, s := range sentences {
		box.Add(document.Paragraph{Look: "soft sub", Text: s})
	}
	box.Add(document.Paragraph{Look: "tags", Text: chips})
	return document.Group{Look: "fhead", Blocks: document.Blocks{box}}
}

// brokenName is a name that may break between its path and the rest.
func brokenName(f Func) document.Text {
	return document.Text{document.Marked(document.Breakable, f.Path+f.Name)}
}

// chipText are a verdict and what else there is to say in a word.
func chipText(verdict, role string, chips []string) document.Text {
	out := document.Text{document.Marked(document.Judged, verdict)}
	if role != "" {
		out = append(out, document.Plain(" "), document.Marked(document.Verdict, role))
	}
	for _, c := range chips {
		out = append(out, document.Plain(" "), document.Marked(document.Chip, c))
	}
	return out
}

// keyFigures are the figures of a thing, large.
func keyFigures(all []KeyFigure) document.Blocks {
	if len(all) == 0 {
		return nil
	}
	out := document.Figures{}
	for _, f := range all {
		figure := document.Figure{Value: f.Value, Text: f.Text}
		if f.IsChange {
			figure.Change = deltaSpan(f.Delta, true)
		}
		out.Rows = append(out.Rows, figure)
	}
	return document.Blocks{out}
}

// folded are the folded parts of a page; inside gives what each unfolds to.
func folded(all []AnswerFold, inside func(key string) document.Blocks) document.Group {
	out := document.Group{Look: "folds"}
	for _, f := range all {
		summary := document.Text{document.Marked(document.Strong, f.Title)}
		if f.Inside != "" {
			summary = append(summary, document.Plain(" "), document.Marked("inside", f.Inside))
		}
		out.Add(document.Fold{
			Look: document.Look("part p-" + f.Key), ID: document.ID("p-" + f.Key), Open: f.Open, Summary: summary, Rest: true,
			Blocks: document.Blocks{document.Group{Look: "in", Blocks: inside(f.Key)}},
		})
	}
	return out
}

// panel is a chart or some words below a small heading.
func panel(title string, inside ...document.Block) document.Group {
	out := document.Group{Look: "panel"}
	out.Heading(3, title)
	out.Add(inside...)
	return out
}

// drawn is a chart with a sentence above it and the address of its file below. A text has no
// chart and says nothing of it.
func drawn(title, note string, drawing document.Chart, id string) document.PageOnly {
	out := panel(title)
	out.Paragraph(note)
	out.Add(document.Drawing{Chart: drawing})
	out.Add(pictureLink(id, title))
	return document.PageOnly{Blocks: document.Blocks{out}}
}

// lifelines are births and ends, or why none are drawn.
func lifelines(drawing *chart.LifelinesData, note string) document.Block {
	if drawing == nil {
		return panel("Lifelines", document.Paragraph{Text: document.Words(note)})
	}
	return drawn("Lifelines", note, *drawing, drawing.ID)
}

// saidTerms returns what a verdict does not exclude, and what would change it.
func saidTerms(rows []document.Term, cannot, decides []string) document.Blocks {
	add := func(name string, texts []string) {
		if len(texts) > 0 {
			rows = append(rows, document.Term{Name: document.Words(name), Blocks: paragraphs(texts)})
		}
	}
	add("Not excluded", cannot)
	add("What would change it", decides)
	if len(rows) == 0 {
		return nil
	}
	return document.Blocks{document.Terms{Look: "said", Rows: rows}}
}

func paragraphs(texts []string) document.Blocks {
	var out document.Blocks
	for _, t := range texts {
		out.Paragraph(t)
	}
	return out
}

// seenList are statements in a line each.
func seenList(texts []string, before ...document.Span) document.List {
	out := document.List{Look: "seen"}
	for _, t := range texts {
		out.Items = append(out.Items, document.Item{Blocks: document.Blocks{append(document.Text(before), document.Marked(document.Breakable, t))}})
	}
	return out
}

// blocks are the stack of a page with file and line, and beside it what started its members.
func (c *Code) blocks() document.Blocks {
	if c == nil {
		return nil
	}
	both := document.Group{Look: "body code", Blocks: document.Blocks{document.Group{Blocks: document.Blocks{c.Stack}}}}
	if c.Start != nil {
		main := document.Group{Blocks: document.Blocks{c.Stack}}
		main.Add(c.Start.excerptBlocks()...)
		both.Blocks = document.Blocks{main, document.Group{Look: "side", Blocks: document.Blocks{c.Start.section()}}}
	}
	return document.Blocks{both}
}

// section says where the members were started.
func (s *CodeStart) section() document.Group {
	at := document.Text{s.At.Source()}
	if s.At.Own {
		at = append(at, document.Plain(" "), document.Marked("ownkey", "own code"))
	}
	out := document.Group{Role: "section", Look: "waits start", LabelledBy: "h-start"}
	out.Add(
		document.Heading{Level: 2, ID: "h-start", Text: document.Words("Started here")}, document.Paragraph{Look: "at", Text: at},
		document.Paragraph{Text: document.Text{document.Plain("in "), document.Marked(document.Function, s.At.Function)}},
	)
	if s.Near != nil {
		out.Add(document.Paragraph{Look: "near", Text: document.Text{
			document.Marked("ownkey", "nearest own code"), document.Plain(" "), document.Made(document.Strong, s.Near.Source()), document.Plain(" in "), document.Marked(document.Function, s.Near.Function),
		}})
	}
	out.Say("note", s.Missing)
	return out
}

// excerptBlocks are the go statement in the reader's source.
func (s *CodeStart) excerptBlocks() document.Blocks {
	if len(s.Lines) == 0 {
		return nil
	}
	lines := make([]RawLine, len(s.Lines))
	for i, l := range s.Lines {
		lines[i] = RawLine{Number: l.Number, Text: l.Text, Marked: l.Marked}
	}
	box := rawTable(s.Path, "Lines around the go statement", lines)
	box.Region = "rawbox excerpt"
	// The reader's own source stays on the page.
	return document.Blocks{document.PageOnly{Blocks: document.Blocks{document.Paragraph{Look: "cap from", Text: document.Text{document.Plain("What started it "), document.Marked(document.Literal, s.Path)}}, box}}}
}

// rawTable are lines as they stand in a file.
func rawTable(title, label string, lines []RawLine) document.Table {
	out := document.Table{Look: "rawt", Label: label, Region: "rawbox", Caption: title, Parts: []document.Part{{}}}
	for _, l := range lines {
		row := document.Row{ID: document.ID(l.ID), Cells: []document.Cell{{Header: true, Look: "num", Text: document.Words(l.Number)}, {Text: document.Text{document.Marked(document.Literal, l.Text)}}}}
		if l.Marked {
			row.Look = "hl"
		}
		out.Parts[0].Rows = append(out.Parts[0].Rows, row)
	}
	return out
}

// factList are statements: what, and why.
func factList(facts []Pair) document.List {
	out := document.List{Look: "seen"}
	for _, f := range facts {
		item := document.Item{}
		item.Add(document.Heading{Level: 3, Text: document.Text{document.Marked(document.Glyph, "● "), document.Marked(document.Breakable, f.Name)}},
			document.Paragraph{Look: document.Soft, Text: document.Text{document.Marked(document.Breakable, f.Value)}})
		out.Items = append(out.Items, item)
	}
	return out
}

// kinSection lists families that explain a thing.
func kinSection(id document.ID, title, note string, rows []CaseShare) document.Blocks {
	if len(rows) == 0 {
		return nil
	}
	return document.Blocks{document.NewSection(id, title, note, shareList(rows))}
}

// Page is the page of a family.
func (f Family) Page() Page {
	out := Page{Shell: f.Shell, Raw: f.rawLines()}
	out.Shell.Captured = f.Captured()
	b := &out.Body
	name := document.Text{document.Marked(document.Breakable, f.Name.Title.Path+f.Name.Title.Name)}
	if f.Name.Function {
		name = brokenName(f.Name.Title)
	}
	aside := document.Words(f.Name.Aside)
	if c := f.Name.Creator; c != nil {
		if f.Name.Aside != "" {
			aside = document.Words(f.Name.Aside + ", ")
		}
		aside = append(aside, document.Plain("created by "), document.Span{Look: document.Mono, Text: c.Path + c.Name, Title: c.Full})
	}
	chips := append(chipText(f.Verdict, f.Role, f.Chips), document.Plain(" "), document.Made(document.Chip, document.Marked(document.Literal, f.Fingerprint)))
	b.Add(thingHead(f.Path, name, chips, aside, document.Words(f.Sentence)))
	b.Add(keyFigures(f.Figures)...)
	b.Add(f.First.Code.blocks()...)
	if f.First.Code == nil {
		b.Add(f.keySection())
	}
	b.Add(f.why())
	b.Add(f.ancestries()...)
	b.Add(labelSection(f.PprofLabels, f.Count, f.At, nil)...)
	b.Add(f.Knowledge.Blocks()...)
	b.Add(f.kin()...)
	b.Add(f.Versions.blocks()...)
	b.Add(f.Triage.blocks()...)
	b.Add(f.watched()...)
	if !f.Frozen {
		b.Add(f.sightings())
	}
	b.Add(folded(f.First.Folds, func(key string) document.Blocks {
		switch key {
		case FoldKey:
			return document.Blocks{f.keySection()}
		case FoldStacks:
			if f.First.Code != nil {
				return document.Blocks{document.PageOnly{Blocks: f.variants()}} // a text has the first of them above, whole
			}
			return f.variants()
		case FoldMembers:
			return document.Blocks{document.PageOnly{Blocks: document.Blocks{f.members()}}} // ids by the hundred
		case FoldRaw:
			return f.raw()
		}
		return nil
	}))
	return out
}

// why is the evidence, and how the members came and went.
func (f *Family) why() document.Section {
	out := document.NewSection("h-why", f.Why, f.Lead)
	if len(f.Evidence) > 0 {
		out.Add(evidenceTerms(f.Evidence))
	} else {
		out.Say("empty", "No evidence was found for or against growth.")
	}
	var said []document.Term
	for _, p := range []Pair{{"Since when", f.Onset}, {"Its part", f.RoleText}} {
		if p.Value != "" {
			said = append(said, document.Term{Name: document.Words(p.Name), Blocks: document.Blocks{document.Words(p.Value)}})
		}
	}
	out.Add(saidTerms(said, f.Cannot, f.Decides)...)
	out.Add(document.Group{Look: "cols2", Blocks: document.Blocks{
		panel("Members over time", document.PageOnly{Blocks: document.Blocks{document.Paragraph{Text: document.Words(f.MembersNote)}}}, document.Drawing{Chart: f.Members, Main: true}, pictureLink(f.Members.ID, "Members over time")),
		lifelines(f.Lifelines, f.LifeNote),
	}})
	out.Add(f.now()...)
	if f.StatesOver != nil {
		over := panel("States over time", document.Paragraph{Text: document.Words(f.StatesOverNote)}, document.Drawing{Chart: *f.StatesOver})
		over.Look = "panel below"
		out.Add(document.PageOnly{Blocks: document.Blocks{over}})
	}
	return out
}

// now are births, ages, waits and states; a kind without them has no empty place.
func (f *Family) now() document.Blocks {
	out := document.Group{Look: "cols3"}
	if f.Births != nil {
		out.Add(drawn("Births per interval", f.BirthNote, *f.Births, f.Births.ID))
	}
	switch {
	case f.HourBars != nil:
		out.Add(panel("Births per hour", document.Paragraph{Text: document.Words(f.HourNote)}, document.Drawing{Chart: *f.HourBars}, pictureLink(f.HourBars.ID, "Births per hour")))
	case f.HourNote != "":
		out.Add(panel("Births per hour", document.Paragraph{Text: document.Words(f.HourNote)}))
	}
	if f.Ages != nil {
		out.Add(drawn("Ages at "+f.At, "Since each was started, as the dump prints it.", *f.Ages, f.Ages.ID))
	}
	switch waits := "Waiting at least, minutes, at " + f.At; {
	case f.Waits != nil:
		out.Add(drawn(waits, "A lower bound: it counts from the first garbage collection after parking.", *f.Waits, f.Waits.ID))
	case f.HasWaits:
		out.Add(panel(waits, document.Paragraph{Text: document.Words("No member shows a wait of a minute or more here.")}))
	}
	if f.HasWaits || f.StatesBar != nil || f.StateNote != "" {
		states := panel("States at " + f.At)
		if f.StatesBar != nil {
			states.Add(document.Drawing{Chart: *f.StatesBar}, document.Paragraph{Look: "legendline", Text: append(stateText(f.States), pictureLink(f.StatesBar.ID, "States")...)})
		} else {
			states.Paragraph("No state was printed.")
		}
		states.Paragraph(f.StateNote)
		out.Add(states)
	}
	if len(out.Blocks) == 0 {
		return nil
	}
	return document.Blocks{out}
}

// kin are the other families that explain this one.
func (f *Family) kin() document.Blocks {
	var out document.Blocks
	if f.Unit != nil {
		out.Add(document.NewSection("h-unit", "Unit "+f.Unit.ID, f.Unit.Text, shareList(f.Unit.Rows)))
	}
	if len(f.Stated) > 0 {
		out.Add(document.NewSection("h-stated", "What the snapshot states of its members", "", factList(f.Stated)))
	}
	if len(f.Locks) > 0 || len(f.Holders) > 0 {
		held := document.NewSection("h-hold", "What it waits for, and who may hold it", "Possible, not proven: look at these stacks first.")
		for _, l := range f.Locks {
			held.Paragraph(l.Text)
			held.Add(seenList(l.Holders, document.Marked(document.Glyph, "◆ ")))
		}
		if len(f.Holders) > 0 {
			held.Add(shareList(f.Holders))
		}
		out.Add(held)
	}
	return append(out, kinSection("h-behind", "Who may wait for it", "These grow; this family does not, but may hold what they wait for.", f.Behind)...)
}

// blocks are the rate and verdict of each version.
func (v *FamilyVersions) blocks() document.Blocks {
	if v == nil {
		return nil
	}
	table := document.Table{
		Look: "data", Label: "Rate of each version", Caption: "Rate, exposure and verdict of each version",
		Head: heads("Version", "Per hour*", "Exposure", "Verdict", "First bad*"), Parts: []document.Part{{}},
	}
	table.Head[4].Title = "probability that this is the first bad version"
	for _, r := range v.Rows {
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Text: document.Text{document.Marked(document.Literal, r.Version)}}, {Look: "num", Text: document.Words(r.Rate)}, {Text: document.Words(r.Exposure)},
			{Text: document.Text{document.Marked(document.Glyph, r.Mark), document.Plain(" " + r.Verdict)}}, {Look: "num", Text: document.Words(r.Share)},
		}})
	}
	return document.Blocks{document.NewSection("h-ver", "Versions", v.Text, table)}
}

// ancestries are the stacks of who started the goroutines, or of what opened the descriptors.
func (f *Family) ancestries() document.Blocks {
	if len(f.Ancestries) == 0 {
		return nil
	}
	out := document.NewSection("h-ancestor", "Ancestors at "+f.At, "Who started them, and who started that one, as the program prints it with GODEBUG=tracebackancestors; of goroutines that started in an execution trace the stack of their go statement.")
	if f.Opened {
		out = document.NewSection("h-ancestor", "Opened at", "The calls that opened them, as a tracer saw it, the innermost function first.")
	}
	for _, s := range f.Ancestries {
		out.Add(s)
	}
	return document.Blocks{out}
}

// watched are the targets of watches.
func (f *Family) watched() document.Blocks {
	if len(f.Watched) == 0 {
		return nil
	}
	table := document.Table{
		Look: "data members watched", Label: "Targets", Caption: "What the watches are on at " + f.At,
		Head: heads("Watches*", "Target", "Still there?", "Pod"), Parts: []document.Part{{}},
	}
	for _, r := range f.Watched {
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Look: "num", Name: "Watches", Text: document.Words(r.Watches)},
			{Look: "wrap", Text: document.Text{document.Marked(document.Literal, r.What), document.Plain(" "), document.Marked(document.Muted, r.FSType)}},
			{Look: "wrap", Name: "Still there?", Text: document.Words(r.Still)}, {Look: "wrap", Name: "Pod", Text: document.Words(r.Pod)},
		}})
	}
	return document.Blocks{document.NewSection("h-watch", "What they watch at "+f.At, f.WatchedNote, table)}
}

// members returns those of the snapshot, with the address of their lines.
func (f *Family) members() document.Section {
	out := document.NewSection("h-mem", "Members at "+f.At, f.RowsNote)
	if len(f.Rows) == 0 {
		return out
	}
	columns := []string{f.IDHead + "*", "First seen", "Seen in*"}
	switch {
	case f.HasWaits:
		columns = append(columns, "Waits*", "State")
	case f.IsThread:
		columns = append(columns, "State", "Name")
	default:
		columns = append(columns, "As listed")
	}
	labelled := slices.ContainsFunc(f.Rows, func(r MemberRow) bool { return r.Labels != "" })
	if labelled {
		columns = append(columns, "Labels")
	}
	table := document.Table{Look: "data members", Label: "Members", Caption: "Members at " + f.At, Head: heads(append(columns, "Raw")...), Parts: []document.Part{{}}}
	table.Head[2].Look = "num seenin"
	for _, r := range f.Rows {
		cells := []document.Cell{{Header: true, Look: "num", Text: document.Text{document.LinkTo(r.URL, r.ID)}}, {Text: document.Words(r.First)}, {Look: "num seenin", Text: document.Words(r.Seen)}}
		detail := document.Cell{Look: "wrap", Text: document.Text{document.Marked(document.Literal, r.Detail)}}
		switch state := (document.Cell{Text: document.Words(r.State)}); {
		case f.HasWaits:
			cells = append(cells, document.Cell{Look: "num", Text: document.Words(r.Wait)}, state)
		case f.IsThread:
			cells = append(cells, state, detail)
		default:
			cells = append(cells, detail)
		}
		if labelled {
			cells = append(cells, document.Cell{Look: "wrap", Text: document.Text{document.Marked(document.Literal, r.Labels)}})
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: append(cells, document.Cell{Text: document.Text{document.LinkTo(r.RawURL, r.RawText)}})})
	}
	out.Add(table)
	return out
}

// RawLines are lines of a file as a page shows them.
type RawLines struct {
	File  string
	Lines []RawLine
}

func (f *Family) rawLines() *RawLines {
	if len(f.Raw) == 0 {
		return nil
	}
	return &RawLines{f.RawTitle, f.Raw}
}

// raw are the lines of a member in its file.
func (f *Family) raw() document.Blocks {
	if len(f.Raw) == 0 && f.RawDeep == "" {
		return nil
	}
	out := document.NewSection("h-raw", "Raw", "")
	out.Anchor, out.Note = "raw", document.Text{document.Marked(document.Literal, f.RawTitle)}
	if f.RawURL != "" {
		out.End.Add(document.Paragraph{Look: "end", Text: document.Text{document.LinkTo(f.RawURL, "Open file here")}})
	}
	if f.RawDeep != "" {
		out.Say("note", f.RawDeep)
	} else {
		out.Add(rawTable(f.RawTitle, "Raw lines", f.Raw))
	}
	return document.Blocks{out}
}

// sightings are the other cases that show the family.
func (f *Family) sightings() document.Section {
	out := document.NewSection("h-seen", "Where else it was seen", "")
	if len(f.Sightings) == 0 {
		out.Say("empty", "In no other case on this server.")
		return out
	}
	list := document.List{Look: "seen"}
	for _, s := range f.Sightings {
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{document.Text{
			document.LinkTo(s.URL, s.CaseTitle), document.Plain(" "), document.Marked(document.Muted, s.Counts), document.Plain(" "), document.Marked(document.Verdict, s.Verdict), document.Plain(" "), document.Marked(document.Muted, s.Said),
		}}})
	}
	out.Add(list)
	out.Say(document.Muted, f.MoreSightings)
	return out
}

// keySection explains why the members are one family.
func (f *Family) keySection() document.Section {
	key := document.Paragraph{Look: "note", Text: document.Text{document.Plain("Key "), document.Marked(document.Literal, f.Key), document.Plain(" " + f.KeyNote)}}
	if len(f.Steps) == 0 {
		out := document.NewSection("h-key", "Why these are one family", "They share every one of these attributes.", attributeTable(f.Attributes)...)
		out.Add(key)
		return out
	}
	// How frames are compared is no evidence of a leak, and texts have the stack already.
	out := document.NewSection("h-key", "Stack, and why these are one family", "Left as printed, right what is compared. Struck: not part of the key.", document.PageOnly{Blocks: append(normTable(f.Steps), key)})
	if len(f.Attributes) > 0 {
		out.Add(attributeTable(f.Attributes)...)
	}
	return out
}

// variants are the exact stacks of the family.
func (f *Family) variants() document.Blocks {
	fold := func(summary document.Text, v *FamilyVariant, open bool) document.Fold {
		return document.Fold{Look: "fold", Open: open, Summary: summary, Blocks: document.Blocks{v.Stack}}
	}
	switch len(f.Variants) {
	case 0:
		return nil
	case 1:
		return document.Blocks{fold(document.Words("The stack with file and line, "+f.Variants[0].Count), &f.Variants[0], true)}
	}
	out := document.NewSection("h-var", "Exact stacks at "+f.At, "The family crosses builds; these are its stacks with file and line.")
	for i := range f.Variants {
		v := &f.Variants[i]
		out.Add(fold(document.Text{document.Plain(v.Count + " "), document.Made(document.Muted, document.Marked(document.Literal, v.Fingerprint))}, v, false))
	}
	return document.Blocks{out}
}
