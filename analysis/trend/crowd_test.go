package trend

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// TestMembersAreNumberedAsByAMap enters members that come, go and come back, in any
// order and with doubles, and compares with the obvious way.
func TestMembersAreNumberedAsByAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &crowd{}
		book, plain := numbers{crowd: c}, map[int64]int32{}
		for i := range rapid.IntRange(1, 30).Draw(t, "snapshots") {
			ids := rapid.SliceOfN(rapid.Int64Range(1, int64(20+5*i)), 0, 15).Draw(t, "ids")
			got := book.enter(int32(i), &analysis.Members{ID: ids})
			distinct := slices.Clone(ids)
			slices.Sort(distinct)
			distinct = slices.Compact(distinct)
			if len(got) != len(distinct) {
				t.Fatalf("%d numbers for %d members", len(got), len(distinct))
			}
			for k, id := range distinct {
				number, known := plain[id]
				if !known {
					number = got[k]
					plain[id] = number
					if int(c.first[number]) != i {
						t.Fatalf("member %d is first seen at %d, want %d", id, c.first[number], i)
					}
				}
				if got[k] != number || c.ids[number] != id {
					t.Fatalf("member %d has number %d, want %d", id, got[k], number)
				}
			}
		}
		if len(c.ids) != len(plain) {
			t.Fatalf("%d numbers for %d members", len(c.ids), len(plain))
		}
	})
}
