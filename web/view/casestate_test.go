package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/say/document"
)

func TestAListCallsACaseAsItsPageDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		in   CaseSummary
		want document.Text
		calm bool
	}{
		{"a leak", CaseSummary{Verdict: "leaking", State: "leaking until t7", Snapshots: 9}, document.Text{{Look: document.Judged, Text: "leaking", Inside: document.Words("leaking until t7")}}, false},
		{"what follows its load", CaseSummary{Verdict: "scaling", State: "no leak", Snapshots: 8}, document.Text{{Look: document.Verdict, Text: "stable", Inside: document.Words("no leak")}}, true},
		{"a suspicion", CaseSummary{Verdict: "suspicious", State: "may leak", Snapshots: 6}, document.Text{{Look: document.Verdict, Text: "suspicious", Inside: document.Words("may leak")}}, false},
		{"dumps of several processes", CaseSummary{Verdict: "too_few_points", State: "one dump each", Snapshots: 3}, document.Text{{Look: document.Verdict, Text: "too_few_points", Inside: document.Words("one dump each")}}, false},
		{"a summary of an older version", CaseSummary{Verdict: "scaling", Snapshots: 8}, document.Text{document.Marked(document.Verdict, "scaling")}, false},
		{"growth that people called benign", CaseSummary{Verdict: "stable", State: "no leak seen", Snapshots: 8, Aside: 2}, document.Text{document.Marked(document.Mark, "benign")}, true},
		{"files without a dump", CaseSummary{Verdict: "too_few_points", State: "nothing read"}, document.Text{document.Marked(document.Verdict, "no evidence")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := newCaseRow(c.in)
			if got := row.judged(); cmp.Diff(c.want, got) != "" {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := row.Spark("s").Calm; got != c.calm {
				t.Errorf("calm is %v", got)
			}
		})
	}
}
