package report

import (
	"testing"

	"leakdiff/analysis"
)

func TestALoadIsNamedByWhatItCounts(t *testing.T) {
	load := func(form analysis.Form, names ...string) Evidence {
		return Evidence{Evidence: analysis.Evidence{Rule: "load", Form: form, Names: names, Figures: map[analysis.Figure]float64{"factor": 3, "first": 12, "last": 24}}}
	}
	s := &Series{Families: []Family{{Fingerprint: "t1:a", Kind: analysis.KindThread}}}
	for _, tt := range []struct {
		name string
		load Evidence
		want string
	}{
		{"the rate of a counter", load("explains", "http_requests_total", "request"), ": 3 threads for each request per second (http_requests_total)"},
		{"a load that people entered", load("explains", "kubelet_running_pods"), ""},
		{"a rate that does not explain it", load("other", "http_requests_total", "request"), ""},
	} {
		f := Finding{Families: []string{"t1:a"}, Evidence: []Evidence{saidHere("series", "rose"), tt.load}}
		if got := s.perLoad(&f); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
