package wording

import "testing"

func TestANumberStaysWithItsUnit(t *testing.T) {
	for text, want := range map[string]string{
		"97 new, 94 ended in 6 h.":              "97 new, 94 ended in 6\u00a0h.",
		"grew in 5 h 19 min, and no more":       "grew in 5\u00a0h 19\u00a0min, and no more",
		"from 33 to 141 MiB: 30 of the 108 MiB": "from 33 to 141\u00a0MiB: 30 of the 108\u00a0MiB",
		"(63 %)":                                "(63\u00a0%)",
		"4 goroutines in 2 dumps":               "4 goroutines in 2 dumps",
		"12  s":                                 "12  s",
		"h 12":                                  "h 12",
		"":                                      "",
	} {
		if got := Unbroken(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
