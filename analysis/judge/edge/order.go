package edge

import (
	"math"
	"slices"

	"leakdiff/analysis"
)

// Wait is what the members of a growth that serve another process wait for, as far as their
// stacks say.
type Wait string

// The waits that decide who holds whom. The zero value is any other one.
const (
	// WaitsToRead are members that wait for the connection that they serve.
	WaitsToRead Wait = "read"
	// ReadsAny are members that wait for a connection. It is the one that they serve where
	// there are as many of them.
	ReadsAny Wait = "read any"
	// ServesStream are members that work for a stream: it lives as long as its opener wants.
	ServesStream Wait = "stream"
	// WaitsElsewhere are members that work for a call and wait for a lock, a file or another
	// call.
	WaitsElsewhere Wait = "elsewhere"
)

// Growth is what rises in one process.
type Growth struct {
	Process int
	// Counts are the members of all that rises.
	Counts analysis.Counts
	// Alive are its objects, or the members of its first family. Ended are the objects that
	// ended in each snapshot, nil where they are not followed.
	Alive, Ended analysis.Counts
	Wait         Wait
	// Calling and Serving report stacks inside calls to another process, or for one. Unary
	// are those that wait for the answer to one call.
	Calling, Serving, Unary bool
	// Streams reports stacks of streams, or of calls, that share connections with others.
	Streams bool
	// Descriptors reports that Alive are descriptors: only those whose other end the process
	// had can end or stay by it.
	Descriptors bool
	// Connections index the rows of the process' course that goroutines of the growth wait
	// for, in ascending order. They are empty where captures have no pairs of goroutines and
	// descriptors.
	Connections []int
}

// Rule is why one growth is first.
type Rule string

// The rules, the first that holds. Two that contradict each other decide nothing.
const (
	ByCloseWait Rule = "close_wait"
	ByStay      Rule = "stays"
	ByEnd       Rule = "end"
	ByOpener    Rule = "opener"
	ByCallee    Rule = "callee"
)

// Level is how an order is known.
type Level string

// The levels. Step is equal numbers alone, which prove no order.
const (
	KernelState Level = "kernel state"
	SeenEnd     Level = "end"
	// ByDescriptor is that goroutines of both wait for the ends of the same connections.
	ByDescriptor Level = "descriptor"
	ByEndpoint   Level = "endpoint"
	// ByStreams is that one process dialled the connections over which the streams of both
	// run, in whatever number.
	ByStreams Level = "streams"
	Step      Level = "step"
)

// Order says which of two growths is first.
type Order struct {
	// First is the process whose growth holds that of Held.
	First, Held int
	Rule        Rule
	Level       Level
	// Coupled is how both belong together. Connections are the most between both where each
	// carries several members of what is held, else 0.
	Coupled     Level
	Connections int
	// N are the connections that the rule is about, or the members that ended or stay.
	N int
	// Snapshot is that of Held in which its members ended, or that of First in which they
	// stay. It is -1 for other rules.
	Snapshot int
	// HeldLives reports, of ByStay, that the other process did not end but has none of the
	// connections any more.
	HeldLives bool
}

// Between decides which of two growths of different processes holds the other. level is
// how they belong together, "" where they do not. known is false where nothing proves an
// order, or rules contradict each other.
func (c *Case) Between(a, b Growth) (order Order, known bool, level Level) {
	level = c.coupled(a, b)
	if level == "" {
		return Order{}, false, ""
	}
	for _, rule := range []func(a, b Growth, level Level) (Order, bool){c.closeWait, c.stays, c.ended, c.opened, c.called} {
		for _, pair := range [][2]Growth{{a, b}, {b, a}} {
			found, holds := rule(pair[0], pair[1], level)
			switch {
			case !holds:
			case known && found.First != order.First:
				return Order{}, false, level
			case !known:
				order, known = found, true
			}
		}
	}
	held := a
	if order.Held == b.Process {
		held = b
	}
	order.Coupled = level
	if n := c.matchedCounts(a.Process, b.Process).Highest(); known && 2*n <= held.Alive.Highest() {
		order.Connections = n
	}
	return order, known, level
}

// Joined reports a level at which connections are proven to join two growths.
func (l Level) Joined() bool { return l == ByEndpoint || l == ByDescriptor || l == ByStreams }

// coupled is how two growths belong together: goroutines of both wait for the ends of the same
// connections; or both rise in step with connections that join their processes all the time;
// or with streams over connections that they share; or one side is inside calls that the other
// serves. Counts alone would join any two steady growths.
func (c *Case) coupled(a, b Growth) Level {
	if a.Process == b.Process || !c.sameHost(a.Process, b.Process) && !c.Linked(a.Process, b.Process) {
		return ""
	}
	if c.paired(a, b) {
		return ByDescriptor
	}
	calls := a.Calling && b.Serving && c.inStep(a, b) || b.Calling && a.Serving && c.inStep(b, a)
	if !calls && !(c.Linked(a.Process, b.Process) && (c.inStep(a, b) || c.inStep(b, a))) {
		return ""
	}
	there, back := c.matchedCounts(a.Process, b.Process), c.matchedCounts(b.Process, a.Process)
	switch {
	case c.joinedThroughout(a, b, there) && (c.carried(a, there) || c.carried(b, back)):
		return ByEndpoint
	case c.multiplexed(a, b):
		return ByStreams
	case calls || c.left(a, b) || c.left(b, a):
		return Step
	}
	return ""
}

// leastPaired is the least number of connections that couple two growths.
const leastPaired = 2

// paired reports growths whose goroutines wait for both ends of as many connections as at
// least half of the smaller growth.
func (c *Case) paired(a, b Growth) bool {
	n := c.shared(a, b).Highest()
	return n >= leastPaired && 2*n >= min(a.Alive.Rise(), b.Alive.Rise())
}

// shared are the connections in each snapshot of a of which a goroutine of a waits for one
// end, and one of b for the other.
func (c *Case) shared(a, b Growth) analysis.Counts {
	out := make(analysis.Counts, len(c.processes[a.Process].Moments))
	if len(a.Connections) == 0 || len(b.Connections) == 0 || c.processes[a.Process].Course == nil {
		return out
	}
	for _, k := range a.Connections {
		if k >= len(c.joined[a.Process]) {
			break // of a course that was too large to be joined
		}
		j := &c.joined[a.Process][k]
		if j.peer != b.Process || !c.otherEndIn(rowRef{a.Process, k}, b) {
			continue
		}
		for i, matched := range j.matched {
			if matched {
				out.Add(i, 1)
			}
		}
	}
	return out
}

// otherEndIn reports a connection whose other end a goroutine of b waits for.
func (c *Case) otherEndIn(ref rowRef, b Growth) bool {
	r := c.row(ref)
	others := c.ends[endKey{r.Protocol, r.Remote, r.Local}]
	if r.Protocol == "pipe" {
		others = c.pipes[r.Inode]
	}
	return slices.ContainsFunc(others, func(other rowRef) bool {
		_, waits := slices.BinarySearch(b.Connections, other.row)
		return other.process == b.Process && waits
	})
}

func (c *Case) inStep(a, b Growth) bool {
	return InStep(a.Counts, b.Counts, c.pairs(a.Process, b.Process))
}

func (c *Case) sameHost(p, q int) bool {
	a, b := c.processes[p].Host, c.processes[q].Host
	return a == "" || b == "" || a == b
}

// pairs are the snapshots of two processes that show one moment.
func (c *Case) pairs(p, q int) (out [][2]int) {
	for i, k := range c.roundOf(p, q) {
		if k >= 0 {
			out = append(out, [2]int{i, k})
		}
	}
	return out
}

// matchedCounts are the connections of p to q in each snapshot of p of which both ends were
// seen, nil where no snapshot shows sockets.
func (c *Case) matchedCounts(p, q int) analysis.Counts {
	return c.count(p, func(_ *Row, j *joinedRow, i int) bool { return j.peer == q && j.matched[i] })
}

func (c *Case) count(p int, counts func(r *Row, j *joinedRow, i int) bool) analysis.Counts {
	out := make(analysis.Counts, len(c.processes[p].Moments))
	course := c.processes[p].Course
	if course == nil {
		return out
	}
	for i, shown := range course.shown(false, len(out)) {
		if shown {
			out[i] = analysis.Counted(0)
		}
	}
	for k := range course.Rows {
		r, j := &course.Rows[k], &c.joined[p][k]
		if !r.connected() {
			continue
		}
		for _, s := range r.Spans {
			for i := s.First; i <= s.Last; i++ {
				if counts(r, j, i) {
					out[i].N++
				}
			}
		}
	}
	return out
}

// joinedThroughout reports connections between both processes at each moment at which both
// growths stand, and at two such moments at least.
func (c *Case) joinedThroughout(a, b Growth, between analysis.Counts) bool {
	n := 0
	for _, r := range c.pairs(a.Process, b.Process) {
		x, y := a.Counts[r[0]], b.Counts[r[1]]
		if !x.Known() || !y.Known() || x.N == 0 || y.N == 0 {
			continue
		}
		if !between[r[0]].Known() || between[r[0]].N == 0 {
			return false
		}
		n++
	}
	return n >= 2
}

// carried reports a growth that rises in step with the connections.
func (c *Case) carried(g Growth, connections analysis.Counts) bool {
	return InStep(g.Counts, connections, own(len(g.Counts)))
}

func own(n int) [][2]int {
	out := make([][2]int, n)
	for i := range out {
		out[i] = [2]int{i, i}
	}
	return out
}

// left reports a growth in step with the connections that the other process has closed.
func (c *Case) left(a, b Growth) bool {
	return InStep(a.Counts, c.closedBy(a.Process, b.Process), own(len(a.Counts)))
}

// closedBy are the connections of p in CLOSE_WAIT whose other end was q's.
func (c *Case) closedBy(p, q int) analysis.Counts {
	return c.count(p, func(r *Row, j *joinedRow, i int) bool {
		state, _ := r.at(i)
		return j.peer == q && State(state) == CloseWait
	})
}

// closeWait is rule 1: b has closed connections, and a holds them.
func (c *Case) closeWait(a, b Growth, _ Level) (Order, bool) {
	closed := c.closedBy(a.Process, b.Process)
	if !InStep(a.Counts, closed, own(len(a.Counts))) {
		return Order{}, false
	}
	return Order{First: a.Process, Held: b.Process, Rule: ByCloseWait, Level: KernelState, N: closed.Highest(), Snapshot: -1}, true
}

// stays is the other half of rule 1: b was seen to end, or to have none of its connections with
// a any more, and what a has of it stays. That nobody captured b is no end.
func (c *Case) stays(a, b Growth, level Level) (Order, bool) {
	at, lives := c.seenToLeave(b.Process, a.Process)
	if at < 1 || !level.Joined() || !a.Alive[at-1].Known() || !a.Alive[at].Known() {
		return Order{}, false
	}
	before, now := a.Alive[at-1].N, a.Alive[at].N
	if before == 0 || 5*now < 4*before {
		return Order{}, false
	}
	return Order{First: a.Process, Held: b.Process, Rule: ByStay, Level: SeenEnd, N: c.connected(a, b.Process, at, now), Snapshot: at, HeldLives: lives}, true
}

// seenToLeave is the first snapshot of q, which lived on, at whose moment a capture of p shows
// that it started anew, or that it lives and has no connection with q any more. It is -1
// without one.
func (c *Case) seenToLeave(p, q int) (at int, lives bool) {
	rounds, mine, theirs := c.roundOf(q, p), c.processes[q].Moments, c.processes[p].Moments
	connections := c.count(p, func(_ *Row, j *joinedRow, _ int) bool { return j.peer == q })
	for i := 1; i < len(rounds); i++ {
		before, now := rounds[i-1], rounds[i]
		if before < 0 || now < 0 || mine[i].Epoch != mine[i-1].Epoch {
			continue
		}
		if theirs[now].Epoch != theirs[before].Epoch {
			return i, false
		}
		if connections[before].Known() && connections[now].Known() && connections[before].N > 0 && connections[now].N == 0 {
			return i, true
		}
	}
	return -1, false
}

// ended is rule 2: a ended between two snapshots, and what b had of it ended with it. Equal
// numbers of processes that share no connection are no edge.
func (c *Case) ended(a, b Growth, _ Level) (Order, bool) {
	if !c.Linked(a.Process, b.Process) {
		return Order{}, false
	}
	before, now, at := c.around(a.Process, b)
	n := before - now
	if before > 0 && at < len(b.Ended) && b.Ended[at].Known() {
		n = b.Ended[at].N
	}
	if before == 0 || n < 2 || 2*now > before {
		return Order{}, false
	}
	return Order{First: a.Process, Held: b.Process, Rule: ByEnd, Level: SeenEnd, N: c.connected(b, a.Process, at, n), Snapshot: at}, true
}

// connected is n, but of descriptors no more than were connected with a process before at.
func (c *Case) connected(g Growth, process, at, n int) int {
	if matched := c.matchedCounts(g.Process, process); g.Descriptors && matched[at-1].Any() {
		return min(n, matched[at-1].N)
	}
	return n
}

// around is what a growth has in the snapshots before and after the end of a process; before
// is 0 where it was not seen to end.
func (c *Case) around(process int, g Growth) (before, now, at int) {
	at = c.endOf(process, g.Process)
	if at < 1 || !g.Alive[at-1].Known() || !g.Alive[at].Known() {
		return 0, 0, at
	}
	return g.Alive[at-1].N, g.Alive[at].N, at
}

// endOf is the first snapshot of q, which lived on, after process p ended: p has another
// start then, or is not captured any more and its connections with q are gone. It is -1
// where p was not seen to end. A snapshot that nobody took is no end.
func (c *Case) endOf(p, q int) int {
	rounds, mine, theirs := c.roundOf(q, p), c.processes[q].Moments, c.processes[p].Moments
	connections := c.count(q, func(_ *Row, j *joinedRow, _ int) bool { return j.peer == p })
	for i := 1; i < len(rounds); i++ {
		before, now := rounds[i-1], rounds[i]
		if before < 0 || mine[i].Epoch != mine[i-1].Epoch {
			continue
		}
		if now >= 0 && theirs[now].Epoch != theirs[before].Epoch {
			return i
		}
		gone := connections[i-1].Known() && connections[i].Known() && connections[i-1].N > 0 && connections[i].N == 0
		if now < 0 && before == len(theirs)-1 && gone {
			return i
		}
	}
	return -1
}

// opened is rule 3: a dialled the connections, both ends are open, and b waits for them, or what
// grows in both are the ends themselves.
func (c *Case) opened(a, b Growth, level Level) (Order, bool) {
	// Goroutines that wait for a descriptor of these connections need no comparison of counts.
	reads := b.Wait == WaitsToRead || b.Wait == ReadsAny && (level == ByDescriptor || c.carried(b, c.matchedCounts(b.Process, a.Process)))
	streams := level == ByStreams && a.Calling && b.Wait != WaitsElsewhere
	ends := a.Descriptors && b.Descriptors
	if !level.Joined() || a.Unary || !reads && !streams && !ends && b.Wait != ServesStream {
		return Order{}, false
	}
	dialled := c.count(a.Process, func(r *Row, j *joinedRow, i int) bool {
		state, _ := r.at(i)
		return j.peer == b.Process && j.matched[i] && j.direction == Dialled && State(state) == Established
	})
	back := c.count(a.Process, func(_ *Row, j *joinedRow, i int) bool {
		return j.peer == b.Process && j.matched[i] && j.direction != Dialled
	})
	if dialled.Highest() == 0 || back.Highest() > 0 {
		return Order{}, false
	}
	return Order{First: a.Process, Held: b.Process, Rule: ByOpener, Level: level, N: dialled.Highest(), Snapshot: -1}, true
}

// called is rule 4: b waits for the answers to its calls, and a works on them and waits for
// something else.
func (c *Case) called(a, b Growth, level Level) (Order, bool) {
	if !level.Joined() || !b.Unary || a.Wait != WaitsElsewhere {
		return Order{}, false
	}
	dialled := c.count(b.Process, func(_ *Row, j *joinedRow, i int) bool {
		return j.peer == a.Process && j.matched[i] && j.direction == Dialled
	})
	if dialled.Highest() == 0 {
		return Order{}, false
	}
	return Order{First: a.Process, Held: b.Process, Rule: ByCallee, Level: level, N: dialled.Highest(), Snapshot: -1}, true
}

// InStep reports two counts that rise together at a constant ratio, over at least four
// moments up to the first fall of one of them.
func InStep(a, b analysis.Counts, rounds [][2]int) bool {
	var x, y []float64
	for _, r := range rounds {
		m, n := a[r[0]], b[r[1]]
		if !m.Known() || !n.Known() {
			continue
		}
		if k := len(x) - 1; k >= 0 && (float64(m.N) < x[k]/2 || float64(n.N) < y[k]/2) {
			break // the cause went away, or a restart
		}
		x, y = append(x, float64(m.N)), append(y, float64(n.N))
	}
	if len(x) < 4 {
		return false
	}
	last := len(x) - 1
	riseX, riseY := x[last]-x[0], y[last]-y[0]
	if riseX < 8 || riseY < 8 {
		return false
	}
	allowed := max(2, 0.05*riseY)
	for k := range x {
		if math.Abs((y[k]-y[0])-riseY/riseX*(x[k]-x[0])) > allowed {
			return false
		}
	}
	return true
}
