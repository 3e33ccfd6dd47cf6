package goroutine

import (
	"bytes"
	"io"
	"sync"
)

const (
	// bufferSize is what one read may bring; it must exceed maxLine.
	bufferSize = 128 << 10
	// maxLine is how much of a line is kept. Real lines have below 2 KiB: the
	// runtime prints at most ten arguments of a call.
	maxLine = 64 << 10
	// maxRetained leaves space for a line. The runtime prints at most 100 frames, which have
	// some 100 bytes each.
	maxRetained = 32 << 10
)

// lineReader cuts a stream into lines inside one reused buffer. A line is valid
// until the next call of next. Memory does not depend on the input.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int   // the unread bytes are buf[start:end]
	base       int64 // offset of buf[0] in the input
	err        error // why reading ended, io.EOF included
	kept       []byte
	// retained is the index in buf of the first byte before start that is still wanted,
	// below 0 if no such byte is. Up to maxRetained bytes stay in buf together with the
	// unread ones. Of more, the first maxRetained are saved; savedAt is their offset.
	retained int
	saved    []byte
	savedAt  int64

	// About the line that next returned: its number from 1, its offset, whether a
	// newline ended it, and how many bytes beyond maxLine were left out.
	num     int64
	off     int64
	ended   bool
	dropped int64
}

// lineBuffers are used again: an archive may hold thousands of small dumps, and a
// buffer is many times larger than one of them.
var lineBuffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: r, buf: lineBuffers.Get().(*[bufferSize]byte)[:], ended: true, retained: -1, savedAt: -1}
}

// close releases the buffer; no line is valid after it.
func (l *lineReader) close() {
	lineBuffers.Put((*[bufferSize]byte)(l.buf))
	l.buf, l.start, l.end = nil, 0, 0
}

// next returns the next line without its newline, false at the end of input.
func (l *lineReader) next() ([]byte, bool) {
	i := bytes.IndexByte(l.buf[l.start:l.end], '\n')
	if uint(i) > maxLine {
		return l.refill()
	}
	line := l.buf[l.start : l.start+i]
	l.num++
	l.off = l.base + int64(l.start)
	l.start += i + 1
	l.dropped = 0
	l.ended = true
	return line, true
}

// pos is the offset of the byte after the line that next returned.
func (l *lineReader) pos() int64 { return l.base + int64(l.start) }

// failed returns the error of the reader, nil at an ordinary end.
func (l *lineReader) failed() error {
	if l.err == io.EOF {
		return nil
	}
	return l.err
}

// refill is next if the buffer holds no complete line of bearable length.
func (l *lineReader) refill() ([]byte, bool) {
	scanned := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			if scanned+i > maxLine {
				return l.long()
			}
			return l.next()
		}
		scanned = l.end - l.start
		if scanned > maxLine {
			return l.long()
		}
		if l.err != nil {
			return l.last()
		}
		l.fill()
	}
}

// last returns what stands after the last newline.
func (l *lineReader) last() ([]byte, bool) {
	if l.start == l.end {
		return nil, false
	}
	line := l.buf[l.start:l.end]
	l.num++
	l.off = l.pos()
	l.start = l.end
	l.dropped = 0
	l.ended = false
	return line, true
}

// long keeps the beginning of a line and skips its rest.
func (l *lineReader) long() ([]byte, bool) {
	l.num++
	l.off = l.pos()
	l.kept = append(l.kept[:0], l.buf[l.start:l.start+maxLine]...)
	l.start += maxLine
	l.dropped = 0
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.dropped += int64(i)
			l.start += i + 1
			l.ended = true
			return l.kept, true
		}
		l.dropped += int64(l.end - l.start)
		l.start = l.end
		if l.err != nil {
			l.ended = false
			return l.kept, true
		}
		l.fill()
	}
}

// ensure tries to have n unread bytes in the buffer, by one read at most.
func (l *lineReader) ensure(n int) {
	if l.end-l.start >= n || l.err != nil {
		return
	}
	l.compact()
	l.fill()
}

// retain keeps what is read from here on, up to the next retain.
func (l *lineReader) retain() { l.retained = l.start }

// between is what was read between two offsets, nil if that is not kept.
func (l *lineReader) between(from, to int64) []byte {
	switch {
	case from > to:
	case from >= l.base:
		return l.buf[from-l.base : to-l.base]
	case from == l.savedAt && to-from <= int64(len(l.saved)):
		return l.saved[:to-from]
	}
	return nil
}

// compact moves the unread bytes to the beginning of the buffer.
func (l *lineReader) compact() {
	from := l.start
	switch {
	case l.retained < 0:
	case l.start-l.retained <= maxRetained:
		from = l.retained
	default:
		l.saved, l.savedAt = append(l.saved[:0], l.buf[l.retained:l.retained+maxRetained]...), l.base+int64(l.retained)
	}
	copy(l.buf, l.buf[from:l.end])
	l.base += int64(from)
	l.start, l.end, l.retained = l.start-from, l.end-from, max(l.retained-from, -1)
}

// minFree is the least free space that is worth a read. What was read stays before
// it, so that the last block of a text is whole in the buffer at the end of the text.
const minFree = 4 << 10

// fill reads once more after the unread bytes. It compacts the buffer first when no
// space is left.
func (l *lineReader) fill() {
	if l.end == len(l.buf) || l.start == l.end && len(l.buf)-l.end < minFree {
		l.compact()
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += max(0, min(n, len(l.buf)-l.end))
		if err != nil {
			l.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.err = io.ErrNoProgress
}
