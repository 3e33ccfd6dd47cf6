package thread

import (
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// section is the part of a dump that lines belong to.
type section int

const (
	threads section = iota
	deadlockLinks
	deadlockStacks
	// after is where a dump has ended and the next one has not begun.
	after
)

// textParser turns the lines of a file into threads. It knows no form in advance:
// every header says which form it has, and the lines below are read by their own
// words, so that lost tabs, line ends and log lines between do no harm.
type textParser struct {
	lines    *line.Reader
	stacks   *stackTable
	known    *knownBodies // nil where every line is to be read on its own
	problems *problems
	visit    func(int, *analysis.Thread) error
	dumps    []Dump
	tooMany  int // threads of dumps beyond maxDumps

	// The dump being read.
	dump    *Dump
	state   dumpState
	section section
	owners  ownerBook

	// The thread being read, from a header to the next one.
	open   bool
	h      header
	frames []analysis.Frame
	locks  []analysis.Lock
	more   int  // frames beyond maxFrames
	owned  bool // in the list of ownable synchronizers
	begin  line.Line
	end    int64 // offset after the last line that belongs to the thread
	// stated says that a java.lang.Thread.State was printed; released is the object
	// of Object.wait, which the thread does not hold.
	stated, monitorWait bool
	released            string
	foreign             foreignText
	// same is what is known of all lines below the header, nil where they were read
	// one by one; learned has what they say while one of its kind is learned.
	same    *body
	learned *lesson

	// held is a line that may be the beginning of a header, a deadlock's name or an
	// owner's name with line feeds.
	held      string
	heldLines int
	heldAt    line.Line
	// heldAlone says that it stands where a thread may begin, and not within the stack of
	// another one; blankAt is the number of the last blank line.
	heldAlone bool
	blankAt   int64
	// early are refused headers of a dump that has not begun.
	early refusals

	// before are the last lines that are not blank, the newest last.
	before [3]line.Line
}

// dumpState is what is needed to judge a dump's end.
type dumpState struct {
	ended     bool // a line was seen that stands behind the threads
	vm        int  // threads of the virtual machine
	numbered  int  // threads with #N that are in the JVM's own list
	cut       bool // the last line of the input is half of one
	strange   int  // lines inside the dump that are none of its own
	strangeAt line.Line
	refused   refusals
}

// refusals are lines that begin like a thread and were not understood.
type refusals struct {
	count int
	first line.Line
}

func (r *refusals) add(more refusals) {
	if r.count == 0 {
		r.first = more.first
	}
	r.count += more.count
}

// foreignText follows what was printed between the lines of a thread.
type foreignText struct {
	line, blank, exception bool
	count                  int
	first                  line.Line
}

// ParseText reads every text form of a dump, one or many in a file, with any text
// around and between them. visit gets each thread with the ordinal of its dump; a
// thread is valid during the call, its Stack stays. What the JVM repeats of a
// thread in its deadlock section is no thread. Of a thread in Object.wait the
// monitor that it released is not among its Locks, though dumps print it as
// locked. The error is that of r or of visit.
func ParseText(r io.Reader, cfg Config, visit func(ordinal int, t *analysis.Thread) error) ([]Dump, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	return newTextParser(r, cfg, visit).run(cfg.Path)
}

func newTextParser(r io.Reader, cfg Config, visit func(int, *analysis.Thread) error) *textParser {
	return &textParser{lines: line.NewReader(r), stacks: newStackTable(cfg.MaxStacks), known: newKnownBodies(), problems: newProblems(cfg), visit: visit}
}

func (p *textParser) run(path string) ([]Dump, []analysis.Problem, error) {
	more, err := true, error(nil)
	for more && err == nil {
		more, err = p.next()
	}
	if err == nil {
		err = p.endDump()
	}
	if err == nil {
		err = p.lines.Failure(path)
	}
	p.dumps = p.problems.leftOut(p.dumps, p.tooMany, p.stacks)
	return p.dumps, p.problems.all(), err
}

// next reads a header with what stands below it, or a line; false at the end.
func (p *textParser) next() (bool, error) {
	if read, err := p.block(); read {
		return true, err
	}
	l, ok := p.lines.Next()
	if !ok {
		return false, nil
	}
	return true, p.line(l)
}

// blanks are what may surround a line.
const blanks = " \t\r\v\f\uFEFF"

// trim cuts blanks off both ends. Few lines need the slow way, which looks for each
// rune among all of them.
func trim(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	if s == "" || s[0] < utf8.RuneSelf && s[len(s)-1] < utf8.RuneSelf {
		return s
	}
	return strings.Trim(s, blanks)
}

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\n' }

// line sorts one line.
func (p *textParser) line(l line.Line) error {
	s := trim(l.Text)
	if s == "" {
		p.foreign.blank, p.blankAt = true, l.Number
		if p.held != "" {
			return p.hold(s)
		}
		return nil
	}
	begun, err := p.beginning(l, s)
	if err != nil || begun {
		p.remember(l, s)
		return err
	}
	if p.open && p.stated && strings.HasPrefix(s, stateWord) {
		// A thread has one state: the header of another one was lost.
		if err := p.refuse(l); err != nil {
			return err
		}
	}
	if !p.inside(l, s) {
		p.strange(l, s)
	}
	p.remember(l, s)
	return nil
}

// beginning reads what begins a dump, a section or a thread.
func (p *textParser) beginning(l line.Line, s string) (bool, error) {
	if announces(s) {
		return true, p.announce(l, s)
	}
	if p.section == deadlockLinks || p.section == deadlockStacks {
		return p.deadlockLine(l, s)
	}
	switch {
	case strings.HasPrefix(s, "Found one Java-level deadlock"), strings.HasPrefix(s, "Found one Java-level monitor deadlock"):
		return true, p.beginDeadlock(l)
	case p.dump != nil && ends(s):
		return true, p.endThreads()
	case p.announcesFile(s):
		return false, p.endDump()
	}
	return p.header(l, s)
}

// announces reports whether s is the version line above the threads of HotSpot or
// JRockit. Logs may print something in front of it. Programs that list their own threads
// end the words without a version.
//
//	"Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):" true
//	"Full thread dump:"                      true
//	"===== FULL THREAD DUMP ===============" true
//	"INFO Full thread dump was asked for"    false
func announces(s string) bool {
	if _, version, ok := strings.Cut(s, fullThreadDump); ok {
		return strings.Contains(version, "VM") || strings.Contains(version, "JDK") || strings.TrimSpace(strings.TrimSuffix(version, ":")) == ""
	}
	if n := len(fullThreadDump); len(s) == n || len(s) == n+1 && s[n] == ':' {
		return strings.EqualFold(s[:n], fullThreadDump)
	}
	return strings.HasPrefix(s, "===== FULL THREAD DUMP")
}

const fullThreadDump = "Full thread dump"

// ends reports whether s stands behind the threads of a dump.
func ends(s string) bool {
	switch s {
	case "Heap", "<EndOfDump>", "Deadlock Found":
		return true
	}
	return strings.HasPrefix(s, "JNI global ref") || strings.HasPrefix(s, "===== END OF THREAD DUMP") ||
		strings.HasPrefix(s, "Heap PSYoungGen") || strings.HasPrefix(s, "num   #instances")
}

// announcesFile reports whether s is the time in the first lines of
// dump_to_file, below the number of the process.
func (p *textParser) announcesFile(s string) bool {
	if p.dump == nil || p.dump.Form != FormDumpToFile || !isDigits(p.before[2].Text) {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// announce begins a dump at its version line. The lines above may be the process
// of jcmd and the date.
func (p *textParser) announce(l line.Line, s string) error {
	p.giveUp()
	if p.dump != nil && p.dump.Form == FormHotSpot && p.dump.Version == "" && p.dump.Threads+p.state.refused.count == 0 && !p.open {
		// The words of a program stand above the version line of the machine.
		p.dump, p.dumps = nil, p.dumps[:len(p.dumps)-1]
	}
	if err := p.endDump(); err != nil {
		return err
	}
	p.beginDump(l)
	p.early = refusals{}
	p.dump.Form = FormHotSpot
	if strings.HasPrefix(s, "=") {
		p.dump.Form = FormJRockit
		return nil
	}
	_, version, _ := strings.Cut(s, fullThreadDump)
	p.dump.Version = text(strings.TrimSuffix(strings.TrimSpace(version), ":"))
	p.dateAbove(l)
	return nil
}

// dateLayout is how HotSpot prints the local time above a dump.
const dateLayout = "2006-01-02 15:04:05"

func (p *textParser) dateAbove(l line.Line) {
	at := 2
	date := p.before[at]
	if t, err := time.Parse(dateLayout, strings.TrimPrefix(date.Text, "Thread dump triggered at ")); err == nil && date.Number+2 >= l.Number {
		p.dump.Time, p.dump.Zoneless = t, true
		p.dump.Line, p.dump.Offset = date.Number, date.Offset
		at--
	}
	pid := p.before[at]
	if digits, ok := strings.CutSuffix(pid.Text, ":"); ok && isDigits(digits) && pid.Number+3 >= l.Number {
		p.dump.PID = int(min(number(digits), 1<<31-1))
		p.dump.Line, p.dump.Offset = pid.Number, pid.Offset
	}
}

func (p *textParser) beginDump(l line.Line) {
	p.dumps = append(p.dumps, Dump{Ordinal: len(p.dumps), MainElapsed: -1, Line: l.Number, Offset: l.Offset})
	p.dump = &p.dumps[len(p.dumps)-1]
	p.state = dumpState{}
	p.owners.reset()
	p.section = threads
}

// header reads a header, which may begin a dump as well.
func (p *textParser) header(l line.Line, s string) (bool, error) {
	// A name that does not end in its line may go on with a quote.
	alone := mayBegin(s) && (p.held == "" || s[0] == '"' && (p.blankAt == l.Number-1 || strings.LastIndexByte(p.held, '"') > 0))
	if alone {
		if h, ok := parseHeader(s); ok {
			p.giveUp()
			return true, p.beginThread(l, l, &h)
		}
	}
	if p.held != "" {
		if h, ok := parseHeader(p.held + "\n" + s); ok {
			at := p.heldAt
			p.held = ""
			// Its first lines are no strange ones, as they seemed.
			if p.foreign.count -= p.heldLines; p.foreign.count <= 0 {
				p.foreign = foreignText{blank: p.foreign.blank}
			}
			return true, p.beginThread(at, l, &h)
		}
	}
	if mayBegin(s) {
		if !alone {
			if h, ok := parseHeader(s); ok {
				p.giveUp()
				return true, p.beginThread(l, l, &h)
			}
		}
		if joinable(s) && !strings.HasSuffix(s, ":") {
			above := p.held != ""
			p.giveUp()
			p.held, p.heldLines, p.heldAt, p.heldAlone = s, 1, l, above || p.blankAt == l.Number-1 || !p.open || !p.stated && len(p.frames) == 0
			return false, nil
		}
		if s[0] != '"' && p.dump != nil && p.section == threads && p.ofForm(s) {
			return false, p.refuse(l)
		}
	}
	if h, ok := p.jconsoleHeader(s); ok {
		p.held = ""
		return true, p.beginThread(p.before[2], l, &h)
	}
	if p.held != "" {
		return false, p.hold(s)
	}
	return false, nil
}

// hold keeps another line of what may be a name with line feeds, unless the line
// belongs to a thread or it becomes too long.
func (p *textParser) hold(s string) error {
	body := strings.HasPrefix(s, "at ") || strings.HasPrefix(s, stateWord)
	if p.heldLines++; p.heldLines <= maxJoinedLines && len(p.held)+len(s) <= maxJoinedBytes && !body {
		p.held += "\n" + s
		return nil
	}
	if !p.giveUp() {
		return nil
	}
	// What follows belongs to the refused thread and not to the one before.
	err := p.deliver()
	p.open = false
	return err
}

// giveUp ends the wait for the rest of a header, and reports whether what is held counts
// as refused: it stands where threads do, and begins like one of the dump's form.
func (p *textParser) giveUp() bool {
	held, _, _ := strings.Cut(p.held, "\n")
	p.held = ""
	if held == "" || !p.heldAt.Ended {
		return false
	}
	found := refusals{1, p.heldAt}
	switch {
	case p.dump == nil || p.section == after:
		if !attributed(held) {
			return false
		}
		p.early.add(found)
	case p.section == threads && p.ofForm(held) && (p.heldAlone || attributed(held)):
		p.state.refused.add(found)
	default:
		return false
	}
	p.foreign = foreignText{blank: p.foreign.blank}
	return true
}

// refuse counts a line of the dump that no form of a header fits, and ends the thread
// above it.
func (p *textParser) refuse(l line.Line) error {
	p.state.refused.add(refusals{1, l})
	err := p.deliver()
	p.open = false
	return err
}

// ofForm reports whether a line begins like the threads of the dump. A quoted word with
// a colon behind it is a key, of JSON or of a deadlock.
func (p *textParser) ofForm(s string) bool {
	switch p.dump.Form {
	case FormStackTraces:
		return strings.HasPrefix(s, "Thread[") || strings.HasPrefix(s, "VirtualThread[")
	case FormJstackF:
		return len(s) > len("Thread ") && strings.HasPrefix(s, "Thread ") && isDigits(s[len("Thread "):len("Thread ")+1])
	case FormDumpToFile:
		return s[0] == '#'
	}
	if s[0] != '"' {
		return false
	}
	end := strings.IndexByte(s[1:], '"') + 1
	return end == 0 || end+1 == len(s) || s[end+1] != ':'
}

// attributed reports whether a line has attributes of a thread behind its name.
//
//	`"main" #1 [12] prio=5 os_prio=0 tid=` -> true
func attributed(s string) bool {
	end := strings.LastIndexByte(s, '"')
	for _, word := range [...]string{" #", " prio=", " os_prio=", " tid=", " nid=", " cpu=", " elapsed=", " daemon ", " Id=", " id="} {
		if strings.Contains(s[end+1:], word) {
			return s[0] == '"'
		}
	}
	return false
}

// jconsoleHeader reads the second line of a paste from JConsole.
//
//	Name: pool-1-thread-1
//	State: TIMED_WAITING on java.lang.Object@1b2c owned by: other
func (p *textParser) jconsoleHeader(s string) (header, bool) {
	name, ok := strings.CutPrefix(p.before[2].Text, "Name: ")
	state, stated := strings.CutPrefix(s, "State: ")
	if !ok || !stated {
		return header{}, false
	}
	word, rest, _ := strings.Cut(state, " ")
	if !isState(word) {
		return header{}, false
	}
	h := newHeader(FormJConsole)
	h.thread.Name, h.thread.State = text(name), text(word)
	rest, owner, _ := strings.Cut(rest, " owned by: ")
	h.waits(strings.TrimPrefix(rest, "on "))
	h.lock.Owner = text(owner)
	return h, true
}

// isState reports whether s is a word of java.lang.Thread.State.
func isState(s string) bool {
	switch s {
	case "NEW", "RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "TERMINATED":
		return true
	}
	return false
}

// beginThread ends the thread before and opens another one, in a new dump where
// the form says so. first and last are the lines of the header.
func (p *textParser) beginThread(first, last line.Line, h *header) error {
	if err := p.deliver(); err != nil {
		return err
	}
	p.confirmStrange(h.thread.Name)
	if p.dump == nil || p.section == after || !p.continues(h.form) || h.form == FormSupportCore && p.dump.Threads > 0 && p.title() >= 0 {
		if err := p.endDump(); err != nil {
			return err
		}
		p.beginDump(first)
		p.state.refused.add(p.early)
	}
	p.early = refusals{}
	if p.dump.Threads == 0 {
		p.dump.Form = h.form
		p.preamble(first)
	}
	p.section = threads
	switch h.form {
	case FormHPUX, FormJenkins:
		p.dump.Form = h.form
	}
	p.h, p.open, p.begin, p.end = *h, true, first, last.Offset+last.Length
	p.frames, p.locks, p.more, p.owned = p.frames[:0], p.locks[:0], 0, false
	p.stated, p.monitorWait, p.released = false, h.inWait, ""
	p.foreign, p.same = foreignText{}, nil
	if h.lock.How != "" {
		p.addLock(h.lock)
	}
	return nil
}

// continues reports whether a thread of a form belongs to the dump being read.
// Forms with one grammar are told apart by an attribute that not every line has.
func (p *textParser) continues(form string) bool {
	if p.dump.Threads == 0 {
		return true
	}
	same := func(a, b string) bool {
		return p.dump.Form == a && form == b || p.dump.Form == b && form == a
	}
	return p.dump.Form == form || same(FormHotSpot, FormHPUX) || same(FormThreadInfo, FormJenkins)
}

// title is which of the lines above is the title of a support-core dump, -1 where
// they are none.
//
//	Master
//	======
//
//	*WARNING*: jenkins.util.Timer is unresponsive
func (p *textParser) title() int {
	rule := 2
	if strings.HasPrefix(p.before[rule].Text, "*WARNING*") {
		rule--
	}
	if !isRule(p.before[rule].Text) || p.before[rule-1].Text == "" {
		return -1
	}
	return rule - 1
}

// preamble reads the lines above the first thread of forms without a version
// line.
func (p *textParser) preamble(l line.Line) {
	switch p.dump.Form {
	case FormDumpToFile:
		// 11429, 2026-11-21T02:54:16.125764505Z, 21.0.12.1+1-1
		t, err := time.Parse(time.RFC3339Nano, p.before[1].Text)
		if err != nil || !isDigits(p.before[0].Text) {
			return
		}
		p.dump.PID = int(min(number(p.before[0].Text), 1<<31-1))
		p.dump.Time, p.dump.Version = t.UTC(), text(p.before[2].Text)
		p.dump.Line, p.dump.Offset = p.before[0].Number, p.before[0].Offset
	case FormSupportCore:
		if strings.HasPrefix(p.before[2].Text, "*WARNING*") {
			p.dump.Unresponsive = text(p.before[2].Text)
		}
		if i := p.title(); i >= 0 {
			p.dump.Node = text(p.before[i].Text)
			p.dump.Line, p.dump.Offset = p.before[i].Number, p.before[i].Offset
		}
	}
}

// isRule reports whether s underlines a title.
func isRule(s string) bool { return len(s) > 2 && strings.Trim(s, "=") == "" }

// inside reads a line of the thread being read, or one of the dump between
// threads, and reports whether it is one.
func (p *textParser) inside(l line.Line, s string) bool {
	if p.dump == nil || p.section != threads {
		return true // text around dumps is nobody's
	}
	p.same = nil
	if p.dump.Threads == 0 && !p.open {
		p.opening(s)
		return true
	}
	if p.open && p.body(s) {
		p.end = l.Offset + l.Length
		p.state.cut = !l.Ended && !complete(s)
		return true
	}
	p.state.cut = !l.Ended && half(s)
	return known(s)
}

// opening reads the lines between the version and the first thread.
//
//	_java_thread_list=0x00007fc774002e20, length=37, elements={
//	Sun Jul 20 17:03:49 2014
func (p *textParser) opening(s string) {
	if _, rest, ok := strings.Cut(s, "_java_thread_list="); ok {
		_, length, _ := strings.Cut(rest, "length=")
		length, _, _ = strings.Cut(length, ",")
		if n, err := strconv.Atoi(length); err == nil && n > 0 {
			p.dump.Declared = n
		}
		return
	}
	if t, err := time.Parse(time.ANSIC, s); err == nil {
		p.dump.Time, p.dump.Zoneless = t, true
		return
	}
	if p.dump.Form == FormJRockit && p.dump.Version == "" {
		p.dump.Version = text(s)
	}
}

// known are lines that stand in dumps and say nothing about a thread.
func known(s string) bool {
	for _, word := range [...]string{
		"No compile task", "Compiling: ", "JavaThread state: ", "Thread: 0x", "Threads class SMR info",
		"_java_thread_list=", "JDK version: ", "Stack trace:", "Total blocked: ", "*WARNING*", "<EndOfDump>",
	} {
		if strings.HasPrefix(s, word) {
			return true
		}
	}
	return s == "}" || isRule(s) || isDigits(s) || strings.HasPrefix(s, "0x") && strings.Trim(s, "0123456789abcdefx, ") == ""
}

// stateWord begins the line of a thread's state in HotSpot's dumps.
const stateWord = "java.lang.Thread.State: "

// body reads a line below a header.
func (p *textParser) body(s string) bool {
	switch {
	case strings.HasPrefix(s, "at "):
		return p.frame(s[3:])
	case strings.HasPrefix(s, "- "):
		return p.dash(strings.TrimLeft(s[2:], " "))
	case strings.HasPrefix(s, stateWord):
		p.threadState(s[len(stateWord):])
	case strings.HasPrefix(s, "Carrying virtual thread #"):
		p.h.thread.Carrying = number(s[len("Carrying virtual thread #"):])
	case s == "Locked ownable synchronizers:", strings.HasPrefix(s, "Locked synchronizers: count = "), strings.HasPrefix(s, "Number of locked synchronizers = "):
		p.owned = true
	case s == "...":
		p.h.thread.Capped = true
	case strings.HasPrefix(s, "owned by "):
		p.owner(s)
	case strings.HasPrefix(s, "on ") && p.stated && len(p.frames) == 0:
		p.stateObject(s)
	case s == "(in native)", s == "(running in native)":
	case strings.HasPrefix(s, "-- "), strings.HasPrefix(s, "^-- "):
		return p.jrockitLock(s)
	case p.bare():
		return p.frame(s)
	default:
		return false
	}
	return true
}

// bare reports whether the dump's form prints frames without "at".
func (p *textParser) bare() bool {
	return p.h.form == FormDumpToFile || p.h.form == FormJConsole
}

// frame adds a frame. Behind foreign text and a blank line it is that of an
// exception in a log.
func (p *textParser) frame(s string) bool {
	if p.foreign.exception || p.foreign.line && p.foreign.blank {
		return false
	}
	parse := parseFrame
	if p.h.form == FormJRockit {
		parse = parseJRockitFrame
	}
	f, ok := parse(s)
	if !ok {
		return false
	}
	p.addFrame(f)
	return true
}

func (p *textParser) addFrame(f analysis.Frame) {
	if len(p.frames) >= maxFrames {
		p.more++
		return
	}
	p.frames = append(p.frames, f)
}

// dash reads a line that begins with a dash: an object, or a frame of jstack -F.
func (p *textParser) dash(s string) bool {
	if s == "None" {
		return true
	}
	if f, ok := parseNativeFrame(s); ok {
		p.addFrame(f)
		return true
	}
	if l, ok := parseLock(s, p.owned); ok {
		l.Frame = max(len(p.frames)-1, 0)
		if p.owned {
			l.Frame = -1
		}
		if _, id, named := strings.Cut(s, ">, owner #"); named {
			p.h.ownerID = number(id) // JDK 26
		} else if l.Owner != "" {
			p.h.ownerID = ownerID(s)
		}
		p.addLock(l)
		return true
	}
	return false
}

// addLock adds what a line says about an object, except for the monitor that
// Object.wait released and what the header said already.
func (p *textParser) addLock(l analysis.Lock) {
	if p.learned != nil {
		p.learned.locks = append(p.learned.locks, l)
	}
	switch l.How {
	case "waiting on":
		if l.Object != "" && p.released == "" {
			p.released = l.Object
		}
	case "locked":
		if p.released == "" && p.monitorWait {
			p.released = l.Object
		}
		if l.Object != "" && sameObject(l.Object, p.released) {
			return
		}
	}
	if len(p.locks) > 0 && l.How != "owns" && l.How != "locked" {
		first := &p.locks[0]
		if first.How == l.How && l.Object != "" && sameObject(first.Object, l.Object) {
			return
		}
	}
	if len(p.locks) < maxLocks {
		p.locks = append(p.locks, l)
	}
}

// sameObject compares an address or a hash, which support-core pads and others do
// not.
//
//	"0x0e2144e4", "e2144e4" -> true
func sameObject(a, b string) bool { return objectKey(a) == objectKey(b) }

func objectKey(s string) string {
	return strings.TrimLeft(strings.TrimPrefix(s, "0x"), "0")
}

// owner reads the line below a lock that names its owner.
//
//	owned by "Deadlock-lock-2" id=15 (0xf)
func (p *textParser) owner(s string) {
	if len(p.locks) == 0 {
		return
	}
	p.locks[len(p.locks)-1].Owner = ownerName(s)
	p.h.ownerID = ownerID(s)
}

// threadState reads the state line of HotSpot and VisualVM.
//
//	WAITING (on object monitor)
//	TIMED_WAITING on java.util.TaskQueue@7311acb7
func (p *textParser) threadState(s string) {
	word, rest, _ := strings.Cut(s, " ")
	p.h.thread.State, p.stated = text(word), true
	p.monitorWait = p.monitorWait || waitsOnMonitor(word, rest)
	p.stateObject(rest)
}

// waitsOnMonitor reports whether a state is that of Object.wait.
//
//	"TIMED_WAITING", "(on object monitor)" -> true
func waitsOnMonitor(word, rest string) bool {
	return strings.Contains(word, "WAITING") && strings.Contains(rest, "(on object monitor)")
}

// stateObject reads what a state line, or the line below it, says of the object.
//
//	on java.util.concurrent.SynchronousQueue$TransferStack@2b1 owned by "x" t@3
func (p *textParser) stateObject(s string) {
	s, ok := strings.CutPrefix(s, "on ")
	if !ok {
		return
	}
	object, owner, _ := strings.Cut(s, " owned by ")
	object, _, _ = strings.Cut(object, " ")
	p.h.waits(object)
	if owner != "" {
		p.h.lock.Owner, p.h.ownerID = ownerName(owner), ownerID(owner)
	}
	if p.h.lock.How != "" {
		p.addLock(p.h.lock)
	}
}

// jrockitWords are the words before an object in JRockit's dumps.
var jrockitWords = [...]struct{ printed, how string }{
	{"Waiting for notification on: ", "waiting on"},
	{"Parking to wait for: ", "parking to wait for"},
	{"Blocked trying to get lock: ", "waiting to lock"},
	{"Holding lock: ", "locked"},
	// Not held, and named by the line above the frames.
	{"Lock released while waiting: ", ""},
	{"end of trace", ""},
}

// jrockitLock reads a line about a lock in JRockit's dumps.
//
//	-- Waiting for notification on: java/lang/UNIXProcess@0x6f28838[fat lock]
func (p *textParser) jrockitLock(s string) bool {
	s = strings.TrimLeft(s, "^- ")
	for _, w := range jrockitWords {
		rest, ok := strings.CutPrefix(s, w.printed)
		if !ok {
			continue
		}
		if w.how == "" {
			return true
		}
		rest, _, _ = strings.Cut(rest, "[")
		class, hash := cutObject(strings.ReplaceAll(rest, "/", "."))
		p.addLock(analysis.Lock{How: w.how, Class: class, Object: hash, Frame: max(len(p.frames)-1, 0)})
		return true
	}
	return false
}

// strange notes a line inside the dump that is none of its own.
func (p *textParser) strange(l line.Line, s string) {
	if p.foreign.count == 0 {
		p.foreign.first = l
	}
	p.foreign.count++
	p.foreign.line = true
	p.foreign.exception = p.foreign.exception || raises(s)
}

// raises reports whether a log line is the first of an exception's trace.
//
//	"java.lang.IllegalStateException: closed" -> true
func raises(s string) bool {
	word, _, _ := strings.Cut(strings.TrimPrefix(s, "Caused by: "), ":")
	return !strings.Contains(word, " ") && (strings.HasSuffix(word, "Exception") || strings.HasSuffix(word, "Error")) || strings.HasPrefix(s, "Caused by: ")
}

// confirmStrange takes the strange lines before a header into account: only
// between threads of one dump do they interrupt it. A paste of Jenkins' page
// repeats each name as a heading.
func (p *textParser) confirmStrange(next string) {
	n := p.foreign.count
	if n > 0 && p.before[2].Text == next {
		n--
	}
	if n > 0 && p.dump != nil && p.section == threads && p.open {
		if p.state.strange == 0 {
			p.state.strangeAt = p.foreign.first
		}
		p.state.strange += n
	}
	p.open = false
	p.foreign = foreignText{}
}

// deliver gives the thread being read to the visitor. It stays open until the
// next header or the dump's end.
func (p *textParser) deliver() error {
	if !p.open || p.begin.Number == 0 {
		return nil
	}
	t := &p.h.thread
	number := p.begin.Number
	p.begin.Number = 0
	t.Stack = p.stack()
	t.Sort = p.sort()
	t.Locks = p.locks
	if len(p.frames) == 0 {
		for i := range t.Locks {
			t.Locks[i].Frame = -1
		}
	}
	t.Line, t.Offset, t.Length = number, p.begin.Offset, p.end-p.begin.Offset
	p.owners.add(t, p.h.ownerID)
	p.count(t)
	if p.dump.Ordinal >= maxDumps {
		p.tooMany++
		return nil
	}
	return p.visit(p.dump.Ordinal, t)
}

// stack is that of the thread being read.
func (p *textParser) stack() *analysis.Stack {
	if p.same != nil && p.same.stack != nil {
		return p.same.stack
	}
	elided := p.more
	if p.h.thread.Capped {
		elided = -1
	}
	s := p.stacks.get(p.frames, elided)
	if p.same != nil && s != p.stacks.full {
		p.same.stack = s
		p.known.keep(p.same)
	}
	return s
}

func (p *textParser) count(t *analysis.Thread) {
	p.dump.Threads++
	switch {
	case t.Sort == analysis.VMThread:
		p.state.vm++
		if t.ID >= 0 {
			p.state.numbered++
		}
	case t.ID >= 0:
		p.state.numbered++
	}
	if t.Name == "main" && t.Elapsed >= 0 && p.dump.MainElapsed < 0 {
		p.dump.MainElapsed = t.Elapsed
	}
}

// sort says who made the thread. Threads of the virtual machine have no number,
// no stack's address, no state and no frames; until JDK 7 nobody has a number.
func (p *textParser) sort() analysis.ThreadSort {
	t := &p.h.thread
	switch {
	case t.Sort == analysis.VirtualThread, runsVirtual(p.frames):
		return analysis.VirtualThread
	case len(p.frames) > 0:
		return analysis.JavaThread
	case p.h.form == FormJRockit:
		if strings.HasPrefix(t.Name, "(") {
			return analysis.VMThread
		}
	case p.h.form == FormHotSpot || p.h.form == FormHPUX:
		if internal(t.Name) || t.ID < 0 && !p.h.stacked && !p.stated {
			return analysis.VMThread
		}
	}
	return analysis.JavaThread
}

// runsVirtual reports whether a stack is a virtual thread's, which JDK 21 does
// not say otherwise in JSON. A carrier has these frames below others.
func runsVirtual(frames []analysis.Frame) bool {
	return len(frames) > 0 && frames[len(frames)-1].Func == "java.lang.VirtualThread.run"
}

// endThreads closes the thread being read; the dump goes on with its sections.
func (p *textParser) endThreads() error {
	p.giveUp()
	if err := p.deliver(); err != nil {
		return err
	}
	p.open = false
	p.state.ended = true
	p.section = after
	return nil
}

// endDump closes the dump being read and judges whether it is whole.
func (p *textParser) endDump() error {
	p.giveUp()
	if err := p.deliver(); err != nil {
		return err
	}
	p.open = false
	if p.dump == nil {
		return nil
	}
	d := p.dump
	d.Refused = p.state.refused.count
	if len(d.Deadlocks) == 0 {
		d.Deadlocks = p.owners.rings()
	}
	d.Truncated, d.TruncatedWhy = p.truncated()
	if d.Truncated {
		p.problems.add(analysis.Warning, at(d.Line, d.Offset), "the thread dump is not whole", d.TruncatedWhy,
			"the figures are lower bounds; take the dump again with jcmd PID Thread.print -l > FILE")
	}
	if d.Refused > 0 {
		p.refusal(d)
	}
	if p.state.strange > 0 {
		p.problems.add(analysis.Note, p.state.strangeAt, wording.Plural(p.state.strange, "line inside the dump belongs", "lines inside the dump belong")+" to no thread",
			"something else was printed into it, the first is "+line.Quote(p.state.strangeAt.Text), "nothing is lost unless a thread's own lines are damaged")
	}
	p.lacks(d)
	p.dump, p.section = nil, after
	return nil
}

// refusal says that threads are missing of the dump.
func (p *textParser) refusal(d *Dump) {
	first := p.state.refused.first
	why := "a line begins like a thread, and no header that is known goes on like it: "
	if d.Refused > 1 {
		why = strconv.Itoa(d.Refused) + " lines begin like a thread, and no header that is known goes on like them; the first: "
	}
	p.problems.add(analysis.Warning, first, wording.Plural(d.Refused, "thread was", "threads were")+" not understood: the dump has at least "+wording.Plural(d.Threads, "thread", "threads"),
		why+line.Quote(first.Text), "look at the raw lines, where something may have cut in; take the dump again with jcmd PID Thread.print -l > FILE, or remove what is no part of it")
}

// truncated judges the end of a dump.
func (p *textParser) truncated() (bool, string) {
	d := p.dump
	hotSpot := d.Form == FormHotSpot || d.Form == FormHPUX
	switch {
	case p.state.cut:
		return true, "the text ends inside a line"
	case hotSpot && d.Declared > 0 && p.state.numbered+d.Refused < d.Declared && (p.state.numbered > 0 || d.Threads == 0):
		return true, "the JVM lists " + strconv.Itoa(d.Declared) + " Java threads, " + strconv.Itoa(p.state.numbered) + " are in the text"
	case hotSpot && d.Version != "" && !p.state.ended && p.state.vm == 0:
		return true, "neither the threads of the virtual machine nor the line about JNI follow, which end every dump"
	}
	return false, ""
}

// lacks says what the form of a dump does not tell.
func (p *textParser) lacks(d *Dump) {
	l := at(d.Line, d.Offset)
	switch {
	case d.Threads == 0:
	case d.Form == FormJstackF:
		p.problems.once(l, "jstack -F prints no names and no states", "it reads the process from outside",
			"threads can be counted by stack only; use jstack -l or jcmd PID Thread.print -l while the JVM answers")
	case d.Form == FormStackTraces && p.state.numbered == 0:
		p.problems.once(l, "this form prints no thread ids", "Thread.toString has none before JDK 19",
			"threads can be counted and not followed from dump to dump; use jcmd PID Thread.print -l")
	case (d.Form == FormHotSpot || d.Form == FormHPUX) && p.state.numbered == 0:
		p.problems.once(l, "the threads have no number", "JDK 7 and older, and some exports, print none",
			"threads can be counted and not surely followed from dump to dump: addresses and native ids are reused")
	}
}

// complete reports whether a line of a thread that the file ends with is whole.
func complete(s string) bool {
	if strings.HasPrefix(s, "at ") || strings.Contains(s, "(a ") {
		return strings.Contains(s, ")")
	}
	return strings.Count(s, "<") == strings.Count(s, ">")
}

// half reports whether the last line of a file, which nobody understands and no
// line end follows, may be the beginning of a line of a dump.
func half(s string) bool {
	for _, word := range [...]string{"at ", "- ", "java.lang.Thread.State: ", "Locked ownable synchronizers:"} {
		if strings.HasPrefix(s, word) || strings.HasPrefix(word, s) {
			return true
		}
	}
	return joinable(s)
}

// remember keeps a line for what stands below it.
func (p *textParser) remember(l line.Line, s string) {
	copy(p.before[:], p.before[1:])
	l.Text = kept(s)
	p.before[2] = l
}

// kept is as much of a line as what stands below it may need.
func kept(s string) string { return s[:min(len(s), 512)] }
