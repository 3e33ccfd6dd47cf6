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
	"leakdiff/analysis/say/noun"
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
	// Ended says that the process ended while it was traced.
	Ended bool `json:"ended,omitempty"`
}

// manyLeft is how many descriptors of one stack stay open before its code is looked at: each
// program opens its log, its listener and the like once.
const manyLeft = 3

// keeps reports a stack that left open most of what it opened.
func keeps(a *analysis.Ancestry) bool { return a.Left >= manyLeft && 2*a.Left > a.Opened }

func tracedOf(s *analysis.Snapshot) *Traced {
	form := s.Forms[analysis.KindDescriptor]
	if form != analysis.FormOpened && form != analysis.FormOpenEvents || len(s.Artifacts) == 0 {
		return nil
	}
	return &Traced{
		Tool: s.Artifacts[0].Kind, Opened: int(s.Figures[analysis.TraceOpened]), Seconds: s.Figures[analysis.TraceSeconds],
		ClosesUnknown: form == analysis.FormOpenEvents, Ended: s.Figures[analysis.TraceEnded] > 0,
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
		if keeps(&ancestries[i]) {
			at[text].Kept += ancestries[i].Count
		}
	}
	return mostOf(at)
}

// mostOf is the origin with most members, nil without any.
func mostOf(origins map[string]*Origin) *Origin {
	all := slices.SortedFunc(maps.Values(origins), func(a, b *Origin) int {
		return cmp.Or(cmp.Compare(b.Kept, a.Kept), cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text))
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

// closeOpened is what to do about descriptors whose opener a tracer saw, "" where it saw none.
func (f *Family) closeOpened() string {
	if f == nil || f.OpenedAt == nil {
		return ""
	}
	return fmt.Sprintf("Close what %s opens when it is done with it, also where it fails.", f.OpenedAt.Text)
}

// opens names descriptors by what they are: "netlink sockets", "fanotify descriptors", a file by its path.
func (f *Family) opens() string {
	if n := nounOf(noun.Builtin(), f, f.Title); n != nil {
		return n.Many
	}
	if strings.HasSuffix(f.Title, " descriptor") {
		return f.Title + "s"
	}
	return "“" + f.Title + "”"
}

// openedThere words the place in a sentence that says what was opened, "" where a tracer did not
// see one place open all of them.
func (f *Family) openedThere() string {
	if f == nil || f.OpenedAt == nil || f.OpenedAt.Count < f.OpenedAt.Of {
		return ""
	}
	return " at " + f.OpenedAt.Text
}

// openedBeside words what the place that opened a thing opened besides it and is not closed, "" if
// nothing.
//
//	"; 24 others were opened there"
func (s *Series) openedBeside(lead *Family) string {
	n := 0
	for i := range s.Families {
		if f := &s.Families[i]; lead.openedThere() != "" && f.Fingerprint != lead.Fingerprint && f.Verdict.Rose() && f.OpenedAt != nil && f.OpenedAt.Text == lead.OpenedAt.Text {
			n += f.OpenedAt.Count
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 more was opened there"
	}
	return fmt.Sprintf("; %d others were opened there", n)
}

// leftUnclosed words the only capture of a process if it is what a tracer saw, "" if it is not.
//
//	"86 descriptors of confd were opened in 60 s of strace and not closed; all at main.leak (leak.go:21)"
//	"2 of 40 descriptors that confd opened in 60 s of strace were still open at its end"
//	"confd closed all 40 descriptors that it opened in 60 s of strace"
//	"confd opened 40 files in 60 s of trace_open, which does not show what it closed"
//	"confd opened 80 files in 60 s of trace_open; 40 at main.leak got numbers that were never given again"
func (d *diagnosing) leftUnclosed(s *Series) string {
	snap := d.snapshot(s, 0)
	if snap.Traced == nil || snap.Totals.Descriptors == nil {
		return ""
	}
	t, left, opener := snap.Traced, *snap.Totals.Descriptors, s.opener()
	switch {
	case t.ClosesUnknown && opener != nil && opener.Kept > 0:
		return fmt.Sprintf("%s opened %s %s; %d at %s got numbers that were never given again", s.actor(), wording.Plural(t.Opened, "file", "files"), t.while(), opener.Kept, opener.Text)
	case t.ClosesUnknown:
		return fmt.Sprintf("%s opened %s %s, which does not show what it closed", s.actor(), wording.Plural(t.Opened, "file", "files"), t.while())
	case left == 0 && t.Opened == 1:
		return fmt.Sprintf("%s closed the descriptor that it opened %s", s.actor(), t.while())
	case left == 0:
		return fmt.Sprintf("%s closed all %s that it opened %s", s.actor(), wording.Plural(t.Opened, "descriptor", "descriptors"), t.while())
	case opener == nil || opener.Kept == 0:
		when := "at the end of the trace"
		if t.Ended {
			when = "when it ended"
		}
		which := fmt.Sprintf("%d of %s", left, wording.Plural(t.Opened, "descriptor", "descriptors"))
		switch {
		case t.Opened == 1:
			which = "The descriptor"
		case left == t.Opened:
			which = "All " + wording.Plural(left, "descriptor", "descriptors")
		}
		return fmt.Sprintf("%s that %s opened %s %s still open %s", which, s.actor(), t.while(), wording.Fit(left, "was", "were"), when)
	}
	closed := "closed"
	if t.Ended {
		closed = "closed when it ended"
	}
	return fmt.Sprintf("%s%s were opened %s and not %s; %s", wording.Members(analysis.KindDescriptor, left), s.place("of"), t.while(), closed, opener.kept(left))
}

// kept words how many of the descriptors that are left an opener opened.
func (o *Origin) kept(left int) string {
	if o.Count == left {
		return "all at " + o.Text
	}
	return fmt.Sprintf("%d at %s", o.Count, o.Text)
}

// look says what to do about code that left open most of what it opened, nil if none did. A
// process that ended while it was traced cannot be captured.
func (d *diagnosing) look(s *Series) *Action {
	traced, opener := d.snapshot(s, 0).Traced, s.opener()
	if traced == nil || opener == nil || opener.Kept == 0 {
		return nil
	}
	text := "See whether " + opener.Text + " closes what it opens, also where it fails."
	if traced.Ended {
		return &Action{Text: text}
	}
	return &Action{Text: text + " Captures of a longer time show which stay:", Command: d.collect(s, 0)}
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
			at[o.Text].Kept += o.Kept
		}
	}
	return mostOf(at)
}
