package join

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// instance is one address, or one goroutine that created others, with those that show it.
type instance struct {
	class   int32
	typ     int32 // none for an untyped word or a creator
	address uint64
	parent  int32 // none for an address, or if the creator has ended
	sharers []uint32
}

// each calls visit with all instances; what they hold is valid during the call.
func (j *joiner) each(visit func(*instance)) {
	j.eachAddress(visit)
	in := &j.scratch
	j.edges.each(func(creator int32, parent int32, children []uint32) {
		*in = instance{class: creatorClass + creator, typ: none, parent: parent, sharers: append(in.sharers[:0], children...)}
		visit(in)
	})
}

// eachAddress calls visit with the instances that are addresses.
func (j *joiner) eachAddress(visit func(*instance)) {
	in := &j.scratch
	var types []int32
	j.runs(func(run []token) {
		types = j.typesOf(run, types[:0])
		if j.addressed(in, run, types) {
			visit(in)
		}
	})
}

// addressed makes the instance of an address, false if it joins nothing.
func (j *joiner) addressed(in *instance, run []token, types []int32) bool {
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
	many := false
	for _, k := range run {
		if n := len(in.sharers); n > 0 && in.sharers[n-1] == k.goroutine && !j.places[k.place].wide() || !j.shows(&j.places[k.place], types) {
			continue
		}
		n := j.standsFor(k)
		many = many || n > 1
		for g := range n {
			in.sharers = append(in.sharers, k.goroutine+g)
		}
	}
	if many {
		slices.Sort(in.sharers)
		in.sharers = slices.Compact(in.sharers)
	}
	return true
}

// standsFor returns the number of goroutines that a token stands for: itself and those after it.
func (j *joiner) standsFor(k token) uint32 {
	p := &j.places[k.place]
	if p.wide() && p.same == k.address && k.goroutine == j.base[p.shape] {
		return p.until
	}
	return 1
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

// mostTypes is above how many types an address can have by embedding, mostSites above
// how many interface values show one: what has more joins nothing.
const mostTypes, mostSites, mostUntyped = 8, 32, 1 << 14

// typesOf are the receiver types of one address, at most one more than mostTypes.
func (j *joiner) typesOf(run []token, types []int32) []int32 {
	for _, k := range run {
		if len(types) > mostTypes {
			break
		}
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
	j.runs(func(run []token) {
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
			j.sites[p.site].show(types, int(j.standsFor(k)))
		}
	})
	j.orderTypes()
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

// orderTypes orders the types by frequency, and equally frequent ones by name.
func (j *joiner) orderTypes() {
	all := make([]int32, len(j.types.all))
	for i := range all {
		all[i] = int32(i)
	}
	slices.SortFunc(all, func(a, b int32) int {
		if order := cmp.Compare(j.instances[a], j.instances[b]); order != 0 {
			return order
		}
		if outer(j.types.all[a], j.types.all[b]) {
			return -1
		}
		return 1
	})
	j.order, j.stray = make([]int32, len(all)), make([]bool, len(all))
	for at, typ := range all {
		j.order[typ], j.stray[typ] = int32(at), incidental(j.types.all[typ])
	}
}

// typeOf is the one type of an address: of types that are embedded in each other the
// rarest. It returns false if the address has types that do not belong together.
func (j *joiner) typeOf(types []int32) (int32, bool) {
	best := types[0]
	if len(types) > mostTypes {
		return none, false
	}
	for i, typ := range types {
		for _, other := range types[i+1:] {
			if 2*j.pairs[[2]int32{typ, other}] < min(j.instances[typ], j.instances[other]) {
				return none, false
			}
		}
		if j.order[typ] < j.order[best] {
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

// untyped is the class of an address that no receiver has: the sites of interface values
// that show it. It is negative if there are none.
func (j *joiner) untyped(run []token) int32 {
	sites := j.siteSet[:0]
	for _, k := range run {
		if p := &j.places[k.place]; p.pair && len(sites) <= mostSites && !slices.Contains(sites, p.site) {
			sites = append(sites, p.site)
		}
	}
	j.siteSet = sites
	if len(sites) == 0 || len(sites) > mostSites {
		return none
	}
	slices.Sort(sites)
	hash := uint64(0xcbf29ce484222325)
	for _, s := range sites {
		hash = (hash ^ uint64(s)) * 0x100000001b3
	}
	class, known := j.classes[hash]
	if !known {
		if len(j.classes) == mostUntyped {
			return none
		}
		class = untypedClass + int32(len(j.classes))
		j.classes[hash] = class
		j.untypedNames = append(j.untypedNames, j.nameSites(sites))
	}
	return class
}

func (j *joiner) nameSites(sites []int32) string {
	texts := make([]string, 0, len(sites))
	for _, at := range sites[:min(len(sites), mostHolders)] {
		texts = append(texts, fmt.Sprintf("%s %d", j.sites[at].function, j.sites[at].position))
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}
