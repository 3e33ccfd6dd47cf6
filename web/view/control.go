package view

import (
	"strconv"

	"leakdiff/analysis/say/document"
)

// Controls that several pages have.

// Blocks ask for families. What is wrong with the text stands below its field.
func (b FilterBox) Blocks() document.Blocks {
	form := document.Form{Look: "fbox", Role: "search", Label: "Filter families", Action: b.Anchor}
	for _, h := range b.Hidden {
		form.Add(document.Hide(h.Name, h.Value))
	}
	form.Add(document.Label{Look: "vh", For: "f", Blocks: document.Blocks{document.Words("Filter families")}})
	field := document.Field{ID: "f", Name: "q", Look: "field mono", Value: b.Text, Autocomplete: "off", Key: "/", KeyLabel: "go to the filter"}
	if b.Error != "" {
		field.Invalid, field.Describes = true, "f-error"
		form.Add(field, document.Paragraph{Look: "ferr", ID: "f-error", Role: "alert", Text: document.Text{
			document.Marked(document.Strong, "Column "+strconv.Itoa(b.Column)), document.Plain(" " + b.Error + ". The filter is not applied."),
			{Look: document.NewLine}, document.Made(document.Literal, document.Plain(b.Before), document.Marked(document.Wrong, b.Wrong)), document.Plain(" " + b.Hint),
		}})
		return document.Blocks{form}
	}
	field.Placeholder, field.Describes = "func:prober wait>10m delta>0 -pkg:net/http", "f-note"
	note := b.Note
	if note != "" {
		note += " "
	}
	form.Add(field, document.Paragraph{Look: "note", ID: "f-note", Text: document.Text{document.Plain(note), document.LinkTo("/help#filter", "Filter language")}})
	return document.Blocks{form}
}

// applied are the filter and the order of a page in words. A page shows them in its controls,
// which texts do not have.
func applied(words string) document.TextOnly {
	var out document.TextOnly
	out.Paragraph(words)
	return out
}

// tabs is a choice of one by links; of one there is nothing to choose.
func tabBlocks(label string, tabs []DiffTab) document.Blocks {
	if len(tabs) < 2 {
		return nil
	}
	out := document.Tabs{Label: label}
	for _, t := range tabs {
		out.List = append(out.List, document.Tab{Text: t.Text, URL: t.URL, Current: t.Current})
	}
	return document.Blocks{out}
}

// chooseBlocks is a select box of snapshots, and a field for the label of one that it does
// not offer.
func chooseBlocks(name, label, current string, groups []ChoiceGroup, more bool, byLabel string) document.Blocks {
	box := document.Select{Name: name, Label: label, Value: current, Key: document.ID(name), KeyLabel: "Choose " + label}
	for _, g := range groups {
		box.Groups = append(box.Groups, document.Choices{Name: g.Name, List: options(g.Choices)})
	}
	if !more {
		return document.Blocks{box}
	}
	return document.Blocks{box, document.Field{Look: "field find", Name: "find-" + name, Placeholder: "or its label", Label: byLabel + " by its label or id", Autocomplete: "off"}}
}

// sortCells are heads of columns that sort by link.
func sortCells(heads []DiffHead) []document.Cell {
	out := make([]document.Cell, len(heads))
	for i, h := range heads {
		out[i] = h.cell()
	}
	return out
}

func (h DiffHead) cell() document.Cell {
	out := document.Cell{Sort: document.ID(h.Sort)}
	if h.Numeric {
		out.Look = document.Figured
	}
	word := document.Span{Text: h.Text}
	switch h.Mark {
	case "a":
		word = document.Marked(document.Side, "A")
	case "b":
		word = document.Marked(document.Side, "B")
	}
	out.Text = document.Text{word}
	if h.Arrow != "" {
		out.Text = append(out.Text, document.Plain(" "), document.Marked(document.Glyph, h.Arrow))
	}
	if h.URL != "" {
		out.Text = document.Text{{URL: h.URL, Link: quietLink, Inside: out.Text}}
	}
	return out
}

// orNone prints n/a quietly.
func orNone(text string) document.Text {
	if text == "n/a" {
		return document.Text{document.Marked(document.Muted, text)}
	}
	return document.Words(text)
}

// stateText is the legend of a states bar: swatch, state, count.
func stateText(states []State) document.Text {
	var out document.Text
	for i, s := range states {
		out = append(out, document.Made("stw", document.Marked(document.Swatch, strconv.Itoa(min(i, 4)+1)), document.Plain(s.Name+" "), document.Marked(document.Figured, s.Count)), document.Plain(" "))
	}
	return out
}

// pictureLink leads from a chart to the same chart as a file, on pages whose charts are files.
func pictureLink(chartID, what string) document.Text {
	return document.Text{{Look: document.Picture, Text: chartID, Title: what + " as SVG"}}
}
