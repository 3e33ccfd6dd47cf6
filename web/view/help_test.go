package view

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestHelpAndDocsSayTheSameOfWhatWordsWereWorth(t *testing.T) {
	text, err := os.ReadFile("../../docs/verdicts.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, v := range verdicts() {
		known[v.Verdict] = true
	}
	for word, n := range worth {
		if row := fmt.Sprintf("| %s | %d | %d | %d |\n", word, n[0], n[1], n[2]); !known[word] || !strings.Contains(string(text), row) {
			t.Errorf("%s is no verdict, or docs/verdicts.md has not the row %q", word, row)
		}
	}
}
