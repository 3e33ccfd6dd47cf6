package envelope

import (
	"bytes"
	"fmt"

	"leakdiff/analysis"
)

const (
	// maxPending is how much of a line that comes in parts is put together before
	// it is looked at. Real lines of a dump are below 2 KiB.
	maxPending = 64 << 10
	// pendingTail is what is kept of it then: enough for the beginning of a string.
	pendingTail = 2 * stringSpan
	// splitFrom is from what length on a line may have been split by journald
	// (LineMax) or a syslog daemon: 1 KiB is the smallest limit (RFC 3164).
	splitFrom = 1000
	// maxForeign is after how many lines of others in a row a dump has ended.
	maxForeign = 200
	// maxStrays is how many unknown lines in a row a block may hold.
	maxStrays = 3
	// maxOpening bounds what comes between the first line of a crash and its first
	// header: the text of a panic, the stack of the scheduler.
	maxOpening      = 256
	maxOpeningBytes = 64 << 10
	// maxIDs is how many ids of a dump are remembered to notice the next one.
	maxIDs = 4096
)

// place is the position of a text in the artifact. off is where its line begins, text
// where the text itself begins; exact is true if the text is there byte for byte.
type place struct {
	line, off, text int64
	exact           bool
}

func (p place) skip(n int) place {
	if p.exact {
		p.text += int64(n)
	}
	return p
}

// source is one writer among those of a file. It puts the parts of its lines together,
// decodes strings, and cuts dumps out of its lines by these rules:
//
// A dump begins with a goroutine header, together with the lines since "SIGQUIT: quit",
// "panic:" or "fatal error:" before it; or with "Full thread dump" and the date before
// it. It goes on as long as its lines come. Lines that begin as a log's do (a stamp, a
// level, klog's header, a JSON object) are left out anywhere. Other lines are left out
// after a blank line and kept within a block, where the parser judges them. A line that
// is left out after a blank one ends the block, as it does in a plain dump. After 200
// lines in a row that are left out the dump has ended.
//
// A new dump begins within one at a BEGIN marker, at a signal, at a panic whose next
// header is running, at a running goroutine if nothing crashed (only the one that
// writes a dump runs), and at an id that was there before. With GOTRACEBACK=crash each
// thread prints "SIGQUIT: quit" again, after "-----", and goroutines a second time:
// that is still the same dump.
type source struct {
	to  *scanner
	key string // among the sources of the scanner
	// unmarked is that of the scanner, where the line is all that is looked at.
	unmarked bool
	id       Source
	layers   string // their names, for a reason
	used     int64  // number of the last line
	// record is true if the lines are those of records; stream is the stream of the
	// records.
	record bool
	stream string
	// moment is when the line being read was written; stamp, if it is not empty, was
	// not read into it yet.
	stamp  []byte
	moment moment

	pending       []byte
	pendingAt     place
	pendingMoment moment
	run           escapeRun
	runForm       string
	// runFiled is the number of sections that were filed before the string began.
	runFiled int

	open      *building
	opening   opening
	announced announcement
	block     block
	enclosure enclosure
	session   session
	leak      leak
	title     title
	told      bool // something says of the next goroutine that it waits
	begin     bool // a BEGIN marker came
	// before is the line before if it begins with a time, which may be that of a dump.
	before       [128]byte
	beforeLength int
	beforeAt     place

	colours, markup []byte
}

// opening holds the lines since a crash began, until a header shows that goroutines
// follow.
type opening struct {
	active, signal bool
	stamped        bool // the lines begin with a stamp
	lines          int
	text           []byte
	at             place
	moment         moment
}

// announcement is what the lines before a dump reveal about it.
type announcement struct {
	moment moment
	pid    int
	// left is for how many more lines the dump may stay away.
	left int
}

const (
	// dateLeft is the number of lines that may come between a date and its dump: those that
	// curl -i and curl's progress print.
	dateLeft = 20
	// entryLeft is the same for the log entry that announces a dump.
	entryLeft = 1
)

// notice takes a line outside of stacks, which may hold the time of the next dump, and
// reports whether it holds nothing else.
//
//	"=== 2026-11-21T03:00:00Z ==="
//	"I1121 03:05:00.123456    1234 server.go:12] goroutine dump:"
func (s *source) notice(t []byte) bool {
	s.announced.left--
	if m, ok := dateLine(t, s.to.cfg.Now); ok {
		if s.announced.left < 0 || !s.announced.moment.better(m) {
			s.announced = announcement{moment: m, left: dateLeft}
		}
		return true
	}
	if !isLogLine(t) || !announcesDump(t) {
		return false
	}
	_, pid, _ := klogStamp(t)
	if m := lineMoment(t, s.to.cfg.Now); !m.time.IsZero() || pid > 0 {
		s.announced = announcement{moment: m, pid: pid, left: entryLeft}
	}
	return false
}

// announcesDump reports whether a log entry leads to the text after it.
func announcesDump(t []byte) bool {
	if end := t[len(t)-1]; end == ':' || end == '<' {
		return true
	}
	t = bytes.ToLower(t[max(0, len(t)-maxDateLine):])
	return bytes.Contains(t, []byte("goroutine")) || bytes.Contains(t, []byte("dump")) || bytes.Contains(t, []byte("stack"))
}

func (s *source) now() moment {
	if len(s.stamp) == 0 {
		return s.moment
	}
	m := moment{}
	if s.record {
		m = readTime(s.stamp, s.to.cfg.Now)
	} else {
		m = readStamp(string(s.stamp), s.to.cfg.Now)
	}
	if m.better(s.moment) {
		s.moment = m
	}
	s.stamp = s.stamp[:0]
	return s.moment
}

// busy reports whether the lines to come matter.
func (s *source) busy() bool {
	return s.open != nil || s.opening.active || s.run.active || len(s.pending) > 0
}

// feed takes a line of the source without its prefix, or a part of one.
func (s *source) feed(b []byte, partial bool, at place) {
	s.unmarked = s.to.unmarked && !partial && !s.run.active && len(s.pending) == 0
	if !s.unmarked && bytes.IndexByte(b, 0x1b) >= 0 {
		s.colours = dropColours(s.colours[:0], b)
		b, at.exact = s.colours, false
	}
	if s.run.active {
		b, at = s.resume(b, partial, at)
		if b == nil {
			return
		}
	}
	if !partial && len(s.pending) == 0 {
		s.text(b, at)
		return
	}
	if len(s.pending) == 0 {
		s.pendingAt, s.pendingMoment = at, s.now()
	}
	// Parts do not follow one another in the artifact unless they are pieces of one
	// line; the place of the first stands for all.
	s.pendingAt.exact = s.pendingAt.exact && at.exact && at.text == s.pendingAt.text+int64(len(s.pending))
	s.pending = append(s.pending, b...)
	if !partial {
		line := s.pending
		s.pending = s.pending[:0]
		s.moment, s.stamp = s.pendingMoment, s.stamp[:0]
		s.text(line, s.pendingAt)
		return
	}
	if len(s.pending) > maxPending {
		s.overflow()
	}
}

// overflow looks for the beginning of a dump in a line that is too long to be put
// together.
func (s *source) overflow() {
	b := s.pending
	s.pending = s.pending[:0]
	s.moment, s.stamp = s.pendingMoment, s.stamp[:0]
	n := s.strings(b, s.pendingAt, true)
	if s.run.active {
		return
	}
	n = max(n, len(b)-pendingTail)
	s.pendingAt = s.pendingAt.skip(n)
	s.pending = append(s.pending, b[n:]...)
}

// text takes a whole line.
func (s *source) text(b []byte, at place) {
	if !s.unmarked && bytes.IndexByte(b, '\\') >= 0 && s.strings(b, at, false) > 0 {
		return
	}
	if !s.to.html {
		s.line(b, at, true)
		return
	}
	s.markup = dropTags(b)
	for line := range bytes.SplitSeq(s.markup, []byte("\n")) {
		s.line(line, place{line: at.line, off: at.off, text: at.off}, true)
	}
}

// strings takes the dumps out of the strings in a line and returns how far it
// came. The last string may go on in what follows.
func (s *source) strings(b []byte, at place, partial bool) int {
	from := 0
	for {
		marker, depth, ok := escapedMarker(b, from)
		if !ok {
			return from
		}
		start, quote := stringStart(b[from:], marker-from, depth)
		start += from
		s.startRun(b[:start], depth, quote)
		n, ended := s.run.feed(b[start:], at.skip(start), s.plain)
		from = start + n
		if !ended {
			s.pause(len(b), partial)
			return len(b)
		}
		s.endRun(b[from:], false)
	}
}

// startRun begins to decode a string; the text before it may hold the time.
func (s *source) startRun(before []byte, depth int, quote byte) {
	s.close()
	s.opening = opening{}
	s.runForm = "escaped in a log field"
	if before = trim(before); bytes.HasSuffix(bytes.TrimRight(before, `"'\ `), []byte(":")) || bytes.HasPrefix(before, []byte("{")) {
		s.runForm = "escaped in a JSON string"
	}
	if m := lineMoment(before, s.to.cfg.Now); m.better(s.now()) {
		s.moment = m
	}
	s.runFiled = len(s.to.sections)
	s.run.start(depth, quote)
}

// resume goes on with a string, and returns what follows it, nil if it has not
// ended yet.
func (s *source) resume(b []byte, partial bool, at place) ([]byte, place) {
	if s.run.split && len(trim(b)) > 0 && isLogLine(trim(b)) {
		s.endRun(nil, true)
		return b, at
	}
	s.run.split = false
	n, ended := s.run.feed(b, at, s.plain)
	if !ended {
		s.pause(len(b), partial)
		return nil, at
	}
	s.endRun(b[n:], false)
	return b[n:], at.skip(n)
}

// pause waits for the rest of a string. Lines that no limit can have split end it.
func (s *source) pause(length int, partial bool) {
	s.run.split = !partial
	if !partial && (length < splitFrom || s.layers == "") {
		s.endRun(nil, true)
	}
}

// endRun ends a string; the text after it may hold the time. cut is true if the string
// did not end.
func (s *source) endRun(behind []byte, cut bool) {
	if len(s.run.line) > 0 {
		s.line(s.run.line, s.run.place, false)
	}
	s.run.active = false
	if o := s.open; o != nil && cut {
		o.Truncated, o.TruncatedWhy = true, "the string that holds it does not end"
	}
	s.close()
	s.to.date(s.runFiled, s.id, fieldMoment(behind, s.to.cfg.Now))
	s.opening, s.begin, s.runForm = opening{}, false, ""
}

// add keeps a line of the opening; when it gets too long nothing came of it.
func (p *opening) add(b []byte) {
	if p.stamped {
		b = bytes.TrimPrefix(b[cutStamp(b):], []byte(" "))
	}
	p.text = append(append(p.text, b...), '\n')
	if p.lines++; p.lines > maxOpening || len(p.text) > maxOpeningBytes {
		*p = opening{}
	}
}

// close ends the dump being written, and files it if it is one.
func (s *source) close() {
	o := s.open
	if o == nil {
		return
	}
	s.open = nil
	if name := o.inner.name(); name != "" {
		if o.Form != "" {
			o.Form += ", "
		}
		o.Form += name
	}
	if o.Form == "" {
		o.Form = "lines without a prefix"
	}
	s.to.file(o)
}

// file keeps a dump.
func (s *scanner) file(o *building) {
	switch {
	case o.lone():
		s.info.LoneHeaders += o.Headers
		if o.evidence.possible {
			s.info.Unproven += o.Headers
		}
		o.w.drop()
		return
	case o.Headers == 0:
		o.w.drop()
		return
	case len(s.sections) >= s.cfg.MaxSections, o.full && o.w.size == 0:
		s.left++
		o.w.drop()
		return
	}
	o.Bytes = o.w.size
	o.Excerpt = o.excerpt && o.Headers < enoughHeaders
	o.text = o.w.close()
	o.Streamed = o.w.streamed
	if o.full {
		o.Truncated, o.TruncatedWhy = true, fmt.Sprintf("only %d MiB are kept, compressed, of all dumps of one file", s.cfg.MaxKept>>20)
	}
	if o.Truncated {
		s.problem(analysis.Problem{
			Line: o.Line, Offset: o.Offset, Severity: analysis.Warning,
			What: "a dump inside other text is cut",
			Why:  o.TruncatedWhy,
			Hint: "upload the dump by itself: journalctl -o cat, kubectl logs without prefixes, jq -r",
		})
	}
	s.sections = append(s.sections, o.Section)
}

// date sets a time found later in the sections of a source since some index.
func (s *scanner) date(from int, id Source, m moment) {
	for i := from; i < len(s.sections); i++ {
		o := &s.sections[i]
		if o.Source == id && m.better(o.moment()) {
			o.at(m)
		}
	}
}

// end closes what the input left open.
func (s *source) end() {
	s.unmarked = false
	if s.run.active {
		s.endRun(nil, true)
	}
	if len(s.pending) > 0 {
		line := s.pending
		s.pending = nil
		s.text(line, s.pendingAt)
	}
	s.close()
	s.opening, s.begin = opening{}, false
}
