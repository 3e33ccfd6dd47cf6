package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"leakdiff/analysis"
)

// The blob of the members of a large family (see memberSetWriter for the others):
//
//	byte     form: membersZstd, with columns in one zstd frame after the checksum, or
//	         packingsMinLZ, with packed goroutines in a MinLZ stream
//	4 bytes  CRC-32C of the rest of the blob, little-endian
//	uvarint  number of members
//
// A body of packed goroutines (analysis.Packed) consists of
//
//	states   their number, then as a column of texts
//	uvarint  number of variants with members; for each of them
//	         variant, artifact, number of states, the index of each state, number of
//	         members, number of bytes of their values (all uvarint), sets, values
//
// Any other body consists of columns:
//
//	uvarint  set of the columns present, bit i for column i
//	columns  in the order of the bits, each one byte mode and then its values
//
// Columns are in the order of the members. Offsets are written as the gap to the end of the
// previous member: goroutines of one family are adjacent in a dump, so most gaps are equal.
const (
	membersZstd   = 1
	packingsMinLZ = 2

	membersHeader = 1 + 4
	// zstdWorth is the size below which the overhead of a frame exceeds the gain.
	zstdWorth = 96
	// streamFrom is the number of members above which the body is streamed.
	streamFrom = 1024
	// maxMembers and maxText bound the allocations of the decoder.
	maxMembers = 1 << 26
	maxText    = 16 << 20
	maxBody    = 4 << 30
)

// The columns, by bit.
const (
	columnID = iota
	columnSub
	columnHash
	columnParent
	columnStates
	columnState
	columnWait
	columnVariant
	columnArtifact
	columnLine
	columnLength
	columnOffset
	columnDetail
	columnAge
)

// The modes of an integer column: signed varints of the values or of their
// differences, one by one or as runs (value, length-1), or eight bytes each.
const (
	modeValues = iota
	modeDeltas
	modeValueRuns
	modeDeltaRuns
	modeFixed
	modes
)

type integer interface {
	uint16 | int32 | int64 | uint64
}

// encodeMembers returns the blob of m, empty for no members. It fails if the columns have
// different lengths.
func encodeMembers(p *packer, m *analysis.Members) ([]byte, error) {
	if m.Rows != nil {
		columns := *m
		columns.Unpack()
		m = &columns
	}
	n := m.Len()
	if err := checkMembers(m, n); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	blob := bytes.NewBuffer(make([]byte, membersHeader, max(256, packedSize(m))))
	form, err := writeBody(p, blob, m, n)
	if err != nil {
		return nil, err
	}
	out := blob.Bytes()
	out[0] = form
	binary.LittleEndian.PutUint32(out[1:], checksum(out[membersHeader:]))
	return out, nil
}

// packedSize estimates the maximum blob size of packed goroutines without a head, because
// compression saves little of it.
func packedSize(m *analysis.Members) (n int) {
	for _, p := range m.Packed {
		sets, values := p.Data()
		n += len(sets) + len(values) + 64
	}
	return n
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// writeBody streams the body, so that a million members are not in memory twice. Packed
// members use MinLZ: they are so compact that zstd saves only another tenth in eight times the
// time.
func writeBody(p *packer, blob *bytes.Buffer, m *analysis.Members, n int) (form byte, err error) {
	if len(m.Packed) > 0 {
		w := p.quickly(blob)
		if err := writeMembers(p, w, m, n); err != nil {
			return 0, err
		}
		return packingsMinLZ, w.Close()
	}
	enc, err := p.encoder()
	if err != nil {
		return 0, err
	}
	enc.Reset(blob)
	if err := writeMembers(p, enc, m, n); err != nil {
		return 0, err
	}
	return membersZstd, enc.Close()
}

func checkMembers(m *analysis.Members, n int) error {
	if n > maxMembers {
		return fmt.Errorf("members: %d in one family, at most %d can be kept", n, maxMembers)
	}
	for _, c := range []struct {
		name string
		len  int
	}{
		{"ID", len(m.ID)}, {"Sub", len(m.Sub)}, {"Hash", len(m.Hash)}, {"Parent", len(m.Parent)},
		{"State", len(m.State)}, {"Wait", len(m.Wait)}, {"Variant", len(m.Variant)}, {"Artifact", len(m.Artifact)},
		{"Line", len(m.Line)}, {"Offset", len(m.Offset)}, {"Length", len(m.Length)}, {"Detail", len(m.Detail)},
		{"Age", len(m.Age)},
	} {
		if c.len != 0 && c.len != n {
			return fmt.Errorf("members: column %s has %d entries for %d members", c.name, c.len, n)
		}
	}
	if len(m.States) > 1<<16 {
		return fmt.Errorf("members: %d states", len(m.States))
	}
	for _, state := range m.State {
		if int(state) >= len(m.States) {
			return fmt.Errorf("members: state %d of %d", state, len(m.States))
		}
	}
	for _, p := range m.Packed {
		if len(m.ID) > 0 || len(m.Offset) > 0 || p.Variant < 0 || p.Artifact < 0 {
			return fmt.Errorf("members: variant %d packed beside %d in columns", p.Variant, max(len(m.ID), len(m.Offset)))
		}
		for _, state := range p.States() {
			if int(state) >= len(m.States) {
				return fmt.Errorf("members: state %d of %d", state, len(m.States))
			}
		}
	}
	for _, texts := range [][]string{m.States, m.Detail} {
		for _, text := range texts {
			if len(text) > maxText {
				return fmt.Errorf("members: a text of %d bytes, at most %d can be kept", len(text), maxText)
			}
		}
	}
	return nil
}

func writeMembers(p *packer, w io.Writer, m *analysis.Members, n int) error {
	if len(m.Packed) > 0 {
		return writePackings(p, w, m, n)
	}
	var present uint64
	for column, length := range map[int]int{
		columnID: len(m.ID), columnSub: len(m.Sub), columnHash: len(m.Hash), columnParent: len(m.Parent),
		columnStates: len(m.States), columnState: len(m.State), columnWait: len(m.Wait), columnVariant: len(m.Variant),
		columnArtifact: len(m.Artifact), columnLine: len(m.Line), columnLength: len(m.Length),
		columnOffset: len(m.Offset), columnDetail: len(m.Detail), columnAge: len(m.Age),
	} {
		if length > 0 {
			present |= 1 << column
		}
	}
	c := &columnWriter{w: p.buffered(w)}
	c.uvarint(uint64(n))
	c.uvarint(present)
	writeColumn(c, m.ID)
	writeColumn(c, m.Sub)
	writeColumn(c, m.Hash)
	writeColumn(c, m.Parent)
	writeStates(c, m.States)
	writeColumn(c, m.State)
	writeColumn(c, m.Wait)
	writeColumn(c, m.Variant)
	writeColumn(c, m.Artifact)
	writeColumn(c, m.Line)
	writeColumn(c, m.Length)
	c.column(len(m.Offset), func(i int) int64 { return m.Offset[i] - predictOffset(m, i) })
	c.texts(m.Detail)
	writeColumn(c, m.Age)
	return c.w.Flush()
}

// writePackings writes packed goroutines unchanged, and only those states of the dump that
// the family has.
func writePackings(p *packer, w io.Writer, m *analysis.Members, n int) error {
	index := map[uint16]uint64{}
	var states []string
	for _, packing := range m.Packed {
		for _, state := range packing.States() {
			if _, known := index[state]; !known {
				index[state] = uint64(len(states))
				states = append(states, m.States[state])
			}
		}
	}
	c := &columnWriter{w: p.buffered(w)}
	c.uvarint(uint64(n))
	writeStates(c, states)
	c.uvarint(uint64(len(m.Packed)))
	for _, packing := range m.Packed {
		c.uvarint(uint64(packing.Variant))
		c.uvarint(uint64(packing.Artifact))
		c.uvarint(uint64(len(packing.States())))
		for _, state := range packing.States() {
			c.uvarint(index[state])
		}
		sets, values := packing.Data()
		c.uvarint(uint64(len(sets)))
		c.uvarint(uint64(len(values)))
		c.w.Write(sets)
		c.w.Write(values)
	}
	return c.w.Flush()
}

// predictOffset returns the offset of member i if it followed the previous one.
func predictOffset(m *analysis.Members, i int) int64 {
	if i == 0 {
		return 0
	}
	if len(m.Length) == 0 {
		return m.Offset[i-1]
	}
	return m.Offset[i-1] + int64(m.Length[i-1])
}

// columnWriter writes columns. bufio stores the first error until Flush.
type columnWriter struct {
	w   *bufio.Writer
	tmp [binary.MaxVarintLen64]byte
}

func (c *columnWriter) uvarint(v uint64) {
	c.w.Write(c.tmp[:binary.PutUvarint(c.tmp[:], v)])
}

func writeColumn[T integer](c *columnWriter, values []T) {
	c.column(len(values), func(i int) int64 { return int64(values[i]) })
}

// column writes n values in the shortest mode, and nothing if n is 0.
func (c *columnWriter) column(n int, at func(int) int64) {
	if n == 0 {
		return
	}
	mode := shortestMode(n, at)
	c.w.WriteByte(byte(mode))
	switch mode {
	case modeFixed:
		for i := range n {
			c.w.Write(binary.LittleEndian.AppendUint64(c.tmp[:0], uint64(at(i))))
		}
	case modeValues, modeDeltas:
		for v := range differences(n, at, mode == modeDeltas) {
			c.uvarint(zigzag(v))
		}
	default:
		for v, length := range runs(n, at, mode == modeDeltaRuns) {
			c.uvarint(zigzag(v))
			c.uvarint(uint64(length - 1))
		}
	}
}

func shortestMode(n int, at func(int) int64) int {
	var size [modes]int
	for v := range differences(n, at, false) {
		size[modeValues] += varintLen(zigzag(v))
	}
	for v := range differences(n, at, true) {
		size[modeDeltas] += varintLen(zigzag(v))
	}
	for v, length := range runs(n, at, false) {
		size[modeValueRuns] += varintLen(zigzag(v)) + varintLen(uint64(length-1))
	}
	for v, length := range runs(n, at, true) {
		size[modeDeltaRuns] += varintLen(zigzag(v)) + varintLen(uint64(length-1))
	}
	size[modeFixed] = 8 * n
	best := modeValues
	for mode := range modes {
		if size[mode] < size[best] {
			best = mode
		}
	}
	return best
}

// differences yields the values, or the first value and then the differences, which wrap
// around on overflow.
func differences(n int, at func(int) int64, delta bool) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		var last int64
		for i := range n {
			v := at(i)
			if !yield(v - last) {
				return
			}
			if delta {
				last = v
			}
		}
	}
}

// runs yields the values of differences with their run lengths.
func runs(n int, at func(int) int64, delta bool) func(yield func(int64, int) bool) {
	return func(yield func(int64, int) bool) {
		var value int64
		length := 0
		for v := range differences(n, at, delta) {
			if length > 0 && v == value {
				length++
				continue
			}
			if length > 0 && !yield(value, length) {
				return
			}
			value, length = v, 1
		}
		if length > 0 {
			yield(value, length)
		}
	}
}

func writeStates(c *columnWriter, states []string) {
	if len(states) == 0 {
		return
	}
	c.uvarint(uint64(len(states)))
	c.texts(states)
}

// texts writes the lengths as a column, then all bytes.
func (c *columnWriter) texts(texts []string) {
	c.column(len(texts), func(i int) int64 { return int64(len(texts[i])) })
	for _, text := range texts {
		c.w.WriteString(text)
	}
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

func varintLen(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

// openMembers undoes encodeMembers, but leaves packed goroutines packed. want is the number
// of members in the row. A blob with another number or any damage is an error.
func openMembers(p *packer, blob []byte, want int) (analysis.Members, error) {
	if len(blob) == 0 && want == 0 {
		return analysis.Members{}, nil
	}
	m, err := decodeBlob(p, blob, want)
	if err != nil {
		return analysis.Members{}, fmt.Errorf("members: %w", err)
	}
	return m, nil
}

func decodeBlob(p *packer, blob []byte, want int) (m analysis.Members, err error) {
	if len(blob) < membersHeader {
		return m, fmt.Errorf("%d bytes are too few", len(blob))
	}
	if want > maxMembers {
		return m, fmt.Errorf("%d members are too many", want)
	}
	body := blob[membersHeader:]
	if checksum(body) != binary.LittleEndian.Uint32(blob[1:]) {
		return m, errors.New("the checksum does not fit")
	}
	switch blob[0] {
	case packingsMinLZ:
		return readPackings(bufio.NewReaderSize(io.LimitReader(p.quick(bytes.NewReader(body)), maxBody), 16<<10), want)
	case membersZstd:
		dec, err := p.decoder()
		if err != nil {
			return m, err
		}
		if err := dec.Reset(bytes.NewReader(body)); err != nil {
			return m, err
		}
		return readMembers(bufio.NewReaderSize(io.LimitReader(dec, maxBody), 16<<10), want)
	}
	return m, fmt.Errorf("unknown form %d", blob[0])
}

type byteReader interface {
	io.Reader
	io.ByteReader
}

func readNumber(r byteReader, want int) error {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return broken(err)
	}
	if n != uint64(want) || want == 0 {
		return fmt.Errorf("%d of them, the row has %d", n, want)
	}
	return nil
}

func readPackings(r byteReader, want int) (m analysis.Members, err error) {
	if err := readNumber(r, want); err != nil {
		return m, err
	}
	c := &columnReader{r: r, n: want, present: 1 << columnStates}
	m.States = c.states()
	left := want
	for range c.below(uint64(want) + 1) {
		p := c.packing(left, len(m.States))
		if c.err != nil {
			return analysis.Members{}, c.err
		}
		left -= p.Len()
		m.Packed = append(m.Packed, p)
	}
	if c.err != nil {
		return analysis.Members{}, c.err
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return analysis.Members{}, errors.New("bytes after the last variant")
	}
	if left != 0 {
		return analysis.Members{}, fmt.Errorf("%d members of %d are missing", left, want)
	}
	return m, nil
}

func (c *columnReader) packing(left, states int) (p analysis.Packing) {
	p.Variant, p.Artifact = int32(c.below(1<<31)), int32(c.below(1<<31))
	used := make([]uint16, 0, min(left, states))
	for range c.below(uint64(states) + 1) {
		used = append(used, uint16(c.below(uint64(states))))
	}
	n, size := c.below(uint64(left)+1), c.below(maxBody)
	both := c.bytes(int64(n + size))
	if c.err == nil {
		p.Packed = analysis.NewPacked(used, both[:n:n], both[n:])
	}
	return p
}

// believed is the largest buffer that is allocated before its bytes are read.
const believed = 64 << 10

// bytes reads n bytes and allocates memory only as they arrive. The result has no spare
// capacity, because most families have some dozen bytes and all stay in memory.
func (c *columnReader) bytes(n int64) []byte {
	if c.err != nil {
		return nil
	}
	out := make([]byte, min(n, believed))
	for read := 0; ; {
		if _, err := io.ReadFull(c.r, out[read:]); err != nil {
			c.err = broken(err)
			return nil
		}
		if int64(len(out)) == n {
			return out
		}
		read = len(out)
		longer := make([]byte, min(n, 2*int64(read)))
		copy(longer, out)
		out = longer
	}
}

// below reads a number less than limit; it returns 0 after an error.
func (c *columnReader) below(limit uint64) uint64 {
	v := c.uvarint()
	if c.err == nil && v >= limit {
		c.fail("%d where less than %d is possible", v, limit)
	}
	if c.err != nil {
		return 0
	}
	return v
}

func readMembers(r byteReader, want int) (m analysis.Members, err error) {
	if err := readNumber(r, want); err != nil {
		return m, err
	}
	present, err := binary.ReadUvarint(r)
	if err != nil {
		return m, broken(err)
	}
	c := &columnReader{r: r, n: want, present: present}
	m.ID = readColumn[int64](c, columnID)
	m.Sub = readColumn[int64](c, columnSub)
	m.Hash = readColumn[uint64](c, columnHash)
	m.Parent = readColumn[int64](c, columnParent)
	m.States = c.states()
	m.State = readColumn[uint16](c, columnState)
	m.Wait = readColumn[int32](c, columnWait)
	m.Variant = readColumn[int32](c, columnVariant)
	m.Artifact = readColumn[int32](c, columnArtifact)
	m.Line = readColumn[int64](c, columnLine)
	m.Length = readColumn[int32](c, columnLength)
	m.Offset = readColumn[int64](c, columnOffset)
	m.Detail = c.texts(columnDetail, want)
	m.Age = readColumn[int32](c, columnAge)
	if c.err == nil && c.present != 0 {
		c.err = fmt.Errorf("unknown columns %#x", c.present)
	}
	if c.err != nil {
		return analysis.Members{}, c.err
	}
	for i := range m.Offset {
		m.Offset[i] += predictOffset(&m, i)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return analysis.Members{}, errors.New("bytes after the last column")
	}
	if m.Len() != want {
		return analysis.Members{}, errors.New("neither identities nor places")
	}
	return m, checkMembers(&m, want)
}

// broken describes the errors of a truncated or damaged stream.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading columns: %w", err)
}

// columnReader reads columns and stores the first error.
type columnReader struct {
	r       byteReader
	n       int
	present uint64
	err     error
}

// has reports whether a column follows and removes it from the set.
func (c *columnReader) has(column int) bool {
	bit := uint64(1) << column
	there := c.err == nil && c.present&bit != 0
	c.present &^= bit
	return there
}

func (c *columnReader) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *columnReader) uvarint() uint64 {
	v, err := binary.ReadUvarint(c.r)
	if err != nil && c.err == nil {
		c.err = broken(err)
	}
	return v
}

func readColumn[T integer](c *columnReader, column int) []T {
	if !c.has(column) {
		return nil
	}
	return readValues[T](c, c.n)
}

func readValues[T integer](c *columnReader, n int) []T {
	mode, err := c.r.ReadByte()
	if err != nil {
		c.err = broken(err)
		return nil
	}
	out := make([]T, 0, n)
	var last int64
	add := func(v int64) bool {
		if mode == modeDeltas || mode == modeDeltaRuns {
			v += last
			last = v
		}
		if int64(T(v)) != v {
			c.fail("value %d does not fit its column", v)
			return false
		}
		out = append(out, T(v))
		return true
	}
	switch mode {
	case modeFixed:
		var eight [8]byte
		for len(out) < n && c.err == nil {
			if _, err := io.ReadFull(c.r, eight[:]); err != nil {
				c.err = broken(err)
				return nil
			}
			add(int64(binary.LittleEndian.Uint64(eight[:])))
		}
	case modeValues, modeDeltas:
		for len(out) < n && c.err == nil {
			add(unzigzag(c.uvarint()))
		}
	case modeValueRuns, modeDeltaRuns:
		for len(out) < n && c.err == nil {
			v, more := unzigzag(c.uvarint()), c.uvarint()
			if more >= uint64(n-len(out)) {
				c.fail("a run of %d members, %d are left", more, n-len(out))
				break
			}
			for range more + 1 {
				if !add(v) {
					break
				}
			}
		}
	default:
		c.fail("unknown mode %d", mode)
	}
	return out
}

func (c *columnReader) states() []string {
	if !c.has(columnStates) {
		return nil
	}
	count := c.uvarint()
	if c.err == nil && (count == 0 || count > 1<<16) {
		c.fail("%d states", count)
	}
	if c.err != nil {
		return nil
	}
	return c.strings(int(count))
}

func (c *columnReader) texts(column, n int) []string {
	if !c.has(column) {
		return nil
	}
	return c.strings(n)
}

func (c *columnReader) strings(n int) []string {
	lengths := readValues[int64](c, n)
	if c.err != nil {
		return nil
	}
	out := make([]string, n)
	for i, length := range lengths {
		if c.err != nil {
			return nil
		}
		if length < 0 || length > maxText {
			c.fail("a text of %d bytes", length)
			return nil
		}
		out[i] = c.text(length)
	}
	return out
}

// text reads one text.
func (c *columnReader) text(length int64) string { return string(c.bytes(length)) }
