package filter

import (
	"strconv"
	"strings"
	"unicode"
)

// String writes the filter so that Parse reads it back unchanged, each term with its
// field, and numbers in minutes and per hour.
//
//	kind:goroutine|thread wait>1h → "kind:goroutine|kind:thread wait>60m"
func (f Filter) String() string {
	var b strings.Builder
	for i, c := range f.Clauses {
		if i > 0 {
			b.WriteByte(' ')
		}
		for k := range c.Terms {
			t := &c.Terms[k]
			if k > 0 {
				b.WriteString(between(&c.Terms[k-1], t))
			}
			t.write(&b)
		}
	}
	return b.String()
}

// Is is the text of a filter for a value of a field of text: `label="tenant=a b"`.
func Is(field Field, value string) string {
	var b strings.Builder
	(&Term{Field: field, Op: opEquals, Text: value}).write(&b)
	return b.String()
}

// between keeps a bare word from taking over the field to its left.
func between(before, t *Term) string {
	if t.Field == "" && before.Field != "" {
		return " | "
	}
	return "|"
}

func (t *Term) write(b *strings.Builder) {
	if t.Not {
		b.WriteByte('-')
	}
	b.WriteString(string(t.Field))
	b.WriteString(string(t.Op))
	switch {
	case t.Field.numeric():
		b.WriteString(strconv.FormatFloat(t.Number, 'f', -1, 64))
		switch t.Field {
		case Wait:
			b.WriteByte('m')
		case Growth:
			b.WriteString("/h")
		}
	case t.Pattern:
		b.WriteString("/" + t.Text + "/")
	case t.needsQuotes():
		b.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(t.Text) + `"`)
	default:
		b.WriteString(t.Text)
	}
}

// needsQuotes reports a word that Parse would not read as one word.
func (t *Term) needsQuotes() bool {
	if t.Text == "" || strings.ContainsFunc(t.Text, func(r rune) bool { return r == '|' || unicode.IsSpace(r) }) {
		return true
	}
	if t.Text[0] == '"' || t.Text[0] == '/' || t.Op == opContains && t.Text[0] == ':' {
		return true
	}
	if t.Field != "" {
		return false
	}
	n := 0
	for n < len(t.Text) && letter(t.Text[n]) {
		n++
	}
	return t.Text[0] == '-' || n > 0 && operator(t.Text[n:]) != ""
}
