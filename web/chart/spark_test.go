package chart

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestALongSmallLineSaysAndDrawsWhatMatters(t *testing.T) {
	var labels []string
	var values analysis.Counts
	for i := range 1000 {
		n := 10
		if i == 617 {
			n = 90
		}
		labels, values = append(labels, fmt.Sprintf("t%d", i)), append(values, analysis.Counted(n))
	}
	s := SparkData{ID: "x", Labels: labels, Values: values, A: 3, B: 800}
	if got, want := s.say(), "t0 10, t3 10, t617 90, t800 10, t999 10, of 1000 snapshots"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	html := string(s.Append(nil))
	if len(html) > 8000 {
		t.Errorf("the line of 1000 snapshots takes %d bytes", len(html))
	}
	// The peak is the top of the drawing, at four pixels from its edge.
	if !strings.Contains(html, ",4 ") {
		t.Error("the peak is not drawn")
	}
}

func TestAShortSmallLineSaysAndDrawsEverything(t *testing.T) {
	s := SparkData{ID: "x", Labels: []string{"t0", "t1", "t2"}, Values: values(1, 5, 2), A: 0, B: 2}
	if got, want := s.say(), "t0 1, t1 5, t2 2"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if html := string(s.Append(nil)); !strings.Contains(html, `points="4,19.2 46,4 88,15.4"`) {
		t.Errorf("the line is drawn as %s", html)
	}
}
