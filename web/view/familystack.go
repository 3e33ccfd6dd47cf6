package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
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
	Frames             []FrameLine
	Creator            *FrameLine
	// Runs are the same frames with those folded that are not of one's own modules;
	// empty where no modules are known.
	Runs []FrameRun
	// Text is the stack to be copied.
	Text string
}

// FrameRun is a stretch of frames; a folded one is opened by the reader.
type FrameRun struct {
	Fold   string
	Frames []FrameLine
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
		out := FamilyVariant{Count: many(m.in.Family.Kind, v.Count), Fingerprint: Visible(v.Fingerprint)}
		for i := range v.Stack.Frames {
			out.Frames = append(out.Frames, *linkedFrame(&v.Stack.Frames[i], m.in.Code.Version))
		}
		if v.Stack.CreatedBy.Func != "" {
			out.Creator = linkedFrame(&v.Stack.CreatedBy, m.in.Code.Version)
		}
		out.Runs = ownRuns(v.Stack.Frames, out.Frames, strings.Fields(m.in.Code.Modules))
		out.Text = out.plain()
		f.Variants = append(f.Variants, out)
	}
}

// linkedFrame is a frame with the address of its line.
func linkedFrame(f *analysis.Frame, version string) *FrameLine {
	out := frameLine(f)
	out.URL = source.Link(*f, version)
	return out
}

// plain is the stack in lines, leaf first.
func (v FamilyVariant) plain() string {
	var lines []string
	for _, fr := range v.Frames {
		lines = append(lines, strings.TrimSpace(fr.Func.Full+"  "+fr.Loc))
	}
	if v.Creator != nil {
		lines = append(lines, strings.TrimSpace("created by "+v.Creator.Func.Full+"  "+v.Creator.Loc))
	}
	return strings.Join(lines, "\n")
}

// ownRuns folds what lies between frames of one's own modules, given by the prefixes
// of their functions.
func ownRuns(frames []analysis.Frame, lines []FrameLine, modules []string) []FrameRun {
	var out []FrameRun
	own := false
	for i, f := range frames {
		is := slices.ContainsFunc(modules, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) })
		own = own || is
		if len(out) == 0 || (out[len(out)-1].Fold == "") != is {
			out = append(out, FrameRun{})
			if !is {
				out[len(out)-1].Fold = "folded"
			}
		}
		last := &out[len(out)-1]
		last.Frames = append(last.Frames, lines[i])
	}
	if !own {
		return nil // a stack without own frames is shown whole
	}
	for i := range out {
		if out[i].Fold != "" {
			out[i].Fold = wording.PagePlural(int64(len(out[i].Frames)), "frame of other modules", "frames of other modules")
		}
	}
	return out
}
