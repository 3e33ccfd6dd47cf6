package analysis

import (
	"cmp"
	"iter"
	"slices"
)

// Identity lets a member be followed through the snapshots of one epoch. Equal
// identities in different epochs mean nothing.
//
//	goroutine   ID = goroutine id
//	thread      ID = #N, whatever its name is; one of the virtual machine: ID = nid, Hash = name
//	descriptor  ID = fd, Sub = inode (0 where the inode identifies nothing)
//	socket      of a table of ss or netstat: ID = fd or -1, Sub = inode or 0, Hash = protocol and both ends
//	watch       ID = fd, Sub = wd, Hash = device and file handle; of an event loop: ID = -1, Sub = pid of
//	            a child process or 0, Hash = what it watches
type Identity struct {
	ID   int64
	Sub  int64
	Hash uint64
}

// Compare orders identities by ID, then Sub, then Hash.
func (i Identity) Compare(other Identity) int {
	return cmp.Or(cmp.Compare(i.ID, other.ID), cmp.Compare(i.Sub, other.Sub), cmp.Compare(i.Hash, other.Hash))
}

// Member is one row of Members.
type Member struct {
	Identity Identity
	// Parent is the goroutine id of the creator, 0 if unknown.
	Parent int64
	// State is the raw state without flags, "" if the kind has none.
	State string
	// Labels are those that the program gave a goroutine.
	Labels Labels
	// Wait is in minutes, -1 if none was printed.
	Wait int
	// Variant indexes Group.Variants, -1 if the kind has none.
	Variant int
	Place   Place
	// Detail is the row in words for kinds without stacks ("12u TCP a->b").
	Detail string
}

// Members holds the members of one family in one snapshot, with a column for each
// property. A column has Len() entries, or none if the property is unknown: a nil ID
// column means that the members have no identity (debug=1, proto). Parsers fill columns,
// Packed or Rows and the store keeps them; everybody else reads with the methods, which
// return the same for each of the three.
type Members struct {
	// States are those that the column State and Packed index. A state of goroutines with
	// labels is an entry of its own, see Labelled: few programs have any.
	States []string
	// Columns is nil without any: most groups of a case in memory are packed, and 13 empty
	// columns would take more than they do.
	*Columns
	// Packed are goroutines between a dump and the store. Until Unpack there are then
	// no columns.
	Packed []Packing
	// Rows are descriptors or watches between a capture and the store. Until Unpack
	// they replace the columns.
	Rows *Rows
}

// Columns are the columns of members.
type Columns struct {
	ID     []int64
	Sub    []int64
	Hash   []uint64
	Parent []int64
	// State indexes Members.States.
	State   []uint16
	Wait    []int32
	Variant []int32
	// Age is in seconds since the member was born, if the dump prints it (a JVM's
	// elapsed=), and -1 for a member without one.
	Age []int32
	// Artifact, Line, Offset and Length are the Place of each member.
	Artifact []int32
	Line     []int64
	Offset   []int64
	Length   []int32
	Detail   []string
}

var noColumns Columns

// columns are those to read.
func (m *Members) columns() *Columns { return cmp.Or(m.Columns, &noColumns) }

func (c *Columns) len() int { return max(len(c.ID), len(c.Offset)) }

// Fill returns the columns, to be filled.
func (m *Members) Fill() *Columns {
	if m.Columns == nil {
		m.Columns = &Columns{}
	}
	return m.Columns
}

// Packing is the members of one variant.
type Packing struct {
	*Packed
	Variant, Artifact int32
}

// Weight is about how many bytes the members take, with what following them takes.
func (m *Members) Weight() int {
	each := 80
	if len(m.Packed) > 0 {
		each = 24
	}
	return each * m.Len()
}

// Ages returns the seconds since each member was born, -1 for one that prints none, nil if
// none does.
func (m *Members) Ages() []int32 { return m.columns().Age }

// Join appends the rows of other members with identities and details, such as descriptors.
func (m *Members) Join(other *Members) {
	c := m.Fill()
	for x := range other.All() {
		c.ID, c.Sub, c.Hash = append(c.ID, x.Identity.ID), append(c.Sub, x.Identity.Sub), append(c.Hash, x.Identity.Hash)
		c.Artifact, c.Line = append(c.Artifact, int32(x.Place.Artifact)), append(c.Line, x.Place.Line)
		c.Offset, c.Length = append(c.Offset, x.Place.Offset), append(c.Length, int32(x.Place.Length))
		c.Detail = append(c.Detail, x.Detail)
	}
}

// Release frees packed members and rows that nobody reads again.
func (m *Members) Release() { m.Packed, m.Rows = nil, nil }

// Len is the number of members.
func (m *Members) Len() int {
	n := m.columns().len() + m.Rows.Len()
	for _, p := range m.Packed {
		n += p.Len()
	}
	return n
}

// Identified reports whether the members can be followed.
func (m *Members) Identified() bool {
	return len(m.columns().ID) > 0 || len(m.Packed) > 0 || m.Rows.Len() > 0
}

// Numbered reports whether identities are a number alone, like those of goroutines.
func (m *Members) Numbered() bool {
	return len(m.columns().Sub) == 0 && len(m.columns().Hash) == 0 && m.Rows.Len() == 0
}

// Unpack converts packed goroutines, variant by variant, and rows to columns.
func (m *Members) Unpack() {
	if m.Rows != nil {
		rows := m.Rows
		*m = Members{Columns: &Columns{}}
		rows.unpack(m.Columns)
		return
	}
	if len(m.Packed) == 0 {
		return
	}
	n := m.Len()
	out := Members{
		Columns: &Columns{ID: make([]int64, 0, n), Parent: make([]int64, 0, n), State: make([]uint16, 0, n), Wait: make([]int32, 0, n),
			Variant: make([]int32, 0, n), Artifact: make([]int32, 0, n),
			Line: make([]int64, 0, n), Offset: make([]int64, 0, n), Length: make([]int32, 0, n)},
	}
	index := make(map[uint16]uint16)
	for _, p := range m.Packed {
		for _, state := range p.States() {
			if _, ok := index[state]; !ok {
				index[state] = uint16(len(out.States))
				out.States = append(out.States, m.States[state])
			}
		}
		for g := range p.All() {
			out.ID = append(out.ID, g.ID)
			out.Parent = append(out.Parent, g.Parent)
			out.State = append(out.State, index[g.State])
			out.Wait = append(out.Wait, g.Wait)
			out.Variant = append(out.Variant, p.Variant)
			out.Artifact = append(out.Artifact, p.Artifact)
			out.Line = append(out.Line, g.Line)
			out.Offset = append(out.Offset, g.Offset)
			out.Length = append(out.Length, g.Length)
		}
	}
	*m = out
}

// Identity returns the identity of member i of columns.
func (m *Members) Identity(i int) Identity {
	c := m.columns()
	id := Identity{ID: c.ID[i]}
	if len(c.Sub) > 0 {
		id.Sub = c.Sub[i]
	}
	if len(c.Hash) > 0 {
		id.Hash = c.Hash[i]
	}
	return id
}

// Identities yields the identities of members that can be followed, packed or not.
func (m *Members) Identities() iter.Seq[Identity] {
	return func(yield func(Identity) bool) {
		for i := range m.columns().ID {
			if !yield(m.Identity(i)) {
				return
			}
		}
		for id := range m.Rows.identities() {
			if !yield(id) {
				return
			}
		}
		for _, p := range m.Packed {
			for g := range p.All() {
				if !yield(Identity{ID: g.ID}) {
					return
				}
			}
		}
	}
}

// IDs yields the ids of members that can be followed.
func (m *Members) IDs() iter.Seq[int64] {
	if m.Rows.Len() > 0 {
		return func(yield func(int64) bool) {
			for id := range m.Rows.identities() {
				if !yield(id.ID) {
					return
				}
			}
		}
	}
	return func(yield func(int64) bool) {
		for _, id := range m.columns().ID {
			if !yield(id) {
				return
			}
		}
		for _, p := range m.Packed {
			for id := range p.IDs() {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// AppendIDs appends the ids of members that can be followed. It copies columns at once.
func (m *Members) AppendIDs(ids []int64) []int64 {
	if m.Rows == nil && len(m.Packed) == 0 {
		return append(ids, m.columns().ID...)
	}
	return slices.AppendSeq(slices.Grow(ids, m.Len()), m.IDs())
}

// Parents yields the creators, none if they are unknown.
func (m *Members) Parents() iter.Seq[int64] {
	return valuesOf(m, m.columns().Parent, func(g *PackedMember) int64 { return g.Parent })
}

// Waits yields the minutes, none if the kind has none.
func (m *Members) Waits() iter.Seq[int32] {
	return valuesOf(m, m.columns().Wait, func(g *PackedMember) int32 { return g.Wait })
}

func valuesOf[T any](m *Members, values []T, of func(*PackedMember) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range values {
			if !yield(v) {
				return
			}
		}
		for _, p := range m.Packed {
			for g := range p.All() {
				if !yield(of(&g)) {
					return
				}
			}
		}
	}
}

// All yields the members, packed or not.
func (m *Members) All() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for i := range m.columns().len() {
			if !yield(m.At(i)) {
				return
			}
		}
		for row := range m.Rows.All() {
			if !yield(row) {
				return
			}
		}
		for _, p := range m.Packed {
			for g := range p.All() {
				if !yield(p.member(m.States, &g)) {
					return
				}
			}
		}
	}
}

// InVariants yields the members whose variant meets a condition. Among packed members
// it skips other variants as a whole.
func (m *Members) InVariants(holds func(variant int) bool) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		rest := *m
		rest.Packed = nil
		for x := range rest.All() {
			if holds(x.Variant) && !yield(x) {
				return
			}
		}
		for _, p := range m.Packed {
			if !holds(int(p.Variant)) {
				continue
			}
			for g := range p.All() {
				if !yield(p.member(m.States, &g)) {
					return
				}
			}
		}
	}
}

// First returns at most limit members: those with the smallest ids in order, or the
// first ones without ids. Limit 0 is no limit. Packed members stay packed: it holds at
// most twice the limit at a time.
func (m *Members) First(limit int) []Member {
	if !m.Identified() {
		var out []Member
		for x := range m.All() {
			if out = append(out, x); len(out) == limit {
				break
			}
		}
		return out
	}
	var out []Member
	full := false
	for x := range m.All() {
		if full && x.Identity.ID >= out[limit-1].Identity.ID {
			continue
		}
		out = append(out, x)
		if limit > 0 && len(out) == 2*limit {
			out, full = smallest(out, limit), true
		}
	}
	return smallest(out, limit)
}

// smallest sorts members by id and keeps at most limit of them.
func smallest(members []Member, limit int) []Member {
	slices.SortStableFunc(members, func(a, b Member) int { return cmp.Compare(a.Identity.ID, b.Identity.ID) })
	if limit > 0 && len(members) > limit {
		members = members[:limit]
	}
	return members
}

func (p Packing) member(states []string, g *PackedMember) Member {
	state, labels := CutLabels(states[g.State])
	return Member{
		Identity: Identity{ID: g.ID}, Parent: g.Parent, State: state, Labels: labels, Wait: int(g.Wait), Variant: int(p.Variant),
		Place: Place{Artifact: int(p.Artifact), Line: g.Line, Offset: g.Offset, Length: int64(g.Length)},
	}
}

// At returns member i of columns.
func (m *Members) At(i int) Member {
	c, out := m.columns(), Member{Wait: -1, Variant: -1}
	if len(c.ID) > 0 {
		out.Identity = m.Identity(i)
	}
	if len(c.Parent) > 0 {
		out.Parent = c.Parent[i]
	}
	if len(c.State) > 0 {
		out.State, out.Labels = CutLabels(m.States[c.State[i]])
	}
	if len(c.Wait) > 0 {
		out.Wait = int(c.Wait[i])
	}
	if len(c.Variant) > 0 {
		out.Variant = int(c.Variant[i])
	}
	if len(c.Offset) > 0 {
		out.Place = Place{Offset: c.Offset[i]}
		if len(c.Artifact) > 0 {
			out.Place.Artifact = int(c.Artifact[i])
		}
		if len(c.Line) > 0 {
			out.Place.Line = c.Line[i]
		}
		if len(c.Length) > 0 {
			out.Place.Length = int64(c.Length[i])
		}
	}
	if len(c.Detail) > 0 {
		out.Detail = c.Detail[i]
	}
	return out
}
