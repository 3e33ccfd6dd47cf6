package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// shown builds a snapshot of goroutine families by their counts.
func shown(label string, counts map[string]int) *analysis.Snapshot {
	s := &analysis.Snapshot{ID: "s" + label, Label: label}
	total := 2
	for name, n := range counts {
		total += n
		s.Groups = append(s.Groups, analysis.Group{Family: &analysis.Family{Fingerprint: name, Kind: analysis.KindGoroutine, Title: name}, Count: n, OldestWait: -1})
	}
	s.Totals.Goroutines = &total
	return s
}

// counted writes a course as counts with -1 for none.
func counted(c Course) []int {
	out := make([]int, len(c.Counts))
	for i, n := range c.Counts {
		out[i] = -1
		if n.Known() {
			out[i] = n.N
		}
	}
	return out
}

func TestSnapshotsStandBesideOneAnother(t *testing.T) {
	empty := &analysis.Snapshot{ID: "sx", Label: "x"} // nothing of any kind
	cut := shown("cut", map[string]int{"a": 90})
	cut.LowerBound, cut.Truncated = true, true
	snapshots := []*analysis.Snapshot{
		shown("t0", map[string]int{"a": 1, "b": 7, "c": 5, "d": 3, "g": 9}), empty, cut,
		shown("t2", map[string]int{"a": 4, "b": 9, "c": 2, "d": 3, "e": 6, "f": 2}),
		shown("t3", map[string]int{"a": 8, "b": 7, "c": 2, "d": 3, "e": 6}),
	}
	type row struct {
		Section Section
		Delta   int
		Counts  []int
	}
	want := map[string]row{
		"a": {Growing, 7, []int{1, -1, 90, 4, 8}},
		"b": {Between, 0, []int{7, -1, 0, 9, 7}},
		"c": {Shrunk, -3, []int{5, -1, 0, 2, 2}},
		"d": {Unchanged, 0, []int{3, -1, 0, 3, 3}},
		"e": {New, 6, []int{0, -1, 0, 6, 6}},
		"f": {Between, 0, []int{0, -1, 0, 2, 0}},
		"g": {Gone, -9, []int{9, -1, 0, 0, 0}},
	}
	got := map[string]row{}
	var order string
	for _, c := range CompareMany(snapshots, nil).Rows {
		got[c.Family.Title] = row{c.Section, c.Delta, counted(c)}
		order += c.Family.Title
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if order != "aebfdcg" {
		t.Errorf("rows are in the order %s, want aebfdcg", order)
	}
}

func TestAFamilyThatWasNotThereGrowsWhereItsSeriesSaysSo(t *testing.T) {
	snapshots := []*analysis.Snapshot{shown("t0", map[string]int{"x": 1}), shown("t1", map[string]int{"x": 1, "leak": 5})}
	rows := CompareMany(snapshots, map[string]analysis.Judgement{"leak": {Verdict: analysis.Leaking}}).Rows
	if rows[0].Family.Title != "leak" || rows[0].Section != Growing {
		t.Errorf("%s is in section %s, want leak growing", rows[0].Family.Title, rows[0].Section)
	}
}

func TestOneCompleteSnapshotComparesNothing(t *testing.T) {
	cut := shown("t1", map[string]int{"x": 9})
	cut.LowerBound = true
	rows := CompareMany([]*analysis.Snapshot{shown("t0", map[string]int{"x": 1}), cut}, nil).Rows
	if len(rows) != 1 || rows[0].Compared || rows[0].Section != "" || rows[0].Delta != 0 {
		t.Errorf("%+v, want one row that is not compared", rows)
	}
}

func TestTwoSnapshotsGiveTheSectionsOfAPair(t *testing.T) {
	a := shown("t0", map[string]int{"up": 1, "down": 5, "same": 3, "gone": 2})
	b := shown("t1", map[string]int{"up": 4, "down": 1, "same": 3, "new": 2})
	want, got := map[string]Section{}, map[string]Section{}
	for _, r := range Compare(a, b, Options{}).Rows {
		want[r.Family.Title] = r.Section
	}
	for _, r := range CompareMany([]*analysis.Snapshot{a, b}, nil).Rows {
		got[r.Family.Title] = r.Section
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
