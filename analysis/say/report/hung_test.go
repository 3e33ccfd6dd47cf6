package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// Nothing grows in a process of which all workers wait for a connection: that is no good news.
func TestThoseWhoWaitForAConnectionForGoodAreTold(t *testing.T) {
	const (
		conn = "database/sql.(*DB).conn(0xc000010000)"
		tx   = "database/sql.(*DB).BeginTx(0xc000010000)"
		text = "12 goroutines wait for a database connection in all 3 dumps, the same ones"
	)
	sql := []string{conn, tx, "main.(*Orders).Place(0x1)"}
	// captures have n goroutines each in the frames, with ids from a first one that moves on by step.
	captures := func(dumps, n, step int, more string, frames ...string) (out []map[string]string) {
		for k := range dumps {
			text := goroutineText(1, "sleep", "runtime.main", "main.main()") + more
			for i := range n {
				text += goroutineText(100+k*step+i, "select", "main.main", frames...)
			}
			out = append(out, map[string]string{"app/goroutine.txt": text})
		}
		return out
	}
	awaitDone := func(id int) string {
		return goroutineText(id, "chan receive", "database/sql.(*DB).beginDC", "database/sql.(*Tx).awaitDone(0x1)")
	}
	const sqlRemedy = "End each Tx (defer Rollback) and close all Rows on every way out: check main.(*Orders).Place at main.go:10, where they wait, and each other user of this pool. A larger pool (SetMaxOpenConns) gains time only."
	const txRemedy = "Commit or roll back each transaction on every way out (defer Rollback behind BeginTx): check main.(*Orders).Place at main.go:10, where they wait, and each other user of this pool. A larger pool (SetMaxOpenConns) gains time only."
	for _, test := range []struct {
		name     string
		captures []map[string]string
		sentence string // "" for a process that is not told to hang
		do       string
	}{
		{"the same ones in all captures", captures(3, 12, 0, "", sql...), "app: " + text + ".", sqlRemedy},
		{"beside transactions that stay open", captures(3, 12, 0, awaitDone(50)+awaitDone(51), sql...), "app: " + text + "; 2 transactions stay open.", txRemedy},
		{"in a pool of the reader's own", captures(3, 12, 0, "", "sync.(*Cond).Wait(0x1)", "main.(*ConnPool).Acquire(0x1)", "main.(*Orders).Place(0x1)"), "app: 12 goroutines wait for a connection of a pool in all 3 dumps, the same ones.", "Give each connection back on every way out: check main.(*Orders).Place at main.go:10, where they wait, and each other user of this pool. A larger pool gains time only."},
		{"two captures are too few", captures(2, 12, 0, "", sql...), "", ""},
		{"others wait each time", captures(3, 12, 6, "", sql...), "", ""},
		{"only a few wait", captures(3, 7, 0, "", sql...), "", ""},
		{"they open a connection", captures(3, 12, 0, "", append([]string{"net.(*Dialer).Dial(0x1)", "example.com/pq.(*Driver).Open(0x1)"}, sql...)...), "", ""},
		{"idle ones of a pool of workers", captures(3, 12, 0, "", "main.(*WorkerPool).Take(0x1)", "main.(*Worker).run(0x1)"), "", ""},
		{"idle ones that take of a queue", captures(3, 12, 0, "", "main.(*Queue).take(0x1)", "main.(*Worker).run(0x1)"), "", ""},
	} {
		d := every(t, test.captures).Diagnosis
		if test.sentence == "" {
			if d.State == "saturated" {
				t.Errorf("%s: %s", test.name, d.Sentence)
			}
			continue
		}
		if d.State != "saturated" || d.Sentence != test.sentence || d.Next == nil || d.Next.Text != test.do {
			t.Errorf("%s: %s, %s\n%+v\nwant %s\n%s", test.name, d.State, d.Sentence, d.Next, test.sentence, test.do)
		}
	}
}

// The pools of a JVM: what waits above them is of the virtual machine or of the pool.
func TestThreadsThatWaitForAConnectionForGoodAreTold(t *testing.T) {
	dump := func(frames ...string) string {
		var b strings.Builder
		b.WriteString("2026-11-21 09:15:00\nFull thread dump OpenJDK 64-Bit Server VM (25.20-b23 mixed mode):\n\n")
		for i := range 12 {
			fmt.Fprintf(&b, "\"billing-%d\" #%d prio=5 os_prio=0 tid=0x00007f%04d nid=0x%d waiting on condition [0x00007f1]\n   java.lang.Thread.State: WAITING (parking)\n\tat sun.misc.Unsafe.park(Native Method)\n\tat java.util.concurrent.locks.LockSupport.park(LockSupport.java:175)\n", i, 20+i, i, 100+i)
			for _, f := range frames {
				fmt.Fprintf(&b, "\tat %s\n", f)
			}
			b.WriteString("\n")
		}
		return b.String() + "\"VM Thread\" os_prio=0 tid=0x00007f8 nid=0x9 runnable\n\n"
	}
	for _, test := range []struct {
		name   string
		frames []string
		where  string // "" for a process that is not told to hang
	}{
		{"HikariCP", []string{"com.zaxxer.hikari.util.ConcurrentBag.borrow(ConcurrentBag.java:151)", "com.zaxxer.hikari.pool.HikariPool.getConnection(HikariPool.java:180)", "com.acme.Billing.charge(Billing.java:8)"}, "com.acme.Billing.charge at Billing.java:8"},
		{"a pool of the reader's own", []string{"com.acme.Billing$ConnectionPool.take(Billing.java:5)", "com.acme.Billing.charge(Billing.java:8)"}, "com.acme.Billing.charge at Billing.java:8"},
		{"idle threads of an executor", []string{"java.util.concurrent.LinkedBlockingQueue.take(LinkedBlockingQueue.java:435)", "java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1067)"}, ""},
		{"idle threads of an own pool", []string{"com.acme.ThreadPool.take(ThreadPool.java:5)", "com.acme.Worker.run(Worker.java:8)"}, ""},
	} {
		var captures []map[string]string
		for range 3 {
			captures = append(captures, map[string]string{"app/jstack.txt": dump(test.frames...)})
		}
		d := every(t, captures).Diagnosis
		if hangs := d.State == "saturated"; hangs != (test.where != "") || hangs && !strings.Contains(d.Next.Text, "check "+test.where+", where they wait") {
			t.Errorf("%s: %s, %s, %+v", test.name, d.State, d.Sentence, d.Next)
		}
	}
}

// A server whose requests pile up at an exhausted pool leaks requests, and the pool is what to mend.
func TestThoseWhoComeAndWaitForAConnectionAreSentToThePool(t *testing.T) {
	const sqlRemedy = "End each Tx (defer Rollback) and close all Rows on every way out: check main.lastOrder at main.go:10, where they wait, and each other user of this pool. A larger pool (SetMaxOpenConns) gains time only."
	for _, test := range []struct {
		name, creator, above, entry string
		ended                       int // of the first ones, after the third capture
		sentence, do                string
	}{
		{"requests at the pool of database/sql", "net/http.(*Server).Serve", "database/sql.(*DB).conn(0xc000010000)", "net/http.(*conn).serve(0x1)", 0,
			"app keeps 50 requests waiting for a database connection in main.lastOrder, and none ended: all connections of its pool are taken.", sqlRemedy},
		{"workers at a pool of the reader's own", "main.main", "main.(*ConnPool).Acquire(0x1)", "main.work(0x1)", 0,
			"app keeps 50 goroutines waiting for a connection of a pool in main.lastOrder, and none ended: all connections of its pool are taken.",
			"Give each connection back on every way out: check main.lastOrder at main.go:10, where they wait, and each other user of this pool. A larger pool gains time only."},
		{"requests of which some ended", "net/http.(*Server).Serve", "database/sql.(*DB).conn(0xc000010000)", "net/http.(*conn).serve(0x1)", 4,
			"Requests waiting for a database connection in main.lastOrder of app grew from 10 to 46: 40 came, 4 ended.", sqlRemedy},
		{"requests that wait for something else", "net/http.(*Server).Serve", "main.ask(0x1)", "net/http.(*conn).serve(0x1)", 0,
			"app accepted 40 HTTP server connections in main.ask and closed none.", ""},
	} {
		var captures []map[string]string
		for k := range 5 {
			text := goroutineText(1, "sleep", "runtime.main", "main.main()")
			for i := range 10 * (k + 1) {
				if k < 3 || i >= test.ended {
					text += goroutineText(100+i, "select", test.creator, test.above, "main.lastOrder(0x1)", "main.handle(0x1)", test.entry)
				}
			}
			captures = append(captures, map[string]string{"app/goroutine.txt": text})
		}
		d := every(t, captures).Diagnosis
		if d.State != "leaking" || d.Sentence != test.sentence || d.Next == nil || d.Next.Text != test.do && test.do != "" {
			t.Errorf("%s: %s: %s, do %+v", test.name, d.State, d.Sentence, d.Next)
		}
		if at := "pool of"; (test.do != "") != strings.HasPrefix(d.Holder, at) {
			t.Errorf("%s: held by %q", test.name, d.Holder)
		}
	}
}

// Each open transaction keeps a connection, which is why requests pile up at the pool.
func TestRequestsAtThePoolAreToldWithTheTransactionsThatStayOpen(t *testing.T) {
	capture := func(waiting int, open ...int) map[string]string {
		text := goroutineText(1, "sleep", "runtime.main", "main.main()")
		for _, id := range open {
			text += goroutineText(id, "chan receive", "database/sql.(*DB).beginDC", "database/sql.(*Tx).awaitDone(0x1)")
		}
		for i := range waiting {
			text += goroutineText(100+i, "select", "net/http.(*Server).Serve", "database/sql.(*DB).conn(0x1)", "main.transfer(0x1)", "net/http.(*conn).serve(0x1)")
		}
		return map[string]string{"app/goroutine.txt": text}
	}
	const rolledBack, larger = "Commit or roll back each transaction on every way out", "End each Tx (defer Rollback)"
	for name, test := range map[string]struct {
		captures     []map[string]string
		sentence, do string
	}{
		"they stay": {[]map[string]string{capture(0, 50), capture(25, 50, 51), capture(58, 50, 51)},
			"app keeps 58 requests waiting for a database connection in main.transfer, and none ended so far: 2 open transactions fill its pool.", rolledBack},
		"others are open each time": {[]map[string]string{capture(0, 50), capture(25, 51), capture(58, 52)},
			"app keeps 58 requests waiting for a database connection in main.transfer, and none ended so far: all connections of its pool are taken.", larger},
		"in one dump": {[]map[string]string{capture(58, 50, 51)},
			"One dump of app: 61 goroutines, 58 requests wait for a database connection in main.transfer, and 2 transactions are open.", "If they stay: commit or roll back"},
	} {
		d := every(t, test.captures).Diagnosis
		if d.Sentence != test.sentence || d.Next == nil || !strings.HasPrefix(d.Next.Text, test.do) {
			t.Errorf("%s: %s\n%+v", name, d.Sentence, d.Next)
		}
	}
}
