package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// javaThread is a thread of a dump of jstack.
func javaThread(id int, state string, lines ...string) string {
	return fmt.Sprintf("\"worker-%d\" #%[1]d prio=5 os_prio=0 cpu=1.00ms elapsed=30.00s tid=0x00007f29c%07[1]x nid=0x%[1]x runnable  [0x00007f2976afc000]\n   java.lang.Thread.State: %s\n\t%s\n\n", id, state, strings.Join(lines, "\n\t"))
}

// queues are four captures in which ever more wait for the holder of a lock.
func queues(file, head, tail, holder string, waiter func(id int) string) (out []map[string]string) {
	for _, n := range []int{3, 13, 24, 36} {
		text := head + holder
		for i := range n {
			text += waiter(100 + i)
		}
		text += tail
		out = append(out, map[string]string{file: text})
	}
	return out
}

func TestAHolderThatWaitsForIOIsToldByItsOwnLine(t *testing.T) {
	const head = "2026-11-29 07:35:05\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n"
	const lock = "<0x00000000fc0ab320> (a java.lang.Object)"
	load := []string{"at Tariff.load(Tariff.java:8)", "- locked " + lock, "at Tariff.run(Tariff.java:18)", "at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)"}
	reads := func(way ...string) []string {
		stack := []string{"at sun.nio.ch.SocketDispatcher.read0(java.base@17.0.15/Native Method)", "at sun.nio.ch.SocketDispatcher.read(java.base@17.0.15/SocketDispatcher.java:47)"}
		for _, method := range way {
			stack = append(stack, "at sun.nio.ch.NioSocketImpl."+method+"(java.base@17.0.15/NioSocketImpl.java:266)")
		}
		return slices.Concat(stack, []string{"at java.net.Socket$SocketInputStream.read(java.base@17.0.15/Socket.java:966)", "at java.io.BufferedReader.readLine(java.base@17.0.15/BufferedReader.java:329)"}, load)
	}
	waits := func(id int) string {
		return javaThread(id, "BLOCKED (on object monitor)", "at Tariff.load(Tariff.java:7)", "- waiting to lock "+lock, "at Tariff.run(Tariff.java:18)", "at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)")
	}
	java := func(state string, stack ...string) []map[string]string {
		return queues("threads.txt", head, "JNI global refs: 16, weak refs: 0\n", javaThread(13, state, stack...), waits)
	}
	post := "main.(*Ledger).Post(0xc000010000)"
	goes := func(state string, frames ...string) []map[string]string {
		return queues("goroutine.txt", "", "", goroutineText(7, state, "main.serve", frames...), func(id int) string {
			return goroutineText(id, "sync.Mutex.Lock", "main.serve", atLock("0xc000010008", post, "main.handle()")...)
		})
	}
	for name, tt := range map[string]struct {
		captures     []map[string]string
		holder, next string
	}{
		"a read of a JVM without a timeout": {java("RUNNABLE", reads("tryRead", "implRead", "read")...),
			"its holder waits for a socket read without a timeout in Tariff.load.",
			"Set a timeout (setSoTimeout) for the socket read at Tariff.java:8 in Tariff.load, and do no I/O under the lock: thread \"worker-13\" holds it."},
		"a read of a JVM with a timeout": {java("RUNNABLE", reads("tryRead", "timedRead", "implRead", "read")...),
			"its holder waits for a socket read in Tariff.load.",
			"Set a timeout (setSoTimeout) for the socket read at Tariff.java:8 in Tariff.load, and do no I/O under the lock: thread \"worker-13\" holds it."},
		"a thread that accepts under a lock of others": {java("RUNNABLE", slices.Concat([]string{"at com.acme.Server.nativeAccept(Native Method)", "at com.acme.Server.accept(Server.java:114)"}, load)...),
			"its holder is in Server.nativeAccept.", "Look at thread \"worker-13\" in Server.nativeAccept: it holds the lock."},
		"a call below one that accepts": {java("RUNNABLE", slices.Concat([]string{"at com.acme.Card.check(Card.java:9)", "at com.acme.Card.find(Card.java:3)", "at com.acme.Server.accept(Server.java:114)"}, load)...), "its holder is in Card.check.", "Look at thread \"worker-13\" in Card.check: it holds the lock."},
		"a thread that sleeps in the JDK": {java("TIMED_WAITING (sleeping)", slices.Concat([]string{"at java.lang.Thread.sleep(java.base@17.0.15/Native Method)"}, load)...),
			"its holder is in Tariff.load.",
			"Look at thread \"worker-13\" in Tariff.load: it holds the lock."},
		"a read of Go": {goes("IO wait", "internal/poll.runtime_pollWait(0x7f0000000000, 0x72)", "net.(*conn).Read(0xc000020000)", "bufio.(*Reader).ReadString(0xc000030000)", post, "main.handle()"),
			"its likely holder waits for the network or a pipe in main.(*Ledger).Post.",
			"Set a deadline for the I/O at main.go:10 in main.(*Ledger).Post, and do no I/O under the lock: goroutine 7 likely holds it."},
		"a request of Go, which stands in a select": {goes("select", "net/http.(*persistConn).roundTrip(0xc000020000)", "net/http.(*Transport).roundTrip(0xc000030000)", "net/http.Get(...)", post, "main.handle()"),
			"its likely holder waits for an HTTP request in main.(*Ledger).Post.",
			"Set a timeout for the HTTP request at main.go:10 in main.(*Ledger).Post, and do no I/O under the lock: goroutine 7 likely holds it."},
		"a child process of Go": {goes("syscall", "syscall.wait6(0x1)", "os.(*Process).blockUntilWaitable(0xc000020000)", "os/exec.(*Cmd).Wait(0xc000030000)", post, "main.handle()"),
			"its likely holder waits for a child process in main.(*Ledger).Post.",
			"Set a timeout for the child process at main.go:10 in main.(*Ledger).Post, and do no I/O under the lock: goroutine 7 likely holds it."},
		"a channel of the program's own": {goes("chan receive", post, "main.handle()"),
			"its likely holder waits at a channel in main.(*Ledger).Post.",
			"Look at goroutine 7 in main.(*Ledger).Post: it likely holds the lock and waits at a channel."},
		"a handler, whose server is no call of it": {goes("chan receive", post, "net/http.(*Transport).serve(0x1)"),
			"its likely holder waits at a channel in main.(*Ledger).Post.",
			"Look at goroutine 7 in main.(*Ledger).Post: it likely holds the lock and waits at a channel."},
	} {
		t.Run(name, func(t *testing.T) {
			d := every(t, tt.captures).Diagnosis
			if !strings.HasSuffix(d.Sentence, tt.holder) {
				t.Errorf("%s\nwant %s", d.Sentence, tt.holder)
			}
			if d.Next == nil || d.Next.Text != tt.next {
				t.Errorf("do %+v\nwant %s", d.Next, tt.next)
			}
		})
	}
}
