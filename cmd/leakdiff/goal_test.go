package main

import (
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

func TestWhatIsWaitedForIsAVerdictOrAQuantity(t *testing.T) {
	for text, want := range map[string]goal{
		"leaking": {verdict: "leaking"}, "saturated": {verdict: "saturated"}, "rss>2GiB": {quantity: "rss", above: 2048}, "rss > 512 MiB": {quantity: "rss", above: 512},
		"goroutines>5000": {quantity: "goroutines", above: 5000}, "fds>900": {quantity: "fds", above: 900},
	} {
		if got, ok := goalOf(text); !ok || got != want {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "scaling", "rss>2", "goroutines>5MiB", "pods>3", "goroutines<5", "goroutines>", ">5"} {
		if got, ok := goalOf(text); ok {
			t.Errorf("%q is understood as %+v", text, got)
		}
	}
}

func TestAQuantityIsThatOfTheLastCapture(t *testing.T) {
	r := report.Report{
		Snapshots: []report.Snapshot{{ID: "a", Totals: analysis.Totals{Goroutines: new(900)}}, {ID: "b", Totals: analysis.Totals{Goroutines: new(501)}}},
		Series:    []report.Series{{Snapshots: []string{"a", "b"}, Gauges: []report.Gauge{{Name: "resident_memory_bytes", Unit: "MiB", Values: []*float64{new(900.0), new(100.5)}}}}},
	}
	for text, want := range map[string]bool{"goroutines>500": true, "goroutines>501": false, "rss>100MiB": true, "rss>101MiB": false, "threads>0": false} {
		g, _ := goalOf(text)
		if got := g.reached(&r); got != want || !g.atOnce(&r) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestAVerdictIsToldOnceItStands looks at captures at minutes after the first. "!" is a report without
// the verdict.
func TestAVerdictIsToldOnceItStands(t *testing.T) {
	finding := func(v analysis.Verdict, rule string) *report.Report {
		f := report.Finding{Rank: 1, Verdict: v, Families: []string{"a"}}
		if rule != "" {
			f.Evidence = []report.Evidence{{Evidence: analysis.Evidence{Rule: rule}}}
		}
		return &report.Report{Series: []report.Series{{Findings: []report.Finding{f}}}}
	}
	leaks := finding(analysis.Leaking, "")
	type look struct {
		at   float64
		said *report.Report
		told bool
	}
	for _, tt := range []struct {
		name, until string
		looks       []look
	}{
		{"it waits a quarter of the 40 minutes that led to it", "leaking", []look{{40, leaks, false}, {49.9, leaks, false}, {50, leaks, true}, {51, leaks, true}}},
		{"the quarter is of the first look, however long it takes", "leaking", []look{{4, leaks, false}, {100, leaks, true}}},
		{"a look without it begins anew", "leaking", []look{{40, leaks, false}, {45, finding(analysis.Grew, ""), false}, {60, leaks, false}, {74.9, leaks, false}, {75, leaks, true}}},
		{"two captures that grew are looked at again", "grew", []look{{4, finding(analysis.Grew, ""), false}, {5, finding(analysis.Grew, ""), true}}},
		{"a full pool is told at once", "saturated", []look{{4, finding(analysis.Saturated, ""), true}}},
		{"what the runtime marked is told at once", "leaking", []look{{4, finding(analysis.Leaking, "leaked_mark"), true}}},
		{"another verdict is never told", "leaking", []look{{40, finding(analysis.Suspicious, ""), false}, {90, finding(analysis.Suspicious, ""), false}}},
	} {
		g, ok := goalOf(tt.until)
		if !ok {
			t.Fatal(tt.until)
		}
		first := time.Date(2026, 5, 21, 3, 0, 0, 0, time.UTC)
		var s standing
		for _, l := range tt.looks {
			if told := s.look(g, l.said, first, first.Add(time.Duration(l.at*float64(time.Minute)))); told != l.told {
				t.Errorf("%s: after %v minutes told %t", tt.name, l.at, told)
			}
		}
	}
}
