package report

import "testing"

func TestASentenceThatIsTooLongLosesAClauseOrEndsAtAWord(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"it fits", "one clause; another", 19, "one clause; another"},
		{"a clause is left out", "one clause; another one", 19, "one clause"},
		{"the first clause alone is too long", "some clause of many words; another", 19, "some clause of…"},
		{"letters of several bytes count once", "één zin; één zin", 16, "één zin; één zin"},
		{"no word ends", "aaaaaaaaaa", 5, "aaaa…"},
	} {
		if got := shortened(tc.text, tc.most); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
