package envelope

import (
	"bytes"
	"encoding/binary"

	"leakdiff/analysis"
)

// Galloping is trotting where the next line is expected. Most blocks of a long dump
// are like one before them, so that of nearly every line of a stack all but its
// arguments is known: it is compared, and needs none of the searches by which kindOf
// tells what it is.
//
// A text is what trotting took for a line of a stack or a blank line, or differs from
// such a one in a gap alone, by bytes that change no answer of kindOf and begin no
// colour. That holds wherever the text stands: what came before it says where to look
// and nothing else. A header differs from one that trotting took in its numbers alone.

// knownLines is a tree of lines of stacks: each with those that came behind it.
type knownLines struct {
	// lines has the lines of a block one behind the other, as they are read. The first
	// ones are none, but places for lines behind a header, by function.
	lines []knownLine
	size  int // of all texts
}

// knownLine is one of the lines that came behind the same line.
type knownLine struct {
	// text is the line as the input has it behind its prefix, up to the gap. Without a
	// gap it ends with the byte behind the line, so that it begins no longer one.
	text string
	gap  lineGap
	// skip is how many bytes of the text a tab has before its last one; first is what
	// the line begins with as it is given away.
	skip, first byte
	// leave is the run in which goroutines that end with it may be left out.
	leave uint32
	// next is of those behind it the one that came last, other the next one of those
	// behind the same line; 0 where there is none.
	next, other uint32
}

// lineGap says where lines differ that have the same text.
type lineGap uint8

const (
	gapNone    lineGap = iota
	gapArgs            // main.(*T).run(‹0x1, {0x2, 0x3}›)
	gapNumber          // created by main.start in goroutine ‹17›
	gapOffsets         // /srv/pool.go:42 +0x1d‹ fp=0xc000047790 sp=0xc000047718 pc=0x40841c›
)

const (
	// entries is how many places there are for lines behind a header.
	entries = 256
	// The tree stops growing at these sizes; real dumps need some thousand lines.
	maxKnown      = 1 << 14
	maxKnownBytes = 1 << 20
	// maxOthers is how many lines may come behind one: where all stacks differ, looking
	// for a line among many costs more than asking what it is.
	maxOthers = 16
	// maxGap is the longest gap that is looked at, and the longest text that is kept.
	maxGap = 4 << 10
	// nowhere is no index of a line.
	nowhere = -1
)

// gallop takes known lines of a block, and the blank line behind it, and returns how
// many.
func (s *scanner) gallop(o *building, most int, left *wake) (taken int) {
	t, w := &s.trotter, s.in
	if o.full || o.w.over() {
		return 0
	}
	from, ok := t.prefixOf(w)
	if !ok {
		return 0
	}
	known := t.known
	if known.lines == nil {
		return 0
	}
	t.leave(o.w.to)
	in, lines := w.buf[:w.end], known.lines
	room := spoolBlock - 2 - len(o.w.plain)
	pos, length := w.pos, 0 // behind the last line, and of all that were taken
	blank := false
	// parent is that of a goroutine of which all lines come, from the first one on; below
	// 0 where they do not.
	parent := int64(-1)
	// The text of a line begins with the byte at.
	at, more := w.pos+from, true
	if t.fresh {
		t.fresh, t.at, parent = false, known.enter(in[at:]), 0
	}
	most = min(most, len(t.taken))
	for more && !blank && taken < most {
		b := in[at:]
		i := lines[t.at].next
		l := &lines[i]
		if i == 0 || len(l.text) > len(b) || string(b[:len(l.text)]) != l.text {
			if i = known.follow(t.at, i, b); i == 0 {
				break
			}
			l = &lines[i]
		}
		end := len(l.text) - 1
		if l.gap != gapNone {
			if end = t.gapEnd(l.gap, b, end+1); end < 0 {
				break
			}
			if l.gap == gapNumber && parent >= 0 {
				parent = numberOf(b[len(l.text):end])
			}
		}
		// A full block is left to trotting, which gives it away.
		if length+end >= room {
			break
		}
		next, beyond := 0, 0 // behind the line, and behind the prefix of the next one
		if more = t.joined; more {
			beyond, more = t.seam.match(b[end:])
		}
		if more {
			next = end + t.lineEnd(beyond)
			beyond += end
		} else if next = t.endOf(b, end); next < 0 {
			break
		}
		t.taken[taken] = takenLine{begin: uint32(pos), at: uint32(at), end: uint32(at + end), line: i}
		length += end + 1 - int(l.skip)
		t.at = int(i)
		taken++
		pos, blank = at+next, end == 0 // behind a blank line comes a header
		at += beyond
	}
	if taken == 0 {
		return 0
	}
	if more {
		t.from, t.prefixed = at-pos, w.base+int64(pos)
	}
	o.w.accepted = !o.lone()
	t.galloped += int64(taken)
	all := t.taken[:taken]
	last := all[taken-1]
	left.last = withoutReturn(in[last.begin : pos-1])
	if blank {
		t.wipe(left)
		all = all[:taken-1]
	}
	if o.blank = blank; len(all) > 0 {
		text := all[len(all)-1]
		left.before = t.bare(in[text.at:text.end])
		left.beforeAt = place{line: w.line + int64(len(all)), off: w.base + int64(text.begin)}
		o.dashes, o.strays, o.foreign = false, 0, 0
	}
	w.pos = pos
	w.line += int64(taken)
	leave := false
	if blank && parent >= 0 {
		o.w.alike = append(o.w.alike, alike{o.w.size, analysis.Alike{Class: t.class(), Run: t.run, Length: int64(length), Lines: int64(taken), Parent: parent}})
		leave = lines[t.at].leave == t.run && t.run < lastRun && t.begun.mayBeLeft(&o.w)
	}
	if leave {
		o.w.leaveOut(&t.begun)
	} else {
		t.write(&o.w, in, t.taken[:taken])
	}
	return taken
}

// takenLine is a line that was taken, the bytes from at to end of the buffer where it
// begins at another place with its prefix. It is like a known one.
type takenLine struct{ begin, at, end, line uint32 }

// maxTaken bounds the lines of one call; nearly no goroutine has more.
const maxTaken = 256

// write writes lines that were taken to a block that has room for them.
func (t *trotter) write(w *spoolWriter, in []byte, lines []takenLine) {
	out := w.plain
	for i := range lines {
		// The byte behind the text makes room for the newline, the t of an escaped tab
		// for the tab.
		c := &lines[i]
		l := &t.known.lines[c.line]
		line := len(out)
		out = append(out, in[c.at+uint32(l.skip):c.end+1]...)
		out[line] = l.first
		out[len(out)-1] = '\n'
	}
	w.size += int64(len(out) - len(w.plain))
	w.plain = out
}

// gallopHeader takes a header of a known state, of which the prefix has so many bytes.
// Only its numbers differ from those that trotting took.
func (s *scanner) gallopHeader(src *source, from int, left *wake) bool {
	t, w := &s.trotter, s.in
	b := w.buf[w.pos+from : w.end]
	known := &t.begun
	known.end = nowhere
	n := known.read(t, b)
	if n == 0 || t.record || len(t.guesses) > 0 {
		return false
	}
	next := t.endOf(b, n)
	o := src.open
	if h := (header{id: known.id}); next >= 0 && src.goesOn(h, b[:n], o.inner.mode == innerEach) {
		at := place{line: w.line + 1, off: w.offset()}
		known.offset, known.begin, known.end = o.w.size, len(o.w.plain), len(o.w.plain)+n+1
		o.header(h, b[:n], at, true)
		left.before, left.beforeAt = b[:n], at
		left.last = withoutReturn(w.buf[w.pos : w.pos+from+next-1])
		w.pos += from + next
		w.line++
		t.fresh = true
		t.galloped++
		return true
	}
	return false
}

const (
	// stateBits is how many states are known at once, as a power of two.
	stateBits = 6
	// maxState is the length of the longest.
	maxState = 64
)

// knownHeader is a header of a known state.
type knownHeader struct {
	id, wait int64
	state    string
	flagged  bool // the state may be one with flags
	// offset is where in the text of the dump it stands, begin and end where in the block,
	// where it begins in one.
	offset     int64
	begin, end int
}

// leaveOut leaves the goroutine out that was found to be alike last, and takes its header
// back.
func (w *spoolWriter) leaveOut(h *knownHeader) {
	like := &w.alike[len(w.alike)-1]
	w.plain = append(w.plain[:h.begin], analysis.LeftOut, '\n')
	header := w.size - h.offset
	w.size += like.Length
	like.at, like.Length, like.Lines = h.offset, like.Length+header, like.Lines+1
	like.Left, like.ID, like.State, like.Wait = true, h.id, h.state, h.wait
	if len(w.alike) >= maxAlike {
		w.flush()
	}
}

// mayBeLeft reports whether the header was written last, and all that it says is known.
func (h *knownHeader) mayBeLeft(w *spoolWriter) bool {
	return h.end == len(w.plain) && h.offset+int64(h.end-h.begin) == w.size && h.id > 0 && !h.flagged
}

// leave takes what the reader of a stream grants.
func (t *trotter) leave(from *stream) {
	for _, g := range from.granted {
		if lines := t.trees[g.class&1].lines; g.class>>1 < len(lines) {
			lines[g.class>>1].leave = g.run
		}
	}
	from.granted = from.granted[:0]
}

// stateAt is the place of a state, by the eight bytes that it begins with.
func (t *trotter) stateAt(b []byte) *string {
	const spread = 0x9e3779b97f4a7c15
	return &t.states[binary.LittleEndian.Uint64(b)*spread>>(64-stateBits)]
}

// learnState lets the state of a header be known that trotting took.
//
//	"goroutine 17 [select, 6 minutes]:" -> "select"
func (t *trotter) learnState(text []byte) {
	_, b, ok := bytes.Cut(text, []byte(" ["))
	n := run(b, func(c byte) bool { return c|0x20-'a' < 26 || c == ' ' || c == '.' || c == '(' || c == ')' })
	if ok && n > 0 && n <= maxState && len(b) >= 8 && !bytes.HasPrefix(b, []byte("running")) {
		*t.stateAt(b) = string(b[:n])
	}
}

// read takes a header of a known state that b begins with, and returns its length, 0
// where it is none.
//
//	"goroutine 17 [select, 6 minutes]:\n" -> 17, "select", 6; 33
func (h *knownHeader) read(t *trotter, b []byte) (n int) {
	const word, comma, minutes, end = len(headerWord), ", ", " minutes", "]:"
	if len(b) < headerSpan || string(b[:word]) != headerWord {
		return 0
	}
	id := int64(0)
	for n = word; n < word+18 && isDigit(b[n]); n++ {
		id = 10*id + int64(b[n]-'0')
	}
	if n == word || string(b[n:n+2]) != " [" {
		return 0
	}
	n += 2
	state := *t.stateAt(b[n:])
	if len(state) == 0 || string(b[n:n+len(state)]) != state {
		return 0
	}
	n += len(state)
	wait := int64(-1)
	if string(b[n:n+len(comma)]) == comma {
		n += len(comma)
		from := n
		for wait = 0; n < from+18 && isDigit(b[n]); n++ {
			wait = 10*wait + int64(b[n]-'0')
		}
		if n == from || string(b[n:n+len(minutes)]) != minutes {
			return 0
		}
		n += len(minutes)
	}
	if string(b[n:n+len(end)]) != end {
		return 0
	}
	h.id, h.state, h.wait, h.flagged = id, state, wait, state[len(state)-1] == ')'
	return n + len(end)
}

// class is that of goroutines of which the last line was found where t.at is: all their
// lines came one behind the other in one of the trees.
func (t *trotter) class() int {
	if t.object {
		return 2*t.at + 1
	}
	return 2 * t.at
}

// numberOf is a number in digits, -1 where it is too long.
func numberOf(b []byte) int64 {
	if len(b) > 18 {
		return -1
	}
	n := int64(0)
	for _, c := range b {
		n = 10*n + int64(c-'0')
	}
	return n
}

// bare takes the tab off that a text begins with as the input has it.
func (t *trotter) bare(text []byte) []byte {
	switch {
	case text[0] == '\t':
		return text[1:]
	case t.object && text[0] == '\\':
		return text[len(`\t`):]
	}
	return text
}

// lineEnd is where a line ends that the seam begins with, of which so many bytes match.
func (t *trotter) lineEnd(seam int) int {
	if t.prefix.from == t.prefix.to {
		return seam - len(t.prefix.text)
	}
	return len(t.seam.text) - len(t.prefix.text)
}

// endOf is where the line behind a text ends that b begins with, below 0 where it does
// not end as the others do.
func (t *trotter) endOf(b []byte, end int) int {
	if t.object {
		m, ok := t.suffix.match(b[end:])
		if !ok {
			return -1
		}
		end += m
	}
	if end < len(b) && b[end] == '\r' {
		end++
	}
	if end < len(b) && b[end] == '\n' {
		return end + 1
	}
	return -1
}

// gapEnd is where the text of a line ends that b begins with, of which n bytes stand
// before the gap; below 0 where the gap is none of this kind.
func (t *trotter) gapEnd(gap lineGap, b []byte, n int) int {
	rest := b[n:min(len(b), n+maxGap)]
	if gap == gapNumber {
		if m := run(rest, isDigit); m > 0 {
			return n + m
		}
		return -1
	}
	m := 0
	if t.object {
		m = bytes.IndexByte(rest, '"')
		if t.ended {
			m -= len(`\n`)
		}
	} else if m = bytes.IndexByte(rest, '\n'); m > 0 && rest[m-1] == '\r' {
		m--
	}
	switch {
	case m <= 0:
	case gap == gapOffsets && areOffsets(rest[:m]), gap == gapArgs && rest[m-1] == ')' && arePlainArgs(b[:n+m-1], m-1):
		return n + m
	}
	return -1
}

// learn lets the tree know a line that trotting took. b begins where its prefix ends.
func (t *trotter) learn(b, text []byte, tab bool, kind textKind) {
	if kind == headerText {
		t.fresh = true
		return
	}
	if t.fresh {
		t.fresh, t.at = false, nowhere
		if kind == stackText {
			t.at = t.known.enter(b)
		}
	}
	// The text will be known where arrays are looked for, too (see trotter.arrays).
	if t.at == nowhere || mayBeArray(text) {
		t.at = nowhere
		return
	}
	n, gap := 0, gapNone
	if kind == stackText {
		n, gap = gapOf(text, tab)
	}
	switch {
	case tab && t.object:
		n += len(`\t`)
	case tab:
		n++
	}
	if gap == gapNone {
		n++
	}
	line := knownLine{text: string(b[:n]), gap: gap, first: b[0]}
	if tab && t.object {
		line.skip, line.first = byte(len(`\t`)-1), '\t'
	}
	t.at = t.known.add(t.at, line)
}

// gapOf is where the gap begins in a line of a stack. Arguments that may never differ
// are none.
func gapOf(text []byte, tab bool) (int, lineGap) {
	switch {
	case tab:
		if i := bytes.Index(text, []byte(" fp=0x")); i >= 0 {
			return i, gapOffsets
		}
	case bytes.HasPrefix(text, []byte(creatorWord)):
		if i := bytes.Index(text, []byte(parentWord)); i >= 0 {
			return i + len(parentWord), gapNumber
		}
	default:
		if i := argumentsAt(text) + 1; string(text[i:]) != ")" && string(text[i:]) != "...)" {
			return i, gapArgs
		}
	}
	return len(text), gapNone
}

// enter is the place where the first line of a block is looked up.
func (k *knownLines) enter(b []byte) int {
	name := b[:max(argumentsAt(b[:min(len(b), 256)]), 0)]
	if len(name) < 8 {
		return 0
	}
	const spread = 0x9e3779b97f4a7c15
	return int(binary.LittleEndian.Uint64(name[len(name)-8:]) * spread >> 56)
}

// follow finds the line behind another one that b begins with, and puts it in front of
// the others, of which the first is none; 0 where there is none.
func (k *knownLines) follow(at int, first uint32, b []byte) uint32 {
	before := first
	for i := k.lines[first].other; i != 0; i = k.lines[i].other {
		l := &k.lines[i]
		if len(l.text) > len(b) || string(b[:len(l.text)]) != l.text {
			before = i
			continue
		}
		k.lines[before].other, l.other, k.lines[at].next = l.other, first, i
		return i
	}
	return 0
}

// add adds a line behind another one and gives its place, nowhere where there is no
// room.
func (k *knownLines) add(at int, line knownLine) int {
	if k.lines == nil {
		k.lines = make([]knownLine, entries, 4*entries)
	}
	others := 0
	for i := k.lines[at].next; i != 0; i = k.lines[i].other {
		if l := &k.lines[i]; l.gap == line.gap && l.text == line.text {
			return int(i)
		}
		others++
	}
	if others >= maxOthers || len(k.lines) >= maxKnown || len(line.text) > maxGap || k.size+len(line.text) > maxKnownBytes {
		return nowhere
	}
	line.other = k.lines[at].next
	k.lines = append(k.lines, line)
	k.size += len(line.text)
	added := len(k.lines) - 1
	k.lines[at].next = uint32(added)
	return added
}

// arePlainArgs knows arguments in which nothing is hidden: no marker, for those have an
// r, no array of bytes, no backslash, no newline. It says no to some others. The
// arguments are the last n bytes of a call.
//
//	"main.f(0xc000010000, {0x1?, 0x2?}, ..." -> true
//	"main.f(goroutine 5 [select]:"           -> false
func arePlainArgs(call []byte, n int) bool {
	if len(call) < 8 {
		return false
	}
	bad, before := uint64(0), uint64(letters)
	b := call[len(call)-n:]
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		// Of an array, 39 bytes that are no letters, there are whole words in a row.
		if (w|before)&letters == 0 {
			return false
		}
		bad |= notPlain(w)
		before = w
	}
	if len(b) > 0 {
		w := binary.LittleEndian.Uint64(call[len(call)-8:])
		bad |= notPlain(w) >> (64 - 8*len(b)) // without what was looked at before
	}
	return bad&letters == 0
}

// letters is the bit that letters and braces have, of each of eight bytes.
const letters = 0x4040404040404040

// notPlain has this bit of each byte that is a control, one of p to w, or one of P to _
// (as a backslash).
func notPlain(w uint64) uint64 {
	small := w << 1 // the bit that tells small letters from capitals
	return ^(w | small) | w&(w<<2)&^(w<<3&small)
}
