package trend

import (
	"testing"

	"leakdiff/analysis"
)

func TestTwoCountsAreComparedByTheRulesForTwoSnapshots(t *testing.T) {
	for _, c := range []struct {
		name        string
		before, now int
		want        analysis.Verdict
		noMore      bool
		beyond      bool
	}{
		{"two that were not there", 0, 2, analysis.Stable, true, false},
		{"three that were not there", 0, 3, analysis.New, false, false},
		{"nine more", 4, 13, analysis.Stable, false, false},
		{"ten more of few", 4, 24, analysis.Grew, false, true},
		{"ten more of many", 100, 110, analysis.Stable, true, false},
		{"fifteen of a hundred are noise", 100, 115, analysis.Stable, true, true},
		{"half as many more are noise by the counts alone", 100, 150, analysis.Stable, false, true},
		{"more than half as many more", 100, 160, analysis.Grew, false, true},
		{"fewer", 50, 20, analysis.Stable, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Compared(c.before, c.now); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := Beyond(c.before, c.now); got != c.beyond {
				t.Errorf("beyond %t, want %t", got, c.beyond)
			}
			if got := NoMore(c.before, c.now); got != c.noMore {
				t.Errorf("no more %t, want %t", got, c.noMore)
			}
		})
	}
}
