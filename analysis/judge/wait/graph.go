package wait

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Graph is who waits for whom in one dump. It holds no address.
type Graph struct {
	Kind analysis.Kind
	// Locks have most waiters first. More counts those left out, with MoreWaiters. Unknown
	// counts the members that wait for locks which the reader did not keep.
	Locks             []Node
	More, MoreWaiters int
	Unknown           int
	// Cycles are indexes of Locks: the holder of each waits for the next, that of the last
	// for the first.
	Cycles [][]int
}

// Node is a lock with at least one waiter.
type Node struct {
	// Class is that of a monitor of a JVM.
	Class   string
	Waiters int
	// Oldest is the longest wait in minutes, 0 if none was printed.
	Oldest  int
	Entries []Entry
	// Waiting are the names of some waiting threads.
	Waiting []string
	// Holders are at most five. Crowd reports that there are more, which are not listed.
	// Nameless reports that the waiters entered the lock in plain functions.
	Holders         []Holding
	Crowd, Nameless bool
}

// Certainty is how sure a holder is.
type Certainty string

// A thread that prints the lock holds it. A goroutine that is the only one inside the object, or a
// thread that alone is on a later line of the method, is likely to hold it; one of several is possible.
const (
	Proven   Certainty = "proven"
	Likely   Certainty = "likely"
	Possible Certainty = "possible"
)

// Holding is a holder of a lock, or a candidate for it.
type Holding struct {
	Certainty Certainty
	// ID is 0 if unknown, Name that of a thread.
	ID   int64
	Name string
	// At is its first frame outside sync, Inside the method of the object that waiters
	// wait in, "" for threads.
	At, Inside string
	State      string
	// Wait is in minutes, 0 if none was printed.
	Wait int
	For  Reason
	// Lock is the index of the lock that it waits for itself, -1 for none of the graph.
	Lock int
	// Recursive reports that it waits for the lock itself, in At, and may have taken it in
	// Inside. Taken reports that others wait for it in Inside too, Longest that none has waited
	// longer, Reentered that it is the only reader inside twice while a writer waits, Once that
	// the lock is that of a sync.Once and it alone runs the function of one, Inside.
	Recursive, Taken, Longest, Reentered, Once bool
	// Only reports that nobody else is in the package of the object who may hold the lock. Untold is
	// for a recursive one whose two methods are of one type, and the dump does not print whether of
	// one object.
	Only, Untold bool
	// Behind reports that it waits for a WaitGroup, and all goroutines that it started wait for
	// this lock.
	Behind bool
	// Passed reports that only the object among its arguments shows it, Same that the object of the
	// waiters is printed with it.
	Passed, Same bool
	// Children are goroutines that it may have started, most first.
	Children []Child
}

// Child counts goroutines of one family.
type Child struct {
	At    string
	Count int
	State string
}

// mostEntries bounds the functions and children of one lock, mostCycles the cycles.
const (
	mostEntries = 5
	mostCycles  = 20
)

// Of makes the graph of a snapshot: of its threads if monitors of a JVM are known, else of
// its goroutines. It is nil if nobody waits for a lock whose address is known.
func Of(s *analysis.Snapshot) *Graph {
	g := ofThreads(s.Monitors)
	if g == nil {
		found, unknown := search(s.Groups, s.Objects, s.Passed)
		if g = ofGoroutines(s.Groups, found); g != nil {
			g.Unknown = unknown
		}
	}
	if g != nil {
		g.findCycles()
	}
	return g
}

func ofGoroutines(groups []analysis.Group, found map[uint64]*Lock) *Graph {
	if len(found) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b *Lock) int {
		return cmp.Or(b.Waiters-a.Waiters, b.Oldest-a.Oldest, cmp.Compare(a.First, b.First))
	})
	g := &Graph{Kind: analysis.KindGoroutine}
	for _, l := range all[min(len(all), MostLocks):] {
		g.More, g.MoreWaiters = g.More+1, g.MoreWaiters+l.Waiters
	}
	all = all[:min(len(all), MostLocks)]
	at := map[uint64]int{}
	for i, l := range all {
		at[l.Address] = i
	}
	byPrint := map[string]*analysis.Group{}
	for i := range groups {
		byPrint[groups[i].Family.Fingerprint] = &groups[i]
	}
	for _, l := range all {
		n := Node{Waiters: l.Waiters, Oldest: l.Oldest, Entries: most(l.Entries), Crowd: len(l.Families) > 0, Nameless: len(l.Types) == 0}
		for _, h := range l.Holders {
			x := Holding{Certainty: Possible, ID: h.ID, At: h.At, Inside: h.Func, State: h.State, Wait: max(0, h.Wait), For: h.For, Lock: -1, Behind: h.Behind, Passed: h.Passed, Same: h.Same}
			if len(l.Holders) == 1 && len(l.Recursive) == 0 && !h.Passed && !idle(&h, byPrint[h.Fingerprint]) {
				x.Certainty = Likely
			}
			if next, known := at[h.WaitsFor]; known && h.WaitsFor != 0 {
				x.For, x.Lock = ForLock, next
			}
			for _, o := range h.Children[:min(len(h.Children), mostEntries)] {
				if child := byPrint[o.Fingerprint]; child != nil {
					x.Children = append(x.Children, Child{At: entryOfGroup(child), Count: o.Count, State: commonState(child)})
				}
			}
			n.Holders = append(n.Holders, x)
		}
		// The one that has waited longest is the one to examine.
		slices.SortStableFunc(n.Holders, func(a, b Holding) int { return b.Wait - a.Wait })
		n.Holders = slices.Concat(recursive(l), n.Holders)
		g.Locks = append(g.Locks, n)
	}
	return g
}

// recursive are the waiters that may hold the lock themselves. They are likely to, if nobody
// else is seen inside the object, and others wait in the outer method, or not as long, or for
// a writer that waits for the only reader inside; or if they alone run the function of a Once.
func recursive(l *Lock) (out []Holding) {
	for _, h := range l.Recursive {
		x := Holding{Certainty: Possible, ID: h.ID, At: h.At, Inside: h.Func, State: h.State, Wait: max(0, h.Wait), For: ForLock, Lock: -1, Recursive: true, Taken: h.Taken, Longest: h.Longest, Reentered: h.Reentered, Once: h.Once, Only: h.Only, Untold: h.Untold}
		if h.Sole && (h.Taken || h.Longest || h.Reentered || h.Once) {
			x.Certainty = Likely
		}
		out = append(out, x)
	}
	return out
}

// idle reports a candidate whose outermost function is the method that makes it one, and that
// waits there for the next message or connection: loops do that for ever, and hold nothing. One that
// has got beyond the line on which the others wait is none.
func idle(h *Holder, g *analysis.Group) bool {
	if h.Beyond || h.For != ForChannel && h.For != ForTimer && h.For != ForIO || strings.HasPrefix(h.State, "chan send") || g == nil || len(g.Variants) == 0 || g.Variants[0].Stack == nil {
		return false
	}
	frames := g.Variants[0].Stack.Frames
	return len(frames) > 0 && frames[len(frames)-1].Func == h.Func
}

func most(entries []Entry) []Entry {
	out := slices.Clone(entries)
	slices.SortStableFunc(out, func(a, b Entry) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Func, b.Func)) })
	return out[:min(len(out), mostEntries)]
}

func commonState(g *analysis.Group) string {
	state := ""
	for s, n := range g.States {
		if most := g.States[state]; n > most || n == most && s < state {
			state = s
		}
	}
	return state
}

func ofThreads(m *analysis.Monitors) *Graph {
	if m == nil || len(m.List) == 0 {
		return nil
	}
	g := &Graph{Kind: analysis.KindThread, More: m.More, MoreWaiters: m.MoreWaiters}
	for _, x := range m.List {
		n := Node{Class: x.Class, Waiters: x.Waiters, Waiting: x.Waiting}
		for _, e := range x.At {
			n.Entries = append(n.Entries, Entry{Func: e.Func, Count: e.Count})
		}
		n.Entries = most(n.Entries)
		if x.Holder != nil {
			n.Holders = []Holding{heldBy(x.Holder, Proven, len(m.List))}
		}
		for i := range x.Further {
			h := heldBy(&x.Further[i], Possible, len(m.List))
			if len(x.Further) == 1 || strings.Contains(x.Class, "ReadWriteLock") && x.Further[i].At == x.Further[0].At {
				h.Certainty = Likely // of a lock of readers each of them may have it
			}
			if len(n.Entries) > 0 {
				h.Inside = n.Entries[0].Func
			}
			n.Holders = append(n.Holders, h)
		}
		g.Locks = append(g.Locks, n)
	}
	return g
}

// heldBy is a thread that holds one of so many locks, or may.
func heldBy(h *analysis.MonitorHolder, sure Certainty, locks int) Holding {
	out := Holding{Certainty: sure, ID: max(0, h.ID), Name: h.Name, At: h.At, State: h.State, For: reason(h.State, nil), Lock: -1}
	if h.Waits > 0 && h.Waits <= locks {
		out.For, out.Lock = ForLock, h.Waits-1
	}
	return out
}

// findCycles finds for each lock the shortest way back to it, and keeps each cycle once.
func (g *Graph) findCycles() {
	seen := make([]bool, len(g.Locks))
	for start := range g.Locks {
		if seen[start] || len(g.Cycles) == mostCycles {
			continue
		}
		cycle := g.cycle(start)
		for _, i := range cycle {
			seen[i] = true
		}
		if cycle != nil {
			g.Cycles = append(g.Cycles, cycle)
		}
	}
}

func (g *Graph) cycle(start int) []int {
	from := make([]int, len(g.Locks))
	for i := range from {
		from[i] = -1
	}
	for open := []int{start}; len(open) > 0; open = open[1:] {
		if h := g.Locks[open[0]].Sole(); h != nil {
			switch {
			case h.Lock == start:
				way := []int{open[0]}
				for way[0] != start {
					way = slices.Insert(way, 0, from[way[0]])
				}
				return way
			case h.Lock >= 0 && from[h.Lock] < 0:
				from[h.Lock] = open[0]
				open = append(open, h.Lock)
			}
		}
	}
	return nil
}

// Sole is the one that holds the lock and does not wait for it: proven, or the only one with which the
// object of the waiters is printed. It is nil where it may be another one: who sleeps or reads inside a
// lock goes on, and then nobody is locked out for ever.
func (n *Node) Sole() (found *Holding) {
	for i := range n.Holders {
		h := &n.Holders[i]
		if h.Recursive || !h.Same && h.Certainty != Proven {
			continue
		}
		if found != nil {
			return nil
		}
		found = h
	}
	return found
}

// Sure reports how sure a cycle is: as sure as its least sure holder. A Go dump prints no
// holder, so its cycles are possible.
func (g *Graph) Sure(cycle []int) Certainty {
	for k, i := range cycle {
		next := cycle[(k+1)%len(cycle)]
		if h := g.Locks[i].Sole(); h == nil || h.Lock != next || h.Certainty != Proven {
			return Possible
		}
	}
	return Proven
}
