package envelope

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// shape is what the lines of one writer have in common before or behind their
// text: bytes that are the same in each line, and digits that differ. The layers
// cut a prefix by its letters, blanks and signs and by where digits stand, never by
// what these are, so that two prefixes of one shape are cut at the same place.
type shape struct {
	text []byte // as in one line, every digit that may differ as '0'
	free []bool // of each byte, whether it is such a digit
	// from and to are where in text the fraction of a second stands: RFC 3339 with
	// nanoseconds leaves zeros at its end out. Equal where there is none.
	from, to int
	// lead is what stands before the fraction by eight bytes, rest what follows it. Of
	// the last word of each not all is compared.
	lead, rest []word
	// sameLead and sameRest are these in the line that was met last: nearly all lines of
	// a dump were written within the same second.
	sameLead, sameRest literal
	// reach is up to where a line may be looked at.
	reach int
}

// word compares eight bytes at once.
type word struct {
	want uint64
	// six is 6 for each byte that may be any digit: it lifts what follows '9' out of
	// the four lower bits. strict are the bits that have to be zero.
	six, strict uint64
}

// maxFraction is how many digits a fraction has at most.
const maxFraction = 9

func (s *shape) reset() {
	s.text, s.free = s.text[:0], s.free[:0]
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

// join makes the shape that of two others and a text between them, false where the
// fractions of both may differ.
func (s *shape) join(before *shape, between []byte, behind *shape) bool {
	s.reset()
	s.text, s.free = append(s.text, before.text...), append(s.free, before.free...)
	s.fixed(between)
	s.from, s.to = before.from, before.to
	if behind.from < behind.to {
		s.from, s.to = len(s.text)+behind.from, len(s.text)+behind.to
	}
	s.text, s.free = append(s.text, behind.text...), append(s.free, behind.free...)
	return before.from == before.to || behind.from == behind.to
}

// ready ends what was added.
func (s *shape) ready() {
	if s.to < len(s.text) && isDigit(s.text[s.to]) {
		s.from = s.to // where the fraction ends cannot be told
	}
	end := s.leadEnd()
	s.lead, s.rest = s.wordsOf(s.lead[:0], 0, end), s.wordsOf(s.rest[:0], end+s.to-s.from, len(s.text))
	s.reach = len(s.text) + maxFraction + 1 + quadSize
	s.sameLead.set(s.text[:end])
	s.sameRest.set(s.text[end+s.to-s.from:])
}

// leadEnd is where the fraction begins, or the text ends that has none.
func (s *shape) leadEnd() int {
	if s.from < s.to {
		return s.from
	}
	return len(s.text)
}

func (s *shape) wordsOf(words []word, from, to int) []word {
	for at := from; at < to; at += 8 {
		var w word
		for i := range min(8, to-at) {
			w.want |= uint64(s.text[at+i]) << (8 * i)
			if s.free[at+i] {
				w.six |= 0x06 << (8 * i)
				w.strict |= 0xf0 << (8 * i)
			} else {
				w.strict |= 0xff << (8 * i)
			}
		}
		words = append(words, w)
	}
	return words
}

// match is how many bytes at the beginning of a line have the shape, false where
// they do not.
func (s *shape) match(b []byte) (int, bool) {
	if len(b) < s.reach {
		return s.slow(b)
	}
	n := s.sameLead.size
	if !s.sameLead.begins(b) {
		return s.anew(b)
	}
	if s.from == s.to {
		return n, true
	}
	fraction := digitsOf(b[n:])
	n += fraction
	if fraction == 0 || isDigit(b[n]) || !s.sameRest.begins(b[n:]) {
		return s.anew(b)
	}
	return n + s.sameRest.size, true
}

// anew is match where other digits differ from those of the line before.
func (s *shape) anew(b []byte) (int, bool) {
	if !fit(s.lead, b) {
		return 0, false
	}
	n := s.leadEnd()
	s.sameLead.set(b[:n])
	if s.from == s.to {
		return n, true
	}
	fraction := digitsOf(b[n:])
	n += fraction
	if b = b[n:]; fraction == 0 || isDigit(b[0]) || !fit(s.rest, b) {
		return 0, false
	}
	s.sameRest.set(b[:len(s.text)-s.to])
	return n + s.sameRest.size, true
}

// literal compares text with what was there before, 32 bytes at once.
type literal struct {
	whole []quad
	// last are the bytes behind those, of which mask keeps what is compared.
	last, mask quad
	size       int
}

// quad are the words of so many bytes.
type quad struct{ a, b, c, d uint64 }

const quadSize = 32

func quadOf(b *[quadSize]byte) quad {
	return quad{
		binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:16]),
		binary.LittleEndian.Uint64(b[16:24]), binary.LittleEndian.Uint64(b[24:]),
	}
}

func (l *literal) set(text []byte) {
	l.whole, l.size = l.whole[:0], len(text)
	for ; len(text) >= quadSize; text = text[quadSize:] {
		l.whole = append(l.whole, quadOf((*[quadSize]byte)(text)))
	}
	var padded, kept [quadSize]byte
	copy(padded[:], text)
	for i := range text {
		kept[i] = 0xff
	}
	l.last, l.mask = quadOf(&padded), quadOf(&kept)
}

// begins reports whether a text begins with it, of which there is a quad more.
func (l *literal) begins(b []byte) bool {
	for i := range l.whole {
		if len(b) < quadSize {
			return false
		}
		w, is := (*[quadSize]byte)(b), &l.whole[i]
		if (binary.LittleEndian.Uint64(w[:8])^is.a)|(binary.LittleEndian.Uint64(w[8:16])^is.b)|
			(binary.LittleEndian.Uint64(w[16:24])^is.c)|(binary.LittleEndian.Uint64(w[24:])^is.d) != 0 {
			return false
		}
		b = b[quadSize:]
	}
	if len(b) < quadSize {
		return false
	}
	w := (*[quadSize]byte)(b)
	return (binary.LittleEndian.Uint64(w[:8])^l.last.a)&l.mask.a|(binary.LittleEndian.Uint64(w[8:16])^l.last.b)&l.mask.b|
		(binary.LittleEndian.Uint64(w[16:24])^l.last.c)&l.mask.c|(binary.LittleEndian.Uint64(w[24:])^l.last.d)&l.mask.d == 0
}

// digitsOf is how many digits a text begins with, maxFraction where there are more.
func digitsOf(b []byte) int {
	w := binary.LittleEndian.Uint64(b) ^ 0x3030303030303030
	if others := (w | (w + 0x0606060606060606)) & 0xf0f0f0f0f0f0f0f0; others != 0 {
		return bits.TrailingZeros64(others) / 8
	}
	if isDigit(b[8]) {
		return 9
	}
	return 8
}

// fit reports whether a text begins with words, of which it has room for all.
func fit(words []word, b []byte) bool {
	for i := range words {
		w := &words[i]
		if len(b) < 8 {
			return false
		}
		d := binary.LittleEndian.Uint64(b) ^ w.want
		if (d|(d+w.six))&w.strict != 0 {
			return false
		}
		b = b[8:]
	}
	return true
}

// slow compares byte by byte.
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

// shapes learns the shape of lines from the line before, which walking took.
func (s *scanner) shapes(src *source) bool {
	t, w := &s.trotter, s.in
	t.next, t.prefixed = -1, -1
	if w.pos == 0 || w.buf[w.pos-1] != '\n' {
		return false
	}
	begin := bytes.LastIndexByte(w.buf[:w.pos-1], '\n') + 1
	line := withoutReturn(w.buf[begin : w.pos-1])
	if begin == 0 || bytes.IndexByte(line, 0x1b) >= 0 {
		return false
	}
	t.prefix.reset()
	t.suffix.reset()
	bare := bareObject(line)
	t.arrays = len(bare) > 0 && (bare[0] == '{' || bare[0] == '[')
	t.object = len(s.layers) > 0 && s.layers[0].kind == layerJSON
	t.known = &t.trees[0]
	if t.object {
		t.known = &t.trees[1]
	}
	text, ok := line, true
	switch {
	case t.object:
		text, ok = s.objectShape(line)
	case len(s.layers) > 0:
		text, ok = s.layerShape(line)
	}
	if !ok || !s.indentedBy(line) && s.sources[string(s.key)] != src {
		return false
	}
	t.logger = false
	if in := &src.open.inner; in.mode == innerEach && !t.loggerShape(in, text) {
		return false
	}
	t.prefix.ready()
	t.suffix.ready()
	t.joined = t.seam.join(&t.suffix, w.buf[begin+len(line):w.pos], &t.prefix)
	t.seam.ready()
	bare = trim(t.prefix.text)
	guessed := len(s.layers) == 0 && len(bare) > 0
	t.record = guessed && (t.arrays || bytes.HasPrefix(bare, []byte("MESSAGE=")) || s.nearby("\nMESSAGE\n"))
	t.guesses = t.guesses[:0]
	for _, kind := range prefixKinds {
		if guessed && !kind.ruledOut(t.prefix.text) {
			t.guesses = append(t.guesses, kind)
		}
	}
	return nextMarker(t.prefix.text) < 0 && nextMarker(t.suffix.text) < 0
}

// layerShape learns the prefix that the layers are.
func (s *scanner) layerShape(line []byte) (text []byte, ok bool) {
	p := &s.trotter.prefix
	if s.indentedBy(line) {
		p.fixed(line[:s.indent])
		return line[s.indent:], true
	}
	text = line
	for _, l := range s.layers {
		c, ok := l.cut(text)
		// Without a blank at its end a prefix may go on in the next line.
		if n := len(text) - len(c.text); !ok || c.partial || n == 0 || text[n-1] != ' ' {
			return nil, false
		} else if m := len(c.stamp); m > 0 {
			at := cap(text) - cap(c.stamp)
			p.fixed(text[:at])
			p.stamp(text[at : at+m])
			p.fixed(text[at+m : n])
		} else {
			p.fixed(text[:n])
		}
		text = c.text
	}
	return text, true
}

// indentedBy reports whether a line continues a message of journald.
func (s *scanner) indentedBy(line []byte) bool {
	return len(s.layers) > 0 && s.layers[0].kind == layerSyslog && s.indent > 0 && len(line) >= s.indent &&
		run(line[:s.indent], func(c byte) bool { return c == ' ' }) == s.indent
}

// loggerShape adds the prefix of the program's own logger, or the indentation.
func (t *trotter) loggerShape(in *inner, text []byte) bool {
	rest, ok := in.cut(text)
	n := len(text) - len(rest)
	if !ok || n == 0 || !isBlank(text[n-1]) || t.object && bytes.ContainsAny(text[:n], `"\`) {
		return false
	}
	t.logger = len(trim(text[:n])) > 0
	t.prefix.stamp(text[:n])
	return true
}

// objectShape learns what stands round the text in a JSON object.
//
//	`{"log":"main.main()\n","stream":"stderr","time":"2026-11-21T02:58:36.123Z"}`
//	prefix `{"log":"`, text `main.main()`, suffix `\n","stream":"stderr","time":"0000-00-00T00:00:00.000Z"}`
func (s *scanner) objectShape(line []byte) (text []byte, ok bool) {
	t, l := &s.trotter, s.layers[0]
	to, from, found := &t.prefix, 0, 0
	whole := eachMember(line, func(key, value []byte) {
		at := cap(line) - cap(value)
		switch {
		case string(key) == l.key && len(value) >= 2 && value[0] == '"':
			found++
			text = value[1 : len(value)-1]
			to.fixed(line[from : at+1])
			to, from = &t.suffix, at+len(value)-1
			if t.ended = bytes.HasSuffix(text, []byte(`\n`)); t.ended {
				text, from = text[:len(text)-2], from-2
			}
		case isTimeKey(key):
			to.fixed(line[from:at])
			to.stamp(value)
			from = at + len(value)
		}
	})
	t.suffix.fixed(line[from:])
	text = bytes.TrimPrefix(text, []byte(`\t`))
	return text, whole && found == 1 && (t.ended || !l.newlines) && bytes.IndexByte(text, '\\') < 0
}

// isTimeKey knows the members of which record.set takes a time and nothing else.
func isTimeKey(key []byte) bool {
	switch string(key) {
	case "time", "ts", "timestamp", "@timestamp":
		return true
	}
	return false
}
