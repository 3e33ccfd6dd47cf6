package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
)

// The members of all groups of a snapshot are one value; a snapshot without members has
// none. The value is a sequence of frames, each a uvarint with its length and sealed columns:
// those of memberFrame.columns. A frame ends after frameSize bytes of members, because one
// for many groups compresses better than one for each.
const (
	frameSize = 1 << 20
	// maxMembers and maxText bound the members of a group and the length of a text.
	maxMembers = 1 << 26
	maxText    = 16 << 20
	maxStates  = 1 << 16
)

// memberFrame is the members of some groups, in their order. Packed goroutines (see
// analysis.Packed) are kept as they are: their sets, then their values.
type memberFrame struct {
	states []string
	// variants are the numbers of packings of each group, 0 for a group in columns.
	variants []int32
	// Of each packing: variant, artifact, members, bytes of their values, and states.
	variant, artifact, members, size, stateful []int32
	// indexes are the states of each packing, as indexes of states.
	indexes []uint16
	// sets, values and groups are the bytes of all packings and groups in columns.
	sets, values, groups []byte
}

func (f *memberFrame) columns(c *column.Codec) {
	c.Texts(maxStates, &f.states)
	for _, numbers := range []*[]int32{&f.variants, &f.variant, &f.artifact, &f.members, &f.size, &f.stateful} {
		column.Numbers(c, maxMembers, numbers)
	}
	column.Numbers(c, maxMembers, &f.indexes)
	c.Bytes(&f.groups)
}

// memberColumns are n members in columns. Offsets are the gaps to the end of the previous
// member: goroutines of one family are adjacent in a dump, so most gaps are equal.
func memberColumns(c *column.Codec, m *analysis.Columns, n int) {
	gaps := m.Offset
	if !c.Reading() {
		gaps = slices.Clone(m.Offset)
		for i := range gaps {
			gaps[i] -= predictOffset(m, i)
		}
	}
	memberColumn(c, n, &m.ID)
	memberColumn(c, n, &m.Sub)
	memberColumn(c, n, &m.Hash)
	memberColumn(c, n, &m.Parent)
	memberColumn(c, n, &m.State)
	memberColumn(c, n, &m.Wait)
	memberColumn(c, n, &m.Variant)
	memberColumn(c, n, &m.Artifact)
	memberColumn(c, n, &m.Line)
	memberColumn(c, n, &m.Length)
	memberColumn(c, n, &gaps)
	memberColumn(c, n, &m.Age)
	c.Texts(n, &m.Detail)
	if c.Reading() && c.Err() == nil {
		m.Offset = gaps
		for i := range gaps {
			gaps[i] += predictOffset(m, i)
		}
	}
	if len(m.Detail) != 0 && len(m.Detail) != n || max(len(m.ID), len(m.Offset)) != n {
		c.Fail(fmt.Errorf("%d identities, %d places and %d details of %d members", len(m.ID), len(m.Offset), len(m.Detail), n))
	}
}

func memberColumn[T column.Integer](c *column.Codec, n int, values *[]T) {
	column.Numbers(c, n, values)
	if len(*values) != 0 && len(*values) != n {
		c.Fail(fmt.Errorf("a column of %d values for %d members", len(*values), n))
	}
}

// predictOffset returns the offset of member i if it followed the previous one.
func predictOffset(m *analysis.Columns, i int) int64 {
	if i == 0 {
		return 0
	}
	if len(m.Length) == 0 {
		return m.Offset[i-1]
	}
	return m.Offset[i-1] + int64(m.Length[i-1])
}

// memberWriter encodes the members of all groups of a snapshot.
type memberWriter struct {
	p   *packer
	out []byte

	frame memberFrame
	index map[string]uint16
	// packed are the packings of frame, filled is how many bytes its members take.
	packed []*analysis.Packed
	filled int
}

// add encodes members and retains those that are packed until flush.
func (w *memberWriter) add(m *analysis.Members) error {
	if m.Rows != nil {
		columns := *m
		columns.Unpack()
		m = &columns
	}
	n := m.Len()
	if err := checkMembers(m, n); err != nil || n == 0 {
		return err
	}
	if len(w.frame.states)+len(m.States) > maxStates {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.frame.variants = append(w.frame.variants, int32(len(m.Packed)))
	for _, p := range m.Packed {
		w.addPacking(p, m.States)
	}
	if len(m.Packed) == 0 {
		before := len(w.frame.groups)
		c := column.Appender(w.frame.groups)
		states := make([]uint16, len(m.States))
		for i, state := range m.States {
			states[i] = w.state(state)
		}
		column.Numbers(c, maxStates, &states)
		if memberColumns(c, m.Fill(), n); c.Err() != nil {
			return fmt.Errorf("members: %w", c.Err())
		}
		w.frame.groups = c.Data()
		w.filled += len(w.frame.groups) - before
	}
	if w.filled < frameSize {
		return nil
	}
	return w.flush()
}

func (w *memberWriter) addPacking(p analysis.Packing, states []string) {
	sets, values := p.Data()
	f := &w.frame
	f.variant, f.artifact = append(f.variant, p.Variant), append(f.artifact, p.Artifact)
	f.members, f.size = append(f.members, int32(len(sets))), append(f.size, int32(len(values)))
	f.stateful = append(f.stateful, int32(len(p.States())))
	for _, state := range p.States() {
		f.indexes = append(f.indexes, w.state(states[state]))
	}
	w.packed = append(w.packed, p.Packed)
	w.filled += len(sets) + len(values)
}

func (w *memberWriter) state(name string) uint16 {
	i, known := w.index[name]
	if !known {
		if w.index == nil {
			w.index = map[string]uint16{}
		}
		i = uint16(len(w.frame.states))
		w.index[name] = i
		w.frame.states = append(w.frame.states, name)
	}
	return i
}

// flush ends the current frame.
func (w *memberWriter) flush() error {
	if len(w.frame.variants) == 0 {
		return nil
	}
	c := column.Writer(w.filled + 64*len(w.frame.variants))
	if w.frame.columns(c); c.Err() != nil {
		return fmt.Errorf("members: %w", c.Err())
	}
	frame := c.Data()
	for _, p := range w.packed {
		sets, _ := p.Data()
		frame = append(frame, sets...)
	}
	for _, p := range w.packed {
		_, values := p.Data()
		frame = append(frame, values...)
	}
	blob, err := w.p.seal(frame)
	if err != nil {
		return err
	}
	w.out = append(binary.AppendUvarint(slices.Grow(w.out, len(blob)+binary.MaxVarintLen64), uint64(len(blob))), blob...)
	*w = memberWriter{p: w.p, out: w.out}
	return nil
}

// checkMembers refuses members that nobody could read again.
func checkMembers(m *analysis.Members, n int) error {
	if n > maxMembers {
		return fmt.Errorf("members: %d in one family, at most %d can be kept", n, maxMembers)
	}
	columns := cmp.Or(m.Columns, &analysis.Columns{})
	if n == 0 { // columns without identities and places
		c := column.Writer(0)
		memberColumns(c, columns, 0)
		return c.Err()
	}
	if len(m.States) > maxStates {
		return fmt.Errorf("members: %d states", len(m.States))
	}
	if err := checkStates(m, columns.State); err != nil {
		return err
	}
	for _, p := range m.Packed {
		if len(columns.ID) > 0 || len(columns.Offset) > 0 || p.Variant < 0 || p.Artifact < 0 {
			return fmt.Errorf("members: variant %d packed beside %d in columns", p.Variant, max(len(columns.ID), len(columns.Offset)))
		}
		if err := checkStates(m, p.States()); err != nil {
			return err
		}
	}
	for _, texts := range [][]string{m.States, columns.Detail} {
		for _, text := range texts {
			if len(text) > maxText {
				return fmt.Errorf("members: a text of %d bytes, at most %d can be kept", len(text), maxText)
			}
		}
	}
	return nil
}

func checkStates(m *analysis.Members, states []uint16) error {
	for _, state := range states {
		if int(state) >= len(m.States) {
			return fmt.Errorf("members: state %d of %d", state, len(m.States))
		}
	}
	return nil
}

// memberReader decodes the members of all groups of a snapshot, in order.
type memberReader struct {
	p *packer
	// value is the unread frames, frame the unread rest of the current one.
	value []byte
	frame memberFrame
	// packed has a place for each packing of the frame, since groups are small and many.
	packed []analysis.Packing
}

// next reads the members of the next group and leaves packed goroutines packed; want is
// their number. A value with another number or any damage is an error.
func (r *memberReader) next(want int) (m analysis.Members, err error) {
	if want == 0 {
		return m, nil
	}
	if want > maxMembers {
		return m, fmt.Errorf("members: %d are too many", want)
	}
	if len(r.frame.variants) == 0 {
		if err := r.open(); err != nil {
			return m, fmt.Errorf("members: %w", err)
		}
	}
	f := &r.frame
	variants := int(f.variants[0])
	if f.variants = f.variants[1:]; variants > 0 {
		m, err = r.packings(variants, want)
	} else {
		m, err = r.inColumns(want)
	}
	if rest := len(f.sets) + len(f.values) + len(f.groups) + len(f.variant); err == nil && len(f.variants) == 0 && rest > 0 {
		err = errors.New("more members than the groups have")
	}
	if err != nil {
		return analysis.Members{}, fmt.Errorf("members: %w", err)
	}
	return m, nil
}

// done fails if unread members are left.
func (r *memberReader) done() error {
	if len(r.frame.variants)+len(r.value) > 0 {
		return errors.New("members: more than the groups have")
	}
	return nil
}

// open starts the next frame.
func (r *memberReader) open() error {
	size, n := binary.Uvarint(r.value)
	if n <= 0 || size > uint64(len(r.value)-n) {
		return errors.New("those of a family are missing")
	}
	blob := r.value[n:][:size]
	r.value = r.value[n:][size:]
	values, err := r.p.unseal(blob, nil)
	if err != nil {
		return err
	}
	if blob[0] == sealedPlain {
		values = slices.Clone(values) // members refer to it after the value is reused
	}
	c := column.Reader(values)
	r.frame = memberFrame{}
	f := &r.frame
	if f.columns(c); c.Err() != nil {
		return c.Err()
	}
	packings, members, states := len(f.variant), 0, 0
	for _, list := range [][]int32{f.artifact, f.members, f.size, f.stateful} {
		if len(list) != packings {
			return fmt.Errorf("%d figures of %d packings", len(list), packings)
		}
	}
	for i, n := range f.members {
		if f.variant[i] < 0 || f.artifact[i] < 0 || n < 0 || f.size[i] < 0 || f.stateful[i] < 0 {
			return fmt.Errorf("packing %d has figures below zero", i)
		}
		members, states = members+int(n), states+int(f.stateful[i])
	}
	for _, state := range f.indexes {
		if int(state) >= len(f.states) {
			return fmt.Errorf("state %d of %d", state, len(f.states))
		}
	}
	if rest := c.Data(); len(f.variants) == 0 || states != len(f.indexes) || members > len(rest) {
		return fmt.Errorf("%d groups, %d states and %d members", len(f.variants), len(f.indexes), members)
	} else {
		f.sets, f.values = rest[:members], rest[members:]
	}
	r.packed = make([]analysis.Packing, packings)
	return nil
}

func (r *memberReader) packings(variants, want int) (m analysis.Members, err error) {
	f := &r.frame
	if variants > len(f.variant) {
		return m, fmt.Errorf("%d variants of %d", variants, len(f.variant))
	}
	m.States, m.Packed = f.states, r.packed[:variants:variants]
	r.packed = r.packed[variants:]
	left := want
	for i := range variants {
		n, size, states := int(f.members[i]), int(f.size[i]), int(f.stateful[i])
		if left -= n; left < 0 || size > len(f.values) {
			return m, fmt.Errorf("variant %d has %d members in %d bytes", i, n, size)
		}
		packed := analysis.NewPacked(f.indexes[:states:states], f.sets[:n:n], f.values[:size:size])
		m.Packed[i] = analysis.Packing{Packed: packed, Variant: f.variant[i], Artifact: f.artifact[i]}
		f.indexes, f.sets, f.values = f.indexes[states:], f.sets[n:], f.values[size:]
	}
	for _, list := range []*[]int32{&f.variant, &f.artifact, &f.members, &f.size, &f.stateful} {
		*list = (*list)[variants:]
	}
	if left > 0 {
		return m, fmt.Errorf("%d members of %d are missing", left, want)
	}
	return m, nil
}

func (r *memberReader) inColumns(want int) (m analysis.Members, err error) {
	c := column.Reader(r.frame.groups)
	var states []uint16
	column.Numbers(c, maxStates, &states)
	memberColumns(c, m.Fill(), want)
	for _, state := range states {
		if int(state) >= len(r.frame.states) {
			return m, fmt.Errorf("state %d of %d", state, len(r.frame.states))
		}
		m.States = append(m.States, r.frame.states[state])
	}
	if c.Err() != nil {
		return m, c.Err()
	}
	r.frame.groups = c.Data()
	return m, checkMembers(&m, want)
}
