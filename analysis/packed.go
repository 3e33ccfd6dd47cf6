package analysis

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Packed holds the goroutines of one exact stack in the order of their dump. Each takes
// about five bytes, where columns take 53. A goroutine is stored as its difference from
// the value expected after the earlier ones: a byte with the set of differing fields,
// then a varint (encoding/binary) of its id minus the expected id and one of each
// differing field, in the order of their bits. The zero value holds no goroutine.
type Packed struct {
	sets, values []byte
	states       []uint16
	// last is nil until a goroutine was appended.
	last *expectation
}

// The fields that are left out if they have the expected value.
const (
	packedParent = 1 << iota // id minus that of the creator
	packedState              // index of Packed.states, unsigned
	packedWait               // minutes minus those of the one before
	packedLength             // length minus that expected with ids and minutes of this width
	packedGap                // bytes from the end of the one before
	packedLine               // line minus the expected line
	packedEnd
)

// PackedMember is one goroutine of Packed.
type PackedMember struct {
	ID, Parent int64
	// State indexes a table that the caller keeps.
	State uint16
	// Wait is in minutes, -1 if none was printed.
	Wait int32
	// Line counts from 1, Offset and Length are in bytes.
	Line, Offset int64
	Length       int32
}

// NewPacked takes the results of Data and States.
func NewPacked(states []uint16, sets, values []byte) *Packed {
	return &Packed{sets: sets, values: values, states: states}
}

// Len is the number of goroutines.
func (p *Packed) Len() int { return len(p.sets) }

// Data returns a set for each goroutine, and the values of all.
func (p *Packed) Data() (sets, values []byte) { return p.sets, p.values }

// States returns the states of the goroutines in the order of their first use.
func (p *Packed) States() []uint16 { return p.states }

// Append adds a goroutine and returns the index of its state in States. It must not be
// called on a value of NewPacked.
func (p *Packed) Append(m PackedMember) (state int) {
	if p.last == nil {
		first := beginning()
		p.last = &first
	}
	e := p.last
	state = p.stateIndex(m.State)
	m.State = uint16(state)
	var set byte
	values := binary.AppendVarint(p.values, m.ID-e.row)
	if m.Parent != e.Parent {
		set |= packedParent
		values = binary.AppendVarint(values, m.ID-m.Parent)
	}
	if m.State != e.State {
		set |= packedState
		values = binary.AppendUvarint(values, uint64(m.State))
	}
	if m.Wait != e.Wait {
		set |= packedWait
		values = binary.AppendVarint(values, int64(m.Wait)-int64(e.Wait))
	}
	bare := int64(m.Length) - m.varying()
	if bare != e.bareLength {
		set |= packedLength
		values = binary.AppendVarint(values, bare-e.bareLength)
	}
	gap := m.Offset - e.end()
	if gap != 1 {
		set |= packedGap
		values = binary.AppendVarint(values, gap)
	}
	if line := e.line(gap); m.Line != line {
		set |= packedLine
		values = binary.AppendVarint(values, m.Line-line)
	}
	p.sets, p.values = append(p.sets, set), values
	e.follow(&m, bare, gap)
	return state
}

// stateIndex numbers the states of this stack, which are few.
func (p *Packed) stateIndex(state uint16) int {
	for i, s := range p.states {
		if s == state {
			return i
		}
	}
	p.states = append(p.states, state)
	return len(p.states) - 1
}

// All yields the goroutines. With damaged data it ends early.
func (p *Packed) All() iter.Seq[PackedMember] {
	return func(yield func(PackedMember) bool) {
		r := packedReader{values: p.values, last: beginning()}
		for i, set := range p.sets {
			m := r.next(set)
			if r.damaged || int(m.State) >= len(p.states) || i == len(p.sets)-1 && len(r.values) > 0 {
				return
			}
			m.State = p.states[m.State]
			if !yield(m) {
				return
			}
		}
	}
}

// IDs yields the ids of the goroutines, with damaged data at least those that All
// yields. It skips the other fields, one varint each, without decoding them.
func (p *Packed) IDs() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		var e expectation
		values := p.values
		for i, set := range p.sets {
			v, n := binary.Varint(values)
			if n <= 0 {
				return
			}
			values = values[n:]
			if values = behind(values, bits.OnesCount8(set)); values == nil || i == len(p.sets)-1 && len(values) > 0 {
				return
			}
			id := e.row + v
			if !yield(id) {
				return
			}
			e.ascend(id)
		}
	}
}

// behind cuts n varints off values. It returns nil if there are fewer.
func behind(values []byte, n int) []byte {
	for at, b := range values {
		if n == 0 {
			return values[at:]
		}
		if b < 0x80 {
			n--
		}
	}
	if n > 0 {
		return nil
	}
	return values[len(values):]
}

// expectation predicts the next goroutine of a stack from those so far.
type expectation struct {
	PackedMember // the last one, with State as an index of Packed.states
	// row is the id from which the next one ascends. The runtime lists goroutines by
	// slots, and one that reuses a slot is far from its neighbours. Two such in a row
	// begin a new row.
	row int64
	far bool
	// bareLength is the length of the last one without its varying part.
	bareLength int64
	// step is the number of lines from one goroutine to the next if they are adjacent.
	step int64
}

// farID is the distance from its neighbours at which an id is out of the row.
const farID = 1 << 18

func beginning() expectation { return expectation{PackedMember: PackedMember{Wait: -1}} }

// follow takes m, which begins gap bytes after the end of the one before.
func (e *expectation) follow(m *PackedMember, bare, gap int64) {
	e.ascend(m.ID)
	e.bareLength = bare
	if gap == 1 {
		e.step = m.Line - e.Line
	}
	e.PackedMember = *m
}

// ascend adds the id of a goroutine to its row.
func (e *expectation) ascend(id int64) {
	distance := id - e.row
	far := distance >= farID || distance <= -farID
	if !far || e.far {
		e.row = id
	}
	e.far = far
}

func (e *expectation) end() int64 { return e.Offset + int64(e.Length) }

// line assumes that the gap has as many lines per byte as the dump before it.
func (e *expectation) line(gap int64) int64 {
	line := e.Line + e.step
	if gap <= 1 || e.Line <= 0 || e.Offset <= 0 {
		return line
	}
	high, low := bits.Mul64(uint64(gap-1), uint64(e.Line))
	if high > 0 {
		return line
	}
	return line + int64(low/uint64(e.Offset))
}

// varying is the number of bytes of a goroutine that differ within one stack: ids and
// minutes.
//
//	"goroutine 4711 [select, 8 minutes]:" of parent 12 = 4 + 2 + 1 + 10
func (m *PackedMember) varying() int64 {
	n := digits(m.ID) + digits(m.Parent)
	if m.Wait > 0 {
		n += digits(int64(m.Wait)) + int64(len(",  minutes"))
	}
	return n
}

// digits is the length of a number in decimal, 0 for a number that is not above 0.
func digits(n int64) int64 {
	if n <= 0 {
		return 0
	}
	// 1233/4096 is just below log10(2).
	floor := bits.Len64(uint64(n)) * 1233 >> 12
	if n >= powersOf10[floor] {
		floor++
	}
	return int64(floor)
}

// powersOf10 are those that fit into an int64.
var powersOf10 = func() (powers [19]int64) {
	powers[0] = 1
	for i := range powers[1:] {
		powers[i+1] = 10 * powers[i]
	}
	return powers
}()

// packedReader reads goroutines. After damage it stays damaged.
type packedReader struct {
	values  []byte
	last    expectation
	damaged bool
}

func (r *packedReader) next(set byte) PackedMember {
	r.damaged = r.damaged || set >= packedEnd
	e := &r.last
	m := e.PackedMember
	m.ID = e.row + r.varint()
	if set&packedParent != 0 {
		m.Parent = m.ID - r.varint()
	}
	if set&packedState != 0 {
		m.State = uint16(r.uvarint(1 << 16))
	}
	if set&packedWait != 0 {
		m.Wait = r.narrow(int64(e.Wait) + r.varint())
	}
	bare := e.bareLength
	if set&packedLength != 0 {
		bare += r.varint()
	}
	m.Length = r.narrow(bare + m.varying())
	gap := int64(1)
	if set&packedGap != 0 {
		gap = r.varint()
	}
	m.Offset = e.end() + gap
	m.Line = e.line(gap)
	if set&packedLine != 0 {
		m.Line += r.varint()
	}
	e.follow(&m, bare, gap)
	return m
}

func (r *packedReader) varint() int64 {
	v, n := binary.Varint(r.values)
	r.take(n)
	return v
}

func (r *packedReader) uvarint(below uint64) uint64 {
	v, n := binary.Uvarint(r.values)
	r.take(n)
	r.damaged = r.damaged || v >= below
	return v
}

func (r *packedReader) take(n int) {
	if n <= 0 {
		r.damaged, r.values = true, nil
		return
	}
	r.values = r.values[n:]
}

func (r *packedReader) narrow(v int64) int32 {
	r.damaged = r.damaged || v != int64(int32(v))
	return int32(v)
}
