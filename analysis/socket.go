package analysis

import (
	"encoding/binary"
	"iter"
	"net/netip"
	"slices"
)

// Connection is one socket or pipe of a snapshot, with numeric ends.
type Connection struct {
	// Protocol is tcp, udp or pipe.
	Protocol string
	// Local and Remote have no address where the socket is bound to all of them, and Remote
	// is zero for a socket without a peer. Mapped addresses are those of IPv4.
	Local, Remote netip.AddrPort
	// State is the canonical state of a TCP socket, "" for others.
	State string
	// Inode is 0 if the evidence does not show it.
	Inode uint64
	// Foreign reports that the process does not own the socket: somebody in its network
	// namespace listens there.
	Foreign bool
}

// Sockets are the connections of one snapshot, packed. A row takes about twelve bytes. The
// zero value has none.
type Sockets struct {
	n    int
	rows []byte
}

// Protocols and states are packed as their indexes. An unknown state becomes "".
var (
	connectionProtocols = []string{"tcp", "udp", "pipe"}
	connectionStates    = []string{"", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING"}
)

// Len is the number of connections.
func (s *Sockets) Len() int {
	if s == nil {
		return 0
	}
	return s.n
}

// NewSockets packs connections.
func NewSockets(all []Connection) *Sockets {
	w := socketWriter{hosts: map[netip.Addr]uint64{}}
	for i := range all {
		w.add(&all[i])
	}
	return &Sockets{n: len(all), rows: slices.Clone(w.rows)} // without the room to grow
}

// socketWriter packs rows: protocol, state and owner, both ends, and the inode's distance
// from that of the row before.
type socketWriter struct {
	rows  []byte
	hosts map[netip.Addr]uint64
	inode uint64
}

func (w *socketWriter) add(c *Connection) {
	head := uint64(position(connectionProtocols, c.Protocol))<<5 | uint64(position(connectionStates, c.State))<<1
	if c.Foreign {
		head |= 1
	}
	w.rows = binary.AppendUvarint(w.rows, head)
	w.end(c.Local)
	w.end(c.Remote)
	w.rows = binary.AppendVarint(w.rows, int64(c.Inode-w.inode))
	w.inode = c.Inode
}

func position(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return 0
}

// end packs one end: the number of its address, which follows where it is new, and its port.
func (w *socketWriter) end(e netip.AddrPort) {
	addr := e.Addr().Unmap().WithZone("")
	index, known := w.hosts[addr]
	if !known {
		index = uint64(len(w.hosts))
		w.hosts[addr] = index
	}
	w.rows = binary.AppendUvarint(w.rows, index)
	if !known {
		raw := addr.AsSlice()
		w.rows = append(append(w.rows, byte(len(raw))), raw...)
	}
	w.rows = binary.LittleEndian.AppendUint16(w.rows, e.Port())
}

// All yields the connections in their order. With damaged data it ends early.
func (s *Sockets) All() iter.Seq[Connection] {
	return func(yield func(Connection) bool) {
		if s == nil {
			return
		}
		r := socketReader{rows: s.rows}
		for range s.n {
			c, ok := r.next()
			if !ok || !yield(c) {
				return
			}
		}
	}
}

// Data returns the packed connections, for SetData.
func (s *Sockets) Data() []byte { return s.rows }

// SetData takes what Data has returned.
func (s *Sockets) SetData(n int, rows []byte) { s.n, s.rows = n, rows }

// socketReader undoes socketWriter.
type socketReader struct {
	rows  []byte
	hosts []netip.Addr
	inode uint64
}

func (r *socketReader) next() (c Connection, ok bool) {
	head, ok := r.uvarint()
	if !ok || head>>5 >= uint64(len(connectionProtocols)) || head>>1&15 >= uint64(len(connectionStates)) {
		return c, false
	}
	c.Protocol, c.State, c.Foreign = connectionProtocols[head>>5], connectionStates[head>>1&15], head&1 != 0
	if c.Local, ok = r.end(); !ok {
		return c, false
	}
	if c.Remote, ok = r.end(); !ok {
		return c, false
	}
	by, size := binary.Varint(r.rows)
	if size <= 0 {
		return c, false
	}
	r.rows = r.rows[size:]
	r.inode += uint64(by)
	c.Inode = r.inode
	return c, true
}

func (r *socketReader) uvarint() (uint64, bool) {
	n, size := binary.Uvarint(r.rows)
	if size <= 0 {
		return 0, false
	}
	r.rows = r.rows[size:]
	return n, true
}

func (r *socketReader) end() (e netip.AddrPort, ok bool) {
	index, ok := r.uvarint()
	if !ok || index > uint64(len(r.hosts)) {
		return e, false
	}
	if index == uint64(len(r.hosts)) {
		if len(r.rows) == 0 || len(r.rows) < 1+int(r.rows[0]) {
			return e, false
		}
		size := 1 + int(r.rows[0])
		addr, known := netip.AddrFromSlice(r.rows[1:size])
		if !known && size > 1 {
			return e, false
		}
		r.hosts, r.rows = append(r.hosts, addr), r.rows[size:]
	}
	if len(r.rows) < 2 {
		return e, false
	}
	e = netip.AddrPortFrom(r.hosts[index], binary.LittleEndian.Uint16(r.rows))
	r.rows = r.rows[2:]
	return e, true
}
