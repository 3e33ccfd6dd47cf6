package main

import (
	"testing"

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
		if got := reaches(text, r); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
