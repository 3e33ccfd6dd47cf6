package thread

import (
	"io"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// javacoreParser walks the lines of a javacore, which IBM's virtual machines and OpenJ9
// write. Each line begins with a tag that says what it is. The section of locks stands
// above the one of threads.
type javacoreParser struct {
	lines    *line.Reader
	stacks   *stackTable
	problems *problems
	visit    func(int, *analysis.Thread) error
	dumps    []Dump
	dump     *Dump
	head     javacoreHead
	owners   lockOwners
	tooMany  int

	// monitors has the locks of each thread by its address, as the section of locks has
	// them; monitor is the object being read there, nil for one of the machine itself.
	monitors map[string][]analysis.Lock
	monitor  *analysis.Lock
	locks    int
	// link is the name of the last thread of the deadlock being read.
	link string

	// open is a thread from its header to the next one, repeated if it was read before;
	// current is the address of the thread that old releases print twice.
	open, repeated bool
	thread         javacoreThread
	ofCurrent      bool
	current        string
	// lost is true below a header that was lost or not understood.
	lost    bool
	refused refusals
	// held is a header of which the name may go on in the next line.
	held      string
	heldLines int
	heldAt    line.Line
	strange   int
	strangeAt line.Line
	// numbered counts the threads that the machine counts as well; identified is true if
	// one of them has an id.
	numbered   int
	identified bool
	cut        bool
}

// javacoreHead is what a javacore says besides its threads.
type javacoreHead struct {
	// titled, details and walked are true once the first section, the one of threads and
	// the next one began, completed at the last line.
	titled, details, walked, completed bool
	local, utc, start                  time.Time
	zone                               *time.Location
	// identifiers counts those that releases before Java 5 give to all threads. omitted is
	// what the machine says of threads that it left out.
	identifiers int
	omitted     string
}

// ParseJavacore reads the javacores of IBM's virtual machines since 1.3 and of OpenJ9, one
// or several one after the other. It is ParseText in everything else. The native frames of
// a thread are its stack if the operating system alone knows it.
func ParseJavacore(r io.Reader, cfg Config, visit func(ordinal int, t *analysis.Thread) error) ([]Dump, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &javacoreParser{lines: line.NewReader(r), stacks: newStackTable(cfg.MaxStacks), problems: newProblems(cfg), visit: visit}
	err := eachLine(p.lines, cfg.Path, p.line, p.endDump)
	p.dumps = p.problems.leftOut(p.dumps, p.tooMany, p.stacks)
	return p.dumps, p.problems.all(), err
}

// tagged splits a line of a javacore.
//
//	"2XMPOOLLIVE        Current total number of live threads: 18" -> "2XMPOOLLIVE", "Current …", true
func tagged(s string) (tag, rest string, ok bool) {
	tag, rest, _ = strings.Cut(s, " ")
	return tag, strings.TrimLeft(rest, " "), javacoreTag.MatchString(tag)
}

var javacoreTag = expression.Lazy(`^(NULL|\d[A-Z][A-Z0-9]{2,})$`)

const (
	threadTag    = "3XMTHREADINFO"
	unmountedTag = "3XMVTHDINFO"
)

func (p *javacoreParser) line(l line.Line) error {
	s := trim(l.Text)
	if s == "" {
		return nil
	}
	tag, rest, ok := tagged(s)
	p.cut = !l.Ended && ok && tag != "NULL" && !(strings.HasPrefix(rest, "at ") && complete(rest))
	if p.held != "" {
		if !ok && p.heldLines < maxJoinedLines && len(p.held)+len(s) < maxJoinedBytes {
			return p.goOn(l, s)
		}
		p.giveUp()
	}
	excerpt := ok && tag != "NULL" && p.excerpt(tag, rest)
	if excerpt {
		if err := p.endDump(); err != nil {
			return err
		}
	}
	if ok && tag != "NULL" && p.dump == nil {
		p.begin(l)
		p.dump.Excerpt = excerpt
	}
	switch {
	case !ok:
		p.foreign(l)
	case tag == "0SECTION":
		return p.section(l, rest)
	case tag == threadTag, tag == unmountedTag:
		return p.header(l, tag, rest)
	case tag == "NULL":
		p.head.completed = p.head.completed || strings.Contains(rest, "END OF DUMP")
		p.lost = false
		return p.deliver()
	case strings.HasSuffix(tag, "XMTHDCATEGORY"):
		// A figure of the processor for threads of one sort, below all threads.
	case strings.HasPrefix(tag, "3XM"), strings.Contains(tag, "XENATIVESTACK"), strings.Contains(tag, "XESTACK"):
		return p.below(l, tag, rest)
	case tag[1:3] == "LK":
		p.lock(tag, rest)
	default:
		p.about(tag, rest)
	}
	return nil
}

// excerpt reports a line of another javacore, of which a text shows a part without its title: locks stand
// above threads, and a javacore has each of the two sections once.
func (p *javacoreParser) excerpt(tag, rest string) bool {
	if p.dump == nil || !p.head.details {
		return false
	}
	return tag[1:3] == "LK" || tag == "0SECTION" && (strings.HasPrefix(rest, "LOCKS ") || strings.HasPrefix(rest, "THREADS "))
}

// section begins another section; the first one of a javacore begins a dump.
//
//	TITLE subcomponent dump routine
func (p *javacoreParser) section(l line.Line, name string) error {
	if err := p.deliver(); err != nil {
		return err
	}
	p.lost = false
	if p.dump.Threads+p.refused.count > 0 {
		p.head.walked = true
	}
	if strings.HasPrefix(name, "TITLE") {
		if p.head.walked || p.head.details {
			if err := p.endDump(); err != nil {
				return err
			}
			p.begin(l)
		}
		p.head.titled, p.dump.Excerpt = true, false
	}
	return nil
}

func (p *javacoreParser) begin(l line.Line) {
	p.dumps = append(p.dumps, Dump{Ordinal: len(p.dumps), Form: FormJavacore, MainElapsed: -1, Line: l.Number, Offset: l.Offset})
	p.dump = &p.dumps[len(p.dumps)-1]
	p.head, p.refused, p.strange, p.current, p.ofCurrent = javacoreHead{}, refusals{}, 0, "", false
	p.numbered, p.identified = 0, false
	p.monitors, p.monitor, p.locks, p.link = map[string][]analysis.Lock{}, nil, 0, ""
	p.owners.reset()
}

// about reads what the javacore says of itself and of the machine.
func (p *javacoreParser) about(tag, rest string) {
	_, value, _ := strings.Cut(rest, ": ")
	value = strings.TrimSpace(value)
	switch tag {
	case "1TIDATETIMEUTC":
		p.head.utc = javacoreTime(value)
	case "1TIDATETIME":
		p.head.local = javacoreTime(value)
		if strings.HasSuffix(value, "(UTC)") {
			p.head.utc = p.head.local
		}
	case "1TITIMEZONE":
		p.head.zone = javacoreZone(value)
	case "1CISTARTTIME":
		p.head.start = javacoreTime(value)
	case "1TIFILENAME":
		if m := javacoreFile.FindStringSubmatch(value); m != nil && p.dump.PID == 0 {
			p.dump.PID = int(min(number(m[1]), 1<<31-1))
		}
	case "1CIPROCESSID":
		digits, _, _ := strings.Cut(value, " ")
		p.dump.PID = int(min(number(digits), 1<<31-1))
	case "1CIJAVAVERSION":
		p.dump.Version = text(rest)
	case "2XMPOOLLIVE":
		p.dump.Declared = int(min(number(value), 1<<31-1))
		p.head.details = true
	case "1XMCURTHDINFO":
		p.ofCurrent, p.head.details = true, true
	case "1XMTHDINFO":
		p.ofCurrent, p.head.details = false, true
	case "2XMWLKTHDERR":
		if strings.HasPrefix(rest, "Truncating collection of java threads") {
			p.head.omitted = rest
		}
	}
}

// javacoreFile is the number of the process in the name of a javacore.
//
//	"/logs/javacore.20210423.140244.1175.0001.txt" -> 1175
var javacoreFile = expression.Lazy(`javacore\.\d{8}\.\d{6}\.(\d+)\.(?:\d+\.)?txt$`)

// javacoreTime reads a time, which counts milliseconds since OpenJ9.
//
//	"2021/04/23 at 14:02:44:017"
func javacoreTime(s string) time.Time {
	s = strings.TrimSpace(strings.TrimSuffix(s, "(UTC)"))
	if at := strings.LastIndexByte(s, ':'); at > 0 && strings.Count(s, ":") == 3 {
		s = s[:at] + "." + s[at+1:]
	}
	t, err := time.Parse("2006/01/02 at 15:04:05", s)
	if err != nil {
		return time.Time{}
	}
	return t
}

var zoneOffset = expression.Lazy(`^UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?(?: |$)`)

// javacoreZone reads a zone, nil if there is none.
//
//	"UTC-4 (EDT)", "UTC+5:30 (IST)", "UTC (UTC)"
func javacoreZone(s string) *time.Location {
	m := zoneOffset.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	seconds := int(number(m[2])*3600 + number(m[3])*60)
	if m[1] == "-" {
		seconds = -seconds
	}
	return time.FixedZone("", seconds)
}

// when resolves the time of the dump and the age of the machine.
func (p *javacoreParser) when() {
	d, h := p.dump, &p.head
	switch {
	case !h.utc.IsZero():
		d.Time = h.utc
	case h.local.IsZero():
	case h.zone != nil:
		_, offset := h.local.In(h.zone).Zone()
		d.Time = h.local.Add(-time.Duration(offset) * time.Second)
	default:
		d.Time, d.Zoneless = h.local, true
	}
	if age := h.local.Sub(h.start).Seconds(); !h.start.IsZero() && !h.local.IsZero() && age >= 0 {
		d.MainElapsed = age
	}
}

// header begins a thread.
func (p *javacoreParser) header(l line.Line, tag, rest string) error {
	if err := p.deliver(); err != nil {
		return err
	}
	p.lost = false
	t, ok := javacoreHeader(tag, rest)
	if !ok {
		p.held, p.heldLines, p.heldAt = tag+" "+rest, 1, l
		return nil
	}
	p.beginThread(t, l, l)
	return nil
}

// goOn reads the next line of a header whose name holds the end of a line.
func (p *javacoreParser) goOn(l line.Line, s string) error {
	p.held += "\n" + s
	p.heldLines++
	tag, rest, _ := tagged(p.held)
	if t, ok := javacoreHeader(tag, rest); ok {
		p.held = ""
		p.beginThread(t, p.heldAt, l)
	}
	return nil
}

// giveUp counts a header that was not understood.
func (p *javacoreParser) giveUp() {
	if p.held != "" {
		p.held = ""
		p.lose(p.heldAt)
	}
}

// lose counts a thread whose header is lost; the lines below it belong to no other.
func (p *javacoreParser) lose(l line.Line) {
	if !p.lost {
		p.refused.add(refusals{1, l})
	}
	p.lost = true
}

func (p *javacoreParser) beginThread(t javacoreThread, first, last line.Line) {
	p.head.details = true
	t.begin, t.end, t.seen = first, last.Offset+last.Length, map[string]bool{}
	p.thread, p.open, p.repeated = t, true, false
	if len(t.addresses) == 0 {
		return
	}
	switch {
	case p.ofCurrent && p.current == "":
		p.current = t.addresses[0]
	case p.current == t.addresses[0]:
		p.repeated = true
	}
}

// once are the tags that a thread has once, all of them above its frames.
var once = map[string]bool{"3XMJAVALTHREAD": true, "3XMTHREADINFO1": true, "3XMTHREADINFO2": true, "3XMCPUTIME": true, "3XMVTHDINFO1": true}

// below reads a line below the header of a thread.
func (p *javacoreParser) below(l line.Line, tag, rest string) error {
	t := &p.thread
	if p.open && once[tag] && (t.seen[tag] || len(t.frames) > 0) {
		// The header of another thread is lost.
		if err := p.deliver(); err != nil {
			return err
		}
	}
	if !p.open {
		if !p.head.walked {
			p.lose(l)
		}
		return nil
	}
	t.seen[tag] = true
	t.end = l.Offset + l.Length
	switch tag {
	case "3XMJAVALTHREAD":
		if m := longID.FindStringSubmatch(rest); m != nil {
			t.ID, _ = strconv.ParseInt(m[1], 0, 64)
		}
		t.Daemon = strings.Contains(rest, "isDaemon:true")
	case "3XMTHREADINFO1":
		if m := nativeID.FindStringSubmatch(rest); m != nil {
			t.Native = native(m[1])
		}
		t.raw = strings.Contains(rest, "vmstate:")
	case "3XMCPUTIME":
		if m := totalCPU.FindStringSubmatch(rest); m != nil {
			t.CPU = seconds(m[1])
		}
		t.machine = t.machine || ofMachine.MatchString(rest)
	case "3XMTHREADBLOCK":
		p.blocked(rest)
	case "3XMTHREADINFO3":
		t.native = strings.HasPrefix(rest, "Native callstack")
	case "3XMTHREADINFO4", "3XMVTHDINFO1":
		if strings.HasPrefix(rest, "Type: Virtual") {
			t.Sort = analysis.VirtualThread
		} else {
			t.Sort = analysis.JavaThread
		}
	case "4XESTACKERR":
		t.Capped = true
	case "4XESTACKTRACE":
		if f, ok := javacoreFrame(rest); ok {
			t.frame(f)
		}
	case "5XESTACKTRACE":
		p.entered(rest)
	case "4XENATIVESTACK":
		if t.anonymous {
			t.frame(javacoreNative(rest))
		}
	}
	return nil
}

func (t *javacoreThread) frame(f analysis.Frame) {
	if len(t.frames) >= maxFrames {
		t.more++
		return
	}
	t.frames = append(t.frames, f)
}

// deliver hands the thread being read to the visitor.
func (p *javacoreParser) deliver() error {
	if !p.open {
		return nil
	}
	p.open = false
	if p.repeated {
		return nil
	}
	t := &p.thread
	t.finish(p)
	elided := t.more
	if t.Capped {
		elided = -1
	}
	t.Stack = p.stacks.get(t.frames, elided)
	t.Line, t.Offset, t.Length = t.begin.Number, t.begin.Offset, t.end-t.begin.Offset
	p.owners.add(&t.Thread, -1)
	p.dump.Threads++
	if t.counted {
		p.numbered++
	}
	p.identified = p.identified || t.ID >= 0
	if p.dump.Ordinal >= maxDumps {
		p.tooMany++
		return nil
	}
	return p.visit(p.dump.Ordinal, &t.Thread)
}

// foreign notes a line among the threads that is none of a javacore.
func (p *javacoreParser) foreign(l line.Line) {
	if p.dump == nil || p.head.walked || !p.head.details {
		return
	}
	if p.strange == 0 {
		p.strangeAt = l
	}
	p.strange++
}

// endDump closes the dump being read and judges whether it is whole.
func (p *javacoreParser) endDump() error {
	p.giveUp()
	if err := p.deliver(); err != nil {
		return err
	}
	d := p.dump
	if d == nil {
		return nil
	}
	p.when()
	d.Refused = p.refused.count
	if len(d.Deadlocks) == 0 {
		d.Deadlocks = p.owners.cycles()
	}
	if d.Declared == 0 {
		// Releases before Java 5 give each thread an identifier.
		d.Declared = p.head.identifiers
	}
	p.judge()
	if d.Threads > 0 && !p.identified {
		p.problems.once(at(d.Line, d.Offset), "the threads have no number", "javacores before Java 6 print none",
			"threads can be counted and not surely followed from dump to dump: addresses and native ids are reused")
	}
	p.dump = nil
	return nil
}

// judge reports what the dump lacks.
func (p *javacoreParser) judge() {
	d := p.dump
	place := at(d.Line, d.Offset)
	const again = "take the dump again with kill -3 PID, and upload the file that the process writes"
	lists := "the virtual machine lists " + wording.Plural(d.Declared, "thread", "threads") + ", " + strconv.Itoa(p.numbered) + " of them are in the text"
	switch {
	case d.Threads+d.Refused == 0:
		d.Truncated, d.TruncatedWhy = true, "it holds no line of a thread"
	case p.head.omitted != "":
		d.Truncated, d.TruncatedWhy = true, "the virtual machine says: "+text(p.head.omitted)
	case d.Declared > p.numbered+d.Refused:
		d.Truncated, d.TruncatedWhy = true, lists
	case p.head.titled && !p.head.walked && !p.head.completed:
		d.Truncated, d.TruncatedWhy = true, "no other section follows the threads, and the line END OF DUMP is missing"
	case p.cut && !p.head.walked && !p.head.completed:
		d.Truncated, d.TruncatedWhy = true, "the text ends inside a line"
	}
	if d.Truncated {
		p.problems.add(analysis.Warning, place, "the javacore is not whole", d.TruncatedWhy, "the figures are lower bounds; "+again)
	} else if d.Declared > 0 && p.numbered > d.Declared {
		p.problems.add(analysis.Warning, place, "the javacore has more threads than the virtual machine counts", lists,
			"some may have started while it was written, or two javacores were joined; "+again)
	}
	if d.Refused > 0 {
		p.problems.refusal(d, p.refused, again)
	}
	p.problems.foreign(p.strange, p.strangeAt)
}
