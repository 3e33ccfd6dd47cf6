package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/source"
	"leakdiff/analysis/say/wording"
)

// maxVariants bounds the exact stacks that a page shows.
const maxVariants = 8

// NormStep is one line of the normalisation table. Kept and Cut are the printed
// text: what the rule left and what it cut off, in pieces.
type NormStep struct {
	Number  string
	Pieces  []NormPiece
	Rule    string
	Title   bool
	Creator bool
	Dropped bool
	To      Func
}

// NormPiece is a stretch of printed text; Cut ones are not part of the key.
type NormPiece struct {
	Text string
	Cut  bool
}

// FamilyVariant is one exact stack of the family.
type FamilyVariant struct {
	Count, Fingerprint string
	Stack              document.Stack
}

func (m *familyMaker) steps(f *Family) {
	if len(m.in.Steps) == 0 {
		f.Attributes = attributePairs(m.in.Family.Attributes)
		return
	}
	steps, n := normSteps(m.in.Steps)
	f.Steps = steps
	if m.in.Family.Kind == analysis.KindThread {
		// Threads are titled by another rule than goroutines, and compared by more.
		title := threadTitle(m.in.Family.Title)
		for i := range f.Steps {
			s := &f.Steps[i]
			s.Title = title != "" && !s.Dropped && strings.HasSuffix(s.To.Full, title)
		}
		f.Attributes = attributePairs(m.in.Family.Attributes)
		f.KeyNote = fmt.Sprintf("over the sort of the thread, the pattern of its name, running, waiting or blocked, and %s. Line numbers are not in it.", wording.PagePlural(int64(n), "compared frame", "compared frames"))
		return
	}
	f.KeyNote = fmt.Sprintf("over %s and the creator. State and line numbers are not in it.", wording.PagePlural(int64(n), "compared frame", "compared frames"))
}

// normSteps writes the rules that made a key, and counts the frames that are in it.
func normSteps(steps []family.Step) (out []NormStep, n int) {
	for _, s := range steps {
		step := NormStep{Pieces: pieces(s.Printed, s.Compared), Rule: Visible(s.Rule), Title: s.Title, Creator: s.Creator, Dropped: s.Compared == ""}
		if !step.Dropped {
			step.To = longFunc(s.Compared)
			if !s.Creator {
				n++
				step.Number = itoa(int64(n))
			}
		}
		out = append(out, step)
	}
	return out, n
}

// pieces marks what of the printed name is not compared:
//
//	"a/vendor/b.(*T).Run.func1(0x1)" compared as "b.(*T).Run"
//	→ "a/vendor/" cut, "b.(*T).Run", ".func1(0x1)" cut
func pieces(printed, compared string) []NormPiece {
	if compared == "" {
		return []NormPiece{{Text: Visible(printed), Cut: true}}
	}
	if at := strings.Index(printed, compared); at >= 0 {
		return keep(NormPiece{printed[:at], true}, NormPiece{compared, false}, NormPiece{printed[at+len(compared):], true})
	}
	n := 0
	for n < len(printed) && n < len(compared) && printed[n] == compared[n] {
		n++
	}
	if n == 0 {
		return []NormPiece{{Text: Visible(printed)}}
	}
	return keep(NormPiece{printed[:n], false}, NormPiece{printed[n:], true})
}

func keep(all ...NormPiece) []NormPiece {
	var out []NormPiece
	for _, p := range all {
		if p.Text != "" {
			out = append(out, NormPiece{Visible(p.Text), p.Cut})
		}
	}
	return out
}

func (m *familyMaker) variants(f *Family) {
	g := m.chosen()
	if g == nil {
		return
	}
	for _, v := range g.Variants[:min(len(g.Variants), maxVariants)] {
		if v.Stack == nil {
			continue
		}
		var frames []document.Frame
		for i := range v.Stack.Frames {
			frames = append(frames, linkedFrame(&v.Stack.Frames[i], m.in.Code.Version))
		}
		frames = foldOthers(v.Stack.Frames, frames, strings.Fields(m.in.Code.Modules))
		if v.Stack.CreatedBy.Func != "" {
			creator := linkedFrame(&v.Stack.CreatedBy, m.in.Code.Version)
			creator.Creator = true
			frames = append(frames, creator)
		}
		f.Variants = append(f.Variants, FamilyVariant{Count: many(m.in.Family.Kind, v.Count), Fingerprint: Visible(v.Fingerprint), Stack: copiedStack(v.Fingerprint, frames)})
	}
}

// copiedStack is a stack with a button that copies it.
func copiedStack(fingerprint string, frames []document.Frame) document.Stack {
	return document.Stack{ID: document.ID("text-" + Visible(fingerprint)), Frames: frames, Whole: true}
}

// linkedFrame is a frame with the address of its line.
func linkedFrame(f *analysis.Frame, version string) document.Frame {
	line := frameLine(f)
	return document.Frame{Function: Visible(f.Func), Place: line.Loc, URL: source.Link(*f, version)}
}

// foldOthers folds what lies between frames of one's own modules, given by the prefixes
// of their functions. A stack without own frames is shown whole.
func foldOthers(frames []analysis.Frame, lines []document.Frame, modules []string) []document.Frame {
	var out []document.Frame
	own, folding := false, false
	for i, f := range frames {
		if slices.ContainsFunc(modules, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) }) {
			out, own, folding = append(out, lines[i]), true, false
			continue
		}
		if !folding {
			out, folding = append(out, document.Frame{}), true
		}
		last := &out[len(out)-1]
		last.Folded = append(last.Folded, lines[i])
		last.Fold = wording.PagePlural(int64(len(last.Folded)), "frame of other modules", "frames of other modules")
	}
	if !own {
		return lines
	}
	return out
}
