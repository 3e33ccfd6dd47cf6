package tracer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	readjson "leakdiff/analysis/read/json"
	"leakdiff/analysis/read/line"
)

// event is what Inspektor Gadget's trace_open prints of a call that opened a file, or failed to.
type event struct {
	Timestamp string `json:"timestamp"`
	Proc      struct {
		Comm string `json:"comm"`
		PID  int    `json:"pid"`
	} `json:"proc"`
	FD    *int   `json:"fd"`
	Error string `json:"error"`
	FName string `json:"fname"`
	// FPath is the name behind all links, with --paths.
	FPath string `json:"fpath"`
	// UStack has "[0]main.leak; [1]main.main; ", with --collect-ustack.
	UStack struct {
		Symbols string `json:"symbols"`
	} `json:"ustack"`
}

// maxEvent is how many bytes of one event are read, and shown those of a line that is none.
const (
	maxEvent = 1 << 20
	shown    = 200
)

// ParseEvents reads the events of trace_open: an object in each line (-o json), over several
// lines (-o jsonpretty), or in arrays. They show what was opened and not what was closed: what is
// left is the last one that was opened under each number. The error is that of r only.
func ParseEvents(r io.Reader, file string) (Trace, []analysis.Problem, error) {
	p := &eventParser{in: readjson.NewReader(r, readjson.Limits{Value: maxEvent}), t: newTable(), probs: &line.Problems{Path: file}}
	for c, ok := p.in.Begin(); ok && !p.ended; c, ok = p.in.Begin() {
		if c != '{' && c != '[' {
			p.refuse(p.in.RestOfLine(shown))
			continue
		}
		at, read := p.in.Place(), p.event
		if c == '[' {
			read = func() error { return p.in.Array(p.event) }
		}
		err := read()
		p.ended = p.in.Failure() != nil || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case p.in.Failure() != nil || err == nil:
		case p.ended:
			p.probs.Add(analysis.Warning, line.Line{Number: at.Line, Offset: at.Offset}, "the events break off", "the file ends inside of one", "nothing if the gadget was stopped within it")
		default:
			p.refuse(p.in.RestOfLine(shown))
		}
	}
	out := Trace{ClosesUnknown: true, Begin: p.first.UTC(), Calls: p.calls}
	if p.first.IsZero() {
		out.Begin = time.Time{}
	}
	out.Processes, out.Stacks, out.Span, out.Bytes = p.t.left(), p.t.stacks, max(p.last.Sub(p.first), 0), p.in.Bytes()
	if p.calls > 0 && len(p.t.known) == 0 {
		p.probs.Add(analysis.Note, line.Line{}, "no stack says what opened the descriptors", "the gadget collects stacks on demand", "run it with --collect-ustack --paths -o json")
	}
	p.dropBrief(&out)
	p.t.bounded(p.probs)
	err := p.in.Failure()
	if err != nil {
		err = fmt.Errorf("reading %s: %w", file, err)
	}
	return out, p.probs.All(), err
}

// eventParser reads events of trace_open.
type eventParser struct {
	in          *readjson.Reader
	t           *table
	probs       *line.Problems
	first, last time.Time
	calls       int
	// ended says that the text ends inside of an event.
	ended bool
}

func (p *eventParser) refuse(l line.Line) {
	p.probs.Add(analysis.Warning, l, "an event is not understood", line.Quote(l.Text)+" is no event of trace_open with a process and a descriptor", "run the gadget with -o json")
}

// fewFiles is how many files a process opens that is left out beside one that opened more: the
// gadget sees each command that runs on the host.
const fewFiles = 2

func (p *eventParser) dropBrief(out *Trace) {
	brief := func(q Process) bool { return q.Opened <= fewFiles }
	all := len(out.Processes)
	if kept := slices.DeleteFunc(slices.Clone(out.Processes), brief); len(kept) > 0 && len(kept) < all {
		out.Processes = kept
		p.probs.Add(analysis.Note, line.Line{}, strconv.Itoa(all-len(kept))+" of "+strconv.Itoa(all)+" processes are left out", "they opened at most "+strconv.Itoa(fewFiles)+" files each", "trace one of them alone, with --pid")
	}
}

// event reads the next value.
func (p *eventParser) event() error {
	at := p.in.Place()
	raw, err := p.in.Raw()
	if err != nil {
		return err
	}
	at.Length = int64(len(raw))
	var e event
	if err := json.Unmarshal(raw, &e); err != nil || e.FD == nil || e.Proc.PID <= 0 {
		p.refuse(line.Line{Number: at.Line, Offset: at.Offset, Text: string(raw[:min(len(raw), shown)])})
		return nil
	}
	p.calls++
	after := time.Duration(-1)
	if when, err := time.Parse(time.RFC3339Nano, e.Timestamp); err == nil {
		if p.first.IsZero() {
			p.first = when
		}
		p.last, after = when, max(when.Sub(p.first), 0)
	}
	if e.Error != "" || *e.FD < 0 {
		return nil
	}
	q := p.t.tasks[e.Proc.PID]
	if q == nil {
		if len(p.t.tasks) >= maxTasks {
			p.t.full.tasks++
			return nil
		}
		q = p.t.newProcess(e.Proc.PID)
		q.Certain, q.Program, q.called = true, e.Proc.Comm, true
		p.t.join(e.Proc.PID, q)
	}
	o := Opening{FD: *e.FD, Name: cmp.Or(e.FPath, e.FName), Place: at, At: after}
	stack := -1
	if symbols := e.UStack.Symbols; symbols != "" {
		stack = p.t.stack(symbols, func() analysis.Stack { return parseSymbols(symbols) })
	}
	q.openedAt(&o, stack)
	p.t.opened(q, o, false)
	return nil
}

// parseSymbols reads the names of a stack, leaf first. Those that the gadget could not name are
// counted as left out.
//
//	"[0]main.leak; [1][unknown]; "    main.leak, and one left out
func parseSymbols(text string) (s analysis.Stack) {
	for frame := range strings.SplitSeq(text, "; ") {
		_, name, ok := strings.Cut(frame, "]")
		switch {
		case !ok:
		case len(s.Frames) >= maxFrames || name == "" || name == "[unknown]":
			s.Elided++
		default:
			s.Frames = append(s.Frames, analysis.Frame{Func: strings.Clone(strings.TrimSuffix(name, ".abi0"))})
		}
	}
	return s
}
