package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/source"
	"leakdiff/analysis/say/wording"
)

// StackFrame is a frame of the stack of a finding, exactly as the dump prints it.
type StackFrame struct {
	Function string `json:"function"`
	// File is empty and Line 0 if the dump shows none.
	File string `json:"file"`
	Line int    `json:"line"`
	// Own reports code of the program's main module.
	Own bool `json:"own,omitempty"`
	// CreatedBy marks the last entry if it is the creator of the goroutine and no
	// frame.
	CreatedBy bool `json:"created_by,omitempty"`

	// within is the file's name for people, see family.Own.
	within string
}

// StackOf identifies the members of the stack of a finding.
type StackOf struct {
	Family string        `json:"family"`
	Kind   analysis.Kind `json:"kind"`
	// Snapshot is the judged one: the last, or the last before the cause went away.
	Snapshot string `json:"snapshot"`
	// Members is the number of members with exactly this stack there, Of that of all
	// members of the family.
	Members int `json:"members"`
	Of      int `json:"of"`
	// Elided counts the frames that the runtime left out, -1 for an unknown number.
	Elided int `json:"elided,omitempty"`
	// Opened says that the stack opened the descriptors: they wait nowhere.
	Opened bool `json:"opened,omitempty"`
}

// The notes on own code of a stack without marks.
const (
	ownNotKnown = "Which code is your own cannot be told from these dumps."
	noOwnCode   = "No own code is in this stack."
)

// locate sets the stack of a finding: the most frequent exact stack of its first family
// that has one, in the judged snapshot.
func (j *JudgedSeries) locate(f *Finding) {
	f.Stack = []StackFrame{}
	if f.Key != nil && f.Key.By == trend.ByTotal {
		return // one of many stacks explains none of the others
	}
	if j.sightings == nil {
		j.sightings, j.own = j.lastOf(), family.OwnOf(j.stacks)
	}
	families := f.Families
	if f.Object != "" {
		families = j.writersFirst(families)
	}
	for _, print := range families {
		at, ok := j.sightings[print]
		if !ok {
			continue
		}
		at = j.judgedAt(at.group.Family, at)
		if at.group.Family.Kind == analysis.KindDescriptor && j.locateOpening(f, at) {
			return
		}
		if at.group.Family.Kind != analysis.KindGoroutine && at.group.Family.Kind != analysis.KindThread {
			continue
		}
		if l := j.located(j.own, at.group, at.snapshot); l != nil {
			f.Stack, f.StackOf, f.StackNote = l.Stack, &l.Of, l.Note
			f.Ahead = j.ahead(f, at)
			if f.Key != nil && f.Key.Moving { // it is that of one of their stacks
				if n := f.Counts[at.snapshot]; n.Known() {
					f.StackOf.Of = max(f.StackOf.Of, n.N)
				}
			}
			return
		}
	}
}

// writersFirst puts those of the parts of an object in front that wait until the network takes what they
// write: an idle object reads, and none writes.
func (j *JudgedSeries) writersFirst(prints []string) []string {
	reads := func(print string) int {
		at, ok := j.sightings[print]
		if ok && slices.ContainsFunc(at.group.Variants, func(v analysis.Variant) bool {
			return v.Stack != nil && slices.ContainsFunc(v.Stack.Frames[:min(len(v.Stack.Frames), mostAboveWrite)], func(f analysis.Frame) bool { return f.Func == waitWrite })
		}) {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(prints), func(a, b string) int { return reads(a) - reads(b) })
}

// locateOpening sets the stack that opened most descriptors of a group, and reports whether a
// tracer saw any.
func (j *JudgedSeries) locateOpening(f *Finding, at sighting) bool {
	all := j.Snapshots[at.snapshot].Ancestries[at.group.Family.Fingerprint]
	if len(all) == 0 {
		return false
	}
	most := all[0] // the most frequent one is first
	f.Stack = markedFrames(j.own, &most.Stacks[0], j.own.Mark(&most.Stacks[0]))
	f.StackOf = &StackOf{
		Family: at.group.Family.Fingerprint, Kind: analysis.KindDescriptor, Snapshot: j.Snapshots[at.snapshot].ID,
		Members: most.Count, Of: max(most.Count, at.group.Count), Elided: most.Stacks[0].Elided, Opened: true,
	}
	return true
}

// LocatedStack is the most frequent exact stack of a family in one snapshot.
type LocatedStack struct {
	Stack []StackFrame
	Of    StackOf
	// Note is a remark on own code, empty where some is marked.
	Note string
}

// LocatedStack returns the most frequent exact stack of a family in a snapshot, nil where
// it has none.
func (j *JudgedSeries) LocatedStack(fingerprint string, snapshot int) *LocatedStack {
	g := GroupOf(j.Snapshots[snapshot], fingerprint)
	if g == nil || g.Family.Kind != analysis.KindGoroutine && g.Family.Kind != analysis.KindThread {
		return nil
	}
	return j.located(j.OwnCode(), g, snapshot)
}

// OwnCode recognises the own code of the process.
func (j *JudgedSeries) OwnCode() *family.Own {
	if j.own != nil {
		return j.own
	}
	return family.OwnOf(j.stacks) // not stored: several requests may read one series
}

func (j *JudgedSeries) located(own *family.Own, g *analysis.Group, snapshot int) *LocatedStack {
	v := mostFrequent(g.Variants)
	if v == nil {
		return nil
	}
	out := &LocatedStack{Of: StackOf{Family: g.Family.Fingerprint, Kind: g.Family.Kind, Snapshot: j.Snapshots[snapshot].ID, Members: v.Count, Of: max(v.Count, g.Count), Elided: v.Stack.Elided}}
	stack := j.withCreator(v.Stack, g.Family.Fingerprint)
	marks := marksOf(own, g.Family.Kind, stack)
	out.Stack = markedFrames(own, stack, marks)
	switch {
	case !marks.Known:
		out.Note = ownNotKnown
	case !marks.Creator && !slices.Contains(marks.Frames, true):
		out.Note = noOwnCode
	}
	return out
}

// withCreator is a stack of a family with the creator that the family has in another snapshot, if
// its own encoding shows none.
func (j *JudgedSeries) withCreator(stack *analysis.Stack, fingerprint string) *analysis.Stack {
	if stack.CreatedBy.Func != "" {
		return stack
	}
	for _, s := range slices.Backward(j.Snapshots) {
		g := GroupOf(s, fingerprint)
		if g == nil {
			continue
		}
		if v := mostFrequent(g.Variants); v != nil && v.Stack.CreatedBy.Func != "" {
			out := *stack
			out.CreatedBy = v.Stack.CreatedBy
			return &out
		}
	}
	return stack
}

// marksOf marks own code. Only programs in Go have marks of modules.
func marksOf(own *family.Own, kind analysis.Kind, s *analysis.Stack) family.Marks {
	if kind != analysis.KindGoroutine {
		return family.Marks{Frames: make([]bool, len(s.Frames))}
	}
	return own.Mark(s)
}

// markedFrames are the frames of a stack and its creator.
func markedFrames(own *family.Own, s *analysis.Stack, marks family.Marks) []StackFrame {
	var out []StackFrame
	for i, f := range s.Frames {
		out = append(out, StackFrame{Function: f.Func, File: f.File, Line: f.Line, Own: marks.Frames[i], within: own.Within(f)})
	}
	if c := s.CreatedBy; c.Func != "" {
		out = append(out, StackFrame{Function: c.Func, File: c.File, Line: c.Line, Own: marks.Creator, CreatedBy: true, within: own.Within(c)})
	}
	return out
}

// stacks yields the stacks of all goroutines and heap profiles of the series and of the calls that
// opened its descriptors, equal ones of several snapshots once. Fingerprints ignore directories,
// which may differ between two builds.
func (j *JudgedSeries) stacks(yield func(*analysis.Stack) bool) {
	type exact struct{ fingerprint, outermost, creator string }
	seen := map[exact]bool{}
	known := map[*analysis.Stack]bool{} // snapshots share their stacks
	for _, s := range j.Snapshots {
		for _, row := range s.HeapRows() {
			if len(row.Frames) > 0 && !yield(&analysis.Stack{Frames: row.Frames}) {
				return
			}
		}
		for i := range s.Groups {
			if s.Groups[i].Family.Kind == analysis.KindDescriptor {
				for _, a := range s.Ancestries[s.Groups[i].Family.Fingerprint] {
					if !yield(&a.Stacks[0]) {
						return
					}
				}
			}
			if s.Groups[i].Family.Kind != analysis.KindGoroutine {
				continue
			}
			for _, v := range s.Groups[i].Variants {
				if v.Stack == nil || len(v.Stack.Frames) == 0 || known[v.Stack] {
					continue
				}
				known[v.Stack] = true
				key := exact{v.Fingerprint, v.Stack.Frames[len(v.Stack.Frames)-1].File, v.Stack.CreatedBy.File}
				if seen[key] {
					continue
				}
				seen[key] = true
				if !yield(v.Stack) {
					return
				}
			}
		}
	}
}

// mostFrequent is the variant with frames that has most members, or nil.
func mostFrequent(variants []analysis.Variant) (out *analysis.Variant) {
	for i := range variants {
		if v := &variants[i]; v.Stack != nil && len(v.Stack.Frames) > 0 && (out == nil || v.Count > out.Count) {
			out = v
		}
	}
	return out
}

// place is the file's name with the line, "" if the dump shows none: "mutex.go:90",
// "cmd/x/main.go:7" of the program's package main.
func (f StackFrame) place() string {
	place := f.within
	if place == "" {
		place = f.File[strings.LastIndexAny(f.File, `/\`)+1:]
	}
	if place != "" && f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
	}
	return place
}

// Frame is the frame as the dump prints it.
func (f StackFrame) Frame() analysis.Frame {
	return analysis.Frame{Func: f.Function, File: f.File, Line: f.Line}
}

// Creator is the place that started the goroutines of a stack, nil if the dump shows none.
func Creator(stack []StackFrame) *StackFrame {
	if n := len(stack); n > 0 && stack[n-1].CreatedBy {
		return &stack[n-1]
	}
	return nil
}

// Trace is the stack of a finding as pages and texts show it.
type Trace struct {
	// Caption describes the members of the stack: "Stack of 60 of 64 goroutines at t7".
	Caption string
	Rows    []TraceRow
	// Note is a remark beside the stack.
	Note string `json:",omitempty"`
}

// TraceRow is one frame, or several frames of libraries that texts leave out.
type TraceRow struct {
	Function, Place string
	Own             bool       `json:",omitempty"`
	Creator         bool       `json:",omitempty"`
	Folded          []TraceRow `json:",omitempty"`
	// Frame is the frame as the dump prints it.
	Frame analysis.Frame `json:"-"`
}

// mostFrames is how many frames of a stack are shown, without its creator.
const mostFrames = 12

// Traces makes the traces of the findings of one report. A remark on all of them
// appears once.
type Traces struct{ told bool }

// Of is the trace of a finding, nil without a stack. label returns the label of a
// snapshot.
func (t *Traces) Of(f *Finding, label func(id string) string) *Trace {
	if len(f.Stack) == 0 || f.StackOf == nil {
		return nil
	}
	of := f.StackOf
	out := &Trace{Caption: "Stack of " + share(of.Kind, of.Members, of.Of) + " at " + label(of.Snapshot)}
	if of.Opened {
		out.Caption = "What opened " + share(of.Kind, of.Members, of.Of) + " at " + label(of.Snapshot)
	}
	out.Rows = fold(traceRows(f.Stack), mostFrames)
	var notes []string
	switch {
	case of.Elided > 0:
		notes = append(notes, fmt.Sprintf("The runtime left out %s.", wording.Plural(of.Elided, "more frame", "more frames")))
	case of.Elided < 0:
		notes = append(notes, "The runtime left out an unknown number of frames.")
	}
	if f.StackNote != "" && !(f.StackNote == ownNotKnown && t.told) {
		notes = append(notes, f.StackNote)
	}
	t.told = t.told || f.StackNote == ownNotKnown
	out.Note = strings.Join(notes, " ")
	return out
}

func traceRows(stack []StackFrame) (out []TraceRow) {
	for i := range stack {
		f := &stack[i]
		out = append(out, TraceRow{Function: f.Function, Place: f.place(), Own: f.Own, Creator: f.CreatedBy, Frame: f.Frame()})
	}
	return out
}

// Trace is the stack as pages show it. label is that of its snapshot.
func (l *LocatedStack) Trace(label string) *Trace {
	f := Finding{Stack: l.Stack, StackOf: &l.Of, StackNote: l.Note}
	return new(Traces).Of(&f, func(string) string { return label })
}

// share is a part of the members of a kind: "all 24 goroutines", "60 of 64 goroutines".
func share(k analysis.Kind, n, of int) string {
	switch {
	case of == 1:
		return "the " + strings.TrimPrefix(wording.Members(k, 1), "1 ")
	case n == of:
		return "all " + wording.Members(k, of)
	}
	return fmt.Sprintf("%d of %s", n, wording.Members(k, of))
}

// Short is the trace with at most most frames and the creator.
func (t *Trace) Short(most int) *Trace {
	out := *t
	var rows []TraceRow
	for _, r := range t.Rows {
		if len(r.Folded) > 0 {
			rows = append(rows, r.Folded...)
		} else {
			rows = append(rows, r)
		}
	}
	out.Rows = fold(rows, most)
	return &out
}

// fold removes frames of a long stack until most are left. It keeps the leaf and
// the outermost frame, the first frame of own code, the callers of the leaf, further
// own code, then frames outside the standard library. A single frame is never folded:
// the row for it would be no shorter.
func fold(rows []TraceRow, most int) []TraceRow {
	n := len(rows)
	if n > 0 && rows[n-1].Creator {
		n--
	}
	if n <= most {
		return rows
	}
	shown, left := make([]bool, n), most
	show := func(i int) {
		if i >= 0 && i < n && !shown[i] && left > 0 {
			shown[i] = true
			left--
		}
	}
	show(0)
	show(slices.IndexFunc(rows[:n], func(r TraceRow) bool { return r.Own }))
	show(n - 1)
	show(1)
	show(2)
	for _, telling := range []func(r TraceRow) bool{
		func(r TraceRow) bool { return r.Own },
		func(r TraceRow) bool { return !family.OfStandardLibrary(r.Function) },
		func(TraceRow) bool { return true },
	} {
		for i := range n {
			if telling(rows[i]) {
				show(i)
			}
		}
	}
	var out []TraceRow
	for i := 0; i < n; i++ {
		end := i
		for end < n && !shown[end] {
			end++
		}
		if end-i < 2 {
			out = append(out, rows[i])
			continue
		}
		out = append(out, TraceRow{Folded: rows[i:end]})
		i = end - 1
	}
	return append(out, rows[n:]...)
}

// More words how many frames a row folds. It is empty for a frame.
func (r TraceRow) More() string {
	if len(r.Folded) == 0 {
		return ""
	}
	return "… " + wording.Plural(len(r.Folded), "more frame", "more frames")
}

// Stack is the trace as a block of a document, with names and places as the dump prints them.
func (t *Trace) Stack() document.Stack {
	return document.Stack{Caption: t.Caption, Frames: frames(t.Rows), Note: t.Note}
}

func frames(rows []TraceRow) []document.Frame {
	out := make([]document.Frame, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = document.Frame{Function: r.Function, Place: r.Place, Own: r.Own, Creator: r.Creator, Fold: r.More()}
		if r.Folded != nil {
			out[i].Folded = frames(r.Folded)
		}
	}
	return out
}

// Starts are the statements in the reader's source that started the members of the findings, each
// once; nil where the source has no directory.
func (r *Report) Starts(tree *source.Tree) document.Blocks {
	var out document.Blocks
	said := map[string]bool{}
	for i := range r.Series {
		for k := range r.Series[i].Findings {
			creator := Creator(r.Series[i].Findings[k].Stack)
			if creator == nil {
				continue
			}
			e, text := tree.Start(creator.Frame())
			if e != nil {
				text = fmt.Sprintf("Started at %s:%d:", e.Path, e.Line)
			}
			if said[text] {
				continue
			}
			said[text] = true
			out.Paragraph(text)
			if e == nil {
				continue
			}
			var lines []string
			for at, line := range e.Lines {
				mark := " "
				if e.First+at == e.Line {
					mark = document.OwnMark
				}
				lines = append(lines, fmt.Sprintf("%s %5d  %s", mark, e.First+at, strings.ReplaceAll(line, "\t", "    ")))
			}
			out.Fence(lines)
		}
	}
	return out
}

// Head is the caption of texts, with the meaning of their mark.
func (t *Trace) Head() string {
	s := t.Stack()
	return s.Head()
}

// Lines returns the rows as text, leaf first.
func (t *Trace) Lines(width int) []string { return document.StackLines(frames(t.Rows), width) }
