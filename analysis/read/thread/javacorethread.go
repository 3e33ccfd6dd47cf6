package thread

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// javacoreThread is the thread being read.
type javacoreThread struct {
	analysis.Thread
	begin  line.Line
	end    int64
	frames []analysis.Frame
	more   int
	// addresses are what the section of locks may call it.
	addresses []string
	// machine is true for a thread of the virtual machine, counted for one that the
	// machine counts, anonymous for one that only the operating system knows.
	machine, counted, anonymous bool
	// seen are the tags that a thread has once.
	seen   map[string]bool
	native bool // the frames that follow are native ones
	// raw is true if the state of the machine is printed apart, so that the other one is
	// that of Java.
	raw bool
}

var (
	threadAddresses = expression.Lazy(`\b(?:J9VMThread|TID|sys_thread_t|J9VMContinuation):0x([0-9A-Fa-f]+)`)
	threadObject    = expression.Lazy(`\bjava/lang/Thread:0x([0-9A-Fa-f]+)`)
	threadWord      = expression.Lazy(`\bstate:([A-Za-z?]+)`)
	nativeID        = expression.Lazy(`\bnative (?:thread )?ID:(0x[0-9A-Fa-f]+)`)
)

// javacoreHeader reads the header of a thread in the spelling of any release. The name ends
// with the last quote; no attribute has one.
//
//	"main" J9VMThread:0x0000000000124D00, omrthread_t:0x00007F3F8C1494C8, java/lang/Thread:0x00000000FFF53EE8, state:CW, prio=5
//	"main" (TID:0x2ACCAE8, sys_thread_t:0x85E2E08, state:CW, native ID:0x3B8) prio=5
//	Anonymous native thread
func javacoreHeader(tag, rest string) (javacoreThread, bool) {
	t := javacoreThread{Thread: newThread()}
	if tag == threadTag && rest == anonymousThread {
		t.Name, t.anonymous, t.machine = rest, true, true
		return t, true
	}
	end := strings.LastIndexByte(rest, '"')
	if end <= 0 || rest[0] != '"' {
		return t, false
	}
	t.Name = text(rest[1:end])
	attributes := rest[end+1:]
	for _, m := range threadAddresses.FindAllStringSubmatch(attributes, 2) {
		t.addresses = append(t.addresses, javacoreAddress(m[1]))
	}
	if len(t.addresses) == 0 {
		return t, false
	}
	if tag == unmountedTag {
		t.Sort = analysis.VirtualThread
		return t, true
	}
	t.counted = true
	if m := threadObject.FindStringSubmatch(attributes); m != nil {
		t.machine = javacoreAddress(m[1]) == ""
	}
	if m := threadWord.FindStringSubmatch(attributes); m != nil {
		t.State = text(m[1])
	}
	if m := nativeID.FindStringSubmatch(attributes); m != nil {
		t.Native = native(m[1])
	}
	return t, true
}

// anonymousThread is the header of a thread that the virtual machine does not know.
const anonymousThread = "Anonymous native thread"

// javacoreAddress is an address as all sections are compared: some pad it.
func javacoreAddress(s string) string {
	return strings.ToLower(strings.TrimLeft(strings.TrimPrefix(s, "0x"), "0"))
}

var (
	longID    = expression.Lazy(`getId:(0x[0-9A-Fa-f]+)`)
	totalCPU  = expression.Lazy(`\btotal: ([\d.]+) secs`)
	ofMachine = expression.Lazy(`current category="(?:GC|JIT)"`)
)

// javacoreFrame reads a frame. Classes have slashes since Java 6, and those of lambdas keep
// the one before their number.
//
//	at java/lang/Object.wait(Object.java:189(Compiled Code)) -> java.lang.Object.wait, Object.java, 189
//	at Foo$$Lambda$12/0x000000009C1A2B30.run(Bytecode PC:4)  -> Foo$$Lambda$12/0x000000009C1A2B30.run, Unknown Source
func javacoreFrame(s string) (analysis.Frame, bool) {
	s, ok := strings.CutPrefix(s, "at ")
	if !ok {
		return analysis.Frame{}, false
	}
	s = strings.ReplaceAll(s, "(Compiled Code)", "")
	open := strings.LastIndexByte(s, '(')
	if open < 0 {
		open = len(s)
	}
	f, ok := parseFrame(javaClass(s[:open]) + s[open:])
	if f.File == "Bytecode PC" {
		f.File, f.Line = "Unknown Source", 0
	}
	return f, ok
}

// javaClass writes a class with dots, except for the slash before the number of a lambda.
//
//	"java/util/Timer$$Lambda$7/0x01" -> "java.util.Timer$$Lambda$7/0x01"
func javaClass(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c == '/' && (i+1 == len(b) || b[i+1] < '0' || b[i+1] > '9') {
			b[i] = '.'
		}
	}
	return string(b)
}

// javacoreNative reads a native frame. The place in its library stays the same while the
// address differs from process to process.
//
//	pthread_cond_wait+0x1a8 (0x09000000005D38AC [libpthreads.a+0x258ac]) -> pthread_cond_wait+0x1a8, libpthreads.a
//	(0x00007F173142A702 [libj9prt29.so+0x4e702])                         -> libj9prt29.so+0x4e702, libj9prt29.so
func javacoreNative(s string) analysis.Frame {
	symbol, rest, _ := strings.Cut(s, "(")
	symbol = strings.TrimSpace(symbol)
	_, place, _ := strings.Cut(rest, "[")
	place, _, _ = strings.Cut(place, "]")
	library, _, _ := strings.Cut(place, "+")
	switch {
	case symbol == "" && place == "":
		symbol = "unknown"
	case symbol == "":
		symbol = place
	case strings.HasPrefix(symbol, "0x"):
		symbol = "unknown" // an address alone
	}
	return analysis.Frame{Func: symbol, File: library}
}

// finish completes the state, the sort and the locks of a thread.
func (t *javacoreThread) finish(p *javacoreParser) {
	switch {
	case t.State == "R":
		t.State = "RUNNABLE"
	case t.State == "B":
		t.State = "BLOCKED"
	case t.State == "P", t.State == "CW" && t.raw:
		t.State = "WAITING"
	case t.State == "Z":
		t.State = "TERMINATED"
	case t.State == "":
		t.State = ""
	}
	if t.machine && t.Sort == analysis.JavaThread {
		t.Sort = analysis.VMThread
	}
	for _, address := range t.addresses {
		for _, l := range p.monitors[address] {
			t.lock(l)
		}
	}
	released := ""
	for _, l := range t.Locks {
		if l.How == "waiting on" {
			released = l.Object
		}
	}
	kept := t.Locks[:0]
	for _, l := range t.Locks {
		if l.How == "locked" && l.Object == released {
			continue
		}
		l.Frame = min(l.Frame, len(t.frames)-1)
		kept = append(kept, l)
	}
	t.Locks = kept
}
