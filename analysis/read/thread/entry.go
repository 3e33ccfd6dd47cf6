package thread

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

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
	if strings.HasPrefix(s, "Thread[") && strings.HasPrefix(p.held, "Thread[") || strings.HasPrefix(p.held, "#") && numberedName.MatchString(s) {
		p.giveUp() // two headers make no name
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
	}
	switch {
	case p.dump == nil:
		if p.attached > 0 && (ofJstackF(s) || p.headless(l, s)) || mayBegin(s) && brokenJstackF.MatchString(s) {
			p.early.add(refusals{1, l})
		}
	case p.section == threads && (s[0] != '"' && p.ofForm(s) || p.dump.Form == FormJstackF && p.headless(l, s)):
		return false, p.refuse(l)
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

// hold keeps another line of a possible name with line feeds, unless the line belongs
// to a thread or the name becomes too long.
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

// giveUp ends the wait for the rest of a header. It reports whether the held text
// counts as refused: it is where threads are, and begins like one of the dump's form.
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
// a colon after it is a key, of JSON or of a deadlock.
func (p *textParser) ofForm(s string) bool {
	switch p.dump.Form {
	case FormStackTraces:
		return strings.HasPrefix(s, "Thread[") || strings.HasPrefix(s, "VirtualThread[")
	case FormJstackF:
		return ofJstackF(s)
	case FormDumpToFile:
		return s[0] == '#'
	}
	if s[0] != '"' {
		return false
	}
	end := strings.IndexByte(s[1:], '"') + 1
	return end == 0 || end+1 == len(s) || s[end+1] != ':'
}

// ofJstackF reports whether a line begins like a thread of jstack -F, or ends like one.
func ofJstackF(s string) bool {
	id, thread := strings.CutPrefix(s, "Thread ")
	id = strings.TrimPrefix(id, "t@")
	return thread && id != "" && isDigits(id[:1]) || strings.Contains(s, "(state = ") && strings.HasSuffix(s, ")")
}

// headless reports whether a line is the first frame of jstack -F whose header is lost: the
// tool prints blank lines above headers alone. If a paste has them between all lines,
// they show nothing.
func (p *textParser) headless(l line.Line, s string) bool {
	if _, frame := parseNativeFrame(strings.TrimPrefix(s, "- ")); !frame || !strings.HasPrefix(s, "- ") {
		return false
	}
	if above := p.before[2]; above.Number == l.Number-1 {
		p.dense = true
		return p.dump == nil && strings.HasPrefix(above.Text, "JVM version is ")
	}
	return p.dump == nil || p.dense
}

// attributed reports whether a line has attributes of a thread after its name.
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

// nameless reports whether a line is the thread of the JVM's own that has no name: the sampler of
// Flight Recorder of Java 25. It is in each dump while a recording runs, has no stack, and is not
// counted. Threads of Java have a "#" or the address of their stack as well.
//
//	os_prio=31 cpu=20.37ms elapsed=10.15s tid=0x0000000101bcb200 nid=38915 runnable
func (p *textParser) nameless(l line.Line, s string) bool {
	if p.dump == nil || p.section != threads || p.dump.Form != FormHotSpot || p.blankAt != l.Number-1 || !strings.HasPrefix(s, "os_prio=") {
		return false
	}
	var h header
	return h.hotSpot(s) && !h.stacked && h.thread.ID < 0
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

// beginThread ends the thread before and opens another one, in a new dump if the form
// requires it. first and last are the lines of the header.
func (p *textParser) beginThread(first, last line.Line, h *header) error {
	if err := p.deliver(); err != nil {
		return err
	}
	p.confirmStrange(h.thread.Name)
	if p.dump == nil || p.section == after || !p.continues(h.form) || p.dump.Version == "" && p.border.Begins(h.followed()) || h.form == FormSupportCore && p.dump.Threads > 0 && p.title() >= 0 {
		if err := p.endDump(); err != nil {
			return err
		}
		p.beginDump(first)
		p.state.refused.add(p.early)
	}
	p.early = refusals{}
	p.border.Add(h.followed())
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

// followed is the number by which a thread is followed within a file, -1 without one.
func (h *header) followed() int64 {
	if h.thread.ID < 0 && h.thread.Native > 0 {
		return h.thread.Native
	}
	return h.thread.ID
}

// continues reports whether a thread of a form belongs to the dump being read. An
// attribute that not every line has separates forms with one grammar.
func (p *textParser) continues(form string) bool {
	if p.dump.Threads == 0 {
		return true
	}
	same := func(a, b string) bool {
		return p.dump.Form == a && form == b || p.dump.Form == b && form == a
	}
	return p.dump.Form == form || same(FormHotSpot, FormHPUX) || same(FormThreadInfo, FormJenkins)
}

// title is the index of the title of a support-core dump among the lines above, -1 if
// they have none.
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

// deliver hands the thread being read to the visitor. It stays open until the next
// header or the dump's end.
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
	case t.Sort == analysis.VirtualThread:
		// Its carrier is in the JVM's list.
	case t.Sort == analysis.VMThread:
		p.state.ticks = p.state.ticks || t.Name == periodicTasks
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

// sort returns the maker of the thread: Java, or the virtual machine. Threads of the
// virtual machine have no number, no stack's address, no state and no frames; until JDK
// 7 no thread has a number.
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

// runsVirtual reports whether a stack is a virtual thread's, which JDK 21 does not mark
// otherwise in JSON. A carrier has these frames below others.
func runsVirtual(frames []analysis.Frame) bool {
	return len(frames) > 0 && frames[len(frames)-1].Func == "java.lang.VirtualThread.run"
}
