package view

import (
	"fmt"
	"net/url"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// LockGroup is who waits for whom in one snapshot of a process.
type LockGroup struct {
	Process string
	// At is the snapshot, URL its page, empty on frozen pages.
	At, URL string
	// Note says how far the dump shows holders.
	Note string
	// Lines are the deadlocks and the locks, each with its sentence.
	Lines []Pair
}

const (
	// maxLockShapes is how many locks of a snapshot are drawn, maxLockProcesses of how many
	// processes a case lists locks.
	maxLockShapes    = 3
	maxLockProcesses = 12
	// maxLockChain is how many holders are drawn above a lock.
	maxLockChain = 4
)

func newLockGroup(l *report.Locks) LockGroup {
	g := LockGroup{Note: "By the locks that the threads of one dump print."}
	if l.Kind == analysis.KindGoroutine {
		g.Note = "By the locks that goroutines of one dump wait for. A Go dump names no holder: likely is the only goroutine inside the object that the lock guards."
	}
	for _, line := range l.Lines() {
		g.Lines = append(g.Lines, Pair{Visible(line.Head), Visible(line.Text)})
	}
	return g
}

// locks lists the locks of the last snapshot of each process.
func (m *caseMaker) locks(c *Case) {
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if s.Locks == nil || len(c.Locks) == maxLockProcesses {
			continue
		}
		g := newLockGroup(s.Locks)
		g.Process, g.URL = named(s), m.live("/snapshots/"+url.PathEscape(s.Locks.Snapshot)+"#h-lock")
		if len(s.Snapshots) > 1 {
			g.At = "at " + Visible(s.Locks.Label)
		}
		c.Locks = append(c.Locks, g)
	}
}

// lockShapes draw the locks with most waiters: who holds each, and who waits in which
// functions.
func lockShapes(l *report.Locks) []chart.ShapeData {
	var out []chart.ShapeData
	drawn := map[string]bool{}
	for i := range l.List {
		lock := &l.List[i]
		if len(out) == maxLockShapes || lock.Waiters < 2 && (len(lock.Holders) == 0 || drawn[lock.ID]) {
			continue
		}
		chain := lockChain(l, lock, drawn)
		d := chart.ShapeData{
			ID: fmt.Sprintf("lock-%d", i+1), Title: "Who waits for " + lock.ID, Head: []string{"Waits in", wording.Capital(wording.Kinds(l.Kind)), "Lock"},
			Holders: chain,
			Object:  chart.ShapeBox{Count: many(l.Kind, lock.Waiters), Name: "for " + lock.ID, Bare: "for " + lock.ID, Told: Visible(lock.Text)},
		}
		for _, s := range lock.In {
			name := Visible(report.ShortFunction(l.Kind, s.Function))
			d.Parts = append(d.Parts, chart.ShapeBox{Count: eachOf(s.Count), Name: name, Bare: bareName(name), Told: Visible(s.Function), Known: lock.ID})
		}
		out = append(out, d)
	}
	return out
}

// lockChain are the boxes above a lock, what is farthest from it first: what its holder
// waits for, and the holder. It adds the locks of the chain to drawn.
func lockChain(l *report.Locks, lock *report.Lock, drawn map[string]bool) []chart.ShapeBox {
	var up []chart.ShapeBox
	seen := map[string]bool{lock.ID: true}
	for len(lock.Holders) > 0 && len(up) < maxLockChain {
		h := &lock.Holders[0]
		who, at := Visible(h.Who(l.Kind)), Visible(report.ShortFunction(l.Kind, h.At))
		box := chart.ShapeBox{Count: heldWord(h.Certainty), Name: who, Bare: who, Told: Visible(h.Text)}
		if at != "" {
			box.Name += " in " + at
			box.Bare += " in " + bareName(at)
		}
		up = append(up, box)
		for _, c := range h.Children[:min(len(h.Children), 1)] {
			name := Visible(report.ShortFunction(l.Kind, c.Function))
			up = append(up, chart.ShapeBox{Count: "waits for " + eachOf(c.Count), Name: name, Bare: bareName(name), Told: Visible(c.Function)})
		}
		next := h.Lock
		if seen[next] {
			if next != "" {
				up = append(up, chart.ShapeBox{Count: "waits for " + next, Name: "deadlock", Bare: "deadlock"})
			}
			break
		}
		seen[next], drawn[next] = true, true
		for i := range l.List {
			if l.List[i].ID == next {
				lock = &l.List[i]
			}
		}
		if next == "" {
			break
		}
	}
	slices.Reverse(up)
	return up
}

func heldWord(sure report.LockCertainty) string {
	if sure == report.Proven {
		return "held by"
	}
	return string(sure)
}

// locksDrawn are who waits for whom, in sentences and drawn.
func locksDrawn(l *report.Locks) document.Section {
	group := newLockGroup(l)
	both := document.Group{Look: "cols2", Blocks: document.Blocks{document.Group{Look: "panel", Blocks: document.Blocks{factList(group.Lines)}}}}
	if shapes := lockShapes(l); len(shapes) > 0 {
		drawn := document.Group{Look: "panel"}
		for _, x := range shapes {
			drawn.Heading(3, x.Title)
			drawn.Add(document.Drawing{Chart: x}, pictureLink(x.ID, x.Title))
		}
		both.Add(drawn)
	}
	return document.NewSection("h-lock", lockHead, group.Note, both)
}

const lockHead = "Who waits for whom"
