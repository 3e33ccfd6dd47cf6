package evidence

import (
	"strings"
	"testing"

	"leakdiff/analysis/judge/trend"
)

func TestABisectionInWords(t *testing.T) {
	eight := strings.Fields("1.0 1.1 1.2 1.3 1.4 1.5 1.6 1.7")
	var commits []trend.VersionRow
	for _, version := range eight {
		commits = append(commits, trend.VersionRow{Version: version, Verdict: trend.Bad})
	}
	instead := trend.VersionRow{Version: "1.2", Verdict: trend.Unknown, Instead: &trend.Instead{Version: "1.2", Title: "serve", Rate: 4}}
	for _, tt := range []struct {
		b    trend.Bisection
		want string
	}{
		{trend.Bisection{}, "no version is known to be bad"},
		{trend.Bisection{FirstBad: "5.5.5"}, "first bad version: 5.5.5"},
		{trend.Bisection{FirstBad: "v1.5.3", LastGood: "v1.5.2", Fixed: "v1.5.5"}, "first bad version: v1.5.3; last good: v1.5.2; fixed in v1.5.5"},
		{trend.Bisection{LastGood: "1.0", EarliestBad: "1.2"}, "it began between 1.0 (good) and 1.2 (bad)"},
		{trend.Bisection{EarliestBad: "1.0"}, "bad from 1.0 at the latest; no older version is known to be good"},
		{trend.Bisection{LastGood: "v1.5.2", EarliestBad: "v1.5.5", Next: "v1.5.3", NextHours: 6}, "it began between v1.5.2 (good) and v1.5.5 (bad); next to test: v1.5.3, at least 6 h with a snapshot every 1 h 12 min, under the same load"},
		{trend.Bisection{FirstBad: "1.4", EarliestBad: "1.4", Set: eight, Next: "1.3", NextHours: 10, Confounds: []string{"hosts", "loads"}},
			"first bad version: 1.4; 95 % of the probability: 1.0, 1.1, 1.2, 1.3, 1.4, 1.5 and 2 more; next to test: 1.3, at least 10 h with a snapshot every 2 h, under the same load; also different: hosts, loads"},
		{trend.Bisection{EarliestBad: "abcdef0", Unordered: true, Rows: commits}, "bad: 1.0, 1.1, 1.2, 1.3, 1.4, 1.5 and 2 more; the order of commits is not known"},
		{trend.Bisection{EarliestBad: "9e8d7c6", Unordered: true, Rows: []trend.VersionRow{{Version: "3f2a1bc", Verdict: trend.Good}, {Version: "9e8d7c6", Verdict: trend.Bad}}},
			"bad: 9e8d7c6; good: 3f2a1bc; the order of commits is not known"},
		{trend.Bisection{EarliestBad: trend.Before}, "bad before the change"},
		{trend.Bisection{EarliestBad: trend.Before, Fixed: trend.After}, "bad before the change, good after it"},
		{trend.Bisection{FirstBad: "1.1", LastGood: "1.0", Rows: []trend.VersionRow{instead}}, "first bad version: 1.1; last good: 1.0; not in 1.2, where serve leaks at 4 an hour, perhaps the same by another name"},
		{trend.Bisection{FirstBad: "1.1", Rows: []trend.VersionRow{instead, instead, instead}},
			"first bad version: 1.1; not in 1.2, where serve leaks at 4 an hour, perhaps the same by another name; not in 1.2, where serve leaks at 4 an hour, perhaps the same by another name; and more versions alike"},
	} {
		if got := Bisection(tt.b); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if got, want := Instead(&trend.Instead{Title: "serve"}), "serve leaks"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
