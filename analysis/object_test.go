package analysis

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRowsOfObjectsAreThoseThatWereAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k ObjectKind
		var want []ObjectRow
		for range rapid.IntRange(0, 20).Draw(t, "rows") {
			parts := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<62), 1, 9, rapid.ID[int64]).Draw(t, "parts")
			slices.Sort(parts)
			row := ObjectRow{Root: rapid.SampledFrom(parts).Draw(t, "root"), Parts: parts}
			k.Append(row)
			want = append(want, row)
		}
		var got []ObjectRow
		for row := range k.Rows() {
			row.Parts = slices.Clone(row.Parts)
			got = append(got, row)
		}
		if diff := cmp.Diff(want, got); diff != "" || k.Count != len(want) {
			t.Fatalf("%d rows (-want +got):\n%s", k.Count, diff)
		}
	})
}
