package view

import (
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// openFindings is the number of findings a case shows at once; the rest is one click away, so
// that a page of thirty still has an end.
const openFindings = 6

// findingBlocks are the findings: the first ones open, the others folded or in a line.
func (c Case) findingBlocks() document.Blocks {
	var out document.Blocks
	if len(c.Findings) == 0 {
		if len(c.Quiet) == 0 {
			out.Say("empty", "No finding: there is no series to judge yet.")
		}
		for _, q := range c.Quiet {
			out.Say("empty", q)
		}
		return append(out, c.setAside()...)
	}
	out.Add(c.findings(0, min(len(c.Findings), openFindings)))
	if more := len(c.Findings) - openFindings; more > 0 {
		out.Add(rest(wording.PagePlural(int64(more), "more finding", "more findings"), c.findings(openFindings, len(c.Findings))))
	}
	if len(c.Listed) > 0 {
		out.Add(c.listed())
	}
	for _, q := range c.Quiet {
		out.Say("note", q)
	}
	for _, d := range c.Doubts {
		doubt := labelled(openWords+d.Name, d.Value)
		doubt.Look = "note"
		out.Add(doubt)
	}
	return append(out, c.setAside()...)
}

// rest returns what a page folds because it is long.
func rest(summary string, blocks ...document.Block) document.Fold {
	return document.Fold{Look: "rest", Summary: document.Words(summary), Rest: true, Blocks: blocks}
}

func (c *Case) findings(from, to int) document.List {
	out := document.List{Look: "findings", Ordered: true}
	if first := c.Before + from + 1; first > 1 {
		out.Start = first
	}
	for i := from; i < to; i++ {
		out.Items = append(out.Items, c.finding(&c.Findings[i]))
	}
	return out
}

// listed are findings in a line, those of other pages with their address.
func (c *Case) listed() document.Fold {
	list := document.List{Look: "plain-list"}
	for _, l := range c.Listed {
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{document.Text{
			document.Plain(l.Number + ". "), document.LinkTo(l.URL, l.Title), document.Plain(" "), document.Marked(document.Verdict, l.Verdict), document.Plain(" "), document.Marked(document.Chip, l.Process),
		}}})
	}
	out := rest(wording.PagePlural(int64(len(c.Listed)), "finding in a line", "findings in a line"), list)
	out.Say("note", c.ListedNote)
	return out
}

// setAside are the findings that somebody called benign.
func (c *Case) setAside() document.Blocks {
	if len(c.SetAside) == 0 {
		return nil
	}
	list := document.List{Look: "plain-list"}
	for _, a := range c.SetAside {
		text := document.Text{document.Marked(document.Strong, a.Title), document.Plain(" "), document.Marked(document.Muted, a.Process+", "+a.Verdict+"."), document.Plain(" " + a.Text)}
		for _, l := range a.Families {
			text = append(text, document.Plain(" "), document.LinkTo(l.URL, l.Text))
		}
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{text}})
	}
	return document.Blocks{document.Fold{Look: "rest", Summary: document.Words(wording.PagePlural(int64(len(c.SetAside)), "finding", "findings") + " marked benign"), Blocks: document.Blocks{list}}}
}

// finding is one finding with its proof, its stack and what to do.
func (c *Case) finding(f *CaseFinding) document.Item {
	var body document.Group
	body.Add(c.findingHead(f), document.Paragraph{Look: "tags", Text: f.tags()})
	body.Say("text soft", f.TriageText)
	body.Say("text soft", f.Memory)
	body.Add(document.Paragraph{Look: "text", Text: document.Words(f.Text)})
	if len(f.Evidence) > 0 {
		body.Add(evidenceTerms(f.Evidence))
	}
	if len(f.MoreEvidence) > 0 {
		body.Add(document.Fold{Look: "more", Summary: document.Words(wording.PagePlural(int64(len(f.MoreEvidence)), "more reason", "more reasons")), Rest: true, Blocks: document.Blocks{evidenceTerms(f.MoreEvidence)}})
	}
	if len(f.Versions) > 0 {
		body.Add(f.versions())
	}
	if f.Answered && c.Answer != nil && len(c.Answer.Opened) > 0 {
		body.Add(document.TextOnly{Blocks: stackBlocks(f.Stack)}) // a page unfolds the frames that the answer leaves out
	} else {
		body.Add(stackBlocks(f.Stack)...)
	}
	if len(f.Shares) > 0 {
		body.Add(document.Fold{Look: "more", Summary: document.Words(f.ShareHead), Blocks: document.Blocks{shareList(f.Shares)}})
	}
	body.Add(KnownBoxes(f.Advice, f.Known, f.KnownNote)...)
	if f.Next != "" && !(f.Answered && c.Answer != nil && c.Answer.Do != nil) {
		body.Add(document.Paragraph{Look: "next", Text: document.Text{document.Marked(document.Named, report.DoThis), document.Plain(" " + f.Next)}})
	}
	open := func(url, text string) {
		body.Add(document.Paragraph{Look: "next noprint", Text: document.Text{document.LinkTo(url, text)}})
	}
	if f.Object != nil && f.Object.URL != "" {
		open(f.Object.URL, "Open the objects")
	}
	if len(f.Families) > 0 && f.Families[0].URL != "" {
		word := "Open family"
		if len(f.Families) > 1 {
			word = "Open the first family"
		}
		open(f.Families[0].URL, word)
	}
	if len(f.Behind) > 0 {
		behind := document.List{Look: "findings", Ordered: true}
		for i := range f.Behind {
			behind.Items = append(behind.Items, c.finding(&f.Behind[i]))
		}
		body.Add(document.Fold{Look: "more", Summary: document.Words(wording.PagePlural(int64(len(f.Behind)), "finding stands behind it", "findings stand behind it")), Blocks: document.Blocks{behind}})
	}
	return document.Item{Look: "finding", ID: document.ID(f.Anchor), Blocks: document.Blocks{document.Text{document.Marked(document.Number, f.Number)}, body}}
}

// versions is the table of the versions of the program.
func (f *CaseFinding) versions() document.Table {
	table := document.Table{Look: "data", Label: "Versions, finding " + f.Number, Caption: "Growth and verdict of each version", Head: heads(report.VersionHead()...), Parts: []document.Part{{}}}
	for _, row := range f.Versions {
		var out document.Row
		for i, cell := range row {
			out.Cells = append(out.Cells, document.Cell{Header: i == 0, Text: document.Words(cell), Name: report.VersionHead()[i]})
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, out)
	}
	return table
}

// findingHead is the title with the small line of the members.
func (c *Case) findingHead(f *CaseFinding) document.Group {
	title := f.Title
	if f.Answered {
		title = "What the answer rests on"
	}
	out := document.Group{Look: "fh", Blocks: document.Blocks{document.Heading{Level: 3, Text: document.Text{document.Marked(document.Breakable, title)}}}}
	if f.Spark == nil {
		return out
	}
	course := f.Course
	if course == "" {
		course = f.From + " → " + f.Peak
		if f.To != f.Peak {
			course += " → " + f.To
		}
	}
	figures := append(document.Words(course+" "), pictureLink(f.Spark.ID, "This line")...)
	out.Add(document.Group{Look: "fs", Blocks: document.Blocks{document.Drawing{Chart: *f.Spark}, document.Text{document.Made("num", figures...)}}})
	return out
}

func (f *CaseFinding) tags() document.Text {
	out := document.Text{document.Marked(document.Judged, f.Verdict), document.Marked(document.Chip, f.Process)}
	unit := f.Unit
	if unit != "" {
		unit = "unit " + unit
	}
	for _, word := range append([]string{f.Kind, unit, f.Each}, f.Classes...) {
		if word != "" {
			out = append(out, document.Marked(document.Chip, word))
		}
	}
	if f.Triage != "" {
		out = append(out, document.Marked(document.Mark, f.Triage))
	}
	return out
}

func evidenceTerms(all []Pair) document.Terms {
	out := said(all)
	out.Look = "ev"
	return out
}

// shareList lists families with what is said of each.
func shareList(rows []CaseShare) document.List {
	out := document.List{Look: "seen"}
	for i := range rows {
		item := document.Item{Blocks: document.Blocks{rows[i].Name.titleBlock(), document.Paragraph{Look: "note", Text: document.Words(rows[i].Facts)}}}
		if rows[i].Reason != "" {
			item.Add(document.Paragraph{Look: document.Soft, Text: document.Text{document.Marked(document.Breakable, rows[i].Reason)}})
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// sideBlocks say what the case is made of: bundles, identity, problems.
func (c Case) sideBlocks() document.Blocks {
	out := document.Group{Role: "complementary", Look: "facts", Label: "About this case"}
	// A ticket names the processes, and links to what was read of them.
	var made document.PageOnly
	if len(c.Bundles) > 0 {
		bundles := document.Terms{}
		for _, b := range c.Bundles {
			status := b.Status
			if b.Reading {
				status = "reading"
			}
			bundles.Rows = append(bundles.Rows, document.Term{Name: document.Words(status), Blocks: document.Blocks{document.Text{
				document.LinkTo(b.URL, b.Name), {Look: document.NewLine}, document.Marked(document.Muted, b.Size+", "+b.Snapshots+", "+b.Problems),
			}}})
		}
		made.Heading(3, "Bundles")
		made.Add(bundles)
		made.Say(document.Muted, c.BundlesNote)
	}
	if !c.Frozen {
		made.Add(document.Paragraph{Look: "act", Text: document.Text{document.LinkButton("btn", "/cases/"+c.ID+"/identity", "Correct identity and times")}})
	}
	for _, id := range c.Identity {
		made.Heading(3, id.Process)
		facts := said(id.Facts)
		facts.Look = ""
		made.Add(facts)
	}
	out.Add(made, document.TextOnly{Blocks: document.Blocks{document.Heading{Level: 2, Text: document.Words("Files")}}})
	if len(c.NotSeen) > 0 {
		out.Heading(3, "Not seen")
		for _, n := range c.NotSeen {
			out.Say(document.Muted, n)
		}
	}
	out.Heading(3, "Problems")
	if c.ProblemCount == 0 {
		out.Say(document.Muted, "None: everything that was recognised was understood.")
		return document.Blocks{out}
	}
	problems := document.List{Look: "probs"}
	for i := range c.Problems {
		problems.Items = append(problems.Items, document.Item{Blocks: document.Blocks{c.Problems[i].fold()}})
	}
	out.Add(problems)
	if c.MoreProblems > 0 {
		out.Say(document.Muted, "and "+wording.Number(int64(c.MoreProblems))+" more kinds; the page of each bundle lists them all.")
	}
	return document.Blocks{out}
}

// fold is a problem in the narrow column: what and how often, the rest on opening.
func (p *Problem) fold() document.Fold {
	out := document.Fold{Summary: document.Words(p.What)}
	if p.Count > 1 {
		out.Summary = append(out.Summary, document.Plain(" "), document.Marked(document.Muted, "("+wording.Number(int64(p.Count))+")"))
	}
	for _, w := range p.Where {
		out.Say("at", w.Text)
	}
	out.Say("at", p.More)
	out.Say(document.Muted, p.Why)
	if p.Hint != "" {
		out.Add(labelled("Do", p.Hint))
	}
	return out
}
