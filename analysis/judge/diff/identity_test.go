package diff

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// TestIdentitySetsAreThoseOfAMap compares with maps. Some members are a number alone,
// some have more parts, and some occur twice.
func TestIdentitySetsAreThoseOfAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group := func(name string) *analysis.Group {
			m := analysis.Members{Columns: &analysis.Columns{ID: rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 12).Draw(t, name)}}
			if len(m.ID) > 0 && rapid.Bool().Draw(t, name+" in full") {
				m.Sub = rapid.SliceOfN(rapid.Int64Range(0, 1), len(m.ID), len(m.ID)).Draw(t, name+" sub")
			}
			return &analysis.Group{Members: m}
		}
		byMap := func(groups ...*analysis.Group) map[analysis.Identity]bool {
			out := map[analysis.Identity]bool{}
			for _, g := range groups {
				for i := range g.Members.Fill().ID {
					out[g.Members.Identity(i)] = true
				}
			}
			return out
		}
		a1, a2, b := group("a1"), group("a2"), group("b")
		a, wantA, setB, wantB := identities{}.united([]*analysis.Group{a1, nil, a2}), byMap(a1, a2), identities{}.of(b), byMap(b)
		listed := func(name string, set identitySet, want map[analysis.Identity]bool) {
			if got := set.whole(); !slices.Equal(got, slices.SortedFunc(maps.Keys(want), analysis.Identity.Compare)) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		listed("a", a, wantA)
		listed("b", setB, wantB)
		both := 0
		for id := range wantA {
			if wantB[id] {
				both++
			}
		}
		if a.len() != len(wantA) || common(a, setB) != both || common(setB, a) != both {
			t.Errorf("%d members, want %d; %d in both, want %d", a.len(), len(wantA), common(a, setB), both)
		}
	})
}
