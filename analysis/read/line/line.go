// Package line cuts text of any size into lines for the parsers of listings. It
// takes a reader and returns lines of any length with the place of each, and collects
// what a parser did not understand. It keeps a bounded part of each line and a
// bounded number of problems, and does not know what any line means.
package line

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"leakdiff/analysis"
)

// Bounds that keep memory flat whatever is uploaded.
const (
	// MaxText is how much of one line is kept, in bytes; the rest is counted only.
	MaxText = 64 << 10
	// MaxProblems is the number of problems that one file may report by name.
	MaxProblems = 100
)

// Line is one line of a file.
type Line struct {
	// Text is the line without its line end, LF or CRLF.
	Text string
	// Number counts from 1; Offset and Length are bytes of the whole line without
	// its end, even if Text keeps only its beginning.
	Number, Offset, Length int64
	// Clipped is true if Text is shorter than the line. Ended is true if the line had a
	// line feed: the last line of a cut file has none.
	Clipped, Ended bool
}

// Place is where l was read.
func (l Line) Place() analysis.Place {
	return analysis.Place{Line: l.Number, Offset: l.Offset, Length: l.Length}
}

// Reader cuts a stream into lines with bounded memory.
type Reader struct {
	r      *bufio.Reader
	buf    []byte
	number int64
	offset int64
	err    error
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(&sticky{r: r}, buffered)}
}

// buffered is how much of the stream is in memory at a time, and the most that Peek
// returns.
const buffered = 32 << 10

// sticky repeats the end or failure of a stream, since bufio.Reader forgets what
// Peek met.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	n, s.err = s.r.Read(p)
	return n, s.err
}

// Next returns the next line; false at the end of the stream or its failure.
func (s *Reader) Next() (Line, bool) {
	if s.err != nil {
		return Line{}, false
	}
	total, ended := s.fill()
	if total == 0 {
		return Line{}, false
	}
	s.number++
	l := Line{Number: s.number, Offset: s.offset, Length: total, Ended: ended}
	s.offset += total
	text := s.buf
	l.Clipped = int64(len(text)) < total
	if ended {
		l.Length--
		if !l.Clipped {
			text = text[:len(text)-1]
		}
	}
	if n := len(text); n > 0 && text[n-1] == '\r' && !l.Clipped {
		text = text[:n-1]
		l.Length--
	}
	l.Text = string(text)
	return l, true
}

// All yields the lines that are left, up to the end of the stream or its failure.
func (s *Reader) All() iter.Seq[Line] { return all(s.Next) }

func all(next func() (Line, bool)) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for l, ok := next(); ok && yield(l); l, ok = next() {
		}
	}
}

// fill reads the bytes of one line into buf, as many as are kept.
func (s *Reader) fill() (total int64, ended bool) {
	s.buf = s.buf[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		total += int64(len(part))
		free := MaxText - len(s.buf)
		s.buf = append(s.buf, part[:min(free, len(part))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		s.err = err
		return total, err == nil
	}
}

// Peek returns the next n bytes and leaves them to be read by Next. It returns fewer
// at the end of the stream, and at most those that are buffered. They are valid until
// Next reads a line that is not wholly among them, or Peek is called again.
func (s *Reader) Peek(n int) []byte {
	if s.err != nil {
		return nil
	}
	b, _ := s.r.Peek(min(n, buffered))
	return b
}

// Skip passes over the first n bytes of Peek, which hold so many whole lines.
func (s *Reader) Skip(n int, lines int64) {
	s.r.Discard(n)
	s.offset += int64(n)
	s.number += lines
}

// Offset returns the number of bytes that were read.
func (s *Reader) Offset() int64 { return s.offset }

// Failure is the error that ended the stream, with the file's name; nil at its
// regular end.
func (s *Reader) Failure(path string) error {
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading %s: %w", path, s.err)
}

// Problems collects what was not understood in the file Path, bounded in number.
type Problems struct {
	Path    string
	list    []analysis.Problem
	dropped int64
}

// Add notes a problem of a line; the zero Line stands for the file as a whole.
func (p *Problems) Add(s analysis.Severity, l Line, what, why, hint string) {
	p.AddCoded("", s, l, what, why, hint)
}

// AddCoded is Add for a problem whose kind matters.
func (p *Problems) AddCoded(code analysis.ProblemCode, s analysis.Severity, l Line, what, why, hint string) {
	if len(p.list) >= MaxProblems {
		p.dropped++
		return
	}
	offset := l.Offset
	if l.Number == 0 {
		offset = -1
	}
	p.list = append(p.list, analysis.Problem{
		Path: p.Path, Line: l.Number, Offset: offset, Severity: s, Code: code,
		What: what, Why: why, Hint: hint,
	})
}

// All returns the problems, with a summary last if some were not kept.
func (p *Problems) All() []analysis.Problem {
	if p.dropped == 0 {
		return p.list
	}
	return append(p.list, analysis.Problem{
		Path: p.Path, Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("%d more problems of this file are not listed", p.dropped),
		Why:  fmt.Sprintf("only the first %d are kept", MaxProblems),
		Hint: "look at the first ones: the file is probably not what its kind says",
	})
}

// Quote shows text in a message, shortened.
//
//	"no colon" = `"no colon"`
func Quote(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}
