package flame

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// State is a state of members with their number: "chan send".
type State struct {
	Name  string
	Count int
}

// States are those of the members of a kind, the most frequent first.
func States(groups []analysis.Group, kind analysis.Kind) []State {
	counts := map[string]int{}
	for i := range groups {
		if g := &groups[i]; g.Family != nil && g.Family.Kind == kind {
			for name, n := range g.States {
				counts[name] += n
			}
		}
	}
	out := make([]State, 0, len(counts))
	for name, n := range counts {
		out = append(out, State{name, n})
	}
	slices.SortFunc(out, func(a, b State) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return out
}

// InState are the groups with their members of one state alone, or all for "".
func InState(groups []analysis.Group, state string) []analysis.Group {
	if state == "" {
		return groups
	}
	var out []analysis.Group
	for i := range groups {
		if n := groups[i].States[state]; n > 0 {
			g := groups[i]
			g.Count = n
			out = append(out, g)
		}
	}
	return out
}
