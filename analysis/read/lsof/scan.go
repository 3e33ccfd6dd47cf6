package lsof

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Bounds of JSON listings.
const (
	// maxText is how much of one string is kept; names are at most a few KiB.
	maxText = 16 << 10
	// maxDepth is how deep objects may nest and still be read; lsof and lsfd need 4.
	maxDepth = 16
	// maxMembers is how many members of one object are kept.
	maxMembers = 64
)

// record is a JSON object with scalar members, as text. Members of the objects
// around it are below, nearest first; those of objects inside it are joined to it
// with their key before a dot ("tcp_info.state").
type record struct {
	members []member
	outer   *record
	place   analysis.Place
	// key is the member that holds the object, "" in arrays and at the top.
	key string
}

type member struct{ key, value string }

// find gives the member of that key, nil where there is none. Objects have few.
func (r *record) find(key string) *member {
	for i := range r.members {
		if r.members[i].key == key {
			return &r.members[i]
		}
	}
	return nil
}

// value is the text of the first of several keys that the object or one around it
// has; null counts as absent.
func (r *record) value(keys ...string) string {
	for _, key := range keys {
		for at := r; at != nil; at = at.outer {
			if m := at.find(key); m != nil {
				return m.value
			}
		}
	}
	return ""
}

// has reports whether the object itself has a member.
func (r *record) has(key string) bool { return r.find(key) != nil }

func (r *record) set(key, value string) {
	if len(r.members) < maxMembers && r.find(key) == nil {
		r.members = append(r.members, member{key, value})
	}
}

// objects reads JSON values of any size one after another, without ever holding
// more than one chain of nested objects. Text between the values, such as warnings,
// goes to skip line by line.
type objects struct {
	r    *bufio.Reader
	err  error
	at   int64 // bytes read
	row  int64 // line of the next byte
	text []byte
	// visit gets each object at its end, innermost first; top says that nothing
	// stands around it.
	visit func(o *record) error
	skip  func(l line.Line)
	// bad gets the first error of syntax of each value.
	bad func(l line.Line, why string)
}

func newObjects(r io.Reader) *objects {
	return &objects{r: bufio.NewReaderSize(r, 32<<10), row: 1}
}

// run reads to the end; the error is that of the reader or of visit.
func (s *objects) run(path string) error {
	for {
		c, ok := s.peekSolid()
		if !ok {
			break
		}
		if c != '{' && c != '[' {
			s.skip(s.restOfLine())
			continue
		}
		start := line.Line{Number: s.row, Offset: s.at, Text: string(c)}
		err := s.read(nil, "", 0)
		var syntax *syntaxError
		switch {
		case errors.As(err, &syntax):
			start.Number, start.Offset = s.row, s.at
			s.bad(start, syntax.why)
			s.restOfLine()
		case err != nil && s.err == nil:
			return err
		case errors.Is(s.err, io.EOF) && err != nil:
			s.bad(start, "the file ends inside a value")
		}
	}
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading %s: %w", path, s.err)
}

// syntaxError says what stands where JSON has something else.
type syntaxError struct{ why string }

func (e *syntaxError) Error() string { return e.why }

// next reads one byte.
func (s *objects) next() (byte, bool) {
	if s.err != nil {
		return 0, false
	}
	c, err := s.r.ReadByte()
	if err != nil {
		s.err = err
		return 0, false
	}
	s.at++
	if c == '\n' {
		s.row++
	}
	return c, true
}

// peekSolid passes over blanks and commas and shows the next byte.
func (s *objects) peekSolid() (byte, bool) {
	for {
		c, ok := s.next()
		if !ok {
			return 0, false
		}
		if strings.IndexByte(" \t\r\n,", c) < 0 && c != 0xef && c != 0xbb && c != 0xbf { // the byte order mark
			s.back(c)
			return c, true
		}
	}
}

// back takes the last byte back.
func (s *objects) back(c byte) {
	_ = s.r.UnreadByte() // a byte was just read
	s.at--
	if c == '\n' {
		s.row--
	}
}

// restOfLine passes over a line and returns its beginning.
func (s *objects) restOfLine() line.Line {
	l := line.Line{Number: s.row, Offset: s.at}
	var text []byte
	for {
		c, ok := s.next()
		if !ok || c == '\n' {
			l.Ended = ok
			break
		}
		l.Length++
		if len(text) < maxExample {
			text = append(text, c)
		}
	}
	l.Text = strings.TrimRight(string(text), "\r")
	return l
}

// read reads one value; scalars are set in outer below key. Objects that nest
// deeper than any listing are passed over.
func (s *objects) read(outer *record, key string, depth int) error {
	c, ok := s.peekSolid()
	if !ok {
		return io.ErrUnexpectedEOF
	}
	switch {
	case (c == '{' || c == '[') && depth >= maxDepth:
		return s.passOver()
	case c == '{':
		return s.object(outer, key, depth)
	case c == '[':
		return s.array(outer, depth)
	}
	v, null, err := s.scalar()
	if err != nil {
		return err
	}
	if outer != nil && key != "" && !null {
		outer.set(key, v)
	}
	return nil
}

func (s *objects) object(outer *record, key string, depth int) error {
	o := &record{outer: outer, key: key, place: analysis.Place{Line: s.row, Offset: s.at}}
	s.next() // the brace
	for {
		c, ok := s.peekSolid()
		switch {
		case !ok:
			return io.ErrUnexpectedEOF
		case c == '}':
			s.next()
			o.place.Length = s.at - o.place.Offset
			return s.end(o)
		case c != '"':
			return &syntaxError{strconv.Quote(string(c)) + " stands where a key begins"}
		}
		name, err := s.quoted()
		if err != nil {
			return err
		}
		if c, ok = s.peekSolid(); !ok {
			return io.ErrUnexpectedEOF
		}
		if c != ':' {
			return &syntaxError{strconv.Quote(string(c)) + " stands where a colon belongs"}
		}
		s.next()
		if err := s.read(o, strings.ToLower(name), depth+1); err != nil {
			return err
		}
	}
}

// end hands an object over. One that is a member of another is a part of that.
func (s *objects) end(o *record) error {
	if o.outer != nil && o.key != "" {
		for _, m := range o.members {
			o.outer.set(o.key+"."+m.key, m.value)
		}
		return nil
	}
	return s.visit(o)
}

func (s *objects) array(outer *record, depth int) error {
	s.next() // the bracket
	for {
		c, ok := s.peekSolid()
		if !ok {
			return io.ErrUnexpectedEOF
		}
		if c == ']' {
			s.next()
			return nil
		}
		if err := s.read(outer, "", depth+1); err != nil {
			return err
		}
	}
}

// passOver skips a value by counting brackets.
func (s *objects) passOver() error {
	depth := 0
	for {
		c, ok := s.next()
		if !ok {
			return io.ErrUnexpectedEOF
		}
		switch c {
		case '"':
			s.back(c)
			if _, err := s.quoted(); err != nil {
				return err
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return nil
			}
		}
	}
}

// scalar reads a string, a number or a word.
//
//	`"a\"b"` = `a"b`   "314882" = "314882"   "null" = "", null
func (s *objects) scalar() (v string, null bool, err error) {
	c, _ := s.next()
	s.back(c)
	if c == '"' {
		v, err = s.quoted()
		return v, false, err
	}
	s.text = s.text[:0]
	for {
		c, ok := s.next()
		if !ok {
			return "", false, io.ErrUnexpectedEOF
		}
		letter := c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter {
			s.back(c)
			break
		}
		if len(s.text) < maxText {
			s.text = append(s.text, c)
		}
	}
	if len(s.text) == 0 {
		return "", false, &syntaxError{strconv.Quote(string(c)) + " stands where a value begins"}
	}
	v = string(s.text)
	return v, v == "null", nil
}

// quoted reads a string. lsof escapes bytes below 0x20 and leaves others as they
// are, so that names may hold any (json_puts_escaped in print.c of lsof 4.99.7).
func (s *objects) quoted() (string, error) {
	s.next() // the quote
	s.text = s.text[:0]
	for {
		c, ok := s.next()
		switch {
		case !ok:
			return "", io.ErrUnexpectedEOF
		case c == '"':
			return string(s.text), nil
		case c == '\n':
			s.back(c)
			return "", &syntaxError{"a line ends inside a string"}
		case c == '\\':
			if err := s.escape(); err != nil {
				return "", err
			}
		case len(s.text) < maxText:
			s.text = append(s.text, c)
		}
	}
}

// escape reads what follows a backslash. Halves of surrogate pairs are not joined:
// neither program writes any.
func (s *objects) escape() error {
	c, ok := s.next()
	if !ok {
		return io.ErrUnexpectedEOF
	}
	i := strings.IndexByte(`bfnrt"\/`, c)
	switch {
	case len(s.text) >= maxText:
	case i >= 0:
		s.text = append(s.text, "\b\f\n\r\t\"\\/"[i])
	case c != 'u':
		return &syntaxError{strconv.Quote(string(c)) + " stands behind a backslash"}
	}
	if c != 'u' {
		return nil
	}
	var digits [4]byte
	for i := range digits {
		if digits[i], ok = s.next(); !ok {
			return io.ErrUnexpectedEOF
		}
	}
	v, err := strconv.ParseUint(string(digits[:]), 16, 32)
	if err != nil {
		return &syntaxError{strconv.Quote(string(digits[:])) + " is no number of a character"}
	}
	if len(s.text) < maxText {
		s.text = utf8.AppendRune(s.text, rune(v))
	}
	return nil
}
