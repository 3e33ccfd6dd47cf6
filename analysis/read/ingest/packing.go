package ingest

import (
	"encoding/binary"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
)

// packedGroups are the groups of a dump or a snapshot between reading and saving. A bundle
// has some thousand snapshots of some dozen families, and most groups have few members: a
// group takes about 40 bytes here, where analysis.Group and its members take 900.
type packedGroups struct {
	// data has the packed groups one after the other, see groupTable.group.
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
func (t *groupTable) list(states []string) int {
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
	return at
}

// pack packs groups; what they hold must not be used any more.
func (t *groupTable) pack(groups []analysis.Group) packedGroups {
	var p packedGroups
	c := column.Appender(t.buffer[:0])
	for i := range groups {
		if packable(&groups[i]) {
			t.group(c, &groups[i], &p.large)
		} else {
			p.whole = append(p.whole, groups[i])
		}
	}
	t.buffer = c.Data()
	p.data = slices.Clone(t.buffer)
	return p
}

// packable reports whether all of a group's members are packed goroutines.
func packable(g *analysis.Group) bool {
	m := &g.Members
	return g.Family.Kind == analysis.KindGoroutine && len(m.Packed) > 0 && m.Rows == nil && m.Columns == nil
}

// unpack returns the groups, those that were packed first.
func (t *groupTable) unpack(p packedGroups) []analysis.Group {
	var groups []analysis.Group
	large := p.large
	for c := column.Reader(p.data); len(c.Data()) > 0; {
		groups = append(groups, analysis.Group{})
		t.group(c, &groups[len(groups)-1], &large)
	}
	return append(groups, p.whole...)
}

// group writes or reads one group: its figures, its states, its variants and the members of
// each variant. large are the members that are not copied, in order.
func (t *groupTable) group(c *column.Codec, g *analysis.Group, large *[]*analysis.Packed) {
	known(c, &t.families, &g.Family)
	g.OldestWait++
	for _, n := range []*int{&g.Count, &g.OldestWait, &g.Leaked} {
		count(c, n)
	}
	g.OldestWait--
	waits(c, &g.Waits)
	t.statesOf(c, g)
	length(c, &g.Variants)
	for i := range g.Variants {
		v := &g.Variants[i]
		exact := exactStack{v.Stack, v.Fingerprint}
		known(c, &t.variants, &exact)
		v.Stack, v.Fingerprint = exact.stack, exact.print
		count(c, &v.Count)
	}
	m := &g.Members
	var states int
	if !c.Reading() {
		states = t.list(m.States)
	}
	count(c, &states)
	m.States = t.lists[states]
	length(c, &m.Packed)
	for i := range m.Packed {
		count(c, &m.Packed[i].Variant)
		count(c, &m.Packed[i].Artifact)
		membersOf(c, &m.Packed[i].Packed, large)
	}
}

// count writes or reads a number that is not below 0.
func count[T int | int32 | uint16](c *column.Codec, n *T) {
	v := uint64(*n)
	c.Uint(&v)
	*n = T(v)
}

// length writes or reads that of a list.
func length[T any](c *column.Codec, values *[]T) {
	n := len(*values)
	if count(c, &n); c.Reading() {
		*values = make([]T, n)
	}
}

// known writes or reads the number of a value.
func known[T comparable](c *column.Codec, table *numbered[T], value *T) {
	var n uint64
	if !c.Reading() {
		n = table.number(*value)
	}
	c.Uint(&n)
	*value = table.all[n]
}

// waits writes or reads a histogram: which of its buckets are not empty, and those.
func waits(c *column.Codec, buckets *[len(analysis.WaitBuckets)]int) {
	var present int
	for i, n := range buckets {
		if n != 0 {
			present |= 1 << i
		}
	}
	count(c, &present)
	for i := range buckets {
		if present>>i&1 > 0 {
			count(c, &buckets[i])
		}
	}
}

// statesOf writes or reads how many members are in each state.
func (t *groupTable) statesOf(c *column.Codec, g *analysis.Group) {
	n := len(g.States)
	count(c, &n)
	for state, members := range g.States {
		known(c, &t.states, &state)
		count(c, &members)
	}
	if !c.Reading() {
		return
	}
	states := make(map[string]int, n)
	for range n {
		var state string
		var members int
		known(c, &t.states, &state)
		count(c, &members)
		states[state] = members
	}
	g.States = t.sharedStates(states)
}

// membersOf writes or reads the members of one variant, of which there is at least one. Many
// are kept beside what is written.
func membersOf(c *column.Codec, p **analysis.Packed, large *[]*analysis.Packed) {
	var sets, values []byte
	var states []uint16
	if !c.Reading() && (*p).Len() <= fewMembers {
		sets, values = (*p).Data()
		states = (*p).States()
	}
	c.Bytes(&sets)
	switch {
	case len(sets) == 0 && c.Reading():
		*p, *large = (*large)[0], (*large)[1:]
		return
	case len(sets) == 0:
		*large = append(*large, *p)
		return
	}
	c.Bytes(&values)
	length(c, &states)
	for i := range states {
		count(c, &states[i])
	}
	if c.Reading() {
		*p = analysis.NewPacked(states, sets, values)
	}
}

// mostSharedStates bounds what is remembered of states.
const mostSharedStates = 1 << 12

// sharedStates returns one shared map for equal maps with a single state: most families
// of a large dump have few members in one state. It must not be changed.
func (t *groupTable) sharedStates(states map[string]int) map[string]int {
	if len(states) != 1 {
		return states
	}
	for state, n := range states {
		key := oneState{state, n}
		if known, ok := t.shared[key]; ok {
			return known
		}
		if t.shared == nil {
			t.shared = map[oneState]map[string]int{}
		}
		if len(t.shared) < mostSharedStates {
			t.shared[key] = states
		}
	}
	return states
}

// oneState is a number of members in one state.
type oneState struct {
	state string
	n     int
}
