package knowledge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// node is a JSON value with its position in the text.
type node struct {
	// start and end are the value's bytes.
	start, end int
	// value is nil, bool, string or json.Number; nil for objects and arrays.
	value  any
	kind   string // object, array, string, number, boolean, null
	keys   []string
	fields map[string]*node
	items  []*node
}

// deepest bounds nesting; catalogue files need eight levels.
const deepest = 32

// parseTree reads one JSON value with nothing after it. The error comes with its
// offset.
func parseTree(text []byte) (*node, int, error) {
	if !utf8.Valid(text) {
		return nil, 0, fmt.Errorf("the text is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := readNode(d, text, 0)
	if err != nil {
		return nil, errorOffset(d, err), err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, int(d.InputOffset()), fmt.Errorf("there is more text behind the end of the object")
	}
	return n, 0, nil
}

func errorOffset(d *json.Decoder, err error) int {
	if s, ok := err.(*json.SyntaxError); ok {
		return int(s.Offset)
	}
	return int(d.InputOffset())
}

func readNode(d *json.Decoder, text []byte, depth int) (*node, error) {
	if depth > deepest {
		return nil, fmt.Errorf("values are nested deeper than %d levels", deepest)
	}
	token, err := d.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	n := &node{end: int(d.InputOffset())}
	switch t := token.(type) {
	case json.Delim:
		n.start = n.end - 1
		if err := n.readInside(d, text, t, depth); err != nil {
			return nil, err
		}
		n.end = int(d.InputOffset())
		return n, nil
	case string:
		n.kind, n.value = "string", t
	case json.Number:
		n.kind, n.value = "number", t
	case bool:
		n.kind, n.value = "boolean", t
	default:
		n.kind = "null"
	}
	n.start = n.end
	return n, nil
}

func (n *node) readInside(d *json.Decoder, text []byte, open json.Delim, depth int) error {
	n.kind = "array"
	if open == '{' {
		n.kind, n.fields = "object", map[string]*node{}
	}
	for d.More() {
		key := ""
		if n.fields != nil {
			token, err := d.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
		}
		inner, err := readNode(d, text, depth+1)
		if err != nil {
			return err
		}
		if n.fields == nil {
			n.items = append(n.items, inner)
			continue
		}
		if n.fields[key] == nil {
			n.keys = append(n.keys, key)
		}
		n.fields[key] = inner
	}
	_, err := d.Token()
	return err
}

// lineAt counts from 1.
func lineAt(text []byte, offset int) int64 {
	return 1 + int64(bytes.Count(text[:min(offset, len(text))], []byte("\n")))
}

// named names an item of a list by its id, key or name if it has one.
func (n *node) named() string {
	for _, field := range []string{"id", "key", "name"} {
		if inner := n.fields[field]; inner != nil && inner.kind == "string" {
			return inner.value.(string)
		}
	}
	return ""
}

// brief is a value for a message, shortened.
func (n *node) brief() string {
	switch n.kind {
	case "string":
		s := n.value.(string)
		if utf8.RuneCountInString(s) > 60 {
			s = string([]rune(s)[:60]) + "…"
		}
		return `"` + s + `"`
	case "object", "array":
		return "an " + n.kind
	case "null":
		return "null"
	}
	return strings.TrimSpace(fmt.Sprint(n.value))
}
