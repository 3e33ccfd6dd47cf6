package view

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/source"
	"leakdiff/analysis/say/wording"
)

// Code is where in the source the members of a page are: their stack, and what started
// them.
type Code struct {
	Stack document.Stack
	Start *CodeStart
}

// The folded parts of a family and of a kind of objects.
const (
	FoldKey     = "key"
	FoldStacks  = "stacks"
	FoldMembers = "members"
	FoldRaw     = "raw"
)

// CodeStart is the go statement that started the members.
type CodeStart struct {
	At document.Frame
	// Near is the outermost own frame where a library started the members, as a WaitGroup
	// does.
	Near *document.Frame
	// Path is that of the file in a source directory, Lines those around the statement.
	// Missing says in a sentence why there are none. Frozen pages have neither.
	Path    string       `json:",omitempty"`
	Lines   []SourceLine `json:",omitempty"`
	Missing string       `json:",omitempty"`
}

// SourceLine is a line of source.
type SourceLine struct {
	Number, Text string
	Marked       bool
}

// CodeInput is the input of the code of a page. Stack is nil where there is none.
type CodeInput struct {
	Stack *report.LocatedStack
	// Version is what is known of the version of the process, with its release of Go.
	Version string
	// Modules are the prefixes of the reader's own functions, separated by blanks. They
	// mark own code in place of what the dump shows.
	Modules string
	// Excerpt is the go statement in the reader's source, Missing says why there is none.
	Excerpt *source.Excerpt
	Missing string
}

// newCode is the code of a page, nil without a stack. label is that of the snapshot.
func newCode(in CodeInput, label string) *Code {
	if in.Stack == nil {
		return nil
	}
	stack := *in.Stack
	if modules := strings.Fields(in.Modules); len(modules) > 0 {
		stack.Stack, stack.Note = slices.Clone(stack.Stack), ""
		for i := range stack.Stack {
			f := &stack.Stack[i]
			f.Own = slices.ContainsFunc(modules, func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) })
		}
	}
	t := stack.Trace(label)
	if t == nil {
		return nil
	}
	out := &Code{Stack: *newStack(t, func(f analysis.Frame) string { return source.Link(f, in.Version) })}
	out.Stack.ID, out.Stack.Whole = "code-text", true
	if c := report.Creator(stack.Stack); c != nil {
		frames := document.Unfolded(out.Stack.Frames)
		out.Start = &CodeStart{At: frames[len(frames)-1], Missing: Visible(in.Missing)}
		if !out.Start.At.Own {
			out.Start.Near = outermostOwn(frames)
		}
		out.Start.excerpt(in.Excerpt)
	}
	return out
}

// outermostOwn is the last frame of own code, nil for none.
func outermostOwn(frames []document.Frame) *document.Frame {
	for i := range slices.Backward(frames) {
		if frames[i].Own {
			return &frames[i]
		}
	}
	return nil
}

func (s *CodeStart) excerpt(e *source.Excerpt) {
	if e == nil {
		return
	}
	s.Path = Visible(e.Path)
	for i, text := range e.Lines {
		number := e.First + i
		s.Lines = append(s.Lines, SourceLine{Number: wording.Exact(int64(number)), Text: Visible(strings.ReplaceAll(text, "\t", "    ")), Marked: number == e.Line})
	}
}

// first is the first screen of a family, with what is folded at the end of the page.
func (m *familyMaker) first(f *Family) FirstScreen {
	out := FirstScreen{Code: newCode(m.in.Code, f.At)}
	add := func(key, title, inside string) {
		out.Folds = append(out.Folds, AnswerFold{Key: key, Title: title, Inside: inside})
	}
	if out.Code != nil {
		add(FoldKey, "Why one family", "each frame as printed, and what of it is compared")
	}
	if n := len(f.Variants); n > 0 {
		add(FoldStacks, "Exact stacks", wording.PagePlural(int64(n), "stack", "stacks")+" at "+f.At+", every frame")
	}
	inside := "none is listed"
	if n := len(f.Rows); n > 0 {
		inside = wording.PagePlural(int64(n), "row", "rows") + ": " + f.IDHead + ", first seen, state, place in the dump"
	}
	add(FoldMembers, "Members", inside)
	if len(f.Raw) > 0 || f.RawDeep != "" {
		add(FoldRaw, "Raw lines", f.RawTitle)
	}
	return out
}
