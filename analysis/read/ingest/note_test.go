package ingest

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNotesKeepEachArgumentOnceWithThoseThatNameIt(t *testing.T) {
	for name, addresses := range map[string]uint64{"one lock": 1, "some locks": 40, "hardly any twice": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, addresses))
			var got notes
			want := map[argument][]int64{}
			var order []argument
			for id := range int64(5000) {
				a := argument{random.Int32N(6), 0xc000000000 + 8*random.Uint64N(addresses)}
				if want[a] == nil {
					order = append(order, a)
				}
				want[a] = append(want[a], id)
				got.add(a, id)
			}
			if len(got.list) != len(order) {
				t.Fatalf("%d arguments, want %d", len(got.list), len(order))
			}
			for i, a := range order {
				known := &got.list[i]
				n, ids := got.namers(known), want[a]
				if known.argument != a || n.count() != len(ids) || !slices.Equal(n.appendTo(nil), ids[:min(len(ids), objectMembers)]) {
					t.Fatalf("%+v: %d goroutines, beginning with %v; want %v: %d, %v", known.argument, n.count(), n.appendTo(nil), a, len(ids), ids[:min(len(ids), objectMembers)])
				}
			}
		})
	}
}
