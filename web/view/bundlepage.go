package view

import (
	"strconv"
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Inventory returns what was found in a bundle that was read, what can be done with it, and the
// processes of its case.
func (b Bundle) Inventory() document.Blocks {
	var out document.Blocks
	if len(b.Figures) > 0 {
		figures := document.Group{Look: "figs"}
		for _, f := range b.Figures {
			figures.Add(document.Group{Blocks: document.Blocks{document.Text{document.Marked("big", f.Value), document.Plain(f.Text)}}})
		}
		out.Add(figures)
	}
	out.Add(b.actions())
	if !b.Unread {
		out.Add(b.contents(), b.problems())
	}
	out = append(out, b.Uploaded()...)
	if b.Processes != nil {
		out = append(out, b.Processes.blocks()...)
	}
	return out
}

// actions open the case, read the bundle again and remove it.
func (b *Bundle) actions() document.Group {
	out := document.Group{Look: "act"}
	if b.CaseID != "" {
		out.Add(document.Text{document.LinkButton("btn primary", "/cases/"+b.CaseID, "Open the case")})
	}
	if b.Processes != nil {
		out.Add(document.Text{document.LinkButton("btn quiet", "#processes", "Processes and times")})
	}
	switch {
	case b.Dropped:
	case b.NeedsKey:
		out.Add(confirm("Read again", document.Form{Look: "box", Post: true, Action: b.URL("/read"), Blocks: append(keyBlocks(true, "read"), pressLine("btn", "Read it again"))}))
	default:
		out.Add(document.Form{Post: true, Action: b.URL("/read"), Blocks: document.Blocks{document.Press{Look: "btn", Text: "Read again"}}})
	}
	remove := document.Form{Look: "box", Post: true, Action: b.URL("/remove")}
	remove.Paragraph("Removes its snapshots from the case, and its files from the disk unless another case holds them. Shared results stay as they are.")
	remove.Add(keyBlocks(b.NeedsKey, "remove")...)
	remove.Add(pressLine("btn danger", "Remove "+b.Name))
	out.Add(confirm("Remove this bundle", remove))
	return out
}

// confirm opens a form that asks once more.
func confirm(word string, form document.Form) document.Fold {
	return document.Fold{Look: "confirm", SummaryLook: "btn quiet", Summary: document.Words(word), Blocks: document.Blocks{form}}
}

func pressLine(look document.Look, text string) document.Line {
	return document.Line{Look: "act", Blocks: document.Blocks{document.Press{Look: look, Text: text}}}
}

// keyBlocks ask for the owner key where one is needed.
func keyBlocks(needed bool, id document.ID) document.Blocks {
	if !needed {
		return nil
	}
	return document.Blocks{label("key-"+id, "Owner key of the case"), document.Field{Look: "field mono", ID: "key-" + id, Name: "key", Type: "password", Autocomplete: "off", Required: true}}
}

// contents is the tree of files.
func (b *Bundle) contents() document.Section {
	out := document.Section{Look: "block", Anchor: "files", ID: "files-title", Title: document.Words("Files"), Note: document.Words("Kinds are found by content, the reason stands beside each.")}
	if !b.Dropped {
		out.Note = append(out.Note, document.Plain(" Follow a kind to choose another one."))
	}
	tabs := document.Tabs{Look: "end", Label: "Show"}
	for _, t := range b.Tabs {
		tabs.List = append(tabs.List, document.Tab{Text: t.Name + " " + t.Count, URL: t.URL, Current: t.Current})
	}
	out.End.Add(tabs)
	if b.ReadAs != nil {
		out.Add(b.readAs())
	}
	if b.Nothing != "" {
		out.Say("empty", b.Nothing)
		return out
	}
	head := document.Text{document.Marked("word", "Path"), document.Marked("num word", "Bytes"), document.Marked("word", "Kind"), document.Marked("word", "Sure"), document.Marked("word", "Reason"), document.Marked("word", "Read")}
	out.Add(document.Group{Look: "tree", Blocks: document.Blocks{document.Paragraph{Look: "row head", Text: head, Silent: true}, nodeList(b.Tree)}})
	if b.FilesLeft > 0 {
		out.Paragraph(wording.PagePlural(int64(b.FilesLeft), "more file is", "more files are") + " not shown here; the inventory of the API lists all.")
	}
	return out
}

// readAs chooses as what a file is read; the bundle is then read again.
func (b *Bundle) readAs() document.Form {
	f := b.ReadAs
	kinds := []document.Choice{{Text: "as it is recognised"}}
	for _, k := range f.Kinds {
		kinds = append(kinds, document.Choice{Value: k, Text: k})
	}
	line := document.Line{Look: "act", Blocks: document.Blocks{label("as-kind", "Kind"), document.Select{ID: "as-kind", Name: "kind", Value: f.Kind, Groups: []document.Choices{{List: kinds}}}}}
	line.Add(keyBlocks(b.NeedsKey, "kind")...)
	line.Add(document.Press{Look: "btn", Type: "submit", Text: "Read the bundle again"})
	out := document.Form{Look: "box", ID: "as", Post: true, Action: b.URL("/kind")}
	out.Heading(3, "Read "+f.Name+" as another kind")
	out.Paragraph(f.Recognised)
	out.Add(document.Hide("path", f.Path), line)
	return out
}

// nodeList lists files and directories, which open.
func nodeList(nodes []*TreeNode) document.List {
	var out document.List
	for _, n := range nodes {
		depth := " l" + strconv.Itoa(min(max(n.Depth, 0), 8)) // deeper than eight levels look like eight
		item := document.Item{}
		if n.Directory {
			item.Add(document.Fold{
				Open: n.Open, SummaryLook: document.Look("row dir" + depth),
				Summary: document.Text{document.Marked("path", n.Name), document.Marked("num word", n.Size), document.Marked("why", n.Reason), n.outcome()},
				Blocks:  document.Blocks{nodeList(n.Children)},
			})
		} else {
			item.Add(document.Group{Look: document.Look("row" + depth), Blocks: n.cells()})
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// cells are the columns of a file.
func (n *TreeNode) cells() document.Blocks {
	kind := document.Marked("kind", n.Kind)
	if n.As != "" {
		kind = document.Span{URL: n.As, Text: n.Kind, Title: "Read it as another kind", Link: &document.Link{Look: "kind quiet"}}
	}
	cell := func(look document.Look, t ...document.Span) document.Group {
		return document.Group{Look: look, Blocks: document.Blocks{document.Text(t)}}
	}
	return document.Blocks{
		cell("path", document.LinkTo(n.URL, n.Name)), cell("num", document.Plain(n.Size), document.Marked(document.Hidden, "bytes")), document.Text{kind},
		cell("sure", document.Marked(document.Confidence, n.Confidence)), document.Text{document.Marked("why", n.Reason), n.outcome()},
	}
}

// outcome returns how reading a file ended.
func (n *TreeNode) outcome() document.Span {
	glyph := "–"
	switch n.Status {
	case "read":
		glyph = "✓"
	case "problem", "failed":
		glyph = "!"
	case "note":
		glyph = "i"
	}
	return document.Span{Look: document.Outcome, Glyph: glyph, Text: n.Outcome}
}

func (b *Bundle) problems() document.Section {
	out := document.NewSection("problems", "Problems", b.ProblemSum)
	if len(b.Problems) == 0 {
		out.Say("empty", "Every line was read.")
	} else {
		out.Add(problemBlock("", b.Problems))
	}
	return out
}

// heads are the heads of columns; one that ends in a star is of figures.
func heads(words ...string) []document.Cell {
	out := make([]document.Cell, len(words))
	for i, w := range words {
		word, figures := strings.CutSuffix(w, "*")
		if out[i].Text = document.Words(word); figures {
			out[i].Look = document.Figured
		}
	}
	return out
}

// Uploaded lists the files of a bundle as they came.
func (b Bundle) Uploaded() document.Blocks {
	out := document.NewSection("uploaded", "As uploaded", b.FilesNote)
	if len(b.Files) == 0 {
		out.Say("empty", "Nothing is kept of this bundle.")
		return document.Blocks{out}
	}
	table := document.Table{Look: "data uploads", Label: "Files as uploaded", Caption: "Files as uploaded", Head: heads("File", "Size*", "SHA-256"), Parts: []document.Part{{}}}
	for _, f := range b.Files {
		name := document.Blocks{document.Text{{URL: f.URL, Text: f.Name, Link: &document.Link{Download: true}}}}
		if f.URL == "" {
			name = document.Blocks{document.Words(f.Name)}
		}
		if f.Damage != "" {
			name = document.Blocks{document.Words(f.Name), document.Group{Look: "by", Blocks: document.Blocks{document.Words(f.Damage)}}}
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Blocks: name}, {Look: document.Figured, Text: document.Words(f.Size)}, {Text: document.Text{document.Marked(document.Literal, f.SHA256)}},
		}})
	}
	out.Add(table)
	return document.Blocks{out}
}
