package view

import (
	"slices"
	"strings"
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

func TestAFindingThatAnotherOneHoldsIsFoldedBelowIt(t *testing.T) {
	r := report.Report{}
	add := func(process, title string, of *report.FindingRef) {
		id := process + "1"
		r.Snapshots = append(r.Snapshots, report.Snapshot{ID: id, Label: "t0", Process: process})
		f := report.Finding{Rank: 1, Verdict: analysis.Leaking, Title: title, Text: title + ".", Families: []string{}, Behind: of != nil, BehindOf: of}
		r.Series = append(r.Series, report.Series{Process: process, Snapshots: []string{id}, Findings: []report.Finding{f}})
	}
	add("server", "the victim", &report.FindingRef{Process: "client", Series: 1, Rank: 1})
	add("client", "the holder", nil)
	add("database", "the victim of the victim", &report.FindingRef{Process: "server", Series: 0, Rank: 1})
	add("other", "something else", nil)
	c := NewCase(CaseInput{Report: r})
	var got []string
	for _, f := range c.Findings {
		got = append(got, f.Number+" "+f.Title)
		for _, held := range f.Behind {
			got = append(got, held.Number+" "+held.Title)
		}
	}
	want := []string{"1 the holder", "1.1 the victim", "1.2 the victim of the victim", "2 something else"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if text := c.Page().Body.Markdown(); !strings.Contains(text, "### 1.1. the victim\n\nleaking, server") {
		t.Error(text)
	}
}
