package envelope

import (
	"bytes"
)

func (s *source) plain(b []byte, at place) { s.line(b, at, true) }

// line takes a line of text without the layers around it. newline is false for
// the last line of a string or file that does not end with one.
func (s *source) line(b []byte, at place, newline bool) {
	o := s.open
	t := trim(b)
	if s.leak.active {
		s.leaked(t)
		o = s.open
	}
	if len(t) == 0 {
		if s.opening.active {
			s.opening.add(nil)
		} else if o != nil {
			o.blankLine()
		}
		s.beforeLength = 0
		return
	}
	matched, whole := false, b
	if o != nil && (o.inner.mode == innerUndecided || o.inner.mode == innerEach) {
		b, t, matched = o.strip(b, t)
		if len(t) == 0 {
			o.blankLine()
			return
		}
	}
	if s.unmarked {
		s.other(b, t, at, newline)
		return
	}
	if l, ok := readLeak(b); ok {
		s.leak, s.leak.at, s.leak.matched = l, at, matched
		return
	}
	switch h, ok := readHeader(t); {
	case ok:
		s.header(h, b, t, at, matched, newline)
		if n := s.open; matched && n != nil && n != o && n.Time.IsZero() {
			// The stamp was cut off with the prefix of the dump before.
			n.at(lineMoment(whole, s.to.cfg.Now))
		}
	case s.marked(b, t, at, newline):
		if n := s.open; matched && n != nil && n != o && n.inner.template == nil {
			// The prefix that was cut off this line stands on the next ones, too.
			n.inner = o.inner
			if n.Time.IsZero() {
				n.at(lineMoment(whole, s.to.cfg.Now))
			}
		}
	default:
		s.other(b, t, at, newline)
		return
	}
	s.beforeLength = 0
}

// header takes a goroutine header: it goes on with the dump being written, or
// begins one.
func (s *source) header(h header, b, t []byte, at place, matched, newline bool) {
	if s.goesOn(h, b, matched) {
		s.opening = opening{}
		s.open.header(h, b, at, newline)
		s.weigh(h)
		return
	}
	before := s.open
	s.close()
	o := s.begins(KindGoroutine, at)
	if matched && before != nil {
		// The prefix that was cut off this header stands on the next lines, too.
		o.inner = before.inner
	}
	o.crash = s.opening.active || h.system || h.id == 0
	o.signal = s.opening.signal
	o.sure = s.begin || o.signal
	if s.opening.active {
		o.Line, o.Offset = s.opening.at.line, s.opening.at.off
		if !o.moment().better(s.opening.moment) {
			o.at(s.opening.moment)
		}
		o.mark(s.opening.at)
		o.write(s.opening.text, false)
	}
	s.opening, s.begin = opening{}, false
	if indent := len(b) - len(bytes.TrimLeft(b, " \t")); indent > 0 {
		o.inner = newInner(b[:indent], innerEach)
		b = b[indent:]
	}
	o.header(h, b, at, newline)
	s.weigh(h)
}

// weigh begins to look for evidence that one goroutine is worth reading.
func (s *source) weigh(h header) {
	o := s.open
	o.evidence = evidence{possible: !h.running && !o.crash && !s.block.code, told: s.told || h.waited || s.block.fence != ""}
	s.told = false
}

// goesOn reports whether a header belongs to the dump being written.
func (s *source) goesOn(h header, b []byte, matched bool) bool {
	o := s.open
	if o == nil || o.Kind != KindGoroutine || s.begin {
		return false
	}
	if o.profile || s.opening.active && (s.opening.signal || h.running || h.id == 0) {
		return false
	}
	if o.inner.mode == innerEach && !matched && len(trim(o.inner.template)) > 0 {
		return false
	}
	if _, came := o.ids[h.id]; came && !o.relay {
		return false
	}
	return !h.running || h.system || o.signal || o.crash && o.foreign == 0 && o.strays == 0
}

// begins opens a section.
func (s *source) begins(kind string, at place) *building {
	o := &building{Section: Section{Source: s.id, Form: s.form(kind), Line: at.line, Offset: at.off, Kind: kind}, ids: map[int64]struct{}{}}
	o.w = bufferWriter{encoders: &s.to.encoders, kept: &s.to.kept, max: s.to.cfg.MaxKept, to: &s.to.stream}
	o.at(s.now())
	if a := s.announced; a.left >= 0 {
		if a.moment.better(o.moment()) {
			o.at(a.moment)
		}
		if o.Source.PID == 0 {
			o.Source.PID = a.pid
		}
	}
	s.announced = announcement{}
	s.open = o
	return o
}

func (s *source) form(kind string) string {
	form := s.layers
	add := func(word string) {
		if form != "" {
			form += ", "
		}
		form += word
	}
	if s.to.html {
		add("HTML")
	}
	if s.run.active {
		add(s.runForm)
	}
	if s.block.fence != "" && kind == KindGoroutine {
		add("code block")
	}
	return form
}

// marked takes lines with a marker that is no header of its own: those of BEGIN and
// END, of a thread dump, and a header after a logger's prefix.
func (s *source) marked(b, t []byte, at place, newline bool) bool {
	i := nextMarker(b)
	if i < 0 {
		if bytes.Contains(b, []byte(endWord)) {
			s.close()
			return true
		}
		return false
	}
	if bytes.HasPrefix(b[i:], []byte(threadWord)) {
		return s.threads(b, i, at, newline)
	}
	if bytes.HasPrefix(b[i:], []byte(profileWord)) {
		s.profile(b, i, at, newline)
		return true
	}
	if bytes.Contains(b, []byte(beginWord)) {
		s.close()
		s.opening, s.begin = opening{}, true
		return true
	}
	h, ok := readHeader(trim(b[i:]))
	if !ok && i == 0 && s.open != nil && bytes.IndexByte(t, ']') < 0 {
		s.open.Truncated, s.open.TruncatedWhy = true, "a goroutine header in it breaks off"
	}
	if !ok || i == 0 {
		return false
	}
	if o := s.open; o != nil && o.inner.mode == innerFirst && o.inner.stamp == 0 {
		// Checkers of tests print the same words before each goroutine, and none before its stack.
		if rest, again := o.inner.cut(b); again && len(rest) == len(b)-i && s.goesOn(h, rest, false) {
			s.header(h, rest, t, at, false, newline)
			return true
		}
	}
	s.close()
	prefix := b[:i]
	s.block.see(trim(prefix))
	s.block.code = s.block.code || inString(prefix)
	if m := lineMoment(prefix, s.to.cfg.Now); m.better(s.now()) {
		s.moment = m
	}
	s.opening.active = s.opening.active && (s.opening.signal || s.opening.stamped && cutStamp(prefix) > 0)
	s.header(h, b[i:], t, at, false, newline)
	if _, pid, ok := klogStamp(bytes.TrimLeft(prefix, " \t")); ok && s.open.Source.PID == 0 {
		s.open.Source.PID = pid
	}
	s.open.inner = newInner(prefix, innerUndecided)
	return true
}

// threads begins a thread dump.
//
//	2026-11-21 02:46:53
//	Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):
//
// Programs that list their own threads print no version.
func (s *source) threads(b []byte, i int, at place, newline bool) bool {
	version := trim(bytes.TrimSuffix(trim(b[i+len(threadWord):]), []byte(":")))
	if len(version) > 0 && !bytes.Contains(version, []byte("VM")) && !bytes.ContainsRune(version, '(') {
		return false
	}
	s.close()
	s.opening, s.begin = opening{}, false
	date := s.before[:s.beforeLength]
	if n := cutStamp(date); n < len(date) {
		date = trim(date[n:])
	}
	if n := cutStamp(date); n == 0 || n != len(date) {
		date = nil
	} else {
		at.line, at.off = s.beforeAt.line, s.beforeAt.off
	}
	if m := lineMoment(b[:i], s.to.cfg.Now); i > 0 && m.better(s.now()) {
		s.moment = m
	}
	o := s.begins(KindThread, at)
	o.mark(at)
	if date != nil {
		if o.Time.IsZero() {
			o.at(readStamp(string(date), s.to.cfg.Now))
		}
		o.write(date, true)
	}
	if len(trim(b[:i])) > 0 {
		o.inner = newInner(b[:i], innerUndecided)
	}
	o.write(b[i:], newline)
	return true
}

// profile begins a goroutine profile in text form:
//
//	goroutine profile: total 81
//	10 @ 0x4902a1
//	#	0x4902a1	main.run+0x21	/src/main.go:12
func (s *source) profile(b []byte, i int, at place, newline bool) {
	s.close()
	s.opening, s.begin = opening{}, false
	if m := lineMoment(b[:i], s.to.cfg.Now); i > 0 && m.better(s.now()) {
		s.moment = m
	}
	o := s.begins(KindGoroutine, at)
	o.mark(at)
	o.profile, o.Headers = true, 1
	if len(trim(b[:i])) > 0 {
		o.inner = newInner(b[:i], innerUndecided)
	}
	o.write(b[i:], newline)
}

// other takes a line without any marker.
func (s *source) other(b, t []byte, at place, newline bool) {
	o := s.open
	if s.block.see(t) {
		if o != nil {
			o.interrupt()
		}
		return
	}
	known, date := false, false
	if o == nil || o.Kind == KindGoroutine {
		known = o != nil && isDumpLine(t, b[0] == ' ' || b[0] == '\t')
		date = !known && s.notice(t)
	}
	stamp := cutStamp(t)
	if o == nil || o.Kind == KindGoroutine {
		if s.thread(b, at, newline) {
			return
		}
		s.title.see(b, at)
	}
	s.beforeLength = 0
	if stamp > 0 {
		s.beforeLength, s.beforeAt = copy(s.before[:], t), at
	}
	if opener, signal := isOpener(trim(t[stamp:])); opener {
		if o != nil && o.dashes && signal {
			o.relay = true
			o.write(b, newline)
			return
		}
		if !s.opening.active || signal {
			s.opening = opening{active: true, signal: signal, stamped: stamp > 0, at: at, moment: s.now()}
			if m := readStamp(string(t[:stamp]), s.to.cfg.Now); m.better(s.opening.moment) {
				s.opening.moment = m
			}
		}
	}
	if s.opening.active {
		s.opening.add(b)
		if !s.opening.active && o != nil {
			o.foreign += maxOpening
		}
		return
	}
	switch {
	case o == nil:
	case o.Kind == KindThread:
		o.threadLine(b, t, at, newline)
	case o.profile:
		o.profileLine(b, t, newline)
	case date:
		o.foreign++
	default:
		o.goroutineLine(b, t, known, newline)
	}
	if o != nil && (o.foreign > maxForeign || o.after && o.foreign > 0) {
		s.close()
	}
}
