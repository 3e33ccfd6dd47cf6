package thread

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// knownBodies recognises the lines below a header by their bytes, without reading them,
// if an equal body was read before. Threads of one stack differ in the addresses of
// their objects only:
//
//	   java.lang.Thread.State: WAITING (parking)
//		at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
//		- parking to wait for  <‹0x00000000f006aca0›> (a java.util.concurrent.locks.ReentrantLock)
//
// Everything outside of these gaps is compared byte by byte, so that two stacks cannot
// merge; a hash with a random seed only finds the candidate. The result is that of
// textParser for the first such body, with the objects read from the gaps.
type knownBodies struct {
	seed  maphash.Seed
	kept  map[uint64]*body
	bytes int
	gaps  []gap // of the body that is looked at
}

const (
	// maxBlock is how long a header and its body may be to be looked at as one.
	maxBlock = 16 << 10
	// maxKnownBodies and maxKnownBytes bound what is remembered. Real dumps have some
	// hundred different bodies.
	maxKnownBodies = 1 << 14
	maxKnownBytes  = 8 << 20
	// maxGaps bounds the addresses that a body may have.
	maxGaps = 256
)

// gap is where an address stands in a body.
type gap struct{ begin, end int }

// body is what textParser makes of the lines below a header.
type body struct {
	sum   uint64
	text  []byte
	gaps  []gap
	form  string
	stack *analysis.Stack
	// state is the word of java.lang.Thread.State, onMonitor that it waits in
	// Object.wait.
	state             string
	stated, onMonitor bool
	capped, owned     bool
	// blank is true if some line is empty, blankEnd if the last one is. lines counts
	// them. end is where the last line of the thread ends. last are the last lines that
	// are not empty.
	blank, blankEnd bool

	lines int64
	end   int64
	last  []lastLine
	locks []knownLock
}

// lastLine is a line by its place in a body: its number counts from 1, its offset
// from 0. The text of one that is gapped differs.
type lastLine struct {
	line.Line
	gapped bool
}

// knownLock is a lock whose object stands in a gap, -1 if it has none.
type knownLock struct {
	analysis.Lock
	gap int
}

func newKnownBodies() *knownBodies {
	return &knownBodies{seed: maphash.MakeSeed(), kept: map[uint64]*body{}}
}

// find returns what is known of a body, nil if nothing is, and its hash. The gaps
// of text are left in k.
func (k *knownBodies) find(text []byte) (*body, uint64) {
	k.gaps = appendGaps(k.gaps[:0], text)
	sum, at := uint64(len(text)), 0
	for _, g := range k.gaps {
		sum = sum*0x9e3779b97f4a7c15 ^ maphash.Bytes(k.seed, text[at:g.begin])
		at = g.end
	}
	sum = sum*0x9e3779b97f4a7c15 ^ maphash.Bytes(k.seed, text[at:])
	b := k.kept[sum]
	if b == nil || !b.like(text, k.gaps) {
		return nil, sum
	}
	return b, sum
}

// like reports whether text is the same outside of its gaps.
func (b *body) like(text []byte, gaps []gap) bool {
	if len(text) != len(b.text) || !slices.Equal(gaps, b.gaps) {
		return false
	}
	at := 0
	for _, g := range gaps {
		if string(text[at:g.begin]) != string(b.text[at:g.begin]) {
			return false
		}
		at = g.end
	}
	return string(text[at:]) == string(b.text[at:])
}

// appendGaps finds the addresses in angle brackets.
//
//	"- locked <‹0x00000000f0062918›> (a java.lang.Object)"
//	"at Foo.<init>(Foo.java:3)" has none
func appendGaps(out []gap, text []byte) []gap {
	for at := 0; len(out) < maxGaps; {
		open := bytes.IndexByte(text[at:], '<')
		if open < 0 {
			break
		}
		at += open + 1
		if !bytes.HasPrefix(text[at:], []byte("0x")) {
			continue
		}
		end := at + len("0x")
		for end < len(text) && isHex(text[end]) {
			end++
		}
		if end < len(text) && text[end] == '>' {
			out = append(out, gap{at, end})
		}
		at = end
	}
	return out
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// keep remembers a body under its hash, unless there are too many.
func (k *knownBodies) keep(b *body) {
	if _, taken := k.kept[b.sum]; taken || len(k.kept) >= maxKnownBodies || k.bytes >= maxKnownBytes {
		return
	}
	k.bytes += len(b.text)
	k.kept[b.sum] = b
}

// block reads a header and the lines below it at once if it can, and reports whether it
// read anything. The state of p is the same as after reading the lines one by one.
func (p *textParser) block() (bool, error) {
	if p.known == nil || p.held != "" || p.wrapped.Number > 0 || p.section == deadlockLinks || p.section == deadlockStacks {
		return false, nil
	}
	peeked := p.lines.Peek(maxBlock)
	if len(peeked) == 0 || peeked[0] != '"' {
		return false, nil
	}
	begin := bytes.IndexByte(peeked, '\n') + 1
	end := nextQuote(peeked, begin)
	if begin == 0 || end < 0 {
		return false, nil
	}
	text := peeked[begin:end]
	b, sum := p.known.find(text)
	l, _ := p.lines.Next()
	if b == nil {
		return true, p.learn(l, text, sum)
	}
	s := trim(l.Text)
	var h header
	if !h.quoted(s) || h.form != b.form || announces(s) {
		return true, p.line(l)
	}
	if err := p.beginThread(l, l, &h); err != nil {
		return true, err
	}
	if len(b.last) < len(p.before) {
		p.remember(l, s)
	}
	p.recall(b, text, l.Number)
	return true, nil
}

// nextQuote is where the next line begins that begins with a quote, -1 if none
// does. Bodies hold few quotes and many line ends.
func nextQuote(text []byte, at int) int {
	for {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return -1
		}
		if at += n; at > 0 && text[at-1] == '\n' {
			return at
		}
		at++
	}
}

// recall does what the lines of a known body after line number header do.
func (p *textParser) recall(b *body, text []byte, header int64) {
	t := &p.h.thread
	if b.stated {
		t.State, p.stated = b.state, true
		p.monitorWait = p.monitorWait || b.onMonitor
	}
	t.Capped, p.owned, p.foreign.blank = b.capped, b.owned, b.blank
	if b.blankEnd {
		p.blankAt = header + b.lines
	}
	p.frames = append(p.frames, b.stack.Frames...)
	for _, l := range b.locks {
		if l.gap >= 0 {
			g := b.gaps[l.gap]
			l.Object = string(text[g.begin:g.end])
		}
		p.addLock(l.Lock)
	}
	begin := p.lines.Offset()
	copy(p.before[:], p.before[len(b.last):])
	for i, l := range b.last {
		if l.gapped {
			l.Text = kept(trim(string(text[l.Offset : l.Offset+l.Length])))
		}
		l.Number += header
		l.Offset += begin
		p.before[len(p.before)-len(b.last)+i] = l.Line
	}
	if b.end > 0 {
		p.end = begin + b.end
	}
	p.same = b
	p.lines.Skip(len(text), b.lines)
}

// bodyNotes is what is noted of a body while its lines are read one by one.
type bodyNotes struct {
	locks []analysis.Lock
	// earlier counts those before the line being read.
	earlier int
}

// learn reads a header and the lines of its body one by one, and remembers their
// meaning when the thread is delivered, unless a line holds more than a body can hold.
func (p *textParser) learn(header line.Line, text []byte, sum uint64) error {
	if err := p.line(header); err != nil || !p.open || p.begin.Number != header.Number {
		return err
	}
	begin, h := p.lines.Offset(), p.h
	b := &body{sum: sum, text: bytes.Clone(text), gaps: slices.Clone(p.known.gaps), form: h.form}
	p.learned = &bodyNotes{}
	defer func() { p.learned = nil }()
	plain, gaps := true, b.gaps
	for p.lines.Offset() < begin+int64(len(text)) {
		l, _ := p.lines.Next()
		if err := p.line(l); err != nil {
			return err
		}
		n := 0
		for n < len(gaps) && int64(gaps[n].begin) < p.lines.Offset()-begin {
			n++
		}
		plain = plain && p.learned.line(b, gaps[:n], int(l.Offset-begin))
		gaps = gaps[n:]
		b.lines++
	}
	if !plain || !p.alone(b, h, header.Number) {
		return nil
	}
	b.capped, b.owned, b.blank = p.h.thread.Capped, p.owned, p.foreign.blank
	b.blankEnd = b.lines > 0 && p.blankAt == header.Number+b.lines
	b.end = max(p.end-begin, 0)
	for _, l := range p.before {
		if l.Number <= header.Number {
			continue
		}
		last := lastLine{Line: l}
		last.Text = strings.Clone(l.Text)
		last.Number -= header.Number
		last.Offset -= begin
		last.gapped = slices.ContainsFunc(b.gaps, func(g gap) bool {
			return int64(g.begin) >= last.Offset && int64(g.begin) < last.Offset+last.Length
		})
		b.last = append(b.last, last)
	}
	p.same = b
	return nil
}

// line notes the locks of the line that begins at begin and has been read. It is
// false if an address stands anywhere but as the object of its only lock.
func (s *bodyNotes) line(b *body, gaps []gap, begin int) bool {
	locks := s.locks[s.earlier:]
	s.earlier = len(s.locks)
	at := -1
	if len(gaps) > 0 {
		g := gaps[0]
		first := begin + bytes.IndexByte(b.text[begin:], '<') + 1
		if len(gaps) > 1 || len(locks) != 1 || g.begin != first || locks[0].Object != string(b.text[g.begin:g.end]) {
			return false
		}
		at = slices.Index(b.gaps, g)
	}
	for _, l := range locks {
		b.locks = append(b.locks, knownLock{l, at})
	}
	return true
}

// alone reports whether the body of the thread being read, which had the header h at
// line number, holds nothing but what a known body can hold, and notes its state. A
// body with two states, or with the owner of a lock, is not alone.
func (p *textParser) alone(b *body, h header, number int64) bool {
	first, _, _ := bytes.Cut(b.text, []byte{'\n'})
	state, stated := strings.CutPrefix(trim(string(first)), stateWord)
	word, rest, _ := strings.Cut(state, " ")
	b.state, b.stated, b.onMonitor = p.h.thread.State, stated, stated && waitsOnMonitor(word, rest)
	switch {
	case !p.open || p.begin.Number != number || p.section != threads || p.held != "" || p.wrapped.Number > 0,
		p.foreign != foreignText{blank: p.foreign.blank},
		p.more > 0 || p.h.ownerID != h.ownerID || p.h.lock != h.lock || p.h.thread.Carrying != h.thread.Carrying,
		stated != p.stated || bytes.Count(b.text, []byte(stateWord)) > 1,
		bytes.Contains(b.text, []byte("owned by ")) || bytes.Contains(b.text, []byte(", owner #")):
		return false
	}
	return true
}
