package goroutine

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// Word is an address that a frame prints among its arguments.
// Words with a question mark may be stale and are left out, as are numbers below 64 KiB.
type Word struct {
	Address uint64
	// Type is the first word of an interface value, whose second word is Address; 0 for a
	// plain word.
	Type uint64
	// Frame indexes Stack.Frames. Position counts the arguments of the call from 0; a
	// value in braces is one argument.
	Frame    uint16
	Position uint8
}

const (
	// maxWords bounds the words of one goroutine. The runtime prints at most ten for each
	// of 100 frames; real goroutines show some dozen.
	maxWords = 256
	// leastAddress is below every object of a Go program.
	leastAddress = 1 << 16
)

// call is where a frame's arguments stand in a known block. Braces and question marks
// depend on the program counter alone, so all blocks of one end print a call alike but for
// its digits, and mostly as many of those: the layout of the last block is that of the
// next one.
type call struct {
	frame  uint16
	known  bool
	length int // of the arguments that words were found in
	words  []placedWord
}

// placedWord is a word without question mark in the text of a call's arguments.
type placedWord struct {
	begin, end         int // of its digits
	typeBegin, typeEnd int // of the digits of the interface's first word, 0 for a plain word
	position           uint8
}

// readWords fills the words of a block that is complete.
func (p *textParser) readWords(g *Goroutine, match *knownEnd) {
	g.Words = p.wordList[:0]
	defer func() { p.wordList = g.Words[:0] }()
	if g.System || g.ID <= 0 || len(g.Body) == 0 || g.Stack.Unavailable != "" {
		return
	}
	if match == nil {
		p.searchWords(g)
		return
	}
	for i, gap := range p.known.gaps {
		if i == len(match.calls) || gap.end > len(g.Body) {
			return
		}
		c, text := &match.calls[i], g.Body[gap.begin:gap.end]
		if c.known && c.length == len(text) && len(c.words) == 0 {
			continue
		}
		before := len(g.Words)
		if c.known && c.length == len(text) && c.read(text, g) {
			continue
		}
		g.Words = g.Words[:before]
		c.learn(text)
		c.read(text, g)
	}
}

// searchWords finds the calls of a block by the names of its frames, since foreign lines
// may stand between them.
func (p *textParser) searchWords(g *Goroutine) {
	frames, next := g.Stack.Frames, 0
	for line := range bytes.Lines(g.Body) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[len(line)-1] != ')' {
			continue
		}
		name := cutArgs(line)
		if len(name) == 0 {
			continue
		}
		for i := next; i < min(len(frames), next+4); i++ {
			if !sameName(name, frames[i].Func) {
				continue
			}
			c := call{frame: uint16(min(i, math.MaxUint16)), words: p.layout[:0]}
			text := line[len(name)+1 : len(line)-1]
			c.learn(text)
			c.read(text, g)
			p.layout = c.words
			next = i + 1
			break
		}
	}
}

// sameName compares a printed name with that of a frame.
func sameName(printed []byte, name string) bool {
	return string(printed) == name || strings.IndexByte(name, '.') >= 0 && bytes.IndexByte(printed, '%') >= 0 && string(unescape(printed)) == name
}

// read appends the words at the known places. It returns false if the text is laid out
// otherwise.
func (c *call) read(text []byte, g *Goroutine) bool {
	for i := range c.words {
		w := &c.words[i]
		word := Word{Frame: c.frame, Position: w.position}
		var ok bool
		if word.Address, ok = addressAt(text, w.begin, w.end); !ok {
			return false
		}
		if w.typeEnd > 0 {
			if word.Type, ok = addressAt(text, w.typeBegin, w.typeEnd); !ok {
				return false
			}
			if word.Type < leastAddress {
				continue
			}
		}
		if word.Address >= leastAddress && len(g.Words) < maxWords {
			g.Words = append(g.Words, word)
		}
	}
	return true
}

// addressAt reads the digits between begin and end, which must be a whole number.
//
//	"0xc000010000, 0x1", 2, 12 = 0xc000010000
func addressAt(text []byte, begin, end int) (uint64, bool) {
	if end < len(text) {
		if c := text[end]; c != ',' && c != '}' && c != '?' {
			return 0, false
		}
	}
	if text[begin-1] != 'x' {
		return 0, false
	}
	return hexNumber(text[begin:end])
}

// hexNumber reads up to 16 lower-case hexadecimal digits, eight at a time.
func hexNumber(digits []byte) (uint64, bool) {
	n := uint64(0)
	if len(digits) > 16 {
		return 0, false
	}
	if len(digits) >= 8 {
		high, ok := eightDigits(binary.BigEndian.Uint64(digits))
		if !ok {
			return 0, false
		}
		n, digits = high, digits[8:]
	}
	for _, c := range digits {
		if !hexDigits[c] {
			return 0, false
		}
		n = n<<4 | uint64(c&0xf+9*(c>>6))
	}
	return n, true
}

// eightDigits reads eight digits, the first in the highest byte of x.
func eightDigits(x uint64) (uint64, bool) {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	letters := x & (0x40 * ones) >> 6 // 1 in each byte of a letter
	digits := x&(0x0f*ones) + 9*letters
	// A digit is 0x30 to 0x39, a letter 0x61 to 0x66: with the letter's bits 0x57 above
	// its value, both are the value plus a fixed number.
	if x != digits+0x30*ones+letters*(0x57-0x30) || (digits+0x70*ones)&high != 0 {
		return 0, false
	}
	digits = (digits | digits>>4) & 0x00ff00ff00ff00ff
	digits = (digits | digits>>8) & 0x0000ffff0000ffff
	return (digits | digits>>16) & 0xffffffff, true
}

// learn finds the words of a call.
//
//	"0xc000010000, {0x10be7a, 0xc000012345}, 0x1?"
func (c *call) learn(text []byte) {
	c.known, c.length, c.words = true, len(text), c.words[:0]
	position, depth, plain := uint8(0), 0, false
	var group [2]placedWord
	members, marked := 0, false
	for i := 0; i < len(text); {
		switch text[i] {
		case '{':
			depth++
			plain, members = depth == 1, 0
		case '}':
			depth--
			if depth == 0 && plain && members == 2 && !marked {
				w := group[1]
				w.position, w.typeBegin, w.typeEnd = position, group[0].begin, group[0].end
				c.words = append(c.words, w)
			}
			plain = false
		case ',':
			if depth == 0 && position < math.MaxUint8 {
				position++
			}
		case '0':
			if i+1 == len(text) || text[i+1] != 'x' {
				return
			}
			w := placedWord{begin: i + 2, end: i + 2, position: position}
			for w.end < len(text) && hexDigits[text[w.end]] {
				w.end++
			}
			marked = w.end < len(text) && text[w.end] == '?'
			switch {
			case w.end == w.begin:
				return
			case depth == 0 && !marked:
				c.words = append(c.words, w)
			case depth == 1 && members < 2:
				group[members] = w
				fallthrough
			default:
				members++
			}
			i = w.end - 1
		case '.', '_':
			plain = false
		case ' ', '?':
		default:
			return
		}
		i++
	}
}

// callsOf lists the frames of a block's gaps of arguments.
func callsOf(segments []segment) []call {
	var calls []call
	for _, s := range segments {
		if s.then == gapArgs {
			calls = append(calls, call{frame: uint16(min(s.frame, math.MaxUint16))})
		}
	}
	return calls
}

// textGap is where a gap of arguments stands in the text of a block.
type textGap struct{ begin, end int }
