package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"leakdiff/analysis"
)

// The members of all groups of a snapshot are one value; a snapshot without members has
// none. The value is a sequence of parts. Each part starts with a varint: its length, and in
// the lowest bit its kind:
//
//	0  a frame: the members of small groups, sealed together
//	1  the members of one group of more than streamFrom, encoded by encodeMembers
//
// Each kind is in the order of the groups; the facts contain the numbers of members. A frame
// consists of
//
//	length   number of states; of each its text
//	length   number of groups
//	length   of the heads of the groups; for each group
//	  length   0 for columns, 1 for all members in the first variant of the first
//	           artifact, else one more than the number of variants with members
//	  columns  length of writeMembers' bytes
//	  variants for each (all uvarint): variant, artifact and number of members, omitted for
//	           the first variant alone; states: twice the index of the only one, or one
//	           more than twice their number, then the index of each
//	data     the columns, or the sets and the values of each variant, in the same order; a
//	         set defines its number of values
//
// One frame for all groups compresses better than one for each, and is decompressed at once.
const (
	isFrame = 0
	isLarge = 1
	// frameRoom is the amount of data after which a new frame starts, in bytes.
	frameRoom = 1 << 20
)

// memberSetWriter encodes the members of all groups of a snapshot.
type memberSetWriter struct {
	p   *packer
	out []byte

	// The current frame.
	heads  compactWriter
	data   bytes.Buffer
	groups int
	states []string
	index  map[string]uint64
}

// add encodes members and retains no reference to them.
func (w *memberSetWriter) add(m *analysis.Members) error {
	if m.Rows != nil {
		columns := *m
		columns.Unpack()
		m = &columns
	}
	n := m.Len()
	if n > streamFrom {
		w.out = slices.Grow(w.out, packedSize(m))
		blob, err := encodeMembers(w.p, m)
		if err != nil {
			return err
		}
		w.part(isLarge, blob)
		return nil
	}
	if err := checkMembers(m, n); err != nil || n == 0 {
		return err
	}
	if len(w.states)+len(m.States) > 1<<16 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.groups++
	if len(m.Packed) > 0 {
		w.packings(m)
	} else {
		w.heads.length(0)
		before := w.data.Len()
		if err := writeMembers(w.p, &w.data, m, n); err != nil {
			return err
		}
		w.heads.length(w.data.Len() - before)
	}
	if w.data.Len() < frameRoom {
		return nil
	}
	return w.flush()
}

func (w *memberSetWriter) packings(m *analysis.Members) {
	first := len(m.Packed) == 1 && m.Packed[0].Variant == 0 && m.Packed[0].Artifact == 0
	if first {
		w.heads.length(1)
	} else {
		w.heads.length(1 + len(m.Packed))
	}
	for _, packing := range m.Packed {
		sets, values := packing.Data()
		if !first {
			w.heads.uvarint(uint64(packing.Variant))
			w.heads.uvarint(uint64(packing.Artifact))
			w.heads.length(len(sets))
		}
		if states := packing.States(); len(states) == 1 {
			w.heads.uvarint(w.state(m.States[states[0]]) << 1)
		} else {
			w.heads.length(len(states)<<1 | 1)
			for _, state := range states {
				w.heads.uvarint(w.state(m.States[state]))
			}
		}
		w.data.Write(sets)
		w.data.Write(values)
	}
}

func (w *memberSetWriter) state(name string) uint64 {
	i, known := w.index[name]
	if !known {
		if w.index == nil {
			w.index = map[string]uint64{}
		}
		i = uint64(len(w.states))
		w.index[name] = i
		w.states = append(w.states, name)
	}
	return i
}

func (w *memberSetWriter) part(kind uint64, blob []byte) {
	c := compactWriter{w.out}
	c.uvarint(uint64(len(blob))<<1 | kind)
	w.out = append(c.b, blob...)
}

// flush ends the current frame.
func (w *memberSetWriter) flush() error {
	if w.groups == 0 {
		return nil
	}
	var frame compactWriter
	frame.length(len(w.states))
	for _, state := range w.states {
		// States are raw bytes here, without JSON's replacement of invalid UTF-8.
		frame.length(len(state))
		frame.b = append(frame.b, state...)
	}
	frame.length(w.groups)
	frame.length(len(w.heads.b))
	frame.b = append(append(frame.b, w.heads.b...), w.data.Bytes()...)
	blob, err := w.p.seal(frame.b)
	if err != nil {
		return err
	}
	w.part(isFrame, blob)
	w.heads.b, w.groups, w.states, w.index = w.heads.b[:0], 0, nil, nil
	w.data.Reset()
	return nil
}

// memberSetReader decodes the members of all groups of a snapshot, in order.
type memberSetReader struct {
	p     *packer
	texts *textTable
	// frames and large are the unread parts.
	frames, large [][]byte
	// frame is the unread rest of the heads in the current frame.
	frame  compactReader
	groups int
	data   []byte
	states []string

	// Groups are small and many, so their slices share large allocations.
	packed   []analysis.Packing
	stateSet []uint16
}

// openMemberSet starts to read the members of a snapshot.
func openMemberSet(p *packer, texts *textTable, value []byte) (*memberSetReader, error) {
	r := &memberSetReader{p: p, texts: texts}
	parts := compactReader{b: value}
	for len(parts.b) > 0 {
		head := parts.uvarint()
		if head>>1 > uint64(len(parts.b)) {
			return nil, errors.New("members: a part is cut")
		}
		blob := parts.bytes(int(head >> 1))
		if head&1 == isLarge {
			r.large = append(r.large, blob)
		} else {
			r.frames = append(r.frames, blob)
		}
	}
	if parts.err != nil {
		return nil, fmt.Errorf("members: %w", parts.err)
	}
	return r, nil
}

// next reads the members of the next group; want is their number.
func (r *memberSetReader) next(want int) (m analysis.Members, err error) {
	if want == 0 {
		return m, nil
	}
	if want > streamFrom {
		if len(r.large) == 0 {
			return m, errors.New("members: those of a large family are missing")
		}
		blob := r.large[0]
		r.large = r.large[1:]
		return openMembers(r.p, blob, want)
	}
	if r.groups == 0 {
		if err := r.open(); err != nil {
			return m, fmt.Errorf("members: %w", err)
		}
	}
	r.groups--
	if m, err = r.group(want); err == nil {
		err = r.frame.err
	}
	if err == nil && r.groups == 0 && len(r.data)+len(r.frame.b) > 0 {
		err = errors.New("bytes after the last group")
	}
	if err != nil {
		return analysis.Members{}, fmt.Errorf("members: %w", err)
	}
	return m, nil
}

// done fails if unread members are left.
func (r *memberSetReader) done() error {
	if r.groups+len(r.frames)+len(r.large) > 0 {
		return errors.New("members: more than the groups have")
	}
	return nil
}

// open starts the next frame.
func (r *memberSetReader) open() error {
	if len(r.frames) == 0 {
		return errors.New("those of a family are missing")
	}
	blob := r.frames[0]
	r.frames = r.frames[1:]
	values, err := r.p.unseal(blob, nil)
	if err != nil {
		return err
	}
	if blob[0] == sealedPlain {
		values = bytes.Clone(values) // members refer to it after the value is reused
	}
	frame := compactReader{b: values, texts: r.texts}
	r.states = readList(&frame, func(state *string) { *state = frame.text() })
	r.groups = frame.length(1)
	heads := frame.bytes(frame.length(1))
	r.frame, r.data = compactReader{b: heads}, frame.b
	if frame.err == nil && (r.groups == 0 || len(r.states) > 1<<16) {
		frame.fail(fmt.Errorf("%d groups, %d states", r.groups, len(r.states)))
	}
	return frame.err
}

func (r *memberSetReader) group(want int) (m analysis.Members, err error) {
	form := r.frame.uvarint()
	if form == 0 {
		body := r.take(r.frame.uvarint())
		if r.frame.err != nil {
			return m, r.frame.err
		}
		return readMembers(bytes.NewReader(body), want)
	}
	if form > uint64(want)+1 {
		return m, fmt.Errorf("%d variants of %d members", form-1, want)
	}
	first, variants := form == 1, max(1, int(form)-1)
	if cap(r.packed)-len(r.packed) < variants {
		r.packed = make([]analysis.Packing, 0, max(variants, r.groups+1))
	}
	begin := len(r.packed)
	left := uint64(want)
	for range variants {
		var variant, artifact uint64
		n := left
		if !first {
			variant, artifact, n = r.frame.uvarint(), r.frame.uvarint(), r.frame.uvarint()
		}
		states, err := r.stateIndexes()
		if err != nil {
			return m, err
		}
		if n > left || variant >= 1<<31 || artifact >= 1<<31 {
			return m, fmt.Errorf("variant %d of artifact %d has %d members of %d", variant, artifact, n, left)
		}
		left -= n
		sets := r.take(n)
		packed := analysis.NewPacked(states, sets, r.values(sets))
		r.packed = append(r.packed, analysis.Packing{Packed: packed, Variant: int32(variant), Artifact: int32(artifact)})
	}
	if left > 0 && r.frame.err == nil {
		return m, fmt.Errorf("%d members of %d are missing", left, want)
	}
	m.States, m.Packed = r.states, r.packed[begin:len(r.packed):len(r.packed)]
	return m, nil
}

// stateIndexes reads the states of a variant.
func (r *memberSetReader) stateIndexes() ([]uint16, error) {
	n, state := 1, r.frame.uvarint()
	one := state&1 == 0
	state >>= 1
	if !one {
		if state > uint64(len(r.frame.b)) {
			return nil, errShort
		}
		n = int(state)
	}
	if cap(r.stateSet)-len(r.stateSet) < n {
		r.stateSet = make([]uint16, 0, max(n, r.groups+1))
	}
	first := len(r.stateSet)
	for range n {
		if !one {
			state = r.frame.uvarint()
		}
		if state >= uint64(len(r.states)) {
			return nil, fmt.Errorf("state %d of %d", state, len(r.states))
		}
		r.stateSet = append(r.stateSet, uint16(state))
	}
	return r.stateSet[first:len(r.stateSet):len(r.stateSet)], nil
}

// values takes the values of goroutines with these sets from the data: the id and one value
// for each bit.
func (r *memberSetReader) values(sets []byte) []byte {
	n := len(sets)
	for _, set := range sets {
		n += bits.OnesCount8(set)
	}
	for at, b := range r.data {
		if n == 0 {
			return r.take(uint64(at))
		}
		if b < 0x80 {
			n--
		}
	}
	if n > 0 {
		r.frame.fail(errShort)
		return nil
	}
	return r.take(uint64(len(r.data)))
}

// take removes the next n bytes from the data of the frame.
func (r *memberSetReader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.frame.fail(errShort)
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}
