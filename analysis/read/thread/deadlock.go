package thread

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// beginDeadlock opens the section of a deadlock. jstack -F prints it above the
// threads, all others below.
func (p *textParser) beginDeadlock(l line.Line) error {
	p.giveUp()
	if err := p.deliver(); err != nil {
		return err
	}
	p.open = false
	if p.dump == nil {
		p.beginDump(l)
		p.dump.Form = FormJstackF
	}
	p.state.ended = p.state.ended || p.dump.Threads > 0
	p.section = deadlockLinks
	if len(p.dump.Deadlocks) < maxDeadlocks {
		p.dump.Deadlocks = append(p.dump.Deadlocks, Deadlock{})
	}
	return nil
}

// deadlockLine reads a line of a deadlock's section, whose stacks repeat threads
// that were printed before.
//
//	"Deadlock-monitor-1":
//	  waiting to lock monitor 0x00007fc77004f8f0 (object 0x00000000f8000280, a java.lang.Object),
//	  which is held by "Deadlock-monitor-2"
func (p *textParser) deadlockLine(l line.Line, s string) (bool, error) {
	switch {
	case strings.HasPrefix(s, "Found one Java-level"):
		return true, p.beginDeadlock(l)
	case strings.HasPrefix(s, "Found ") && strings.Contains(s, "deadlock"):
		p.held = ""
		p.section = after
		if p.dump.Threads == 0 {
			p.section = threads
		}
		return true, nil
	case strings.HasPrefix(s, "Java stack information for the threads listed above"):
		p.held = ""
		p.section = deadlockStacks
		if p.dump.Threads == 0 {
			p.section = deadlockAlone
		}
		return true, nil
	}
	if mayBegin(s) && !strings.HasSuffix(s, ":") {
		if h, ok := parseHeader(s); ok {
			p.held = ""
			return true, p.beginThread(l, l, &h)
		}
	}
	if p.section == deadlockLinks {
		p.link(l, s)
	}
	return true, nil
}

// beginDeadlocked begins a thread of a deadlock's section whose dump is missing.
func (p *textParser) beginDeadlocked(l line.Line, name string) error {
	h := newHeader(FormHotSpot)
	h.thread.Name = text(name)
	p.deadlocked = append(p.deadlocked, h.thread.Name)
	err := p.beginThread(l, l, &h)
	p.section = deadlockAlone
	return err
}

// threadsOfDeadlocks makes the threads that the deadlocks of a dump without any other name, and that
// have no stack there.
func (p *textParser) threadsOfDeadlocks() error {
	for _, d := range p.dump.Deadlocks {
		for _, link := range d.Threads {
			if slices.Contains(p.deadlocked, link.Name) {
				continue
			}
			p.section = deadlockAlone
			if err := p.beginDeadlocked(line.Line{Number: p.dump.Line, Offset: p.dump.Offset}, link.Name); err != nil {
				return err
			}
			class, object := link.Waits, ""
			if open := strings.LastIndex(link.Waits, " ("); open >= 0 {
				class, object = link.Waits[:open], strings.TrimSuffix(link.Waits[open+2:], ")")
			}
			p.h.thread.State = "BLOCKED"
			p.addLock(analysis.Lock{How: "waiting to lock", Object: object, Class: class, Frame: -1, Owner: link.HeldBy})
		}
	}
	return p.deliver()
}

// closed are the threads of a deadlock that wait for each other. The JVM prints those too that wait
// for one of them.
func closed(links []DeadlockLink) []DeadlockLink {
	at := len(links) - 1
	var ring []int
	for at >= 0 && !slices.Contains(ring, at) {
		ring = append(ring, at)
		at = slices.IndexFunc(links, func(l DeadlockLink) bool { return l.Name == links[ring[len(ring)-1]].HeldBy })
	}
	if at < 0 {
		return links // a name was not understood
	}
	ring = ring[slices.Index(ring, at):]
	var out []DeadlockLink
	for i := range links {
		if slices.Contains(ring, i) {
			out = append(out, links[i])
		}
	}
	return out
}

// link reads a line that describes one thread of the cycle. Names may hold line
// feeds.
func (p *textParser) link(l line.Line, s string) {
	cycle := &p.dump.Deadlocks[len(p.dump.Deadlocks)-1].Threads
	s = withoutAddress(s)
	if p.held != "" {
		p.hold(s)
		s = p.held
	}
	const heldBy = "which is held by "
	switch {
	case strings.HasPrefix(s, `"`):
		name, whole := strings.CutSuffix(s[1:], `":`)
		if !whole {
			p.held, p.heldAt = s, l
			return
		}
		if len(*cycle) < maxLinks {
			*cycle = append(*cycle, DeadlockLink{Name: text(name)})
		}
	case len(*cycle) == 0:
	case strings.Contains(s, heldBy):
		_, holder, _ := strings.Cut(s, heldBy)
		if strings.HasPrefix(holder, `"`) && (len(holder) < 2 || !strings.HasSuffix(holder, `"`)) {
			p.held, p.heldAt = s, l
			return
		}
		if holder[:min(len(holder), 1)] == `"` {
			holder = holder[1 : len(holder)-1]
		}
		(*cycle)[len(*cycle)-1].HeldBy = text(holder)
	case strings.HasPrefix(s, "waiting "):
		(*cycle)[len(*cycle)-1].Waits = waited(s)
	}
	p.held, p.heldLines = "", 0
}

// threadAddress is what SAP's virtual machine prints after the name of a thread.
var threadAddress = expression.Lazy(` ?\(tid=0x[0-9a-f]+\)(:?)$`)

// withoutAddress takes the address of the thread off a line of a deadlock.
//
//	`"A" (tid=0x8000000100bc26b8):` -> `"A":`
func withoutAddress(s string) string {
	if !strings.Contains(s, "(tid=") {
		return s
	}
	return threadAddress.ReplaceAllString(s, "$1")
}

// waited reads what a thread of a deadlock waits for.
//
//	waiting to lock monitor 0x00007fc77004f8f0 (object 0x00000000f8000280, a java.lang.Object),
//	waiting for ownable synchronizer 0x00000000f8001590, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),
//	waiting to lock Monitor@0x00007f (Object@0x00007e, a java/lang/String),
func waited(s string) string {
	class, object := "", ""
	if i := max(strings.LastIndex(s, ", a "), strings.LastIndex(s, " (a ")); i >= 0 {
		class, _, _ = strings.Cut(s[i+len(", a "):], ")")
		class = strings.ReplaceAll(class, "/", ".")
	}
	for _, before := range [...]string{"object ", "Object@", "synchronizer ", "monitor ", "Monitor@"} {
		_, rest, ok := strings.Cut(s, before)
		if ok && strings.HasPrefix(rest, "0x") {
			object = rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789abcdefx"))]
			break
		}
	}
	return named(text(class), text(object))
}

// named joins a class and an object for people.
func named(class, object string) string {
	switch {
	case class == "":
		return object
	case object == "":
		return class
	}
	return class + " (" + object + ")"
}

// lockOwners remembers which thread waits for which in one dump, to find the cycles
// that the forms of MX beans do not name. It is bounded; a cycle beyond the bound is
// not found.
type lockOwners struct {
	threads int
	// waits are the waiting threads in the order of the dump; holders has the number
	// in the dump of the thread that holds an object.
	waits   []waiting
	holders map[string]int
}

type waiting struct {
	name, class, object string
	number              int
	// id and ownerID are those of the thread and of what it waits for, -1 unknown.
	id, ownerID int64
}

func (b *lockOwners) reset() { *b = lockOwners{} }

// add notes what a thread waits for and holds.
func (b *lockOwners) add(t *analysis.Thread, ownerID int64) {
	number := b.threads
	b.threads++
	if len(b.waits)+len(b.holders) > maxOwners || len(t.Locks) == 0 {
		return
	}
	waits := false
	for _, l := range t.Locks {
		switch l.How {
		case "locked", "owns":
			if key := objectKey(l.Object); key != "" {
				if b.holders == nil {
					b.holders = map[string]int{}
				}
				b.holders[key] = number
			}
		case "waiting to lock", "parking to wait for", "waiting on":
			if waits || l.How == "waiting on" && l.Owner == "" && ownerID < 0 {
				continue
			}
			waits = true
			b.waits = append(b.waits, waiting{name: t.Name, class: l.Class, object: l.Object, number: number, id: t.ID, ownerID: ownerID})
		}
	}
}

// byID has the places in waits by the ids of threads.
func (b *lockOwners) byID() map[int64]int {
	out := map[int64]int{}
	for at, w := range b.waits {
		if w.id >= 0 {
			out[w.id] = at
		}
	}
	return out
}

// next is which of the waiting threads holds what one of them waits for.
func (b *lockOwners) next(at int, byID map[int64]int) (int, bool) {
	w := &b.waits[at]
	if w.ownerID >= 0 {
		next, ok := byID[w.ownerID]
		return next, ok
	}
	holder, ok := b.holders[objectKey(w.object)]
	if !ok || holder == w.number {
		return 0, false
	}
	return slices.BinarySearchFunc(b.waits, holder, func(w waiting, number int) int { return w.number - number })
}

// cycles returns the cycles of waiting threads, in the order of the dump.
func (b *lockOwners) cycles() []Deadlock {
	var out []Deadlock
	var byID map[int64]int
	if slices.ContainsFunc(b.waits, func(w waiting) bool { return w.ownerID >= 0 }) {
		byID = b.byID()
	}
	next := func(at int) (int, bool) { return b.next(at, byID) }
	seen := make([]int, len(b.waits)) // the walk that came by, from 1
	for start := 0; start < len(b.waits) && len(out) < maxDeadlocks; start++ {
		if seen[start] != 0 {
			continue
		}
		at, ok := start, true
		for ok && seen[at] == 0 {
			seen[at] = start + 1
			at, ok = next(at)
		}
		if ok && seen[at] == start+1 {
			out = append(out, b.cycle(at, next))
		}
	}
	return out
}

func (b *lockOwners) cycle(start int, next func(int) (int, bool)) Deadlock {
	d := Deadlock{Derived: true}
	for at := start; ; {
		w := b.waits[at]
		holder, _ := next(at)
		if len(d.Threads) < maxLinks {
			d.Threads = append(d.Threads, DeadlockLink{Name: w.name, Waits: named(w.class, w.object), HeldBy: b.waits[holder].name})
		}
		if at = holder; at == start {
			return d
		}
	}
}
