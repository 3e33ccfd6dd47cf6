package wait

import (
	"slices"
	"testing"
)

// likelyHeld is a lock with a likely holder, which waits for another lock of the graph.
func likelyHeld(by int64, in string, next int) Node {
	return Node{Waiters: 3, Holders: []Holding{{Certainty: Likely, ID: by, At: in, Lock: next, For: ForLock}}}
}

func TestARingOfLikelyHoldersIsADeadlockWhereTheSameStandInThreeDumps(t *testing.T) {
	ring := func(a, b int64) *Graph {
		return &Graph{Locks: []Node{likelyHeld(a, "main.(*Account).Balance", 1), likelyHeld(b, "main.(*Ledger).Remove", 0)}}
	}
	with := func(change func(*Node)) *Graph {
		g := ring(9, 18)
		change(&g.Locks[1])
		return g
	}
	swapped := &Graph{Locks: []Node{likelyHeld(18, "main.(*Ledger).Remove", 1), likelyHeld(9, "main.(*Account).Balance", 0)}}
	for _, test := range []struct {
		name   string
		now    *Graph
		before []*Graph // the last first
		want   int
	}{
		{"the same two in three dumps", ring(9, 18), []*Graph{ring(9, 18), ring(9, 18)}, 1},
		{"the other lock has most waiters in a dump before", ring(9, 18), []*Graph{swapped, ring(9, 18)}, 1},
		{"they came to stand before the third dump back", ring(9, 18), []*Graph{ring(9, 18), ring(9, 18), ring(4, 5)}, 1},
		{"two dumps", ring(9, 18), []*Graph{ring(9, 18)}, 0},
		{"one dump", ring(9, 18), nil, 0},
		{"one of them is another one in the dump before", ring(9, 18), []*Graph{ring(9, 17), ring(9, 18)}, 0},
		{"one of them is another one two dumps before", ring(9, 18), []*Graph{ring(9, 18), ring(8, 18)}, 0},
		{"nobody waits in the dump before", ring(9, 18), []*Graph{nil, ring(9, 18)}, 0},
		{"one of them was in another function", ring(9, 18), []*Graph{ring(9, 18), with(func(n *Node) { n.Holders[0].At = "main.(*Ledger).Add" })}, 0},
		{"one is only possible", with(func(n *Node) { n.Holders[0].Certainty = Possible }), []*Graph{ring(9, 18), ring(9, 18)}, 0},
		{"one lock has two candidates", with(func(n *Node) { n.Holders = append(n.Holders, Holding{Certainty: Likely, ID: 30, Lock: -1}) }), []*Graph{ring(9, 18), ring(9, 18)}, 0},
		{"the chain ends at one that sleeps", with(func(n *Node) { n.Holders[0].Lock = -1 }), []*Graph{ring(9, 18), ring(9, 18)}, 0},
		{"one waits for the lock that it may hold itself", with(func(n *Node) { n.Holders[0].Recursive = true }), []*Graph{ring(9, 18), ring(9, 18)}, 0},
	} {
		test.now.Lasting(slices.Values(test.before))
		if len(test.now.Cycles) != test.want {
			t.Errorf("%s: %d deadlocks, want %d", test.name, len(test.now.Cycles), test.want)
		}
		for _, cycle := range test.now.Cycles {
			if test.now.Sure(cycle) != Possible {
				t.Errorf("%s: it is %s, want possible", test.name, test.now.Sure(cycle))
			}
		}
	}
}
