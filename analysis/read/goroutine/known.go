package goroutine

import (
	"bytes"
	"encoding/binary"
)

// knownBlocks recognises a block by its bytes, without looking at its lines, when
// one like it was read before. Blocks of one stack differ only in a few places:
//
//	main.(*Pool).run(‹arguments›)
//		/src/pool.go:42 +0x1d fp=0x‹address› sp=0x‹address› pc=0x40841c
//	created by main.(*Pool).Start in goroutine ‹number›
//		/src/pool.go:20 +0x9a
//
// Arguments that never differ, "()" and "(...)" of a call that was inlined, are no
// gaps. The bytes between gaps are spans, and all blocks of a dump share them in a
// tree: a block is read by comparing a span, skipping a gap, comparing the next
// span. What comes out is what textParser made of the block that taught the tree,
// so it cannot merge two stacks; textParser reads the lines of unknown blocks.
type knownBlocks struct {
	first [256]branch // by leaf function, the only place with many alternatives
	spans int
	bytes int

	plan plan // of the block that is learned
	// gaps are those of arguments in the block that find found, if words is true.
	words bool
	gaps  []textGap
	texts arena[byte]
	lists arena[span]
	ends  arena[knownEnd]
	runs  arena[run]
}

const (
	// eagerSpans is up to which size the tree learns a stack at its first
	// appearance. Later it learns what came twice: a dump of stacks that are all
	// different would teach it in vain.
	eagerSpans = 1 << 11
	// The tree stops growing at these sizes; real dumps need some hundreds of
	// spans, and a handful of alternatives after each.
	maxSpans        = 1 << 18
	maxSpanBytes    = 32 << 20
	maxAlternatives = 256
	// maxAlike bounds the alternatives that may have one length and one end, so that no
	// input can make every block be compared with hundreds of long ones.
	maxAlike = 16
	// maxTaught is how many blocks of one stack are learned: their offsets or the
	// frames that were inlined may differ.
	maxTaught = 32
	// maxGap is the longest line of arguments that is skipped unseen.
	maxGap = 4 << 10
)

// gap is what follows a span.
type gap uint8

const (
	gapArgs    gap = iota // anything before the ")" that ends the line, but fixedArgs
	gapAddress            // hexadecimal digits
	gapNumber             // the id of the parent
	gapNone               // nothing: the block is complete
)

// span is the length of a text within that of its run, and what follows it.
type span struct {
	length int
	then   gap
}

// run is an edge of the tree: spans after which all known blocks go on equally. The
// spans lie one after the other in memory, in the order of reading.
type run struct {
	text  []byte // of all spans
	spans []span
	next  branch
	end   *knownEnd // in place of next, if the last span ends the block
}

// branch is a place where blocks begin to differ. The next bytes decide what follows:
// no first span of a run is a prefix of another run's, unless a gap follows it that
// excludes the other.
type branch []alternative

// alternative is a run that may follow. The last eight bytes of its first span exclude
// most others at the price of one comparison.
type alternative struct {
	length int
	tail   uint64
	run    *run
}

// knownEnd is what is known of a block that ends here.
type knownEnd struct {
	*keptStack
	key   []byte
	lines int64  // of the body, with the blank line at its end
	blank int    // length of that line; 0 if a creator ends the block
	plain bool   // all lines are ofStack
	calls []call // one for each gap of arguments, if knownBlocks.words is true
}

// find walks the tree along b and returns how many bytes the block has, and the
// parent that its creator names.
func (k *knownBlocks) find(b []byte) (end *knownEnd, length int, parent int64) {
	whole := len(b)
	k.gaps = k.gaps[:0]
	for at := k.enter(b); ; {
		r := at.follow(b)
		if r == nil {
			return nil, 0, 0
		}
		text := r.text
		for i := range r.spans {
			s := &r.spans[i]
			if s.length > len(b) || i > 0 && string(b[:s.length]) != string(text[:s.length]) {
				return nil, 0, 0
			}
			b, text = b[s.length:], text[s.length:]
			switch s.then {
			case gapArgs:
				n := argsLength(b[:min(len(b), maxGap)])
				if n < 0 {
					return nil, 0, 0
				}
				if k.words {
					k.gaps = append(k.gaps, textGap{whole - len(b), whole - len(b) + n})
				}
				b = b[n:]
			case gapAddress:
				n := 0
				for n < len(b) && hexDigits[b[n]] {
					n++
				}
				b = b[n:]
			case gapNumber:
				n, rest, ok := cutNumber(b)
				if !ok || n < 0 {
					return nil, 0, 0
				}
				parent, b = n, rest
			}
		}
		if r.end != nil {
			return r.end, whole - len(b), parent
		}
		at = &r.next
	}
}

// hexDigits are the digits of an address: whether the next one is a letter cannot be
// predicted, so a branch for it would take longer than the look-up.
var hexDigits = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		is[c] = true
	}
	return is
}()

// argsLength returns the number of bytes that stand before the parenthesis that ends the line, -1
// if none does.
//
//	"0x1, {0x2})\n\t/src/pool.go:42" = 10
func argsLength(b []byte) int {
	i := bytes.IndexByte(b, '\n') - 1
	if i >= 0 && b[i] == '\r' {
		i--
	}
	if i < 0 || b[i] != ')' {
		return -1
	}
	return i
}

// enter returns the root of the tree for a leaf function.
func (k *knownBlocks) enter(b []byte) *branch {
	name := cutArgs(b[:min(len(b), 256)])
	return &k.first[uint8(tailOf(name)*0x9e3779b97f4a7c15>>56)]
}

// follow returns the run whose first span b begins with.
func (at branch) follow(b []byte) *run {
	for i := range at {
		a := &at[i]
		if a.length > len(b) || tailOf(b[:a.length]) != a.tail {
			continue
		}
		if r := a.run; string(b[:a.length]) == string(r.text[:a.length]) && !(r.spans[0].then == gapArgs && fixedArgs(b[a.length:])) {
			if i > 0 { // frequent ones wander to the front
				at[i-1], at[i] = at[i], at[i-1]
			}
			return r
		}
	}
	return nil
}

// tailOf is the last eight bytes as a number, 0 if there are fewer.
func tailOf(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[len(b)-8:])
}

// learn adds a block, unless the tree is full, the block is not plain or the tree could
// not distinguish it from another one. body is everything after its header, up to its
// last line or a blank line after that.
func (k *knownBlocks) learn(body []byte, found *keptStack, key []byte) {
	if k.bytes >= maxSpanBytes {
		return
	}
	plan := &k.plan
	if !plan.of(body) || k.spans+len(plan.segments) > maxSpans {
		return
	}
	at, rest := k.enter(body), plan.segments
	for {
		r, clash := at.among(rest[0])
		if clash || r == nil && len(*at) >= maxAlternatives {
			return
		}
		if r == nil {
			end := k.ends.one()
			*end = knownEnd{keptStack: found, key: k.texts.keep(key), lines: plan.lines, blank: plan.blank, plain: allOfStack(body)}
			if k.words {
				end.calls = callsOf(plan.segments)
			}
			*at = append(*at, k.run(rest, end))
			return
		}
		n := r.shared(rest)
		if n == len(r.spans) && r.end != nil {
			return // known already
		}
		if n < len(r.spans) {
			r.split(n)
		}
		at, rest = &r.next, rest[n:]
	}
}

// allOfStack reports whether lines are ofStack or empty.
func allOfStack(body []byte) bool {
	for line := range bytes.Lines(body) {
		if len(line) > 1 && !ofStack(line[:len(line)-1]) {
			return false
		}
	}
	return true
}

// among returns the run that begins with a segment, nil if none does. A clash is a run
// whose first span begins with the segment, or the reverse, or one too many that is
// hard to distinguish from it.
func (at branch) among(p segment) (found *run, clash bool) {
	alike, tail := 0, tailOf(p.text)
	for _, a := range at {
		text := a.run.text[:a.length]
		if a.run.spans[0].then == p.then && bytes.Equal(text, p.text) {
			return a.run, false
		}
		clash = clash || p.mayBegin(text) || segment{text: text, then: a.run.spans[0].then}.mayBegin(p.text)
		if a.length == len(p.text) && a.tail == tail {
			alike++
		}
	}
	return nil, clash || alike >= maxAlike
}

// mayBegin reports whether a block that begins with the text may be taken for one
// that begins with the segment.
func (p segment) mayBegin(text []byte) bool {
	return bytes.HasPrefix(text, p.text) && !(p.then == gapArgs && fixedArgs(text[len(p.text):]))
}

// shared returns the number of segments that the run begins with.
func (r *run) shared(segments []segment) int {
	text := r.text
	for n, s := range r.spans {
		if n == len(segments) || s.then != segments[n].then || string(text[:s.length]) != string(segments[n].text) {
			return n
		}
		text = text[s.length:]
	}
	return len(r.spans)
}

// split makes the spans after the first n a run of its own.
func (r *run) split(n int) {
	at := 0
	for _, s := range r.spans[:n] {
		at += s.length
	}
	lower := &run{text: r.text[at:], spans: r.spans[n:], next: r.next, end: r.end}
	r.text, r.spans = r.text[:at:at], r.spans[:n:n]
	r.next, r.end = branch{alternativeOf(lower)}, nil
}

// run makes a run of segments.
func (k *knownBlocks) run(segments []segment, end *knownEnd) alternative {
	size := 0
	for _, p := range segments {
		size += len(p.text)
	}
	r := k.runs.one()
	*r = run{text: k.texts.take(size)[:0], spans: k.lists.take(len(segments))[:0], end: end}
	for _, p := range segments {
		r.text = append(r.text, p.text...)
		r.spans = append(r.spans, span{len(p.text), p.then})
	}
	k.spans += len(segments)
	k.bytes += size + len(end.key)
	return alternativeOf(r)
}

func alternativeOf(r *run) alternative {
	n := r.spans[0].length
	return alternative{n, tailOf(r.text[:n]), r}
}

// plan is a block taken apart at its gaps.
type plan struct {
	segments []segment
	cut      int // where in the block the next segment begins
	lines    int64
	blank    int
	creator  bool
	frame    int // of the call that was read last
}

type segment struct {
	text  []byte
	then  gap
	frame int // of the call that a gap of arguments belongs to
}

// add ends a segment before a gap.
func (p *plan) add(body []byte, g gapPlace) {
	p.segments = append(p.segments, segment{body[p.cut:g.begin], g.kind, p.frame})
	p.cut = g.end
}

type gapPlace struct {
	begin, end int
	kind       gap
}

// of takes a block apart. It returns false for all but the plainest ones: calls and
// files in turn, as the runtime of the gc compiler prints them, and at the end a
// creator or a blank line. Lines may end as those of Windows.
func (p *plan) of(body []byte) bool {
	*p = plan{segments: p.segments[:0], frame: -1}
	for pos := 0; pos < len(body); {
		line, next := cutBodyLine(body, pos)
		if next < 0 || p.creator {
			return false
		}
		p.lines++
		if len(line) == 0 {
			p.blank = next - pos
			p.add(body, gapPlace{len(body), len(body), gapNone})
			return p.lines > 1 && next == len(body)
		}
		text, ok := plainText(line)
		if !ok {
			return false
		}
		if bytes.HasPrefix(text, []byte("...")) {
			pos = next
			continue
		}
		gap, ok := callGap(text)
		if !ok {
			return false
		}
		p.creator = gap.kind != gapArgs
		if !p.creator {
			p.frame++
		}
		if gap.kind != gapNone && !(gap.kind == gapArgs && fixedArgs(text[gap.begin:])) {
			shift := pos + len(line) - len(text)
			p.add(body, gapPlace{gap.begin + shift, gap.end + shift, gap.kind})
		}
		pos = next
		indent := len(line) - len(text)
		line, next = cutBodyLine(body, pos)
		if next < 0 || !p.place(body, line, pos, indent) {
			return false
		}
		p.lines++
		pos = next
	}
	p.add(body, gapPlace{len(body), len(body), gapNone})
	return p.creator
}

// cutBodyLine returns the line at pos without its end, and where the next one
// begins; -1 if this one does not end.
func cutBodyLine(body []byte, pos int) (line []byte, next int) {
	i := bytes.IndexByte(body[pos:], '\n')
	if i < 0 {
		return nil, -1
	}
	return bytes.TrimSuffix(body[pos:pos+i], []byte{'\r'}), pos + i + 1
}

// plainText is a line without its indentation, false if anything unusual precedes or
// follows it.
func plainText(line []byte) ([]byte, bool) {
	text := bytes.TrimLeft(line, " \t")
	n := len(text)
	return text, n > 0 && text[0] > ' ' && text[n-1] > ' '
}

// callGap finds the gap of a call or creator, of kind gapNone if a creator has
// none.
//
//	"main.(*Pool).run(‹0x1, {0x2}›)"
//	"created by main.(*Pool).Start in goroutine ‹17›"
func callGap(text []byte) (gapPlace, bool) {
	if bytes.HasPrefix(text, []byte(creatorWord)) {
		if text[len(text)-1] == ')' {
			return gapPlace{}, false // a call, by its look
		}
		name, parent := cutParent(text[len(creatorWord):])
		if parent <= 0 {
			return gapPlace{kind: gapNone}, true
		}
		return gapPlace{len(creatorWord) + len(name) + len(parentWord), len(text), gapNumber}, true
	}
	if text[len(text)-1] != ')' {
		return gapPlace{}, false
	}
	name := cutArgs(text)
	return gapPlace{len(name) + 1, len(text) - 1, gapArgs}, len(name) > 0
}

// fixedArgs reports whether b begins with the end of a call whose arguments are the
// same in all blocks: there are none, or none are known.
func fixedArgs(b []byte) bool {
	return len(b) > 0 && b[0] == ')' || len(b) > 3 && string(b[:4]) == "...)"
}

// place adds the gaps of a file line after a call with that indentation. As
// textParser's place, it takes a path with spaces for a log line unless it is indented
// further than the call.
//
//	"/src/pool.go:42 +0x1d fp=0x‹c00004› sp=0x‹c00004› pc=0x40841c"
func (p *plan) place(body, line []byte, pos, indent int) bool {
	text, ok := plainText(line)
	if !ok {
		return false
	}
	file, ok := cutOffsets(text)
	if !ok || len(file) == 0 || len(line)-len(text) <= indent && bytes.IndexByte(file, ' ') >= 0 {
		return false
	}
	offsets := len(line) - len(text) + len(file)
	for _, word := range []string{" fp=0x", " sp=0x"} {
		i := bytes.Index(line[offsets:], []byte(word))
		if i < 0 {
			continue
		}
		begin := offsets + i + len(word)
		end := begin
		for end < len(line) && hexDigits[line[end]] {
			end++
		}
		p.add(body, gapPlace{pos + begin, pos + end, gapAddress})
		offsets = end
	}
	return true
}
