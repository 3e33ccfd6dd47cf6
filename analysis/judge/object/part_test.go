package object

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestTheFamiliesOfObjectsAreFoundInOnePassOrSeveral(t *testing.T) {
	// Two families of goroutines start the objects of each of four kinds and read for them; a
	// third is in no object. Of kind 3 one reader in four is elsewhere.
	var groups []analysis.Group
	group := func(name string, ids []int64) {
		groups = append(groups, analysis.Group{Family: &analysis.Family{Kind: analysis.KindGoroutine, Fingerprint: name}, Count: len(ids), Members: analysis.Members{Columns: &analysis.Columns{ID: ids}}})
	}
	kinds := func() (out []*Kind) {
		for n := range int64(4) {
			k := &Kind{Counts: analysis.Counts{analysis.Counted(4)}, roots: make([][]int64, 1)}
			for i := range int64(4) {
				k.roots[0] = append(k.roots[0], 100*n+2*i)
				k.parts = append(k.parts, 100*n+2*i)
				if n < 3 || i < 3 {
					k.parts = append(k.parts, 100*n+2*i+1)
				}
			}
			out = append(out, k)
		}
		return out
	}
	for n := range int64(4) {
		group(fmt.Sprint("starts ", n), []int64{100*n + 6, 100 * n, 100*n + 2, 100*n + 4})
		group(fmt.Sprint("reads ", n), []int64{100*n + 1, 100*n + 3, 100*n + 5, 100*n + 7})
	}
	group("alone", []int64{900, 901})
	s := &analysis.Snapshot{Groups: groups}
	for _, most := range []int{1, 9, 16, 1 << 20} {
		f := &finder{in: s, most: most}
		all := kinds()
		for _, k := range all {
			f.add(k)
		}
		f.find()
		for n, k := range all {
			want := []string{fmt.Sprint("starts ", n), fmt.Sprint("reads ", n)}
			if n == 3 { // 3 of 4 are less than leastOfFamily
				want = want[:1]
			}
			if diff := cmp.Diff(want, k.Families); diff != "" || k.RootFamily != want[0] || !slices.Equal(k.parts, nil) {
				t.Errorf("at most %d in a pass, kind %d: root %q, families (-want +got):\n%s", most, n, k.RootFamily, diff)
			}
		}
	}
}
