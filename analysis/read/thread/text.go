package thread

import (
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// section is the part of a dump that lines belong to.
type section int

const (
	threads section = iota
	deadlockLinks
	deadlockStacks
	// deadlockAlone are the stacks of a deadlock whose dump is missing: they are its threads.
	deadlockAlone
	// after is where a dump has ended and the next one has not begun.
	after
)

// textParser turns the lines of a file into threads. It knows no form in advance: every
// header reveals its form, and the lines below are read by their own words, so that
// lost tabs, line ends and log lines between do no harm.
type textParser struct {
	lines    *line.Reader
	stacks   *stackTable
	known    *knownBodies // nil if every line is to be read on its own
	problems *problems
	visit    func(int, *analysis.Thread) error
	dumps    []Dump
	tooMany  int // threads of dumps beyond maxDumps

	// The dump being read.
	dump    *Dump
	state   dumpState
	section section
	owners  lockOwners
	// deadlocked are the names of its threads where it is the section of a deadlock alone.
	deadlocked []string

	// The thread being read, from a header to the next one.
	open   bool
	h      header
	frames []analysis.Frame
	locks  []analysis.Lock
	more   int  // frames beyond maxFrames
	owned  bool // in the list of ownable synchronizers
	begin  line.Line
	end    int64 // offset after the last line that belongs to the thread
	// stated is true if a java.lang.Thread.State was printed; released is the object of
	// Object.wait, which the thread does not hold.
	stated, monitorWait bool
	released            string
	foreign             foreignText
	// same is what is known of all lines below the header, nil if they were read one by
	// one; learned gathers what they mean while one of its kind is learned.
	same    *body
	learned *bodyNotes

	// held is a line that may be the beginning of a header, a deadlock's name or an
	// owner's name with line feeds.
	held      string
	heldLines int
	heldAt    line.Line
	// heldAlone is true if it stands where a thread may begin, and not within the stack
	// of another one; blankAt is the number of the last blank line.
	heldAlone bool
	blankAt   int64
	border    line.Border
	// wrapped is a frame whose name the next line continues; broken counts those that it does
	// not continue.
	wrapped line.Line
	broken  int
	// suspect is a line behind a blank one that is none of a dump.
	suspect line.Line
	// early are refused headers of a dump that has not begun.
	early refusals

	// attached is the process that jstack -F names above its dump; dense is true once two
	// lines of it stood without a blank one between them.
	attached int
	dense    bool

	// before are the last lines that are not blank, the newest last.
	before [3]line.Line
}

// dumpState is what is needed to judge a dump's end.
type dumpState struct {
	ended     bool // a line was seen that comes after the threads
	announced bool // words stand above the threads
	ticks     bool // the thread of periodic tasks was seen
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
// around and between them. visit receives each thread with the ordinal of its dump; a
// thread is valid during the call, its Stack stays. A thread that the JVM repeats in
// its deadlock section is not counted again. If a thread is in Object.wait, the monitor
// that it released is not among its Locks, though dumps print it as locked. The error
// is that of r or of visit.
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
		p.unwrapped(line.Line{}, "") // nothing continues the last frame
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
	s := p.unwrapped(l, trim(l.Text))
	if p.wrapped.Number == l.Number {
		return nil
	}
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
	if p.suspect.Number > 0 && p.suspect.Number == l.Number-1 && strings.HasPrefix(s, "at ") {
		// What stands between a blank line and frames was a header.
		if err := p.refuse(p.suspect); err != nil {
			return err
		}
	}
	p.suspect = line.Line{}
	if end := joined(s); end > 0 && p.dump != nil && p.section == threads {
		p.inside(l, s[:end])
		p.remember(l, s)
		return p.refuse(l)
	}
	switch {
	case p.nameless(l, s):
		p.border.Within()
		err := p.deliver()
		p.open = false
		return err
	case p.inside(l, s):
		p.border.Within()
	case p.dump != nil && p.section == threads && p.buried(s):
		if err := p.refuse(l); err != nil {
			return err
		}
	default:
		if p.blankAt == l.Number-1 && p.dump != nil && p.section == threads && !raises(s) && !strings.HasPrefix(s, stateWord) {
			p.suspect = l
		}
		p.border.Pass(s)
		p.strange(l, s)
	}
	p.remember(l, s)
	return nil
}

// unwrapped joins a line with the frame above it whose line was wrapped within its name, and
// keeps a line that is such a frame.
//
//	at com.example.subscriptions.Dispat
//	cher.await(Dispatcher.java:251)
func (p *textParser) unwrapped(l line.Line, s string) string {
	if w := p.wrapped; w.Number > 0 {
		p.wrapped = line.Line{}
		if l.Number == w.Number+1 && s != "" && s[len(s)-1] == ')' && !strings.Contains(s, " ") {
			return w.Text + s
		}
		if p.broken++; p.broken == 1 {
			p.problems.add(analysis.Warning, w, "the name of a call is cut",
				"a line of a stack ends within a name, and the next line does not continue it: "+line.Quote(w.Text),
				"upload the file itself, or copy the text where lines are not wrapped or cut; other names may be cut as well")
		}
		p.strange(w, w.Text)
	}
	if p.open && l.Ended && strings.HasPrefix(s, "at ") && len(s) < maxHeader && strings.IndexByte(s, '(') < 0 && strings.Count(s, " ") == 1 {
		p.wrapped = l
		p.wrapped.Text = strings.Clone(s)
	}
	return s
}

// joined is where the header of the next thread begins behind a frame, 0 if none does.
//
//	`at java.lang.Thread.run(Thread.java:9)"main" prio=5 tid=0x01 nid=0x02 runnable`
func joined(s string) int {
	if s[len(s)-1] == ')' || !strings.Contains(s, " tid=0x") || !strings.Contains(s, " nid=") {
		return 0
	}
	return strings.Index(s, `)"`) + 1
}

// buried reports whether the header of a thread stands behind other text in its line.
//
//	`2026/11/21 03:00:00 slow"main" prio=5 tid=0x01 nid=0x02 runnable`
//	`2026/11/21 03:00:00 slow#49 "worker-6" virtual`
//	`2026/11/21 03:00:00 slow"worker-6" id=18 (0x12) state=BLOCKED cpu=0%`
func (p *textParser) buried(s string) bool {
	if strings.Contains(s, " tid=0x") && strings.Contains(s, " nid=") {
		return true
	}
	for _, mark := range [...]string{`"`, "#", "Thread[", "VirtualThread["} {
		if i := strings.Index(s, mark); i > 0 {
			if h, ok := parseHeader(s[i:]); ok && h.form == p.dump.Form {
				return true
			}
		}
	}
	return false
}

// beginning reads what begins a dump, a section or a thread.
func (p *textParser) beginning(l line.Line, s string) (bool, error) {
	if announces(s) {
		return true, p.announce(l, s)
	}
	if p.section == deadlockLinks || p.section == deadlockStacks {
		return p.deadlockLine(l, s)
	}
	if p.section == deadlockAlone {
		if name, ok := strings.CutSuffix(s, `":`); ok && s[0] == '"' {
			return true, p.beginDeadlocked(l, name[1:])
		}
		if strings.HasPrefix(s, "Found ") && strings.Contains(s, "deadlock") {
			return true, p.endThreads()
		}
	}
	switch {
	case strings.HasPrefix(s, "Found one Java-level deadlock"), strings.HasPrefix(s, "Found one Java-level monitor deadlock"):
		return true, p.beginDeadlock(l)
	case p.dump != nil && ends(s):
		return true, p.endThreads()
	case p.announcesFile(s):
		return false, p.endDump()
	case strings.HasPrefix(s, attaching) && (p.dump == nil || p.dump.Form == FormJstackF):
		digits, _, _ := strings.Cut(s[len(attaching):], ",")
		p.attached = int(min(number(digits), 1<<31-1))
		return false, p.endDump()
	}
	if p.open {
		if id, ok := strings.CutPrefix(s, "Mounted virtual thread #"); ok && isDigits(id) {
			h := mounted(id, p.h.form)
			return true, p.beginThread(l, l, &h)
		}
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

// attaching are the words with which jstack -F begins.
const attaching = "Attaching to process ID "

const fullThreadDump = "Full thread dump"

// ends reports whether s comes after the threads of a dump.
func ends(s string) bool {
	switch s {
	case "Heap", "<EndOfDump>", "Deadlock Found",
		// JRockit names threads again in these.
		"Circular (deadlocked) lock chains", "Blocked lock chains", "Open lock chains":
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
	p.state.announced = true
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
	p.deadlocked = nil
	p.owners.reset()
	p.section = threads
	p.border.Begin()
}

// preamble reads the lines above the first thread of forms without a version
// line.
func (p *textParser) preamble(l line.Line) {
	switch p.dump.Form {
	case FormJstackF:
		p.dump.PID = p.attached
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
		return true // text around dumps belongs to no thread
	}
	p.same = nil
	if p.dump.Threads == 0 && !p.open && !p.buried(s) {
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

// known are lines of dumps that belong to no thread.
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

// endThreads closes the thread being read; the dump goes on with its sections.
func (p *textParser) endThreads() error {
	p.giveUp()
	if err := p.deliver(); err != nil {
		return err
	}
	p.open = false
	p.state.ended = true
	p.section = after
	// A thread that stands behind others of its dump begins no other one.
	p.early = refusals{}
	return nil
}

// remember keeps a line for what stands below it.
func (p *textParser) remember(l line.Line, s string) {
	copy(p.before[:], p.before[1:])
	l.Text = kept(s)
	p.before[2] = l
}

// kept is as much of a line as what stands below it may need.
func kept(s string) string { return s[:min(len(s), 512)] }
