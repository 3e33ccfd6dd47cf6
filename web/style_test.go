package web

import (
	"strings"
	"testing"
)

func TestADrawingTakesTheStyleOfItsClassesAlong(t *testing.T) {
	got := ClassStyle([]string{"timeline", "c-line", "up", "c-t"})
	for _, want := range []string{
		".c-line{fill:none;stroke:#17191C;", ".c-line.up{stroke:#B3400A}", "@media (prefers-color-scheme:dark){", ".c-line.up{stroke:#FF9E64}", "system-ui",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the style lacks %q:\n%s", want, got)
		}
	}
	for _, no := range []string{"var(", "light-dark", "</", "c-bar", ".flat", "url(", "@import"} {
		if strings.Contains(got, no) {
			t.Errorf("the style has %q:\n%s", no, got)
		}
	}
	if strings.Count(got, "{") != strings.Count(got, "}") {
		t.Errorf("the braces do not match:\n%s", got)
	}
}
