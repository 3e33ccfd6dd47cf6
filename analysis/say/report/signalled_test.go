package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// journalled is a journal of a service that a signal ends once for each of some processes, with their goroutines.
func journalled(signal, beside string, goroutines map[int]int, pids ...int) string {
	var out strings.Builder
	for day, pid := range pids {
		head := fmt.Sprintf("May %d 11:37:02 node1 ", 13+day)
		var dump strings.Builder
		dump.WriteString(signal + "\nPC=0x58af120087e1 m=0 sigcode=0\n\n")
		for i := range goroutines[pid] {
			fmt.Fprintf(&dump, "goroutine %d gp=0xc0000061c0 m=nil [select, 203 minutes]:\nruntime.gopark(0xc000047e48?, 0x3?)\n\t/go/src/runtime/proc.go:424 +0xce fp=0xc00058ec88 sp=0xc00058ec68 pc=0x58af1200850e\nmain.serve(0xc0001488c0)\n\t/src/main.go:169 +0x406 fp=0xc00058eec0 sp=0xc00058edb0 pc=0x58af12773166\n\n", i+1)
		}
		for line := range strings.Lines(dump.String()) {
			fmt.Fprintf(&out, "%sagentd[%d]: %s", head, pid, line)
		}
		if beside != "" {
			out.WriteString(head + beside + "\n")
		}
	}
	return out.String()
}

func TestADumpThatASignalEndedIsTheLastOfItsProcess(t *testing.T) {
	const (
		abort, quit = "SIGABRT: abort", "SIGQUIT: quit"
		timeout     = "systemd[1]: agentd.service: Watchdog timeout (limit 5min)!"
		find        = "Find who sent SIGABRT: of a service the journal says so beside the dump, as of systemd's watchdog (“Watchdog timeout”)."
		watchdog    = "Find why the service gave systemd's watchdog no sign of life: a host that stood still (load, memory, suspend), or a lock that its watchdog loop waits for."
		ended       = "The process ended with this dump. Take five captures of its next run:"
		each        = "Each of these dumps ended its process. Take five captures of its next run:"
	)
	three := map[int]int{1083: 4, 3217: 4, 1046: 4}
	for _, test := range []struct{ name, text, sentence, do string }{
		{"three runs that systemd's watchdog ended", journalled(abort, timeout, three, 1083, 3217, 1046), "agentd was ended by SIGABRT at each of 3 dumps (13 May 11:37, 14 May 11:37, 15 May 11:37); each has 4 goroutines: no growth can be seen across starts.", watchdog + "|" + each},
		{"nothing says who sent it", journalled(abort, "", three, 1083, 3217, 1046), "agentd was ended by SIGABRT at each of 3 dumps (13 May 11:37, 14 May 11:37, 15 May 11:37); each has 4 goroutines: no growth can be seen across starts.", find + "|" + each},
		{"runs that differ, ended for their dumps", journalled(quit, "", map[int]int{7: 4, 8: 6}, 7, 8), "agentd was ended by SIGQUIT at each of 2 dumps (13 May 11:37, 14 May 11:37); they have 4, 6 goroutines: no growth can be seen across starts.", each},
		{"one run", journalled(abort, timeout, three, 1083), "", watchdog + "|" + ended},
		{"words of the program are no signal", journalled("SIGABRT: aborting all workers", "", three, 1083), "", "Take five captures over two minutes:"},
	} {
		d := undated(t, []map[string]string{{"journal.log": test.text}}).Diagnosis
		var do []string
		for _, step := range d.Steps {
			do = append(do, step.Text)
			if strings.Contains(step.Command, "--pid ") != (step.Text == "Take five captures over two minutes:") {
				t.Errorf("%s: of a process that ended: %s", test.name, step.Command)
			}
		}
		if got := strings.Join(do, "|"); test.sentence != "" && d.Sentence != test.sentence || got != test.do {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", test.name, d.Sentence, got, test.sentence, test.do)
		}
	}
}

// A function that takes the object may have locked it as a method does: who runs there may hold it, and
// a lock that is held so is not one that nobody releases.
func TestALockWhoseObjectSomebodyRunsWithIsNotCalledUnreleased(t *testing.T) {
	waiter := "goroutine 70 gp=0xc000105dc0 m=nil [sync.Mutex.Lock, 99 minutes]:\nruntime.gopark(0x5870e1f20259?, 0xc000592d40?)\n\t/go/src/runtime/proc.go:424 +0xce\nruntime.goparkunlock(...)\n\t/go/src/runtime/proc.go:430\nruntime.semacquire1(0xc000438344, 0x0, 0x3, 0x1, 0x15)\n\t/go/src/runtime/sema.go:178 +0x22c\nsync.runtime_SemacquireMutex(0xc000438340?, 0x0?, 0x5870e2775366?)\n\t/go/src/runtime/sema.go:95 +0x25\nsync.(*Mutex).lockSlow(0xc000438340)\n\t/go/src/sync/mutex.go:173 +0x15d\nsync.(*Mutex).Lock(...)\n\t/go/src/sync/mutex.go:92\nexample.com/agent/state.(*State).Lock(0x5870e1c21352?)\n\t/src/state.go:146 +0x31\nmain.standby()\n\t/src/main.go:54 +0x49\n\n"
	runner := func(state, object string) string {
		return "goroutine 71 gp=0xc000105c00 m=nil [" + state + "]:\nexample.com/agent/asserts.parse({0xc0000c0c00, 0xd9, 0x3bd?})\n\t/src/headers.go:40 +0x2f\nexample.com/agent/device.refresh(" + object + ")\n\t/src/device.go:172 +0x165\nmain.loop()\n\t/src/main.go:80 +0x45\n\n"
	}
	const unreleased = "The lock at state.go:146 is held and not released: find who holds it, and defer Unlock there."
	for _, test := range []struct{ name, other, holder string }{
		{"one that runs with the object", runner("runnable", "0xc000438340"), "Possible holder: goroutine 71 in asserts.parse, called by device.refresh, which runs."},
		{"one that waits with the object", runner("chan receive, 3 minutes", "0xc000438340"), ""},
		{"one that runs with another object", runner("runnable", "0xc000438400"), ""},
	} {
		r := every(t, []map[string]string{{"agent/goroutine.txt": "SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\n" + waiter + test.other + goroutineText(1, "select, 165 minutes", "main.main", "main.run()")}})
		locks, do := "", ""
		if l := r.Series[0].Locks; l != nil && len(l.List) == 1 {
			locks = l.List[0].Text
		}
		if len(r.Diagnosis.Steps) > 0 {
			do = r.Diagnosis.Steps[0].Text
		}
		if got := test.holder != "" && strings.HasSuffix(locks, test.holder); got != (test.holder != "") || (do == unreleased) != (test.holder == "") {
			t.Errorf("%s: %s\ndo %s", test.name, locks, do)
		}
	}
}
