package family

import (
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// Threads finds the families of threads. It remembers names and stacks that came
// before. The zero value is ready; only one goroutine at a time may use it.
type Threads struct {
	names    map[string]*nameReading
	read     map[nameReading]*nameReading
	stacks   map[*analysis.Stack]*stackReading
	families map[threadKey]*analysis.Family
}

const (
	// maxRemembered bounds each memory of Threads but that of printed names.
	maxRemembered = 100_000
	// maxPrinted bounds how many names are remembered as they were printed: to read one
	// again costs little more than to remember it, and in a leaking pool each is new.
	maxPrinted = 1 << 12
)

// threadKey is what makes two threads one family, before it is written out.
type threadKey struct {
	sort   analysis.ThreadSort
	name   *nameReading
	class  string
	stack  *analysis.Stack
	capped bool
}

// nameReading is a normalised name and the pool in it.
type nameReading struct{ name, pool string }

// OfThread returns the family of a thread by its key: its maker, its normalised name,
// its normalised stack and the class of its state. Threads of the virtual machine have
// no stack, and their work at the moment of the dump makes no family. A stack that its
// form cut off is only compared with others that were cut off. Equal families are
// mostly the same pointer.
func (c *Threads) OfThread(t *analysis.Thread) *analysis.Family {
	n := c.name(t.Name)
	r := c.stack(t.Stack)
	k := threadKey{sort: t.Sort, name: n, class: threadClass(t, r), stack: t.Stack, capped: t.Capped}
	if f := c.families[k]; f != nil {
		return f
	}
	f := familyOf(k, r)
	if c.families == nil {
		c.families = map[threadKey]*analysis.Family{}
	}
	if len(c.families) < maxRemembered {
		c.families[k] = f
	}
	return f
}

func (c *Threads) name(printed string) *nameReading {
	if n := c.names[printed]; n != nil {
		return n
	}
	reading := nameReading{name: ThreadName(printed)}
	reading.pool = threadPool(printed, reading.name)
	if c.names == nil {
		c.names, c.read = map[string]*nameReading{}, map[nameReading]*nameReading{}
	}
	n := c.read[reading]
	if n == nil {
		n = &reading
		if len(c.read) < maxRemembered {
			c.read[reading] = n
		}
	}
	if len(c.names) < maxPrinted {
		c.names[printed] = n
	}
	return n
}

func (c *Threads) stack(s *analysis.Stack) *stackReading {
	if s == nil {
		return &stackReading{}
	}
	if r := c.stacks[s]; r != nil {
		return r
	}
	r := readJava(s)
	if c.stacks == nil {
		c.stacks = map[*analysis.Stack]*stackReading{}
	}
	if len(c.stacks) < maxRemembered {
		c.stacks[s] = &r
	}
	return &r
}

func familyOf(k threadKey, r *stackReading) *analysis.Family {
	name, pool := k.name.name, k.name.pool
	f := &analysis.Family{
		Fingerprint: digest("t", canonicalThread(k, r)),
		Kind:        analysis.KindThread,
		Title:       threadTitle(k, r),
		Loose:       r.loose(),
		Entry:       pool,
		Attributes:  map[string]string{"name": name, "pool": pool, "sort": string(k.sort)},
	}
	if k.class != "" {
		f.Attributes["state"] = k.class
	}
	if k.capped {
		f.Attributes["stack"] = "cut off by its form"
	}
	return f
}

func canonicalThread(k threadKey, r *stackReading) string {
	var b strings.Builder
	// Names can hold line feeds.
	b.WriteString(key("t", string(k.sort), strconv.Quote(k.name.name), k.class))
	if k.capped {
		b.WriteString("cut off\n")
	}
	loose := r.loose()
	for i := len(loose) - 1; i >= 0; i-- {
		b.WriteString(loose[i] + "\n")
	}
	if r.unavailable != "" {
		b.WriteString("unavailable " + r.unavailable + "\n")
	}
	return b.String()
}

// ExactThread returns the fingerprint of one stack of one build: "e1:" and 32 hex
// digits over classes, methods, file bases and lines, without modules and without the
// numbers of hidden classes, which differ from run to run of a JVM.
func ExactThread(s *analysis.Stack) string {
	var b strings.Builder
	b.WriteString(prefix("e"))
	for i := len(s.Frames) - 1; i >= 0; i-- {
		f := &s.Frames[i]
		b.WriteString(javaName(f.Func) + " " + base(f.File) + ":" + strconv.Itoa(f.Line) + "\n")
	}
	if s.Elided != 0 {
		b.WriteString("elided " + strconv.Itoa(s.Elided) + "\n")
	}
	if s.Unavailable != "" {
		b.WriteString("unavailable " + s.Unavailable + "\n")
	}
	return digest("e", b.String())
}

// The classes of thread states.
const (
	classRunning = "running"
	classWaiting = "waiting"
	classBlocked = "blocked"
)

// threadClass is the class of a thread's state. If the form prints no state, or is
// jstack -F, whose BLOCKED is everything that waits, the innermost frame decides. That
// frame does not show whether a thread waits for a monitor.
func threadClass(t *analysis.Thread, r *stackReading) string {
	if t.Sort == analysis.VMThread {
		return ""
	}
	if t.Carrying >= 0 || r.carries() {
		// Forms print the state of the virtual thread for its carrier, or none.
		return classRunning
	}
	switch t.State {
	case "RUNNABLE":
		return classRunning
	case "WAITING", "TIMED_WAITING":
		return classWaiting
	case "BLOCKED":
		return classBlocked
	case "NEW", "TERMINATED":
		return strings.ToLower(t.State)
	}
	switch {
	case strings.HasPrefix(t.State, "waiting for monitor entry"), strings.Contains(t.State, "blocked"):
		return classBlocked
	case r.waits():
		return classWaiting
	case len(r.frames) > 0 || t.State == "" || strings.HasPrefix(t.State, "runnable"):
		return classRunning
	case strings.Contains(t.State, "wait"), strings.Contains(t.State, "sleeping"), strings.Contains(t.State, "parked"):
		return classWaiting
	}
	return classRunning
}
