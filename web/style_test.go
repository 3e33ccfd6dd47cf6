package web

import (
	"strings"
	"testing"
)

func TestADrawingThatStandsAloneHasItsWholeStyleWithoutTokens(t *testing.T) {
	got := DrawingStyle()
	for _, want := range []string{
		".c-line { fill: none; stroke: #17191C;", ".c-line.up { stroke: #B3400A }", ".c-better { stroke: #BED8F3 }", "@media (prefers-color-scheme: dark) {", ".c-line.up { stroke: #FF9E64 }", "system-ui",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the style lacks %q:\n%s", want, got)
		}
	}
	for _, no := range []string{"var(", "light-dark", "</", "<", "&", "--", ": ;", "url(", "@import"} {
		if strings.Contains(got, no) {
			t.Errorf("the style has %q:\n%s", no, got)
		}
	}
	if strings.Count(got, "{") != strings.Count(got, "}") {
		t.Errorf("the braces do not match:\n%s", got)
	}
}
