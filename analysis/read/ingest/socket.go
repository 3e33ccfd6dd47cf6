package ingest

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// mostConnections bounds the connections of a snapshot. Of a process with more none are
// kept: a part of them would look like connections that ended.
const mostConnections = 1 << 14

// connections lists the sockets and pipes that the process owns, and who listens in its
// network namespace. The fd links of a process joined with the socket tables by inode are
// exact. Of what they find a listing of the same snapshot must show the inode too: what is
// in one of them alone came or went while the files were taken. Where the links find less
// than half of what a listing or a report shows, the tables are those of another namespace
// and the listing is taken.
func (b *builder) connections(links *part, rows list) *analysis.Sockets {
	tables := b.sockets()
	var owned []analysis.Connection
	if links != nil {
		owned = linked(links.links, tables.rows)
	}
	var listed, pipes []analysis.Connection
	for d := range rows.all() {
		if c, ok := connectionOf(d.Protocol, d.Type, d.Local, d.Remote, d.State, d.Inode); ok {
			listed = append(listed, c)
		} else if inode, ok := pipeInode(d); ok {
			pipes = append(pipes, analysis.Connection{Protocol: "pipe", Inode: inode})
		}
		if len(owned)+len(listed)+len(pipes) > 2*mostConnections {
			return nil
		}
	}
	if 2*len(owned) < len(listed) {
		owned = listed
	} else {
		owned = confirmed(owned, listed)
	}
	owned = append(owned, pipes...)
	own := map[analysis.Connection]bool{}
	for _, c := range owned {
		own[c] = true
	}
	if len(tables.listening) > 2*mostConnections {
		return nil
	}
	for i := range tables.listening {
		s := &tables.listening[i]
		if c, ok := connectionOf(s.Protocol, "", s.Local, s.Remote, s.State, s.Inode); ok && !own[c] {
			c.Foreign = true
			owned = append(owned, c)
		}
	}
	return packConnections(owned)
}

// mostLone bounds the connections of all processes of a bundle that were captured once: a
// listing of a whole node has hundreds of thousands, and shows no growth.
const mostLone = 1 << 16

// leaveLone leaves the connections of processes that were captured once, if they are too
// many: a part of them would look like connections without another end.
func leaveLone(snapshots []analysis.Snapshot) {
	times, all := map[string]int{}, 0
	key := func(s *analysis.Snapshot) string { return s.Process.Key() + "\x00" + s.Process.PID.Value }
	for i := range snapshots {
		times[key(&snapshots[i])]++
	}
	for i := range snapshots {
		if s := &snapshots[i]; times[key(s)] == 1 {
			all += s.Sockets.Len()
		}
	}
	if all <= mostLone {
		return
	}
	for i := range snapshots {
		if s := &snapshots[i]; times[key(s)] == 1 {
			s.Sockets = nil
		}
	}
}

// confirmed are the connections whose inode a listing shows too. A listing without inodes,
// and an excerpt that shows less than half of them, leaves all.
func confirmed(owned, listed []analysis.Connection) []analysis.Connection {
	inodes := map[uint64]bool{}
	for _, c := range listed {
		if c.Inode != 0 {
			inodes[c.Inode] = true
		}
	}
	if 2*len(inodes) < len(owned) || len(inodes) == 0 {
		return owned
	}
	return slices.DeleteFunc(owned, func(c analysis.Connection) bool { return !inodes[c.Inode] })
}

// packConnections packs each connection once: descriptors that were duplicated share one.
func packConnections(owned []analysis.Connection) *analysis.Sockets {
	seen := make(map[analysis.Connection]bool, len(owned))
	out := owned[:0]
	for _, c := range owned {
		if !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	if len(out) == 0 || len(out) > mostConnections {
		return nil
	}
	return analysis.NewSockets(out)
}

// joins reports whether a table shows the capture of another one: it was asked for something else.
func (p *part) joins(q *part) bool {
	return len(p.asked) > 0 && len(q.asked) > 0 && !slices.Contains(q.asked, p.asked[0]) && p.inner.Equal(q.inner)
}

// commanded reports that a command stands above the last table.
func (p *part) commanded() bool { return p.asked[len(p.asked)-1][0] != '\n' }

// join adds a table of the same capture. A socket that both show is one, whatever each knows of
// it; several that share their ends, as listeners may, are as many as one table has.
func (p *part) join(q *part) {
	p.asked = append(p.asked, q.asked...)
	known := map[[3]string][]int{}
	for i := range p.sockets {
		key := endsOf(&p.sockets[i])
		known[key] = append(known[key], i)
	}
	for _, s := range q.sockets {
		same := known[endsOf(&s)]
		at := slices.IndexFunc(same, func(i int) bool { return p.sockets[i].Inode == 0 || s.Inode == 0 || p.sockets[i].Inode == s.Inode })
		if at < 0 {
			p.sockets = append(p.sockets, s)
			continue
		}
		have := &p.sockets[same[at]]
		known[endsOf(&s)] = slices.Delete(same, at, at+1)
		have.State, have.Inode = cmp.Or(have.State, s.State), cmp.Or(have.Inode, s.Inode)
		for _, o := range s.Owners { // netstat does not know the descriptor
			if i := slices.IndexFunc(have.Owners, func(h analysis.Owner) bool { return h.PID == o.PID }); i < 0 {
				have.Owners = append(have.Owners, o)
			} else if have.Owners[i].FD < 0 {
				have.Owners[i] = o
			}
		}
	}
}

// endsOf is what tells a socket from others, the same by ss and netstat.
func endsOf(s *analysis.Socket) [3]string {
	if c, ok := connectionOf(s.Protocol, "", s.Local, s.Remote, "", 0); ok {
		return [3]string{c.Protocol, c.Local.String(), c.Remote.String()}
	}
	if s.Protocol == "unix" && s.Inode != 0 {
		return [3]string{s.Protocol, strconv.FormatUint(s.Inode, 10)}
	}
	return [3]string{s.Protocol, s.Local, s.Remote}
}

// linked joins fd links with socket tables by inode.
func linked(links []analysis.Descriptor, tables []analysis.Socket) (out []analysis.Connection) {
	byInode := make(map[uint64]*analysis.Socket, len(tables))
	for i := range tables {
		if s := &tables[i]; s.Inode != 0 && s.Local != "" {
			byInode[s.Inode] = s
		}
	}
	for i := range links {
		s := byInode[links[i].Inode]
		if s == nil || links[i].Inode == 0 || !strings.HasPrefix(links[i].Name, "socket:[") {
			continue
		}
		if c, ok := connectionOf(s.Protocol, "", s.Local, s.Remote, s.State, s.Inode); ok {
			out = append(out, c)
		}
		if len(out) > 2*mostConnections {
			break
		}
	}
	return out
}

// connectionOf reads a socket with numeric ends; others say nothing exact.
func connectionOf(protocol, kind, local, remote, state string, inode uint64) (c analysis.Connection, ok bool) {
	if protocol == "" {
		protocol = kind
	}
	switch protocol = strings.ToLower(protocol); {
	case strings.HasPrefix(protocol, "tcp"):
		c.Protocol = "tcp"
	case strings.HasPrefix(protocol, "udp") && protocol != "udplite":
		c.Protocol = "udp"
	default:
		return c, false
	}
	if c.Local, ok = numericEnd(local); !ok || c.Local.Port() == 0 {
		return c, false
	}
	if remote != "" {
		if c.Remote, ok = numericEnd(remote); !ok {
			return c, false
		}
	}
	c.Inode = inode
	if c.Protocol == "tcp" {
		c.State = state
	}
	return c, true
}

// numericEnd reads an end. The zero address stands for all addresses.
//
//	"[::ffff:10.0.0.1]:443" = 10.0.0.1, 443   "*:80" = no address, 80   "db:5432" is none
func numericEnd(text string) (e netip.AddrPort, ok bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return e, false
	}
	host := strings.Trim(text[:at], "[]")
	host, _, _ = strings.Cut(host, "%")
	port, err := netip.ParseAddrPort("0.0.0.0:" + text[at+1:])
	if err != nil {
		return e, text[at+1:] == "*"
	}
	var addr netip.Addr
	switch host {
	case "*", "":
	case "localhost":
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		if addr, err = netip.ParseAddr(host); err != nil {
			return e, false
		}
		if addr = addr.Unmap(); addr.IsUnspecified() {
			addr = netip.Addr{}
		}
	}
	return netip.AddrPortFrom(addr, port.Port()), true
}

// pipeInode is the inode of an anonymous pipe; a FIFO in a file system has a path.
func pipeInode(d *analysis.Descriptor) (uint64, bool) {
	if d.Inode == 0 || d.Type != "pipe" && d.Type != "fifo" {
		return 0, false
	}
	return d.Inode, !strings.HasPrefix(d.Name, "/")
}
