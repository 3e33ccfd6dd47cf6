package envelope

import (
	"bytes"
	"encoding/binary"
)

// shape is what the lines of one writer have in common before or behind their
// text: bytes that are the same in each line, and digits that differ. The layers
// cut a prefix by its letters, blanks and signs and by where digits stand, never by
// what these are, so that two prefixes of one shape are cut at the same place.
type shape struct {
	text []byte // as in one line, every digit that may differ as '0'
	free []bool // of each byte, whether it is such a digit
	// words is text by eight bytes; the last word overlaps the one before.
	words []word
	// from and to are where in text the fraction of a second stands: RFC 3339 with
	// nanoseconds leaves zeros at its end out. Equal where there is none.
	from, to int
}

// word compares eight bytes at once.
type word struct {
	at   int
	want uint64
	// six is 6 for each byte that may be any digit: it lifts what follows '9' out of
	// the four lower bits. strict are the bits that have to be zero.
	six, strict uint64
}

// maxFraction is how many digits a fraction has at most.
const maxFraction = 9

func (s *shape) reset() {
	s.text, s.free, s.words = s.text[:0], s.free[:0], s.words[:0]
	s.from, s.to = 0, 0
}

// fixed adds bytes that are the same in every line.
func (s *shape) fixed(b []byte) {
	s.text = append(s.text, b...)
	for range b {
		s.free = append(s.free, false)
	}
}

// stamp adds a text whose digits may differ, and of whose first fraction the
// length may.
func (s *shape) stamp(b []byte) {
	begin := len(s.text)
	for _, c := range b {
		digit := isDigit(c)
		if digit {
			c = '0'
		}
		s.text, s.free = append(s.text, c), append(s.free, digit)
	}
	if s.to > 0 || len(b) == 0 || b[0] == '[' {
		return // what stands in brackets has a length that cutBracketed minds
	}
	if i := bytes.Index(s.text[begin:], []byte(":00.")); i >= 0 {
		s.from = begin + i + len(":00.")
		s.to = s.from + run(b[i+len(":00."):], isDigit)
	}
}

// ready ends what was added.
func (s *shape) ready() {
	for at := 0; at < len(s.text); at += 8 {
		if at+8 > len(s.text) {
			at = max(0, len(s.text)-8)
		}
		w := word{at: at}
		for i := range min(8, len(s.text)-at) {
			w.want |= uint64(s.text[at+i]) << (8 * i)
			if s.free[at+i] {
				w.six |= 0x06 << (8 * i)
				w.strict |= 0xf0 << (8 * i)
			} else {
				w.strict |= 0xff << (8 * i)
			}
		}
		s.words = append(s.words, w)
	}
}

// match is how many bytes at the beginning of a line have the shape, false where
// they do not.
func (s *shape) match(b []byte) (int, bool) {
	if len(b) < max(8, len(s.text)) {
		return s.slow(b)
	}
	for i := range s.words {
		w := &s.words[i]
		d := binary.LittleEndian.Uint64(b[w.at:]) ^ w.want
		if (d|(d+w.six))&w.strict != 0 {
			return s.slow(b)
		}
	}
	// A longer fraction goes on where this one ends, unless something else follows.
	if s.to == len(s.text) && s.to > s.from {
		return s.slow(b)
	}
	return len(s.text), true
}

// slow compares byte by byte, and lets the fraction have another length.
func (s *shape) slow(b []byte) (int, bool) {
	i := 0
	for j := 0; j < len(s.text); {
		if j == s.from && s.to > s.from {
			n := run(b[i:], isDigit)
			if n == 0 || n > maxFraction {
				return 0, false
			}
			i, j = i+n, s.to
			continue
		}
		if i == len(b) || s.free[j] && !isDigit(b[i]) || !s.free[j] && b[i] != s.text[j] {
			return 0, false
		}
		i++
		j++
	}
	return i, true
}
