package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"leakdiff/analysis"
)

// Bounds that keep memory flat whatever is uploaded.
const (
	// maxLine is how much of one line is kept; the rest is counted only.
	maxLine = 64 << 10
	// maxProblems is how many problems one file may report by name.
	maxProblems = 100
)

// line is one line of a file, without its line end.
type line struct {
	text string
	// number counts from 1; offset and length are bytes of the whole line, also
	// where text keeps only its beginning.
	number, offset, length int64
	// clipped says that text is shorter than the line; ended, that the line had a
	// line feed (the last line of a cut file has none).
	clipped, ended bool
}

// lineReader cuts a stream into lines of any length with bounded memory.
type lineReader struct {
	r      *bufio.Reader
	buf    []byte
	number int64
	offset int64
	err    error
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// next returns the next line; false at the end of the stream or its failure.
func (s *lineReader) next() (line, bool) {
	if s.err != nil {
		return line{}, false
	}
	var total int64
	var ended bool
	s.buf = s.buf[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		total += int64(len(part))
		room := maxLine - len(s.buf)
		s.buf = append(s.buf, part[:min(room, len(part))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		s.err, ended = err, err == nil
		break
	}
	if total == 0 {
		return line{}, false
	}
	s.number++
	l := line{number: s.number, offset: s.offset, length: total, ended: ended}
	s.offset += total
	text := s.buf
	l.clipped = int64(len(text)) < total
	if ended {
		l.length--
		if !l.clipped {
			text = text[:len(text)-1]
		}
	}
	if n := len(text); n > 0 && text[n-1] == '\r' && !l.clipped {
		text = text[:n-1]
		l.length--
	}
	l.text = string(text)
	return l, true
}

// failure is why the stream ended, nil where that was its regular end.
func (s *lineReader) failure(path string) error {
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading %s: %w", path, s.err)
}

// problems collects what was not understood in one file, bounded in number.
type problems struct {
	path    string
	list    []analysis.Problem
	dropped int64
}

func (p *problems) add(s analysis.Severity, l line, what, why, hint string) {
	if len(p.list) >= maxProblems {
		p.dropped++
		return
	}
	offset := l.offset
	if l.number == 0 {
		offset = -1
	}
	p.list = append(p.list, analysis.Problem{
		Path: p.path, Line: l.number, Offset: offset, Severity: s,
		What: what, Why: why, Hint: hint,
	})
}

// all returns the problems, with a summary last where some were not kept.
func (p *problems) all() []analysis.Problem {
	if p.dropped == 0 {
		return p.list
	}
	return append(p.list, analysis.Problem{
		Path: p.path, Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("%d more problems of this file are not listed", p.dropped),
		Why:  fmt.Sprintf("only the first %d are kept", maxProblems),
		Hint: "look at the first ones: the file is probably not what its kind says",
	})
}

// quote shows text in a message, shortened.
func quote(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}
