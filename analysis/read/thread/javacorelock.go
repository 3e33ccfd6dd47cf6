package thread

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// blocked reads what a thread waits for. Whoever waits to be notified is not held up by the
// owner.
//
//	Blocked on: java/lang/String@0x00007F6B68CFB210 Owned by: "owner" (J9VMThread:0x01, java/lang/Thread:0x02)
//	Parked on: java/util/concurrent/locks/ReentrantLock$NonfairSync@0x01 Owned by: <unknown>
func (p *javacoreParser) blocked(s string) {
	how, rest, _ := strings.Cut(s, " on: ")
	object, owner, _ := strings.Cut(rest, " Owned by: ")
	l := javacoreObject(object)
	switch how {
	case "Blocked":
		l.How, l.Owner = "waiting to lock", ownerName(owner)
	case "Waiting":
		l.How = "waiting on"
	case "Parked":
		l.How, l.Owner = "parking to wait for", ownerName(owner)
	}
	if l.How != "" && l.Class != "" {
		p.thread.Locks = append(p.thread.Locks, l)
	}
}

// javacoreObject reads an object; old releases print two addresses.
//
//	java/lang/String@0x00007F6B68CFB210:
//	java.lang.ref.Reference$Lock@2940598/29405A0
func javacoreObject(s string) analysis.Lock {
	class, hash, ok := strings.Cut(strings.TrimRight(strings.TrimSpace(s), ":"), "@")
	if !ok {
		return analysis.Lock{}
	}
	hash, _, _ = strings.Cut(hash, "/")
	return analysis.Lock{Class: text(javaClass(class)), Object: text(hash)}
}

// entered reads a lock that the frame above holds.
//
//	(entered lock: java/lang/String@0x00007F6B68CFB210, entry count: 1)
func (p *javacoreParser) entered(s string) {
	t := &p.thread
	s, ok := strings.CutPrefix(s, "(entered lock: ")
	object, _, _ := strings.Cut(s, ",")
	l := javacoreObject(object)
	if !ok || l.Class == "" || len(t.Locks) >= maxLocks {
		return
	}
	l.How, l.Frame = "locked", max(len(t.frames)-1, 0)
	t.Locks = append(t.Locks, l)
}

// lock adds what the section of locks says, unless the thread's own lines said it.
func (t *javacoreThread) lock(more analysis.Lock) {
	for _, l := range t.Locks {
		if l.Object == more.Object && (l.How == "locked") == (more.How == "locked") {
			return
		}
	}
	if len(t.Locks) < maxLocks {
		t.Locks = append(t.Locks, more)
	}
}

var (
	lockThread = expression.Lazy(`"(.*)" \((?:J9VMThread:)?0x([0-9A-Fa-f]+)`)
	flatIdent  = expression.Lazy(`ident 0x([0-9A-Fa-f]+)`)
)

// lock reads a line of the section of locks.
//
//	3LKMONOBJECT       java/lang/String@0x00007F6B68CFB210: Flat locked by "a" (0x00007F6B14007400), entry count 1
//	3LKWAITER                "b" (J9VMThread:0x00007F6B1400EA00)
//	2LKFLATMON         ident 0x2E "a" (0x10DD9048) ee 0x10DD8E70
func (p *javacoreParser) lock(tag, rest string) {
	switch tag {
	case "2LKMONINUSE", "2LKREGMON":
		p.monitor = nil
	case "3LKMONOBJECT":
		object, owner, _ := strings.Cut(rest, ": ")
		l := javacoreObject(object)
		p.monitor = &l
		if m := lockThread.FindStringSubmatch(owner); m != nil {
			p.holds(javacoreAddress(m[2]), "locked")
		} else if m := flatIdent.FindStringSubmatch(owner); m != nil {
			p.holds("ident "+javacoreAddress(m[1]), "locked")
		}
	case "3LKWAITER", "3LKWAITNOTIFY":
		if m := lockThread.FindStringSubmatch(rest); m != nil {
			how := "waiting to lock"
			if tag == "3LKWAITNOTIFY" {
				how = "waiting on"
			}
			p.holds(javacoreAddress(m[2]), how)
		}
	case "2LKFLATMON":
		p.head.identifiers++
		ident, thread := flatIdent.FindStringSubmatch(rest), lockThread.FindStringSubmatch(rest)
		if ident != nil && thread != nil {
			key, address := "ident "+javacoreAddress(ident[1]), javacoreAddress(thread[2])
			p.monitors[address] = append(p.monitors[address], p.monitors[key]...)
			delete(p.monitors, key)
		}
	default:
		p.deadlock(tag, rest)
	}
}

// holds notes the monitor being read for a thread.
func (p *javacoreParser) holds(thread, how string) {
	if p.monitor == nil || p.monitor.Class == "" || p.locks >= maxOwners {
		return
	}
	p.locks++
	l := *p.monitor
	l.How, l.Frame = how, -1
	p.monitors[thread] = append(p.monitors[thread], l)
}

// deadlock reads a cycle. Its last line repeats its first thread.
//
//	2LKDEADLOCKTHR  Thread "a" (0x000000000FAA6000)
//	3LKDEADLOCKWTR    is waiting for:
//	4LKDEADLOCKOBJ      java/lang/String@0x00000000E0A1
//	3LKDEADLOCKOWN    which is owned by:
func (p *javacoreParser) deadlock(tag, rest string) {
	d := p.dump
	if tag == "1LKDEADLOCK" {
		p.link = ""
		if len(d.Deadlocks) < maxDeadlocks {
			d.Deadlocks = append(d.Deadlocks, Deadlock{})
		}
	}
	if len(d.Deadlocks) == 0 {
		return
	}
	cycle := &d.Deadlocks[len(d.Deadlocks)-1].Threads
	switch tag {
	case "2LKDEADLOCKTHR":
		p.link = ownerName(rest)
		if n := len(*cycle); n > 0 {
			(*cycle)[n-1].HeldBy = p.link
		}
	case "3LKDEADLOCKWTR":
		if len(*cycle) < maxLinks {
			*cycle = append(*cycle, DeadlockLink{Name: p.link})
		}
	case "4LKDEADLOCKOBJ":
		if n := len(*cycle); n > 0 {
			l := javacoreObject(rest)
			(*cycle)[n-1].Waits = named(l.Class, l.Object)
		}
	}
}
