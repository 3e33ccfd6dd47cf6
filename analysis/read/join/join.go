package join

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"leakdiff/analysis"
)

// The numbers of the rules (objects.md section 2).
const (
	// leastInstances must show a role before it joins; of untyped words more.
	leastInstances, leastUntyped = 2, 3
	// leastMultiple is how many instances must show a role more than once, mostMultiple
	// how often each may.
	leastMultiple, mostMultiple = 5, 16
	// mostSharers may join by one address.
	mostSharers = 64
	// mostParts may be in one object.
	mostParts = 256
	// smallShift is that of the blocks of a heap with 32 bits, largeShift that of others.
	smallShift, largeShift = 22, 26
)

// common reports whether part is at least 80 % of whole.
func common(part, whole int) bool { return 5*part >= 4*whole }

// none stands for a goroutine or type that is not there.
const none = -1

// joiner holds the goroutines of a dump while they are joined. A goroutine is a number:
// those of the first shape come first.
type joiner struct {
	*Tokens
	salt [16]byte
	base []uint32 // of each shape its first goroutine
	// tokens are ordered by address and goroutine; wide are the places that many
	// goroutines show one address at, by address, with a token for the first of them.
	tokens []token
	wide   []int32
	ids    []int64
	of     []uint16 // of each goroutine its shape
	edges  edges
	// types of receivers: how many addresses have each, and which pairs of types may
	// share an address.
	instances []int
	pairs     map[[2]int32]int
	// classes numbers the classes of untyped words by a hash of their sites.
	classes map[uint64]int32
	// roleTotal is how many goroutines have each role.
	roleTotal []int
	rules     map[link]*rule
	parents   map[link]int // parents of a role with joined children of a creator

	// counts are those of the roles in touched within one instance.
	counts  []int
	touched []int32
	scratch instance
	siteSet []int32
	union   union
	// dropped are the classes that joined most of an object that was too large, by what
	// was its representative; formerly has that of each goroutine.
	dropped  map[uint32]int32
	formerly []uint32
}

// link is a class of instances and the role of goroutines that show one.
type link struct{ class, role int32 }

// rule counts the instances of a class that show a role, by how many goroutines do.
type rule struct {
	instances int
	times     [mostMultiple + 1]int
	// joins is how many goroutines of the role may join by an instance, 0 for a holder.
	joins int
}

// The classes are those of receiver types, of untyped words and of creators. They are
// numbered apart.
const (
	untypedClass = 1 << 29
	creatorClass = 1 << 30
)

// instance is one address, or one goroutine that created others, with those that show it.
type instance struct {
	class   int32
	typ     int32 // none for an untyped word or a creator
	address uint64
	parent  int32 // none for an address, or if the creator has ended
	sharers []uint32
}

// Objects joins the goroutines that were added, and uses up t. Addresses leave it as
// hashes with the salt.
func Objects(t *Tokens, salt [16]byte) *analysis.Objects {
	if t.full {
		return &analysis.Objects{LeftOut: fmt.Sprintf("the goroutines show more than %d addresses", t.most())}
	}
	j := &joiner{Tokens: t, salt: salt, pairs: map[[2]int32]int{}, classes: map[uint64]int32{}, rules: map[link]*rule{}, parents: map[link]int{}}
	j.number()
	j.keepHeap()
	slices.SortFunc(j.tokens, compareTokens)
	j.countTypes()
	j.counts = make([]int, len(t.roles.all))
	j.measure()
	j.joinAll()
	return j.objects()
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
	j.ids, j.of = make([]int64, 0, total), make([]uint16, 0, total)
	parents := make([]int64, 0, total)
	for i := range j.shapes {
		s, id := &j.shapes[i], int64(0)
		for data := s.members; len(data) > 0; {
			step, n := binary.Varint(data)
			data = data[n:]
			id += step
			back, n := binary.Varint(data)
			data = data[n:]
			j.ids, parents = append(j.ids, id), append(parents, id-back)
			j.of = append(j.of, uint16(i))
		}
		s.members = nil
	}
	j.edges = edgesOf(j.shapes, j.base, j.ids, parents)
	j.tokens = j.flatten()
	for i := range j.tokens {
		j.tokens[i].goroutine += j.base[j.places[j.tokens[i].place].shape]
	}
	for i := range j.places {
		p := &j.places[i]
		if p.dead || p.until == 0 {
			continue
		}
		n := p.until
		if n > fewSame {
			j.wide = append(j.wide, int32(i))
			n = 1
		}
		for g := range n {
			j.tokens = append(j.tokens, token{p.same, j.base[p.shape] + g, uint32(i)})
		}
	}
	slices.SortFunc(j.wide, func(a, b int32) int { return cmp.Compare(j.places[a].same, j.places[b].same) })
}

// fewSame is up to how many goroutines get a token of their own for an address that the
// first ones of their shape show.
const fewSame = 64

// roleOf is the role of a goroutine.
func (j *joiner) roleOf(g uint32) int32 { return j.shapes[j.of[g]].role }

// keepHeap drops the tokens that are no objects: an address is in the heap if its block
// holds two addresses of one receiver type.
func (j *joiner) keepHeap() {
	shift := j.blockShift()
	type typeBlock struct {
		typ   int32
		block uint64
	}
	first, heap := map[typeBlock]uint64{}, map[uint64]bool{}
	for _, k := range j.tokens {
		block, typ := k.address>>shift, j.places[k.place].typ
		if typ < 0 || heap[block] {
			continue
		}
		known, seen := first[typeBlock{typ, block}]
		if !seen {
			first[typeBlock{typ, block}] = k.address
		} else if known != k.address {
			heap[block] = true
		}
	}
	for i := range j.sites {
		s := &j.sites[i]
		s.pair = s.pair && len(s.blocks) <= mostBlocks && !slices.ContainsFunc(s.blocks, func(b uint64) bool { return heap[b>>(shift-smallShift)] })
	}
	j.tokens = slices.DeleteFunc(j.tokens, func(k token) bool {
		p := &j.places[k.place]
		return !heap[k.address>>shift] || p.pair && !j.sites[p.site].pair
	})
}

// blockShift is the size of a block as a power of two: programs with 32 bits have
// smaller ones.
func (j *joiner) blockShift() int {
	for _, k := range j.tokens {
		if k.address>>32 > 0 {
			return largeShift
		}
	}
	return smallShift
}

// runs calls visit with the tokens of each address, and with the wide places that show
// it.
func (j *joiner) runs(visit func(run []token, wide []int32)) {
	wide := j.wide
	runsOf(j.tokens, func(run []token) {
		for len(wide) > 0 && j.places[wide[0]].same < run[0].address {
			wide = wide[1:]
		}
		n := 0
		for n < len(wide) && j.places[wide[n]].same == run[0].address {
			n++
		}
		visit(run, wide[:n])
	})
}

// typesOf are the receiver types of one address.
func (j *joiner) typesOf(run []token, types []int32) []int32 {
	for _, k := range run {
		if typ := j.places[k.place].typ; typ >= 0 && !slices.Contains(types, typ) {
			types = append(types, typ)
		}
	}
	slices.Sort(types)
	return types
}

// countTypes counts the addresses of types and of pairs of types, and finds the sites
// whose words are receivers of one type.
func (j *joiner) countTypes() {
	j.instances = make([]int, len(j.types.all))
	var types []int32
	j.runs(func(run []token, wide []int32) {
		types = j.typesOf(run, types[:0])
		for i, typ := range types {
			j.instances[typ]++
			for _, other := range types[i+1:] {
				j.pairs[[2]int32{typ, other}]++
			}
		}
		for _, k := range run {
			p := &j.places[k.place]
			if p.typ >= 0 || p.pair {
				continue
			}
			j.sites[p.site].show(types, 1)
		}
		for _, at := range wide {
			if p := &j.places[at]; p.typ < 0 && !p.pair {
				j.sites[p.site].show(types, int(p.until)-1)
			}
		}
	})
	for i := range j.sites {
		s := &j.sites[i]
		best := 0
		for typ, n := range s.known {
			if s.values >= 2 && common(n, s.values) && (n > best || n == best && j.types.all[typ] < j.types.all[s.trusted]) {
				s.trusted, best = typ, n
			}
		}
	}
}

// typeOf is the one type of an address: of types that are embedded in each other the
// rarest. It returns false if the address has types that do not belong together.
func (j *joiner) typeOf(types []int32) (int32, bool) {
	best := types[0]
	for i, typ := range types {
		for _, other := range types[i+1:] {
			if 2*j.pairs[[2]int32{typ, other}] < min(j.instances[typ], j.instances[other]) {
				return none, false
			}
		}
		if order := cmp.Compare(j.instances[typ], j.instances[best]); order < 0 || order == 0 && outer(j.types.all[typ], j.types.all[best]) {
			best = typ
		}
	}
	return best, true
}

// outer reports whether of two types that are equally frequent a is the better name.
func outer(a, b string) bool {
	x, y := standard(packageOf(a)), standard(packageOf(b))
	if x != y {
		return y
	}
	if x, y := incidental(a), incidental(b); x != y {
		return y
	}
	return a < b
}

// each calls visit with all instances; what they hold is valid during the call.
func (j *joiner) each(visit func(*instance)) {
	in := &j.scratch
	var types []int32
	j.runs(func(run []token, wide []int32) {
		types = j.typesOf(run, types[:0])
		if j.addressed(in, run, wide, types) {
			visit(in)
		}
	})
	j.edges.each(func(creator int32, parent int32, children []uint32) {
		*in = instance{class: creatorClass + creator, typ: none, parent: parent, sharers: append(in.sharers[:0], children...)}
		visit(in)
	})
}

// addressed makes the instance of an address, false if it joins nothing.
func (j *joiner) addressed(in *instance, run []token, wide, types []int32) bool {
	*in = instance{typ: none, parent: none, address: run[0].address, sharers: in.sharers[:0]}
	if len(types) == 0 {
		if in.class = j.untyped(run); in.class < 0 {
			return false
		}
	} else {
		typ, ok := j.typeOf(types)
		if !ok {
			return false
		}
		in.typ, in.class = typ, typ
	}
	for _, k := range run {
		if n := len(in.sharers); (n == 0 || in.sharers[n-1] != k.goroutine) && j.shows(&j.places[k.place], types) {
			in.sharers = append(in.sharers, k.goroutine)
		}
	}
	for _, at := range wide {
		p := &j.places[at]
		if !j.shows(p, types) {
			continue
		}
		for g := range p.until {
			in.sharers = append(in.sharers, j.base[p.shape]+g)
		}
	}
	if len(wide) > 0 {
		slices.Sort(in.sharers)
		in.sharers = slices.Compact(in.sharers)
	}
	return true
}

// shows reports whether the words of a place show an address with these types: a plain
// word does if its site is one for one of them.
func (j *joiner) shows(p *place, types []int32) bool {
	if p.typ >= 0 || p.pair {
		return true
	}
	trusted := j.sites[p.site].trusted
	return trusted >= 0 && slices.Contains(types, trusted)
}

// untyped is the class of an address that no receiver has: the sites of interface values
// that show it. It is negative if there are none.
func (j *joiner) untyped(run []token) int32 {
	sites := j.siteSet[:0]
	for _, k := range run {
		if p := &j.places[k.place]; p.pair && !slices.Contains(sites, p.site) {
			sites = append(sites, p.site)
		}
	}
	j.siteSet = sites
	if len(sites) == 0 {
		return none
	}
	slices.Sort(sites)
	hash := uint64(0xcbf29ce484222325)
	for _, s := range sites {
		hash = (hash ^ uint64(s)) * 0x100000001b3
	}
	class, known := j.classes[hash]
	if !known {
		class = untypedClass + int32(len(j.classes))
		j.classes[hash] = class
	}
	return class
}

// tally counts the roles of an instance's sharers: counts has the numbers of the roles in
// touched.
func (j *joiner) tally(in *instance) {
	for _, role := range j.touched {
		j.counts[role] = 0
	}
	j.touched = j.touched[:0]
	for _, g := range in.sharers {
		role := j.roleOf(g)
		if j.counts[role] == 0 {
			j.touched = append(j.touched, role)
		}
		j.counts[role]++
	}
}

// measure decides for each class and role whether the role joins.
func (j *joiner) measure() {
	j.each(func(in *instance) {
		j.tally(in)
		for _, role := range j.touched {
			r := j.rules[link{in.class, role}]
			if r == nil {
				r = &rule{}
				j.rules[link{in.class, role}] = r
			}
			r.instances++
			if n := j.counts[role]; n <= mostMultiple {
				r.times[n]++
			}
		}
	})
	for l, r := range j.rules {
		r.decide(l.class >= untypedClass && l.class < creatorClass)
	}
	j.edges.each(func(creator, parent int32, children []uint32) {
		if parent < 0 {
			return
		}
		for _, g := range children {
			if r := j.rules[link{creatorClass + creator, j.roleOf(g)}]; r.joins > 0 {
				j.parents[link{creatorClass + creator, j.roleOf(uint32(parent))}]++
				return
			}
		}
	})
}

func (r *rule) decide(untyped bool) {
	least := leastInstances
	if untyped {
		least = leastUntyped
	}
	if r.instances < least {
		return
	}
	if common(r.times[1], r.instances) {
		r.joins = 1
		return
	}
	for m := 2; m <= mostMultiple && r.instances >= leastMultiple; m++ {
		if common(r.times[m], r.instances) {
			r.joins = m
		}
	}
}

// joined appends those of an instance that it joins to one object, none or at least two.
func (j *joiner) joined(in *instance, to []uint32) []uint32 {
	j.tally(in)
	for _, g := range in.sharers {
		role := j.roleOf(g)
		if r := j.rules[link{in.class, role}]; j.counts[role] <= r.joins && j.may(in.class, g) {
			to = append(to, g)
		}
	}
	if in.class < creatorClass && len(to) > mostSharers {
		return to[:0]
	}
	if in.parent >= 0 && len(to) > 0 && j.parentJoins(in) {
		to = append(to, uint32(in.parent))
	}
	if len(to) < 2 {
		return to[:0]
	}
	return to
}

// parentJoins reports whether the creator is a part: most of its role create such a
// goroutine. A worker of a pool that started one task is none.
func (j *joiner) parentJoins(in *instance) bool {
	role := j.roleOf(uint32(in.parent))
	n := j.parents[link{in.class, role}]
	return n >= leastInstances && 2*n >= j.roleTotal[role] && j.may(in.class, uint32(in.parent))
}

// may reports whether a class was not dropped for the goroutine's object.
func (j *joiner) may(class int32, g uint32) bool {
	if j.formerly == nil {
		return true
	}
	dropped, is := j.dropped[j.formerly[g]]
	return !is || dropped != class
}

// joinAll makes the objects. One with too many parts is made again without the class that
// joins most of them.
func (j *joiner) joinAll() {
	j.joinOnce()
	large := map[uint32]map[int32]int{}
	for g := range j.ids {
		if first := j.union.find(uint32(g)); j.union.size[first] > mostParts && large[first] == nil {
			large[first] = map[int32]int{}
		}
	}
	if len(large) == 0 {
		return
	}
	var joined []uint32
	j.each(func(in *instance) {
		joined = j.joined(in, joined[:0])
		if len(joined) > 0 {
			if classes := large[j.union.find(joined[0])]; classes != nil {
				classes[in.class] += len(joined)
			}
		}
	})
	j.dropped = map[uint32]int32{}
	for first, classes := range large {
		best := int32(none)
		for class, n := range classes {
			if best < 0 || n > classes[best] || n == classes[best] && j.className(class) < j.className(best) {
				best = class
			}
		}
		j.dropped[first] = best
	}
	j.formerly = make([]uint32, len(j.ids))
	for g := range j.formerly {
		j.formerly[g] = j.union.find(uint32(g))
	}
	j.joinOnce()
}

func (j *joiner) joinOnce() {
	j.union.reset(len(j.ids))
	var joined []uint32
	j.each(func(in *instance) {
		joined = j.joined(in, joined[:0])
		for i := 1; i < len(joined); i++ {
			j.union.join(joined[0], joined[i])
		}
	})
}

// className is a type or creator, "" for a class of untyped words.
func (j *joiner) className(class int32) string {
	switch {
	case class >= creatorClass:
		return j.creators.all[class-creatorClass]
	case class >= untypedClass:
		return ""
	}
	return j.types.all[class]
}

// union joins numbers into sets; a set is known by one of them.
type union struct {
	up   []uint32
	size map[uint32]int // of sets with more than one member
}

func (u *union) reset(n int) {
	if u.up == nil {
		u.up = make([]uint32, n)
	}
	for i := range u.up {
		u.up[i] = uint32(i)
	}
	u.size = map[uint32]int{}
}

func (u *union) find(g uint32) uint32 {
	for u.up[g] != g {
		u.up[g] = u.up[u.up[g]]
		g = u.up[g]
	}
	return g
}

func (u *union) join(a, b uint32) {
	a, b = u.find(a), u.find(b)
	if a == b {
		return
	}
	x, y := max(u.size[a], 1), max(u.size[b], 1)
	if x < y {
		a, b = b, a
	}
	u.up[b] = a
	u.size[a] = x + y
	delete(u.size, b)
}
