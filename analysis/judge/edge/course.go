// Package edge joins the sockets of the processes of a case to connections: which process
// is at the other end, who dialled and who accepted, and which of two growths that rise
// together holds the other. It knows the sockets of snapshots and figures of growths, and
// reads no stack. Nothing is guessed from port numbers alone.
package edge

import (
	"encoding/binary"
	"errors"
	"fmt"

	"leakdiff/analysis"
)

// mostRows bounds the connections of a series. Of one with more none are followed.
const mostRows = 1 << 16

// Course is the connections of a series over its snapshots.
type Course struct{ Rows []Row }

// Row is one connection: the same ends and the same inode. Its State is empty.
type Row struct {
	analysis.Connection
	Spans []Span
}

// Span is one state of a connection from snapshot First to Last.
type Span struct {
	First, Last int
	State       string
}

// Follow follows the connections of snapshots in time order. It returns nil without any.
func Follow(snapshots []*analysis.Snapshot) *Course {
	c := &Course{}
	at := map[analysis.Connection]int{}
	for i, s := range snapshots {
		for link := range s.Sockets.All() {
			state := link.State
			link.State = ""
			k, known := at[link]
			if !known {
				if k = len(c.Rows); k == mostRows {
					return nil
				}
				at[link] = k
				c.Rows = append(c.Rows, Row{Connection: link})
			}
			c.Rows[k].see(i, state)
		}
	}
	if len(c.Rows) == 0 {
		return nil
	}
	return c
}

// see adds a sighting; a connection is seen in one state of a snapshot.
func (r *Row) see(i int, state string) {
	if n := len(r.Spans); n > 0 {
		last := &r.Spans[n-1]
		if last.Last == i {
			return
		}
		if last.Last == i-1 && last.State == state {
			last.Last = i
			return
		}
	}
	r.Spans = append(r.Spans, Span{First: i, Last: i, State: state})
}

// at is the state in snapshot i.
func (r *Row) at(i int) (state string, present bool) {
	for _, s := range r.Spans {
		if s.First <= i && i <= s.Last {
			return s.State, true
		}
	}
	return "", false
}

// shown are the snapshots with evidence about pipes, or about sockets.
func (c *Course) shown(pipes bool, snapshots int) []bool {
	out := make([]bool, snapshots)
	for i := range c.Rows {
		if (c.Rows[i].Protocol == "pipe") != pipes {
			continue
		}
		for _, s := range c.Rows[i].Spans {
			for k := s.First; k <= s.Last; k++ {
				out[k] = true
			}
		}
	}
	return out
}

// Pack makes bytes of a course, for Unpack. Nil is no bytes.
func (c *Course) Pack() []byte {
	if c == nil {
		return nil
	}
	// Each row stands once for each of its states.
	var links []analysis.Connection
	var spans []byte
	for i := range c.Rows {
		r := &c.Rows[i]
		for _, s := range r.Spans {
			link := r.Connection
			link.State = s.State
			links = append(links, link)
			spans = binary.AppendUvarint(spans, uint64(i))
			spans = binary.AppendUvarint(spans, uint64(s.First))
			spans = binary.AppendUvarint(spans, uint64(s.Last-s.First))
		}
	}
	rows := analysis.NewSockets(links).Data()
	out := binary.AppendUvarint(nil, uint64(len(links)))
	out = binary.AppendUvarint(out, uint64(len(rows)))
	return append(append(out, rows...), spans...)
}

var errDamaged = errors.New("packed connections are damaged")

// Unpack undoes Pack. snapshots is the number of those of the series.
func Unpack(packed []byte, snapshots int) (*Course, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	next := func() int {
		n, size := binary.Uvarint(packed)
		if size <= 0 || n > 1<<31 {
			packed = nil
			return -1
		}
		packed = packed[size:]
		return int(n)
	}
	c := &Course{}
	n, size := next(), next()
	if n < 0 || size < 0 || size > len(packed) {
		return nil, errDamaged
	}
	var links analysis.Sockets
	links.SetData(n, packed[:size])
	packed = packed[size:]
	for link := range links.All() {
		row, first, length := next(), next(), next()
		if row < 0 || first < 0 || length < 0 || row > len(c.Rows) || first+length >= snapshots {
			return nil, errDamaged
		}
		span := Span{First: first, Last: first + length, State: link.State}
		link.State = ""
		if row == len(c.Rows) {
			c.Rows = append(c.Rows, Row{Connection: link})
		}
		c.Rows[row].Spans = append(c.Rows[row].Spans, span)
		n--
	}
	if n != 0 || len(packed) != 0 {
		return nil, fmt.Errorf("%w: %d connections are missing", errDamaged, n)
	}
	return c, nil
}
