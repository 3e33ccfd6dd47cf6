package join

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
)

// edges are the goroutines of a dump by creator: each creating function's goroutines lie
// together, as do those that one goroutine created.
type edges []created

// created are the goroutines of one creating function.
type created struct {
	creator int32
	// list holds, for each goroutine that created others by it, its own number plus 1 with
	// the flag of a parent, or 0 with it if it has ended, and the numbers of those it
	// created.
	list []uint32
}

// parentFlag marks a parent in created.list.
const parentFlag = 1 << 31

// child is a goroutine and who created it.
type child struct {
	parent int64
	number uint32
}

// edgesOf finds who created whom. Dumps of Go before 1.21 do not tell.
func edgesOf(shapes []shape, base []uint32, all *ids) edges {
	var found index
	byCreator := map[int32][]int{}
	var creators []int32
	for i := range shapes {
		if c := shapes[i].creator; c >= 0 {
			if byCreator[c] == nil {
				creators = append(creators, c)
			}
			byCreator[c] = append(byCreator[c], i)
		}
	}
	most := 0
	for _, members := range byCreator {
		n := 0
		for _, s := range members {
			n += int(shapes[s].count)
		}
		most = max(most, n)
	}
	var e edges
	children := make([]child, 0, most)
	for _, creator := range creators {
		children = children[:0]
		for _, s := range byCreator[creator] {
			g := base[s]
			shapes[s].each(func(_, parent int64) {
				if parent > 0 {
					children = append(children, child{parent, g})
				}
				g++
			})
		}
		if len(children) == 0 {
			continue
		}
		slices.SortFunc(children, func(a, b child) int { return cmp.Compare(a.parent, b.parent) })
		if found.slots == nil {
			found = all.index()
		}
		size := len(children)
		for i, c := range children {
			if i == 0 || c.parent != children[i-1].parent {
				size++
			}
		}
		list := make([]uint32, 0, size)
		for i, c := range children {
			if i == 0 || c.parent != children[i-1].parent {
				list = append(list, parentFlag|found.number(all, c.parent))
			}
			list = append(list, c.number)
		}
		e = append(e, created{creator, list})
	}
	return e
}

// each calls visit with the goroutines that one goroutine created by one function; parent
// is none if it has ended.
func (e edges) each(visit func(creator, parent int32, children []uint32)) {
	for _, r := range e {
		list := r.list
		for i := 0; i < len(list); {
			end := i + 1
			for end < len(list) && list[end]&parentFlag == 0 {
				end++
			}
			visit(r.creator, int32(list[i]&^parentFlag)-1, list[i+1:end])
			i = end
		}
	}
}

// ids are those of goroutines, as what they are above the smallest if that fits.
type ids struct {
	least int64
	near  []uint32
	far   []int64
}

// newIDs reads the ids of all goroutines, the least and the largest of which are given.
func newIDs(shapes []shape, total uint32, least, most int64) ids {
	all := ids{least: least}
	if most-least > math.MaxUint32 {
		all.far = make([]int64, 0, total)
	} else {
		all.near = make([]uint32, 0, total)
	}
	for i := range shapes {
		shapes[i].each(func(id, _ int64) {
			if all.far != nil {
				all.far = append(all.far, id)
			} else {
				all.near = append(all.near, uint32(id-all.least))
			}
		})
	}
	return all
}

func (all *ids) len() int { return max(len(all.near), len(all.far)) }

func (all *ids) at(g uint32) int64 {
	if all.far != nil {
		return all.far[g]
	}
	return all.least + int64(all.near[g])
}

// index finds goroutines by id: their numbers plus 1 stand at the hash of the id or after
// it. A quarter of the slots is free. The seed is random, so that no dump can put
// all ids into one place.
type index struct {
	seed  maphash.Seed
	slots []uint32
}

func (all *ids) index() index {
	n := all.len()
	x := index{maphash.MakeSeed(), make([]uint32, n+n/3+1)}
	for g := range uint32(n) {
		at := x.slot(all.at(g))
		for x.slots[at] > 0 && all.at(x.slots[at]-1) != all.at(g) {
			at = x.after(at)
		}
		if x.slots[at] == 0 { // an id that comes twice is that of the first
			x.slots[at] = g + 1
		}
	}
	return x
}

func (x index) slot(id int64) int {
	return int(maphash.Comparable(x.seed, id) % uint64(len(x.slots)))
}

func (x index) after(at int) int {
	if at++; at == len(x.slots) {
		return 0
	}
	return at
}

// number is that of the goroutine with an id plus 1, 0 if the dump does not show it.
func (x index) number(all *ids, id int64) uint32 {
	for at := x.slot(id); x.slots[at] > 0; at = x.after(at) {
		if all.at(x.slots[at]-1) == id {
			return x.slots[at]
		}
	}
	return 0
}
