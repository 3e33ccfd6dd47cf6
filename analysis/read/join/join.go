package join

import (
	"encoding/binary"
	"fmt"

	"leakdiff/analysis"
)

// joiner holds the goroutines of a dump while they are joined. A goroutine is a number:
// those of the first shape come first.
type joiner struct {
	*Tokens
	base []uint32 // of each shape its first goroutine
	// tokens are in parts that share no address. In a part they are ordered by address and
	// goroutine. Of those that show the same address at a place, the first stands for all
	// if they are many.
	tokens [parts][]token
	ids    ids
	of     []uint16 // of each goroutine its shape
	edges  edges
	// types of receivers: how many addresses have each, and which pairs of types may
	// share an address.
	instances []int
	// order are the types from the rarest on; stray are those that name nothing.
	order []int32
	stray []bool
	pairs map[[2]int32]int
	// classes numbers the classes of untyped words by a hash of their sites.
	classes map[uint64]int32
	// untypedNames are their sites in words, to order them.
	untypedNames []string
	// roleTotal is the number of goroutines that have each role.
	roleTotal []int
	rules     map[link]*rule
	recent    [256]recentRule
	// parents counts the goroutines of a role that created others of a role.
	parents map[parentage]int
	// settled counts the creators of a child whose role nearly always has one.
	settled map[link]int
	// parentOf is the creator plus 1 of each goroutine, nil if the dump names none.
	parentOf []uint32
	// visits are the addresses that goroutines show without being parts of them.
	visits map[uint32][]uint64
	// anchors are the places plus 1 of the receivers that goroutines would be named for if
	// they were alone.
	anchors []uint32

	// counts are those of the roles in touched within one instance.
	counts  []int
	touched []int32
	scratch instance
	group   []uint32
	siteSet []int32
	union   union
	// dropped are the classes that joined most of an object that was too large, by what
	// was its representative; formerly has that of each goroutine.
	dropped  map[uint32]int32
	formerly []uint32
}

// link is a class of instances and the role of goroutines that show one.
type link struct{ class, role int32 }

// parentage is a creating function with the role of what it creates, and the role of the
// goroutine that called it.
type parentage struct {
	child  link
	parent int32
}

// The classes are those of receiver types, of untyped words and of creators. They are
// numbered apart.
const (
	untypedClass = 1 << 29
	creatorClass = 1 << 30
)

// none stands for a goroutine or type that is not there.
const none = -1

// Objects joins the goroutines that were added, and uses up t. No address leaves it.
func Objects(t *Tokens) *analysis.Objects {
	if t.full {
		return &analysis.Objects{LeftOut: fmt.Sprintf("the goroutines show more than %d addresses", t.most())}
	}
	j := &joiner{Tokens: t, pairs: map[[2]int32]int{}, classes: map[uint64]int32{}, rules: map[link]*rule{}, parents: map[parentage]int{}}
	j.keepHeap()
	j.number()
	j.gather()
	j.countTypes()
	j.counts = make([]int, len(t.roles.all))
	j.measure()
	j.findVisits()
	j.findAnchors()
	j.joinAll()
	return j.objects()
}

// each calls visit with the id and the creator of each goroutine.
func (s *shape) each(visit func(id, parent int64)) {
	id := int64(0)
	for data := s.members; len(data) > 0; {
		step, n := binary.Varint(data)
		data = data[n:]
		id += step
		back, n := binary.Varint(data)
		data = data[n:]
		visit(id, id-back)
	}
}

// number numbers the goroutines and reads their ids and creators.
func (j *joiner) number() {
	j.roleTotal = make([]int, len(j.roles.all))
	j.base = make([]uint32, len(j.shapes))
	total := uint32(0)
	for i := range j.shapes {
		j.base[i] = total
		total += j.shapes[i].count
		j.roleTotal[j.shapes[i].role] += int(j.shapes[i].count)
	}
	j.ids, j.of = newIDs(j.shapes, total, j.least, j.largest), make([]uint16, 0, total)
	for i := range j.shapes {
		for range j.shapes[i].count {
			j.of = append(j.of, uint16(i))
		}
	}
	j.edges = edgesOf(j.shapes, j.base, &j.ids)
	j.edges.each(func(_, parent int32, children []uint32) {
		if parent < 0 {
			return
		}
		if j.parentOf == nil {
			j.parentOf = make([]uint32, total)
		}
		for _, g := range children {
			j.parentOf[g] = uint32(parent) + 1
		}
	})
	for i := range j.shapes {
		j.shapes[i].members = nil
	}
}

// roleOf is the role of a goroutine.
func (j *joiner) roleOf(g uint32) int32 { return j.shapes[j.of[g]].role }

// className is a type or creator, or the sites of untyped words.
func (j *joiner) className(class int32) string {
	switch {
	case class >= creatorClass:
		return j.creators.all[class-creatorClass]
	case class >= untypedClass:
		return j.untypedNames[class-untypedClass]
	}
	return j.types.all[class]
}
