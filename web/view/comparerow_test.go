package view

import (
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
)

func TestWhatCameBackShowsItsWidestChange(t *testing.T) {
	for name, c := range map[string]struct {
		in   diff.Course
		want string
	}{
		"a leak that ended":         {diff.Course{Counts: analysis.CountsOf(4, 16, 64, 4), Compared: true, Section: diff.Between}, "+60 and back"},
		"a dip":                     {diff.Course{Counts: analysis.CountsOf(9, 2, 12, 9), Compared: true, Section: diff.Between}, "−7 and back"},
		"growth":                    {diff.Course{Counts: analysis.CountsOf(4, 90, 64), Delta: 60, Compared: true, Section: diff.Growing}, "+60"},
		"what stayed":               {diff.Course{Counts: analysis.CountsOf(4, 4), Compared: true, Section: diff.Unchanged}, "0"},
		"what could not be counted": {diff.Course{Counts: analysis.CountsOf(4)}, "n/a"},
	} {
		if got := changeOver(&c.in); got.String() != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
