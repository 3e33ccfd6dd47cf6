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
// The bytes between those gaps are the edges of a tree, and all blocks of a dump
// share it: a block is read by comparing a span, skipping a gap, comparing the
// next span. What comes out is what textParser made of the block that taught the
// tree, so it cannot merge two stacks; where it knows nothing textParser reads the
// lines.
type knownBlocks struct {
	first [256]knownSpan // by leaf function, the only place with many alternatives
	spans int
	bytes int
}

const (
	// The tree stops growing at these sizes; real dumps need some hundreds of
	// spans, and a handful of alternatives after each.
	maxSpans        = 1 << 16
	maxSpanBytes    = 32 << 20
	maxAlternatives = 256
	// maxGap is the longest line of arguments that is skipped unseen.
	maxGap = 4 << 10
)

// gap says what follows a span.
type gap uint8

const (
	gapArgs    gap = iota // anything before the ")" that ends the line
	gapAddress            // anything before a space
	gapNumber             // the id of the parent
	gapNone               // nothing: the block is complete
)

// knownSpan is a node of the tree. Its bytes are no prefix of another alternative
// of the same parent: the next byte decides what follows.
type knownSpan struct {
	text []byte
	then gap
	next []alternative
	end  *knownEnd // for gapNone
}

// alternative is a span that may follow, with what tells most others from it at
// the price of one comparison: its last eight bytes.
type alternative struct {
	length int
	tail   uint64
	span   *knownSpan
}

// knownEnd is what is known of a block that ends here.
type knownEnd struct {
	keptStack
	key     []byte
	lines   int64 // of the body, with the blank line at its end
	creator bool  // the block ends with a creator, otherwise with a blank line
}

// find walks the tree along b and returns how many bytes the block has, and the
// parent that its creator names.
func (k *knownBlocks) find(b []byte) (end *knownEnd, length int, parent int64) {
	pos := 0
	for at := k.enter(b); ; {
		span := at.follow(b[pos:])
		if span == nil {
			return nil, 0, 0
		}
		pos += len(span.text)
		switch span.then {
		case gapArgs:
			rest := b[pos:min(len(b), pos+maxGap)]
			i := bytes.IndexByte(rest, '\n')
			if i < 1 || rest[i-1] != ')' {
				return nil, 0, 0
			}
			pos += i - 1
		case gapAddress:
			for pos < len(b) && b[pos] > ' ' {
				pos++
			}
		case gapNumber:
			n, rest, ok := cutNumber(b[pos:])
			if !ok || n < 0 {
				return nil, 0, 0
			}
			parent, pos = n, len(b)-len(rest)
		case gapNone:
			return span.end, pos, parent
		}
		at = span
	}
}

// enter returns the root of the tree for a leaf function.
func (k *knownBlocks) enter(b []byte) *knownSpan {
	name := cutArgs(b[:min(len(b), 256)])
	return &k.first[uint8(tailOf(name)*0x9e3779b97f4a7c15>>56)]
}

// follow returns the alternative that b begins with.
func (s *knownSpan) follow(b []byte) *knownSpan {
	for i := range s.next {
		a := &s.next[i]
		if a.length > len(b) || tailOf(b[:a.length]) != a.tail {
			continue
		}
		if span := a.span; string(b[:a.length]) == string(span.text) {
			if i > 0 { // frequent ones wander to the front
				s.next[i-1], s.next[i] = s.next[i], s.next[i-1]
			}
			return span
		}
	}
	return nil
}

// tailOf is the last eight bytes as a number, 0 where there are fewer.
func tailOf(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[len(b)-8:])
}

// learn adds a block. body is everything behind its header, up to its last line
// or a blank line after that.
func (k *knownBlocks) learn(body []byte, found keptStack, key []byte) {
	if k.spans >= maxSpans || k.bytes >= maxSpanBytes {
		return
	}
	plan, ok := planOf(body)
	if !ok {
		return
	}
	at, begin := k.enter(body), 0
	for _, gap := range plan.gaps {
		if at = k.grow(at, body[begin:gap.begin], gap.kind); at == nil {
			return
		}
		begin = gap.end
	}
	if at = k.grow(at, body[begin:], gapNone); at != nil && at.end == nil {
		at.end = &knownEnd{found, bytes.Clone(key), plan.lines, plan.creator}
		k.bytes += len(key)
	}
}

// grow returns the alternative of at with this text, nil where there can be none.
func (k *knownBlocks) grow(at *knownSpan, text []byte, then gap) *knownSpan {
	for _, a := range at.next {
		next := a.span
		if next.then == then && bytes.Equal(next.text, text) {
			return next
		}
		if bytes.HasPrefix(next.text, text) || bytes.HasPrefix(text, next.text) {
			return nil
		}
	}
	if len(at.next) >= maxAlternatives {
		return nil
	}
	added := &knownSpan{text: bytes.Clone(text), then: then}
	at.next = append(at.next, alternative{len(text), tailOf(text), added})
	k.spans++
	k.bytes += len(text)
	return added
}

// plan says where the gaps of a block are.
type plan struct {
	gaps    []gapPlace
	lines   int64
	creator bool
}

type gapPlace struct {
	begin, end int
	kind       gap
}

// planOf finds the gaps. It is false for all but the plainest blocks: calls and
// files in turn, as the runtime of the gc compiler prints them, and at the end a
// creator or a blank line.
func planOf(body []byte) (out plan, ok bool) {
	for pos := 0; pos < len(body); {
		line, _, ended := bytes.Cut(body[pos:], []byte{'\n'})
		next := pos + len(line) + 1
		if !ended || out.creator {
			return plan{}, false
		}
		out.lines++
		if len(line) == 0 {
			return out, out.lines > 1 && next == len(body)
		}
		text, ok := plainText(line)
		if !ok {
			return plan{}, false
		}
		if bytes.HasPrefix(text, []byte("...")) {
			pos = next
			continue
		}
		gap, ok := callGap(text)
		if !ok {
			return plan{}, false
		}
		out.creator = gap.kind != gapArgs
		if gap.kind != gapNone {
			shift := pos + len(line) - len(text)
			out.gaps = append(out.gaps, gapPlace{gap.begin + shift, gap.end + shift, gap.kind})
		}
		pos = next
		line, _, ended = bytes.Cut(body[pos:], []byte{'\n'})
		if !ended || !out.place(line, pos) {
			return plan{}, false
		}
		out.lines++
		pos += len(line) + 1
	}
	return out, out.creator
}

// plainText is a line without its indentation, false where anything unusual
// stands before or behind it.
func plainText(line []byte) ([]byte, bool) {
	text := bytes.TrimLeft(line, " \t")
	n := len(text)
	return text, n > 0 && text[0] > ' ' && text[n-1] > ' '
}

// callGap finds the gap of a call or creator, of kind gapNone where a creator has
// none.
//
//	"main.(*Pool).run(‹0x1, {0x2}›)"
//	"created by main.(*Pool).Start in goroutine ‹17›"
func callGap(text []byte) (gapPlace, bool) {
	if bytes.HasPrefix(text, []byte(creatorWord)) {
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

// place adds the gaps of a file line.
//
//	"/src/pool.go:42 +0x1d fp=0x‹c00004› sp=0x‹c00004› pc=0x40841c"
func (p *plan) place(line []byte, pos int) bool {
	text, ok := plainText(line)
	if !ok {
		return false
	}
	file, ok := cutOffsets(text)
	if !ok || len(file) == 0 {
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
		for end < len(line) && line[end] > ' ' {
			end++
		}
		p.gaps = append(p.gaps, gapPlace{pos + begin, pos + end, gapAddress})
		offsets = end
	}
	return true
}
