package line

import (
	"slices"
	"strings"

	"leakdiff/analysis/expression"
)

// Border finds where in a text the next point in time begins, the same way for all formats.
// Members of two such points are never added up. A point begins
//
//   - at the first line of the format, which its parser knows and calls Begin for,
//   - behind a line with nothing but a time,
//   - with one of the members with which the present point began.
//
// The zero value is ready. Members have numbers from 0; others are none to go by.
type Border struct {
	// first are the numbers of the first members of the point; bits has a bit for each, by
	// what is left of it modulo 64.
	first []int64
	bits  uint64
	some  bool // the point has members
	dated bool // a line with nothing but a time came behind them
}

// manyFirst is how many members of a point are kept to see the next one begin.
const manyFirst = 16

// Begin begins a point at the first line of its format.
func (b *Border) Begin() { *b = Border{first: b.first[:0]} }

// Pass looks at a line that is no member.
func (b *Border) Pass(text string) {
	b.dated = b.dated || b.some && IsDate(text)
}

// Within takes a line of a member: a time above it was printed into the member.
func (b *Border) Within() { b.dated = false }

// Begins reports whether a member begins another point.
func (b *Border) Begins(number int64) bool { return b.dated || b.Again(number) }

// Again reports whether the present point began with a member.
func (b *Border) Again(number int64) bool {
	return number >= 0 && b.bits>>(number%64)&1 > 0 && slices.Contains(b.first, number)
}

// Add takes a member of the present point.
func (b *Border) Add(number int64) {
	b.some = true
	if len(b.first) < manyFirst && number >= 0 {
		b.first = append(b.first, number)
		b.bits |= 1 << (number % 64)
	}
}

// IsBorder reports whether a line that is no member ends a point: a time, a prompt, or a heading.
//
//	"2026-11-21T03:00:00Z" "$ date" "--- after ---" "## t1" "=======" "node1:"   true
//	"--- FAIL: TestRun (0.01s)" "-- text"   false
func IsBorder(text string) bool {
	text = strings.TrimSpace(text)
	_, command := ReadCommand(text)
	return command || IsDate(text) || IsHeading(text)
}

// IsHeading reports a heading that names nobody, or a rule. Lines of go test and of its race detector
// look like one.
func IsHeading(text string) bool {
	return ruled.MatchString(text) && !tested.MatchString(text) && !IsDate(text)
}

var tested = expression.Lazy(`^=== (?:RUN|PAUSE|CONT|NAME) |^={18}$`)

var ruled = expression.Lazy(`^(?:={3,}|-{3,}|#{2,}|\*{3,}|_{3,})(?:$| (?:[^:]|\d:\d){1,60}$)|^(?i:before|after)(?: [\w .-]{1,40})?:$`)

// dateLine is what loops of date and a tool put above each output, and lsof -r between
// them. What time it is, is read elsewhere.
var dateLine = expression.Lazy(`^[^A-Za-z0-9]*([A-Z][a-z]{2},? [^>]{0,16})?(\d{4}[-/]\d\d[-/]\d\d[T _])?\d\d:\d\d:\d\d[^>a-z]{0,40}$`)

// IsDate reports whether a line holds nothing but a time.
//
//	"Sat Nov 21 03:00:00 UTC 2026" "=== 2026-11-21T03:00:00+00:00 ===" "03:00:00"   true
func IsDate(text string) bool { return len(text) <= 80 && dateLine.MatchString(text) }
