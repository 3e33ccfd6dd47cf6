package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Page is the page of a case: its answer on the first screen, everything else folded.
func (c Case) Page() Page {
	out := Page{Shell: c.Shell}
	out.Shell.Captured = c.Captured()
	b := &out.Body
	if !c.Frozen {
		out.Shell.Scripts = append(out.Shell.Scripts, "progress.js")
		b.Add(document.Sending{})
	}
	switch {
	case c.Answer != nil:
		out.Shell.Scripts = append(out.Shell.Scripts, "chart.js")
		b.Add(c.Progress.blocks()...)
		b.Add(c.Answer.head(c.Headline)...)
		c.qualify(b)
		b.Add(c.Answer.body()...)
		if c.Paging != nil {
			b.Add(c.Paging.Blocks("Pages of the processes")...)
		}
		folds := folded(c.Answer.Folds, c.inside)
		folds.Look = "folds inrow"
		b.Add(folds)
		if c.Paging != nil {
			b.Add(document.PageOnly{Blocks: c.Paging.Blocks("Pages of the processes, once more")})
		}
	case c.Nothing != nil:
		b.Add(hero(c.Headline), c.Nothing.section(), c.forms())
	case c.Progress != nil:
		b.Add(hero(c.Headline))
		b.Add(c.Progress.blocks()...)
		b.Add(c.forms())
	default:
		b.Add(hero(c.Headline, c.Lead))
		c.qualify(b)
		both := document.Group{Look: "split", Blocks: document.Blocks{document.Group{Blocks: c.findingBlocks()}}}
		both.Add(c.sideBlocks()...)
		b.Add(document.NewSection("h-f", "Findings", c.findingsNote(), both))
		if !c.Frozen {
			b.Add(c.forms())
		}
	}
	return out
}

// hero is the heading of a page with the sentence below it.
func hero(title string, lead ...string) document.Group {
	out := document.Group{Role: "header", Look: "hero", Blocks: document.Blocks{document.Heading{Level: 1, Text: document.Words(title)}}}
	for _, text := range lead {
		out.Say("lead", text)
	}
	return out
}

// qualify adds what stands between a heading and its proof: what was lost, the ticket, and
// whose value a save replaced.
func (c *Case) qualify(b *document.Document) {
	if c.Lost != nil {
		b.Add(document.Paragraph{Look: "warn lost", Text: document.Text{document.Plain(c.Lost.Text + " "), document.Span{URL: c.Lost.URL, Text: "Files", Link: &document.Link{Look: "noprint"}}}})
	}
	if c.Form.Ticket != "" || c.Form.Archived {
		b.Add(c.Form.chips())
	}
	for _, text := range c.Form.Over {
		b.Mind(text)
	}
}

// chips are the ticket of the case and whether it is archived.
func (f *CaseForm) chips() document.Paragraph {
	out := document.Paragraph{Look: "tags ticket"}
	if f.Ticket != "" {
		ticket := document.LinkTo(f.TicketURL, f.Ticket)
		if f.TicketURL != "" {
			ticket.Link = &document.Link{Rel: "noopener noreferrer nofollow"}
		}
		out.Text = append(out.Text, document.Made(document.Chip, document.Plain("ticket "), ticket))
	}
	if f.Archived {
		out.Text = append(out.Text, document.Marked(document.Chip, "archived"))
	}
	return out
}

func (c *Case) findingsNote() string { return strings.TrimSpace(c.FindingsNote + " " + c.Rising) }

// inside returns what a part of the page unfolds to.
func (c *Case) inside(key string) document.Blocks {
	var out document.Blocks
	switch key {
	case FoldFindings:
		out.Add(document.NewSection("h-f", "Findings", c.findingsNote(), c.findingBlocks()...))
		out.Add(c.lockBlocks()...)
		for i := range c.Contention {
			out.Add(c.Contention[i].inCase(fmt.Sprintf("h-contention-%d", i+1)))
		}
		for i := range c.Heaps {
			out.Add(c.Heaps[i].section(fmt.Sprintf("h-heap-%d", i+1)))
		}
		out.Add(c.miniBlocks()...)
		out.Add(c.contextBlocks()...)
		out.Add(c.limitBlocks()...)
		out.Add(document.PageOnly{Blocks: c.Further.blocks(&c.Shell)})
	case FoldTimeline:
		out.Add(c.timelineBlocks()...)
	case FoldGroups:
		out.Add(c.familyBlocks()...)
		if len(c.Objects) > 0 {
			out.Add(c.objectBlocks()...)
		}
	case FoldFiles:
		out.Add(c.sideBlocks()...)
		if !c.Frozen {
			out.Add(c.forms())
		}
	}
	return out
}

// head is the answer in a sentence with its proof.
func (a *Answer) head(headline string) document.Blocks {
	top := document.Paragraph{Look: "top"}
	for _, chip := range a.Chips {
		top.Text = append(top.Text, chip.span(), document.Plain(" "))
	}
	top.Text = append(top.Text, document.Marked(document.Whose, a.About))
	head := document.Group{Role: "header", Look: "answer", Blocks: document.Blocks{top, document.Heading{Level: 1, Text: document.Words(headline)}}}
	if a.Proved+a.Proof != "" {
		proof := document.Paragraph{Look: "proof"}
		if a.Proved != "" {
			proof.Text = append(proof.Text, document.Marked(document.Strong, a.Proved))
		}
		proof.Text = append(proof.Text, document.Plain(" "+a.Proof))
		head.Add(proof)
	}
	return document.Blocks{head}
}

// body returns what the answer rests on, beside what to do.
func (a *Answer) body() document.Blocks {
	if a.bare() && len(a.Facts)+len(a.Heaps) == 0 && a.Do == nil {
		return nil
	}
	main := document.Group{}
	if len(a.Facts) > 0 {
		main.Add(document.TextOnly{Blocks: document.Blocks{a.facts()}}) // a page has them beside the stack
	}
	if a.Lanes != nil {
		main.Add(a.lanes()...)
	}
	main.Add(a.groups()...)
	main.Add(a.stackBlocks()...)
	for _, s := range a.Stacks {
		main.Add(s)
	}
	if a.Stack == nil && len(a.Opened) == 0 && len(a.Known) > 0 {
		list := document.List{Look: "stacks one"}
		for _, k := range a.Known {
			list.Items = append(list.Items, document.Item{Look: "fr", Blocks: document.Blocks{document.Text{
				document.Made("m"), document.Made("ff", document.Marked(document.Breakable, k.Name)), document.Plain(" "), document.Marked("loc", k.Value),
			}}})
		}
		main.Add(document.Group{Look: "stk", Blocks: document.Blocks{document.Paragraph{Look: "cap", Text: document.Words(a.KnownTitle)}, list}})
	}
	for i := range a.Heaps {
		main.Add(a.Heaps[i].section(fmt.Sprintf("h-heap-%d", i+1)))
	}
	side := document.Group{Look: "side"}
	side.Add(a.Do.blocks()...)
	if a.Waits != nil {
		waits := document.Group{Role: "section", Look: "waits", LabelledBy: "h-waits"}
		waits.Add(document.Heading{Level: 2, ID: "h-waits", Text: document.Text{document.LinkTo("#h-lock", a.Waits.Name)}}, document.Paragraph{Text: document.Text{document.Marked(document.Breakable, a.Waits.Value)}})
		side.Add(waits)
	}
	if len(a.Facts) > 0 {
		side.Add(document.PageOnly{Blocks: document.Blocks{a.facts()}})
	}
	return document.Blocks{document.Group{Look: "body", Blocks: document.Blocks{main, side}}}
}

// facts are the four lines beside the stack.
func (a *Answer) facts() document.Terms {
	out := document.Terms{Look: "q"}
	for _, f := range a.Facts {
		var text document.Text
		for i, l := range f.Lines {
			if i > 0 {
				text = append(text, document.Span{Look: document.NewLine})
			}
			text = append(text, document.Marked(document.Strong, l.Name), document.Plain(l.Value))
		}
		out.Rows = append(out.Rows, document.Term{Name: document.Words(f.Name), Blocks: document.Blocks{text}})
	}
	return out
}

// lanes are the drawing of the chain, which texts have as a list.
func (a *Answer) lanes() document.Blocks {
	figure := document.Group{ID: "totals", Look: "lanes", Blocks: document.Blocks{document.Drawing{Chart: *a.Lanes}}}
	if len(a.Lanes.Lanes) < 2 {
		return document.Blocks{figure}
	}
	chain := document.List{Label: "The cause and what hangs on it", Ordered: true}
	for i := range a.Lanes.Lanes {
		text := a.Lanes.Lanes[i].Figure + " " + a.Lanes.Lanes[i].Noun
		if role := a.Lanes.Lanes[i].Role; role != "" {
			text = role + ": " + text
		}
		chain.Items = append(chain.Items, document.Item{Blocks: document.Blocks{document.Words(strings.Join(append([]string{text}, a.Lanes.Lanes[i].Notes...), ", "))}})
	}
	return document.Blocks{figure, document.TextOnly{Blocks: document.Blocks{chain}}}
}

// groups are the largest groups of a dump.
func (a *Answer) groups() document.Blocks {
	if len(a.Groups) == 0 {
		return nil
	}
	table := document.Table{
		Look: "data largest", Label: "Largest groups", Caption: "The largest groups of the dump",
		Head: heads("Count*", "Share*", "Largest groups"), Parts: []document.Part{{}},
	}
	waits := slices.ContainsFunc(a.Groups, func(g AnswerGroup) bool { return g.Waits })
	if waits {
		table.Head = append(table.Head, heads("Oldest wait*")...)
	}
	for i := range a.Groups {
		g := &a.Groups[i]
		name := document.Blocks{g.Name.titleBlock()}
		if g.Process != "" {
			name.Add(document.Text{document.Marked(document.Muted, g.Process)})
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Look: "num", Text: document.Text{document.Marked(document.Strong, g.Count)}}, {Look: "num soft", Text: document.Words(g.Share)},
			{Header: true, Look: "fam", Blocks: name, Plain: strings.Join(nonEmpty(g.Name.Text(), g.Process), ", ")},
		}})
		if row := &table.Parts[0].Rows[i]; waits {
			row.Cells = append(row.Cells, document.Cell{Look: "num", Text: document.Words(g.Oldest)})
		}
	}
	out := document.Blocks{table}
	if a.GroupsNote != "" {
		out.Add(document.PageOnly{Blocks: document.Blocks{document.Paragraph{Look: "note", Text: document.Text{document.LinkTo("#h-all", a.GroupsNote)}}}})
	}
	return out
}

// copyPress copies the text of the element with this id. Without scripts it is not shown.
func copyPress(id string) document.Press {
	return document.Press{Look: "btn needs-js", Type: "button", Copy: document.ID(id), Text: "Copy"}
}

// lockBlocks returns who waits for whom in the last snapshot of each process.
func (c *Case) lockBlocks() document.Blocks {
	if len(c.Locks) == 0 {
		return nil
	}
	out := document.NewSection("h-lock", lockHead, c.Locks[0].Note)
	for _, g := range c.Locks {
		if len(c.Locks) > 1 || g.At != "" {
			out.Heading(3, strings.TrimSpace(g.Process+" "+g.At))
		}
		out.Add(factList(g.Lines))
		if g.URL != "" {
			out.Add(document.Paragraph{Look: "note noprint", Text: document.Text{document.LinkTo(g.URL, "Drawn, on the page of the snapshot")}})
		}
	}
	return document.Blocks{out}
}

// blocks are the further charts, drawn or behind links.
func (f *CaseCharts) blocks(shell *Shell) document.Blocks {
	if f == nil {
		return nil
	}
	out := document.NewSection("h-charts", "More charts", f.Note)
	out.Anchor = "charts"
	if len(f.Processes) > 0 {
		fold := document.Fold{Look: "morecharts", Open: f.Open, Summary: document.Words("Families, states and births over time")}
		for i := range f.Processes {
			fold.Add(f.Processes[i].group(i))
		}
		out.Add(fold)
	}
	if len(f.Links) > 0 {
		line := document.Paragraph{Look: "morelinks noprint"}
		for i, l := range f.Links {
			if i > 0 {
				line.Text = append(line.Text, document.Marked(document.Muted, " · "))
			}
			line.Text = append(line.Text, document.LinkTo(l.URL, l.Text))
		}
		if f.More != "" {
			line.Text = append(line.Text, document.Plain(" "), document.Marked(document.Muted, f.More))
		}
		out.Add(line)
	}
	return document.Blocks{out}
}

func (p *ProcessCharts) group(number int) document.Group {
	id := "h-pc" + strconv.Itoa(number)
	out := document.Group{Role: "section", Look: "proccharts", LabelledBy: document.ID(id)}
	out.Add(document.Heading{Level: 3, ID: document.ID(id), Text: document.Words(p.Process)})
	panel := func(title, note string, inside ...document.Block) {
		box := document.Group{Look: "panel"}
		box.Heading(4, title)
		box.Say("note", note)
		box.Add(inside...)
		out.Add(box)
	}
	for _, s := range p.Stacks {
		panel(s.Title, s.Note, document.Drawing{Chart: s.Chart})
	}
	if len(p.Births) == 0 {
		panel(p.BirthTitle, p.BirthNote)
		return out
	}
	minis := document.Group{Look: "minis"}
	for i := range p.Births {
		b := &p.Births[i]
		caption := document.Made("whole", b.Name.shortText()...)
		if b.Name.URL != "" {
			caption = document.Span{URL: b.Name.URL, Title: b.Name.Title.Full, Inside: b.Name.shortText(), Link: &document.Link{}}
		}
		minis.Add(document.Group{Role: "figure", Look: "mini", Blocks: document.Blocks{
			document.Group{Role: "caption", Blocks: document.Blocks{document.Text{caption}}}, document.Drawing{Chart: b.Chart}, document.Paragraph{Text: document.Words(b.Note)},
		}})
	}
	panel(p.BirthTitle, p.BirthNote, minis)
	return out
}

// objectBlocks are the kinds of objects of each process.
func (c *Case) objectBlocks() document.Blocks {
	out := document.NewSection("h-o", "Objects", "Things of the program with all their goroutines, proven by identity.")
	for _, g := range c.Objects {
		if len(c.Objects) > 1 {
			out.Heading(3, g.Process)
		}
		out.Add(objectTable(g.Process, g.Rows))
		if len(g.MoreRows) > 0 {
			out.Add(rest(wording.PagePlural(int64(len(g.MoreRows)), "more kind of objects", "more kinds of objects"), objectTable("further of "+g.Process, g.MoreRows)))
		}
		out.Say("note", g.Note)
	}
	return document.Blocks{out}
}

func objectTable(process string, rows []CaseObject) document.Table {
	out := document.Table{
		Look: "data objs", Label: "Objects, " + process, Caption: "Kinds of objects, " + process + ", those that rose most first",
		Head: heads("Objects", "Each", "Count", "Born*", "Ended*", "Held by", "Verdict"), Parts: []document.Part{{}},
	}
	out.Head[2].Span = 2
	for i := range rows {
		o := &rows[i]
		name := document.Span{Look: document.Function, Text: o.Name.Path + o.Name.Name, URL: o.URL}
		if o.URL != "" {
			name.Link = quietLink
		}
		cell := document.Cell{Header: true, Look: "fam", Title: o.Name.Full, Text: document.Text{name}}
		if o.Aside != "" {
			cell.Text, cell.Blocks = nil, document.Blocks{document.Text{name}, document.Paragraph{Look: "via", Text: document.Text{document.Marked(document.Breakable, o.Aside)}}}
		}
		spark := document.Cell{Look: "sp"}
		if o.Spark != nil {
			spark.Blocks = document.Blocks{document.Drawing{Chart: *o.Spark}}
		}
		out.Parts[0].Rows = append(out.Parts[0].Rows, document.Row{Cells: []document.Cell{
			cell, {Text: document.Words(o.Each)}, spark, {Text: document.Words(o.Course)}, {Look: "num", Text: document.Words(o.Born)}, {Look: "num", Text: document.Words(o.Ended)},
			{Look: "wrap", Text: document.Text{document.Marked(document.Breakable, o.HeldBy)}}, {Text: document.Text{document.Marked(document.Verdict, o.Verdict)}},
		}})
	}
	return out
}

// blocks show how far the reading of a bundle is. A script opens the page again at the end;
// without scripts the page does that by itself.
func (r *CaseReading) blocks() document.Blocks {
	if r == nil {
		return nil
	}
	bar := document.Bar{ID: "progress-bar", Label: "Read"}
	if r.Taken > 0 {
		bar.Value, bar.Max = r.Taken, r.Size
	}
	cancel := document.Form{Look: "act", Post: true, Action: r.Cancel, Blocks: keyBlocks(r.NeedsKey, "cancel")}
	cancel.Add(document.Press{Look: "btn", Text: "Cancel reading"}, document.Text{document.Marked(document.Muted, strings.TrimSpace("The answer appears here. This tab may be closed, reading goes on. "+r.Waiting))})
	return document.Blocks{document.Group{ID: "progress", Look: "sending", Events: r.Events, Poll: r.Poll, Blocks: document.Blocks{
		document.Paragraph{Look: "head", Text: document.Text{document.Plain("Reading "), document.LinkTo(r.URL, r.Name)}}, bar,
		document.Paragraph{ID: "progress-text", Text: document.Words(r.Text)}, document.Paragraph{ID: "progress-say", Look: document.Hidden, Role: "status"}, cancel,
	}}}
}

// section says of a case without a dump what is wrong, why, and what to do.
func (n *CaseNothing) section() document.Section {
	out := document.NewSection("h-why", "Why, and what to do", "")
	for _, f := range n.Files {
		out.End.Add(document.Text{document.LinkTo(f.URL, "Files of "+f.Text)})
	}
	list := document.Problems{}
	for _, p := range n.Problems {
		list.List = append(list.List, p.Block())
	}
	out.Add(list, document.Line{Look: "act", Blocks: document.Blocks{
		document.Text{document.LinkTo("/help#capture", "How to take a dump"), document.Plain(" "), document.LinkTo("/help#formats", "All that is read")},
	}})
	return out
}

// forms change the case.
func (c *Case) forms() document.Section {
	note := ""
	if c.Sample {
		note = "A sample that came with leakdiff."
	}
	out := document.NewSection("h-more", "This case", note, document.Group{Look: "forms", Blocks: document.Blocks{c.addForm(), c.Form.about(), c.Form.archive(), c.Form.remove()}})
	out.Look += " noprint"
	return out
}

// addForm adds files to the case.
func (c *Case) addForm() document.Form {
	out := document.Form{ID: "upload", Post: true, Files: true, Action: "/upload?case=" + c.ID, API: "/api/v1/bundles?case=" + c.ID, Cases: "/cases/", Bundles: "/bundles/"}
	out.Heading(3, "Add files")
	out.Add(keyBlocks(c.Form.NeedsKey, "add")...)
	first := "Another dump of the same process makes the series longer."
	if c.Nothing != nil {
		first = "A dump becomes the first of this case."
	}
	out.Add(
		document.Paragraph{Look: document.Muted, Text: document.Text{document.Plain(first + " "), document.Marked("needs-js", "Or drop files anywhere on this page.")}},
		document.Line{Look: "act", Blocks: document.Blocks{
			document.Field{Type: "file", Look: "field file", ID: "add", Name: "file", Label: "Add files", Several: true, Required: true}, document.Press{Look: "btn", Type: "submit", Text: "Upload"},
		}},
	)
	return out
}

// about returns what people keep about the case.
func (f *CaseForm) about() document.Form {
	out := document.Form{Look: "about", ID: "about", Post: true, Action: f.fieldsURL()}
	out.Heading(3, "About it")
	rows := document.Group{Look: "kv"}
	row := func(name, words, value string, field document.Field) {
		field.ID, field.Name, field.Value = document.ID("case-"+strings.ReplaceAll(name, "_", "-")), name, value
		if field.Look == "" {
			field.Look = "field"
		}
		rows.Add(label(document.ID(string(field.ID)), words), document.Group{Blocks: document.Blocks{document.Hide("was-"+name, value), field}})
	}
	row("title", "Title", f.Title, document.Field{Length: "300", Required: true})
	row("ticket", "Ticket, a number or an address", f.Ticket, document.Field{Length: "500"})
	row("modules", "Own modules, prefixes of functions", f.Modules, document.Field{Look: "field mono", Length: "2000", Placeholder: "example.com/shop main."})
	row("keep_members", "Days to keep members, empty for what the server keeps, 0 for ever", f.KeepMembers, document.Field{Length: "5", Placeholder: f.MembersKept, Mode: "numeric"})
	row("keep_uploads", "Days to keep uploads", f.KeepUploads, document.Field{Length: "5", Placeholder: f.UploadsKept, Mode: "numeric"})
	rows.Add(keyBlocks(f.NeedsKey, "about")...)
	out.Add(rows, document.Paragraph{Look: "note", Text: document.Text{document.LinkTo("/server?case="+f.ID, "What the policy would drop now")}}, submitLine("btn", "Save"))
	for _, b := range f.Before {
		out.Say("note", b.Name+" was "+b.Value+".")
	}
	return out
}

func (f *CaseForm) fieldsURL() string { return "/cases/" + f.ID + "/fields" }

func submitLine(look document.Look, text string) document.Line {
	return document.Line{Look: "act", Blocks: document.Blocks{document.Press{Look: look, Type: "submit", Text: text}}}
}

// archive takes the case out of the list, or back.
func (f *CaseForm) archive() document.Form {
	out := document.Form{Post: true, Action: f.fieldsURL(), Blocks: keyBlocks(f.NeedsKey, "archive")}
	press := document.Press{Look: "btn quiet", Name: "archived", Value: "yes", Text: "Archive this case"}
	if f.Archived {
		out.Say(document.Muted, "The list of cases does not show this case unless it is asked for archived ones.")
		press.Value, press.Text = "", "Take it out of the archive"
	}
	out.Add(document.Line{Look: "act", Blocks: document.Blocks{press}})
	return out
}

// remove deletes the case, and asks what becomes of its permalinks.
func (f *CaseForm) remove() document.Fold {
	form := document.Form{Look: "box", Post: true, Action: "/cases/" + f.ID + "/delete"}
	form.Paragraph("Deletes " + f.Holds + " and every uploaded file that no other case holds. This cannot be undone.")
	if f.Permalinks > 0 {
		choice := func(value, text string, chosen bool) document.Label {
			return document.Label{Look: "check", Blocks: document.Blocks{document.Field{Type: "radio", Name: "permalinks", Value: value, Checked: chosen}, document.Words(" " + text)}}
		}
		form.Add(document.Fieldset{Legend: document.Words(fmt.Sprintf("%d frozen results were made of it", f.Permalinks)), Blocks: document.Blocks{
			choice("withdraw", "withdraw them: their addresses answer 410", true), choice("keep", "keep them, without their raw lines", false),
		}})
	}
	form.Add(keyBlocks(f.NeedsKey, "delete")...)
	form.Add(pressLine("btn danger", "Delete "+f.Title))
	return confirm("Delete this case", form)
}
