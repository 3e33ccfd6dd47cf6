package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestABurstThatIsGoneIsTold holds a case in which nothing grew against the peak that its course draws, at
// any number of captures.
func TestABurstThatIsGoneIsTold(t *testing.T) {
	of := connections(90, 40000, "ESTABLISHED")
	for want, captures := range map[string][][]connection{
		"No leak seen in app: descriptors rose from 4 to 91 at t1, 90 of them connections to 10.0.0.2:80, and were back at 4 at t4.": {of[:3], of, of[:40], of[:5], of[:3]},
		"No leak seen in app: no descriptors grew in 4 h.":                                                                           {of[:30], of[:39], of[:33], of[:31], of[:30]},
	} {
		if d := hourly(t, socketForms[0].files, captures...).Diagnosis; d.State != "no leak seen" || d.Sentence != want {
			t.Errorf("%s: %s\nwant %s", d.State, d.Sentence, want)
		}
	}
}

// threadDump is a dump of a JVM with own threads and those of one pool.
func threadDump(own, pool int) map[string]string {
	text := "2026-11-21 00:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode):\n\n"
	add := func(name string, n, id int, method string) {
		for i := range n {
			text += fmt.Sprintf("\"%s-%d\" #%d prio=5 os_prio=0 tid=0x%016x nid=0x%x waiting on condition [0x1]\n   java.lang.Thread.State: WAITING (parking)\n\tat %s\n\n", name, i+1, id+i, id+i, id+i, method)
		}
	}
	add("worker", own, 10, "com.acme.Worker.run(Worker.java:8)")
	add("pool-1-thread", pool, 1000, "java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1061)")
	return map[string]string{"jstack.txt": text + "JNI global refs: 5, weak refs: 0\n\n"}
}

func TestACountThatCameBackIsNoGrowthAtAnyNumberOfCaptures(t *testing.T) {
	for _, tt := range []struct {
		name     string
		own      int
		pool     []int
		sentence string
		state    string
	}{
		{"five captures", 24, []int{2, 2, 48, 3, 3}, "threads rose from 26 to 72 at t2, 48 of them threads of one executor without a name, and were back at 27 at t3.", "no leak seen"},
		{"four, and the burst is the third", 24, []int{2, 2, 48, 3}, "threads rose from 26 to 72 at t2, 48 of them threads of one executor without a name, and were back at 27 at t3.", "no leak seen"},
		{"four, and the burst is the second", 24, []int{2, 48, 3, 3}, "threads rose from 26 to 72 at t1, 48 of them threads of one executor without a name, and were back at 27 at t2.", "no leak seen"},
		{"three captures", 24, []int{2, 48, 3}, "threads rose from 26 to 72 at t1, 48 of them threads of one executor without a name, and were back at 27 at t2.", "no leak seen"},
		{"a burst in two steps", 24, []int{2, 25, 48, 2}, "threads rose from 26 to 72 at t2, 48 of them threads of one executor without a name, and were back at 26 at t3.", "no leak seen"},
		{"two more of a few are within noise", 6, []int{2, 48, 4}, "threads rose from 8 to 54 at t1, 48 of them threads of one executor without a name, and were back at 10 at t2.", "no leak seen"},
		{"three more of a few are not", 6, []int{2, 48, 5}, "Threads grew from 8 to 54 until t1, and 11 are left at t2.", "grew"},
		{"a tenth more of many is within noise", 98, []int{2, 48, 12}, "threads rose from 100 to 146 at t1, 48 of them threads of one executor without a name, and were back at 110 at t2.", "no leak seen"},
		{"more than a tenth is not", 98, []int{2, 48, 13}, "Threads of one executor without a name grew from 2 to 48 until t1, and 13 are left at t2: 46 new, 35 ended.", "grew"},
		{"five captures, and some are left", 24, []int{2, 2, 48, 8, 8}, "threads rose from 26 to 72 at t2, 48 of them threads of one executor without a name, and fell to 32 at t3.", "no leak seen"},
		{"nine more of one group", 24, []int{200, 280, 209}, "threads rose from 224 to 304 at t1, 280 of them threads of one executor without a name, and were back at 233 at t2.", "no leak seen"},
		{"twelve more of one group stay", 24, []int{200, 280, 212}, "Threads of one executor without a name grew from 200 to 280 until t1, and 212 are left at t2: 80 new, 68 ended.", "grew"},
		{"a burst of nine is not told", 24, []int{2, 11, 2}, "no threads grew in 2 h.", "no leak seen"},
	} {
		var captures []map[string]string
		for _, n := range tt.pool {
			captures = append(captures, threadDump(tt.own, n))
		}
		if d := every(t, captures).Diagnosis; d.State != tt.state || strings.TrimPrefix(d.Sentence, "No leak seen: ") != tt.sentence {
			t.Errorf("%s: %s: %s\nwant %s: %s", tt.name, d.State, d.Sentence, tt.state, tt.sentence)
		}
	}
}
