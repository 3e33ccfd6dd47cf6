// Package filter is the language in which pages and the command line select families:
// `func:prober wait>10m delta>0 -pkg:net/http /re/ a|b`. It takes the text of a filter
// and returns a value that tests one family at a time. For a text that it does not
// understand, it returns the column, what it expected and what to write instead. It
// knows neither pages nor reports: a Row answers what is known of a family.
//
// Blanks mean and, | means or, - before a term means not and binds closest. A word
// without a field is searched in functions, creator, title and attributes, ignoring
// case. "..." is one word with blanks, /.../ an RE2 expression. In func:a|b without
// blanks, b is searched in func as well.
package filter

import (
	"regexp"
	"slices"
	"strings"
)

// Filter is an understood text. The zero value lets everything pass.
type Filter struct {
	// Clauses must all hold.
	Clauses []Clause
}

// Clause holds if one of its terms does.
type Clause struct {
	Terms []Term
}

// Op is how a term compares.
type Op string

// Contains is equality for fields that are numbers or words of a list.
const (
	opContains Op = ":"
	opEquals   Op = "="
	opAbove    Op = ">"
	opAtLeast  Op = ">="
	opBelow    Op = "<"
	opAtMost   Op = "<="
)

// Term is one condition.
type Term struct {
	Not bool
	// Field is empty for a word that is searched in all names.
	Field Field
	// Op is empty if Field is.
	Op Op
	// Text is the word, or the expression if Pattern is set. It is empty for numbers.
	Text    string
	Pattern bool
	// Number is in minutes for wait and per hour for growth.
	Number float64

	expression *regexp.Regexp
	// lower is Text in lower case.
	lower string
}

// Row answers what is known of one family. An unknown field has no value, and no term
// about it holds.
type Row interface {
	// Words are the values of a text field. For the field "" they are the names that a
	// bare word is searched in.
	Words(Field) []string
	// Numbers are the values of a field of numbers.
	Numbers(Field) []float64
}

// Empty reports whether the filter lets everything pass.
func (f Filter) Empty() bool { return len(f.Clauses) == 0 }

// Uses reports whether the filter asks for a field.
func (f Filter) Uses(field Field) bool {
	return slices.ContainsFunc(f.Clauses, func(c Clause) bool {
		return slices.ContainsFunc(c.Terms, func(t Term) bool { return t.Field == field })
	})
}

// Match reports whether a family passes.
func (f Filter) Match(row Row) bool {
	for i := range f.Clauses {
		if !f.Clauses[i].holds(row) {
			return false
		}
	}
	return true
}

func (c *Clause) holds(row Row) bool {
	for i := range c.Terms {
		if t := &c.Terms[i]; t.holds(row) != t.Not {
			return true
		}
	}
	return false
}

func (t *Term) holds(row Row) bool {
	if t.Field.numeric() {
		return slices.ContainsFunc(row.Numbers(t.Field), t.compares)
	}
	return slices.ContainsFunc(row.Words(t.Field), t.says)
}

func (t *Term) compares(n float64) bool {
	switch t.Op {
	case opAbove:
		return n > t.Number
	case opAtLeast:
		return n >= t.Number
	case opBelow:
		return n < t.Number
	case opAtMost:
		return n <= t.Number
	}
	return n == t.Number
}

func (t *Term) says(value string) bool {
	switch {
	case t.Pattern:
		return t.expression != nil && t.expression.MatchString(value)
	case t.Op == opEquals:
		return strings.EqualFold(value, t.Text)
	case t.Field == Pkg:
		return within(value, t.Text)
	case t.Field.listed() != nil:
		return strings.EqualFold(value, t.Text)
	}
	return containsFold(value, t.lower)
}

// within reports whether a package path is the wanted one, lies below it, or ends
// with it.
//
//	within("k8s.io/kubernetes/pkg/kubelet/prober", "kubelet") = true
//	within("golang.org/x/net/http2", "net/http") = false
func within(path, wanted string) bool {
	wanted = strings.Trim(wanted, "/")
	for at := 0; ; {
		i := strings.Index(path[at:], wanted)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(wanted)
		if (from == 0 || path[from-1] == '/') && (to == len(path) || path[to] == '/' || path[to] == '.') {
			return true
		}
		if at = from + 1; at > len(path) {
			return false
		}
	}
}

// containsFold reports whether s contains a text that is in lower case. Names are
// nearly always ASCII, and then nothing is allocated.
func containsFold(s, lower string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Contains(strings.ToLower(s), lower)
		}
	}
	for at := 0; at+len(lower) <= len(s); at++ {
		n := 0
		for n < len(lower) && lowered(s[at+n]) == lower[n] {
			n++
		}
		if n == len(lower) {
			return true
		}
	}
	return false
}

func lowered(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
