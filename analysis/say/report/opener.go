package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// Traced is what a tracer saw of a process: Opened descriptors in Seconds, which are 0 where the
// trace has no times. Tool is "strace" or "trace_open".
type Traced struct {
	Tool    string  `json:"tool"`
	Opened  int     `json:"opened"`
	Seconds float64 `json:"seconds,omitempty"`
	// ClosesUnknown says that the tool does not show what was closed.
	ClosesUnknown bool `json:"closes_unknown,omitempty"`
}

func tracedOf(s *analysis.Snapshot) *Traced {
	form := s.Forms[analysis.KindDescriptor]
	if form != analysis.FormOpened && form != analysis.FormOpenEvents || len(s.Artifacts) == 0 {
		return nil
	}
	return &Traced{
		Tool: s.Artifacts[0].Kind, Opened: int(s.Figures[analysis.TraceOpened]), Seconds: s.Figures[analysis.TraceSeconds],
		ClosesUnknown: form == analysis.FormOpenEvents,
	}
}

// while words when a tracer watched: "in 60 s of strace", "under strace".
func (t *Traced) while() string {
	if t.Seconds == 0 {
		return "under " + t.Tool
	}
	return "in " + wording.Duration(time.Duration(t.Seconds*float64(time.Second))) + " of " + t.Tool
}

// openedAt is the code that opened most descriptors of a family, nil if no stack names any.
func (j *JudgedSeries) openedAt(ancestries []analysis.Ancestry, g *analysis.Group) *Origin {
	if g == nil {
		return nil
	}
	own, at := j.OwnCode(), map[string]*Origin{}
	for i := range ancestries {
		f := opening(own, &ancestries[i].Stacks[0])
		if f == nil {
			continue
		}
		text := shortRole(f.Function)
		if place := f.place(); place != "" {
			text += " (" + place + ")"
		}
		if at[text] == nil {
			at[text] = &Origin{Function: f.Function, File: f.File, Line: f.Line, Text: text, Of: g.Count, Members: g.Count}
		}
		at[text].Count += ancestries[i].Count
	}
	return mostOf(at)
}

// mostOf is the origin with most members, nil without any.
func mostOf(origins map[string]*Origin) *Origin {
	all := slices.SortedFunc(maps.Values(origins), func(a, b *Origin) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text))
	})
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// opening is the frame that opened a descriptor: the innermost one of own code, else the
// innermost that is of no library. It is nil where all are, and where that is an interpreter's.
func opening(own *family.Own, stack *analysis.Stack) *StackFrame {
	frames := markedFrames(own, stack, own.Mark(stack))
	if at := slices.IndexFunc(frames, func(f StackFrame) bool { return f.Own }); at >= 0 {
		return &frames[at]
	}
	at := slices.IndexFunc(frames, func(f StackFrame) bool {
		return family.StandardPackage(f.Function) == "" && !(f.Line == 0 && f.File != "")
	})
	if at < 0 || slices.ContainsFunc(interpreters, func(prefix string) bool { return strings.HasPrefix(frames[at].Function, prefix) }) {
		return nil
	}
	return &frames[at]
}

// interpreters are how functions begin that run code of a script, whose own frames have no names
// in a trace: those of V8 and Node.js, Python and Ruby.
var interpreters = []string{"uv_", "node::", "v8::", "Builtins_", "Py", "_Py", "rb_", "vm_"}

// openedText words where the descriptors of a family were opened, "" where nothing shows it.
//
//	"opened at main.leak (leak.go:21)", "60 of 86 were opened at main.leak (leak.go:21)"
func (f *Family) openedText() string {
	if f == nil || f.OpenedAt == nil {
		return ""
	}
	switch o := f.OpenedAt; {
	case o.Count < o.Of:
		return fmt.Sprintf("%d of %d were opened at %s", o.Count, o.Of, o.Text)
	default:
		return "opened at " + o.Text
	}
}

// leftUnclosed words the only capture of a process if it is what a tracer saw, "" if it is not.
//
//	"86 descriptors of confd were opened in 60 s of strace and not closed; all at main.leak (leak.go:21)"
//	"confd closed all 40 descriptors that it opened in 60 s of strace"
//	"confd opened 40 files in 60 s of trace_open, which does not show what it closed"
func (d *diagnosing) leftUnclosed(s *Series) string {
	snap := d.snapshot(s, 0)
	if snap.Traced == nil || snap.Totals.Descriptors == nil {
		return ""
	}
	if snap.Traced.ClosesUnknown {
		return fmt.Sprintf("%s opened %s %s, which does not show what it closed", s.actor(), wording.Plural(snap.Traced.Opened, "file", "files"), snap.Traced.while())
	}
	left := *snap.Totals.Descriptors
	if left == 0 {
		all := "all " + wording.Plural(snap.Traced.Opened, "descriptor", "descriptors")
		if snap.Traced.Opened == 1 {
			all = "the descriptor"
		}
		return fmt.Sprintf("%s closed %s that it opened %s", s.actor(), all, snap.Traced.while())
	}
	text := fmt.Sprintf("%s%s %s opened %s and not closed", wording.Members(analysis.KindDescriptor, left), s.place("of"), wording.Fit(left, "was", "were"), snap.Traced.while())
	switch most := s.opener(); {
	case most == nil:
		return text
	case most.Count == left && left == 1:
		return text + "; at " + most.Text
	case most.Count == left:
		return text + "; all at " + most.Text
	default:
		return fmt.Sprintf("%s; %d at %s", text, most.Count, most.Text)
	}
}

// opener is the code that opened most descriptors of a process, nil where nothing shows it.
func (s *Series) opener() *Origin {
	at := map[string]*Origin{}
	for i := range s.Families {
		if o := s.Families[i].OpenedAt; o != nil {
			if at[o.Text] == nil {
				at[o.Text] = &Origin{Text: o.Text}
			}
			at[o.Text].Count += o.Count
		}
	}
	return mostOf(at)
}
