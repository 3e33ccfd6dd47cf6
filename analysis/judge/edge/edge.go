package edge

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"leakdiff/analysis"
)

// Moment is when a snapshot shows its process.
type Moment struct {
	// At is nil if only the label is known.
	At    *time.Time
	Label string
	Epoch int
	// Namespace is the inode of the network namespace of the process, 0 if it is unknown.
	Namespace uint64
}

// Process is one series of a case.
type Process struct {
	// Host is "" if it is unknown, as that of any other process then is.
	Host    string
	Moments []Moment
	// Course is nil without evidence about sockets.
	Course *Course
}

// Direction is who opened a connection, as seen from Edge.From.
type Direction string

// A connection was accepted if its local port is one that the process listens at, and
// dialled if the other end was accepted or is listened at.
const (
	Accepted Direction = "accepted"
	Dialled  Direction = "dialled"
	Unknown  Direction = "unknown"
)

// State is that of a connection at the end of Edge.From.
type State string

// The states that say who holds a connection.
const (
	Established State = "ESTABLISHED"
	CloseWait   State = "CLOSE_WAIT"
)

// Outside is Edge.To of connections to a process outside the case.
const Outside = -1

// Edge is the connections of one direction and state between two processes of a case, or
// within one. Accepted connections that are established stand only where nobody dialled
// them: their other end does otherwise.
type Edge struct {
	// From and To index the processes.
	From, To int
	// Address is the end outside the case: a service, or the host of those that dialled.
	Address   string
	Protocol  string
	Direction Direction
	State     State
	// N are the connections in each snapshot of From, Matched those whose other end was
	// seen at the same moment. Both are nil where no snapshot shows sockets. Born and Ended
	// are also nil where nothing came before in the epoch.
	N, Matched, Born, Ended analysis.Counts
}

// sameMoment is how far apart the snapshots of two processes may be to show one moment,
// if their labels do not decide.
const sameMoment = 30 * time.Second

// Rounds pairs the snapshots of two series that show one moment.
func Rounds(a, b []Moment) (out [][2]int) {
	from := 0
	for i, x := range a {
		for k := from; k < len(b); k++ {
			y := b[k]
			timed := x.At != nil && y.At != nil
			apart := time.Duration(0)
			if timed {
				apart = x.At.Sub(*y.At).Abs()
			}
			if timed && apart <= sameMoment || x.Label != "" && x.Label == y.Label && (!timed || apart <= 10*time.Minute) {
				out, from = append(out, [2]int{i, k}), k+1
				break
			}
		}
	}
	return out
}

// Case is the connections of all processes of a case.
type Case struct {
	processes []Process
	joined    [][]joinedRow
	// rounds has the snapshot of another process at the moment of each, -1 for none.
	rounds    map[[2]int][]int
	ends      map[endKey][]rowRef
	listeners map[portKey][]listener
	pipes     map[uint64][]rowRef
	// separate says of two processes whether they are in different network namespaces.
	separate map[[2]int]bool
	// linked are the pairs of processes with a connection.
	linked map[[2]int]bool
}

// joinedRow is what the other processes say of a connection.
type joinedRow struct {
	peer      int
	address   string
	direction Direction
	// matched are the snapshots in which the other end was seen.
	matched []bool
}

type endKey struct {
	protocol      string
	local, remote netip.AddrPort
}

type portKey struct {
	protocol string
	port     uint16
}

type rowRef struct{ process, row int }

// listener is a socket that listens. process is its owner, foreign one that shares its
// network namespace.
type listener struct {
	rowRef
	address netip.Addr
	foreign bool
}

// Join joins the connections of processes. Their order changes nothing but the indexes.
func Join(processes []Process) *Case {
	c := &Case{
		processes: processes, joined: make([][]joinedRow, len(processes)), rounds: map[[2]int][]int{},
		ends: map[endKey][]rowRef{}, listeners: map[portKey][]listener{}, pipes: map[uint64][]rowRef{}, linked: map[[2]int]bool{}, separate: map[[2]int]bool{},
	}
	c.index()
	for p := range processes {
		if processes[p].Course != nil {
			c.joined[p] = make([]joinedRow, len(processes[p].Course.Rows))
		}
	}
	for p := range c.joined {
		for k := range c.joined[p] {
			c.joined[p][k].direction = c.accepted(p, k)
			c.match(p, k)
		}
	}
	for p := range c.joined {
		for k := range c.joined[p] {
			c.direct(p, k)
			if q := c.joined[p][k].peer; q != Outside {
				c.linked[[2]int{p, q}], c.linked[[2]int{q, p}] = true, true
			}
		}
	}
	return c
}

// Linked reports a connection between two processes at any time.
func (c *Case) Linked(p, q int) bool { return c.linked[[2]int{p, q}] }

func (c *Case) row(r rowRef) *Row { return &c.processes[r.process].Course.Rows[r.row] }

func (c *Case) index() {
	for p := range c.processes {
		if c.processes[p].Course == nil {
			continue
		}
		for k := range c.processes[p].Course.Rows {
			r, ref := &c.processes[p].Course.Rows[k], rowRef{p, k}
			switch {
			case r.Protocol == "pipe":
				c.pipes[r.Inode] = append(c.pipes[r.Inode], ref)
			case r.listens():
				key := portKey{r.Protocol, r.Local.Port()}
				c.listeners[key] = append(c.listeners[key], listener{ref, r.Local.Addr(), r.Foreign})
			case r.connected():
				key := endKey{r.Protocol, r.Local, r.Remote}
				c.ends[key] = append(c.ends[key], ref)
			}
		}
	}
}

func (r *Row) connected() bool { return !r.Foreign && r.Remote.Port() != 0 }

func (r *Row) listens() bool {
	return r.Remote.Port() == 0 && slices.ContainsFunc(r.Spans, func(s Span) bool { return s.State == "LISTEN" })
}

// accepted reports a connection whose local port somebody listens at in the same epoch:
// the process itself, or the one that it inherited the connection from.
func (c *Case) accepted(p, k int) Direction {
	r := c.row(rowRef{p, k})
	if !r.connected() {
		return Unknown
	}
	for _, l := range c.listeners[portKey{r.Protocol, r.Local.Port()}] {
		if l.process == p && (!l.address.IsValid() || l.address == r.Local.Addr()) && c.sameEpoch(p, r, c.row(l.rowRef)) {
			return Accepted
		}
	}
	return Unknown
}

func (c *Case) sameEpoch(p int, a, b *Row) bool {
	moments := c.processes[p].Moments
	for _, x := range a.Spans {
		for _, y := range b.Spans {
			if moments[x.First].Epoch <= moments[y.Last].Epoch && moments[y.First].Epoch <= moments[x.Last].Epoch {
				return true
			}
		}
	}
	return false
}

// match looks for the other end of a connection in each snapshot. Where several processes
// hold one end, as after a fork, neither is taken.
func (c *Case) match(p, k int) {
	out, r := &c.joined[p][k], c.row(rowRef{p, k})
	out.peer, out.matched = Outside, make([]bool, len(c.processes[p].Moments))
	own, other := c.ends[endKey{r.Protocol, r.Local, r.Remote}], c.ends[endKey{r.Protocol, r.Remote, r.Local}]
	if r.Protocol == "pipe" {
		other = c.pipes[r.Inode]
		own = []rowRef{{p, k}}
		if len(other) != 2 {
			return
		}
	} else if !r.connected() {
		return
	}
	for _, s := range r.Spans {
		for i := s.First; i <= s.Last; i++ {
			if c.holder(own, p, i, r, -1) != p {
				continue
			}
			except := -1
			if r.Protocol == "pipe" {
				except = p
			}
			if peer := c.holder(other, p, i, r, except); peer != Outside {
				out.peer, out.matched[i] = peer, true
			}
		}
	}
}

// holder is the one process that has one of the rows at the moment of snapshot i of p.
func (c *Case) holder(rows []rowRef, p, i int, r *Row, except int) int {
	found := Outside
	for _, ref := range rows {
		q := ref.process
		if q == except || !c.reaches(p, q, r) {
			continue
		}
		at := i
		if q != p {
			at = c.roundOf(p, q)[i]
		}
		if at < 0 {
			continue
		}
		if _, present := c.row(ref).at(at); !present {
			continue
		}
		if found != Outside && found != q {
			return Outside
		}
		found = q
	}
	return found
}

// reaches reports whether an end in process q can be the other end of a connection of p: on
// another host, or in another network namespace, only where the addresses are not those of
// one host.
func (c *Case) reaches(p, q int, r *Row) bool {
	a, b := c.processes[p].Host, c.processes[q].Host
	oneHost := a == "" || b == "" || a == b
	if r.Protocol == "pipe" || oneHost && !c.apart(p, q) {
		return oneHost
	}
	return !local(r.Local.Addr()) && !local(r.Remote.Addr()) && r.Local.Addr() != r.Remote.Addr()
}

// apart reports processes whose network namespaces are known and were never the same.
func (c *Case) apart(p, q int) bool {
	key := [2]int{p, q}
	found, ok := c.separate[key]
	if !ok {
		found = c.namespacesDiffer(p, q)
		c.separate[key] = found
	}
	return found
}

func (c *Case) namespacesDiffer(p, q int) bool {
	known := false
	for _, x := range c.processes[p].Moments {
		for _, y := range c.processes[q].Moments {
			if x.Namespace == 0 || y.Namespace == 0 {
				continue
			}
			if x.Namespace == y.Namespace {
				return false
			}
			known = true
		}
	}
	return known
}

// local reports an address that means another host on each host.
func local(a netip.Addr) bool { return a.IsLoopback() || a.IsLinkLocalUnicast() }

// roundOf has the snapshot of q at the moment of each snapshot of p, -1 for none.
func (c *Case) roundOf(p, q int) []int {
	key := [2]int{p, q}
	if found, ok := c.rounds[key]; ok {
		return found
	}
	out := make([]int, len(c.processes[p].Moments))
	for i := range out {
		out[i] = -1
	}
	for _, r := range Rounds(c.processes[p].Moments, c.processes[q].Moments) {
		out[r[0]] = r[1]
	}
	c.rounds[key] = out
	return out
}

// direct decides who dialled, who listens at the other end where it was not seen, and names
// an end outside the case.
func (c *Case) direct(p, k int) {
	out, r := &c.joined[p][k], c.row(rowRef{p, k})
	if !r.connected() {
		return
	}
	listened, owner := c.listenerOf(p, r)
	if out.direction != Accepted && (listened || out.peer != Outside && c.otherAccepted(p, r, out.peer)) {
		out.direction = Dialled
	}
	if out.peer == Outside {
		out.peer = owner
	}
	if out.peer != Outside {
		return
	}
	out.address = r.Remote.String()
	if out.direction == Accepted {
		out.address = r.Remote.Addr().String()
	}
}

func (c *Case) otherAccepted(p int, r *Row, peer int) bool {
	for _, ref := range c.ends[endKey{r.Protocol, r.Remote, r.Local}] {
		if ref.process == peer && c.joined[peer][ref.row].direction == Accepted {
			return true
		}
	}
	return false
}

// listenerOf reports whether anybody listens at the remote end, and the one process of the
// case that does.
func (c *Case) listenerOf(p int, r *Row) (listened bool, owner int) {
	owner = Outside
	several := false
	for _, l := range c.listeners[portKey{r.Protocol, r.Remote.Port()}] {
		if !c.reaches(p, l.process, r) || !l.covers(r, c.processes[l.process].Course) {
			continue
		}
		listened = true
		if l.foreign {
			continue
		}
		several = several || owner != Outside && owner != l.process
		owner = l.process
	}
	if several {
		owner = Outside
	}
	return listened, owner
}

// covers reports whether a listener answers at the remote end of r. One at all addresses
// answers at those of its host: r's own, and those that its connections have.
func (l listener) covers(r *Row, of *Course) bool {
	remote := r.Remote.Addr()
	if l.address.IsValid() || !remote.IsValid() {
		return l.address == remote
	}
	return local(remote) || remote == r.Local.Addr() || slices.ContainsFunc(of.Rows, func(x Row) bool { return x.connected() && x.Local.Addr() == remote })
}

// mostOutside is how many ends outside the case are listed of one process.
const mostOutside = 20

// edgeKey groups connections to an edge.
type edgeKey struct {
	from, to          int
	address, protocol string
	direction         Direction
	state             State
}

// Edges lists the connections, by process. Of ends outside the case it lists those with
// most connections.
func (c *Case) Edges() []Edge {
	var out []Edge
	for p := range c.processes {
		if c.processes[p].Course == nil {
			continue
		}
		own := c.edgesOf(p)
		slices.SortStableFunc(own, func(a, b Edge) int {
			return cmp.Or(cmp.Compare(uint(a.To), uint(b.To)), cmp.Compare(b.N.Highest(), a.N.Highest()), cmp.Compare(a.Address, b.Address),
				cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.State, b.State))
		})
		outside := 0
		for _, e := range own {
			if e.To == Outside {
				if outside++; outside > mostOutside {
					continue
				}
			}
			out = append(out, e)
		}
	}
	return c.once(out)
}

// once leaves out what the other end says too.
func (c *Case) once(all []Edge) []Edge {
	type pair struct {
		from, to  int
		protocol  string
		direction Direction
	}
	have := map[pair]bool{}
	for _, e := range all {
		if e.Matched.Highest() > 0 {
			have[pair{e.From, e.To, e.Protocol, e.Direction}] = true
		}
	}
	return slices.DeleteFunc(all, func(e Edge) bool {
		switch {
		case e.To == Outside || e.State != Established && e.State != "":
			return false
		case e.Direction == Accepted:
			return have[pair{e.To, e.From, e.Protocol, Dialled}]
		case e.Direction == Unknown:
			return e.From > e.To && have[pair{e.To, e.From, e.Protocol, Unknown}]
		}
		return false
	})
}

func (c *Case) edgesOf(p int) []Edge {
	course := c.processes[p].Course
	moments := c.processes[p].Moments
	shown := map[bool][]bool{false: course.shown(false, len(moments)), true: course.shown(true, len(moments))}
	at := map[edgeKey]*counter{}
	var order []edgeKey
	for k := range course.Rows {
		r, j := &course.Rows[k], &c.joined[p][k]
		if r.Protocol == "pipe" && j.peer == Outside || r.Protocol != "pipe" && !r.connected() {
			continue
		}
		for s, span := range r.Spans {
			key := edgeKey{p, j.peer, j.address, r.Protocol, j.direction, State(span.State)}
			if at[key] == nil {
				at[key] = newCounter(shown[r.Protocol == "pipe"], moments)
				order = append(order, key)
			}
			at[key].add(r, s, j.matched)
		}
	}
	out := make([]Edge, 0, len(order))
	for _, key := range order {
		n := at[key]
		out = append(out, Edge{
			From: key.from, To: key.to, Address: key.address, Protocol: key.protocol, Direction: key.direction, State: key.state,
			N: n.n, Matched: n.matched, Born: n.born, Ended: n.ended,
		})
	}
	return out
}

// counter counts the connections of one edge.
type counter struct {
	n, matched, born, ended analysis.Counts
	// before is the snapshot with sockets before each of the same epoch, -1 for none.
	before []int
}

func newCounter(shown []bool, moments []Moment) *counter {
	out := &counter{before: make([]int, len(shown))}
	last := -1
	for _, list := range []*analysis.Counts{&out.n, &out.matched, &out.born, &out.ended} {
		*list = make(analysis.Counts, len(shown))
	}
	for i := range shown {
		out.before[i] = -1
		if !shown[i] {
			continue
		}
		out.n[i], out.matched[i] = analysis.Counted(0), analysis.Counted(0)
		if last >= 0 && moments[last].Epoch == moments[i].Epoch {
			out.before[i], out.born[i], out.ended[i] = last, analysis.Counted(0), analysis.Counted(0)
		}
		last = i
	}
	return out
}

// add counts a connection in one of its states.
func (t *counter) add(r *Row, s int, matched []bool) {
	span := r.Spans[s]
	for i := span.First; i <= span.Last; i++ {
		if !t.n[i].Known() {
			continue
		}
		t.n[i].N++
		if matched[i] {
			t.matched[i].N++
		}
		if b := t.before[i]; b >= 0 {
			if _, present := r.at(b); !present {
				t.born[i].N++
			}
		}
	}
	for i := span.Last + 1; i < len(t.n); i++ {
		if t.before[i] == span.Last {
			if _, present := r.at(i); !present {
				t.ended[i].N++
			}
			break
		}
	}
}
