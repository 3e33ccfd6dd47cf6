// Package wording owns the words that all outputs share: numbers, plurals, durations,
// clocks, kinds and lists. It takes values and returns text. It knows neither the
// meaning of a value nor where the text goes. Text has plain blanks. Functions for
// pages are marked as such and return hard blanks, with digits in groups.
package wording

import (
	"strconv"
	"strings"

	"leakdiff/analysis"
)

const (
	thinSpace = "\u202f"
	hardSpace = "\u00a0"
	minus     = "\u2212"
)

// TraceCommand is the strace that shows all that opens and closes descriptors, without what it
// traces. The set %desc lacks sockets and close_range, which old versions do not know.
const TraceCommand = "strace -f -y -k -ttt -e 'trace=%desc,%process,%network,?close_range'"

// Plural writes a number with its noun: "1 entry", "3 entries".
func Plural(n int, one, many string) string {
	return strconv.Itoa(n) + " " + Fit(n, one, many)
}

// Fit returns the form of a word that fits a number, without the number: "header" or
// "headers", "was" or "were".
func Fit(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// PagePlural is Plural for pages: "15 470 files".
func PagePlural(n int64, one, many string) string {
	if n == 1 {
		return "1" + hardSpace + one
	}
	return Exact(n) + hardSpace + many
}

// Kinds is the plural of a kind of member: "goroutines", "watches".
func Kinds(k analysis.Kind) string {
	switch k {
	case analysis.KindWatch:
		return "watches"
	case analysis.KindHandle:
		return "sockets or pipes"
	case analysis.KindChild:
		return "child processes"
	}
	return string(k) + "s"
}

// Members writes a number of members of one kind: "1 goroutine", "3 watches".
func Members(k analysis.Kind, n int) string { return Plural(n, string(k), Kinds(k)) }

// Capital begins a text with a capital letter. The text begins with an ASCII letter.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Clause is a sentence without its full stop, to be followed by others.
func Clause(sentence string) string { return strings.TrimSuffix(sentence, ".") }

// Lower begins a text with a small letter. The text begins with an ASCII letter or is
// empty.
func Lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// List joins words: "a, b and c", or "a, b and 4 more" if there are more than most.
func List(words []string, most int) string {
	if len(words) > most {
		return Commas(words, most)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Ors lists words of which none holds: "goroutines, descriptors or watches".
func Ors(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Ands joins names that may hold commas: "a and b and c".
func Ands(names []string) string { return strings.Join(names, " and ") }

// Commas joins words as data: "t1, t2, t3", or "t1, t2 and 4 more".
func Commas(words []string, most int) string {
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:most], ", ") + " and " + strconv.Itoa(len(words)-most) + " more"
}
