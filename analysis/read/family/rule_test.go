package family

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/samples/corpus"
)

// TestEachRuleIsTriedOnEveryNameThatItChanges puts names together of what the rules
// look for, with pieces lost and doubled.
func TestEachRuleIsTriedOnEveryNameThatItChanges(t *testing.T) {
	corpus.Heavy(t) // twenty names, as a short run draws, do not meet every rule
	pieces := []string{"0", "17", "255", "3f", "a", ".", "-", ":", "::", "[", "]", "#", "0x", "@", " ", "pool", "[fe80::1]:80",
		"01234567-89ab-cdef-0123-456789abcdef", "10.0.0.1", "10.0.0.1:8080", "@1b2c3", "0xdeadbeef"}
	changed := make([]int, len(nameRules))
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		for i, r := range nameRules {
			if r.find.MatchString(name) {
				changed[i]++
				if !r.may(name) {
					t.Fatalf("%v changes %q and is not tried", r.find, name)
				}
			}
		}
	})
	for i, n := range changed {
		if n == 0 {
			t.Errorf("no name has what %v looks for", nameRules[i].find)
		}
	}
}

// slowCutNumbers goes by runes and writes each.
func slowCutNumbers(name string) string {
	var out strings.Builder
	runes := []rune(name)
	digit := func(i int) bool { return i >= 0 && i < len(runes) && '0' <= runes[i] && runes[i] <= '9' }
	for i, c := range runes {
		switch {
		case digit(i) && digit(i-1):
		case digit(i):
			out.WriteByte('N')
		case c == '-' && digit(i+1) && (i == 0 || !joins(runes[i-1])):
		default:
			out.WriteRune(c)
		}
	}
	return out.String()
}

func TestNumbersAreCutAsRuneByRune(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.SampledFrom([]rune("0179--- ).]>aN\u00e9\u0663\u65e5#"))).Draw(t, "name")
		if got, want := cutNumbers(name), slowCutNumbers(name); got != want {
			t.Fatalf("%q: %q, want %q", name, got, want)
		}
	})
}
