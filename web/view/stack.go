package view

import (
	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
)

// newStack is what a dump printed, fit to be shown; nil for nil. link returns the address of
// the line of a frame, and is nil where frames lead nowhere.
func newStack(t *report.Trace, link func(analysis.Frame) string) *document.Stack {
	if t == nil {
		return nil
	}
	return &document.Stack{Caption: Visible(t.Caption), Frames: visibleFrames(t.Rows, link), Note: t.Note}
}

func visibleFrames(rows []report.TraceRow, link func(analysis.Frame) string) []document.Frame {
	out := make([]document.Frame, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.Folded != nil {
			out[i] = document.Frame{Fold: r.More(), Folded: visibleFrames(r.Folded, link)}
			continue
		}
		out[i] = document.Frame{Function: Visible(r.Function), Place: Visible(r.Place), Own: r.Own, Creator: r.Creator}
		if link != nil {
			out[i].URL = link(r.Frame)
		}
	}
	return out
}

// stackBlocks are the stack, nothing for none.
func stackBlocks(s *document.Stack) document.Blocks {
	if s == nil {
		return nil
	}
	return document.Blocks{*s}
}
