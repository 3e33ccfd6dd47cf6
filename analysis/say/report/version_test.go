package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

func TestTheProofOfAFixInWords(t *testing.T) {
	row := func(version string, rise int, minutes float64, load float64) trend.VersionRow {
		r := trend.VersionRow{Version: version, Rise: rise, Hours: minutes / 60, Below: 3 / (minutes / 60)}
		if load > 0 {
			r.Load, r.Mean = "requests/s", load
		}
		return r
	}
	tests := []struct {
		name string
		fix  trend.Fix
		want string
	}{
		{"a fix that is proven", trend.Fix{Before: row("before", 24, 5, 0), After: row("after", 0, 30, 0), Proven: true},
			"before: 24 in 5 min; after: 0 in 30 min; a leak of 6 an hour would have been seen"},
		{"versions have their names", trend.Fix{Before: row("v1.5.2", 24, 5, 0), After: row("v1.5.3", -2, 30, 0), Proven: true},
			"before (v1.5.2): 24 in 5 min; after (v1.5.3): 2 fewer in 30 min; a leak of 6 an hour would have been seen"},
		{"commits are neither before nor after", trend.Fix{Before: row("9e8d7c6", 24, 5, 0), After: row("3f2a1bc", 0, 30, 0), Proven: true, Unordered: true},
			"9e8d7c6: 24 in 5 min; 3f2a1bc: 0 in 30 min; a leak of 6 an hour would have been seen"},
		{"too short", trend.Fix{Before: row("before", 24, 60, 0), After: row("after", 0, 30, 0), More: 40. / 60},
			"before: 24 in 1 h; after: 0 in 30 min; a leak of 6 an hour would have been seen; not proven yet: 40 min more at this load"},
		{"loads that compare", trend.Fix{Before: row("before", 24, 5, 100), After: row("after", 0, 30, 96), Proven: true, Ratio: .96},
			"before: 24 in 5 min; after: 0 in 30 min; a leak of 6 an hour would have been seen; loads compare: 100 and 96 requests/s"},
		{"less load proves less", trend.Fix{Before: row("before", 24, 5, 100), After: row("after", 0, 30, 20), More: .1, Ratio: .2},
			"before: 24 in 5 min; after: 0 in 30 min; a leak of 6 an hour would have been seen; after ran at 20 % of the load (100 and 20 requests/s): this proves less; not proven yet: 6 min more at this load"},
		{"no load proves nothing", trend.Fix{Before: row("before", 24, 5, 100), After: idleRow("after", 30), Idle: true},
			"before: 24 in 5 min; after: 0 in 30 min; after ran without load (100 and 0 requests/s): this proves nothing; not proven"},
		{"members that came and stay", trend.Fix{Before: row("before", 24, 5, 0), After: stayingRow("after", 30, 4)},
			"before: 24 in 5 min; after: 4 in 30 min; not proven: 4 came and none ended"},
		{"another family leaks instead", trend.Fix{Before: row("before", 24, 5, 0), After: insteadRow("after", 30)},
			"before: 24 in 5 min; after: 0 in 30 min; not proven: cart.serve leaks at 48 an hour now, perhaps the same by another name"},
		{"more load proves more", trend.Fix{Before: row("before", 24, 5, 100), After: row("after", 0, 30, 300), Proven: true, Ratio: 3},
			"before: 24 in 5 min; after: 0 in 30 min; a leak of 6 an hour would have been seen; after ran at 3 times the load (100 and 300 requests/s)"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := fixText(&tc.fix); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func idleRow(version string, minutes float64) trend.VersionRow {
	return trend.VersionRow{Version: version, Hours: minutes / 60, Below: 6, Load: "requests/s"}
}

func stayingRow(version string, minutes float64, came int) trend.VersionRow {
	return trend.VersionRow{Version: version, Hours: minutes / 60, Below: 18, Rise: came, Stay: came}
}

func insteadRow(version string, minutes float64) trend.VersionRow {
	return trend.VersionRow{Version: version, Hours: minutes / 60, Below: 6, Instead: &trend.Instead{Version: version, Title: "cart.serve", Rate: 48}}
}

func TestARowOfTheVersionsInWords(t *testing.T) {
	figure := func(v float64) *float64 { return &v }
	tests := []struct {
		name string
		row  VersionRow
		want string
	}{
		{"bad", VersionRow{Version: "1.2", Verdict: trend.Bad, PerHour: figure(54), Hours: 5. / 6, Starts: 1, Snapshots: 6}, "1.2 | +54 an hour | 50 min | bad"},
		{"good says what would have been seen", VersionRow{Version: "1.1", Verdict: trend.Good, PerHour: figure(0), Hours: 6, Starts: 2, Snapshots: 9, Below: figure(.5)}, "1.1 | 0 | 6 h in 2 process starts | good, below 12 a day"},
		{"unknown says what is missing", VersionRow{Version: "1.3", Verdict: trend.Unknown, PerHour: figure(-2), Hours: .1, Starts: 1, Snapshots: 2, More: figure(.5)}, "1.3 | −2 an hour | 6 min | unknown, 30 min more would tell"},
		{"unknown says why no time ends it", VersionRow{Version: "1.3", Verdict: trend.Unknown, PerHour: figure(8), Hours: .5, Starts: 1, Snapshots: 6, More: figure(.5), Why: "4 came and none ended"}, "1.3 | +8 an hour | 30 min | unknown, 4 came and none ended"},
		{"one dump", VersionRow{Version: "1.4", Verdict: trend.Unknown, PerHour: finite(math.NaN()), Starts: 1, Snapshots: 1}, "1.4 | not known | 1 dump | unknown"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(tc.row.Cells(), " | "); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// sessions are dumps of a program with growing and steady counts of one family.
func sessions(name string, start time.Time, step time.Duration, from int, counts ...int) []analysis.Snapshot {
	stack := &analysis.Stack{Frames: []analysis.Frame{{Func: "shop/cart.(*Session).wait"}}, CreatedBy: analysis.Frame{Func: "shop/cart.Open"}}
	f := &analysis.Family{Fingerprint: "g1:0123456789abcdef0123456789abcdef", Kind: analysis.KindGoroutine, Title: "cart.(*Session).wait"}
	var out []analysis.Snapshot
	for i, n := range counts {
		var ids []int64
		for k := range n {
			ids = append(ids, int64(from+k))
		}
		total := n
		at := start.Add(time.Duration(i) * step)
		out = append(out, analysis.Snapshot{
			ID: fmt.Sprintf("s%s-%d", name, i), Label: fmt.Sprintf("t%d", i), Process: analysis.Process{Name: analysis.Fact{Value: "shop"}}, CapturedAt: at, TimeFact: analysis.Fact{Value: at.Format(time.RFC3339), Confidence: analysis.High},
			Totals: analysis.Totals{Goroutines: &total}, Order: i,
			Artifacts: []analysis.Artifact{{Path: fmt.Sprintf("%s/t%d/goroutines.txt", name, i), Members: n}},
			Groups:    []analysis.Group{{Family: f, Count: n, Members: analysis.Members{Columns: &analysis.Columns{ID: ids}}, OldestWait: -1, Variants: []analysis.Variant{{Stack: stack, Count: n}}}},
		})
	}
	return out
}

var versionsBegin = time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC)

func TestTheVersionsOfACaseDoNotDependOnTheOrderOfUploads(t *testing.T) {
	bundles := func() [][]analysis.Snapshot {
		return [][]analysis.Snapshot{
			sessions("v1.5.2", versionsBegin, time.Hour, 100, 5, 5, 5, 5, 5, 5),
			sessions("v1.5.3", versionsBegin.Add(24*time.Hour), 10*time.Minute, 100, 5, 14, 22, 32, 40, 50),
			sessions("v1.5.4", versionsBegin.Add(48*time.Hour), 10*time.Minute, 100, 5, 5, 5, 5, 5, 5, 5),
		}
	}
	answer := func(order []int) string {
		all := bundles()
		var snapshots []analysis.Snapshot
		for _, i := range order {
			snapshots = append(snapshots, all[i]...)
		}
		c := Build(snapshots, nil, Options{})
		for _, f := range c.Report.Series[0].Findings {
			if v := f.Versions; v != nil {
				return fmt.Sprintf("%s; %s; %v", v.Text, v.Fix.Text, v.Rows[1].Cells())
			}
		}
		return "no versions"
	}
	const want = "first bad version: v1.5.3; last good: v1.5.2; fixed in v1.5.4; before (v1.5.3): 45 in 50 min; after (v1.5.4): 0 in 1 h; a leak of 3 an hour would have been seen; [v1.5.3 +54 an hour 50 min bad]"
	rapid.Check(t, func(t *rapid.T) {
		if got := answer(rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
