package trend

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// TestMembersAreNumberedAsByAMap enters members that come, go and come back, in any
// order and with duplicates, and compares with a map.
func TestMembersAreNumberedAsByAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracked := &tracking{}
		numbering, plain := numbering{tracking: tracked}, map[int64]int32{}
		for i := range rapid.IntRange(1, 30).Draw(t, "snapshots") {
			ids := rapid.SliceOfN(rapid.Int64Range(1, int64(20+5*i)), 0, 15).Draw(t, "ids")
			got := numbering.number(int32(i), &analysis.Members{Columns: &analysis.Columns{ID: ids}})
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
					if int(tracked.first[number]) != i {
						t.Fatalf("member %d is first seen at %d, want %d", id, tracked.first[number], i)
					}
				}
				if got[k] != number || tracked.ids[number] != id {
					t.Fatalf("member %d has number %d, want %d", id, got[k], number)
				}
			}
		}
		if len(tracked.ids) != len(plain) {
			t.Fatalf("%d numbers for %d members", len(tracked.ids), len(plain))
		}
	})
}

// TestSpansSayWhatSightsSay follows members that come and go, some with gaps, in both
// ways: with points that leave snapshots out, and with members of an earlier start of
// the process.
func TestSpansSayWhatSightsSay(t *testing.T) {
	spans := 0
	rapid.Check(t, func(t *rapid.T) {
		snapshots := rapid.IntRange(4, 20).Draw(t, "snapshots")
		tracked := &tracking{members: make([][]int32, snapshots), complete: make([]bool, snapshots)}
		numbering := numbering{tracking: tracked}
		type stay struct{ from, to, away int }
		members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stay {
			from := rapid.IntRange(0, snapshots-1).Draw(t, "from")
			return stay{from, rapid.IntRange(from, snapshots-1).Draw(t, "to"), rapid.IntRange(0, 20*snapshots).Draw(t, "away")}
		}), 0, 40).Draw(t, "members")
		restart := rapid.IntRange(0, snapshots/2).Draw(t, "restart")
		away := false
		for i := range snapshots {
			if i == restart {
				numbering.startEpoch()
			}
			var ids []int64
			for id, m := range members {
				if m.from <= i && i <= m.to && i != m.away {
					ids = append(ids, int64(id+1))
				}
				away = away || i == m.away && m.from < i && i < m.to
			}
			tracked.members[i] = numbering.number(int32(i), &analysis.Members{Columns: &analysis.Columns{ID: ids}})
		}
		tracked.last = tracked.lastSightings()
		if tracked.last == nil && !away {
			t.Fatal("nobody was away, and the spans are not known")
		}
		if tracked.last == nil {
			return
		}
		var run []point
		for i := restart; i < snapshots; i++ {
			if i == restart || rapid.IntRange(0, 3).Draw(t, "left out") > 0 {
				run = append(run, point{index: i, at: float64(i) / 100, timed: true})
			}
		}
		if len(run) < 2 {
			return
		}
		spans++
		dated := rapid.Bool().Draw(t, "dated")
		fast, slow := cohort{run: run, dated: dated}, cohort{run: run, dated: dated}
		fast.follow(tracked)
		plain := *tracked
		plain.last = nil
		slow.follow(&plain)
		if !reflect.DeepEqual(fast, slow) {
			t.Fatalf("by spans %+v, by sightings %+v", fast, slow)
		}
	})
	if spans == 0 {
		t.Error("no case had spans")
	}
}
