package envelope

import (
	"bytes"
	"io"
)

const (
	// readSize is what one read may bring; it fits a second-level cache.
	readSize = 448 << 10
	// lookBack is how much of what was passed is kept, to go back to the lines
	// before a marker.
	lookBack = 64 << 10
	// maxLine is how long a line may be to be looked at whole. A longer one comes
	// in pieces.
	maxLine = 1 << 20
)

// window is the part of the input that is in memory: what was passed last, and
// what comes. Memory does not depend on the input.
type window struct {
	r    io.Reader
	buf  []byte
	pos  int // next byte; buf[:pos] was passed
	end  int
	base int64 // offset of buf[0] in the input
	line int64 // newlines before pos
	err  error // why reading ended, io.EOF included
	// inLine is true while the parts of a long line are returned.
	inLine bool
	given  piece
}

func newWindow(r io.Reader) *window {
	return &window{r: r, buf: make([]byte, readSize+lookBack)}
}

func (w *window) offset() int64 { return w.base + int64(w.pos) }

// fill reads once more. It drops passed bytes beyond lookBack for space, and the buffer
// grows only for lines that are longer than it.
func (w *window) fill() {
	if w.err != nil {
		return
	}
	if len(w.buf)-w.end < readSize/4 {
		if drop := w.pos - lookBack; drop > 0 {
			copy(w.buf, w.buf[drop:w.end])
			w.base += int64(drop)
			w.pos -= drop
			w.end -= drop
		}
		if len(w.buf)-w.end < readSize/4 {
			w.buf = append(w.buf, make([]byte, len(w.buf))...)
		}
	}
	for range 100 {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += max(0, min(n, len(w.buf)-w.end))
		if err != nil {
			w.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	w.err = io.ErrNoProgress
}

// pass moves forward to an index of buf.
func (w *window) pass(to int) {
	w.line += int64(bytes.Count(w.buf[w.pos:to], []byte{'\n'}))
	w.pos = to
}

// goBack moves back to an index of buf.
func (w *window) goBack(to int) {
	w.line -= int64(bytes.Count(w.buf[to:w.pos], []byte{'\n'}))
	w.pos = to
}

// piece is a line, or a part of a long one.
type piece struct {
	text []byte // without the newline
	// line and off are where text begins.
	line, off int64
	// first is true if text begins a line, last if it ends one, newline if a newline
	// ended it: the last line of a file may have none.
	first, last, newline bool
}

// next returns the next line, or part of a line, false at the end of input. It is valid
// until the next call.
func (w *window) next() (*piece, bool) {
	p := &w.given
	*p = piece{line: w.line + 1, first: !w.inLine}
	searched := 0
	for {
		if i := bytes.IndexByte(w.buf[w.pos+searched:w.end], '\n'); i >= 0 {
			i += searched
			p.off, p.text, p.last, p.newline = w.offset(), w.buf[w.pos:w.pos+i], true, true
			w.pos += i + 1
			w.line++
			w.inLine = false
			return p, true
		}
		searched = w.end - w.pos
		if w.err != nil {
			if searched == 0 && !w.inLine {
				return nil, false
			}
			p.off, p.text, p.last = w.offset(), w.buf[w.pos:w.end], true
			w.pos = w.end
			w.inLine = false
			return p, true
		}
		if searched >= maxLine || w.inLine && searched > 0 {
			p.off, p.text = w.offset(), w.buf[w.pos:w.end]
			w.pos = w.end
			w.inLine = true
			return p, true
		}
		w.fill()
	}
}

// take returns the next n bytes, whatever they are, or fewer at the end of input. n is
// at most maxLine.
func (w *window) take(n int) []byte {
	for w.end-w.pos < n && w.err == nil {
		w.fill()
	}
	n = min(n, w.end-w.pos)
	b := w.buf[w.pos : w.pos+n]
	w.pass(w.pos + n)
	return b
}

// markers finds the beginnings of dumps. It remembers the next place of each pattern,
// so that every byte is searched once for each.
type markers struct {
	patterns [][]byte
	// at is the absolute offset of the next occurrence if known is true, else of the
	// first byte that was not searched yet.
	at    []int64
	known []bool
	// clear is an offset before which no line has one, of those that marked has
	// searched.
	clear int64
}

const (
	headerWord = "goroutine "
	threadWord = "Full thread dump"
	// leakWord begins a goroutine in the report of goleak, with stateWord after its id.
	leakWord  = "Goroutine "
	stateWord = " in state "
	// threadState is below the first line of a thread.
	threadState = "java.lang.Thread.State: "
	// profileWord begins a goroutine profile in text form (debug=1).
	profileWord = "goroutine profile: total "
	beginWord   = "=== BEGIN goroutine stack dump ==="
	endWord     = "=== END goroutine stack dump ==="
	// markerSpan is within how many bytes a marker shows that it is one.
	markerSpan = 64
)

// newMarkers takes whether journald's byte arrays ([103,111,...]) may occur, and what
// else is sought.
func newMarkers(arrays bool, more ...string) *markers {
	m := &markers{patterns: [][]byte{[]byte(headerWord), []byte(threadWord), []byte(leakWord), []byte(threadState)}}
	for _, word := range more {
		m.patterns = append(m.patterns, []byte(word))
	}
	if arrays {
		// Without the first letter: a comma is found faster than one of many digits.
		m.patterns = append(m.patterns, []byte(",111,114,111,117,116,105,110,101,32,"), []byte(", 111, 114, 111, 117, 116, 105, 110, 101, 32,"))
	}
	m.at, m.known = make([]int64, len(m.patterns)), make([]bool, len(m.patterns))
	return m
}

// next is the index of the first marker in buf[from:to]; base is the offset of buf[0].
// Unless final, a marker that may be cut at the end is left for the next call. from
// never goes back before the result of an earlier call.
func (m *markers) next(buf []byte, from, to int, base int64, final bool) (int, bool) {
	best := -1
	for i := range m.patterns {
		if at := m.find(i, buf[:to], from, base, final); at >= 0 && (best < 0 || at < best) {
			best = at
		}
	}
	return best, best >= 0
}

func (m *markers) find(i int, buf []byte, from int, base int64, final bool) int {
	start := base + int64(from)
	if m.known[i] && m.at[i] >= start {
		return int(m.at[i] - base)
	}
	at := max(from, int(m.at[i]-base))
	m.known[i] = false
	for at < len(buf) {
		found := bytes.Index(buf[at:], m.patterns[i])
		if found < 0 {
			at = max(at, len(buf)-markerSpan)
			break
		}
		at += found
		if !final && len(buf)-at < markerSpan {
			break
		}
		if m.begins(i, buf, at) {
			m.known[i] = true
			break
		}
		at += len(headerWord)
	}
	m.at[i] = base + int64(at)
	if !m.known[i] {
		return -1
	}
	return at
}

// begins reports whether a pattern that was found begins a dump.
func (m *markers) begins(i int, buf []byte, at int) bool {
	switch string(m.patterns[i]) {
	case headerWord:
		return isMarker(buf, at)
	case leakWord:
		return isLeak(buf, at)
	}
	return true
}

// isLeak reports whether "Goroutine " at an index is goleak's.
//
//	"[Goroutine 7 in state select, with ..." -> true
func isLeak(buf []byte, at int) bool {
	rest := buf[at+len(leakWord):]
	digits := run(rest[:min(len(rest), 20)], isDigit)
	return digits > 0 && bytes.HasPrefix(rest[digits:], []byte(stateWord))
}

// marked reports whether a marker may begin in a piece that was just given. Every byte
// of the window is searched once for all lines in it.
func (w *window) marked(m *markers, p *piece) bool {
	end := p.off + int64(len(p.text))
	if end > m.clear {
		at, ok := m.next(w.buf, int(p.off-w.base), w.end, w.base, w.err != nil)
		if !ok {
			at = w.end
		}
		if !ok && w.err == nil {
			at -= markerSpan // the rest was not searched yet
		}
		m.clear = w.base + int64(at)
	}
	return m.clear < end
}

// isMarker reports whether "goroutine " at an index is a header's, or that of a
// BEGIN line.
//
//	"goroutine 5 [select]:"                -> true
//	"goroutine 1 gp=0xc0 m=nil [select]:"  -> true
//	"=== BEGIN goroutine stack dump ==="   -> true
//	"goroutine profile: total 81"          -> true
//	"goroutine 5 was blocked"              -> false
func isMarker(buf []byte, at int) bool {
	i := at + len(headerWord)
	digits := i
	for i < len(buf) && buf[i]-'0' < 10 && i-digits < 20 {
		i++
	}
	if i > digits {
		return bytes.HasPrefix(buf[i:], []byte(" [")) || bytes.HasPrefix(buf[i:], []byte(" gp="))
	}
	if rest, ok := bytes.CutPrefix(buf[at:], []byte(profileWord)); ok {
		// Prose goes on after the number.
		end := bytes.TrimLeft(rest, "0123456789")
		return len(end) < len(rest) && (len(end) == 0 || bytes.IndexByte([]byte("\r\n\\\"#"), end[0]) >= 0)
	}
	return bytes.HasSuffix(buf[:at], []byte("=== BEGIN ")) && bytes.HasPrefix(buf[i:], []byte("stack dump"))
}

// seek passes everything up to the next marker, false when there is none any more.
func (w *window) seek(m *markers) bool {
	for {
		if at, ok := m.next(w.buf, w.pos, w.end, w.base, w.err != nil); ok {
			w.pass(at)
			return true
		}
		if w.err != nil {
			w.pass(w.end)
			return false
		}
		w.pass(max(w.pos, w.end-markerSpan))
		w.fill()
	}
}
