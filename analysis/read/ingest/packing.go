package ingest

import (
	"encoding/binary"
	"slices"

	"leakdiff/analysis"
)

// packedGroups are the groups of a dump or a snapshot between reading and saving. A bundle
// has some thousand snapshots of some dozen families, and most groups have few members: a
// group takes about 40 bytes here, where analysis.Group and its members take 900.
type packedGroups struct {
	// data has the packed groups one after the other, see appendGroup.
	data []byte
	// large are the members of data that are not copied into it.
	large []*analysis.Packed
	// whole are the groups that are not packed: those of other kinds.
	whole []analysis.Group
}

// fewMembers is up to how many members of one stack are copied.
const fewMembers = 256

// groupTable numbers what the groups of all snapshots share, so that packed groups hold
// numbers alone.
type groupTable struct {
	families numbered[*analysis.Family]
	variants numbered[exactStack]
	states   numbered[string]
	// shared are the numbers of members by state that many groups have.
	shared map[oneState]map[string]int
	// lists are the tables of states that members index.
	lists    [][]string
	listKeys map[string]int
	buffer   []byte
	key      []byte
}

// exactStack is the stack of a variant with its fingerprint.
type exactStack struct {
	stack *analysis.Stack
	print string
}

// numbered numbers values from 0.
type numbered[T comparable] struct {
	all []T
	at  map[T]int
}

func (n *numbered[T]) number(value T) uint64 {
	at, ok := n.at[value]
	if !ok {
		if n.at == nil {
			n.at = map[T]int{}
		}
		at = len(n.all)
		n.all = append(n.all, value)
		n.at[value] = at
	}
	return uint64(at)
}

// list numbers a table of states.
func (t *groupTable) list(states []string) uint64 {
	key := t.key[:0]
	for _, state := range states {
		key = append(binary.AppendUvarint(key, uint64(len(state))), state...)
	}
	t.key = key
	at, ok := t.listKeys[string(key)]
	if !ok {
		if t.listKeys == nil {
			t.listKeys = map[string]int{}
		}
		at = len(t.lists)
		t.lists = append(t.lists, slices.Clip(states))
		t.listKeys[string(key)] = at
	}
	return uint64(at)
}

// pack packs groups; what they hold must not be used any more.
func (t *groupTable) pack(groups []analysis.Group) packedGroups {
	var p packedGroups
	t.buffer = t.buffer[:0]
	for i := range groups {
		if packable(&groups[i]) {
			p.large = t.appendGroup(&groups[i], p.large)
		} else {
			p.whole = append(p.whole, groups[i])
		}
	}
	p.data = slices.Clone(t.buffer)
	return p
}

// packable reports whether all of a group's members are packed goroutines.
func packable(g *analysis.Group) bool {
	m := &g.Members
	return g.Family.Kind == analysis.KindGoroutine && len(m.Packed) > 0 && m.Rows == nil && len(m.ID) == 0 && len(m.Offset) == 0
}

// appendGroup appends one group as varints: its figures, its variants, its states and the
// members of each variant.
func (t *groupTable) appendGroup(g *analysis.Group, large []*analysis.Packed) []*analysis.Packed {
	put := func(n uint64) { t.buffer = binary.AppendUvarint(t.buffer, n) }
	put(t.families.number(g.Family))
	put(uint64(g.Count))
	put(uint64(g.OldestWait + 1))
	put(uint64(g.Leaked))
	var present uint64
	for i, n := range g.Waits {
		if n != 0 {
			present |= 1 << i
		}
	}
	put(present)
	for _, n := range g.Waits {
		if n != 0 {
			put(uint64(n))
		}
	}
	put(uint64(len(g.States)))
	for state, n := range g.States {
		put(t.states.number(state))
		put(uint64(n))
	}
	put(uint64(len(g.Variants)))
	for _, v := range g.Variants {
		put(t.variants.number(exactStack{v.Stack, v.Fingerprint}))
		put(uint64(v.Count))
	}
	put(t.list(g.Members.States))
	put(uint64(len(g.Members.Packed)))
	for _, p := range g.Members.Packed {
		put(uint64(p.Variant))
		put(uint64(p.Artifact))
		if p.Len() > fewMembers {
			put(0)
			large = append(large, p.Packed)
			continue
		}
		t.appendMembers(p.Packed)
	}
	return large
}

// appendMembers appends the members of one variant, of which there is at least one.
func (t *groupTable) appendMembers(p *analysis.Packed) {
	sets, values := p.Data()
	t.buffer = binary.AppendUvarint(t.buffer, uint64(len(sets)))
	t.buffer = binary.AppendUvarint(t.buffer, uint64(len(values)))
	t.buffer = binary.AppendUvarint(t.buffer, uint64(len(p.States())))
	for _, state := range p.States() {
		t.buffer = binary.AppendUvarint(t.buffer, uint64(state))
	}
	t.buffer = append(append(t.buffer, sets...), values...)
}

// unpack returns the groups, those that were packed first.
func (t *groupTable) unpack(p packedGroups) []analysis.Group {
	u := unpacker{table: t, data: p.data, large: p.large}
	var groups []analysis.Group
	for len(u.data) > 0 {
		groups = append(groups, u.group())
	}
	return append(groups, p.whole...)
}

// unpacker reads what groupTable packed.
type unpacker struct {
	table *groupTable
	data  []byte
	large []*analysis.Packed
}

func (u *unpacker) next() int {
	n, size := binary.Uvarint(u.data)
	u.data = u.data[size:]
	return int(n)
}

func (u *unpacker) cut(n int) []byte {
	out := u.data[:n:n]
	u.data = u.data[n:]
	return out
}

func (u *unpacker) group() analysis.Group {
	t := u.table
	g := analysis.Group{Family: t.families.all[u.next()], Count: u.next(), OldestWait: u.next() - 1, Leaked: u.next()}
	present := u.next()
	for i := range g.Waits {
		if present>>i&1 > 0 {
			g.Waits[i] = u.next()
		}
	}
	g.States = u.states()
	g.Variants = make([]analysis.Variant, u.next())
	for i := range g.Variants {
		known := t.variants.all[u.next()]
		g.Variants[i] = analysis.Variant{Fingerprint: known.print, Stack: known.stack, Count: u.next()}
	}
	g.Members.States = t.lists[u.next()]
	g.Members.Packed = make([]analysis.Packing, u.next())
	for i := range g.Members.Packed {
		g.Members.Packed[i] = analysis.Packing{Variant: int32(u.next()), Artifact: int32(u.next())}
		g.Members.Packed[i].Packed = u.members()
	}
	return g
}

// states returns the number of members that are in each state.
func (u *unpacker) states() map[string]int {
	t := u.table
	n := u.next()
	if n == 1 {
		return t.oneState(t.states.all[u.next()], u.next())
	}
	states := make(map[string]int, n)
	for range n {
		state := t.states.all[u.next()]
		states[state] = u.next()
	}
	return states
}

// members are those of one variant.
func (u *unpacker) members() *analysis.Packed {
	sets := u.next()
	if sets == 0 {
		p := u.large[0]
		u.large = u.large[1:]
		return p
	}
	values := u.next()
	states := make([]uint16, u.next())
	for i := range states {
		states[i] = uint16(u.next())
	}
	return analysis.NewPacked(states, u.cut(sets), u.cut(values))
}

// mostSharedStates bounds what is remembered of states.
const mostSharedStates = 1 << 12

// sharedStates returns one shared map for equal maps with a single state: most families
// of a large dump have few members in one state.
func (t *groupTable) sharedStates(states map[string]int) map[string]int {
	if len(states) != 1 {
		return states
	}
	for state, n := range states {
		return t.oneState(state, n)
	}
	return nil
}

// oneState is the map of one state, which must not be changed.
func (t *groupTable) oneState(state string, n int) map[string]int {
	key := oneState{state, n}
	if known, ok := t.shared[key]; ok {
		return known
	}
	states := map[string]int{state: n}
	if len(t.shared) < mostSharedStates {
		if t.shared == nil {
			t.shared = map[oneState]map[string]int{}
		}
		t.shared[key] = states
	}
	return states
}

// oneState is a number of members in one state.
type oneState struct {
	state string
	n     int
}
