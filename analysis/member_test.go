package analysis_test

import (
	"cmp"
	"runtime"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

func TestTheFirstMembersAreThoseOfTheSmallestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Int64Range(-20, 20), 1, 60).Draw(t, "ids")
		var goroutines []analysis.PackedMember
		for i, id := range ids {
			goroutines = append(goroutines, analysis.PackedMember{ID: id, Offset: int64(i)})
		}
		packed := analysis.Members{States: []string{"running"}, Packed: []analysis.Packing{{Packed: pack(goroutines)}}}
		limit := rapid.IntRange(0, 70).Draw(t, "limit")
		want := slices.Collect(packed.All())
		slices.SortStableFunc(want, func(a, b analysis.Member) int { return cmp.Compare(a.Identity.ID, b.Identity.ID) })
		if limit > 0 {
			want = want[:min(limit, len(want))]
		}
		if d := gocmp.Diff(want, packed.First(limit)); d != "" {
			t.Fatal(d)
		}
		columns := packed
		columns.Unpack()
		if d := gocmp.Diff(want, columns.First(limit)); d != "" {
			t.Fatalf("of columns: %s", d)
		}
	})
	nobody := analysis.Members{Columns: &analysis.Columns{Offset: []int64{30, 10, 20}}}
	if got := nobody.First(2); len(got) != 2 || got[0].Place.Offset != 30 {
		t.Errorf("without ids: %+v", got)
	}
}

func TestAFewOfAMillionMembersCostLittle(t *testing.T) {
	p := &analysis.Packed{}
	for i := range int64(1_000_000) {
		p.Append(analysis.PackedMember{ID: 2_000_000 - i, Offset: i * 100, Length: 99})
	}
	m := analysis.Members{States: []string{"running"}, Packed: []analysis.Packing{{Packed: p}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := m.First(100)
	runtime.ReadMemStats(&after)
	if len(got) != 100 || got[0].Identity.ID != 1_000_001 {
		t.Errorf("%d members, the first %+v", len(got), got[0])
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<20 {
		t.Errorf("%d bytes were allocated", spent)
	}
}

func TestMembersOfSomeVariants(t *testing.T) {
	a, b := &analysis.Packed{}, &analysis.Packed{}
	a.Append(analysis.PackedMember{ID: 1})
	b.Append(analysis.PackedMember{ID: 2})
	b.Append(analysis.PackedMember{ID: 3})
	packed := analysis.Members{States: []string{"running"}, Packed: []analysis.Packing{{Packed: a, Variant: 0}, {Packed: b, Variant: 1}}}
	columns := packed
	columns.Unpack()
	for name, m := range map[string]analysis.Members{"packed": packed, "columns": columns} {
		var got []int64
		for x := range m.InVariants(func(variant int) bool { return variant == 1 }) {
			got = append(got, x.Identity.ID)
		}
		if want := []int64{2, 3}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
