package analysis

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
)

// Objects are the things of a program that one dump proves by identity: all goroutines of a
// watch, a session or a connection, or all threads of a monitor. No address of the dump is
// in it.
type Objects struct {
	// Threads reports that the parts are threads of a JVM. A role is the fingerprint of their
	// family, and WaitsOnIt if none of them holds the object. The objects of two dumps cannot
	// be compared one by one, because the JVM moves them.
	Threads bool
	// Kinds are ordered by the number of their objects, then by name.
	Kinds []ObjectKind
	// LeftOut is why the dump has no objects, "" if it was joined.
	LeftOut string
}

// ObjectKind are the objects of one name and one shape in a dump.
type ObjectKind struct {
	// Name is the type without its import path ("*cache.Reflector"), or a function of the
	// role of an object without a type. Type is the same with the import path, as printed.
	Name, Type string
	// Each is the shape: the roles of an object's parts, those with most parts first.
	Each []ObjectRole
	// Level is the weakest of Each.
	Level ObjectLevel
	// Holders are what several of the objects hang on, those with most objects first.
	Holders []ObjectHolder
	// Count is the number of objects, Parts that of the goroutines of each.
	Count, Parts int
	// rows are the objects, packed by Append.
	rows []byte
	last int64
}

// ObjectRole is a part of an object: N goroutines that do the same for it.
type ObjectRole struct {
	// Role is the function with which the goroutine began. If a frame above it belongs to
	// another package outside the standard library, " < " and that function follow.
	Role  string
	N     int
	Level ObjectLevel
}

// ObjectHolder is one thing that N objects of a kind hang on.
type ObjectHolder struct {
	// Type is the receiver's type, or the function that created the goroutines.
	Type string
	// Role is that of the goroutines that show it, or CreatedBy.
	Role string
	N    int
}

// ObjectFamily stands for all objects of a type over all hosts. typ is ObjectKind.Type, the
// only part of the fingerprint: dumps of one program differ in shapes.
func ObjectFamily(name, typ string) *Family {
	hash := sha256.Sum256([]byte(typ))
	return &Family{Fingerprint: "o1:" + hex.EncodeToString(hash[:16]), Kind: KindObject, Title: name, Attributes: map[string]string{"type": typ}}
}

// ObjectType is the typ of ObjectFamily, empty for other families.
func (f *Family) ObjectType() string {
	if f.Kind != KindObject {
		return ""
	}
	return f.Attributes["type"]
}

// CreatedBy is the role of a holder that created goroutines.
const CreatedBy = "created by"

// WaitsOnIt ends the role of threads that wait for their object.
const WaitsOnIt = " waits"

// ObjectLevel is how a part is known to belong to its object.
type ObjectLevel string

// The levels of one dump, the strongest first: the parts show one address; one goroutine
// created them; the object is the goroutine itself.
const (
	ByAddress   ObjectLevel = "address"
	ByParent    ObjectLevel = "parent"
	ByGoroutine ObjectLevel = "goroutine"
	// ByDescriptor is the level of a descriptor that a goroutine of the object waits for.
	ByDescriptor ObjectLevel = "descriptor"
	// ByInode is the level of what the kernel identifies, ByEndpoint that of two sockets with
	// mirrored endpoints, ByEnds that of a socket which is known by its own ends, ByStep that
	// of equal numbers alone.
	ByInode    ObjectLevel = "inode"
	ByEnds     ObjectLevel = "ends"
	ByEndpoint ObjectLevel = "endpoint"
	ByStep     ObjectLevel = "step"
)

// ObjectRow is one object of a kind.
type ObjectRow struct {
	// Root is the goroutine that created others of the object, else the one with the most
	// frames.
	Root int64
	// Parts are the ids of all goroutines, Root included, in ascending order. The slice is
	// valid until the next row.
	Parts []int64
}

// Append adds an object. Rows of ascending roots take least memory.
func (k *ObjectKind) Append(row ObjectRow) {
	rows := binary.AppendVarint(k.rows, row.Root-k.last)
	rows = binary.AppendUvarint(rows, uint64(len(row.Parts)))
	if len(row.Parts) > 1 {
		before := row.Root
		for _, id := range row.Parts {
			rows = binary.AppendVarint(rows, id-before)
			before = id
		}
	}
	k.rows, k.last = rows, row.Root
	k.Count++
}

// Rows yields the objects in the order in which they were added.
func (k *ObjectKind) Rows() iter.Seq[ObjectRow] {
	return func(yield func(ObjectRow) bool) {
		var row ObjectRow
		rows := k.rows
		varint := func() int64 {
			n, size := binary.Varint(rows)
			rows = rows[size:]
			return n
		}
		for len(rows) > 0 {
			row.Root += varint()
			n, size := binary.Uvarint(rows)
			rows = rows[size:]
			row.Parts = append(row.Parts[:0], row.Root)
			if n > 1 {
				before := row.Root
				row.Parts = row.Parts[:0]
				for range n {
					before += varint()
					row.Parts = append(row.Parts, before)
				}
			}
			if !yield(row) {
				return
			}
		}
	}
}
