package trend

import (
	"fmt"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestEveryGrowingFamilyIsNotComparedWithEveryOther(t *testing.T) {
	// 3,000 families that leak and wait, beside 3,000 that were there from the start. To
	// read the stacks of the ones again for each of the others takes a minute.
	const each = 3_000
	snap := &analysis.Snapshot{}
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
	s := NewSeries([]*analysis.Snapshot{snap})
	began := time.Now()
	points := s.Explain()
	if took := time.Since(began); len(points) != each || took > 5*time.Second {
		t.Errorf("%d points after %s, want %d in a moment", len(points), took, each)
	}
}
