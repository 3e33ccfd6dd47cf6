package report_test

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
)

// unheld is a dump of jstack without -l, which prints no holder of a lock of java.util.concurrent: 5 threads wait
// for one at line 11 of Ledger.book, beside others with the frames that are given, by their names.
func unheld(class string, others ...string) string {
	var b strings.Builder
	b.WriteString("2026-11-21 09:15:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n")
	thread := func(id int, name, state, frames string) {
		fmt.Fprintf(&b, "\"%s\" #%d prio=5 os_prio=0 cpu=1.52ms elapsed=9.25s tid=0x00007f%04d nid=0x%d waiting on condition [0x00007f1]\n   java.lang.Thread.State: %s\n%s\n", name, id, id, 100+id, state, frames)
	}
	for i := range 5 {
		thread(10+i, fmt.Sprintf("exec-%d", i), "WAITING (parking)", "\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)\n\t- parking to wait for  <0x00000000000000aa> (a java.util.concurrent.locks."+class+")\n"+
			"\tat java.util.concurrent.locks.LockSupport.park(java.base@17.0.15/LockSupport.java:211)\n\tat java.util.concurrent.locks."+strings.TrimSuffix(strings.Replace(class, "$NonfairSync", ".lock", 1), "$FairSync")+"(java.base@17.0.15/ReentrantLock.java:322)\n"+
			"\tat com.acme.Ledger.book(Ledger.java:11)\n\tat com.acme.Api.post(Api.java:4)\n")
	}
	for i := 0; i+1 < len(others); i += 2 {
		thread(40+i, others[i], "RUNNABLE", others[i+1])
	}
	return b.String() + "\"VM Thread\" os_prio=0 tid=0x00007f8 nid=0x9 runnable\n\nJNI global references: 15\n\n"
}

func TestWhoIsOnALaterLineOfTheMethodLikelyHoldsItsLock(t *testing.T) {
	const reads = "\tat sun.nio.ch.SocketDispatcher.read0(java.base@17.0.15/Native Method)\n\tat sun.nio.ch.NioSocketImpl.implRead(java.base@17.0.15/NioSocketImpl.java:309)\n\tat java.net.Socket$SocketInputStream.read(java.base@17.0.15/Socket.java:966)\n"
	book := func(line int) string {
		return reads + fmt.Sprintf("\tat com.acme.Ledger.book(Ledger.java:%d)\n\tat com.acme.Api.post(Api.java:4)\n", line)
	}
	for _, tt := range []struct{ name, dump, sentence, holder, step string }{
		{"one thread", unheld("ReentrantLock$NonfairSync", "exec-9", book(13)),
			"One dump: 7 threads, 5 of them wait for one lock; its likely holder waits for a socket read without a timeout in Ledger.book.", `Likely holder: thread "exec-9" in Ledger.book`,
			"If they stay: set a timeout (setSoTimeout) for the socket read at Ledger.java:13 in Ledger.book, and do no I/O under the lock: thread \"exec-9\" likely holds it."},
		{"on the line itself", unheld("ReentrantLock$NonfairSync", "exec-9", book(11)), "", "Who holds it is open: no thread of the dump prints that it holds it.", ""},
		{"two threads, of which one has it", unheld("ReentrantLock$NonfairSync", "exec-8", book(13), "exec-9", book(14)), "", `Possible holder: thread "exec-8" in Ledger.book`, ""},
		{"two readers", unheld("ReentrantReadWriteLock$NonfairSync", "exec-8", book(13), "exec-9", book(14)),
			"One dump: 8 threads, 5 of them wait for one lock; its likely holder waits for a socket read without a timeout in Ledger.book.", `Likely holder: thread "exec-8" in Ledger.book`, "If they stay: "},
		{"more than may be named", unheld("ReentrantReadWriteLock$NonfairSync", "a", book(13), "b", book(13), "c", book(13), "d", book(13), "e", book(13), "f", book(13)), "", "Who holds it is open", ""},
		{"a queue that is no lock", unheld("AbstractQueuedSynchronizer$ConditionObject", "exec-9", book(13)), "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := one(t, "app-jstack.txt", tt.dump)
			d, s := &r.Diagnosis, &r.Series[0]
			if tt.sentence != "" && d.Sentence != tt.sentence || tt.sentence == "" && strings.Contains(d.Sentence, "wait for one lock") {
				t.Errorf("the sentence is %q", d.Sentence)
			}
			if (s.Locks == nil) != (tt.holder == "") || s.Locks != nil && !strings.Contains(s.Locks.List[0].Text, tt.holder) {
				t.Errorf("the locks are %+v, want %q", s.Locks, tt.holder)
			}
			if d.Next == nil || !strings.HasPrefix(d.Next.Text, tt.step) {
				t.Errorf("the step is %+v", d.Next)
			}
		})
	}
}

// TestWhoWaitsForALockStandsInTheAnswerWhereNothingGrew: three dumps of the same threads.
func TestWhoWaitsForALockStandsInTheAnswerWhereNothingGrew(t *testing.T) {
	const book = "\tat com.acme.Store.write(Store.java:20)\n\tat com.acme.Ledger.book(Ledger.java:13)\n"
	var captures []map[string]string
	for range 3 {
		captures = append(captures, map[string]string{"app/jstack.txt": unheld("ReentrantLock$NonfairSync", "exec-9", book)})
	}
	d := every(t, captures).Diagnosis
	if want := "5 threads wait for one lock; its likely holder is in Store.write."; d.State != string(report.NoLeakSeen) || !strings.HasSuffix(d.Sentence, want) || d.Next == nil {
		t.Errorf("%s: %s, %+v", d.State, d.Sentence, d.Next)
	}
}
