package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// A limit that a log tells reaches the answer whatever else stands in the log.
func TestALimitOfALogIsToldBesideItsDumps(t *testing.T) {
	limit := func(level string) string {
		return "2026-11-21 09:15:19,141 " + level + " Cannot open /etc/app.xml java.io.FileNotFoundException: /etc/app.xml (Too many open files)\n"
	}
	java := func(at string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "2026-11-21 %s\nFull thread dump OpenJDK 64-Bit Server VM (25.20-b23 mixed mode):\n\n", at)
		for i := range 12 {
			fmt.Fprintf(&b, "\"worker-%d\" #%d prio=5 os_prio=0 tid=0x00007f%04d nid=0x%d waiting on condition [0x00007f1]\n   java.lang.Thread.State: WAITING (parking)\n\tat sun.misc.Unsafe.park(Native Method)\n\tat com.acme.Worker.run(Worker.java:20)\n\n", i, 20+i, i, 100+i)
		}
		return b.String() + "\"VM Thread\" os_prio=0 tid=0x00007f8 nid=0x9 runnable\n\n"
	}
	dump := goroutineText(1, "chan receive", "runtime.main", "main.main()") + goroutineText(2, "select", "main.main", "main.work(0xc000010000)") + goroutineText(3, "select", "main.main", "main.work(0xc000010000)")
	const once = "its open files are used up (09:15:19)"
	for _, test := range []struct{ name, log, state, sentence string }{
		{"above a dump of a JVM", limit("ERROR") + java("09:16:00"), "at its limit", "app: its log says that " + once + "."},
		{"between two of them", java("09:15:00") + limit("ERROR") + java("09:17:00"), "at its limit", "app: its log says that " + once + "; no leak is shown."},
		{"below the last one, without an end of line", java("09:15:00") + strings.TrimSpace(limit("ERROR")), "at its limit", "app: its log says that " + once + "."},
		{"above a dump of a Go program", strings.Replace(limit("ERROR"), "(Too many open files)", "accept tcp [::]:80: accept4: too many open files", 1) + dump, "at its limit", "app: its log says that " + once + "."},
		{"at a level at which nothing fails", limit("INFO") + java("09:16:00"), "one dump", "One dump of app: at least 13 threads, 12 of them “worker-N · Worker.run”."},
		{"in a stack", java("09:16:00") + "\tat com.acme.Files.open: (Too many open files)\n", "one dump", "One dump of app: at least 13 threads, 12 of them “worker-N · Worker.run”."},
	} {
		d := every(t, []map[string]string{{"app/stdout.log": test.log}}).Diagnosis
		if string(d.State) != test.state || d.Sentence != test.sentence {
			t.Errorf("%s: %s, %s\nwant %s, %s", test.name, d.State, d.Sentence, test.state, test.sentence)
		}
	}
}
