// Package json reads JSON of any size for the parsers of formats. It takes a reader and
// returns tokens, members and elements one after another, with the place of each,
// within limits that keep memory flat. If the text breaks off, everything whole before
// the break has been returned. Names may be repeated and strings need not be UTF-8. It
// does not know what the values mean.
package json

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"leakdiff/analysis"
)

// Limits keep memory flat whatever is uploaded.
type Limits struct {
	// Value is how many bytes of one string, number, run of blanks or raw value are
	// read: each is in memory as a whole.
	Value int
	// Depth is the number of values that may lie inside each other, at most and by default
	// 10,000.
	Depth int
}

// SyntaxError explains why a text is no JSON. Its words are those of encoding/json.
type SyntaxError struct{ Why string }

func (e *SyntaxError) Error() string { return e.Why }

// LimitError names the limit that a text exceeds.
type LimitError struct{ Why string }

func (e *LimitError) Error() string { return e.Why }

// Reader reads JSON values one after another.
type Reader struct {
	in     source
	dec    *jsontext.Decoder
	limits Limits
	// base is the offset at which dec began, broken that of its last error of syntax.
	base, broken int64
}

// NewReader returns a Reader of r. The head of an HTTP response before the first value, as
// curl -i prints it, is passed over.
func NewReader(r io.Reader, limits Limits) *Reader {
	out := &Reader{in: newSource(r), dec: new(jsontext.Decoder), limits: limits}
	out.in.full = func() error {
		if out.in.offset-out.offset() > int64(limits.Value) {
			return &LimitError{fmt.Sprintf("a single value is longer than %d bytes", limits.Value)}
		}
		return nil
	}
	out.in.skipResponse()
	out.begin(out.in.offset)
	return out
}

// begin starts a decoder at an offset whose bytes the source still has.
func (r *Reader) begin(offset int64) {
	r.base = r.in.unread(offset)
	r.dec.Reset(&r.in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Next reads the next token, which is valid until the next call. Its Kind is one of
// {}[]"0tfn, where 0 stands for any number. The error is io.EOF between two values,
// io.ErrUnexpectedEOF inside of one, a *SyntaxError, a *LimitError, or that of the
// stream.
func (r *Reader) Next() (jsontext.Token, error) {
	t, err := r.dec.ReadToken()
	if err != nil {
		return t, r.failed(err)
	}
	if most := r.limits.Depth; most > 0 && r.dec.StackDepth() > most {
		return t, &LimitError{fmt.Sprintf("more than %d values lie inside each other", most)}
	}
	return t, nil
}

// Peek returns the kind of the next token, 0 if Next will return an error.
func (r *Reader) Peek() jsontext.Kind { return r.dec.PeekKind() }

// Raw reads the next value as it is written. It is valid until the next call.
func (r *Reader) Raw() ([]byte, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.failed(err)
	}
	return raw, nil
}

// Skip passes over the next value.
func (r *Reader) Skip() error {
	for depth := r.dec.StackDepth(); ; {
		if _, err := r.Next(); err != nil || r.dec.StackDepth() <= depth {
			return err
		}
	}
}

// Object calls each for every member of the next value; each must read the member's
// value. Anything but an object is passed over.
func (r *Reader) Object(each func(name string) error) error {
	if r.Peek() != '{' {
		return r.Skip()
	}
	if _, err := r.Next(); err != nil {
		return err
	}
	for {
		t, err := r.Next()
		if err != nil || t.Kind() == '}' {
			return err
		}
		if err := each(t.String()); err != nil {
			return err
		}
	}
}

// Array calls each for every element of the next value; each must read the element.
// Anything but an array is passed over.
func (r *Reader) Array(each func() error) error {
	if r.Peek() != '[' {
		return r.Skip()
	}
	if _, err := r.Next(); err != nil {
		return err
	}
	for kind := r.Peek(); kind != ']' && kind != 0; kind = r.Peek() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := r.Next()
	return err
}

// Text reads a string; it passes over any other value and returns "". Bytes that are
// no UTF-8 become U+FFFD.
func (r *Reader) Text() (string, error) {
	if r.Peek() != '"' {
		return "", r.Skip()
	}
	t, err := r.Next()
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// Place returns where the next token begins, or where one was expected.
func (r *Reader) Place() analysis.Place {
	r.dec.PeekKind() // reads what stands before it
	before := " \t\r\n"
	if r.dec.StackDepth() > 0 {
		before += ":,"
	}
	unread := r.dec.UnreadBuffer()
	return r.place(unread, bytes.TrimLeft(unread, before))
}

// End returns the place after the last token.
func (r *Reader) End() analysis.Place {
	unread := r.dec.UnreadBuffer()
	return r.place(unread, unread)
}

// place returns where the last part of what dec has not read yet begins.
func (r *Reader) place(unread, part []byte) analysis.Place {
	return analysis.Place{
		Line:   r.in.feeds - int64(bytes.Count(part, []byte{'\n'})) + 1,
		Offset: r.offset() + int64(len(unread)-len(part)),
	}
}

// offset is that of the end of the last token.
func (r *Reader) offset() int64 { return r.base + r.dec.InputOffset() }

// Failure is the error of the stream, nil if it has none but its end.
func (r *Reader) Failure() error { return r.in.failure }

// Bytes is how much of the stream was read.
func (r *Reader) Bytes() int64 { return r.in.offset }

// words are the differences between jsontext and encoding/json.
var words = strings.NewReplacer(
	"object name", "object key",
	"at start of value", "looking for beginning of value",
	"at start of string", "looking for beginning of object key string",
	"after object value", "after object key:value pair",
	"in number", "in numeric literal",
)

// failed returns an error of dec as one of those that Next names.
func (r *Reader) failed(err error) error {
	var syntax *jsontext.SyntacticError
	var limit *LimitError
	switch {
	case errors.As(err, &limit):
		r.broken = r.in.offset
		return limit
	case !errors.As(err, &syntax):
		if r.in.failure != nil {
			return r.in.failure
		}
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	}
	r.broken = r.base + syntax.ByteOffset
	why := syntax.Err.Error()
	if i := strings.Index(why, " (expecting"); i >= 0 && !strings.Contains(why, " in literal") {
		why = why[:i]
	}
	return &SyntaxError{words.Replace(why)}
}

// Unquote returns the text of a raw string. It keeps bytes that are no UTF-8, as they
// stand in names of files.
//
//	`"a\u00e9\n\xff"`   "aé", a line feed, the byte ff
func Unquote(raw []byte) string {
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var out []byte
	for len(text) > 0 {
		n := validPrefix(text)
		// Only a lone half of a surrogate pair is an error here; it becomes U+FFFD.
		out, _ = jsontext.AppendUnquote(out, `"`+string(text[:n])+`"`)
		if text = text[n:]; len(text) > 0 {
			out, text = append(out, text[0]), text[1:]
		}
	}
	return string(out)
}

// validPrefix is how many bytes of a text are UTF-8.
func validPrefix(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	for n := 0; ; {
		c, size := utf8.DecodeRune(text[n:])
		if c == utf8.RuneError && size <= 1 {
			return n
		}
		n += size
	}
}
