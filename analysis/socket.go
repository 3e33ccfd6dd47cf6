package analysis

import (
	"errors"
	"iter"
	"net/netip"
	"slices"

	"leakdiff/analysis/column"
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

// socketColumns are connections in columns.
type socketColumns struct {
	// hosts are the addresses as bytes, "" for none.
	hosts []string
	// kinds are protocol, state and owner; local and remote are indexes of hosts.
	kinds, local, localPort, remote, remotePort []int32
	inodes                                      []uint64
}

// maxSockets bounds the connections of a snapshot.
const maxSockets = 1 << 24

func (s *socketColumns) code(c *column.Codec) {
	c.Texts(maxSockets, &s.hosts)
	column.Numbers(c, maxSockets, &s.inodes)
	for _, numbers := range []*[]int32{&s.kinds, &s.local, &s.localPort, &s.remote, &s.remotePort} {
		if column.Numbers(c, maxSockets, numbers); len(*numbers) != len(s.inodes) {
			c.Fail(errors.New("columns of connections differ in length"))
		}
	}
}

// NewSockets packs connections.
func NewSockets(all []Connection) *Sockets {
	var s socketColumns
	known := map[netip.Addr]int32{}
	end := func(e netip.AddrPort, hosts, ports *[]int32) {
		addr := e.Addr().Unmap().WithZone("")
		index, old := known[addr]
		if !old {
			index = int32(len(s.hosts))
			known[addr] = index
			s.hosts = append(s.hosts, string(addr.AsSlice()))
		}
		*hosts, *ports = append(*hosts, index), append(*ports, int32(e.Port()))
	}
	for i := range all {
		c := &all[i]
		kind := position(connectionProtocols, c.Protocol)<<5 | position(connectionStates, c.State)<<1
		if c.Foreign {
			kind |= 1
		}
		s.kinds = append(s.kinds, int32(kind))
		end(c.Local, &s.local, &s.localPort)
		end(c.Remote, &s.remote, &s.remotePort)
		s.inodes = append(s.inodes, c.Inode)
	}
	w := column.Writer(0)
	s.code(w)
	return &Sockets{n: len(all), rows: slices.Clone(w.Data())} // without the room to grow
}

func position(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return 0
}

// All yields the connections in their order. With damaged data it ends early.
func (s *Sockets) All() iter.Seq[Connection] {
	return func(yield func(Connection) bool) {
		if s == nil || s.n == 0 {
			return
		}
		var in socketColumns
		r := column.Reader(s.rows)
		if in.code(r); r.End() != nil || len(in.inodes) != s.n {
			return
		}
		hosts := make([]netip.Addr, len(in.hosts))
		for i, raw := range in.hosts {
			hosts[i], _ = netip.AddrFromSlice([]byte(raw))
		}
		for i := range s.n {
			c, ok := in.at(i, hosts)
			if !ok || !yield(c) {
				return
			}
		}
	}
}

// at returns connection i, false if its numbers are damaged.
func (s *socketColumns) at(i int, hosts []netip.Addr) (c Connection, ok bool) {
	kind, local, remote := uint32(s.kinds[i]), uint32(s.local[i]), uint32(s.remote[i])
	protocol, state, most := kind>>5, kind>>1&15, uint32(len(hosts))
	if protocol >= uint32(len(connectionProtocols)) || state >= uint32(len(connectionStates)) || local >= most || remote >= most {
		return c, false
	}
	return Connection{
		Protocol: connectionProtocols[protocol], State: connectionStates[state], Foreign: kind&1 != 0, Inode: s.inodes[i],
		Local:  netip.AddrPortFrom(hosts[local], uint16(s.localPort[i])),
		Remote: netip.AddrPortFrom(hosts[remote], uint16(s.remotePort[i])),
	}, true
}

// Data returns the packed connections, for SetData.
func (s *Sockets) Data() []byte { return s.rows }

// SetData takes what Data has returned.
func (s *Sockets) SetData(n int, rows []byte) { s.n, s.rows = n, rows }
