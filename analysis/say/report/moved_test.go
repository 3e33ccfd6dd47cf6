package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhoOnlyChangedItsStateDidNotStart follows threads that come to wait for a connection,
// ten more in each capture. Those below busy were at work at t0, the others did not exist then.
func TestWhoOnlyChangedItsStateDidNotStart(t *testing.T) {
	const kept = "The process keeps 50 threads waiting for a connection of a pool in Billing.charge, and none ended: all connections of its pool are taken."
	const waits, works = "java.lang.Thread.State: TIMED_WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(Native Method)\n\tat Billing$ConnectionPool.take(Billing.java:5)", "java.lang.Thread.State: RUNNABLE\n\tat Billing.parse(Billing.java:30)"
	for name, tt := range map[string]struct {
		busy     int
		sentence string
		proof    string
	}{
		"one works at last": {1000, strings.Replace(kept, "50 threads", "49 threads", 1), "40 of 40 started since t0 are still there at t4, 1 in another state."},
		"none was there":    {0, kept, "40 of 40 started since t0 are still there at t4."},
		"two were there":    {2, kept, "38 of 38 started since t0 are still there at t4; 2 more came from another state."},
		"half was there":    {20, "Threads waiting for a connection of a pool in Billing.charge grew from 10 to 50: 40 came, 20 of them from another state, none left.", "40 of 40 that came since t0 are still there at t4, 20 of them then in another state."},
		"all were there":    {40, "Threads waiting for a connection of a pool in Billing.charge grew from 10 to 50: 40 came from another state, none left.", "40 of 40 that came since t0 are still there at t4, 40 of them then in another state."},
		"others were there": {-6, kept, "40 of 40 started since t0 are still there at t4."},
	} {
		t.Run(name, func(t *testing.T) {
			var captures []map[string]string
			for i := range 5 {
				var dump strings.Builder
				dump.WriteString("2026-11-29 03:08:3" + fmt.Sprint(i) + "\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n")
				thread := func(id int, stack string) {
					fmt.Fprintf(&dump, "\"billing-%d\" #%d prio=5 tid=0x%x nid=0x%x runnable [0x1]\n   %s\n\tat Billing.charge(Billing.java:8)\n\n", id, id, id*16, id, stack)
				}
				for n := range 10 * (i + 1) {
					if tt.busy == 1000 && i == 4 && n == 15 {
						thread(100+n, works)
						continue
					}
					thread(100+n, waits)
				}
				for n := 10 * (i + 1); n < 10+tt.busy%1000; n++ {
					thread(100+n, works)
				}
				for n := tt.busy; n < 0; n++ {
					thread(1000-n, works)
				}
				dump.WriteString("\"VM Thread\" os_prio=0 cpu=1.00ms elapsed=1.00s tid=0x1 nid=0x1 runnable\n\nJNI global refs: 15, weak refs: 0\n\n")
				captures = append(captures, map[string]string{"jstack.txt": dump.String()})
			}
			got := every(t, captures).Diagnosis
			if got.Sentence != tt.sentence || got.Proof != tt.proof {
				t.Errorf("%s: %q, proof %q\nwant %q, %q", got.State, got.Sentence, got.Proof, tt.sentence, tt.proof)
			}
		})
	}
}
