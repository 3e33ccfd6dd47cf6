package json

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// source feeds a decoder and counts bytes and lines. The bytes that it handed over
// last can be taken back.
type source struct {
	r *bufio.Reader
	// full returns an error if the decoder already holds too much.
	full func() error
	// handed is how many bytes of r's buffer were handed over last.
	handed int
	// offset and feeds count the bytes and line feeds that were handed over.
	offset, feeds int64
	// end is the end of the stream or its failure.
	end, failure error
}

func newSource(r io.Reader) source { return source{r: bufio.NewReaderSize(r, 32<<10)} }

func (s *source) Read(p []byte) (int, error) {
	if err := s.full(); err != nil {
		return 0, err
	}
	next := s.peek()
	if len(next) == 0 {
		return 0, s.end
	}
	s.handed = copy(p, next)
	s.count(next[:s.handed], 1)
	return s.handed, nil
}

// peek returns the bytes to be handed over next, none at the end of the stream.
func (s *source) peek() []byte {
	_, _ = s.r.Discard(s.handed) // they are in the buffer
	s.handed = 0
	if s.end != nil {
		return nil
	}
	if _, s.end = s.r.Peek(1); s.end != nil && !errors.Is(s.end, io.EOF) {
		s.failure = s.end
	}
	next, _ := s.r.Peek(s.r.Buffered())
	return next
}

// responseHead is the most that the status line and the headers of a response take.
const responseHead = 16 << 10

// skipResponse passes over what curl -i prints before the body: the heads of one response
// or several, each from its status line to a blank line.
func (s *source) skipResponse() {
	for {
		head, _ := s.r.Peek(len("HTTP/"))
		if string(head) != "HTTP/" {
			return
		}
		head, _ = s.r.Peek(responseHead)
		end := blankLine.FindIndex(head)
		if end == nil {
			return
		}
		s.count(head[:end[1]], 1)
		_, _ = s.r.Discard(end[1])
	}
}

var blankLine = expression.Lazy(`\r?\n\r?\n`)

// skip passes over bytes that peek returned.
func (s *source) skip(b []byte) {
	s.handed = len(b)
	s.count(b, 1)
}

func (s *source) count(b []byte, sign int64) {
	s.offset += sign * int64(len(b))
	s.feeds += sign * int64(bytes.Count(b, []byte{'\n'}))
}

// unread takes back the bytes handed over after an offset, or those of them that are
// still in memory, and returns the new offset.
func (s *source) unread(offset int64) int64 {
	handed, _ := s.r.Peek(s.handed)
	n := min(max(int(s.offset-offset), 0), len(handed))
	s.count(handed[len(handed)-n:], -1)
	s.handed -= n
	return s.offset
}

// between are the bytes that may stand between two values: those of the byte order mark
// may come in two reads.
const between = " \t\r\n,\xef\xbb\xbf"

// Begin passes over blanks, commas and byte order marks between two values and returns
// the next byte; false at the end of the stream.
func (r *Reader) Begin() (byte, bool) {
	if kind := r.Peek(); kind == '{' || kind == '[' {
		return byte(kind), true
	}
	r.in.unread(r.offset())
	for {
		next := r.in.peek()
		n := 0
		for n < len(next) && strings.IndexByte(between, next[n]) >= 0 {
			n++
		}
		r.in.skip(next[:n])
		switch {
		case n < len(next):
			r.broken = r.in.offset
			r.begin(r.in.offset)
			return next[n], true
		case n == 0:
			return 0, false
		}
	}
}

// RestOfLine passes over the rest of a line that is no JSON, from the byte that Begin
// returned or that broke a value. It returns at most keep bytes of the text.
func (r *Reader) RestOfLine(keep int) line.Line {
	r.begin(r.broken)
	l := line.Line{Number: r.End().Line, Offset: r.base}
	var text []byte
	for !l.Ended {
		next := r.in.peek()
		if len(next) == 0 {
			break
		}
		part, _, ended := bytes.Cut(next, []byte{'\n'})
		text = append(text, part[:min(len(part), keep-len(text))]...)
		l.Length += int64(len(part))
		l.Ended = ended
		if ended {
			part = next[:len(part)+1]
		}
		r.in.skip(part)
	}
	r.begin(r.in.offset)
	l.Text = string(bytes.TrimRight(text, "\r"))
	return l
}
