package filter

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds: the text in bytes, its terms, one expression in bytes, the instructions
// of all compiled expressions together, and the digits of a number. The time of a match
// grows with those instructions. A text without repetitions has about as many as it has
// letters.
const (
	MaxLength  = 1000
	maxTerms   = 64
	maxPattern = 200
	maxProgram = 1000
	maxDigits  = 64

	mostNumber, leastNumber = 1e15, 1e-6
)

// Error describes what of a filter was not understood.
type Error struct {
	// Column counts characters from 1.
	Column int
	// What was found, Want what was expected there, Hint what to write instead.
	What, Want, Hint string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("column %d: %s", e.Column, e.Said())
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Said is the error without its column and hint: "a value is missing behind func:,
// expected a word".
func (e *Error) Said() string {
	if e.Want == "" {
		return e.What
	}
	return e.What + ", expected " + e.Want
}

// Parse reads a filter. The error is an *Error. Any text that names no field and opens
// neither a quote nor an expression is valid.
func Parse(text string) (Filter, error) {
	p := &parser{text: text}
	if len(text) > MaxLength {
		return Filter{}, p.failAt(MaxLength, "the filter is too long", fmt.Sprintf("at most %d bytes", MaxLength), "filter by function or package instead of by a whole stack")
	}
	var f Filter
	for p.blanks(); !p.done(); p.blanks() {
		clause, err := p.clause()
		if err != nil {
			return Filter{}, err
		}
		f.Clauses = append(f.Clauses, clause)
	}
	return f, nil
}

type parser struct {
	text  string
	at    int
	terms int
	// instructions are those of the expressions so far.
	instructions int
}

func (p *parser) done() bool { return p.at >= len(p.text) }

func (p *parser) rest() string { return p.text[p.at:] }

// blanks skips blanks and reports whether there were any.
func (p *parser) blanks() bool {
	from := p.at
	for !p.done() {
		r, n := utf8.DecodeRuneInString(p.rest())
		if !unicode.IsSpace(r) {
			break
		}
		p.at += n
	}
	return p.at > from
}

// failAt is an error at a byte of the text.
func (p *parser) failAt(at int, what, want, hint string) error {
	return &Error{Column: utf8.RuneCountInString(p.text[:min(at, len(p.text))]) + 1, What: what, Want: want, Hint: hint}
}

// clause reads terms with | between them.
//
//	a | -func:b|c
func (p *parser) clause() (Clause, error) {
	var c Clause
	var before *Term
	for {
		if p.done() || p.rest()[0] == '|' {
			return c, p.failAt(p.at, "a term is missing beside |", "a word on both sides", `quote a | that belongs to a name: "a|b"`)
		}
		term, err := p.term(before)
		if err != nil {
			return c, err
		}
		if p.terms++; p.terms > maxTerms {
			return c, p.failAt(p.at, "the filter has too many terms", fmt.Sprintf("at most %d", maxTerms), "use an expression: /a|b|c/")
		}
		c.Terms = append(c.Terms, term)
		apart := p.blanks()
		if p.done() || p.rest()[0] != '|' {
			return c, nil
		}
		p.at++
		apart = p.blanks() || apart
		before = &c.Terms[len(c.Terms)-1]
		if apart {
			before = nil
		}
	}
}

// term reads one condition. before is the term to the left of a | without blanks. A
// bare word takes over its field.
func (p *parser) term(before *Term) (Term, error) {
	var t Term
	if p.rest()[0] == '-' {
		t.Not = true
		p.at++
		if p.ended() {
			return t, p.failAt(p.at-1, "a term is missing behind -", "what to leave out", `quote a - that is looked for: "-"`)
		}
	}
	start := p.at
	if err := p.field(&t); err != nil {
		return t, err
	}
	if t.Field == "" && before != nil && (before.Op == opContains || before.Op == opEquals) {
		t.Field, t.Op = before.Field, before.Op
	}
	if t.Op != "" && p.ended() {
		return t, p.failAt(p.at, "a value is missing behind "+p.text[start:p.at], t.Field.wants(), "")
	}
	return t, p.value(&t)
}

// ended reports whether a word cannot continue here.
func (p *parser) ended() bool {
	if p.done() {
		return true
	}
	r, _ := utf8.DecodeRuneInString(p.rest())
	return r == '|' || unicode.IsSpace(r)
}

// field reads a name and its operator, if the word begins so.
//
//	func:x   wait>=10m   ns::call (no field)   10.0.0.1:443 (no field)
func (p *parser) field(t *Term) error {
	n := 0
	for rest := p.rest(); n < len(rest) && letter(rest[n]); {
		n++
	}
	op := operator(p.rest()[n:])
	if n == 0 || op == "" {
		return nil
	}
	name := p.rest()[:n]
	field, ok := known(name)
	if !ok {
		quoted := `to look for the text itself, quote it: "` + p.word() + `"`
		if near := nearest(name); near != "" {
			return p.failAt(p.at, fmt.Sprintf("no field is called %q", name), "a field such as "+string(near), quoted)
		}
		return p.failAt(p.at, fmt.Sprintf("no field is called %q", name), names(), quoted)
	}
	if !field.numeric() && op != opContains && op != opEquals {
		return p.failAt(p.at+n, fmt.Sprintf("%s is no number and cannot be compared with %s", field, op), string(field)+":word", "")
	}
	t.Field, t.Op = field, op
	p.at += n + len(op)
	return nil
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func operator(s string) Op {
	for _, op := range []Op{opAtLeast, opAtMost, opAbove, opBelow, opEquals, opContains} {
		if strings.HasPrefix(s, string(op)) {
			if op == opContains && strings.HasPrefix(s, "::") {
				return ""
			}
			return op
		}
	}
	return ""
}

// wants words what may follow the field.
func (f Field) wants() string {
	switch {
	case f == Wait:
		return "a time such as 10m"
	case f == Growth:
		return "a rate such as 5/h"
	case f.numeric():
		return "a number"
	case f.listed() != nil:
		return "one of " + strings.Join(f.listed(), ", ")
	}
	return "a word"
}

// word is the text up to the next blank or |.
func (p *parser) word() string {
	rest := p.rest()
	if i := strings.IndexFunc(rest, func(r rune) bool { return r == '|' || unicode.IsSpace(r) }); i >= 0 {
		return rest[:i]
	}
	return rest
}

func (p *parser) value(t *Term) error {
	start := p.at
	switch end := p.closing(); {
	case p.rest()[0] == '"':
		if err := p.quoted(t); err != nil {
			return err
		}
	case end > 0:
		if err := p.pattern(t, end); err != nil {
			return err
		}
	case p.rest()[0] == '/' && strings.ContainsAny(p.word(), `*+?[]{}^$\`):
		return p.failAt(p.at, "the expression is not closed", "a / behind it", `quote a path that holds such signs: "`+p.word()+`"`)
	default:
		t.Text = p.word()
		p.at += len(t.Text)
	}
	return p.check(t, start)
}

// closing is the length of the /expression/ that begins here, or 0. It ends at the
// first slash that no word follows, so that the path /var/lib/kubelet is a word.
func (p *parser) closing() int {
	rest := p.rest()
	if rest[0] != '/' {
		return 0
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '/':
			after := parser{text: rest, at: i + 1}
			if i > 1 && after.ended() {
				return i + 1
			}
		}
	}
	return 0
}

func (p *parser) pattern(t *Term, length int) error {
	t.Text, t.Pattern = p.rest()[1:length-1], true
	if t.Field.numeric() {
		return p.failAt(p.at, string(t.Field)+" is a number", t.Field.wants(), "")
	}
	expression, size, why := compile(t.Text)
	if why != "" {
		return p.failAt(p.at, "the expression "+why, "RE2 syntax", "write a \\ before a sign that is meant as itself")
	}
	if size > maxProgram {
		return p.tooLarge("the expression is too large", size)
	}
	if p.instructions += size; p.instructions > maxProgram {
		return p.tooLarge("the expressions of the filter are too large together", p.instructions)
	}
	t.expression = expression
	p.at += length
	return nil
}

// tooLarge refuses filters that are too expensive for every family.
func (p *parser) tooLarge(what string, size int) error {
	return p.failAt(p.at, fmt.Sprintf("%s: %d instructions", what, size), fmt.Sprintf("at most %d", maxProgram), "repeat less: x{100} counts a hundred times, (x{10}){10} as well")
}

// compile is regexp.Compile with the number of instructions of the compiled expression.
// why describes an error.
func compile(text string) (expression *regexp.Regexp, size int, why string) {
	if len(text) > maxPattern {
		return nil, 0, fmt.Sprintf("is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, "is not understood (" + strings.TrimPrefix(err.Error(), "error parsing regexp: ") + ")"
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, "is not understood"
	}
	if len(program.Inst) > maxProgram {
		return nil, len(program.Inst), ""
	}
	expression, err = regexp.Compile(text)
	if err != nil {
		return nil, 0, "is not understood"
	}
	return expression, len(program.Inst), ""
}

// quoted reads "a \"b\" c".
func (p *parser) quoted(t *Term) error {
	var b strings.Builder
	rest := p.rest()
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\' && i+1 < len(rest) && (rest[i+1] == '"' || rest[i+1] == '\\'):
			i++
			b.WriteByte(rest[i])
		case c == '"':
			p.at += i + 1
			if !p.ended() {
				return p.failAt(p.at, "a word goes on behind its quote", "a blank", `write \" for a quote inside`)
			}
			t.Text = b.String()
			if t.Text == "" {
				return p.failAt(p.at-2, "the quotes are empty", t.Field.wants(), "")
			}
			return nil
		default:
			b.WriteByte(c)
		}
	}
	return p.failAt(p.at, "the quote is not closed", `a " behind it`, "")
}

// check converts the word to the type of its field.
func (p *parser) check(t *Term, start int) error {
	t.lower = strings.ToLower(t.Text)
	if t.Pattern {
		return nil
	}
	if t.Field.numeric() {
		n, ok := number(t.Field, t.Text)
		if !ok {
			return p.failAt(start, fmt.Sprintf("%q is no %s", t.Text, t.Field.noun()), t.Field.wants(), "")
		}
		t.Number, t.Text, t.lower = n, "", ""
		return nil
	}
	words := t.Field.listed()
	if words == nil {
		return nil
	}
	word, ok := oneOf(words, t.lower)
	if !ok {
		return p.failAt(start, fmt.Sprintf("no %s is called %q", t.Field, t.Text), t.Field.wants(), "")
	}
	t.Text, t.lower = word, word
	return nil
}

// oneOf finds the intended word: "Goroutines" is goroutine, "too few points"
// too_few_points.
func oneOf(words []string, said string) (string, bool) {
	said = strings.ReplaceAll(said, " ", "_")
	i := slices.IndexFunc(words, func(w string) bool { return said == w || said == w+"s" || said == w+"es" })
	if i < 0 {
		return "", false
	}
	return words[i], true
}

func (f Field) noun() string {
	switch f {
	case Wait:
		return "time"
	case Growth:
		return "rate"
	}
	return "number"
}

// number reads a number with the unit of its field: 10m and 0.5h of wait in minutes,
// 5/h and 1/m of growth per hour. These units are the default.
func number(field Field, text string) (float64, bool) {
	factor := 1.0
	switch field {
	case Wait:
		text, factor = unit(text, []measure{{"min", 1}, {"s", 1.0 / 60}, {"m", 1}, {"h", 60}, {"d", 24 * 60}})
	case Growth:
		text, factor = unit(text, []measure{{"/min", 60}, {"/s", 3600}, {"/m", 60}, {"/h", 1}, {"/d", 1.0 / 24}})
	}
	text = strings.Replace(text, "\u2212", "-", 1)
	if text == "" || len(text) > maxDigits || strings.Trim(text, "+-.0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	n *= factor
	size := math.Abs(n)
	return n, err == nil && size <= mostNumber && (size == 0 || size >= leastNumber)
}

type measure struct {
	name   string
	factor float64
}

func unit(text string, units []measure) (rest string, factor float64) {
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			return rest, u.factor
		}
	}
	return text, 1
}
