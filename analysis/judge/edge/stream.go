package edge

import "leakdiff/analysis"

// Transports like HTTP/2 carry many streams over one connection, so streams rise while their
// connections stand, or rise at another pace. Two growths of streams belong together where one
// process dialled all connections between both, and the server has no other clients or the
// counts show that the streams are not theirs.

// multiplexed reports growths that rise in step, of streams over connections that the
// processes share: the client of one dialled them.
func (c *Case) multiplexed(a, b Growth) bool { return c.carries(a, b) || c.carries(b, a) }

// carries reports that connections which the client dialled carry what the server has. Stacks
// of one side show streams, or what the server had ended with the client.
func (c *Case) carries(client, server Growth) bool {
	if !c.dialler(client.Process, server.Process) || !c.joinedThroughout(client, server, c.matchedCounts(client.Process, server.Process)) ||
		!c.inStep(client, server) && !c.inStep(server, client) {
		return false
	}
	before, now, _ := c.around(client.Process, server)
	if !client.Streams && !server.Streams && (before == 0 || 2*now > before) {
		return false
	}
	if !c.hasOtherClients(server.Process, client.Process) {
		return true
	}
	mine, all := client.Alive.Rise(), server.Alive.Rise()
	return atMost5Percent(mine-all, all) || allEnded(server.Alive, before, now)
}

// dialler reports that p dialled all connections with q whose both ends were seen.
func (c *Case) dialler(p, q int) bool {
	dialled, other := 0, 0
	for k := range c.joined[p] {
		switch j := &c.joined[p][k]; {
		case j.peer != q || !c.row(rowRef{p, k}).connected():
		case j.direction == Dialled:
			dialled++
		default:
			other++
		}
	}
	return dialled > 0 && other == 0
}

// hasOtherClients reports connections that q accepted from anybody but p.
func (c *Case) hasOtherClients(q, p int) bool {
	for k := range c.joined[q] {
		if j := &c.joined[q][k]; j.direction == Accepted && j.peer != p && j.peer != q {
			return true
		}
	}
	return false
}

// atMost5Percent reports a difference of at most 5 % of all, or of two.
func atMost5Percent(difference, all int) bool {
	return max(difference, -difference)*20 <= max(all, 40)
}

// allEnded reports that nine tenths of what a growth has gained ended between two snapshots.
func allEnded(counts analysis.Counts, before, now int) bool {
	gained := before - counts.First()
	return gained > 0 && 10*(before-now) >= 9*gained
}

// Ending is a process that ended while it had connections that it had dialled.
type Ending struct {
	Process int
	// N are its connections before. Restarted reports that it has another start since.
	N         int
	Restarted bool
}

// EndedAt is the process that ended between the snapshot before at and at of another one, q,
// which had accepted connections from it. counts are what grew in q. It returns false where
// several ended, and where q has other clients and did not lose all of it.
func (c *Case) EndedAt(q, at int, counts analysis.Counts) (out Ending, ok bool) {
	for p := range c.processes {
		if p == q || !c.Linked(p, q) || !c.dialler(p, q) || c.endOf(p, q) != at {
			continue
		}
		if ok {
			return Ending{}, false
		}
		n := c.count(q, func(_ *Row, j *joinedRow, _ int) bool { return j.peer == p })[at-1]
		if !n.Known() || n.N == 0 {
			continue
		}
		out, ok = Ending{Process: p, N: n.N, Restarted: c.roundOf(q, p)[at] >= 0}, true
	}
	if ok && c.hasOtherClients(q, out.Process) && (!counts[at-1].Known() || !counts[at].Known() || !allEnded(counts, counts[at-1].N, counts[at].N)) {
		return Ending{}, false
	}
	return out, ok
}
