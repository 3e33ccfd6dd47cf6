package join

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
)

const (
	// noObject is the object of a goroutine in none that is joined, tooLarge that of one
	// whose object had too many parts, or whose kind would be one too many.
	noObject = math.MaxUint32
	tooLarge = math.MaxUint32 - 1
	// singleFlag marks the kind of a goroutine that is an object alone.
	singleFlag = 1 << 31
	// mostKinds bounds the kinds of objects, and those of single goroutines as well.
	mostKinds = 10_000
	// mostHolders is how many holders of a kind are kept: those of one in leastHeld
	// objects at least.
	mostHolders, leastHeld = 8, 10
)

// object is goroutines that are joined: those of builder.parts from begin on.
type object struct {
	begin uint32
	kind  int32
	root  uint32
}

// kind are objects of one shape.
type kind struct {
	roles  []roleCount
	typ    int32 // of single goroutines, none without
	single bool
	// objects are the numbers of objects, or of single goroutines, count of them.
	objects []uint32
	count   int
	// oldest is the object with the smallest id; rooted is true if its root created others.
	oldest uint32
	rooted bool
	votes  map[int32]int
	// address are the roles that an address joins.
	address map[int32]bool
	holders []holder
	name    string
}

type roleCount struct {
	role int32
	n    int
}

// holder is an instance that several objects of a kind hang on.
type holder struct {
	class int32
	role  int32
	n     int
}

// builder makes kinds of what was joined.
type builder struct {
	*joiner
	// of is the object of each goroutine, parts are the goroutines of all objects.
	of      []uint32
	parts   []uint32
	objects []object
	kinds   []kind
	byRoles map[string]int32
	singles map[link]int32 // by type and role
	key     []byte
}

// objects makes the result.
func (j *joiner) objects() *analysis.Objects {
	b := &builder{joiner: j, byRoles: map[string]int32{}, singles: map[link]int32{}}
	b.group()
	b.findRoots()
	b.sortSingles()
	b.vote()
	for i := range b.kinds {
		b.kinds[i].name = b.nameOf(&b.kinds[i])
	}
	b.tokens, b.edges = [parts][]token{}, nil
	return b.result()
}

// group lists the parts of each object and finds its kind.
func (b *builder) group() {
	// First the size of each object stands at the goroutine that it is known by, then its
	// number; objects are numbered by their first goroutine.
	b.of = make([]uint32, len(b.joiner.of))
	total := uint32(0)
	for g := range b.of {
		first := b.union.find(uint32(g))
		switch size := b.union.size(first); {
		case size < 2:
			b.of[g] = noObject
		case size > mostParts:
			b.of[g] = tooLarge
		case int(first) == g:
			b.objects = append(b.objects, object{begin: total})
			total += uint32(size)
			b.of[g] = uint32(len(b.objects) - 1)
		}
	}
	b.parts = make([]uint32, total)
	for g := range b.of {
		if b.of[g] >= singleFlag {
			continue
		}
		b.of[g] = b.of[b.union.find(uint32(g))]
		o := &b.objects[b.of[g]]
		b.parts[o.begin] = uint32(g)
		o.begin++ // which is the beginning of the next object in the end
	}
	b.union = nil
	for i := range slices.Backward(b.objects) {
		o := &b.objects[i]
		if i > 0 {
			o.begin = b.objects[i-1].begin
		} else {
			o.begin = 0
		}
	}
	for i := range b.objects {
		parts := b.partsOf(uint32(i))
		slices.SortFunc(parts, func(x, y uint32) int { return cmp.Compare(b.ids.at(x), b.ids.at(y)) })
		kind := b.kindOf(parts)
		b.objects[i].kind = kind
		if kind < 0 {
			for _, g := range parts {
				b.of[g] = tooLarge
			}
			continue
		}
		b.kinds[kind].count++
	}
}

// partsOf are the goroutines of an object, by id.
func (b *builder) partsOf(number uint32) []uint32 {
	begin, end := b.objects[number].begin, uint32(len(b.parts))
	if int(number)+1 < len(b.objects) {
		end = b.objects[number+1].begin
	}
	return b.parts[begin:end]
}

// kindOf finds or makes the kind with the roles of parts, none beyond mostKinds.
func (b *builder) kindOf(parts []uint32) int32 {
	b.tally(&instance{sharers: parts})
	slices.Sort(b.touched)
	b.key = b.key[:0]
	for _, role := range b.touched {
		b.key = binary.AppendUvarint(b.key, uint64(role))
		b.key = binary.AppendUvarint(b.key, uint64(b.counts[role]))
	}
	at, known := b.byRoles[string(b.key)]
	if known {
		return at
	}
	if len(b.kinds) == mostKinds {
		return none
	}
	at = int32(len(b.kinds))
	b.byRoles[string(b.key)] = at
	k := kind{typ: none, votes: map[int32]int{}, address: map[int32]bool{}}
	for _, role := range b.touched {
		k.roles = append(k.roles, roleCount{role, b.counts[role]})
	}
	slices.SortFunc(k.roles, func(x, y roleCount) int {
		return cmp.Or(y.n-x.n, strings.Compare(b.roles.all[x.role], b.roles.all[y.role]))
	})
	b.kinds = append(b.kinds, k)
	return at
}

// findRoots finds the part of each object that created most of the others, by itself or
// through them; without one the part with most frames.
func (b *builder) findRoots() {
	if len(b.parts) == 0 {
		return
	}
	below := map[uint32]int{}
	for i := range b.objects {
		o := &b.objects[i]
		if o.kind < 0 {
			continue
		}
		parts := b.partsOf(uint32(i))
		clear(below)
		for _, g := range parts {
			for up, steps := b.parentWithin(g), 0; up > 0 && steps < len(parts); steps++ {
				below[up-1]++
				up = b.parentWithin(up - 1)
			}
		}
		o.root = parts[0]
		for _, g := range parts[1:] {
			if order := cmp.Or(below[g]-below[o.root], b.frames(g)-b.frames(o.root)); order > 0 {
				o.root = g
			}
		}
		k := &b.kinds[o.kind]
		if len(k.objects) == 0 {
			k.objects = append(make([]uint32, 0, k.count), uint32(i))
			k.oldest, k.rooted = uint32(i), below[o.root] > 0
			continue
		}
		k.objects = append(k.objects, uint32(i))
		if b.ids.at(parts[0]) < b.ids.at(b.partsOf(k.oldest)[0]) {
			k.oldest, k.rooted = uint32(i), below[o.root] > 0
		}
	}
}

// parentWithin is the creator plus 1 of a part if it is a part of the same object.
func (b *builder) parentWithin(g uint32) uint32 {
	if b.parentOf == nil || b.parentOf[g] == 0 || b.parentOf[g] == g+1 || b.of[b.parentOf[g]-1] != b.of[g] {
		return 0
	}
	return b.parentOf[g]
}

func (b *builder) frames(g uint32) int { return len(b.shapes[b.joiner.of[g]].stack.Frames) }

// sortSingles finds the kinds of single goroutines. One without an address of its own is
// an object if another has its role.
func (b *builder) sortSingles() {
	bare := make([]int, len(b.roles.all))
	for g, token := range b.anchors {
		if token == 0 && b.of[g] == noObject {
			bare[b.roleOf(uint32(g))]++
		}
	}
	var last link
	at := int32(none)
	for g := range b.anchors {
		if b.of[g] != noObject {
			continue
		}
		l := link{none, b.roleOf(uint32(g))}
		if anchor := b.anchors[g]; anchor > 0 {
			l.class = b.places[anchor-1].typ
		}
		if l.class < 0 && bare[l.role] < 2 {
			continue
		}
		if at < 0 || l != last {
			at, last = b.singleKind(l), l
		}
		if at < 0 {
			continue
		}
		b.of[g] = singleFlag | uint32(at)
		b.kinds[at].count++
	}
	for g, of := range b.of {
		if of < singleFlag || of >= tooLarge {
			continue
		}
		k := &b.kinds[of&^singleFlag]
		if k.objects == nil {
			k.objects = make([]uint32, 0, k.count)
		}
		k.objects = append(k.objects, uint32(g))
	}
}

// singleKind is the kind of single goroutines of a role that are named for a type, none
// beyond mostKinds.
func (b *builder) singleKind(l link) int32 {
	at, known := b.singles[l]
	if !known && len(b.kinds) >= 2*mostKinds {
		return none
	}
	if !known {
		at = int32(len(b.kinds))
		b.singles[l] = at
		b.kinds = append(b.kinds, kind{typ: l.class, single: true, roles: []roleCount{{l.role, 1}}})
	}
	return at
}

// vote counts for each kind which types join its parts, and finds the holders.
func (b *builder) vote() {
	var joined []uint32
	h := hanging{counts: make([]int, len(b.kinds)), roles: make([]int32, len(b.kinds))}
	for i := range h.roles {
		h.roles[i] = none
	}
	var now *instance
	add := func(group []uint32) {
		joined = append(joined, group...)
		if b.of[group[0]] < singleFlag {
			b.voteFor(now, group)
		}
	}
	b.each(func(in *instance) {
		joined, now = joined[:0], in
		b.joined(in, add)
		if in.class >= untypedClass && in.class < creatorClass || len(in.sharers) < 2 {
			return
		}
		slices.Sort(joined)
		for _, g := range in.sharers {
			if _, is := slices.BinarySearch(joined, g); !is {
				b.hang(&h, g)
			}
		}
		b.hold(in, &h)
	})
}

// voteFor counts the parts that an instance joins.
func (b *builder) voteFor(in *instance, joined []uint32) {
	o := &b.objects[b.of[joined[0]]]
	k := &b.kinds[o.kind]
	if in.class >= creatorClass {
		return
	}
	if len(k.address) < len(k.roles) {
		for _, g := range joined {
			k.address[b.roleOf(g)] = true
		}
	}
	if in.typ < 0 {
		return
	}
	k.votes[in.typ] += len(joined)
}

// hanging are the objects whose parts show an instance without being joined by it.
type hanging struct {
	// counts are the single goroutines of each kind in kinds, roles the role of its parts
	// that is first by name.
	counts []int
	roles  []int32
	kinds  []int32
	// objects are those of several parts, each once for every part.
	objects []uint32
}

// hang adds the object of a goroutine.
func (b *builder) hang(h *hanging, g uint32) {
	var kind int32
	role, n := b.roleOf(g), 1
	switch of := b.of[g]; {
	case of >= tooLarge:
		return
	case of >= singleFlag:
		kind = int32(of &^ singleFlag)
	default:
		kind, n = b.objects[of].kind, 0
		h.objects = append(h.objects, of)
	}
	h.counts[kind] += n
	if known := h.roles[kind]; known < 0 {
		h.kinds = append(h.kinds, kind)
		h.roles[kind] = role
	} else if known != role && b.roles.all[role] < b.roles.all[known] {
		h.roles[kind] = role
	}
}

// hold adds an instance to the holders of the kinds that several objects of hang on it,
// and empties h.
func (b *builder) hold(in *instance, h *hanging) {
	slices.Sort(h.objects)
	for _, o := range slices.Compact(h.objects) {
		h.counts[b.objects[o].kind]++
	}
	for _, at := range h.kinds {
		k, n, role := &b.kinds[at], h.counts[at], h.roles[at]
		h.counts[at], h.roles[at] = 0, none
		if n < 2 || n*leastHeld < len(k.objects) {
			continue
		}
		k.holders = append(k.holders, holder{in.class, role, n})
		if len(k.holders) >= 8*mostHolders {
			b.keepHolders(k)
		}
	}
	h.kinds, h.objects = h.kinds[:0], h.objects[:0]
}

// keepHolders keeps those of most objects.
func (b *builder) keepHolders(k *kind) {
	slices.SortFunc(k.holders, func(x, y holder) int {
		return cmp.Or(y.n-x.n, strings.Compare(b.className(x.class), b.className(y.class)), strings.Compare(b.roles.all[x.role], b.roles.all[y.role]))
	})
	k.holders = k.holders[:min(len(k.holders), mostHolders)]
}

// nameOf is the type or function that a kind is named for.
func (b *builder) nameOf(k *kind) string {
	if k.single {
		if k.typ >= 0 {
			return b.types.all[k.typ]
		}
		return workOf(b.roles.all[k.roles[0].role])
	}
	root, rooted := b.objects[k.oldest].root, k.rooted
	var types []int32
	for typ := range k.votes {
		types = append(types, typ)
	}
	packages := map[string]bool{}
	for _, r := range k.roles {
		packages[packageOf(entryOf(b.roles.all[r.role]))] = true
	}
	rank := func(typ int32) int {
		name := b.types.all[typ]
		switch {
		case incidental(name):
			return 3
		case standard(packageOf(name)):
			return 2
		case !packages[packageOf(name)]:
			return 1
		}
		return 0
	}
	slices.SortFunc(types, func(x, y int32) int {
		return cmp.Or(rank(x)-rank(y), k.votes[y]-k.votes[x], strings.Compare(b.types.all[x], b.types.all[y]))
	})
	if len(types) > 0 && rank(types[0]) >= 2 {
		if typ := b.partType(k, rank); typ >= 0 && rank(typ) < 2 {
			return b.types.all[typ]
		}
	}
	tie := len(types) > 1 && rank(types[0]) == rank(types[1]) && k.votes[types[0]] == k.votes[types[1]]
	if len(types) == 0 || tie && rooted {
		if typ := b.rootType(root); typ != "" {
			return typ
		}
	}
	if len(types) > 0 {
		return b.types.all[types[0]]
	}
	return workOf(b.roles.all[b.roleOf(root)])
}

// partType is the type that a part would be named for if it were alone, none without: an
// object that only the standard library joins is named for what uses it.
func (b *builder) partType(k *kind, rank func(int32) int) int32 {
	best, frames := int32(none), 0
	for _, g := range b.partsOf(k.oldest) {
		if b.anchors[g] == 0 {
			continue
		}
		typ := b.places[b.anchors[g]-1].typ
		if best < 0 || cmp.Or(rank(best)-rank(typ), b.frames(g)-frames, strings.Compare(b.types.all[best], b.types.all[typ])) > 0 {
			best, frames = typ, b.frames(g)
		}
	}
	return best
}

// rootType is the type of the method nearest to the entry of a goroutine that is no
// holder, whether or not its address can be trusted.
func (b *builder) rootType(root uint32) string {
	frames := b.shapes[b.joiner.of[root]].stack.Frames
	role := b.roleOf(root)
	for i := len(frames) - 1; i >= 0; i-- {
		typ := receiver(cutVendor(frames[i].Func))
		if typ == "" || leftOut(typ) || incidental(typ) {
			continue
		}
		if at, known := b.types.at[typ]; known {
			if r := b.rule(link{at, role}); r != nil && r.joins == 0 {
				continue
			}
		}
		return typ
	}
	return ""
}

// result puts the kinds into their order.
func (b *builder) result() *analysis.Objects {
	out := &analysis.Objects{Kinds: make([]analysis.ObjectKind, 0, len(b.kinds))}
	for i := range b.kinds {
		out.Kinds = append(out.Kinds, b.kindResult(&b.kinds[i]))
	}
	slices.SortFunc(out.Kinds, func(x, y analysis.ObjectKind) int {
		return cmp.Or(y.Count-x.Count, strings.Compare(x.Type, y.Type), y.Parts-x.Parts, slices.CompareFunc(x.Each, y.Each, func(p, q analysis.ObjectRole) int {
			return cmp.Or(strings.Compare(p.Role, q.Role), p.N-q.N)
		}))
	})
	return out
}

func (b *builder) kindResult(k *kind) analysis.ObjectKind {
	out := analysis.ObjectKind{Name: shortName(k.name), Type: k.name, Level: analysis.ByAddress}
	for _, r := range k.roles {
		level := analysis.ByAddress
		switch {
		case k.single && k.typ < 0:
			level = analysis.ByGoroutine
		case !k.single && !k.address[r.role]:
			level = analysis.ByParent
		}
		if level != analysis.ByAddress {
			out.Level = level
		}
		out.Each = append(out.Each, analysis.ObjectRole{Role: b.roles.all[r.role], N: r.n, Level: level})
		out.Parts += r.n
	}
	b.keepHolders(k)
	for _, h := range k.holders {
		role := b.roles.all[h.role]
		if h.class >= creatorClass {
			role = analysis.CreatedBy
		}
		out.Holders = append(out.Holders, analysis.ObjectHolder{Type: b.className(h.class), Role: role, N: h.n})
	}
	slices.SortFunc(k.objects, func(x, y uint32) int { return cmp.Compare(b.ids.at(b.rootOf(k, x)), b.ids.at(b.rootOf(k, y))) })
	var ids []int64
	for _, at := range k.objects {
		ids = ids[:0]
		row := analysis.ObjectRow{Root: b.ids.at(b.rootOf(k, at))}
		if k.single {
			ids = append(ids, row.Root)
		} else {
			for _, g := range b.partsOf(at) {
				ids = append(ids, b.ids.at(g))
			}
		}
		row.Parts = ids
		out.Append(row)
	}
	return out
}

func (b *builder) rootOf(k *kind, number uint32) uint32 {
	if k.single {
		return number
	}
	return b.objects[number].root
}
