package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// shortCase is two processes, the first with two findings, whose proof is of a cohort.
func shortCase() CaseInput {
	in := CaseInput{ID: "c1", Title: "case", Report: oneSeries("app", analysis.Leaking, "", 10, 22, 34)}
	app := &in.Report.Series[0]
	app.Families = []report.Family{
		{Fingerprint: "g1:0", Kind: analysis.KindGoroutine, Title: "main.leak", Verdict: analysis.Leaking, Counts: numbers(0, 12, 24)},
		{Fingerprint: "g1:1", Kind: analysis.KindGoroutine, Title: "main.other", Verdict: analysis.Suspicious, Counts: numbers(0, 5, 9)},
	}
	app.Findings = []report.Finding{
		{Rank: 1, Verdict: analysis.Leaking, Title: "main.leak: 0 to 24 goroutines", Families: []string{"g1:0"}, Next: "Look at its stack.", Proof: "24 of 24 started since t0 are still there at t2."},
		{Rank: 2, Verdict: analysis.Suspicious, Title: "main.other: 0 to 9 goroutines", Families: []string{"g1:1"}, Next: "Take another dump."},
	}
	other := *app
	other.Process, other.Families, other.Findings = "db", app.Families[1:], app.Findings[1:]
	in.Report.Series = append(in.Report.Series, other)
	return in
}

func TestTheFindingOfTheAnswerIsNotToldAgainBelowIt(t *testing.T) {
	in, db := shortCase(), 1
	in.Report.Diagnosis = report.Diagnosis{Series: &db, Finding: 2, Next: &report.Action{Text: "Take another dump."}}
	c := NewCase(in)
	var order []string
	for _, f := range c.Findings {
		order = append(order, f.Process+": "+f.Title)
	}
	if d := cmp.Diff([]string{"db: main.other: 0 to 9 goroutines", "app: main.leak: 0 to 24 goroutines", "app: main.other: 0 to 9 goroutines"}, order); d != "" {
		t.Error(d)
	}
	text := c.Page().Body.Text()
	_, below, _ := strings.Cut(text, "Findings\n")
	if strings.Count(below, "main.other: 0 to 9 goroutines") != 1 || !strings.Contains(below, "What the answer rests on") || !strings.Contains(below, "main.leak: 0 to 24 goroutines") || strings.Count(below, "Take another dump.") != 1 {
		t.Errorf("%s", text)
	}
}

func TestABThatIsEarlierIsToldBackwards(t *testing.T) {
	in := cutDiff()
	in.Result.B.LowerBound = false
	in.Result.A.CapturedAt = time.Date(2026, 11, 21, 3, 6, 33, 0, time.UTC)
	in.Result.B.CapturedAt = time.Date(2026, 11, 21, 2, 58, 10, 0, time.UTC)
	want := "app, backwards: 641 goroutines in A, 255 in B, which is 8 min 23 s earlier; 400 only in A, 13 only in B."
	if d := cmp.Diff(want, strings.ReplaceAll(NewDiff(in).Headline, hardSpace, " ")); d != "" {
		t.Error(d)
	}
}

func TestASnapshotSaysWhyItsFamiliesAreFewer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		total int
		want  string
	}{
		{"all are in families", 64, ""},
		{"one wrote the dump", 65, " One of them wrote the dump and is in no family."},
		{"several", 66, " 2 of them are in no family: they wrote the dump or have no stack."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			snap := &analysis.Snapshot{Totals: analysis.Totals{Goroutines: &tt.total}, Groups: []analysis.Group{{Family: &analysis.Family{Kind: analysis.KindGoroutine, Title: "main.leak"}, Count: 64}}}
			m := snapshotMaker{in: SnapshotInput{Snapshot: snap}}
			_, after, _ := strings.Cut(strings.ReplaceAll(m.lead(), hardSpace, " "), "goroutines.")
			if d := cmp.Diff(tt.want, after); d != "" {
				t.Error(d)
			}
		})
	}
}
