package analysis

// Identity lets a member be followed through the snapshots of one epoch. Equal
// identities in different epochs mean nothing.
//
//	goroutine   ID = goroutine id
//	thread      ID = #N, Hash = name
//	descriptor  ID = fd, Sub = inode (0 where the inode identifies nothing)
//	watch       ID = fd, Sub = wd, Hash = device and file handle
type Identity struct {
	ID   int64
	Sub  int64
	Hash uint64
}

// Member is one row of Members.
type Member struct {
	Identity Identity
	// Parent is the goroutine id of the creator, 0 where unknown.
	Parent int64
	// State is the raw state without flags; "" where the kind has none.
	State string
	// Wait is in minutes, -1 where none was printed.
	Wait int
	// Variant indexes Group.Variants, -1 where the kind has none.
	Variant int
	Place   Place
	// Detail is the row in words for kinds without stacks ("12u TCP a->b").
	Detail string
}

// Members holds the members of one family in one snapshot, a column for each
// property. Columns have Len() entries, or none where nothing is known of it:
// a nil ID column means that the members have no identity (debug=1, proto).
type Members struct {
	ID     []int64
	Sub    []int64
	Hash   []uint64
	Parent []int64
	// State indexes States.
	State   []uint16
	States  []string
	Wait    []int32
	Variant []int32
	// Age is in seconds since the member was born, where the dump prints it (a JVM's
	// elapsed=); -1 where it does not for one of them.
	Age []int32
	// Artifact, Line, Offset and Length are the Place of each member.
	Artifact []int32
	Line     []int64
	Offset   []int64
	Length   []int32
	Detail   []string
}

// Len is the number of members.
func (m *Members) Len() int { return max(len(m.ID), len(m.Offset)) }

// Identified reports whether the members can be followed.
func (m *Members) Identified() bool { return len(m.ID) > 0 }

// Identity returns the identity of member i.
func (m *Members) Identity(i int) Identity {
	id := Identity{ID: m.ID[i]}
	if len(m.Sub) > 0 {
		id.Sub = m.Sub[i]
	}
	if len(m.Hash) > 0 {
		id.Hash = m.Hash[i]
	}
	return id
}

// At returns member i.
func (m *Members) At(i int) Member {
	out := Member{Wait: -1, Variant: -1}
	if len(m.ID) > 0 {
		out.Identity = m.Identity(i)
	}
	if len(m.Parent) > 0 {
		out.Parent = m.Parent[i]
	}
	if len(m.State) > 0 {
		out.State = m.States[m.State[i]]
	}
	if len(m.Wait) > 0 {
		out.Wait = int(m.Wait[i])
	}
	if len(m.Variant) > 0 {
		out.Variant = int(m.Variant[i])
	}
	if len(m.Offset) > 0 {
		out.Place = Place{Offset: m.Offset[i]}
		if len(m.Artifact) > 0 {
			out.Place.Artifact = int(m.Artifact[i])
		}
		if len(m.Line) > 0 {
			out.Place.Line = m.Line[i]
		}
		if len(m.Length) > 0 {
			out.Place.Length = int64(m.Length[i])
		}
	}
	if len(m.Detail) > 0 {
		out.Detail = m.Detail[i]
	}
	return out
}
