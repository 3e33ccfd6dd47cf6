// Package expression holds regular expressions that are compiled when they are first
// used. The program has hundreds of them, and each start of it needs few: compiled at
// start they cost megabytes and most of the time of a short command.
package expression

import (
	"regexp"
	"sync"
)

// Expression is a regular expression in the syntax of package regexp. Its methods are
// those of regexp.Regexp. It is safe for concurrent use.
type Expression struct {
	text     string
	compiled func() *regexp.Regexp
}

// Lazy returns an expression that is compiled when it is first used. The text must be a
// constant: an invalid one panics, and a test of the program compiles all of them.
func Lazy(text string) *Expression {
	return &Expression{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// String returns the text of the expression, as regexp.Regexp does.
func (e *Expression) String() string { return e.text }

func (e *Expression) Match(b []byte) bool { return e.compiled().Match(b) }

func (e *Expression) MatchString(s string) bool { return e.compiled().MatchString(s) }

func (e *Expression) Find(b []byte) []byte { return e.compiled().Find(b) }

func (e *Expression) FindIndex(b []byte) []int { return e.compiled().FindIndex(b) }

func (e *Expression) FindSubmatch(b []byte) [][]byte { return e.compiled().FindSubmatch(b) }

func (e *Expression) FindAllIndex(b []byte, n int) [][]int { return e.compiled().FindAllIndex(b, n) }

func (e *Expression) FindString(s string) string { return e.compiled().FindString(s) }

func (e *Expression) FindStringIndex(s string) []int { return e.compiled().FindStringIndex(s) }

func (e *Expression) FindStringSubmatch(s string) []string {
	return e.compiled().FindStringSubmatch(s)
}

func (e *Expression) FindStringSubmatchIndex(s string) []int {
	return e.compiled().FindStringSubmatchIndex(s)
}

func (e *Expression) FindAllString(s string, n int) []string { return e.compiled().FindAllString(s, n) }

func (e *Expression) FindAllStringIndex(s string, n int) [][]int {
	return e.compiled().FindAllStringIndex(s, n)
}

func (e *Expression) FindAllStringSubmatch(s string, n int) [][]string {
	return e.compiled().FindAllStringSubmatch(s, n)
}

func (e *Expression) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return e.compiled().FindAllStringSubmatchIndex(s, n)
}

func (e *Expression) ReplaceAllString(s, by string) string {
	return e.compiled().ReplaceAllString(s, by)
}

func (e *Expression) ReplaceAllStringFunc(s string, by func(string) string) string {
	return e.compiled().ReplaceAllStringFunc(s, by)
}

func (e *Expression) SubexpNames() []string { return e.compiled().SubexpNames() }
