package ingest

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
)

// Bounds of what a snapshot keeps of the locks for which threads wait.
const (
	mostLocks     = 100
	mostWaiting   = 3
	mostLockSites = 5
	mostLockName  = 100
	// mostLockStacks bounds the threads of a dump among which a holder is looked for that none prints.
	mostLockStacks = 4000
)

// lockWaits are the locks for which threads of one dump wait, and who holds them. It is
// bounded by mostMonitors.
type lockWaits struct {
	threads int
	byKey   map[string]*lockWait
	// order has the locks in the order of their first waiters.
	order []*lockWait
	holds map[string]lockHolder
	// blocked are the waiting threads by their number in the dump, named by their name.
	blocked map[int]lockHolder
	named   map[string]int
	// byID are all threads while an owner may be known by its id alone. stacks are those of a dump, where
	// those that wait for a lock print no holder.
	byID   map[int64]lockThread
	stacks []lockThread
}

// lockThread is a thread that may hold a lock.
type lockThread struct {
	number      int
	id          int64
	name, state string
	stack       *analysis.Stack
}

// lockWait is one lock. A park is sure to wait for a lock only if its class is one, or if a
// thread owns it: idle threads park as well.
type lockWait struct {
	analysis.Monitor
	key  string
	sure bool
	// lines are the first ones of its sites at which a thread waits.
	lines []int
	// owner and ownerID are as printed with the waiter.
	owner   string
	ownerID int64
}

// lockHolder is a thread that holds a lock or waits for the one of key.
type lockHolder struct {
	number int
	key    string
	thread analysis.MonitorHolder
}

// lockKey is an object as printed in any place of a dump.
//
//	"0x00000000f8000280", "0xf8000280" = "f8000280"
func lockKey(object string) string { return strings.TrimLeft(strings.TrimPrefix(object, "0x"), "0") }

// releases reports whether a thread is inside Object.wait() of an object, which its frames
// below then name as locked.
func releases(t *analysis.Thread, object string) bool {
	return slices.ContainsFunc(t.Locks, func(l analysis.Lock) bool {
		return (l.How == "waiting on" || l.How == "waiting to lock") && l.Object == object
	})
}

func (w *lockWaits) add(t *analysis.Thread) {
	number := w.threads
	w.threads++
	seen := lockThread{number, t.ID, clip(t.Name, mostLockName), t.State, t.Stack}
	if t.ID > 0 && t.Address == 0 && len(w.byID) < mostMonitors { // forms with addresses print who owns
		if w.byID == nil {
			w.byID = map[int64]lockThread{}
		}
		w.byID[t.ID] = seen
	}
	if t.Stack != nil && len(w.stacks) < mostLockStacks {
		w.stacks = append(w.stacks, seen)
	}
	if len(t.Locks) == 0 || len(w.order)+len(w.holds)+len(w.blocked) >= mostMonitors {
		return
	}
	if w.byKey == nil {
		w.byKey, w.holds = map[string]*lockWait{}, map[string]lockHolder{}
		w.blocked, w.named = map[int]lockHolder{}, map[string]int{}
	}
	frame := ownFrame(t.Stack)
	at := withoutHidden(frame.Func)
	who := lockHolder{number: number, thread: analysis.MonitorHolder{Name: clip(t.Name, mostLockName), ID: t.ID, State: t.State, At: at}}
	for _, l := range t.Locks {
		key := lockKey(l.Object)
		if key == "" {
			continue
		}
		switch l.How {
		case "locked", "owns":
			if !releases(t, l.Object) {
				w.holds[key] = who
			}
		case "waiting to lock", "parking to wait for", "waiting on":
			monitor := l.How == "waiting to lock"
			if who.key != "" || !monitor && l.Owner == "" && l.OwnerID == 0 && (l.How == "waiting on" || strings.HasSuffix(l.Class, "ConditionObject")) {
				continue
			}
			who.key = key
			w.wait(key, l, monitor, frame, t.Name)
		}
	}
	if who.key != "" {
		w.blocked[number], w.named[t.Name] = who, number
	}
}

func (w *lockWaits) wait(key string, l analysis.Lock, monitor bool, frame analysis.Frame, name string) {
	at := withoutHidden(frame.Func)
	lock := w.byKey[key]
	if lock == nil {
		lock = &lockWait{key: key}
		lock.Class = l.Class
		w.byKey[key], w.order = lock, append(w.order, lock)
	}
	lock.sure = lock.sure || monitor || l.Owner != "" || l.OwnerID != 0 || strings.Contains(l.Class, "Lock$")
	lock.owner, lock.ownerID = cmp.Or(lock.owner, l.Owner), cmp.Or(lock.ownerID, l.OwnerID)
	lock.Waiters++
	if len(lock.Waiting) < mostWaiting {
		lock.Waiting = append(lock.Waiting, clip(name, mostLockName))
	}
	site := slices.IndexFunc(lock.At, func(s analysis.MonitorSite) bool { return s.Func == at })
	switch {
	case site >= 0:
		lock.At[site].Count++
		lock.lines[site] = min(lock.lines[site], frame.Line)
	case at != "" && len(lock.At) < mostLockSites:
		lock.At = append(lock.At, analysis.MonitorSite{Func: at, Count: 1})
		lock.lines = append(lock.lines, frame.Line)
	}
}

// further are the threads on a later line of the method in which most wait for a lock that no dump prints
// the holder of: those of java.util.concurrent, of which jstack without -l prints who waits alone.
func (w *lockWaits) further(lock *lockWait) (out []lockThread) {
	if !strings.Contains(lock.Class, "Lock$") || len(lock.At) == 0 {
		return nil
	}
	most := 0
	for i, site := range lock.At {
		if site.Count > lock.At[most].Count {
			most = i
		}
	}
	function, line := lock.At[most].Func, lock.lines[most]
	for _, t := range w.stacks {
		if w.blocked[t.number].key == lock.key || line <= 0 {
			continue
		}
		if slices.ContainsFunc(t.stack.Frames, func(f analysis.Frame) bool { return f.Func == function && f.Line > line }) {
			out = append(out, t)
		}
	}
	if len(out) > analysis.MostFurther {
		return nil
	}
	return out
}

func (t *lockThread) holder() analysis.MonitorHolder {
	return analysis.MonitorHolder{Name: t.name, ID: t.id, State: t.state, At: withoutHidden(ownFrame(t.stack).Func)}
}

// ownFrame is the first frame outside the plumbing of locks, else the first one.
func ownFrame(s *analysis.Stack) analysis.Frame {
	if s == nil || len(s.Frames) == 0 {
		return analysis.Frame{}
	}
	for _, f := range s.Frames {
		if !strings.HasPrefix(f.Func, "java.util.concurrent.locks.") && !strings.HasPrefix(f.Func, "sun.misc.Unsafe.") &&
			!strings.HasPrefix(f.Func, "jdk.internal.misc.") && !strings.HasPrefix(f.Func, "java.lang.") && !strings.HasPrefix(f.Func, "java.util.concurrent.ForkJoinPool.") {
			return f
		}
	}
	return s.Frames[0]
}

// withoutHidden leaves out the address of a hidden class.
//
//	"a.Pool$$Lambda$33/0x00007f335c00ebf8.run" = "a.Pool$$Lambda$33.run"
func withoutHidden(function string) string {
	class, address, hidden := strings.Cut(function, "/0x")
	if !hidden {
		return function
	}
	return class + strings.TrimLeft(address, "0123456789abcdef")
}

// monitors are the locks with most waiters. The section of a deadlock names holders that no
// thread prints.
func (w *lockWaits) monitors(deadlocks []thread.Deadlock) *analysis.Monitors {
	for _, d := range deadlocks {
		for _, link := range d.Threads {
			if open := strings.LastIndexByte(link.Waits, '('); open >= 0 {
				if lock := w.byKey[lockKey(strings.TrimSuffix(link.Waits[open+1:], ")"))]; lock != nil {
					lock.owner = cmp.Or(lock.owner, link.HeldBy)
				}
			}
		}
	}
	holders := map[*lockWait]lockHolder{}
	var all []*lockWait
	for _, lock := range w.order {
		holder, held := w.holds[lock.key]
		if !held && lock.owner != "" {
			holder, held = lockHolder{number: -1, thread: analysis.MonitorHolder{Name: clip(lock.owner, mostLockName), ID: -1}}, true
			if number, known := w.named[lock.owner]; known {
				holder = w.blocked[number]
			}
		}
		if x, known := w.byID[lock.ownerID]; known && !held {
			holder, held = lockHolder{number: x.number, thread: x.holder()}, true
		}
		if held {
			holders[lock] = holder
		}
		if held || lock.sure {
			all = append(all, lock)
		}
	}
	if len(all) == 0 {
		return nil
	}
	waits := func(l *lockWait) int { // 1 if the holder waits itself
		if h, held := holders[l]; held && w.blocked[h.number].key != "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b *lockWait) int { return cmp.Or(b.Waiters-a.Waiters, waits(b)-waits(a)) })
	out := &analysis.Monitors{}
	for _, lock := range all[min(len(all), mostLocks):] {
		out.More, out.MoreWaiters = out.More+1, out.MoreWaiters+lock.Waiters
	}
	all = all[:min(len(all), mostLocks)]
	place := map[string]int{}
	for i, lock := range all {
		place[lock.key] = i + 1
	}
	for _, lock := range all {
		if holder, held := holders[lock]; held {
			h := holder.thread
			h.Waits = place[w.blocked[holder.number].key]
			lock.Holder = &h
		} else {
			for _, t := range w.further(lock) {
				h := t.holder()
				h.Waits = place[w.blocked[t.number].key]
				lock.Further = append(lock.Further, h)
			}
		}
		out.List = append(out.List, lock.Monitor)
	}
	return out
}
