package thread

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/json"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

const (
	// maxToken bounds the bytes that one thread of a JSON dump may have. Real ones
	// have some hundred kilobytes, 1,024 frames included.
	maxToken = 16 << 20
	// maxNesting is how deep lists and objects are followed to find threads.
	maxNesting = 64
)

// jsonParser walks the tokens of a JSON dump. Only one thread is in memory at a
// time.
type jsonParser struct {
	in       *json.Reader
	stacks   *stackTable
	problems *problems
	visit    func(int, *analysis.Thread) error
	dumps    []Dump
	dump     *Dump
	owners   lockOwners
	frames   []analysis.Frame
	locks    []analysis.Lock
	tooMany  int
	// listed counts the threads of the container being read, counted and found those of
	// all containers that say how many they have.
	listed, counted, found int
	// inside is the container being read.
	inside string
	failed error // of visit
}

// ParseJSON reads the JSON of jcmd Thread.dump_to_file (JDK 21 and later) and of Spring
// Boot's actuator, one dump or several one after the other. It is ParseText in
// everything else. JSON that breaks off yields the threads before the break, and a dump
// that is Truncated.
func ParseJSON(r io.Reader, cfg Config, visit func(ordinal int, t *analysis.Thread) error) ([]Dump, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &jsonParser{in: json.NewReader(r, json.Limits{Value: maxToken}), stacks: newStackTable(cfg.MaxStacks), problems: newProblems(cfg), visit: visit}
	for {
		p.dump = nil
		p.owners.reset()
		p.counted, p.found, p.inside = 0, 0, ""
		err := p.value("", 0)
		p.close()
		if err == io.EOF {
			break
		}
		if err != nil {
			p.broken(err)
			break
		}
	}
	p.dumps = p.problems.leftOut(p.dumps, p.tooMany, p.stacks)
	err := p.failed
	if failure := p.in.Failure(); err == nil && failure != nil {
		err = fmt.Errorf("reading %s: %w", cfg.Path, failure)
	}
	return p.dumps, p.problems.all(), err
}

// value reads one value; key is its name in the object around it.
func (p *jsonParser) value(key string, depth int) error {
	switch kind := p.in.Peek(); {
	case depth >= maxNesting:
		return p.in.Skip()
	case kind == '[' && (key == "threads" || key == "" && depth == 0):
		p.listed = 0
		return p.in.Array(p.thread)
	case kind == '[':
		return p.in.Array(func() error { return p.value("", depth+1) })
	case kind == '{':
		return p.in.Object(func(name string) error {
			if name == "threadDump" {
				p.begin(FormDumpToFileJSON)
			}
			return p.value(name, depth+1)
		})
	case kind == '"':
		s, err := p.in.Text()
		p.text(key, s)
		return err
	}
	return p.in.Skip()
}

// text reads the head of dump_to_file.
func (p *jsonParser) text(key, s string) {
	if p.dump == nil || p.dump.Form != FormDumpToFileJSON {
		return
	}
	switch key {
	case "processId":
		p.dump.PID = int(min(number(s), 1<<31-1))
	case "time":
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			p.dump.Time = t.UTC()
		}
	case "runtimeVersion":
		p.dump.Version = text(s)
	case "threadCount":
		p.counted += int(min(number(s), 1<<31-1))
		p.found += p.listed
		p.listed = 0
	case "container":
		p.container(s)
	}
}

// container counts an executor by its class.
//
//	"java.util.concurrent.ThreadPoolExecutor@47ccc45"           ThreadPoolExecutor
//	"ForkJoinPool-1/jdk.internal.vm.SharedThreadContainer@a34a" the class after the slash
func (p *jsonParser) container(s string) {
	p.inside = text(s)
	if s == "<root>" {
		return
	}
	class, _, _ := strings.Cut(s[strings.LastIndexByte(s, '/')+1:], "@")
	if p.dump.Containers == nil {
		p.dump.Containers = map[string]int{}
	}
	if _, known := p.dump.Containers[class]; known || len(p.dump.Containers) < maxContainers {
		p.dump.Containers[text(class)]++
	}
}

func (p *jsonParser) begin(form string) {
	place := p.in.End()
	p.dumps = append(p.dumps, Dump{Ordinal: len(p.dumps), Form: form, MainElapsed: -1, Line: place.Line, Offset: place.Offset})
	p.dump = &p.dumps[len(p.dumps)-1]
}

// thread reads one element of a list of threads.
func (p *jsonParser) thread() error {
	place := p.in.Place()
	raw, err := p.in.Raw()
	if err != nil {
		return err
	}
	return p.element(raw, at(place.Line, place.Offset))
}

// element reads one element: a thread of either form.
func (p *jsonParser) element(raw []byte, place line.Line) error {
	var e jsonThread
	err := stdjson.Unmarshal(raw, &e)
	if err != nil || e.Name == nil && e.ThreadName == nil && e.TID == "" && e.ThreadID == "" {
		if p.dump != nil || err == nil && raw[0] == '{' {
			p.problems.add(analysis.Warning, place, "an element of the list of threads is none", why(err), "the other threads were read")
		}
		return nil
	}
	form := FormDumpToFileJSON
	if e.ThreadName != nil || e.ThreadID != "" {
		form = FormActuator
	}
	if p.dump == nil {
		p.begin(form)
	}
	t := newThread()
	p.frames, p.locks = p.frames[:0], p.locks[:0]
	elided := 0
	var owner int64
	if form == FormActuator {
		owner = p.actuator(&t, &e)
	} else {
		owner = p.dumpToFile(&t, &e)
	}
	if n := len(p.frames) - maxFrames; n > 0 {
		p.frames, elided = p.frames[:maxFrames], n
	}
	t.Stack = p.stacks.get(p.frames, elided)
	if runsVirtual(p.frames) {
		t.Sort = analysis.VirtualThread
	}
	for i := range p.locks {
		p.locks[i].Frame = min(p.locks[i].Frame, len(p.frames)-1)
	}
	t.Locks = p.locks
	t.Line, t.Offset, t.Length = place.Number, place.Offset, int64(len(raw))
	p.dump.Threads++
	p.listed++
	p.owners.add(&t, owner)
	if p.dump.Ordinal >= maxDumps {
		p.tooMany++
		return nil
	}
	if err := p.visit(p.dump.Ordinal, &t); err != nil {
		p.failed = err
		return err
	}
	return nil
}

func why(err error) string {
	if err != nil {
		return err.Error()
	}
	return "it has neither a name nor an id"
}

// jsonThread is an element of either form. dump_to_file writes numbers as
// strings, later versions of the actuator leave fields out.
type jsonThread struct {
	// dump_to_file
	TID         flexible    `json:"tid"`
	Name        *string     `json:"name"`
	State       string      `json:"state"`
	Virtual     bool        `json:"virtual"`
	Stack       []string    `json:"stack"`
	BlockedOn   string      `json:"blockedOn"`
	WaitingOn   string      `json:"waitingOn"`
	ParkBlocker *jsonParked `json:"parkBlocker"`
	// Carrier is printed from JDK 24 on, while the thread is mounted.
	Carrier      flexible `json:"carrier"`
	MonitorOwned []struct {
		Depth int       `json:"depth"`
		Locks []*string `json:"locks"`
	} `json:"monitorsOwned"`

	// actuator
	ThreadName    *string     `json:"threadName"`
	ThreadID      flexible    `json:"threadId"`
	ThreadState   string      `json:"threadState"`
	Daemon        bool        `json:"daemon"`
	LockName      string      `json:"lockName"`
	LockOwnerID   flexible    `json:"lockOwnerId"`
	LockOwnerName string      `json:"lockOwnerName"`
	LockInfo      *jsonLock   `json:"lockInfo"`
	StackTrace    []jsonFrame `json:"stackTrace"`
	Monitors      []jsonLock  `json:"lockedMonitors"`
	Synchronizers []jsonLock  `json:"lockedSynchronizers"`
}

type jsonParked struct {
	Object string `json:"object"`
	// Owner is the id of the owner, from JDK 26.
	Owner flexible `json:"owner"`
}

type jsonLock struct {
	Class string   `json:"className"`
	Hash  flexible `json:"identityHashCode"`
	Depth *int     `json:"lockedStackDepth"`
}

type jsonFrame struct {
	Loader  string `json:"classLoaderName"`
	Module  string `json:"moduleName"`
	Version string `json:"moduleVersion"`
	Class   string `json:"className"`
	Method  string `json:"methodName"`
	File    string `json:"fileName"`
	Line    int    `json:"lineNumber"`
	Native  bool   `json:"nativeMethod"`
}

// flexible is a number, or a string that holds one, as text.
type flexible string

func (f *flexible) UnmarshalJSON(raw []byte) error {
	*f = flexible(strings.Trim(string(raw), `"`))
	if *f == "null" {
		*f = ""
	}
	return nil
}

// id is the number, -1 if it is none.
func (f flexible) id() int64 {
	n, err := strconv.ParseInt(string(f), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// hash is an identityHashCode as Object.toString prints it.
func (f flexible) hash() string {
	n, err := strconv.ParseInt(string(f), 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(uint64(uint32(n)), 16)
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return text(*s)
}

// dumpToFile fills a thread of Thread.dump_to_file and returns the id of the owner
// of what it waits for, -1 if none is named.
func (p *jsonParser) dumpToFile(t *analysis.Thread, e *jsonThread) int64 {
	t.ID, t.Name, t.State = e.TID.id(), textOf(e.Name), text(e.State)
	t.Carrier, t.Container = max(0, e.Carrier.id()), p.inside
	if e.Virtual {
		t.Sort = analysis.VirtualThread
	}
	for _, s := range e.Stack {
		if f, ok := parseFrame(s); ok {
			p.frames = append(p.frames, f)
		}
	}
	wait := func(how, object string) {
		if object == "" {
			return
		}
		l := analysis.Lock{How: how}
		l.Class, l.Object = cutObject(object)
		p.locks = append(p.locks, l)
	}
	wait("waiting to lock", e.BlockedOn)
	wait("waiting on", e.WaitingOn)
	owner := int64(-1)
	if e.ParkBlocker != nil {
		owner = e.ParkBlocker.Owner.id()
		wait("parking to wait for", e.ParkBlocker.Object)
		if n := len(p.locks); owner > 0 && e.ParkBlocker.Object != "" {
			p.locks[n-1].OwnerID = owner
		}
	}
	for _, m := range e.MonitorOwned {
		for _, owned := range m.Locks {
			// null is a lock that the compiler removed; the one of Object.wait is
			// released.
			if owned == nil || *owned == e.WaitingOn || len(p.locks) >= maxLocks {
				continue
			}
			l := analysis.Lock{How: "locked", Frame: max(m.Depth, 0)}
			l.Class, l.Object = cutObject(*owned)
			p.locks = append(p.locks, l)
		}
	}
	return owner
}

// actuator fills a thread of the actuator and returns the id of the owner of what it
// waits for, -1 if no owner is known.
func (p *jsonParser) actuator(t *analysis.Thread, e *jsonThread) int64 {
	t.ID, t.Name, t.State, t.Daemon = e.ThreadID.id(), textOf(e.ThreadName), text(e.ThreadState), e.Daemon
	for _, f := range e.StackTrace {
		p.frames = append(p.frames, f.frame())
	}
	owner := e.LockOwnerID.id()
	l := analysis.Lock{How: "waiting on", Owner: text(e.LockOwnerName)}
	if t.State == "BLOCKED" {
		l.How = "waiting to lock"
	}
	switch {
	case e.LockInfo != nil && e.LockInfo.Class != "":
		l.Class, l.Object = text(e.LockInfo.Class), e.LockInfo.Hash.hash()
	case e.LockName != "":
		l.Class, l.Object = cutObject(e.LockName)
	}
	if l.Class != "" {
		p.locks = append(p.locks, l)
	}
	for _, m := range e.Monitors {
		held := analysis.Lock{How: "locked", Class: text(m.Class), Object: m.Hash.hash()}
		if m.Depth != nil {
			held.Frame = max(*m.Depth, 0)
		}
		if held.Object != l.Object && len(p.locks) < maxLocks {
			p.locks = append(p.locks, held)
		}
	}
	for _, s := range e.Synchronizers {
		if len(p.locks) < maxLocks {
			p.locks = append(p.locks, analysis.Lock{How: "owns", Class: text(s.Class), Object: s.Hash.hash(), Frame: -1})
		}
	}
	return owner
}

// frame writes a frame as StackTraceElement.toString does, with the module before
// the file as parseFrame has it.
func (f jsonFrame) frame() analysis.Frame {
	module := ""
	if f.Loader != "" && f.Loader != "app" {
		module = f.Loader + "/"
	}
	if f.Module != "" {
		module += f.Module
		if f.Version != "" {
			module += "@" + f.Version
		}
	}
	if module != "" {
		module += "/"
	}
	out := analysis.Frame{Func: f.Class + "." + f.Method, File: module + f.File}
	switch {
	case f.Native || f.Line == -2:
		out.File = module + "Native Method"
	case f.File == "":
		out.File = module + "Unknown Source"
	case f.Line > 0:
		out.Line = f.Line
	}
	return out
}

// close ends the dump being read.
func (p *jsonParser) close() {
	if p.dump != nil {
		p.dump.Deadlocks = p.owners.cycles()
		p.judge()
	}
}

// judge compares what the containers say with what they list.
func (p *jsonParser) judge() {
	d := p.dump
	if p.counted == p.found {
		return
	}
	what := "the dump lists more threads than its containers count"
	why := "the containers count " + wording.Plural(p.counted, "thread", "threads") + ", " + strconv.Itoa(p.found) + " are in their lists"
	if p.counted > p.found {
		what = "the thread dump is not whole"
		d.Truncated, d.TruncatedWhy = true, why
	}
	p.problems.add(analysis.Warning, at(d.Line, d.Offset), what, why,
		"start the JVM without -Djdk.trackAllThreads=false and take the dump again with jcmd PID Thread.dump_to_file -format=json FILE")
}

// broken reports that the JSON ends too soon or is none from some place on.
func (p *jsonParser) broken(err error) {
	if p.failed != nil || p.in.Failure() != nil {
		return
	}
	what, why := "the JSON breaks off", err.Error()
	if limit := (*json.LimitError)(nil); errors.As(err, &limit) {
		what, why = "one value of the JSON is longer than 16 MiB", "the reader stopped to keep memory bounded"
	}
	if p.dump != nil {
		p.dump.Truncated, p.dump.TruncatedWhy = true, what+": "+why
	}
	place := p.in.Place()
	p.problems.add(analysis.Warning, at(place.Line, place.Offset), what, why,
		"what stands before was read; take the dump again")
}
