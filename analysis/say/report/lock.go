package report

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/say/wording"
)

// Locks are the locks of one snapshot that several wait for, or one for a minute, and who
// holds them. Addresses stand for nothing outside the dump, so each lock has a number.
type Locks struct {
	Snapshot string `json:"snapshot"`
	// Label is that of the snapshot.
	Label string `json:"label,omitempty"`
	// Kind is goroutine or thread.
	Kind analysis.Kind `json:"kind"`
	List []Lock        `json:"list"`
	// More counts further locks, MoreWaiters those who wait for them. Of a family with very
	// many locks the reader keeps some: Unknown are the waiters of the others.
	More        int `json:"more,omitempty"`
	MoreWaiters int `json:"more_waiters,omitempty"`
	Unknown     int `json:"unknown_waiters,omitempty"`
	// Cycles are deadlocks.
	Cycles []LockCycle `json:"cycles,omitempty"`
}

// Lock is one lock with those that wait for it.
type Lock struct {
	// ID is "lock 1" for the one with most waiters.
	ID string `json:"id"`
	// Class is that of a lock of a JVM.
	Class   string `json:"class,omitempty"`
	Waiters int    `json:"waiters"`
	// Oldest is the longest wait in minutes, 0 if none was printed.
	Oldest int `json:"oldest_wait_minutes,omitempty"`
	// In are the functions in which most of them wait. Waiting are names of some threads.
	In      []LockSite   `json:"in"`
	Waiting []string     `json:"waiting,omitempty"`
	Holders []LockHolder `json:"holders,omitempty"`
	// Open is why no holder is named.
	Open string `json:"open,omitempty"`
	Text string `json:"text"`
}

// LockSite counts members by function.
type LockSite struct {
	Function string `json:"function"`
	Count    int    `json:"count"`
	State    string `json:"state,omitempty"`
}

// LockHolder is a holder of a lock, or a candidate.
type LockHolder struct {
	// Certainty is proven, likely or possible.
	Certainty wait.Certainty `json:"certainty"`
	ID        int64          `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	// At is its first own frame, or the first one outside sync, Inside the method of the object
	// that the waiters want to enter.
	At     string `json:"at,omitempty"`
	Inside string `json:"inside,omitempty"`
	State  string `json:"state,omitempty"`
	Wait   int    `json:"wait_minutes,omitempty"`
	// WaitsFor is lock, wait group, condition, channel, io, syscall, timer, running or
	// other. Lock is the id of the lock that it waits for.
	WaitsFor wait.Reason `json:"waits_for,omitempty"`
	Lock     string      `json:"lock,omitempty"`
	// Caller is the function of the program's own in which it waits, Place its line.
	Caller string `json:"caller,omitempty"`
	Place  string `json:"place,omitempty"`
	// IO is "socket read" of a thread of a JVM or "HTTP request" of a goroutine, Untimed reports that it has no timeout.
	IO      string `json:"io,omitempty"`
	Untimed bool   `json:"without_timeout,omitempty"`
	// Recursive reports that it waits for this lock itself, in At, and may have taken it in
	// Inside. Why is the reason for that.
	Recursive bool   `json:"recursive,omitempty"`
	Why       string `json:"why,omitempty"`
	// Once reports that the lock is that of a sync.Once whose function it runs, Inside.
	Once bool `json:"once,omitempty"`
	// Only reports that nobody else is in the package of the object who may hold the lock, Behind
	// that it waits for a WaitGroup, and all goroutines that it started wait for this lock.
	Only   bool `json:"only,omitempty"`
	Behind bool `json:"behind,omitempty"`
	// Children are goroutines that it may have started.
	Children []LockSite `json:"children,omitempty"`
	Text     string     `json:"text"`
}

// LockCycle is a deadlock: the holder of each lock waits for the next one.
type LockCycle struct {
	Certainty wait.Certainty `json:"certainty"`
	Locks     []string       `json:"locks"`
	// Steps are who holds which lock and waits for the next.
	Steps []string `json:"steps,omitempty"`
	Text  string   `json:"text"`
	// Since indexes the first capture in which it stands, After the last one before that in which it
	// does not, nil where all that show its threads have it. Both are nil of a single dump.
	Since *int `json:"since_snapshot,omitempty"`
	After *int `json:"after_snapshot,omitempty"`
	// Stacks are those of the holders, as far as the dump shows them.
	Stacks []MemberStack `json:"stacks,omitempty"`
}

// MemberStack is the stack of one goroutine or thread.
type MemberStack struct {
	// Who is "“Deadlock-1”" or "goroutine 17".
	Who   string       `json:"who"`
	Stack []StackFrame `json:"stack"`
}

// LocksAt returns the locks of snapshot i, nil if none is worth a word.
func (j *JudgedSeries) LocksAt(i int) *Locks {
	g := wait.Of(j.Snapshots[i])
	if g == nil {
		return nil
	}
	g.Lasting(j.waitsBefore(i))
	since := j.cyclesSince(i, g)
	stand := j.nameHolders(j.Snapshots[i], g)
	listed := worth(g)
	ids := make([]string, len(g.Locks))
	out := &Locks{Snapshot: j.Snapshots[i].ID, Label: j.Snapshots[i].Label, Kind: g.Kind, More: g.More, MoreWaiters: g.MoreWaiters, Unknown: g.Unknown}
	for k := range g.Locks {
		if listed[k] {
			ids[k] = fmt.Sprintf("lock %d", len(out.List)+1)
			out.List = append(out.List, Lock{})
		} else {
			out.More, out.MoreWaiters = out.More+1, out.MoreWaiters+g.Locks[k].Waiters
		}
	}
	if len(out.List) == 0 {
		return nil
	}
	next := 0
	for k := range g.Locks {
		if listed[k] {
			out.List[next] = lockOf(g, k, ids, stand)
			next++
		}
	}
	for k, cycle := range g.Cycles {
		c := cycleOf(g, cycle, ids)
		c.Since, c.After = since[k].since, since[k].after
		if len(out.Cycles) < mostCyclesShown {
			c.Stacks = j.cycleStacks(j.Snapshots[i], g, cycle)
		}
		out.Cycles = append(out.Cycles, c)
	}
	return out
}

// waitsBefore are who waited for whom in the dumps of the same process start before snapshot i, the
// last first. Dumps without ids of goroutines, such as listings between them, are left out.
func (j *JudgedSeries) waitsBefore(i int) iter.Seq[*wait.Graph] {
	return func(yield func(*wait.Graph) bool) {
		for k := i - 1; k >= 0 && j.Trend.Epochs[k] == j.Trend.Epochs[i]; k-- {
			if s := j.Snapshots[k]; s.Totals.Goroutines != nil && !yield(wait.Of(s)) {
				return
			}
		}
	}
}

// worth chooses the locks that matter: several wait, or one for a minute or while its holder waits for I/O or is
// stuck, or it is part of a deadlock or of a chain behind one of these.
func worth(g *wait.Graph) []bool {
	listed := make([]bool, len(g.Locks))
	var list func(int)
	list = func(k int) {
		if listed[k] {
			return
		}
		listed[k] = true
		for _, h := range g.Locks[k].Holders {
			if h.Lock >= 0 {
				list(h.Lock)
			}
		}
	}
	for k := range g.Locks {
		n := &g.Locks[k]
		stuck := slices.ContainsFunc(n.Holders, func(h wait.Holding) bool {
			return h.Once || h.Only || h.Behind || h.For == wait.ForIO && h.Certainty == wait.Proven
		})
		if n.Waiters >= 2 || n.Oldest >= 1 || stuck {
			list(k)
		}
	}
	for _, cycle := range g.Cycles {
		list(cycle[0])
	}
	return listed
}

func lockOf(g *wait.Graph, k int, ids []string, stand map[*wait.Holding]standing) Lock {
	n := &g.Locks[k]
	l := Lock{ID: ids[k], Class: n.Class, Waiters: n.Waiters, Oldest: n.Oldest, In: []LockSite{}, Waiting: n.Waiting}
	for _, e := range n.Entries {
		l.In = append(l.In, LockSite{Function: e.Func, Count: e.Count})
	}
	for i := range n.Holders {
		h := &n.Holders[i]
		at := stand[h]
		x := LockHolder{IO: at.io, Untimed: at.untimed, Certainty: h.Certainty, ID: h.ID, Name: h.Name, At: h.At, Inside: h.Inside, State: h.State, Wait: h.Wait, WaitsFor: h.For, Recursive: h.Recursive, Once: h.Once, Only: h.Only, Behind: h.Behind}
		if at.frame != nil {
			x.Caller, x.Place = at.frame.Function, at.frame.place()
		}
		if h.Recursive {
			x.Why = recursiveWhy(h)
		}
		if h.Lock >= 0 {
			x.Lock = ids[h.Lock]
		}
		for _, c := range h.Children {
			x.Children = append(x.Children, LockSite{Function: c.At, Count: c.Count, State: c.State})
		}
		x.Text = x.words(g.Kind)
		l.Holders = append(l.Holders, x)
	}
	switch {
	case len(l.Holders) > 0:
	case n.Crowd:
		l.Open = fmt.Sprintf("more than %d goroutines are inside the object that it guards", wait.MostHolders)
	case g.Kind == analysis.KindThread:
		l.Open = "no thread of the dump prints that it holds it"
	case n.Nameless:
		l.Open = "those who wait are in plain functions, which name no object"
	default:
		l.Open = "a Go dump does not print it, and no goroutine as old as they are is seen inside the object"
	}
	l.Text = l.words(g.Kind)
	return l
}

// words is a lock in one or two sentences.
//
//	29 goroutines wait for lock 1, the longest 4 min: 24 in metrics.(*Namespace).WithConstLabels. Likely holder: goroutine 13927 in ….
func (l *Lock) words(kind analysis.Kind) string {
	text := fmt.Sprintf("%s for %s", wording.Plural(l.Waiters, string(kind)+" waits", wording.Kinds(kind)+" wait"), l.named())
	switch {
	case l.Oldest > 0 && l.Waiters > 1:
		text += ", the longest " + wording.Wait(l.Oldest)
	case l.Oldest > 0:
		text += ", for " + wording.Wait(l.Oldest)
	}
	var in []string
	for _, s := range l.In {
		if s.Function != "" {
			in = append(in, fmt.Sprintf("%d in %s", s.Count, ShortFunction(kind, s.Function)))
		}
	}
	switch {
	case len(in) == 1 && l.Waiters == l.In[0].Count:
		text += ", in " + ShortFunction(kind, l.In[0].Function)
	case len(in) > 0:
		text += ": " + wording.List(in, 3)
	}
	text += "."
	for i := range l.Holders {
		text += " " + wording.Capital(l.Holders[i].Text) + "."
	}
	if l.Open != "" {
		text += " Who holds it is open: " + l.Open + "."
	}
	return text
}

// holding is a lock with its holders and without where those who wait are, "" without a holder.
func (l *Lock) holding(kind analysis.Kind) string {
	if len(l.Holders) == 0 {
		return ""
	}
	return (&Lock{ID: l.ID, Class: l.Class, Waiters: l.Waiters, Oldest: l.Oldest, Holders: l.Holders}).words(kind)
}

// named is a lock with its class: "lock 1 (java.lang.Object)".
func (l *Lock) named() string {
	if l.Class != "" {
		return l.ID + " (" + l.Class + ")"
	}
	return l.ID
}

// awaited words a wait for the lock with its first holder.
func (l *Lock) awaited(kind analysis.Kind) string {
	text := "waits for " + l.named()
	if len(l.Holders) > 0 {
		text += ", " + l.Holders[0].words(kind)
	}
	return text
}

// holds words that a holder has the lock, and who waits for it.
//
//	"likely holds lock 1, for which 29 goroutines wait"
func (h *LockHolder) holds(l *Lock, kind analysis.Kind) string {
	text := "holds "
	if h.Certainty != wait.Proven {
		text = string(h.Certainty) + " holds "
	}
	return text + l.named() + ", for which " + wording.Plural(l.Waiters, string(kind)+" waits", wording.Kinds(kind)+" wait")
}

// words is a holder without the full stop.
//
//	likely holder: goroutine 13927 in v1.(*Collector).Collect, which waits 4 min for goroutines that it started: 8 in ttrpc.(*Client).dispatch
func (h *LockHolder) words(kind analysis.Kind) string {
	text := "its holder: "
	if h.Certainty != wait.Proven {
		text = string(h.Certainty) + " holder: "
	}
	text += h.Who(kind)
	if h.At != "" {
		text += " in " + ShortFunction(kind, h.At)
	}
	if h.Inside != "" && h.Inside != h.At {
		text += ", called by " + ShortFunction(kind, h.Inside)
	}
	if what := h.awaited(); what != "" {
		text += ", which " + what
	}
	if h.Why != "" {
		text += ": " + h.Why
	}
	return text
}

// role is "likely holder of the lock".
func (h *LockHolder) role() string {
	if h.Certainty != wait.Proven {
		return string(h.Certainty) + " holder of the lock"
	}
	return "holder of the lock"
}

// Who is a holder in words: "goroutine 7".
func (h *LockHolder) Who(kind analysis.Kind) string {
	if kind == analysis.KindThread {
		return fmt.Sprintf("thread %q", h.Name)
	}
	return fmt.Sprintf("goroutine %d", h.ID)
}

// awaited is what a holder does, "" if that is unknown.
func (h *LockHolder) awaited() string {
	waits := "waits"
	if h.Wait > 0 {
		waits += " " + wording.Wait(h.Wait)
	}
	switch h.WaitsFor {
	case wait.ForLock:
		if h.Recursive {
			return waits + " for this lock itself"
		}
		if h.Lock != "" {
			return waits + " for " + h.Lock
		}
		return waits + " for another lock"
	case wait.ForWaitGroup:
		var children []string
		for _, c := range h.Children {
			children = append(children, fmt.Sprintf("%d in %s", c.Count, shortRole(c.Function)))
		}
		if len(children) == 0 {
			return waits + " for a WaitGroup"
		}
		text := waits + " for goroutines that it may have started: " + wording.List(children, 2)
		if h.Behind {
			text += ", and all of them wait for this lock"
		}
		return text
	case wait.ForCondition:
		return waits + " for a condition"
	case wait.ForChannel:
		return waits + " at a channel"
	case wait.ForIO:
		return waits + " for " + h.ioWords()
	case wait.ForSyscall:
		return waits + " in a system call"
	case wait.ForTimer:
		return "sleeps"
	case wait.Running:
		return "runs"
	}
	switch h.State {
	case "":
		return ""
	case "WAITING", "TIMED_WAITING":
		return waits
	}
	return "is " + h.State
}

func cycleOf(g *wait.Graph, cycle []int, ids []string) LockCycle {
	c := LockCycle{Certainty: g.Sure(cycle)}
	for k, i := range cycle {
		c.Locks = append(c.Locks, ids[i])
		next := cycle[(k+1)%len(cycle)]
		at := slices.IndexFunc(g.Locks[i].Holders, func(h wait.Holding) bool { return h.Lock == next })
		h := LockHolder{ID: g.Locks[i].Holders[at].ID, Name: g.Locks[i].Holders[at].Name}
		verb := "holds"
		if c.Certainty != wait.Proven {
			verb = "may hold"
		}
		c.Steps = append(c.Steps, fmt.Sprintf("%s %s %s and waits for %s", h.Who(g.Kind), verb, ids[i], ids[next]))
	}
	line := c.line()
	c.Text = line.Head + ": " + strings.Join(c.Steps, "; ") + "."
	return c
}

// line is the deadlock as an entry of a list.
func (c *LockCycle) line() LockLine {
	head := "Deadlock"
	if c.Certainty != wait.Proven {
		head = "Possible deadlock"
	}
	return LockLine{Head: head, Text: wording.Capital(strings.Join(c.Steps, "; ") + ".")}
}

// ShortFunction leaves out the import path of a Go function and the package of a Java class.
//
//	"example.org/metrics.(*Space).Add" = "metrics.(*Space).Add", "com.example.Pool.take" = "Pool.take"
func ShortFunction(kind analysis.Kind, name string) string {
	if kind != analysis.KindThread {
		return shortRole(name)
	}
	parts := strings.Split(name, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".")
}

// deadlocked reports whether a lock is part of a deadlock that Lines names.
func (l *Locks) deadlocked(id string) bool {
	return slices.ContainsFunc(l.Cycles[:min(len(l.Cycles), mostLocksSaid)], func(c LockCycle) bool { return slices.Contains(c.Locks, id) })
}

// mostLocksSaid is how many locks a text lists.
const mostLocksSaid = 5

// LockLine is a deadlock or a lock in words. Head is its name.
type LockLine struct {
	Head, Text string
	// short is Text without where those who wait are, "" where it does not differ.
	short string
}

// Lines are the deadlocks and the locks with most waiters.
func (l *Locks) Lines() []LockLine {
	var out []LockLine
	for _, c := range l.Cycles[:min(len(l.Cycles), mostLocksSaid)] {
		out = append(out, c.line())
	}
	more, waiters, said := l.More, l.MoreWaiters, 0
	alone, grouped := l.alone(), map[string]bool{}
	for i := range l.List {
		lock := &l.List[i]
		in := lock.soleIn()
		switch {
		case lock.Waiters == 1 && l.deadlocked(lock.ID) || grouped[in]:
		case said == mostLocksSaid:
			more, waiters = more+1, waiters+lock.Waiters
		case alone[in] >= fewestAlone:
			out, said = append(out, l.each(in, alone[in], lock.Oldest)), said+1
			grouped[in] = true
		default:
			out, said = append(out, LockLine{wording.Capital(lock.ID), lock.Text, lock.holding(l.Kind)}), said+1
		}
	}
	if waiters += l.Unknown; waiters > 0 {
		others := "other locks"
		if l.Unknown == 0 {
			others = wording.Plural(more, "other lock", "other locks")
		}
		out = append(out, LockLine{Head: "Others", Text: l.wait(waiters) + " for " + others + "."})
	}
	return out
}

// fewestAlone is how many locks with one waiter each in one function are said together.
const fewestAlone = 3

// alone counts the locks with one waiter and no holder by function.
func (l *Locks) alone() map[string]int {
	out := map[string]int{}
	for i := range l.List {
		if in := l.List[i].soleIn(); in != "" {
			out[in]++
		}
	}
	return out
}

// soleIn is the function of the only waiter of a lock that nobody is seen to hold, or "".
func (l *Lock) soleIn() string {
	if l.Waiters != 1 || len(l.Holders) > 0 || len(l.In) == 0 {
		return ""
	}
	return l.In[0].Function
}

// each words locks that have one waiter each in one function, which is no queue.
func (l *Locks) each(in string, n, oldest int) LockLine {
	text := l.wait(n) + " for a lock each in " + ShortFunction(l.Kind, in)
	if oldest > 0 {
		text += ", the longest " + wording.Wait(oldest)
	}
	return LockLine{Head: wording.Plural(n, "lock", "locks"), Text: text + ": as many objects, no queue."}
}

// wait is "3 goroutines wait".
func (l *Locks) wait(n int) string {
	return wording.Plural(n, string(l.Kind)+" waits", wording.Kinds(l.Kind)+" wait")
}

// Sentence is a line that stands without its head.
func (l LockLine) Sentence() string {
	if strings.HasSuffix(strings.ToLower(l.Head), "deadlock") {
		return l.Head + ": " + wording.Lower(l.Text)
	}
	return l.Text
}

// LockCertainty is how sure the holder of a lock is.
type LockCertainty = wait.Certainty

// Proven is the certainty of a holder that the dump prints.
const Proven = wait.Proven
