package nodereport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Bounds that keep memory flat whatever is uploaded.
const (
	// maxToken is the longest string, number or run of blanks that is read: the
	// decoder keeps each whole. An environment variable of Linux has 128 KiB at most.
	maxToken = 1 << 20
	// maxDepth is how deep values may lie in each other; a report with workers
	// reaches 8.
	maxDepth = 200
	// maxText is how much of a string is kept.
	maxText = 4 << 10
)

// errShape says that a document is no JSON that can be read within the bounds.
type errShape struct{ why string }

func (e errShape) Error() string { return e.why }

// stream reads a JSON document token by token.
type stream struct {
	in    *source
	dec   *json.Decoder
	depth int
}

func newStream(r io.Reader) *stream {
	s := &stream{in: &source{r: r}}
	s.dec = json.NewDecoder(s.in)
	s.dec.UseNumber()
	s.in.passed = s.dec.InputOffset
	return s
}

// next returns the next token. io.ErrUnexpectedEOF says that the document is cut.
func (s *stream) next() (json.Token, error) {
	t, err := s.dec.Token()
	if err == io.EOF && s.depth > 0 {
		err = io.ErrUnexpectedEOF
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		err = errShape{syntax.Error()}
	}
	switch t {
	case json.Delim('{'), json.Delim('['):
		s.depth++
		if s.depth > maxDepth {
			return nil, errShape{fmt.Sprintf("more than %d values lie inside each other", maxDepth)}
		}
	case json.Delim('}'), json.Delim(']'):
		s.depth--
	}
	return t, err
}

// value reads one value; objects and arrays are skipped and give nil.
func (s *stream) value() (json.Token, error) {
	t, err := s.next()
	if _, opens := t.(json.Delim); opens && err == nil {
		return nil, s.leave(s.depth - 1)
	}
	return t, err
}

// leave skips to the end of all values above depth.
func (s *stream) leave(depth int) error {
	for s.depth > depth {
		if _, err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

// object calls each for every key of the next value, which must then read the
// key's value; anything but an object is skipped.
func (s *stream) object(each func(key string) error) error {
	t, err := s.next()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return s.members(each)
	case json.Delim('['):
		return s.leave(s.depth - 1)
	}
	return nil
}

// members is object behind the opening brace.
func (s *stream) members(each func(key string) error) error {
	for {
		t, err := s.next()
		if err != nil || t == json.Delim('}') {
			return err
		}
		key, _ := t.(string)
		if err := each(key); err != nil {
			return err
		}
	}
}

// array calls each before every element of the next value, which each must then
// read; anything but an array is skipped.
func (s *stream) array(each func() error) error {
	t, err := s.next()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return s.leave(s.depth - 1)
	case json.Delim('['):
	default:
		return nil
	}
	for s.dec.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = s.next()
	return err
}

// text reads a string, bounded; other values give "".
func (s *stream) text(into *string) error {
	t, err := s.value()
	if text, ok := t.(string); ok {
		*into = clip(text)
	}
	return err
}

// number reads a number, written as one or as a string ("1795229838391"), or
// "unlimited"; other values leave into as it is.
func (s *stream) number(into *int64) error {
	t, err := s.value()
	var text string
	switch v := t.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	}
	if text == "unlimited" {
		*into = Unlimited
		return err
	}
	if n, bad := strconv.ParseInt(text, 10, 64); bad == nil {
		*into = n
	}
	return err
}

// flag reads a boolean; other values leave into as it is.
func (s *stream) flag(into *bool) error {
	t, err := s.value()
	if v, ok := t.(bool); ok {
		*into = v
	}
	return err
}

// place is the line and offset of the byte before the decoder: that of a brace
// right behind it.
func (s *stream) place() (line, offset int64) {
	offset = max(s.dec.InputOffset()-1, 0)
	return s.in.line(offset), offset
}

// clip bounds a kept string.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return text[:maxText] + "…"
}

// source feeds the decoder, counts lines, and ends at a token that is too long to
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
		return 0, errShape{fmt.Sprintf("a single value is longer than %d bytes", maxToken)}
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
