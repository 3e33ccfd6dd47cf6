package goroutine

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"leakdiff/analysis"
)

// FormTrace is the form of an execution trace.
const FormTrace = "trace"

// Trace describes an execution trace as a whole.
type Trace struct {
	// Dump has the counts of those that live at the end of the trace.
	Dump
	// Time is that of the end, zero before Go 1.25, whose traces have no clock.
	Time time.Time
	// Window is how long the trace was taken.
	Window time.Duration
	// Started and Ended count the program's own goroutines in the window. Stayed of those
	// started live at its end.
	Started, Ended, Stayed int
	// Bare counts the goroutines at the end whose stack the trace does not hold.
	Bare int
	// Births are the program's own goroutines that started or ended in the window, by their
	// origin. Those of no known origin are under the zero one.
	Births map[Origin]analysis.Births
}

const (
	// maxGeneration bounds the bytes of one generation, which the reader holds in memory.
	// The runtime begins one each second; those of Go 1.21 and older are a whole trace.
	maxGeneration = 64 << 20
	// maxTraced bounds the goroutines that live at one time.
	maxTraced = 1 << 19
	// noTraceStack is the text in place of the stack of a goroutine that did nothing in the
	// window. Since Go 1.23 the runtime records the stacks of these, too.
	noTraceStack = "the trace has no stack of it"
)

// ParseTrace reads an execution trace (runtime/trace, /debug/pprof/trace) and hands the
// goroutines that live at its end to visit, by id. Their stacks have no creator, so that
// those that started in the trace and before it are alike; those that started in it have the
// stack of their go statement as their Ancestors. A goroutine that runs has the stack of its
// last event. Wait is counted from the begin of the trace.
//
// A trace that stops before its end, or that goes beyond the limits, is read up to there:
// it is Truncated, with a problem. The error is that of r or of visit, or an
// *analysis.Fault "unreadable" if nothing was read.
func ParseTrace(r io.Reader, cfg Config, visit func(*Goroutine) error) (Trace, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &traceParser{
		input:    &generationReader{r: r, left: maxGeneration},
		stacks:   newStackTable(cfg),
		problems: problems{path: cfg.Path, max: cfg.MaxProblems},
		live:     map[int64]traced{},
		stackOf:  map[trace.Stack]*keptStack{},
		births:   newBirths(),
	}
	err := p.run()
	if p.input.err != nil {
		return p.found, p.problems.all(), p.input.err
	}
	if err == nil && len(p.live) == 0 && p.found.Ended == 0 {
		err = errors.New("it has no event of a goroutine")
	}
	if err != nil && len(p.live) == 0 {
		return p.found, p.problems.all(), unreadableTrace(err)
	}
	if err != nil {
		p.cut(err)
	}
	err = p.deliver(visit)
	p.found.Bytes = p.input.n
	if p.found.Bare > 0 {
		p.bare()
	}
	if p.stacks.others > 0 {
		p.problems.always(tooManyStacks(p.stacks))
	}
	return p.found, p.problems.all(), err
}

type traceParser struct {
	input    *generationReader
	stacks   *stackTable
	problems problems
	found    Trace
	live     map[int64]traced
	// stackOf has the stacks of the present generation, whose handles end with it.
	stackOf map[trace.Stack]*keptStack
	// begin and end are the times of the first and the last event.
	begin, end trace.Time
	begun      bool
	// clock is the last reading of the wall clock, nil without one.
	clock  *trace.ClockSnapshot
	births births
	key    []byte
}

// traced is a goroutine that lives.
type traced struct {
	state  trace.GoState
	since  trace.Time // when state began
	reason string
	parent int64
	// creation is the stack of its go statement, nil if that lies before the window.
	creation *creation
	entry    string // the function that it began with, "" if none was seen
	system   bool
	// last is the stack of its last event, looked up at the end of the generation.
	last trace.Stack
	kept *keptStack
}

// run reads events until the end. Its error is one of the format.
func (p *traceParser) run() (err error) {
	// The reader is foreign code that sees hostile input.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder gave up: %v", r)
		}
	}()
	events, err := trace.NewReader(p.input)
	if err != nil {
		return err
	}
	for {
		ev, err := events.ReadEvent()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !p.begun {
			p.begun, p.begin = true, ev.Time()
		}
		p.end = max(p.end, ev.Time())
		switch ev.Kind() {
		case trace.EventSync:
			p.generation(ev.Sync())
		case trace.EventStateTransition:
			if st := ev.StateTransition(); st.Resource.Kind == trace.ResourceGoroutine {
				p.transition(&ev, &st)
			}
		}
		if len(p.live) >= maxTraced {
			return fmt.Errorf("more than %d goroutines live at one time", maxTraced-1)
		}
	}
}

// generation ends one and begins the next.
func (p *traceParser) generation(s trace.Sync) {
	p.settle()
	p.input.left = maxGeneration
	if s.ClockSnapshot != nil {
		p.clock = s.ClockSnapshot
	}
}

// settle looks up the stacks whose handles end with a generation.
func (p *traceParser) settle() {
	for id, g := range p.live {
		if g.last != trace.NoStack {
			g.keep(p)
			p.live[id] = g
		}
	}
	clear(p.stackOf)
	clear(p.births.creationOf)
}

func (g *traced) keep(p *traceParser) {
	if g.last == trace.NoStack {
		return
	}
	if kept := p.lookUp(g.last); kept != nil {
		g.kept, g.system = kept, kept.system
		if entry := EntryOf(kept.stack); entry != "" && g.creation == nil {
			g.entry = entry
		}
	}
	g.last = trace.NoStack
}

func (p *traceParser) transition(ev *trace.Event, st *trace.StateTransition) {
	from, to := st.Goroutine()
	id := int64(st.Resource.Goroutine())
	if id <= 0 {
		return
	}
	g := p.live[id]
	if st.Stack != trace.NoStack {
		g.last = st.Stack
	}
	if to == trace.GoNotExist {
		g.keep(p)
		if !g.system {
			p.found.Ended++
			p.births.end(&g)
		}
		delete(p.live, id)
		return
	}
	if from == trace.GoNotExist {
		g.parent = max(0, int64(ev.Goroutine()))
		g.keep(p)
		g.creation = p.creationOf(ev.Stack())
		if !g.system {
			p.found.Started++
			p.births.start(&g)
		}
	}
	switch {
	case from == trace.GoUndetermined:
		g.state, g.since = to, p.begin // the status of an idle one is written at the end
	case g.state != to:
		g.state, g.since, g.reason = to, ev.Time(), ""
	}
	if st.Reason != "" {
		g.reason = st.Reason
	}
	p.live[id] = g
}

// lookUp returns the stack of a handle, nil if it has no frames.
func (p *traceParser) lookUp(handle trace.Stack) *keptStack {
	kept, known := p.stackOf[handle]
	if known {
		return kept
	}
	p.key = p.key[:0]
	if !p.appendFrames(handle, maxKey) {
		p.key = append(p.key, markElided, '-', '1', '\n')
	}
	if len(p.key) > 0 {
		kept = p.stacks.get(p.key)
	}
	p.stackOf[handle] = kept
	return kept
}

// appendFrames adds the frames of a stack to the key, and returns false if that becomes longer
// than most bytes and outer frames are left out.
func (p *traceParser) appendFrames(handle trace.Stack, most int) (all bool) {
	for f := range handle.Frames() {
		if len(p.key) > most {
			return false
		}
		name := f.Func
		if name == "" {
			name = fmt.Sprintf("0x%x", f.PC)
		}
		p.key = appendFrame(p.key, []byte(name), fmt.Appendf(nil, "%s:%d", f.File, min(f.Line, 1<<31-1)))
	}
	return true
}

// deliver hands those that live to visit.
func (p *traceParser) deliver(visit func(*Goroutine) error) error {
	p.settle()
	f := &p.found
	f.Form = FormTrace
	f.Window = max(0, p.end.Sub(p.begin))
	f.Births = p.births.of(f.Window)
	if p.clock != nil {
		f.Time = p.clock.Wall.Add(p.end.Sub(p.clock.Trace)).UTC()
	}
	p.key = append(append(p.key[:0], markUnavailable), noTraceStack+"\n"...)
	for _, id := range slices.Sorted(maps.Keys(p.live)) {
		g := p.live[id]
		if g.kept == nil {
			f.Bare++
			g.kept = p.stacks.get(p.key)
		}
		out := g.goroutine(id, p.end)
		f.Headers++
		f.MaxID = id
		if g.system {
			f.System++
		} else {
			f.Goroutines++
			if g.creation != nil {
				f.Stayed++
			}
		}
		if visit == nil {
			continue
		}
		if err := visit(&out); err != nil {
			return err
		}
	}
	return nil
}

// goroutine is what a text dump at the end of the trace would show.
func (g *traced) goroutine(id int64, end trace.Time) Goroutine {
	out := Goroutine{
		ID: id, Parent: g.parent, State: g.word(), Wait: -1, System: g.system,
		Stack: g.kept.stack, StackNumber: g.kept.number, Dumper: tracing(g.kept.stack),
	}
	if g.creation != nil {
		out.Ancestors = g.creation.ancestors
	}
	if waited := end.Sub(g.since); g.state == trace.GoWaiting && waited >= time.Minute {
		out.Wait = int(waited / time.Minute)
	}
	return out
}

// tracing recognises the goroutines that take the trace.
func tracing(s *analysis.Stack) bool {
	if n := len(s.Frames); n > 0 && strings.HasPrefix(s.Frames[n-1].Func, "runtime/trace.") {
		return true
	}
	return slices.ContainsFunc(s.Frames, func(f analysis.Frame) bool { return f.Func == "net/http/pprof.Trace" })
}

// word is the state in the words of a text dump.
func (g *traced) word() string {
	switch g.state {
	case trace.GoRunnable:
		return "runnable"
	case trace.GoRunning:
		return "running"
	case trace.GoSyscall:
		return "syscall"
	}
	for _, f := range g.kept.stack.Frames[:min(len(g.kept.stack.Frames), waitDepth)] {
		if word := waitIn[f.Func]; word != "" {
			if g.reason == "forever" && strings.HasPrefix(word, "chan ") {
				word += " (nil chan)"
			}
			return word
		}
	}
	if g.reason != "" {
		return g.reason
	}
	return "waiting"
}

// waitDepth is how many frames of the runtime stand before one of waitIn.
const waitDepth = 8

// waitIn are the words of runtime.waitReasonStrings by the function that waits: a trace has
// other words for some, and none for a wait that began before it.
var waitIn = map[string]string{
	"runtime.chanrecv1":                     "chan receive",
	"runtime.chanrecv2":                     "chan receive",
	"runtime.chansend1":                     "chan send",
	"runtime.selectgo":                      "select",
	"runtime.block":                         "select (no cases)",
	"internal/poll.runtime_pollWait":        "IO wait",
	"time.Sleep":                            "sleep",
	"sync.runtime_SemacquireMutex":          "sync.Mutex.Lock",
	"internal/sync.runtime_SemacquireMutex": "sync.Mutex.Lock",
	"sync.runtime_SemacquireRWMutexR":       "sync.RWMutex.RLock",
	"sync.runtime_SemacquireRWMutex":        "sync.RWMutex.Lock",
	"sync.runtime_SemacquireWaitGroup":      "sync.WaitGroup.Wait",
	"sync.runtime_Semacquire":               "semacquire",
	"sync.runtime_notifyListWait":           "sync.Cond.Wait",
	"internal/poll.runtime_Semacquire":      "semacquire",
	"runtime.gcBgMarkWorker":                "GC worker (idle)",
	"runtime.bgsweep":                       "GC sweep wait",
	"runtime.bgscavenge":                    "GC scavenge wait",
	"runtime.updateMaxProcsGoroutine":       "GOMAXPROCS updater (idle)",
	"runtime.forcegchelper":                 "force gc (idle)",
	"runtime.runFinalizers":                 "finalizer wait",
	"runtime.runfinq":                       "finalizer wait",
	"runtime.runCleanups":                   "cleanup wait",
	"runtime.(*cleanupQueue).dequeue":       "cleanup wait",
	"os/signal.signal_recv":                 "syscall",
}

// cut reports that the trace was read in part.
func (p *traceParser) cut(err error) {
	p.found.Truncated, p.found.TruncatedWhy = true, err.Error()
	p.problems.always(analysis.Problem{
		Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("the trace was read up to %s after its begin; the goroutines are those of that moment, at least %d", p.end.Sub(p.begin).Round(time.Millisecond), len(p.live)),
		Why:  validText([]byte(firstLine(err.Error()))),
		Hint: "take a shorter trace (/debug/pprof/trace?seconds=5) and copy it whole",
	})
}

// bare reports those without a stack.
func (p *traceParser) bare() {
	p.problems.always(analysis.Problem{
		Offset: -1, Severity: analysis.Note,
		What: fmt.Sprintf("the trace has no stack of %d of %d goroutines", p.found.Bare, p.found.Headers),
		Why:  "they did nothing while it was taken; programs built with Go 1.22 and older write the stacks of events alone",
		Hint: "take /debug/pprof/goroutine?debug=2 with it, which has the stack of each",
	})
}

func unreadableTrace(err error) error {
	return &analysis.Fault{
		Code: "unreadable",
		What: "the execution trace cannot be read",
		Why:  validText([]byte(firstLine(err.Error()))),
		Hint: "fetch it again, whole (/debug/pprof/trace?seconds=5); a trace shorter than its first generation, about a second, holds nothing",
		Err:  err,
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 200)]
}

var errGeneration = errors.New("one generation of it is longer than 64 MiB")

// generationReader fails after so many bytes of one generation, and remembers an error of
// r, to separate it from one of the format.
type generationReader struct {
	r    io.Reader
	n    int64
	left int
	err  error
}

func (g *generationReader) Read(b []byte) (int, error) {
	if g.left <= 0 {
		return 0, errGeneration
	}
	n, err := g.r.Read(b[:min(len(b), g.left)])
	g.n += int64(n)
	g.left -= n
	if err != nil && err != io.EOF {
		g.err = err
	}
	return n, err
}
