package envelope

import (
	"bytes"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// headerSpan is within how many bytes a header ends: labels may be long.
	headerSpan = 4 << 10
	// stringSpan is how far before the first header the beginning of its string is
	// looked for: what comes before is a BEGIN line or the crash's first lines.
	stringSpan = 4 << 10
	// maxPlain is how much of a line inside a string is kept.
	maxPlain = 256 << 10
)

// unescaper takes one level of escaping off a stream. Its zero value but for the
// quote stands at the beginning of a string.
type unescaper struct {
	quote byte
	// slash is true after a backslash; want is how many hexadecimal digits still follow
	// it.
	slash bool
	want  int
	code  rune
	wide  bool // code is a character, not a byte
	high  rune // first half of a surrogate pair
	one   [utf8.UTFMax]byte
}

// feed decodes b, whose bytes are at at, at+step, ... in the artifact, and passes the
// text to emit in runs. It stops after the closing quote (ended), or when emit returns
// false, and returns how many bytes it took.
func (u *unescaper) feed(b []byte, at, step int64, emit func(text []byte, at, step int64) bool) (n int, ended bool) {
	for n < len(b) {
		if u.slash {
			more := u.escaped(b[n], at+int64(n)*step, emit)
			n++
			if !more {
				return n, false
			}
			continue
		}
		run := len(b) - n
		if i := bytes.IndexByte(b[n:], '\\'); i >= 0 {
			run = i
		}
		if i := bytes.IndexByte(b[n:n+run], u.quote); i >= 0 {
			if i > 0 {
				emit(b[n:n+i], at+int64(n)*step, step)
			}
			return n + i + 1, true
		}
		if run > 0 && !emit(b[n:n+run], at+int64(n)*step, step) {
			return n + run, false
		}
		n += run
		if n < len(b) {
			u.slash = true
			n++
		}
	}
	return n, false
}

// escaped takes one byte after a backslash.
func (u *unescaper) escaped(c byte, at int64, emit func([]byte, int64, int64) bool) bool {
	if u.want > 0 {
		return u.digit(c, at, emit)
	}
	switch c {
	case 'u':
		u.want, u.code, u.wide = 4, 0, true
		return true
	case 'U':
		u.want, u.code, u.wide = 8, 0, true
		return true
	case 'x':
		u.want, u.code, u.wide = 2, 0, false
		return true
	}
	u.slash = false
	return emit(u.one[:copy(u.one[:], unescaped(c))], at, 0)
}

func (u *unescaper) digit(c byte, at int64, emit func([]byte, int64, int64) bool) bool {
	v, err := strconv.ParseUint(string(rune(c)), 16, 8)
	if err != nil {
		u.slash, u.want = false, 0
		u.one[0] = c
		return emit(u.one[:1], at, 0)
	}
	u.code = u.code<<4 | rune(v)
	if u.want--; u.want > 0 {
		return true
	}
	u.slash = false
	if !u.wide {
		u.one[0] = byte(u.code)
		return emit(u.one[:1], at, 0)
	}
	if utf16.IsSurrogate(u.code) && u.high == 0 {
		u.high = u.code
		return true
	}
	if u.high != 0 {
		u.code, u.high = utf16.DecodeRune(u.high, u.code), 0
	}
	return emit(u.one[:utf8.EncodeRune(u.one[:], u.code)], at, 0)
}

// escapeRun decodes one string, through as many levels as it was escaped.
type escapeRun struct {
	levels []unescaper
	// line is the plain line being collected, and place where it begins.
	line   []byte
	begun  bool
	place  place
	done   bool
	active bool
	// split is true if the last fragment ended its line without ending the string, as
	// journald and syslog daemons split long lines.
	split bool
}

func (r *escapeRun) start(depth int, quote byte) {
	*r = escapeRun{levels: make([]unescaper, depth), line: r.line[:0], active: true}
	for i := range r.levels {
		r.levels[i].quote = '"'
	}
	r.levels[depth-1].quote = quote
}

// feed decodes a fragment and emits each plain line that ends in it. It returns how
// many bytes belong to the string, and whether it ended.
func (r *escapeRun) feed(b []byte, at place, line func(b []byte, at place)) (n int, ended bool) {
	step := int64(0)
	if at.exact {
		step = 1
	}
	n, ended = r.level(0, b, at.text, step, at.line, line)
	return n, ended || r.done
}

func (r *escapeRun) level(i int, b []byte, at, step, num int64, line func([]byte, place)) (n int, ended bool) {
	return r.levels[i].feed(b, at, step, func(text []byte, at, step int64) bool {
		if i+1 < len(r.levels) {
			_, ended := r.level(i+1, text, at, step, num, line)
			r.done = r.done || ended
			return !r.done
		}
		r.plain(text, at, step, num, line)
		return true
	})
}

// plain cuts decoded text into lines.
func (r *escapeRun) plain(text []byte, at, step, num int64, line func([]byte, place)) {
	for {
		if !r.begun {
			r.begun, r.place = true, place{line: num, off: at, text: at}
		}
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			r.line = append(r.line, text[:min(len(text), max(0, maxPlain-len(r.line)))]...)
			return
		}
		r.line = append(r.line, text[:min(i, max(0, maxPlain-len(r.line)))]...)
		line(r.line, r.place)
		r.line, r.begun = r.line[:0], false
		text, at = text[i+1:], at+int64(i+1)*step
		if len(text) == 0 {
			return
		}
	}
}

// escapedMarker finds the first marker of a dump whose line end is escaped, and how
// deep.
//
//	`msg="goroutine 1 [running]:\nmain.main()`         5, 1
//	`"log":"msg=\"goroutine 1 [running]:\\nmain.main`  13, 2
func escapedMarker(b []byte, from int) (at, depth int, ok bool) {
	for at = from; ; at++ {
		i := nextMarker(b[at:])
		if i < 0 {
			return 0, 0, false
		}
		at += i
		if depth := escapedEnd(b[at:min(len(b), at+headerSpan)]); depth > 0 {
			return at, depth, true
		}
	}
}

// nextMarker is the index of the first marker, -1 if there is none. It looks at some
// KiB at a time, so that it never searches a line of nothing but markers of one kind to
// its end for the other kind each time.
func nextMarker(b []byte) int {
	for low := 0; low < len(b); low += headerSpan {
		block := b[low:min(len(b), low+headerSpan+markerSpan)]
		best := bytes.Index(block, []byte(threadWord))
		for at := 0; ; at += len(headerWord) {
			i := bytes.Index(block[at:], []byte(headerWord))
			if i < 0 || best >= 0 && at+i > best {
				break
			}
			at += i
			if isMarker(b, low+at) {
				best = at
				break
			}
		}
		if best >= 0 {
			return low + best
		}
	}
	return -1
}

// escapedEnd returns how deep the newline after a marker is escaped, 0 if it is not:
// level n shows 2^(n-1) backslashes before the letter.
func escapedEnd(b []byte) int {
	for i := 0; i < len(b); {
		j := bytes.IndexByte(b[i:], '\\')
		if j < 0 {
			return 0
		}
		i += j
		slashes := 1
		for i+slashes < len(b) && b[i+slashes] == '\\' {
			slashes++
		}
		next := i + slashes
		// Quotes of labels are escaped as well; they do not end the line.
		if next < len(b) && (b[next] == 'n' || b[next] == 'r') && bits.OnesCount(uint(slashes)) == 1 && (i > 0 && (b[i-1] == ':' || b[i-1] == '=' || b[0] == 'F')) {
			return bits.Len(uint(slashes))
		}
		i = next + 1
	}
	return 0
}

// stringStart is the beginning of the string that holds the marker at an index, and the
// quote that will end it. If the quote is too far away it is the beginning of a line
// inside the string.
func stringStart(b []byte, marker, depth int) (start int, quote byte) {
	low := max(0, marker-stringSpan)
	slashes := 1<<(depth-1) - 1
	for i := marker - 1; i >= low; i-- {
		if b[i] != '"' {
			continue
		}
		n := 0
		for i-1-n >= 0 && b[i-1-n] == '\\' {
			n++
		}
		if n == slashes {
			return i + 1, '"'
		}
	}
	if i := bytes.LastIndexByte(b[low:marker], '\''); i >= 0 && (low+i == 0 || bytes.IndexByte([]byte(" =b([,:{"), b[low+i-1]) >= 0) {
		return low + i + 1, '\''
	}
	newline := append(bytes.Repeat([]byte(`\`), 1<<(depth-1)), 'n')
	if i := bytes.Index(b[low:marker], newline); i >= 0 && low > 0 {
		return low + i + len(newline), '"'
	}
	return marker, '"'
}
