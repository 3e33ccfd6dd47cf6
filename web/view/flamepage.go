package view

import (
	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

// Page is the page of a flame graph, of one snapshot or of a pair.
func (f Flame) Page() Page {
	out := Page{Shell: f.Shell}
	b := &out.Body
	head := document.Group{Role: "header", Look: "hero"}
	head.Add(document.Heading{Level: 1, Look: "small", Text: document.Text{document.Marked(document.Breakable, f.Headline)}}, document.Paragraph{Look: "soft sub", Text: document.Words(f.Lead)})
	b.Add(head)
	for _, m := range f.Minds {
		b.Mind(m)
	}
	title, end := "Flame graph", "Families below this box"
	if f.Called {
		title, end = "Callers and callees", "Families with this function"
	}
	graph := document.NewSection("h-flame", title, f.Note)
	if !f.Frozen {
		graph.Add(f.tools())
	}
	if len(f.Path) > 1 {
		graph.Add(flamePath(f.Path))
	}
	if f.Through.URL != "" {
		graph.Add(document.Paragraph{Look: "note noprint", Text: document.Text{document.LinkTo(f.Through.URL, f.Through.Text)}})
	}
	if f.FilterFound != "" {
		graph.Add(document.Paragraph{Look: "note", Role: "status", Text: document.Words(f.FilterFound)})
	}
	if f.Chart == nil {
		graph.Say("empty", f.Empty)
	} else {
		graph.Add(flameLegend(f.Legend))
		if !f.Frozen {
			graph.Add(document.Text{document.LinkButton("skip inplace", "#h-ends", "Skip the boxes of the graph")})
		}
		graph.Add(document.Drawing{Chart: *f.Chart, Main: true})
	}
	ends := document.NewSection("", "", "")
	ends.ID, ends.Title, ends.Note, ends.Target = "h-ends", document.Words(end), document.Words(f.EndNote), true
	if len(f.Ends) == 0 {
		ends.Say("empty", "None: no stack leads here.")
	} else {
		list := document.List{Look: "seen ends"}
		for i := range f.Ends {
			list.Items = append(list.Items, document.Item{Blocks: document.Blocks{
				document.Text{document.Marked(document.Figured, f.Ends[i].Count)}, document.Group{Blocks: document.Blocks{f.Ends[i].Name.titleBlock()}},
			}})
		}
		ends.Add(list)
	}
	b.Add(graph, ends)
	b.Add(f.functionSection()...)
	return out
}

func (f *Flame) tools() document.Group {
	form := document.Form{Look: "fbox", Role: "search", Label: "Mark functions"}
	for _, h := range f.Hidden {
		form.Add(document.Hide(h.Name, h.Value))
	}
	form.Add(document.Label{For: "f", Look: document.Hidden, Blocks: document.Blocks{document.Words("Mark functions whose name contains")}},
		document.Field{ID: "f", Name: "q", Look: "field mono", Value: f.Filter, Placeholder: "mark functions: part of a name", Autocomplete: "off"})
	out := document.Group{Look: "tools", Blocks: document.Blocks{form}}
	choice := func(label, word string, tabs []DiffTab) {
		if len(tabs) < 2 {
			return
		}
		box := document.Group{Look: "choice"}
		if word != "" {
			box.Add(document.Text{document.Marked(document.Muted, word)})
		}
		box.Add(tabBlocks(label, tabs)...)
		out.Add(box)
	}
	choice("Kind", "", f.Tabs)
	choice("State", "state", f.States)
	choice("Width of a box", "width", f.Widths)
	choice("Order", "order", f.Orders)
	return out
}

// flamePath leads from the root to the box of the page.
func flamePath(path []Link) document.Group {
	list := document.List{Ordered: true}
	for i, l := range path {
		text := document.Text{document.LinkTo(l.URL, l.Text)}
		if i == len(path)-1 && l.URL == "" {
			text = document.Text{document.Marked(document.Strong, l.Text)}
		}
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{text}})
	}
	return document.Group{Role: "navigation", Look: "fpath", Label: "Path to this box", Blocks: document.Blocks{list}}
}

// flameLegend explains the looks of boxes, which texts do not have.
func flameLegend(keys []FlameKey) document.PageOnly {
	var out document.Text
	for _, k := range keys {
		out = append(out, document.Made("stw", document.Marked(document.Box, k.Look), document.Plain(k.Text)))
	}
	return document.PageOnly{Blocks: document.Blocks{document.Paragraph{Look: "legendline", Text: out}}}
}

// FlameTable is the table beside the graph of a page.
func FlameTable(body document.Document) (head []string, rows [][]string) {
	head = []string{"Function"}
	body.Walk(func(b document.Block) {
		if d, ok := b.(document.Drawing); ok {
			if f, ok := d.Chart.(chart.FlameData); ok {
				head, rows = f.Cells()
			}
		}
	})
	return head, rows
}
