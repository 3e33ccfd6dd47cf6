package view

import (
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

func TestAFindingThatAnotherProcessHoldsStandsBehindIt(t *testing.T) {
	snapshot := func(id, process string) report.Snapshot {
		return report.Snapshot{ID: id, Label: "t0", Process: process}
	}
	series := func(process, id, title string, behind bool) report.Series {
		f := report.Finding{Rank: 1, Verdict: analysis.Leaking, Title: title, Families: []string{}, Behind: behind}
		return report.Series{Process: process, Snapshots: []string{id}, Findings: []report.Finding{f}}
	}
	r := report.Report{
		Snapshots: []report.Snapshot{snapshot("a", "server"), snapshot("b", "client")},
		Series:    []report.Series{series("server", "a", "the victim", true), series("client", "b", "the holder", false)},
	}
	c := NewCase(CaseInput{Report: r})
	if len(c.Findings) != 2 || c.Findings[0].Title != "the holder" {
		t.Errorf("got %d findings, the first %q", len(c.Findings), c.Findings[0].Title)
	}
}
