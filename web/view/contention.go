package view

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// ContentionGroup is a mutex or block profile of one snapshot.
type ContentionGroup struct {
	Head, Note string
	Stacks     []ContentionStack
	// Lines are the first stacks, each in a sentence.
	Lines []string
}

// ContentionStack is one stack of a profile. Frames are leaf first, with their places.
type ContentionStack struct {
	Own, Waits, Delay, Share string
	Frames                   []string
}

// linesOfContention is the number of stacks of a profile a text lists.
const linesOfContention = 5

func contentionGroups(s *analysis.Snapshot) (out []ContentionGroup) {
	for i, c := range report.ContentionOf(s) {
		g := newContentionGroup(&c)
		for k := range c.Stacks {
			x := &c.Stacks[k]
			stack := ContentionStack{Own: Visible(x.Own()), Waits: wording.Number(x.Count), Delay: report.DelayWords(x.DelayNS), Share: wording.PageShare(float64(x.DelayNS), float64(max(c.DelayNS, 1)), 0)}
			for _, f := range s.Contention[i].Stacks[k].Frames {
				text := f.Func
				if f.File != "" {
					text += fmt.Sprintf(" %s:%d", f.File, f.Line)
				}
				stack.Frames = append(stack.Frames, Visible(text))
			}
			g.Stacks = append(g.Stacks, stack)
		}
		out = append(out, g)
	}
	return out
}

func newContentionGroup(c *report.Contention) ContentionGroup {
	g := ContentionGroup{Head: c.Head(), Note: c.Note()}
	for _, line := range c.Lines(linesOfContention) {
		g.Lines = append(g.Lines, Visible(line))
	}
	return g
}

// contention lists the profiles of the last snapshot of each process that has any.
func (m *caseMaker) contention(c *Case) {
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if len(c.Contention) >= maxLockProcesses {
			return
		}
		for _, id := range slices.Backward(s.Snapshots) {
			snap := m.snapshots[id]
			if snap == nil || len(snap.Contention) == 0 {
				continue
			}
			for k := range snap.Contention {
				g := newContentionGroup(&snap.Contention[k])
				g.Head += ": " + named(s) + " at " + Visible(snap.Label)
				c.Contention = append(c.Contention, g)
			}
			break
		}
	}
}

func (g *ContentionGroup) section(id string) document.Section {
	table := document.Table{Look: "data", Label: "Table: " + g.Head, Caption: g.Head, Parts: []document.Part{{}},
		Head: []document.Cell{{Look: "fam", Words: "Function"}, {Look: "num", Words: "Waits"}, {Look: "num", Words: "Delay"}, {Look: "num", Words: "Share"}}}
	for _, s := range g.Stacks {
		stack := document.Fold{Look: "rest", Summary: document.Text{document.Marked(document.Breakable, s.Own)}, Blocks: document.Blocks{document.Code{Label: "Stack of " + s.Own, Lines: s.Frames}}}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Look: "fam", Blocks: document.Blocks{stack}}, {Look: "num", Name: "Waits", Text: document.Words(s.Waits)},
			{Look: "num soft", Name: "Delay", Text: document.Words(s.Delay)}, {Look: "num soft", Name: "Share", Text: document.Words(s.Share)},
		}})
	}
	return document.NewSection(document.ID(id), g.Head, g.Note, table)
}

// inCase is the profile on the page of a case: its first stacks in a sentence each.
func (g *ContentionGroup) inCase(id string) document.Section {
	return document.NewSection(document.ID(id), g.Head, g.Note, seenList(g.Lines))
}
