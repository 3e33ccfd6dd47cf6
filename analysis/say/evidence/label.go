package evidence

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// labelled words on how many a pprof label is.
//
//	"60 of 60 new goroutines have tenant=a; 0 of the 20 others"
func (w Words) labelled(e analysis.Evidence) string {
	if len(e.Names) != 2 {
		return ""
	}
	label := Label(e)
	if e.Form == "split" {
		return fmt.Sprintf("%d of %d new %s have %s; %d of the %d others", e.N, e.Of, w.Many, label, int(e.Figures["earlier"]), int(e.Figures["earlier_of"]))
	}
	return fmt.Sprintf("%d of %s at %s have the label %s", e.N, wording.Plural(e.Of, w.One, w.Many), w.label(e.To), label)
}

// Label is the label that evidence of the rule labels is about, as people write it.
func Label(e analysis.Evidence) string {
	if e.Rule != "labels" || len(e.Names) != 2 {
		return ""
	}
	return e.Names[0] + "=" + e.Names[1]
}
