package wait

import (
	"cmp"
	"iter"
	"slices"
)

// FewestLasting is in how many dumps in a row a ring of likely holders must stand. In one dump half of
// healthy programs that take locks in one order show such a ring by chance; their goroutines go on.
const FewestLasting = 3

// link is a member of a ring: a holder that waits at At, of goroutines inside a method of the object.
type link struct {
	id               int64
	name, at, inside string
}

// Lasting adds to the cycles the rings of likely holders in which the same goroutines stand in the same
// functions in the dumps before, the last of these first.
func (g *Graph) Lasting(before iter.Seq[*Graph]) {
	rings := g.rings()
	if len(rings) == 0 {
		return
	}
	dumps := 1
	for earlier := range before {
		if earlier == nil {
			return
		}
		was := earlier.rings()
		rings = slices.DeleteFunc(rings, func(ring []int) bool {
			return !slices.ContainsFunc(was, func(other []int) bool { return slices.Equal(g.links(ring), earlier.links(other)) })
		})
		if dumps++; len(rings) == 0 || dumps == FewestLasting {
			break
		}
	}
	if dumps < FewestLasting {
		return
	}
	for _, ring := range rings {
		if len(g.Cycles) < mostCycles {
			g.Cycles = append(g.Cycles, ring)
		}
	}
}

// rings are the chains of likely holders that close, without the locks of cycles.
func (g *Graph) rings() (out [][]int) {
	seen := make([]bool, len(g.Locks))
	for _, cycle := range g.Cycles {
		for _, i := range cycle {
			seen[i] = true
		}
	}
	for start := range g.Locks {
		ring := []int{}
		for i := start; i >= 0 && !seen[i] && !slices.Contains(ring, i); i = g.Locks[i].next() {
			if ring = append(ring, i); g.Locks[i].next() == start {
				out = append(out, ring)
				for _, k := range ring {
					seen[k] = true
				}
				break
			}
		}
	}
	return out
}

// next is the lock for which the likely holder of a lock waits, -1 without one.
func (n *Node) next() int {
	if len(n.Holders) != 1 || n.Holders[0].Recursive || n.Holders[0].Certainty == Possible || n.Holders[0].ID <= 0 {
		return -1
	}
	return n.Holders[0].Lock
}

// links are the holders of a ring, each of which waits for the next lock, in an order that two dumps share.
func (g *Graph) links(ring []int) (out []link) {
	for k, i := range ring {
		next := ring[(k+1)%len(ring)]
		at := slices.IndexFunc(g.Locks[i].Holders, func(h Holding) bool { return h.Lock == next })
		h := &g.Locks[i].Holders[at]
		out = append(out, link{h.ID, h.Name, h.At, h.Inside})
	}
	slices.SortFunc(out, func(a, b link) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.name, b.name)) })
	return out
}

// Stood reports whether the same members stand in the same functions of a ring in an earlier dump, which
// may be nil, as in a cycle of this one.
func (g *Graph) Stood(cycle []int, earlier *Graph) bool {
	return earlier != nil && slices.ContainsFunc(slices.Concat(earlier.Cycles, earlier.rings()), func(other []int) bool {
		return slices.Equal(g.links(cycle), earlier.links(other))
	})
}
