package flame_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
)

// inStates is a group whose members are in two states.
func inStates(sending, waiting int, stack string) analysis.Group {
	g := group(sending+waiting, stack)
	g.States = map[string]int{"chan send": sending, "select": waiting}
	return g
}

func TestOneStateHasATreeOfItsOwn(t *testing.T) {
	groups := []analysis.Group{inStates(5, 2, "m.start > m.run > m.send"), inStates(0, 4, "m.start > m.run > m.wait"), group(3, "m.start > m.run")}
	delete(groups[1].States, "chan send")
	if d := cmp.Diff([]flame.State{{"select", 6}, {"chan send", 5}}, flame.States(groups, analysis.KindGoroutine)); d != "" {
		t.Error(d)
	}
	if got := flame.States(groups, analysis.KindThread); len(got) > 0 {
		t.Errorf("threads have the states %v", got)
	}
	for state, want := range map[string]int{"chan send": 5, "select": 6, "sleep": 0, "": 14} {
		if got := flame.Of(flame.InState(groups, state), analysis.KindGoroutine).Root.Count; got != want {
			t.Errorf("%d in %q, want %d", got, state, want)
		}
	}
	if groups[0].Count != 7 {
		t.Error("the groups of the snapshot changed")
	}
}
