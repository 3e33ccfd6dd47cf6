package trend

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// TestGoroutinesThatStartTheirSuccessorsAreJudgedByCounts: at each capture all are other ones, each started
// by one before it.
func TestGoroutinesThatStartTheirSuccessorsAreJudgedByCounts(t *testing.T) {
	for _, tt := range []struct {
		name           string
		counts         []int
		entry, creator string
		closure        string
		parentsThere   bool
		want           analysis.Verdict
	}{
		{"more each time", []int{12, 27, 43, 59}, "app.beat", "app.beat", "", false, analysis.Suspicious},
		{"more each time, for long", []int{12, 27, 43, 59, 74, 90, 105, 121, 136, 152}, "app.beat", "app.beat", "", false, analysis.Suspicious},
		{"fewer once", []int{12, 27, 43, 59, 74, 90, 89, 121, 136, 152}, "app.beat", "app.beat", "", false, analysis.Grew},
		{"as many each time", []int{40, 40, 40, 40}, "app.beat", "app.beat", "", false, analysis.Stable},
		{"started by another function", []int{12, 27, 43, 59}, "app.beat", "app.Start", "", false, analysis.Grew},
		{"started by the function that they are a part of", []int{12, 27, 43, 59}, "app.beat", "app.beat", ".func1", false, analysis.Grew},
		{"that divide their work: those that started them are there", []int{12, 27, 43, 59}, "app.walk", "app.walk", "", true, analysis.Grew},
	} {
		var words []string
		for k, n := range tt.counts {
			words = append(words, fmt.Sprintf("%d-%d", 1000*k+1000, 1000*k+1000+n-1))
		}
		snaps := only(strings.Join(words, " ")).snapshots(t)
		for _, snap := range snaps {
			for k := range snap.Groups {
				g := &snap.Groups[k]
				if g.Family.Fingerprint != onlyFamily {
					continue
				}
				g.Family.Loose, g.Family.LooseCreator = []string{"time.Sleep", tt.entry}, tt.creator
				frames := []analysis.Frame{{Func: "time.Sleep"}, {Func: tt.entry + tt.closure}}
				g.Variants = []analysis.Variant{{Stack: &analysis.Stack{Frames: frames, CreatedBy: analysis.Frame{Func: tt.creator}}}}
				c := g.Members.Fill()
				for _, id := range c.ID {
					parent := id - 500
					if tt.parentsThere {
						parent = c.ID[0]
					}
					c.Parent = append(c.Parent, parent)
				}
			}
		}
		if got := seriesOf(snaps).Verdicts()[onlyFamily]; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
