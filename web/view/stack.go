package view

import (
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
)

// Trace is the stack of a finding as pages and texts show it.
type Trace = report.Trace

// traceWidth is how wide the lines of a stack are in texts.
const traceWidth = 120

// newTrace makes what a dump printed fit to be shown, nil for nil.
func newTrace(t *Trace) *Trace {
	if t == nil {
		return nil
	}
	return &Trace{Caption: Visible(t.Caption), Rows: visibleRows(t.Rows), Own: t.Own, Note: t.Note}
}

func visibleRows(rows []report.TraceRow) []report.TraceRow {
	out := make([]report.TraceRow, len(rows))
	for i, r := range rows {
		out[i] = report.TraceRow{Function: Visible(r.Function), Place: Visible(r.Place), Own: r.Own, Creator: r.Creator}
		if len(r.Folded) > 0 {
			out[i].Folded = visibleRows(r.Folded)
		}
	}
	return out
}

// Function is a function in the parts in which pages print it.
func Function(name string) Func {
	path, name := funcName(name)
	return Func{Path: path, Name: name}
}

// trace adds the stack of a finding.
func writeTrace(d *document.Document, t *Trace) {
	if t == nil {
		return
	}
	d.Gap() // behind a list
	d.Paragraph(t.Head())
	d.Fence(t.Lines(traceWidth))
	d.Paragraph(t.Note)
}
