package view

import (
	"fmt"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// HeapTable is what the heap of a process holds, by function, class or space.
type HeapTable struct {
	Head, Note string
	// Unit is what a row is of. First is set if two captures are compared, Objects if objects are
	// counted.
	Unit           string
	First, Objects bool
	Rows           []HeapCells
	// More words the rows left out.
	More string
}

// HeapCells are the cells of a row. Stack is from the function that allocates.
type HeapCells struct {
	Name, First, Last, Growth, Objects string
	Own                                bool
	Stack                              []string
}

// mostHeapRows bounds the rows of a table: the others are in the JSON.
const mostHeapRows = 20

func newHeapTable(h *report.Heap) HeapTable {
	t := HeapTable{Head: h.Head(), Note: h.Note(), Unit: h.Unit(), First: h.First != nil, Objects: h.Last.Objects > 0}
	rows := h.Rows[:min(len(h.Rows), mostHeapRows)]
	for i := range rows {
		r := &rows[i]
		cells := HeapCells{Name: Visible(r.Name), Own: r.Own, Last: report.HeapWords(r.Bytes), Objects: wording.Number(r.Objects), First: "–", Growth: "–"}
		if r.Place != "" {
			cells.Name += " " + Visible(r.Place)
		}
		if r.FirstBytes != nil {
			cells.First = report.HeapWords(*r.FirstBytes)
		}
		if r.Grew {
			cells.Growth = "+" + report.HeapWords(r.Rise)
		}
		if r.FirstObjects != nil && *r.FirstObjects != r.Objects {
			cells.Objects = wording.Number(*r.FirstObjects) + " to " + cells.Objects
		}
		for _, f := range r.Stack {
			cells.Stack = append(cells.Stack, Visible(f))
		}
		t.Rows = append(t.Rows, cells)
	}
	if more := len(h.Rows) - len(rows) + h.More; more > 0 {
		t.More = wording.PagePlural(int64(more), "more row", "more rows")
	}
	return t
}

// heaps lists what the heap of each process holds.
func (m *caseMaker) heaps(c *Case) {
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if s.Heap == nil || len(c.Heaps) >= maxLockProcesses {
			continue
		}
		t := newHeapTable(s.Heap)
		t.Head += ": " + named(s)
		c.Heaps = append(c.Heaps, t)
	}
}

func (t *HeapTable) section(id string) document.Section {
	table := document.Table{Look: "data heap", Label: "Table: " + t.Head, Caption: t.Head, Parts: []document.Part{{}}}
	number := func(title, text string) document.Cell {
		return document.Cell{Look: "num", Name: title, Text: document.Words(text)}
	}
	cells := func(name document.Cell, first, last, growth, objects document.Cell) []document.Cell {
		out := []document.Cell{name}
		if t.First {
			out = append(out, first)
		}
		if out = append(out, last); t.First {
			out = append(out, growth)
		}
		if t.Objects {
			out = append(out, objects)
		}
		return out
	}
	head := func(text string) document.Cell { return document.Cell{Look: "num", Words: text} }
	last := "Last"
	if !t.First {
		last = "In use"
	}
	table.Head = cells(document.Cell{Look: "fam", Words: t.Unit}, head("First"), head(last), head("Growth"), head("Objects"))
	for _, r := range t.Rows {
		name := document.Cell{Look: "fam", Text: document.Text{document.Marked(document.Breakable, r.Name)}}
		if len(r.Stack) > 0 {
			name = document.Cell{Look: "fam", Blocks: document.Blocks{document.Fold{Look: "rest", Summary: name.Text, Blocks: document.Blocks{document.Code{Label: "Stack of " + r.Name, Lines: r.Stack}}}}}
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: cells(name, number("First", r.First), number(last, r.Last), number("Growth", r.Growth), number("Objects", r.Objects))})
	}
	note := t.Note
	if t.More != "" {
		note += fmt.Sprintf(" %s not listed.", t.More)
	}
	return document.NewSection(document.ID(id), t.Head, note, table)
}
