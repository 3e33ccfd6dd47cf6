package evidence

import (
	"fmt"

	"leakdiff/analysis"
)

// labelled words which pprof label splits a growth.
//
//	"60 of 60 new goroutines have tenant=a; 0 of the 20 others"
func (w Words) labelled(e analysis.Evidence) string {
	if len(e.Names) != 2 {
		return ""
	}
	label := analysis.Label{Key: e.Names[0], Value: e.Names[1]}
	return fmt.Sprintf("%d of %d new %s have %s; %d of the %d others", e.N, e.Of, w.Many, label, int(e.Figures["earlier"]), int(e.Figures["earlier_of"]))
}
