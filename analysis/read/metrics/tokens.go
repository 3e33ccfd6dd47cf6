package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds that keep memory flat whatever JSON is uploaded: the longest single value
// that is read, since the decoder keeps it whole, and how deep values may lie in
// each other.
const (
	maxToken = 1 << 20
	maxDepth = 100
	// maxName is how much of a name is kept.
	maxName = 1 << 10
)

// errBounds is the error of JSON that exceeds these bounds.
var errBounds = errors.New("it exceeds what metrics may be")

// tokens reads JSON token by token.
type tokens struct {
	dec   *json.Decoder
	depth int
}

// next returns the next token; io.EOF only between two documents.
func (t *tokens) next() (json.Token, error) {
	token, err := t.dec.Token()
	switch {
	case err == io.EOF && t.depth > 0:
		err = io.ErrUnexpectedEOF
	case token == json.Delim('{'), token == json.Delim('['):
		if t.depth++; t.depth > maxDepth {
			return nil, fmt.Errorf("%w: more than %d values lie inside each other", errBounds, maxDepth)
		}
	case token == json.Delim('}'), token == json.Delim(']'):
		t.depth--
	}
	return token, err
}

// value reads one value; objects and arrays are skipped and give nil.
func (t *tokens) value() (json.Token, error) {
	token, err := t.next()
	if _, opens := token.(json.Delim); opens && err == nil {
		return nil, t.leave(t.depth - 1)
	}
	return token, err
}

// text reads a string, bounded; other values give "".
func (t *tokens) text(into *string) error {
	token, err := t.value()
	text, _ := token.(string)
	*into = text[:min(len(text), maxName)]
	return err
}

// leave skips to the end of all values above depth.
func (t *tokens) leave(depth int) error {
	for t.depth > depth {
		if _, err := t.next(); err != nil {
			return err
		}
	}
	return nil
}

// leaveOpened skips the rest of the value that a token began.
func (t *tokens) leaveOpened(token json.Token) error {
	if _, opens := token.(json.Delim); opens {
		return t.leave(t.depth - 1)
	}
	return nil
}

// members calls each for every key behind an opening brace; each reads the value.
func (t *tokens) members(each func(key string) error) error {
	for {
		token, err := t.next()
		if err != nil || token == json.Delim('}') {
			return err
		}
		key, _ := token.(string)
		if err := each(key); err != nil {
			return err
		}
	}
}

// array calls each before every element of the next value, which each must then
// read; anything but an array is skipped.
func (t *tokens) array(each func() error) error {
	token, err := t.next()
	if err != nil || token != json.Delim('[') {
		return errors.Join(err, t.leaveOpened(token))
	}
	for t.dec.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = t.next()
	return err
}

// source feeds the decoder, counts lines, and ends at a value that is too long to
// be kept.
type source struct {
	r io.Reader
	// passed is how far the decoder has got: what lies before offset and behind it
	// is in the decoder's buffer.
	passed func() int64
	offset int64
	// feeds are the offsets of line feeds that the decoder has not passed, number
	// how many it has.
	feeds  []int64
	number int64
	// err is r's, where it is not the end.
	err error
}

func (s *source) Read(p []byte) (int, error) {
	s.forget(s.passed())
	if s.offset-s.passed() > maxToken {
		return 0, fmt.Errorf("%w: a single value is longer than %d bytes", errBounds, maxToken)
	}
	n, err := s.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			s.feeds = append(s.feeds, s.offset+int64(i))
		}
	}
	s.offset += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// forget counts the line feeds before offset.
func (s *source) forget(offset int64) {
	i := 0
	for i < len(s.feeds) && s.feeds[i] < offset {
		i++
	}
	s.number += int64(i)
	s.feeds = s.feeds[i:]
}

// line is the number of the line at offset, counted from 1; offsets must not fall.
func (s *source) line(offset int64) int64 {
	s.forget(offset)
	return s.number + 1
}
