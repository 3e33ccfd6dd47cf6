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
	}{
		{"two that were not there", 0, 2, analysis.Stable, true},
		{"three that were not there", 0, 3, analysis.New, false},
		{"nine more", 4, 13, analysis.Stable, false},
		{"ten more of few", 4, 24, analysis.Grew, false},
		{"ten more of many", 100, 110, analysis.Stable, true},
		{"fifteen of a hundred are noise", 100, 115, analysis.Stable, true},
		{"half as many more are noise by the counts alone", 100, 150, analysis.Stable, false},
		{"more than half as many more", 100, 160, analysis.Grew, false},
		{"fewer", 50, 20, analysis.Stable, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Compared(c.before, c.now); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := NoMore(c.before, c.now); got != c.noMore {
				t.Errorf("no more %t, want %t", got, c.noMore)
			}
		})
	}
}
