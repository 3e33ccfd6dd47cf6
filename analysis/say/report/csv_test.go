package report

import (
	"bytes"
	"encoding/csv"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/wording"
)

func TestACellIsTextOrAFigure(t *testing.T) {
	minus := -3
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		"a formula":                           {"=SUM(A1)", "'=SUM(A1)"},
		"a sum":                               {"+1", "'+1"},
		"text that begins with a hyphen":      {"-3 families", "'-3 families"},
		"a function call of old spreadsheets": {"@SUM(1)", "'@SUM(1)"},
		"a tab in front":                      {"\t=1", "'        =1"},
		"a carriage return in front":          {"\r=1", `'\x0d=1`},
		"spaces in front":                     {"  =1", "'  =1"},
		"a full-width sign":                   {"＝1", "'＝1"},
		"a function":                          {"prober.(*worker).run", "prober.(*worker).run"},
		"a negative figure stays a number":    {-3, "-3"},
		"a pointer to a negative figure":      {&minus, "-3"},
		"what was not captured is empty":      {(*int)(nil), ""},
		"an escape sequence shows what it is": {"a\x1b[0m", `a\x1b[0m`},
		"a line end cannot make another row":  {"a\nb", `a\x0ab`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sheetCell(c.in); got != c.want {
				t.Errorf("%#v is written as %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestNoTextIsComputedBySpreadsheets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.String(), 3, 3).Draw(t, "cells")
		var b bytes.Buffer
		s := newSheet(&b, []string{"a", "b", "c"})
		s.row([]any{cells[0], cells[1], cells[2]})
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		for i, cell := range rows[1] {
			if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
				t.Fatalf("cell %d is computed: %q", i, cell)
			}
			if strings.TrimPrefix(cell, "'") != wording.Printable(cells[i]) && cell != wording.Printable(cells[i]) {
				t.Fatalf("cell %d is %q of %q", i, cell, cells[i])
			}
		}
	})
}

func TestTheTableOfACaseHasAColumnForEachSnapshot(t *testing.T) {
	c := Build(append(leak("a", 3), leak("b", 2)...), nil, Options{Version: "test"})
	var b bytes.Buffer
	if err := CSV(&b, c.Report); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := rows[0]
	if d := cmp.Diff([]string{"t0", "t1", "t2"}, head[len(head)-3:]); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	got := map[string][]string{}
	for _, r := range rows[1:] {
		got[r[0]+" "+r[3]] = r[len(r)-3:]
	}
	want := map[string][]string{
		"a/main.leak": {"10", "20", "30"}, "a/main.pool": {"3", "3", "3"}, "b/main.leak": {"10", "20", ""}, "b/main.pool": {"3", "3", ""},
	}
	for name, counts := range want {
		found := false
		for key, have := range got {
			if strings.HasSuffix(key, name) {
				found = true
				if d := cmp.Diff(counts, have); d != "" {
					t.Errorf("%s (-want +got):\n%s", name, d)
				}
			}
		}
		if !found {
			t.Errorf("there is no row %s: %v", name, got)
		}
	}
}

func TestAFallIsANumberInTheTableOfAComparison(t *testing.T) {
	c := Build(leak("a", 2), nil, Options{Version: "test"})
	series := &c.Series[0]
	back := NewComparison(diff.Compare(series.Snapshots[1], series.Snapshots[0], diff.Options{}), series)
	var b bytes.Buffer
	if err := back.CSV(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), ",20,10,-10,") {
		t.Errorf("the table lacks a fall of 10:\n%s", b.String())
	}
}

func TestMembersAreListedWithTheirFirstSight(t *testing.T) {
	c := Build(leak("a", 3), nil, Options{Version: "test"})
	series := &c.Series[0]
	var family Family
	for _, f := range c.Report.Series[0].Families {
		if strings.Contains(f.Title, "leak") {
			family = f
		}
	}
	m := series.Membership(family, 2, 0)
	first := map[string]int{}
	for _, x := range m.Members {
		first[x.FirstSeen]++
	}
	if d := cmp.Diff(map[string]int{"t0": 10, "t1": 10, "t2": 10}, first); d != "" {
		t.Errorf("first seen (-want +got):\n%s", d)
	}
	if few := series.Membership(family, 2, 4); len(few.Members) != 4 || few.MembersTotal != 30 || *few.Members[0].ID != 10 {
		t.Errorf("%d of %d members, the first %v", len(few.Members), few.MembersTotal, *few.Members[0].ID)
	}
	if none := series.Membership(Family{Fingerprint: "g1:none"}, 2, 0); len(none.Members) != 0 {
		t.Errorf("an absent family has %d members", len(none.Members))
	}
}

func TestAFewMembersOfALargeFamilyCostLittle(t *testing.T) {
	series := &Build(leak("a", 3), nil, Options{Version: "test"}).Series[0]
	fingerprint := series.Snapshots[2].Groups[0].Family.Fingerprint
	for _, snap := range series.Snapshots {
		p := &analysis.Packed{}
		for i := range int64(300_000) {
			p.Append(analysis.PackedMember{ID: 10 + i, Offset: i * 100, Length: 99, Wait: -1})
		}
		GroupOf(snap, fingerprint).Members = analysis.Members{States: []string{"running"}, Packed: []analysis.Packing{{Packed: p}}}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := series.Membership(Family{Fingerprint: fingerprint}, 2, 100)
	runtime.ReadMemStats(&after)
	if len(m.Members) != 100 || *m.Members[99].ID != 109 || m.Members[99].FirstSeen != "t0" {
		t.Errorf("%d members, the last %+v", len(m.Members), m.Members[len(m.Members)-1])
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 2<<20 {
		t.Errorf("%d bytes were allocated", spent)
	}
}

func TestTheTableOfASnapshotHasARowForEachFamily(t *testing.T) {
	c := Build(leak("a", 2), nil, Options{Version: "test"})
	r := c.Report
	id := c.Series[0].Snapshots[1].ID
	r.Snapshots = []Snapshot{r.Snapshots[1]}
	r.Snapshots[0].Families = c.Series[0].SnapshotFamilies(c.Series[0].Snapshots[1])
	var b bytes.Buffer
	if err := SnapshotCSV(&b, r, id); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, want 3: %v", len(rows), err)
	}
	members := map[string]bool{}
	for _, row := range rows[1:] {
		members[row[6]] = true
		if row[3] != string(analysis.KindGoroutine) {
			t.Errorf("the kind is %q", row[3])
		}
	}
	if !members["20"] || !members["3"] {
		t.Errorf("members are %v", members)
	}
}

func TestEverySnapshotOfASeriesHasItsColumn(t *testing.T) {
	r := Report{Series: []Series{{Snapshots: []string{"1", "2", "3", "4", "5"}}, {Snapshots: []string{"6", "7"}}}}
	for i, label := range []string{"a", "a", "a (2)", "a", "", "a", "b"} {
		r.Snapshots = append(r.Snapshots, Snapshot{ID: string(rune('1' + i)), Label: label})
	}
	labels, at := snapshotColumns(r)
	if diff := cmp.Diff([]string{"a", "a (2)", "a (2) (2)", "a (3)", "#5", "b"}, labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"1": 0, "2": 1, "3": 2, "4": 3, "5": 4, "6": 0, "7": 5}, at); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGaugesAreRowsOfTheTableOfACase(t *testing.T) {
	in := leak("a", 3)
	for i := range in {
		in[i].Figures = map[string]float64{"pods_on_node": float64(11 + i), "process_resident_memory_bytes": 1.5 * (1 << 20)}
	}
	in[1].Figures = nil
	var b bytes.Buffer
	if err := CSV(&b, Build(in, nil, Options{}).Report); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		if row[2] == "gauge" {
			got = append(got, row[0]+" "+row[3]+" "+row[7]+": "+strings.Join(row[len(row)-3:], ", "))
		}
	}
	if diff := cmp.Diff([]string{"a pods_on_node : 11, , 13", "a process_resident_memory_bytes MiB: 1.5, , 1.5"}, got); diff != "" {
		t.Error(diff)
	}
}
