package simulation

import (
	"bytes"
	"fmt"
	"slices"
)

// present are the members at a time in the order of their numbers.
func (w *world) present(at float64) []*member {
	var out []*member
	for k := range w.members {
		if m := &w.members[k]; m.there(at) {
			out = append(out, m)
		}
	}
	return out
}

// dump2 is what runtime.Stack and debug=2 print.
func (w *world) dump2(at float64) []byte {
	var b bytes.Buffer
	last := int64(30)
	all := w.present(at)
	for _, m := range all {
		last = max(last, m.id)
	}
	fmt.Fprintf(&b, "goroutine %d [running]:\nruntime/pprof.writeGoroutineStacks({0x789940, 0x41ee4b34000})\n\t/usr/local/go/src/runtime/pprof/pprof.go:764 +0x6b\n"+
		"runtime/pprof.writeGoroutine({0x789940?, 0x41ee4b34000?}, 0x41ee4af9748?)\n\t/usr/local/go/src/runtime/pprof/pprof.go:753 +0x25\n"+
		"net/http/pprof.handler.ServeHTTP({0x41ee4b3a191, 0x9}, {0x78bf78, 0x41ee4b34000}, 0x41ee4af2000)\n\t/usr/local/go/src/net/http/pprof/pprof.go:272 +0x52a\n"+
		"net/http.(*conn).serve(0x41ee4b5a120, {0x78c6c8, 0x41ee4aca2a0})\n\t/usr/local/go/src/net/http/server.go:2102 +0x690\n"+
		"created by net/http.(*Server).Serve in goroutine 18\n\t/usr/local/go/src/net/http/server.go:3464 +0x485\n", last+7)
	start, _ := w.startOf(at)
	w.blocked(&b, 1, "chan receive", at-start)
	fmt.Fprintf(&b, "main.main()\n\t/src/%s/main.go:88 +0x18c\n", w.program)
	for _, m := range all {
		waited := at - m.born
		if m.wakes {
			waited = min(waited, 0.01)
		}
		found := m.stackAt(at)
		w.blocked(&b, m.id, found.state, waited)
		found.write(&b, m.object)
	}
	return b.Bytes()
}

// blocked writes the header of a goroutine that has waited for so many hours.
func (w *world) blocked(b *bytes.Buffer, id int64, state string, waited float64) {
	fmt.Fprintf(b, "\ngoroutine %d [%s", id, state)
	if m := int(waited * 60); m > 0 {
		fmt.Fprintf(b, ", %d minutes", m)
	}
	b.WriteString("]:\n")
}

func (s *stack) write(b *bytes.Buffer, object uint64) {
	for k, f := range s.above {
		switch {
		case s.lock != 0 && f.function == "internal/sync.(*Mutex).lockSlow":
			fmt.Fprintf(b, "%s(%#x)\n", f.function, s.lock)
		case s.lock != 0 && k > 0:
			fmt.Fprintf(b, "%s(...)\n", f.function)
		default:
			fmt.Fprintf(b, "%s(%#x)\n", f.function, object+0x18)
		}
		fmt.Fprintf(b, "\t%s:%d +0x%x\n", f.file, f.line, 16+f.line%200)
	}
	fmt.Fprintf(b, "%s(%#x)\n\t%s:%d +0x%x\n", s.own.function, object, s.own.file, s.own.line, 16+s.own.line%200)
	for _, f := range s.below {
		fmt.Fprintf(b, "%s(%#x)\n\t%s:%d +0x%x\n", f.function, object, f.file, f.line, 16+f.line%200)
	}
	fmt.Fprintf(b, "created by %s in goroutine 1\n\t%s:%d +0x%x\n", s.creator.function, s.creator.file, s.creator.line, 16+s.creator.line%200)
}

// dump1 is what debug=1 prints: stacks with their numbers, the most frequent first.
func (w *world) dump1(at float64) []byte {
	counts := map[*stack]int{}
	var order []*stack
	all := w.present(at)
	for _, m := range all {
		found := m.stackAt(at)
		if counts[found] == 0 {
			order = append(order, found)
		}
		counts[found]++
	}
	slices.SortStableFunc(order, func(a, b *stack) int { return counts[b] - counts[a] })
	var b bytes.Buffer
	fmt.Fprintf(&b, "goroutine profile: total %d\n", len(all))
	for _, s := range order {
		frames := slices.Concat(s.above, []frame{s.own}, s.below)
		fmt.Fprintf(&b, "%d @", counts[s])
		for _, f := range frames {
			fmt.Fprintf(&b, " %#x", pc(f))
		}
		b.WriteByte('\n')
		for _, f := range frames {
			fmt.Fprintf(&b, "#\t%#x\t%s+0x%x\t%s:%d\n", pc(f), f.function, 16+f.line%200, f.file, f.line)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func pc(f frame) uint64 { return 0x400000 + hash(f.function)%0x3fffff + uint64(f.line) }

// threads is a thread dump of a JVM.
func (w *world) threads(at float64) []byte {
	var b bytes.Buffer
	start, _ := w.startOf(at)
	fmt.Fprintf(&b, "%s\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):\n", w.clock(at).Format("2006-01-02 15:04:05"))
	fmt.Fprintf(&b, "\n\"main\" #1 prio=5 os_prio=0 cpu=271.52ms elapsed=%.2fs tid=0x00007f33d0017fb0 nid=0xa42 waiting on condition  [0x00007f33d451e000]\n"+
		"   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\tat com.acme.Main.main(Main.java:23)\n", (at-start)*3600)
	for _, m := range w.present(at) {
		stack := m.stackAt(at)
		name := fmt.Sprintf(stack.pool, m.id)
		if stack.pool == "pool-%d-thread-%d" {
			name = fmt.Sprintf(stack.pool, m.id, 1+m.id%4)
		}
		fmt.Fprintf(&b, "\n\"%s\" #%d prio=5 os_prio=0 cpu=1.52ms elapsed=%.2fs tid=0x%016x nid=%#x waiting on condition  [0x00007f33%08x]\n"+
			"   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)\n"+
			"\t- parking to wait for  <0x%016x> (a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)\n"+
			"\tat java.util.concurrent.locks.LockSupport.park(java.base@17.0.15/LockSupport.java:341)\n"+
			"\tat java.util.concurrent.LinkedBlockingQueue.take(java.base@17.0.15/LinkedBlockingQueue.java:435)\n"+
			"\tat %s(Work.java:%d)\n\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)\n",
			name, m.id, (at-m.born)*3600, 0x7f33d0000000+m.object&0xffffff, 1000+m.id, m.object&0xffffff00, m.object&0xffffffff, javaName(stack), stack.own.line)
	}
	b.WriteString("\nJNI global refs: 20, weak refs: 0\n")
	return b.Bytes()
}

// javaName is the method of a stack, also where it was made for a Go program.
func javaName(s *stack) string {
	if s.state == "waiting" {
		return s.own.function
	}
	return "com.acme.app." + classOf(s.own.function) + ".run"
}
