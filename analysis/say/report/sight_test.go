package report_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// kindOf has n objects with so many parts each.
func kindOf(typ string, n, parts int) analysis.ObjectKind {
	k := analysis.ObjectKind{Name: "*" + typ, Type: typ, Each: []analysis.ObjectRole{{Role: typ + ".run", N: parts, Level: analysis.ByAddress}}, Level: analysis.ByAddress, Parts: parts}
	for i := range n {
		row := analysis.ObjectRow{Root: int64(100 * (i + 1))}
		for p := range parts {
			row.Parts = append(row.Parts, row.Root+int64(p))
		}
		k.Append(row)
	}
	return k
}

func TestTheFirstAndTheLastSightOfATypeAddUpItsShapes(t *testing.T) {
	var snapshots []analysis.Snapshot
	for i, kinds := range [][]analysis.ObjectKind{
		{kindOf("single", 9, 1)},
		{kindOf("session", 2, 3), kindOf("session", 1, 1), kindOf("single", 9, 1), kindOf("watch", 1, 2)},
		{kindOf("session", 5, 3), kindOf("watch", 2, 2)},
		{kindOf("session", 4, 3), kindOf("session", 3, 1)},
		{kindOf("session", 70, 3)},
	} {
		snap := analysis.Snapshot{ID: string(rune('a' + i)), Order: i, CapturedAt: time.Date(2026, 11, 21, 8, i, 0, 0, time.UTC), Joined: &analysis.Objects{Kinds: kinds}}
		snap.Process.Name.Value, snap.Process.Version.Value = "app", "v1."+string(rune('0'+i))
		if i == 4 {
			snap.CapturedAt = time.Time{}
		}
		snapshots = append(snapshots, snap)
	}
	c := report.Build(snapshots, nil, report.Options{})
	said := c.Said()
	at := func(i int) string { return said.Report.Series[0].Snapshots[i] }
	type row struct {
		Type, First, Last, Version string
		FirstCount, LastCount      int
	}
	var got []row
	for _, x := range said.Series[0].Objects {
		got = append(got, row{x.Type, at(x.First), at(x.Last), x.Version, x.FirstCount, x.LastCount})
	}
	if diff := cmp.Diff([]row{{"session", "b", "d", "v1.3", 3, 7}, {"watch", "b", "c", "v1.2", 1, 2}}, got); diff != "" {
		t.Error(diff)
	}
}
