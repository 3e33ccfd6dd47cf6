package report

import (
	"fmt"
	"strings"
	"testing"
)

func TestATicketHasAtMostTwelveLinesAndKeepsWhatCounts(t *testing.T) {
	full := Ticket{Sentence: "8 calls never returned.", State: "Leaking.", Sure: "Growing: certain."}
	for _, name := range []string{proofFact, sinceFact, limitFact, besideFact, causeFact, chainFact, versionFact, fixFact, doFact, doFact, doFact, alsoFact, alsoFact, seenFact} {
		full.add(Fact{Name: name, Text: "none near"})
	}
	for frames := range mostTicketFrames + 1 {
		full.Stack = full.Stack[:0]
		for i := range frames {
			full.Stack = append(full.Stack, fmt.Sprintf("main.f%d", i))
		}
		for form, text := range map[string]string{"Markdown": full.Markdown("http://127.0.0.1:8080/cases/c"), "Jira": full.Jira("http://127.0.0.1:8080/cases/c")} {
			if n := strings.Count(text, "\n"); n > mostTicketLines || n < mostTicketLines-2 {
				t.Errorf("%s with %d frames has %d lines, want at most %d:\n%s", form, frames, n, mostTicketLines, text)
			}
			for _, want := range []string{"8 calls", proofFact, sinceFact, causeFact, doFact, "Growing", "/cases/c"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s with %d frames lacks %q:\n%s", form, frames, want, text)
				}
			}
		}
	}
}

func TestATicketWithRoomDropsNothing(t *testing.T) {
	short := Ticket{Sentence: "Nothing grew."}
	for _, name := range []string{limitFact, doFact, doFact, alsoFact, seenFact} {
		short.add(Fact{Name: name, Text: "none near"})
	}
	if got, _ := short.fitted(); len(got) != len(short.Facts) {
		t.Errorf("%v are left of %v", got, short.Facts)
	}
}
