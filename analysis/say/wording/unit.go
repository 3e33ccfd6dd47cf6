package wording

import (
	"slices"
	"strings"
)

// units stand behind a number, of time and size and shares.
var units = []string{"ms", "s", "min", "h", "d", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "%"}

// OfFigure reports a word that is the unit of the word before it: "s" and "MiB." behind a number.
func OfFigure(before, word string) bool {
	return before != "" && before[len(before)-1] >= '0' && before[len(before)-1] <= '9' && slices.Contains(units, strings.TrimRight(word, ".,:;)"))
}

// Unbroken puts hard spaces between numbers and their units: "94 ended in 6 h".
func Unbroken(text string) string {
	words := strings.Split(text, " ")
	for i := len(words) - 1; i > 0; i-- {
		if OfFigure(words[i-1], words[i]) {
			words[i-1] += hardSpace + words[i]
			words = slices.Delete(words, i, i+1)
		}
	}
	return strings.Join(words, " ")
}
