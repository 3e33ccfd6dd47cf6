package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// fleet returns that many processes with that many snapshots each; the last one grows,
// and its peak is at 61 % of its time.
func fleet(processes, snapshots int) report.Report {
	var all report.Report
	for p := range processes {
		totals := make([]int, snapshots)
		for i := range totals {
			totals[i] = 50
			if p == processes-1 {
				totals[i] = 50 + min(i, snapshots*61/100)
				if i > snapshots*61/100 {
					totals[i] -= i - snapshots*61/100
				}
			}
		}
		verdict := analysis.Stable
		if p == processes-1 {
			verdict = analysis.Leaking
		}
		r := oneSeries(fmt.Sprintf("worker-%02d", p), verdict, "", totals...)
		for i := range r.Snapshots {
			r.Snapshots[i].ID = fmt.Sprintf("s%02d.%03d", p, i)
			r.Snapshots[i].Label = fmt.Sprintf("c%03d", i)
			r.Series[0].Snapshots[i] = r.Snapshots[i].ID
		}
		all.Series, all.Snapshots = append(all.Series, r.Series...), append(all.Snapshots, r.Snapshots...)
	}
	return all
}

func TestALargeCaseShowsTheColumnsAndProcessesThatMatter(t *testing.T) {
	c := NewCase(CaseInput{ID: "c", Report: fleet(50, 100)})
	if len(c.Columns) != maxColumns || len(c.Groups) != maxGroups || len(c.Others) != seriesPerPage-maxGroups {
		t.Fatalf("%d columns, %d groups, %d others", len(c.Columns), len(c.Groups), len(c.Others))
	}
	var labels []string
	for _, k := range c.Columns {
		labels = append(labels, k.Label)
	}
	for _, want := range []string{"c000", "c061", "c099"} { // the ends, and the peak as B
		if !slices.Contains(labels, want) {
			t.Errorf("%s has no column: %q", want, labels)
		}
	}
	if !slices.IsSorted(labels) {
		t.Errorf("columns are not in order: %q", labels)
	}
	last := c.Groups[0]
	if last.Process != "worker-49" {
		t.Errorf("the process that grows does not stand first but %s", last.Process)
	}
	for _, g := range c.Groups {
		if len(g.Rows[0].Cells) != maxColumns || len(g.Picks) != maxColumns || len(g.Links) != maxColumns {
			t.Fatalf("%s: %d cells, %d picks, %d links", g.Process, len(g.Rows[0].Cells), len(g.Picks), len(g.Links))
		}
	}
	at := slices.Index(labels, "c061")
	if last.Rows[0].Cells[at] != "111" || !last.Picks[at].B || !last.Picks[0].A {
		t.Errorf("at the peak %q, picks %+v", last.Rows[0].Cells[at], last.Picks[at])
	}
	if o := c.Others[0]; o.Course == "" || !strings.Contains(o.About, "100") || o.URL != "/diff/"+"s11.000..s11.099?case=c" {
		t.Errorf("another process: %+v", o)
	}
	if !strings.Contains(c.ColumnNote, "24 of 100 snapshots") {
		t.Errorf("note %q", c.ColumnNote)
	}
	small := NewCase(CaseInput{ID: "c", Report: fleet(3, 9)})
	if len(small.Columns) != 9 || len(small.Groups) != 3 || len(small.Others) != 0 || small.ColumnNote != "" {
		t.Errorf("a small case loses something: %d columns, %d groups, note %q", len(small.Columns), len(small.Groups), small.ColumnNote)
	}
}
