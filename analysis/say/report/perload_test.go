package report

import (
	"testing"

	"leakdiff/analysis"
)

func TestALoadIsNamedByWhatItCounts(t *testing.T) {
	for text, want := range map[string]string{
		"3 goroutines for each request per second (http_requests_total), which went from 12 to 24 per second: within chance": ": 3 goroutines for each request per second (http_requests_total)",
		"3 for each unit of kubelet_running_pods, which went from 12 to 24: within 15 % of that in every snapshot":           "",
		"the requests (http_requests_total) went from 12 to 24 per second and do not explain it":                             "",
	} {
		f := Finding{Evidence: []analysis.Evidence{{Rule: "series", Text: "rose"}, {Rule: "load", Text: text}}}
		if got := f.perLoad(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
