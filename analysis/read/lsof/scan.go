package lsof

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/json"
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

// find returns the member of that key, nil if the object has none. Objects have few.
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
	*json.Reader
	// visit gets each object at its end, innermost first.
	visit func(o *record) error
	skip  func(l line.Line)
	// bad gets the first error of syntax of each value.
	bad func(l line.Line, why string)
}

func newObjects(r io.Reader) *objects {
	return &objects{Reader: json.NewReader(r, json.Limits{Value: 16 << 20})}
}

// run reads to the end; the error is that of the reader or of visit.
func (s *objects) run(path string) error {
	for c, ok := s.Begin(); ok; c, ok = s.Begin() {
		if c != '{' && c != '[' {
			s.skip(s.RestOfLine(maxExample))
			continue
		}
		start := lineAt(s.Place())
		err := s.read(nil, "", 0)
		var syntax *json.SyntaxError
		var limit *json.LimitError
		switch {
		case s.Failure() != nil:
		case errors.As(err, &syntax), errors.As(err, &limit):
			s.bad(lineAt(s.Place()), err.Error())
			s.RestOfLine(0)
		case errors.Is(err, io.ErrUnexpectedEOF):
			s.bad(start, "the file ends inside a value")
		case err != nil:
			return err
		}
	}
	if err := s.Failure(); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

func lineAt(p analysis.Place) line.Line { return line.Line{Number: p.Line, Offset: p.Offset} }

// read reads one value; scalars are set in outer below key. Objects that nest
// deeper than any listing are passed over.
func (s *objects) read(outer *record, key string, depth int) error {
	switch kind := s.Peek(); {
	case (kind == '{' || kind == '[') && depth >= maxDepth, kind == 'n':
		return s.Skip()
	case kind == '{':
		return s.object(outer, key, depth)
	case kind == '[':
		return s.Array(func() error { return s.read(outer, "", depth+1) })
	}
	raw, err := s.Raw()
	if err != nil || outer == nil || key == "" {
		return err
	}
	// lsof escapes bytes below 0x20 and leaves others as they are, so that names may
	// hold any (json_puts_escaped in print.c of lsof 4.99.7).
	value := string(raw)
	if raw[0] == '"' {
		value = json.Unquote(raw)
	}
	outer.set(key, value[:min(len(value), maxText)])
	return nil
}

func (s *objects) object(outer *record, key string, depth int) error {
	o := &record{outer: outer, key: key, place: s.Place()}
	if err := s.Object(func(name string) error { return s.read(o, strings.ToLower(name), depth+1) }); err != nil {
		return err
	}
	o.place.Length = s.End().Offset - o.place.Offset
	return s.end(o)
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
