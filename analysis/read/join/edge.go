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
	found := creatorsOf(ids, parents)
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
				e.list = append(e.list, parentFlag|found.number(parents[g]))
			}
			e.list = append(e.list, g)
		}
		e.creators = append(e.creators, edgeRange{creator, begin, len(e.list)})
	}
	return e
}

// creators are the goroutines that created others, by id.
type creators struct {
	ids []int64
	// numbers are those of the goroutines plus 1, 0 for one that the dump does not show.
	numbers []uint32
}

func creatorsOf(ids, parents []int64) creators {
	var c creators
	last := int64(0)
	for _, id := range parents {
		if id > 0 && id != last {
			c.ids = append(c.ids, id)
			last = id
		}
	}
	slices.Sort(c.ids)
	c.ids = slices.Compact(c.ids)
	c.numbers = make([]uint32, len(c.ids))
	if len(c.ids) == 0 {
		return c
	}
	for g, id := range ids {
		if i, is := slices.BinarySearch(c.ids, id); is {
			c.numbers[i] = uint32(g) + 1
		}
	}
	return c
}

func (c creators) number(id int64) uint32 {
	i, _ := slices.BinarySearch(c.ids, id)
	return c.numbers[i]
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
