package wait

import (
	"slices"

	"leakdiff/analysis"
)

// Ahead are goroutines that went on where others wait without a lock: they have the slots of a
// full semaphore, or make the call that all others of a group wait for.
//
//	main.limiter.acquire      at line 119, chan send    net.(*conn).Read
//	main.(*renderer).render   at line 128               main.(*renderer).fetchFont
//	                                                    main.(*renderer).render      at line 131
//
// A dump does not print who has what, so they are likely at most.
type Ahead struct {
	// Count are those of one family, Fingerprint.
	Count       int
	Fingerprint string
	// Func is the function in which both are, At their first own frame.
	Func, At string
	// State is that of most, For what they wait for.
	State string
	For   Reason
}

// mostOuter is how many own frames of a stack are compared.
const mostOuter = 3

// AheadOf finds the goroutines that are ahead of most members of a waiting family in the last of two
// snapshots, nil without any. They are on a later line of a function that both are in, wait
// themselves, and did so before. own reports which frames of a stack are of the program. others are
// families that wait as well.
func AheadOf(before, last *analysis.Snapshot, waiting *analysis.Group, others []string, own func(*analysis.Stack) []bool) *Ahead {
	stack := commonStack(waiting)
	if stack == nil || !waitsForOthers(commonState(waiting), stack) {
		return nil
	}
	marks, seen := own(stack), 0
	for i, frame := range stack.Frames {
		if seen == mostOuter {
			break
		}
		if !marks[i] {
			continue
		}
		seen++
		var found *Ahead
		for g := range last.Groups {
			group := &last.Groups[g]
			if group.Family.Kind != analysis.KindGoroutine || group.Family == waiting.Family || slices.Contains(others, group.Family.Fingerprint) {
				continue
			}
			if a := aheadIn(before, group, frame, own); a != nil && a.Count <= waiting.Count && (found == nil || a.Count > found.Count) {
				found = a
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// waitsForOthers reports a wait that those ahead can end: by a receive that frees a slot, or by Done.
// Who receives waits for the next message, which nobody ahead of it sends.
func waitsForOthers(state string, stack *analysis.Stack) bool {
	return state == "chan send" || reason(state, stack) == ForWaitGroup
}

// aheadIn counts the members of a family that are on a later line of a frame's function.
func aheadIn(before *analysis.Snapshot, group *analysis.Group, frame analysis.Frame, own func(*analysis.Stack) []bool) *Ahead {
	further := make([]bool, len(group.Variants))
	a := &Ahead{Fingerprint: group.Family.Fingerprint, Func: frame.Func, At: frame.Func, State: commonState(group)}
	for v, variant := range group.Variants {
		at := slices.IndexFunc(variant.Stack.Frames, func(f analysis.Frame) bool { return f.Func == frame.Func && f.Line > frame.Line })
		if further[v] = at >= 0 && frame.Line > 0; further[v] {
			if first := slices.Index(own(variant.Stack), true); first >= 0 {
				a.At = variant.Stack.Frames[first].Func
			}
			a.For = reason(a.State, variant.Stack)
		}
	}
	if !slices.Contains(further, true) || a.For == Running {
		return nil
	}
	there := map[int64]bool{}
	for g := range before.Groups {
		if before.Groups[g].Family.Fingerprint == a.Fingerprint {
			for id := range before.Groups[g].Members.IDs() {
				there[id] = true
			}
		}
	}
	for m := range group.Members.InVariants(func(variant int) bool { return variant >= 0 && variant < len(further) && further[variant] }) {
		if !there[m.Identity.ID] || runs(m.State) {
			return nil // they come and go
		}
		a.Count++
	}
	if a.Count == 0 {
		return nil
	}
	return a
}

// commonStack is the stack of most members.
func commonStack(g *analysis.Group) (stack *analysis.Stack) {
	most := 0
	for i := range g.Variants {
		if v := &g.Variants[i]; v.Count > most && v.Stack != nil {
			stack, most = v.Stack, v.Count
		}
	}
	return stack
}
