package envelope

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The third gait of the scanner. Nearly all lines of a long dump in a log have the
// prefix of the line before them and a text that can be nothing but a line of a
// stack. Such lines need none of the questions that walking asks of each: trotting
// compares their prefix by eight bytes at a time, knows their text by strict rules,
// and copies it. Any other line is left to walking, which reads it as if there were
// no other gait.
//
// What holds in walking for a line that trotting takes:
//   - the layers are cut off where they were cut off the line before, and the line
//     has the same source (see shape);
//   - no byte of it begins a colour, and nothing in it is a marker, but a header's at
//     its beginning: learning finds nothing new, no string begins (see mayBeArray, and
//     layerKind.ruledOut for a header);
//   - isDumpLine says yes to it, or it is blank, or a header that goes on with the
//     dump; it opens no crash and tells no date.
//
// Of a line that came before, but for its arguments or the numbers of a header, the text
// is not asked again what it is (see gallop.go); what differs in it is looked at, and so
// is its prefix.

// trotter is what trotting knows from one call to the next.
type trotter struct {
	// prefix stands before the text of each line, suffix behind it in a JSON object.
	prefix, suffix shape
	// seam is what stands between the texts of two lines, and joined whether there is
	// such a shape.
	seam   shape
	joined bool
	// from is how many bytes of the line at the offset prefixed are its prefix.
	from     int
	prefixed int64
	// next is the offset of the line behind those that have this shape, -1 where
	// there are none.
	next int64
	// object says that the lines are JSON objects, ended that the text in each ends
	// with an escaped newline.
	object, ended bool
	// logger says that prefix ends with that of the program's own logger.
	logger bool
	// arrays says that a line may hold an array of bytes, whose marker is a list of
	// numbers. guesses are the layers that walking may find round a header; record
	// says that it may find one of those that are records.
	arrays, record bool
	guesses        []layerKind
	// wait is for how many lines trotting is not tried, after it came to nothing.
	wait, patience int
	lines          int64 // taken
	galloped       int64 // of these

	// known is the one of trees for lines that are objects or not: their texts end
	// differently. at is the line in it behind which the next one is expected, nowhere
	// where none is; fresh says that the next one is the first of a block.
	known *knownLines
	trees [2]knownLines
	at    int
	fresh bool
	// states are those of headers, without the bracket, by their first letters.
	states [1 << stateBits]string
	taken  [maxTaken]takenLine // room for those of a call
	// begun is the header that was taken last, if by galloping.
	begun knownHeader
	// run numbers the runs of goroutines between which nothing stands but goroutines:
	// in one of them a parser meets nothing by which it would read them otherwise.
	run uint32
}

// lastRun is no number of one run, but of all that come when the numbers are used up.
const lastRun = math.MaxUint32

// maxPatience is after how many lines at the latest trotting is tried again.
const maxPatience = 64

// maxTrot bounds the lines of one call.
const maxTrot = 4096

// trot takes up to most lines, or more where the scanner has but one source, and
// returns how many.
func (s *scanner) trot(most int) int {
	t, w := &s.trotter, s.in
	if t.wait > 0 {
		t.wait--
		return 0
	}
	if len(s.sources) == 1 {
		most = maxTrot // nobody else may fall silent
	}
	src := s.last
	if src == nil || !src.steady() || s.html || w.inLine || s.walking {
		return 0
	}
	// Where no line is whole in memory walking would read on just as well.
	for w.err == nil && w.end-w.pos < maxLine && bytes.IndexByte(w.buf[w.pos:w.end], '\n') < 0 {
		w.fill()
	}
	taken := 0
	if t.next != w.offset() {
		t.at, t.fresh = nowhere, false
		t.run = min(t.run+1, lastRun)
	}
	if t.next == w.offset() || s.shapes(src) {
		taken = s.trotOn(src, most)
	}
	if taken == 0 {
		t.patience = min(2*t.patience+1, maxPatience)
		t.wait = t.patience
		return 0
	}
	t.patience = 0
	return taken
}

// steady reports whether the source is in the middle of a dump of goroutines, with
// nothing begun beside it.
func (s *source) steady() bool {
	o := s.open
	return o != nil && o.Kind == KindGoroutine && !o.profile && !o.parted && !o.lone() && o.inner.mode != innerUndecided &&
		!s.run.active && len(s.pending) == 0 && !s.opening.active && !s.begin
}

// wake is what lines that were taken leave behind.
type wake struct {
	last []byte // the last line
	// before is the last text that the next line may need. wiped says that a blank line
	// left none.
	before   []byte
	beforeAt place
	wiped    bool
}

// trotOn takes lines as long as they have the shape.
func (s *scanner) trotOn(src *source, most int) (taken int) {
	t, w, o := &s.trotter, s.in, src.open
	var left wake
	for taken < most {
		if t.at != nowhere || t.fresh {
			if n := s.gallop(o, most-taken, &left); n > 0 {
				taken += n
				continue
			}
		}
		from, ok := t.prefixOf(w)
		if !ok {
			break
		}
		if s.gallopHeader(src, from, &left) {
			taken++
			continue
		}
		b := w.buf[w.pos:w.end]
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			break
		}
		line := withoutReturn(b[:n])
		if len(line) < from { // the prefix ends with the return
			break
		}
		text, tab, ok := t.cut(b[from:], len(line)-from)
		if !ok || bytes.IndexByte(text, 0x1b) >= 0 || t.arrays && mayBeArray(text) {
			break
		}
		kind := kindOf(text, tab)
		if kind == otherText || kind == headerText && !s.trotHeader(src, line, text) {
			break
		}
		switch kind {
		case blankText:
			o.blankLine()
			t.wipe(&left)
		case stackText:
			o.strays, o.foreign = 0, 0
			switch {
			case !tab:
				o.write(text, true)
			case t.object:
				o.writeIndented(text)
			default:
				o.write(line[len(line)-len(text)-1:], true)
			}
		}
		t.learn(b[from:], text, tab, kind)
		if kind != blankText {
			left.before, left.beforeAt = text, place{line: w.line + 1, off: w.offset()}
		}
		left.last = line
		w.pos += n + 1
		w.line++
		taken++
	}
	if taken == 0 {
		return 0
	}
	s.lines += int64(taken)
	t.lines += int64(taken)
	t.next = w.offset()
	switch {
	case left.before != nil:
		src.remember(left.before, left.beforeAt)
	case left.wiped:
		src.beforeLength = 0
	}
	s.pass(left.last)
	return taken
}

// prefixOf is how long the prefix of the line is that comes next.
func (t *trotter) prefixOf(w *window) (from int, ok bool) {
	if t.prefixed == w.offset() {
		return t.from, true
	}
	return t.prefix.match(w.buf[w.pos:w.end])
}

// wipe is what a blank line does. Behind a logger's prefix none is blank as a whole.
func (t *trotter) wipe(left *wake) {
	if !t.logger {
		left.before, left.wiped = nil, true
	}
}

// trotHeader takes the header of a goroutine of the same dump.
func (s *scanner) trotHeader(src *source, line, text []byte) bool {
	t := &s.trotter
	if t.record {
		return false
	}
	h, ok := readHeader(text)
	// A backslash may end a header in a string of many lines; cutObject bears none.
	if !ok || !t.object && bytes.IndexByte(text, '\\') >= 0 || !src.goesOn(h, text, src.open.inner.mode == innerEach) {
		return false
	}
	if _, _, ok := guessPrefix(line, t.guesses); ok {
		return false
	}
	src.open.header(h, text, place{line: s.in.line + 1, off: s.in.offset()}, true)
	if len(t.guesses) == 0 {
		t.learnState(text)
	}
	return true
}

// pass leaves the scanner as walking would behind a line.
func (s *scanner) pass(line []byte) {
	if s.trotter.object {
		s.readObject(line, s.layers[0])
		s.recordSource(&s.record)
		s.record.found = false
		return
	}
	s.peel(line)
}

// cut gives the text of a line, of which n bytes stand behind the prefix, without the
// tab that it begins with. What follows the line makes no difference.
//
//	"\t/srv/main.go:12 +0x1d" -> "/srv/main.go:12 +0x1d", true
func (t *trotter) cut(b []byte, n int) (text []byte, tab, ok bool) {
	if t.object {
		return t.cutObject(b, n)
	}
	if text = b[:n]; n > 0 && text[0] == '\t' {
		return text[1:], true, true
	}
	return text, false, true
}

// cutObject does the same in a JSON object.
//
//	`\t/srv/main.go:12 +0x1d\n","stream":"stderr"}` -> "/srv/main.go:12 +0x1d", true
func (t *trotter) cutObject(b []byte, n int) (text []byte, tab, ok bool) {
	if tab = n > 1 && b[0] == '\\' && b[1] == 't'; tab {
		b, n = b[2:], n-2
	}
	end := bytes.IndexByte(b[:n], '"')
	if t.ended {
		end -= len(`\n`)
	}
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return nil, false, false
	}
	m, ok := t.suffix.match(b[end:])
	return b[:end], tab, ok && m == n-end
}

// mayBeArray is false for a text without the marker of an array of bytes. That has 39
// bytes and no letter, so that one of the words looked at would lie in it.
//
//	"main.f(0x103, 0x111)"                           -> false
//	"main.f(103,111,114,111,117,116,105,110,101,32," -> true
func mayBeArray(text []byte) bool {
	for i := 0; i+8 <= len(text); i += 32 {
		if binary.LittleEndian.Uint64(text[i:])&letters == 0 {
			return bytes.Contains(text, []byte("103,"))
		}
	}
	return false
}

// withoutReturn takes the return of a Windows line end off.
func withoutReturn(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] == '\r' {
		return b[:len(b)-1]
	}
	return b
}

// textKind is what a text is beyond doubt.
type textKind int

const (
	otherText textKind = iota
	blankText
	headerText
	stackText // a line that isDumpLine knows
)

// kindOf tells the text of a line, of which a tab was taken off or not. All that it
// knows but headers holds no marker: those have a blank between words.
func kindOf(text []byte, tab bool) textKind {
	if len(text) == 0 {
		if tab {
			return otherText
		}
		return blankText
	}
	known := false
	switch c := text[0]; {
	case c <= ' ' || c == '[' || c == '-' || text[len(text)-1] <= ' ':
	case tab:
		known = isPlainPlace(text)
	case c == 'g' && bytes.HasPrefix(text, []byte(headerWord)):
		return headerText
	case c == 'c' && bytes.HasPrefix(text, []byte(creatorWord)):
		known = isPlainCreator(text[len(creatorWord):])
	default:
		known = isPlainCall(text)
	}
	if known {
		return stackText
	}
	return otherText
}

const (
	creatorWord = "created by "
	parentWord  = " in goroutine "
)

// isPlainPlace knows a file and line without a blank in its path, and the
// addresses behind it.
//
//	"/srv/pool.go:42 +0x1d"                                              -> true
//	"/srv/pool.go:42 +0x1d fp=0xc000047790 sp=0xc000047718 pc=0x40841c" -> true
func isPlainPlace(t []byte) bool {
	end := bytes.IndexByte(t, ' ')
	if end < 0 {
		end = len(t)
	}
	i := end
	for i > 0 && isDigit(t[i-1]) {
		i--
	}
	return i < end && i > 1 && t[i-1] == ':' && areOffsets(t[end:])
}

// areOffsets knows " +0x1d fp=0xc000047790", and nothing.
func areOffsets(b []byte) bool {
	for len(b) > 0 {
		switch {
		case len(b) > 4 && string(b[:4]) == " +0x":
			b = b[4:]
		case len(b) > 6 && string(b[3:6]) == "=0x" && (string(b[:3]) == " fp" || string(b[:3]) == " sp" || string(b[:3]) == " pc"):
			b = b[6:]
		default:
			return false
		}
		n := 0
		for n < len(b) && hexDigit[b[n]] {
			n++
		}
		b = b[n:]
	}
	return true
}

// isPlainCreator knows what follows "created by ".
//
//	"main.(*Pool).start in goroutine 17" -> true
//	"main.start[struct { a int }]"       -> false
func isPlainCreator(t []byte) bool {
	i := bytes.IndexByte(t, ' ')
	if i < 0 {
		return true
	}
	id, ok := bytes.CutPrefix(t[i:], []byte(parentWord))
	return ok && len(id) > 0 && digits(id)
}

// isPlainCall knows a call whose name has no blank. Neither has a marker a place in
// the arguments: each has blanks and an r, as have no addresses.
//
//	"main.(*T[...]).run(0xc000010000, {0x1?, 0x2?}, ...)" -> true
//	"closing (client went away)"                          -> false
func isPlainCall(t []byte) bool {
	if t[len(t)-1] != ')' {
		return false
	}
	i := argumentsAt(t)
	if i <= 0 {
		return false
	}
	blank := bytes.IndexByte(t, ' ')
	return blank < 0 || blank > i && bytes.IndexByte(t[i:], 'r') < 0
}

// argumentsAt is where the arguments of a call begin, below 1 where there are none.
// The parenthesis of a receiver stands behind a point.
//
//	"main.(*T[...]).run(0xc000010000)" -> 18
func argumentsAt(t []byte) int {
	i := bytes.IndexByte(t, '(')
	for i > 0 && t[i-1] == '.' {
		j := bytes.IndexByte(t[i+1:], '(')
		if j < 0 {
			return -1
		}
		i += j + 1
	}
	return i
}

// hexDigit are the bytes of addresses.
var hexDigit = set("0123456789abcdef")

func set(members string) (in [256]bool) {
	for _, c := range []byte(members) {
		in[c] = true
	}
	return in
}
