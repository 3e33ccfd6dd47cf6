package tracer

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"leakdiff/analysis"
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

// ParseEvents reads the events of trace_open, an object in each line (-o json). They show what was
// opened and not what was closed: what is left is the last one that was opened under each number.
// The error is that of r only.
func ParseEvents(r io.Reader, file string) (Trace, []analysis.Problem, error) {
	t, probs := newTable(), &line.Problems{Path: file}
	in := line.NewReader(r)
	out := Trace{ClosesUnknown: true}
	var first, last time.Time
	for l := range in.All() {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(l.Text), &e); err != nil || e.FD == nil || e.Proc.PID <= 0 {
			probs.Add(analysis.Warning, l, "an event is not understood", line.Quote(l.Text)+" is no event of trace_open with a process and a descriptor", "run the gadget with -o json, one event in a line")
			continue
		}
		out.Calls++
		at := time.Duration(-1)
		if when, err := time.Parse(time.RFC3339Nano, e.Timestamp); err == nil {
			if first.IsZero() {
				first = when
			}
			last, at = when, max(when.Sub(first), 0)
		}
		if e.Error != "" || *e.FD < 0 {
			continue
		}
		p := t.tasks[e.Proc.PID]
		if p == nil {
			if len(t.tasks) >= maxTasks {
				t.full.tasks++
				continue
			}
			p = t.newProcess(e.Proc.PID)
			p.Certain, p.Program = true, e.Proc.Comm
			t.join(e.Proc.PID, p)
		}
		o := Opening{FD: *e.FD, Name: e.FPath, Place: l.Place(), Stack: -1, At: at}
		if o.Name == "" {
			o.Name = e.FName
		}
		if symbols := e.UStack.Symbols; symbols != "" {
			o.Stack = t.stack(symbols, func() analysis.Stack { return parseSymbols(symbols) })
		}
		t.opened(p, o, false)
	}
	if out.Begin = first.UTC(); first.IsZero() {
		out.Begin = time.Time{}
	}
	out.Processes, out.Stacks, out.Span, out.Bytes = t.left(), t.stacks, max(last.Sub(first), 0), in.Offset()
	if out.Calls > 0 && len(t.known) == 0 {
		probs.Add(analysis.Note, line.Line{}, "no stack says what opened the descriptors", "the gadget collects stacks on demand", "run it with --collect-ustack --paths -o json")
	}
	t.bounded(probs)
	return out, probs.All(), in.Failure(file)
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
