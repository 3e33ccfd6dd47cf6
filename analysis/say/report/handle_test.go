package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestHandlesAreStable(t *testing.T) {
	counts := analysis.CountsOf
	of := func(series ...[]Family) (out []map[string]string) {
		all := make([]Series, len(series))
		for i := range all {
			all[i].Families = series[i]
		}
		handles(all)
		for _, s := range all {
			named := map[string]string{}
			for _, f := range s.Families {
				named[f.Fingerprint] = f.Handle
			}
			out = append(out, named)
		}
		return out
	}
	g, d := analysis.KindGoroutine, analysis.KindDescriptor
	before := of([]Family{{Fingerprint: "b", Kind: g, Counts: counts(1, 2)}, {Fingerprint: "c", Kind: g, Counts: counts(0, 2)}, {Fingerprint: "d", Kind: d, Counts: counts(3, 3)}})
	if diff := cmp.Diff([]map[string]string{{"b": "g-1", "c": "g-2", "d": "r-1"}}, before); diff != "" {
		t.Error(diff)
	}
	// One more snapshot brings a family that sorts before all, and changes their order.
	after := of([]Family{{Fingerprint: "a", Kind: g, Counts: counts(0, 0, 9)}, {Fingerprint: "c", Kind: g, Counts: counts(0, 2, 2)}, {Fingerprint: "d", Kind: d, Counts: counts(3, 3, 3)}, {Fingerprint: "b", Kind: g, Counts: counts(1, 2, 2)}},
		[]Family{{Fingerprint: "c", Kind: g, Counts: counts(7)}, {Fingerprint: "w", Kind: analysis.KindWatch, Counts: counts(7)}})
	if diff := cmp.Diff([]map[string]string{{"a": "g-3", "b": "g-1", "c": "g-2", "d": "r-1"}, {"c": "g-2", "w": "w-1"}}, after); diff != "" {
		t.Error(diff)
	}
}
