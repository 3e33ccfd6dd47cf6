package trend

import (
	"fmt"
	"testing"

	"leakdiff/analysis"
)

func TestEveryGrowingFamilyIsNotComparedWithEveryOther(t *testing.T) {
	// 300 families leak and wait, beside 300 that came late and do not grow. Reading
	// the stacks again for each pair takes 150 MB, reading them once 2 MB.
	const each = 300
	none := 0
	first, snap := &analysis.Snapshot{Totals: analysis.Totals{Goroutines: &none}}, &analysis.Snapshot{}
	total := 0
	for f := range 2 * each {
		stack := &analysis.Stack{}
		for k := range 12 {
			stack.Frames = append(stack.Frames, analysis.Frame{Func: fmt.Sprintf("example.org/app/part%d.(*Worker[go.shape.int]).step%d", f, k)})
		}
		group := analysis.Group{
			Family: &analysis.Family{Fingerprint: fmt.Sprintf("f%05d", f), Kind: analysis.KindGoroutine},
			Count:  2, States: map[string]int{"chan receive": 2}, Variants: []analysis.Variant{{Stack: stack, Count: 2}},
		}
		if f < each {
			group.Leaked = 2
		}
		snap.Groups = append(snap.Groups, group)
		total += group.Count
	}
	snap.Totals.Goroutines = &total
	s := seriesOf([]*analysis.Snapshot{first, snap})
	var points []Point
	taken := allocated(func() { points = s.Explain() })
	t.Logf("%d points with %d KiB", len(points), taken>>10)
	if late := len(s.recentFamilies[1]()); late != each {
		t.Errorf("%d families came late, want %d", late, each)
	}
	if len(points) != each || taken > 32<<20 {
		t.Errorf("%d points with %d MiB, want %d with some", len(points), taken>>20, each)
	}
}
