package analysis

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/column"
)

// Rows are the descriptors or watches of one family between a capture and the store.
// They take a tenth of the memory of columns. Numbers are stored as the difference from
// the row before, a detail as the part that it does not share with the one before. The
// zero value has no rows.
type Rows struct {
	// Artifact is the artifact of all rows.
	Artifact int32
	// Hashed reports that identities have a hash.
	Hashed bool

	n      int
	packed column.Codec
	// last is nil before the first row and after the last.
	last *rowState
}

// rowState is the row before, from which the next one differs.
type rowState struct {
	id, sub, line, end, length int64
	hash                       uint64
	detail                     []byte
}

// code writes or reads all of the next row but its detail.
func (s *rowState) code(c *column.Codec, hashed bool, m *Identity, p *Place) {
	c.Step(&m.ID, &s.id)
	c.Step(&m.Sub, &s.sub)
	if hashed {
		by := m.Hash ^ s.hash
		c.Uint(&by)
		m.Hash = s.hash ^ by
		s.hash = m.Hash
	}
	c.Step(&p.Line, &s.line)
	c.Step(&p.Offset, &s.end)
	c.Step(&p.Length, &s.length)
	s.end += p.Length
}

// Len is the number of rows.
func (r *Rows) Len() int {
	if r == nil {
		return 0
	}
	return r.n
}

// Size is the size of the rows in bytes.
func (r *Rows) Size() int { return len(r.packed.Data()) }

// Append adds a member: its identity, the place inside Artifact and the detail. The
// caller may reuse the detail's bytes.
func (r *Rows) Append(identity Identity, place Place, detail []byte) {
	if r.last == nil {
		r.last = &rowState{}
	}
	s := r.last
	place.Length = min(place.Length, 1<<31-1) // as in columns
	s.code(&r.packed, r.Hashed, &identity, &place)
	// Details begin with the number of the descriptor, which differs from row to row.
	numbered, rest := cutNumber(detail, identity.ID)
	front, back := shared(s.detail, rest)
	begin, end := uint64(front)<<1|numbered, uint64(back)
	r.packed.Uint(&begin)
	r.packed.Uint(&end)
	middle := rest[front : len(rest)-back]
	r.packed.Bytes(&middle)
	r.n++
	s.detail = append(s.detail[:0], rest...)
}

// Seal frees what only the next row would need. No row may follow.
func (r *Rows) Seal() {
	r.packed, r.last = *column.Appender(slices.Clone(r.packed.Data())), nil
}

// cutNumber cuts the number at the beginning of a detail, if it is the row's own.
//
//	"12u pipe", 12 = 1, "u pipe"
func cutNumber(detail []byte, id int64) (numbered uint64, rest []byte) {
	var digits [20]byte
	number := strconv.AppendInt(digits[:0], id, 10)
	if len(detail) >= len(number) && string(detail[:len(number)]) == string(number) {
		return 1, detail[len(number):]
	}
	return 0, detail
}

// shared counts the common bytes at both ends of two texts.
func shared(a, b []byte) (front, back int) {
	n := min(len(a), len(b))
	for front < n && a[front] == b[front] {
		front++
	}
	for back < n-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	return front, back
}

// All yields the members in their order.
func (r *Rows) All() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		in := r.reader()
		for range r.Len() {
			m := in.next()
			m.Detail = string(in.appendDetail(nil, m.Identity.ID))
			if !yield(m) {
				return
			}
		}
	}
}

// identities yields the identities of the members.
func (r *Rows) identities() iter.Seq[Identity] {
	return func(yield func(Identity) bool) {
		in := r.reader()
		for range r.Len() {
			if !yield(in.next().Identity) {
				return
			}
		}
	}
}

// unpack adds the members to columns. The details share one string.
func (r *Rows) unpack(m *Columns) {
	n := r.Len()
	m.ID, m.Sub, m.Artifact = make([]int64, n), make([]int64, n), make([]int32, n)
	m.Line, m.Offset, m.Length, m.Detail = make([]int64, n), make([]int64, n), make([]int32, n), make([]string, n)
	if r.Hashed {
		m.Hash = make([]uint64, n)
	}
	var text strings.Builder
	var detail []byte
	ends := make([]int, n)
	in := r.reader()
	for i := range n {
		row := in.next()
		m.ID[i], m.Sub[i], m.Artifact[i] = row.Identity.ID, row.Identity.Sub, r.Artifact
		m.Line[i], m.Offset[i], m.Length[i] = row.Place.Line, row.Place.Offset, int32(row.Place.Length)
		if r.Hashed {
			m.Hash[i] = row.Identity.Hash
		}
		detail = in.appendDetail(detail[:0], row.Identity.ID)
		text.Write(detail)
		ends[i] = text.Len()
	}
	all, from := text.String(), 0
	for i, end := range ends {
		m.Detail[i], from = all[from:end], end
	}
}

func (r *Rows) reader() rowReader {
	if r == nil {
		r = &Rows{}
	}
	return rowReader{rows: r, in: column.Reader(r.packed.Data())}
}

// rowReader undoes Append.
type rowReader struct {
	rows *Rows
	in   *column.Codec
	last rowState
	// numbered reports that the detail begins with the row's number.
	numbered bool
}

func (in *rowReader) next() Member {
	s := &in.last
	m := Member{Wait: -1, Variant: -1, Place: Place{Artifact: int(in.rows.Artifact)}}
	s.code(in.in, in.rows.Hashed, &m.Identity, &m.Place)
	var begin, end uint64
	var middle []byte
	in.in.Uint(&begin)
	in.in.Uint(&end)
	in.in.Bytes(&middle)
	in.numbered = begin&1 != 0
	front, back := int(begin>>1), int(end)
	// The shared front stays in place, the shared end moves after the middle.
	rest := s.detail[len(s.detail)-back:]
	whole := front + len(middle) + back
	if cap(s.detail) < whole {
		s.detail = append(make([]byte, 0, 2*whole), s.detail...)
		rest = s.detail[len(s.detail)-back:]
	}
	s.detail = s.detail[:whole]
	copy(s.detail[whole-back:], rest)
	copy(s.detail[front:], middle)
	return m
}

// appendDetail appends the detail of the row that next returned.
func (in *rowReader) appendDetail(b []byte, id int64) []byte {
	if in.numbered {
		b = strconv.AppendInt(b, id, 10)
	}
	return append(b, in.last.detail...)
}
