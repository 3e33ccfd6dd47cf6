package report_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"leakdiff/analysis"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
)

// Of 80 captures the newest 64 are judged, and 0, 4, 8 and 12 of the 16 older ones.
func TestOfALongSeriesAChoiceIsJudged(t *testing.T) {
	var opened []int
	for i := range 80 {
		opened = append(opened, 2+i)
	}
	c := built(t, sessions(opened, 0, 99, 0, false))
	s := &c.Report.Series[0]
	if len(s.Snapshots) != 68 || len(s.Captures) != 80 || len(c.Report.Snapshots) != 80 {
		t.Fatalf("%d of %d captures are judged, %d are listed", len(s.Snapshots), len(s.Captures), len(c.Report.Snapshots))
	}
	for i, id := range s.Captures {
		x := c.Report.Snapshots[i]
		if x.ID != id || x.Totals.Goroutines == nil || *x.Totals.Goroutines != 2+3*opened[i] {
			t.Errorf("capture %d has totals %v", i, x.Totals)
		}
		series, at := c.Snapshot(id)
		if series == nil || series.Snapshots[at].ID != id || len(series.Trend.Families) < 3 {
			t.Errorf("capture %d is not found", i)
		} else if chosen := i >= 16 || i%4 == 0; chosen != (len(series.Snapshots) == 68) || chosen == (len(series.Snapshots) == 1) {
			t.Errorf("capture %d is in a series of %d", i, len(series.Snapshots))
		}
	}
	for _, f := range s.Families {
		if len(f.Counts) != 68 {
			t.Errorf("%s has %d counts", f.Title, len(f.Counts))
		}
	}
	var said []string
	for _, p := range c.Report.Problems {
		if p.Severity == analysis.Note {
			said = append(said, p.What)
		}
	}
	if want := []string{"68 of 80 captures of app are judged; totals are drawn of all"}; !cmp.Equal(said, want) {
		t.Errorf("said %q", said)
	}

	if said := report.StateLine(&c.Report, report.Terminal{}); !strings.HasSuffix(said, "80 dumps in 13 h 10 min, 68 judged") {
		t.Errorf("the terminal says %q", said)
	}
	hidden, err := c.Redacted(redact.New(redact.Case{Series: [][]*analysis.Snapshot{c.Series[0].Captures()}}))
	if err != nil || len(hidden.Series[0].Snapshots) != 68 || hidden.Series[0].Snapshots[1].Label != c.Series[0].Snapshots[1].Label {
		t.Errorf("a redacted copy has %d snapshots, %v", len(hidden.Series[0].Snapshots), err)
	}

	var snapshots []analysis.Snapshot
	for _, snap := range c.Series[0].Captures() {
		snapshots = append(snapshots, *snap)
	}
	o := report.Options{Version: "test"}
	groups := report.Group(snapshots)
	report.Select(groups, o)
	joined := report.Join([]report.SeriesJudgement{*report.JudgeSeries(&groups[0], o)}, nil, o)
	whole := report.Build(snapshots, nil, o)
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if d := cmp.Diff(whole.Said(), joined, all, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}
