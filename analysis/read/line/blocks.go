package line

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
)

// Blocks cuts a stream into the same lines as Reader, for listings of many short
// ones: the Text of a line shares the memory of the lines around it, so that a line
// costs no allocation. What is kept of a line must be cloned (strings.Clone), or it
// keeps up to MaxText bytes of its neighbours.
type Blocks struct {
	r   io.Reader
	buf *[MaxText]byte
	// held is how much of buf was read and is in no block yet.
	held int
	// text is what is left of the block.
	text   string
	number int64
	offset int64
	err    error
}

// buffers are used again: most captures are many small files.
var buffers = sync.Pool{New: func() any { return new([MaxText]byte) }}

// NewBlocks returns Blocks of r.
func NewBlocks(r io.Reader) *Blocks { return &Blocks{r: r} }

// next returns the next line; false at the end of the stream or its failure.
func (s *Blocks) next() (Line, bool) {
	at := strings.IndexByte(s.text, '\n')
	if at < 0 {
		if s.text == "" && s.err == nil {
			return s.fill()
		}
		at = len(s.text) - 1
	}
	if at < 0 {
		return Line{}, false
	}
	l := s.line(s.text[:at+1], int64(at+1))
	s.text = s.text[at+1:]
	return l, true
}

// All yields the lines that are left, up to the end of the stream or its failure.
func (s *Blocks) All() iter.Seq[Line] { return all(s.next) }

// line numbers a line of total bytes, of which it keeps text.
func (s *Blocks) line(text string, total int64) Line {
	s.number++
	l := Line{Number: s.number, Offset: s.offset, Length: total, Clipped: int64(len(text)) < total}
	s.offset += total
	last := len(text) - 1
	if !l.Clipped && text[last] == '\n' {
		l.Ended, text = true, text[:last]
		l.Length--
		last--
	}
	if last >= 0 && text[last] == '\r' && !l.Clipped {
		text = text[:last]
		l.Length--
	}
	l.Text = text
	return l
}

// fill reads a block of whole lines, or the last of the stream, and returns its
// first line.
func (s *Blocks) fill() (Line, bool) {
	if s.buf == nil {
		s.buf = buffers.Get().(*[MaxText]byte)
	}
	s.read()
	end := s.held
	if s.err == nil {
		if end = bytes.LastIndexByte(s.buf[:s.held], '\n') + 1; end == 0 {
			return s.long()
		}
	}
	s.text = string(s.buf[:end])
	s.held = copy(s.buf[:], s.buf[end:s.held])
	if s.err != nil {
		buffers.Put(s.buf)
		s.buf = nil
	}
	return s.next()
}

// read fills the buffer until the stream ends.
func (s *Blocks) read() {
	for empty := 0; s.held < MaxText && s.err == nil; empty++ {
		n, err := s.r.Read(s.buf[s.held:])
		s.held, s.err = s.held+n, err
		if n > 0 {
			empty = 0
		}
		if empty == 100 && err == nil {
			s.err = io.ErrNoProgress
		}
	}
}

// long passes over the rest of a line that fills the buffer.
func (s *Blocks) long() (Line, bool) {
	text := string(s.buf[:])
	total, ended := int64(MaxText), false
	s.held = 0
	for !ended && s.err == nil {
		s.read()
		rest := s.buf[:s.held]
		if at := bytes.IndexByte(rest, '\n'); at >= 0 {
			rest, ended = rest[:at+1], true
		}
		total += int64(len(rest))
		s.held = copy(s.buf[:], s.buf[len(rest):s.held])
	}
	if s.err != nil {
		s.text = string(s.buf[:s.held])
		buffers.Put(s.buf)
		s.buf = nil
	}
	l := s.line(text, total)
	if ended {
		l.Ended = true
		l.Length--
	}
	return l, true
}

// Offset returns the number of bytes that were cut into lines.
func (s *Blocks) Offset() int64 { return s.offset }

// Failure is the error that ended the stream, with the file's name; nil at its
// regular end.
func (s *Blocks) Failure(path string) error {
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading %s: %w", path, s.err)
}
