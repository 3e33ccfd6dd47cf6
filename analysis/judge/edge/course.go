// Package edge joins the sockets of the processes of a case to connections: which process
// is at the other end, who dialled and who accepted, and which of two growths that rise
// together holds the other. It knows the sockets of snapshots and figures of growths, and
// reads no stack. Nothing is guessed from port numbers alone.
package edge

import (
	"errors"
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
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

// Packed is a course in few bytes.
type Packed struct {
	// N is the number of connections, one in each of its states.
	N int `json:",omitempty"`
	// Rows are they, as analysis.Sockets packs them.
	Rows []byte `json:",omitempty"`
	// Spans are spanColumns. A series of one snapshot has none.
	Spans []byte `json:",omitempty"`
}

// Pack packs the connections of snapshots in time order. That of one snapshot shares its
// memory.
func Pack(snapshots []*analysis.Snapshot) (out Packed) {
	if len(snapshots) == 1 {
		if n := snapshots[0].Sockets.Len(); n > 0 {
			return Packed{N: n, Rows: snapshots[0].Sockets.Data()}
		}
		return out
	}
	c := Follow(snapshots)
	if c == nil {
		return out
	}
	var links []analysis.Connection
	var spans spanColumns
	for i := range c.Rows {
		r := &c.Rows[i]
		for _, s := range r.Spans {
			link := r.Connection
			link.State = s.State
			links = append(links, link)
			spans.row, spans.first, spans.last = append(spans.row, i), append(spans.first, s.First), append(spans.last, s.Last)
		}
	}
	w := column.Writer(0)
	spans.code(w)
	out.N, out.Rows, out.Spans = len(links), analysis.NewSockets(links).Data(), w.Data()
	return out
}

// spanColumns are, of each connection in one state, its row and its first and last snapshot.
type spanColumns struct{ row, first, last []int }

// maxSpans bounds the states of all connections.
const maxSpans = 1 << 26

func (s *spanColumns) code(c *column.Codec) {
	column.Numbers(c, maxSpans, &s.row)
	column.Numbers(c, maxSpans, &s.first)
	column.Numbers(c, maxSpans, &s.last)
	if len(s.first) != len(s.row) || len(s.last) != len(s.row) {
		c.Fail(errDamaged)
	}
}

var errDamaged = errors.New("packed connections are damaged")

// Unpack undoes Pack. snapshots is the number of those of the series. It returns nil without
// any connection.
func (p Packed) Unpack(snapshots int) (*Course, error) {
	var links analysis.Sockets
	links.SetData(p.N, p.Rows)
	if snapshots == 1 {
		return Follow([]*analysis.Snapshot{{Sockets: &links}}), nil
	}
	r := column.Reader(p.Spans)
	var spans spanColumns
	if p.Spans != nil {
		spans.code(r)
	}
	if r.End() != nil {
		return nil, errDamaged
	}
	c, n := &Course{}, 0
	for link := range links.All() {
		if n == len(spans.row) {
			return nil, errDamaged
		}
		row, first, last := spans.row[n], spans.first[n], spans.last[n]
		if row < 0 || row > len(c.Rows) || first < 0 || first > last || last >= snapshots {
			return nil, errDamaged
		}
		span := Span{First: first, Last: last, State: link.State}
		link.State = ""
		if row == len(c.Rows) {
			c.Rows = append(c.Rows, Row{Connection: link})
		}
		c.Rows[row].Spans = append(c.Rows[row].Spans, span)
		n++
	}
	if n != p.N || n != len(spans.row) {
		return nil, fmt.Errorf("%w: %d of %d", errDamaged, n, p.N)
	}
	if n == 0 {
		return nil, nil
	}
	return c, nil
}
