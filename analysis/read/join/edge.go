package join

import (
	"cmp"
	"slices"
)

// edges are the goroutines of a dump by creator: each creating function's goroutines lie
// together, as do those that one goroutine created.
type edges struct {
	// list holds, for each goroutine that created others by one function, its own number
	// plus 1 with the flag of a parent, or 0 with it if it has ended, and the numbers of
	// those it created.
	list []uint32
	// creators are the functions and where in list they begin.
	creators []edgeRange
}

type edgeRange struct {
	creator    int32
	begin, end int
}

// parentFlag marks a parent in edges.list.
const parentFlag = 1 << 31

// edgesOf finds who created whom. Dumps of Go before 1.21 do not tell.
func edgesOf(shapes []shape, base []uint32, ids, parents []int64) edges {
	order := make([]uint32, len(ids))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(ids[a], ids[b]) })
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
	var e edges
	var children []uint32
	for _, creator := range creators {
		children = children[:0]
		for _, s := range byCreator[creator] {
			for g := base[s]; g < base[s]+shapes[s].count; g++ {
				if parents[g] > 0 {
					children = append(children, g)
				}
			}
		}
		if len(children) == 0 {
			continue
		}
		slices.SortFunc(children, func(a, b uint32) int { return cmp.Compare(parents[a], parents[b]) })
		begin := len(e.list)
		for i, g := range children {
			if i == 0 || parents[g] != parents[children[i-1]] {
				e.list = append(e.list, parentFlag|numberOf(parents[g], ids, order))
			}
			e.list = append(e.list, g)
		}
		e.creators = append(e.creators, edgeRange{creator, begin, len(e.list)})
	}
	return e
}

// numberOf is the number of a goroutine plus 1, 0 if the dump does not show it.
func numberOf(id int64, ids []int64, order []uint32) uint32 {
	i, found := slices.BinarySearchFunc(order, id, func(g uint32, id int64) int { return cmp.Compare(ids[g], id) })
	if !found {
		return 0
	}
	return order[i] + 1
}

// each calls visit with the goroutines that one goroutine created by one function; parent
// is none if it has ended.
func (e *edges) each(visit func(creator, parent int32, children []uint32)) {
	for _, r := range e.creators {
		list := e.list[r.begin:r.end]
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
