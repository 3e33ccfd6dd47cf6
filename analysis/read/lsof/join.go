package lsof

import (
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// JoinSockets fills in the protocol, ends and state of those descriptors whose ends are
// not known yet, from socket tables. It finds a socket by its inode ("socket:[314884]",
// "TCP:[314884]", "protocol: TCP"), or by the descriptor of process pid if a table
// names owners. pid 0 stands for an unknown process, whose descriptors are found by
// inode alone. It returns how many were found. Sockets of a known protocol that no
// table has become "outside the tables": they are unbound, closed, or of another
// network namespace. If sockets is empty nothing is changed.
func JoinSockets(descriptors []analysis.Descriptor, sockets []analysis.Socket, pid int) (joined int) {
	index := indexSockets(sockets, pid)
	for i := range descriptors {
		d := &descriptors[i]
		if !isSocket(d) || d.Local != "" || d.Remote != "" {
			continue
		}
		s := index.find(d)
		switch {
		case s != nil:
			joinSocket(d, s)
			joined++
		case index.covers(d.Protocol) && d.State == "":
			outside(d)
		}
	}
	return joined
}

// outside sets the type and protocol, as lsof has them, of a socket that is in no
// table.
//
//	tcp6, TCP = socket, TCPV6
func outside(d *analysis.Descriptor) {
	if strings.HasSuffix(d.Type, "6") {
		d.Protocol += "V6"
	}
	d.Type = "socket"
}

// socketIndex finds sockets by inode and by descriptor.
type socketIndex struct {
	byInode map[uint64]*analysis.Socket
	byFD    map[int]*analysis.Socket
	// protocols are those whose table was read.
	protocols map[string]bool
}

func indexSockets(sockets []analysis.Socket, pid int) socketIndex {
	index := socketIndex{byInode: map[uint64]*analysis.Socket{}, byFD: map[int]*analysis.Socket{}, protocols: map[string]bool{}}
	for i := range sockets {
		s := &sockets[i]
		index.protocols[protocolName(s.Protocol)] = true
		if s.Inode != 0 {
			index.byInode[s.Inode] = richer(index.byInode[s.Inode], s)
		}
		for _, owner := range s.Owners {
			if pid != 0 && owner.PID == pid && owner.FD >= 0 {
				index.byFD[owner.FD] = richer(index.byFD[owner.FD], s)
			}
		}
	}
	return index
}

// richer keeps the row that names ends, of two about one socket.
func richer(have, s *analysis.Socket) *analysis.Socket {
	if have == nil || have.Local == "" && s.Local != "" {
		return s
	}
	return have
}

// find looks by inode first: a descriptor number may have been used again between
// two captures, an inode hardly.
func (x socketIndex) find(d *analysis.Descriptor) *analysis.Socket {
	if s := x.byInode[d.Inode]; s != nil && d.Inode != 0 {
		return s
	}
	s := x.byFD[d.FD]
	if s != nil && s.Inode != 0 && d.Inode != 0 && s.Inode != d.Inode {
		return nil
	}
	return s
}

// covers reports whether a table of this protocol was read at all.
func (x socketIndex) covers(protocol string) bool {
	return protocol != "" && x.protocols[strings.ToUpper(protocol)]
}

// isSocket reports whether a descriptor is a socket that tables may know more of.
func isSocket(d *analysis.Descriptor) bool {
	switch d.Type {
	case "socket", "sock", "tcp", "tcp6", "udp", "udp6", "unix", "raw", "netlink", "packet":
		return true
	}
	return strings.HasPrefix(d.Name, "socket:[")
}

// joinSocket copies a row of a table into a descriptor. Its name stays as printed.
func joinSocket(d *analysis.Descriptor, s *analysis.Socket) {
	d.Type, d.Protocol = s.Protocol, protocolName(s.Protocol)
	if s.Protocol == "unix" {
		d.Protocol = "unix"
	}
	d.Local, d.Remote = s.Local, s.Remote
	if s.State != "" {
		d.State = s.State
	}
	if d.Inode == 0 {
		d.Inode = s.Inode
	}
}

// protocolName is the protocol as lsof writes it.
//
//	"tcp6" = "TCP"   "netlink" = "NETLINK"
func protocolName(protocol string) string {
	return strings.ToUpper(strings.TrimSuffix(protocol, "6"))
}

// OwnedDescriptors makes descriptors, by process, of the rows of a socket table
// that name their owners. ss -p names the descriptor; netstat only the process: FD
// is -1 there. They are the sockets of a process, never all of its descriptors: one that
// several descriptors of it share is one. Sockets that no descriptor refers to are left out.
func OwnedDescriptors(sockets []analysis.Socket) map[int][]analysis.Descriptor {
	out := map[int][]analysis.Descriptor{}
	for i := range sockets {
		s := &sockets[i]
		if holdsNothing(s) {
			continue
		}
		for n, owner := range s.Owners {
			if owner.PID <= 0 || slices.ContainsFunc(s.Owners[:n], func(o analysis.Owner) bool { return o.PID == owner.PID }) {
				continue
			}
			out[owner.PID] = append(out[owner.PID], socketDescriptor(s, owner.FD))
		}
	}
	return out
}

// UnownedDescriptors makes descriptors of the rows of a socket table that name no owner and may
// have one.
func UnownedDescriptors(sockets []analysis.Socket) []analysis.Descriptor {
	var out []analysis.Descriptor
	for i := range sockets {
		if s := &sockets[i]; len(s.Owners) == 0 && !holdsNothing(s) {
			out = append(out, socketDescriptor(s, -1))
		}
	}
	return out
}

func socketDescriptor(s *analysis.Socket, fd int) analysis.Descriptor {
	d := analysis.Descriptor{FD: fd, Access: "u", Inode: s.Inode, Name: socketName(s), Place: s.Place}
	joinSocket(&d, s)
	return d
}

// socketName names a socket as lsof does.
//
//	"127.0.0.1:45828->127.0.0.1:58461 (ESTABLISHED)"   "*:46779 (LISTEN)"   "zoo.sock"
func socketName(s *analysis.Socket) string {
	if s.Protocol == "unix" {
		return s.Local
	}
	name := s.Local
	if s.Remote != "" {
		name += "->" + s.Remote
	}
	if s.State != "" {
		name += " (" + s.State + ")"
	}
	if name == "" && s.Inode != 0 {
		return "socket:[" + strconv.FormatUint(s.Inode, 10) + "]"
	}
	return strings.TrimSpace(name)
}
