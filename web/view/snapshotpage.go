package view

import (
	"fmt"

	"leakdiff/analysis/say/document"
)

// Page is the page of the snapshot.
func (s Snapshot) Page() Page {
	out := Page{Shell: s.Shell}
	d := &out.Body
	hero := document.Group{Role: "header", Look: "hero"}
	hero.Title(s.Headline)
	hero.Add(document.Paragraph{Look: "soft sub", Text: document.Words(s.Lead)})
	d.Add(hero)
	for _, m := range s.Minds {
		d.Mind(m)
	}
	d.Add(s.steps()...)
	figures := document.Figures{}
	for _, t := range s.Totals {
		figures.Rows = append(figures.Rows, document.Figure{Value: t.Value, Text: t.Name})
	}
	d.Add(figures)
	if s.StatesBar != nil {
		line := document.Group{Look: "statesline"}
		line.Add(document.Heading{Level: 2, Look: document.Hidden, Text: document.Words("States")}, document.Drawing{Chart: *s.StatesBar},
			document.Paragraph{Look: "legendline", Text: append(stateText(s.States), pictureLink(s.StatesBar.ID, "States")...)})
		d.Add(line)
	}
	if len(s.Facts) > 0 {
		d.Add(document.NewSection("h-fact", "What this snapshot proves alone", "", factList(s.Facts)))
	}
	if s.Locks != nil {
		d.Add(s.locks())
	}
	for i := range s.Contention {
		d.Add(s.Contention[i].section(fmt.Sprintf("h-contention-%d", i+1)))
	}
	if s.Flame != nil {
		flame := document.NewSection("h-flame", "Flame graph", s.FlameNote, flameLegend(s.FlameLegend), document.Drawing{Chart: *s.Flame})
		if s.FlameURL != "" {
			flame.End.Add(document.Paragraph{Look: "end", Text: document.Text{document.LinkTo(s.FlameURL, "Open the flame graph")}})
		}
		d.Add(flame)
	}
	d.Add(s.families())
	if s.Waits != nil {
		d.Add(document.NewSection("h-wait", "Waiting at least, minutes", s.WaitNote, document.Drawing{Chart: *s.Waits}))
	}
	d.Add(document.Group{Look: "cols2 below", Blocks: document.Blocks{s.sources(), s.facts()}})
	return out
}

// steps lead to the neighbours in time.
func (s *Snapshot) steps() document.Blocks {
	if s.Previous == nil && s.Next == nil {
		return nil
	}
	nav := document.Group{Role: "navigation", Look: "steps", Label: "Neighbours in time"}
	if s.Previous != nil {
		nav.Add(document.Text{{URL: s.Previous.URL, Text: "← " + s.Previous.Text, Link: &document.Link{Rel: "prev"}}})
	}
	if s.Next != nil {
		nav.Add(document.Text{{URL: s.Next.URL, Text: s.Next.Text + " →", Link: &document.Link{Rel: "next"}}})
	}
	return document.Blocks{nav}
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

// flameLegend explains the looks of boxes, which texts do not have.
func flameLegend(keys []FlameKey) document.PageOnly {
	var out document.Text
	for _, k := range keys {
		out = append(out, document.Made("stw", document.Marked(document.Box, k.Look), document.Plain(k.Text)))
	}
	return document.PageOnly{Blocks: document.Blocks{document.Paragraph{Look: "legendline", Text: out}}}
}

// locks returns who waits for whom.
func (s *Snapshot) locks() document.Section {
	lines := document.Group{Look: "panel", Blocks: document.Blocks{factList(s.Locks.Lines)}}
	both := document.Group{Look: "cols2", Blocks: document.Blocks{lines}}
	if len(s.Locks.Shapes) > 0 {
		drawn := document.Group{Look: "panel"}
		for _, x := range s.Locks.Shapes {
			drawn.Heading(3, x.Title)
			drawn.Add(document.Drawing{Chart: x}, pictureLink(x.ID, x.Title))
		}
		both.Add(drawn)
	}
	return document.NewSection("h-lock", lockHead, s.Locks.Note, both)
}

func (s *Snapshot) families() document.Section {
	out := document.NewSection("h-fam", "Families", s.FamiliesNote)
	if s.Frozen {
		out.Say("note", s.Applied)
	} else {
		out.Add(s.tools(), applied(s.Applied))
	}
	if len(s.Families) > 0 {
		out.Add(s.table(s.Families, "Families"))
	}
	if len(s.Single) > 0 {
		out.Add(document.Fold{Look: "rest", Summary: document.Words(s.SingleNote), Blocks: document.Blocks{s.table(s.Single, "Families with one member")}})
	}
	return out
}

// tools choose families, and another snapshot to compare with.
func (s *Snapshot) tools() document.Group {
	out := document.Group{Look: "tools", Blocks: s.Box.Blocks()}
	out.Add(tabBlocks("Kind", s.Tabs)...)
	if len(s.Others) > 0 {
		form := document.Form{Look: "compare inline", Action: "/diff-pick"}
		form.Add(document.Hide("case", s.CaseID), document.Hide("b", s.ID), document.Text{document.Marked(document.Muted, "Compare with")})
		form.Add(chooseBlocks("a", "Compare this snapshot with", "", s.Others, s.MoreOthers, "Compare this snapshot with another one")...)
		form.Add(document.Press{Look: "btn primary", Type: "submit", Text: "Compare", Key: "d", KeyLabel: "Compare with the chosen snapshot"})
		out.Add(form)
	}
	return out
}

func (s *Snapshot) table(families []SnapshotFamily, name string) document.Table {
	out := document.Table{Look: "data sfam", Label: "Table: " + name, Caption: name + " of this snapshot", Head: sortCells(s.Heads), Parts: []document.Part{{Rows: make([]document.Row, len(families))}}}
	for i := range families {
		f := &families[i]
		var named document.Blocks
		if f.Triage != "" {
			named.Add(document.Text{document.Marked(document.Mark, f.Triage)})
		}
		named.Add(f.Name.titleBlock(), f.Name.byBlock())
		states := document.Cell{Look: "stt none", Name: "States", Blocks: document.Blocks{document.Text{document.Marked(document.Muted, "n/a")}}}
		if f.States != "" {
			states.Look, states.Blocks = "stt", document.Blocks{document.Text{document.Marked(document.Muted, f.States)}}
		}
		if f.Bar != nil {
			states.Blocks = append(document.Blocks{document.Drawing{Chart: *f.Bar}}, states.Blocks...)
		}
		out.Parts[0].Rows[i].Cells = []document.Cell{
			{Look: "fam", Blocks: named, Plain: marked(f.Name.Text(), f.Triage) + ", " + f.Name.Kind}, {Look: "num", Name: "Members", Text: document.Words(f.Count)}, {Look: "num soft", Name: "Share", Text: document.Words(f.Share)},
			states, {Look: "num soft", Name: "Oldest wait", Text: orNone(f.Wait)},
		}
	}
	return out
}

// sources are the files that were read, with their problems.
func (s *Snapshot) sources() document.Group {
	files := document.NewSection("h-art", "Read from", "")
	if len(s.Artifacts) == 0 {
		files.Say("empty", "No file is known for this snapshot.")
	}
	list := document.List{Look: "arts"}
	for _, a := range s.Artifacts {
		item := document.Item{}
		item.Add(document.Text{document.Made("path", document.LinkTo(a.URL, a.Path)), document.Plain(" "), document.Marked(document.Muted, a.Outcome+", "+a.Size)},
			document.Paragraph{Look: document.Soft, Text: document.Text{document.Marked(document.Strong, a.Kind), document.Plain(" "), document.Marked(document.Confidence, a.Confidence), document.Plain(" " + a.Reason)}})
		list.Items = append(list.Items, item)
	}
	files.Add(list)
	problems := document.NewSection("h-prob", "Problems", "")
	if len(s.Problems) == 0 {
		problems.Say("empty", "None: every line of these files was understood.")
	} else {
		problems.Add(problemBlock("", s.Problems))
	}
	return document.Group{Blocks: document.Blocks{files, problems}}
}

// facts are the identity with its sources, and figures.
func (s *Snapshot) facts() document.Group {
	who := document.Terms{}
	for _, f := range s.Identity {
		value := document.Text{document.Plain(f.Value + " "), document.Marked(document.Confidence, f.Confidence)}
		if f.Source != "" {
			value = append(value, document.Span{Look: document.NewLine}, document.Marked(document.Muted, f.Source))
		}
		who.Rows = append(who.Rows, document.Term{Name: document.Words(f.Name), Blocks: document.Blocks{value}})
	}
	out := document.Group{Role: "complementary", Look: "facts", Label: "Identity and figures", Blocks: document.Blocks{document.NewSection("h-id", "Identity", "", who)}}
	if len(s.Figures) > 0 {
		figures := document.Terms{Look: "wide"}
		for _, f := range s.Figures {
			row := f.term()
			row.Look = document.Figured
			figures.Rows = append(figures.Rows, row)
		}
		out.Add(document.NewSection("h-fig", "Limits and metrics", "", figures))
	}
	return out
}
