package thread

import (
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// header is the line that begins a thread.
type header struct {
	form   string
	thread analysis.Thread
	// stacked is true if HotSpot printed a stack's address after the condition, which
	// threads of the virtual machine lack.
	stacked bool
	// inWait is true if the thread waits in Object.wait.
	inWait bool
	// lock is the object that the thread waits for by its header, with Class empty if
	// the header has none; ownerID is -1 if no owner's id was printed.
	lock    analysis.Lock
	ownerID int64
	// when is the time of this thread in dump_to_file.
	when string
}

func newHeader(form string) header {
	return header{form: form, thread: newThread(), ownerID: -1}
}

// mayBegin is the cheap test before parseHeader.
func mayBegin(s string) bool {
	switch s[0] {
	case '"', '#':
		return true
	case 'T':
		return strings.HasPrefix(s, "Thread[") || strings.HasPrefix(s, "Thread ")
	case 'V':
		return strings.HasPrefix(s, "VirtualThread[")
	}
	return false
}

// joinable reports whether s may be the first part of a header whose name holds a
// line feed.
func joinable(s string) bool {
	switch s[0] {
	case '"':
		return true
	case '#':
		return numberedName.MatchString(s) && strings.Count(s, `"`) == 1
	case 'T':
		return strings.HasPrefix(s, "Thread[")
	}
	return false
}

// parseHeader reads the header of any form, free of surrounding space. A name may hold
// quotes, line feeds and text that looks like attributes, so these are matched from the
// right.
func parseHeader(s string) (header, bool) {
	if len(s) > maxHeader {
		return header{}, false
	}
	switch s[0] {
	case '"':
		var h header
		ok := h.quoted(s)
		return h, ok
	case '#':
		return dumpToFileHeader(s)
	case 'T':
		if h, ok := jstackFHeader(s); ok {
			return h, true
		}
		return toStringHeader(s)
	case 'V':
		return virtualHeader(s)
	}
	return header{}, false
}

const (
	// maxHeader and maxAttributes bound the work on lines that only look like a
	// header; real ones have some hundred bytes and a name.
	maxHeader     = 16 << 10
	maxAttributes = 4 << 10
)

// maxQuotes is how many quotes of one line are tried as the end of the name; a header
// has two after it at most, unless an owner's name holds more.
const maxQuotes = 64

// quoted reads a header that begins with the quoted name. It writes into h, as do the
// functions below, because a header has some hundred bytes and is read for every
// thread.
func (h *header) quoted(s string) bool {
	end := lastQuote(s)
	for range maxQuotes {
		if end <= 0 || len(s)-end > maxAttributes {
			break
		}
		if h.named(s, end) {
			h.number(s, end)
			return true
		}
		end = strings.LastIndexByte(s[:end], '"')
	}
	return false
}

// named reads a header whose name ends with the quote at end.
func (h *header) named(s string, end int) bool {
	rest := s[end+1:]
	if rest == "" || rest[0] != ' ' || !h.attributes(strings.TrimLeft(rest, " ")) {
		return false
	}
	h.thread.Name = text(s[1:end])
	return true
}

// number reads the header again if its name seems to end with the quote at end and
// holds a number like a thread's: HotSpot prints the number directly after the name, so
// that later quotes are those of an attribute. Old JVMs of SAP print no number, and their
// attributes begin with cpu.
//
//	`"main" #1 user="x" prio=5 os_prio=0 tid=0x01 nid=0x02 runnable` -> main, 1
//	`"HTTP Worker [1]" cpu=4.00 [reset 4.00] ms user="x" prio=1 tid=0x01 nid=0x02 runnable` -> HTTP Worker [1]
func (h *header) number(s string, end int) {
	if h.thread.ID >= 0 || h.form != FormHotSpot {
		return
	}
	first := strings.Index(s[:end], `" #`)
	unnumbered := first <= 0
	if unnumbered {
		first = strings.Index(s[:end], `" cpu=`)
	}
	if first <= 0 {
		return
	}
	if as := *h; !h.named(s, first) || h.thread.ID < 0 && !unnumbered {
		*h = as
	}
}

// lastQuote is strings.LastIndexByte, which looks at single bytes, for a line with
// two quotes mostly.
func lastQuote(s string) int {
	end := 1 + strings.IndexByte(s[1:], '"')
	if end > 0 && strings.IndexByte(s[end+1:], '"') < 0 {
		return end
	}
	return strings.LastIndexByte(s, '"')
}

// attributes reads the text after a quoted name.
func (h *header) attributes(s string) (ok bool) {
	switch {
	case strings.HasPrefix(s, "id="):
		*h, ok = idHeader(s)
	case strings.HasPrefix(s, "- Thread t@"):
		*h, ok = visualVMHeader(s)
	case strings.Contains(s, "tid="):
		return h.hotSpot(s)
	case strings.Contains(s, "Id="):
		*h, ok = threadInfoHeader(s)
	case strings.Contains(s, "prio="):
		*h, ok = javaMelodyHeader(s)
	}
	return ok
}

// hotSpot reads what jstack, kill -3 and jcmd print, in the spelling of any release and
// of virtual machines that print more. Unknown words and attributes come before the
// address of the thread. After the address, the first word that is no attribute begins
// the condition.
//
//	#9 [11442] daemon prio=10 os_prio=0 cpu=0.33ms elapsed=4.46s tid=0x00007fc8040e45d0 nid=11442 waiting on condition  [0x00007fc803ffe000]
//	os_prio=0 cpu=3.21ms elapsed=3.01s tid=0x00007fc784007bb0 nid=11837 runnable
//	prio=10 tid=60000000044e3840 nid=1194 lwp_id=9992026 runnable [9fffffffb6f00000..9fffffffb6f00a40]
//	#1 prio=5 cpu=62.50 [reset 62.50] ms elapsed=396.66 [reset 396.66] s defined_classes=5 tid=0x01926ca72000 nid=0x6ee8 / 28392 runnable
func (h *header) hotSpot(s string) bool {
	*h = newHeader(FormHotSpot)
	t := &h.thread
	var tid, nid, priority bool
	for s != "" {
		word, rest, equals := cutWord(s)
		key, value, assigned := word, "", equals >= 0
		if assigned {
			key, value = word[:equals], word[equals+1:]
		}
		switch {
		case word == "":
		case word == "daemon":
			t.Daemon = true
		case word == "virtual":
			t.Sort = analysis.VirtualThread
		case word[0] == '#' && isDigits(word[1:]):
			t.ID = number(word[1:])
		case word[0] == '[' && strings.HasSuffix(word, "]") && isDigits(word[1:len(word)-1]) && !nid && !tid:
			t.Native = number(word[1 : len(word)-1])
		case !assigned && word == "/" && nid:
			// The number that follows is nid again, in decimal.
			_, rest, _ = cutWord(rest)
		case key == "tid" && assigned:
			tid = true
			t.Address, _ = strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
		case key == "nid" && assigned:
			nid = true
			t.Native = native(value)
		case key == "lwp_id" && assigned:
			h.form = FormHPUX
			t.Native = native(value)
		case assigned && (key == "prio" || key == "os_prio"):
			priority = true
		case assigned && key == "cpu":
			t.CPU = seconds(value + unitBehind(rest))
		case assigned && key == "elapsed":
			t.Elapsed = seconds(value + unitBehind(rest))
		case (!assigned || !isKey(key)) && tid:
			h.condition(s)
			return nid || priority || h.stacked
		}
		s = rest
	}
	return tid && (nid || priority)
}

// cutWord takes the first word off s and returns the index of its first "=", -1 if it
// has none. It is one pass since headers are what is left to read of most threads.
//
//	"cpu=0.33ms elapsed=4.46s" -> "cpu=0.33ms", "elapsed=4.46s", 3
func cutWord(s string) (word, rest string, equals int) {
	equals = -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '\n':
			return s[:i], s[i+1:], equals
		case c == '=' && equals < 0:
			equals = i
		}
	}
	return s, "", equals
}

// unitBehind is the unit that SAP's virtual machine prints after a second figure.
//
//	"[reset 62.50] ms elapsed=396.66" -> "ms"
//	"elapsed=4.46s tid=0x00007fc8040e45d0" -> ""
func unitBehind(s string) string {
	if s, ok := strings.CutPrefix(s, "[reset "); ok {
		_, s, _ = strings.Cut(s, "] ")
		unit, _, _ := cutWord(s)
		return unit
	}
	return ""
}

// condition reads the tail of a HotSpot header.
//
//	"in Object.wait()  [0x00007fc7ec7fe000]" -> "in Object.wait()"
//	"runnable  [_thread_in_native, stack(0x14bb80,0x14bb90)] [0x14bb8fe000]" -> "runnable"
func (h *header) condition(s string) {
	if open := strings.IndexByte(s, '['); open >= 0 && strings.HasSuffix(strings.TrimRight(s, " "), "]") {
		s, h.stacked = s[:open], true
	}
	s = strings.TrimSpace(s)
	h.inWait = strings.HasPrefix(s, "in Object.wa")
	h.thread.State = conditionText(s)
}

// conditionText is text for the few conditions that nearly all threads have.
func conditionText(s string) string {
	for _, frequent := range [...]string{"waiting on condition", "runnable", "in Object.wait()", "waiting for monitor entry", "sleeping"} {
		if s == frequent {
			return frequent
		}
	}
	return text(s)
}

// isKey reports whether an attribute can be called s, as "pthread-id" is.
func isKey(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && c != '-' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}

var (
	states = `(NEW|RUNNABLE|BLOCKED|WAITING|TIMED_WAITING|TERMINATED)`

	supportCore = expression.Lazy(`^id=(\d+) \(0x[0-9a-f]+\) state=` + states + `\b(?: cpu=\d+%)?(?: \(.*\))?$`)
	inState     = expression.Lazy(`^id=(\d+) in ` + states + `(?: on (?:lock=)?(\S+))?(?: \(.*\))?$`)
	jrockit     = expression.Lazy(`^id=(\d+|\?) idx=0x[0-9a-f]+ tid=(\d+)(?: lastJavaFrame=\S+)? prio=\d+ (.*)$`)
	visualVM    = expression.Lazy(`^- Thread t@(\d+)$`)
	threadInfo  = expression.Lazy(`(?s)^(daemon )?(?:prio=\d+ )?Id=(\d+) (Group=.*? )?(?:in )?` + states +
		`(?: on (?:lock=)?(\S+))?(?: owned by "(.*)" Id=(-?\d+))?(?: \(suspended\))?(?: \((?:running )?in native\))?$`)
	javaMelody = expression.Lazy(`^(daemon )?prio=\d+ ` + states + `$`)

	getAllStackTraces = expression.Lazy(`(?s)^Thread\[(?:#(\d+),)?(.*),(\d+),([^\]]*)\]:? ` + states + `$`)
	virtualToString   = expression.Lazy(`(?s)^VirtualThread\[#(\d+)(?:,(.*))?\]/(\w+)(?:@.*?)?(?: ` + states + `)?$`)
	jstackF           = expression.Lazy(`^Thread (?:t@)?(\d+): \(state = ([A-Z_]+)\)`)
	brokenJstackF     = expression.Lazy(`^Thread (?:t@)?\d+: \(`)
	dumpToFile        = expression.Lazy(`(?s)^#(\d+) "(.*)"( virtual)?(?: ` + states + ` (\d{4}-\d\d-\d\dT\S+))?$`)
	numberedName      = expression.Lazy(`^#\d+ "`)
)

// idHeader reads the three forms that begin with "id=": Jenkins support-core, the
// JDK's ThreadMonitor example, JRockit.
//
//	id=11 (0xb) state=TIMED_WAITING cpu=0%
//	id=3149 in RUNNABLE (running in native)
//	id=1 idx=0x4 tid=11648 prio=5 alive, in native, waiting
func idHeader(s string) (header, bool) {
	if m := supportCore.FindStringSubmatch(s); m != nil {
		h := newHeader(FormSupportCore)
		h.thread.ID, h.thread.State = number(m[1]), text(m[2])
		return h, true
	}
	if m := inState.FindStringSubmatch(s); m != nil {
		h := newHeader(FormThreadInfo)
		h.thread.ID, h.thread.State = number(m[1]), text(m[2])
		h.waits(m[3])
		return h, true
	}
	m := jrockit.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormJRockit)
	h.thread.Native = number(m[2])
	if m[1] != "?" {
		h.thread.ID = number(m[1])
	}
	var state []string
	for word := range strings.SplitSeq(m[3], ", ") {
		if word == "daemon" {
			h.thread.Daemon = true
			continue
		}
		state = append(state, word)
	}
	h.thread.State = text(strings.Join(state, ", "))
	return h, true
}

// waits notes the object that a thread waits for by its header.
//
//	"java.lang.Object@e2144e4"
func (h *header) waits(object string) {
	if object == "" {
		return
	}
	h.lock.How = "waiting on"
	if h.thread.State == "BLOCKED" {
		h.lock.How = "waiting to lock"
	}
	h.lock.Class, h.lock.Object = cutObject(object)
}

// visualVMHeader reads the form of VisualVM and of the actuator's text; the state
// is on the next line.
//
//   - Thread t@332
func visualVMHeader(s string) (header, bool) {
	m := visualVM.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormVisualVM)
	h.thread.ID = number(m[1])
	return h, true
}

// threadInfoHeader reads ThreadInfo.toString and Jenkins' /threadDump.
//
//	daemon prio=8 Id=3 WAITING on java.lang.ref.ReferenceQueue$Lock@4d76f3f8
//	Id=14 Group=main WAITING on C@3d71d552 owned by "Deadlock-lock-2" Id=15
func threadInfoHeader(s string) (header, bool) {
	m := threadInfo.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormThreadInfo)
	if m[3] != "" {
		h.form = FormJenkins
	}
	h.thread.Daemon = m[1] != ""
	h.thread.ID, h.thread.State = number(m[2]), text(m[4])
	h.waits(m[5])
	if m[7] != "" {
		h.lock.Owner, h.ownerID = text(m[6]), number(m[7])
	}
	return h, true
}

// javaMelodyHeader reads the threads of JavaMelody, which have no ids.
//
//	daemon prio=5 RUNNABLE
func javaMelodyHeader(s string) (header, bool) {
	m := javaMelody.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormJavaMelody)
	h.thread.Daemon, h.thread.State = m[1] != "", text(m[2])
	return h, true
}

// toStringHeader reads Thread.toString with the state after it. The name may hold
// commas.
//
//	Thread[pool-7-thread-1,5,main] TIMED_WAITING
//	Thread[#33,kafka,5,main] WAITING
func toStringHeader(s string) (header, bool) {
	m := getAllStackTraces.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormStackTraces)
	h.thread.Name, h.thread.State = text(m[2]), text(m[5])
	if m[1] != "" {
		h.thread.ID = number(m[1])
	}
	return h, true
}

// virtualHeader reads VirtualThread.toString.
//
//	VirtualThread[#106,SubPoller-0]/waiting WAITING
func virtualHeader(s string) (header, bool) {
	m := virtualToString.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormStackTraces)
	h.thread.Sort = analysis.VirtualThread
	h.thread.ID, h.thread.Name, h.thread.State = number(m[1]), text(m[2]), text(m[4])
	if m[4] == "" {
		h.thread.State = text(strings.ToUpper(m[3]))
	}
	return h, true
}

// jstackFHeader reads jstack -F. Its states are those of the virtual machine:
// BLOCKED there is everything that waits.
//
//	Thread 16653: (state = BLOCKED)
//	Thread t@60675: (state = BLOCKED), by jstack of JDK 5
func jstackFHeader(s string) (header, bool) {
	m := jstackF.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormJstackF)
	h.thread.Native, h.thread.State = number(m[1]), "state = "+m[2]
	return h, true
}

// mounted is the header of a virtual thread, which dumps print without its name below the
// frames of its carrier, since JDK 22.
//
//	Mounted virtual thread #23
func mounted(id, form string) header {
	h := newHeader(form)
	h.thread.Sort, h.thread.ID = analysis.VirtualThread, number(id)
	return h
}

// dumpToFileHeader reads jcmd Thread.dump_to_file.
//
//	#48 "vt-worker-4" virtual
//	#51 "vt-worker-4" virtual BLOCKED 2026-11-21T02:54:23.475659678Z
func dumpToFileHeader(s string) (header, bool) {
	m := dumpToFile.FindStringSubmatch(s)
	if m == nil {
		return header{}, false
	}
	h := newHeader(FormDumpToFile)
	h.thread.ID, h.thread.Name, h.thread.State, h.when = number(m[1]), text(m[2]), text(m[4]), m[5]
	if m[3] != "" {
		h.thread.Sort = analysis.VirtualThread
	}
	return h, true
}

// internal are the threads of HotSpot itself that carry a number: the forms of
// MX beans hide them (JavaThread::is_hidden_from_external_view).
func internal(name string) bool {
	name = strings.TrimRight(name, "0123456789")
	switch name {
	case "C1 CompilerThread", "C2 CompilerThread", "CompilerThread", "JVMCI CompilerThread", "JVMCI-native CompilerThread",
		"Service Thread", "Monitor Deflation Thread", "Sweeper thread", "Attach Listener", "Low Memory Detector",
		"Surrogate Locker Thread (Concurrent GC)", "StringDedupThread":
		return true
	}
	return false
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// number saturates at the limits of int64.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// native reads a thread id of the operating system: "0x4aaa" until JDK 20,
// "11433" later.
func native(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// seconds reads a duration as HotSpot prints it, -1 if it is none.
//
//	"301.03ms" -> 0.30103, "4.52s" -> 4.52
func seconds(s string) float64 {
	unit := 1.0
	if cut, ok := strings.CutSuffix(s, "ms"); ok {
		s, unit = cut, 1e-3
	} else {
		s = strings.TrimSuffix(s, "s")
	}
	n, ok := decimal(s)
	if !ok {
		var err error
		if n, err = strconv.ParseFloat(s, 64); err != nil || n < 0 || n > 1e12 {
			return -1
		}
	}
	return n * unit
}

// decimal reads the numbers that headers have, as strconv.ParseFloat does: both
// parts of the quotient are exact, so that it is rounded once.
//
//	"301.03" -> 301.03, true
//	"1e3", "1234567890123456" -> 0, false
func decimal(s string) (n float64, ok bool) {
	const mostDigits = 12
	digits, scale, point := 0, 1.0, false
	if len(s) == 0 || len(s) > mostDigits || s[0] == '.' || s[len(s)-1] == '.' {
		return 0, false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return 0, false
		default:
			digits = digits*10 + int(c-'0')
			if point {
				scale *= 10
			}
		}
	}
	return float64(digits) / scale, true
}
