package join

import (
	"slices"
	"strings"
)

// keepHeap drops the tokens that are no objects: an address is in the heap if its block
// holds two addresses of one receiver type, or one in its area does: a large heap has blocks
// with one object of each type. The first word of a generic method may be the
// dictionary of its types, which is no object: such types prove no heap.
func (j *joiner) keepHeap() {
	shift := j.blockShift()
	type typeBlock struct {
		typ   int32
		block uint64
	}
	first, heap, areas := map[typeBlock]uint64{}, map[uint64]bool{}, map[uint64]bool{}
	see := func(address uint64, place uint32) {
		block, typ := address>>shift, j.places[place].typ
		if typ < 0 || heap[block] || strings.Contains(j.types.all[typ], "[...]") {
			return
		}
		known, seen := first[typeBlock{typ, block}]
		if !seen {
			first[typeBlock{typ, block}] = address
		} else if known != address {
			heap[block] = true
			areas[address>>areaShift] = true
		}
	}
	within := func(address uint64) bool {
		return heap[address>>shift] || shift == largeShift && areas[address>>areaShift]
	}
	for _, slab := range j.slabs {
		for _, k := range slab {
			see(k.address, k.place)
		}
	}
	for i := range j.places {
		if p := &j.places[i]; p.until > 0 {
			see(p.same, uint32(i))
		}
	}
	for i := range j.sites {
		s := &j.sites[i]
		s.pair = s.pair && len(s.blocks) <= mostBlocks && !slices.ContainsFunc(s.blocks, func(b uint64) bool { return within(b << smallShift) })
	}
	keep := func(address uint64, p *place) bool {
		return within(address) && !p.dead && (!p.pair || j.sites[p.site].pair)
	}
	for i := range j.places {
		if p := &j.places[i]; !keep(p.same, p) {
			p.until = 0
		}
	}
	j.keepIf(func(k token) bool { return keep(k.address, &j.places[k.place]) })
}

// blockShift is the size of a block as a power of two: programs with 32 bits have
// smaller ones.
func (j *joiner) blockShift() int {
	for i := range j.places {
		if j.places[i].same>>32 > 0 {
			return largeShift
		}
	}
	return smallShift
}

// gather moves all tokens to their parts, and adds those of places that show one address.
// What is moved is freed on the way.
func (j *joiner) gather() {
	var sizes [parts]int
	j.all(func(k token) { sizes[partOf(k.address)]++ })
	add := func(k token) {
		k.goroutine += j.base[j.places[k.place].shape]
		part := &j.tokens[partOf(k.address)]
		*part = append(*part, k)
	}
	for begin := 0; begin < parts; begin += partsAtOnce {
		now := func(k token) bool { part := partOf(k.address); return part >= begin && part < begin+partsAtOnce }
		for i := range partsAtOnce {
			j.tokens[begin+i] = make([]token, 0, sizes[begin+i])
		}
		j.keepIf(func(k token) bool {
			if now(k) {
				add(k)
				return false
			}
			return true
		})
		j.same(func(k token) {
			if now(k) {
				add(k)
			}
		})
		for i := range partsAtOnce {
			slices.SortFunc(j.tokens[begin+i], compareTokens)
		}
	}
	j.slabs = nil
}

// parts is the number of parts that the tokens are sorted in, of which partsAtOnce are gathered in
// one pass: a part of a large dump fits into a cache.
const parts, partsAtOnce = 64, 8

func partOf(address uint64) int { return int(mix(address) % parts) }

// all calls visit with all tokens before they are gathered.
func (j *joiner) all(visit func(token)) {
	for _, slab := range j.slabs {
		for _, k := range slab {
			visit(k)
		}
	}
	j.same(visit)
}

// same calls visit with tokens for the places that show one address.
func (j *joiner) same(visit func(token)) {
	for i := range j.places {
		p := &j.places[i]
		n := p.until
		if p.wide() {
			n = 1
		}
		for g := range n {
			visit(token{p.same, g, uint32(i)})
		}
	}
}

// fewSame is up to how many goroutines get a token of their own for an address that the
// first ones of their shape show.
const fewSame = 64

// runs calls visit with the tokens of each address.
func (j *joiner) runs(visit func([]token)) {
	for _, part := range j.tokens {
		runsOf(part, visit)
	}
}
