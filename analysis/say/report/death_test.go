package report_test

import (
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
)

// The goroutine that the runtime prints first is often the messenger: the timer of a test binary,
// main that waits for its workers, the runtime itself.
func TestACrashSpeaksOfWhatHungOrFailed(t *testing.T) {
	const (
		alarm   = "panic: test timed out after 10m0s\n\trunning tests:\n\t\tTestSlow (10m0s)\n\n"
		asleep  = "fatal error: all goroutines are asleep - deadlock!\n\n"
		memory  = "runtime: out of memory: cannot allocate 1073741824-byte block (6446022656 in use)\nfatal error: out of memory\n\n"
		broken  = "fatal error: found pointer to free object\n\n"
		run     = "testing.(*T).Run"
		limited = "deadline shorter than the limit of the test."
	)
	timer := goroutineText(97, "running", "time.goFunc", "testing.(*M).startAlarm.func1()")
	first := goroutineText(1, "chan receive, 9 minutes", "main.main", "testing.(*T).Run(0x1)", "testing.runTests.func1(0x1)", "testing.tRunner(0x1)", "testing.runTests(0x1)")
	idle := goroutineText(4, "select, 9 minutes", "example.com/view.init.0", "example.com/view.(*worker).start(0x1)")
	slow := goroutineText(22, "select, 9 minutes", run, "example.com/shop/cart.(*Cart).Run(0x1)", "example.com/shop/cart.TestSlow(0x1)", "testing.tRunner(0x1)")
	other := goroutineText(23, "chan receive, 2 minutes", run, "example.com/shop/cart.TestOther(0x1)", "testing.tRunner(0x1)")
	parallel := goroutineText(24, "chan receive, 9 minutes", run, "testing.(*T).Parallel(0x1)", "example.com/shop/cart.TestLater(0x1)", "testing.tRunner(0x1)")
	cut := "goroutine 25 [sync.Mutex.Lock]:\nsync.(*Mutex).Lock(0x1)\n\t/usr/local/go/src/sync/mutex.go:90 +0x46\n"
	waiting := goroutineText(1, "sync.WaitGroup.Wait", "runtime.main", "sync.(*WaitGroup).Wait(0x1)", "main.main()")
	swept := goroutineText(3, "running", "runtime.gcenable", "runtime.throw({0xd7d523, 0x1d})", "runtime.(*mspan).reportZombies(0x7fd5dc19f2a0)", "runtime.sweepone()", "runtime.bgsweep(0x0)", "runtime.gcenable.func1()")
	sender := goroutineText(5, "chan send", "main.main", "main.(*Importer).read(0x1)")
	senders := sender + strings.Replace(sender, "goroutine 5", "goroutine 6", 1)
	for _, test := range []struct{ name, dump, sentence, do, who string }{
		{"the only running test", alarm + timer + first + idle + slow, "Test cart.TestSlow timed out after 10m0s, blocked in select for 9 min.", "Find what goroutine 22 waits for at main.go:10: give that wait a " + limited, "goroutine 22"},
		{"the one of two that waits longer", alarm + timer + first + other + slow, "2 tests timed out after 10m0s, cart.TestSlow blocked in select for 9 min.", "Find what goroutine 22 waits for at main.go:10: give that wait a " + limited, "goroutine 22"},
		{"one that waits for its turn does not run", alarm + timer + first + parallel + other, "Test cart.TestOther timed out after 10m0s, blocked in channel receive for 2 min.", "Find what goroutine 23 waits for at main.go:10: give that wait a " + limited, "goroutine 23"},
		{"the stack of the test is cut", alarm + timer + first + idle + cut, "Test timed out after 10m0s, goroutine 25 is waiting for a mutex.", "Look at the stack of goroutine 25, and at who holds what it waits for.", "goroutine 25"},
		{"no test is shown", alarm + timer + first + idle, "Test timed out after 10m0s.", "Run the tests with -v: the last one that started and did not end is the one that hangs.", "goroutine 97"},
		{"main waits for others that wait", asleep + waiting + senders, "Deadlock in app: all goroutines are asleep, main.main is waiting for a WaitGroup, 2 goroutines are blocked in channel send in main.(*Importer).read.", "Nobody receives from the channel at main.go:10: buffer it, or select on ctx.Done().", "goroutine 1"},
		{"stacks that cannot be read", asleep + waiting + goroutineText(5, "chan send", "main.main"), "Deadlock in app: all goroutines are asleep, main.main is waiting for a WaitGroup.", "Find who should have sent, closed or unlocked what main.main waits for at main.go:10: nobody is left to do it.", "goroutine 1"},
		{"main waits alone", asleep + waiting, "Deadlock in app: all goroutines are asleep, main.main is waiting for a WaitGroup.", "Find who should have sent, closed or unlocked what main.main waits for at main.go:10: nobody is left to do it.", "goroutine 1"},
		{"no memory, and the runtime alone is shown", memory + goroutineText(1, "running", "main.main", "runtime.throw(0x1)", "runtime.mallocgc(0x1)"), "app crashed: out of memory.", "Compare two heap profiles (/debug/pprof/heap) of a running process: what asked last need not be what keeps the memory. To see all goroutines of the next crash, set GOTRACEBACK=all.", "goroutine 1"},
		{"no memory in own code", memory + goroutineText(1, "running", "main.main", "runtime.throw(0x1)", "runtime.mallocgc(0x1)", "example.com/shop/cart.Load(0x1)"), "app crashed: out of memory in cart.Load.", "Compare two heap profiles (/debug/pprof/heap) of a running process: what asked last at main.go:10 need not be what keeps the memory. To see all goroutines of the next crash, set GOTRACEBACK=all.", "goroutine 1"},
		{"a collector that finds broken memory stands in no group", broken + swept + senders, "app crashed: found pointer to free object.", "Its memory is corrupt, and who found it did not write it: run it with -race, look at its unsafe and cgo code, and try another release of Go.", "goroutine 3"},
		{"two binaries, the last one cut", alarm + timer + first + slow + alarm + timer + first + cut, "2 test binaries timed out: test cart.TestSlow timed out after 10m0s, blocked in select for 9 min.", "Find what goroutine 22 waits for at main.go:10: give that wait a " + limited, "goroutine 22"},
		{"two binaries, both whole", alarm + timer + first + slow + alarm + timer + first + other, "2 test binaries timed out: test cart.TestOther timed out after 10m0s, blocked in channel receive for 2 min.", "Find what goroutine 23 waits for at main.go:10: give that wait a " + limited, "goroutine 23"},
	} {
		r := every(t, []map[string]string{{"app/goroutine.txt": test.dump}})
		d := r.Diagnosis
		if d.Sentence != test.sentence || d.Next == nil || d.Next.Text != test.do {
			t.Errorf("%s: %s\n%+v\nwant %s\n%s", test.name, d.Sentence, d.Next, test.sentence, test.do)
			continue
		}
		who := ""
		if died := r.Series[0].Died; died != nil && len(died.Stacks) > 0 {
			who = died.Stacks[0].Who
		}
		if who != test.who {
			t.Errorf("%s: the stack of %q, want %q", test.name, who, test.who)
		}
	}
}

// The compiler of Go prints its own stack, and that of a panic before it, into the log of a build.
func TestAFailureOfTheCompilerInABuildLogIsTold(t *testing.T) {
	const (
		log     = "# go run run.go -- fixedbugs/issue5162.go\nexit status 2\n"
		failure = "../../tmp/tmp__.go:16136:27: internal compiler error: bvset: index 0 is out of bounds with length 0\n\n\n"
		do      = "This is a fault of the Go compiler: report it with this stack, and build with another release until then."
	)
	panicked := goroutineText(92, "running", "main.main", "cmd/compile/internal/ssa.Compile.func1()", "panic({0x11325c0, 0x16bbe60})", "math/rand.(*Rand).Int63(0xc00079c2d0)")
	own := goroutineText(92, "running", "main.main", "runtime/debug.Stack()", "cmd/compile/internal/base.FatalfAt({0x2, 0x3f081b0})", "cmd/compile/internal/bitvec.BitVec.Set({0x0})")
	for _, test := range []struct{ name, text, sentence, do string }{
		{"its own stack", log + failure + own + "\nFAIL\tfixedbugs/issue5162.go\t3.344s\n", "The process crashed: internal compiler error: bvset: index 0 is out of bounds with length 0.", do},
		{"after that of a panic", log + failure + panicked + own + "\nFAIL\n", "The process crashed: internal compiler error: bvset: index 0 is out of bounds with length 0.", do},
		{"a stack without it", log + own + "\nFAIL\n", "build.log holds no dump.", ""},
	} {
		d := one(t, "build.log", test.text).Diagnosis
		got := ""
		if d.Next != nil {
			got = d.Next.Text
		}
		if d.Sentence != test.sentence || got != test.do {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", test.name, d.Sentence, got, test.sentence, test.do)
		}
	}
}

// A log has the dumps of several runs: those after a crash are of another process.
func TestCrashesOfSeveralRunsInOneFileAreCounted(t *testing.T) {
	const (
		crash  = "panic: %s\n\ngoroutine 1 [running]:\nmain.load(0x1)\n\t/src/main.go:10 +0x1d\nmain.main()\n\t/src/main.go:5 +0x1d\n\n"
		logged = "host - app (%s) - 25 May 17 11:49 -03 - panic - no tags - - key not found\n\ngoroutine 1 [running]:\nexample.com/log.Recover(0x0)\n\t/src/log/log.go:597 +0xab\npanic(0x16b1d20, 0xc420163450)\n\t/usr/local/go/src/runtime/panic.go:489 +0x2cf\nmain.load(0x1)\n\t/src/main.go:10 +0x1d\nmain.main()\n\t/src/main.go:5 +0x1d\n\n"
	)
	boom, late := strings.ReplaceAll(crash, "%s", "boom"), strings.ReplaceAll(crash, "%s", "late")
	idle := goroutineText(7, "select", "main.main", "main.idle(0x1)")
	alive := "goroutine 1 [select]:\nmain.main()\n\t/src/main.go:5 +0x1d\n\n" + idle
	handled := logged + idle
	for _, test := range []struct {
		name     string
		captures []string
		sentence string
		runs     int
	}{
		{"one crash is not counted", []string{boom + idle}, "app crashed: panic “boom” in main.load.", 1},
		{"two for one reason", []string{boom + idle + boom + idle}, "app crashed 2 times: panic “boom” in main.load.", 2},
		{"two for different reasons", []string{boom + idle + late + idle}, "app crashed 2 times, the last time: panic “late” in main.load.", 2},
		{"a handler of the program logged both", []string{handled + handled}, "app crashed 2 times: panic “key not found” in main.load.", 2},
		{"main goes on in another file", []string{handled, alive}, "No leak seen in app: no goroutines grew in 1 h.", 1},
		{"main recovered by its own words", []string{strings.Replace(handled, "panic - no tags -", "recovered from panic:", 1)}, "One dump of app: 2 goroutines.", 1},
		{"another goroutine than main is handled", []string{strings.Replace(handled, "goroutine 1 ", "goroutine 9 ", 1)}, "One dump of app: 2 goroutines.", 1},
		{"main panics and no line says so", []string{strings.Replace(handled, " - panic - ", " - ", 1)}, "One dump of app: 2 goroutines.", 1},
	} {
		var captures []map[string]string
		for _, text := range test.captures {
			captures = append(captures, map[string]string{"app/goroutine.txt": text})
		}
		r := every(t, captures)
		runs := map[int]bool{}
		for _, s := range r.Snapshots {
			runs[s.Epoch] = true
		}
		if r.Diagnosis.Sentence != test.sentence || len(runs) != test.runs {
			t.Errorf("%s: %s, %d runs\nwant %s, %d", test.name, r.Diagnosis.Sentence, len(runs), test.sentence, test.runs)
		}
	}
}

// A test of the standard library waits in it, and is what its reader looks for.
func TestAStackOfTheStandardLibraryAloneShowsItsTest(t *testing.T) {
	frame := func(function, file string) report.StackFrame {
		return report.StackFrame{Function: function, File: file, Line: 1}
	}
	stack := []report.StackFrame{
		frame("runtime.gopark", "proc.go"), frame("runtime.semacquire1", "sema.go"), frame("sync.runtime_Semacquire", "sema.go"), frame("sync.(*WaitGroup).Wait", "waitgroup.go"),
		frame("net/http_test.TestAbort", "transport_test.go"), frame("testing.tRunner", "testing.go"), {Function: "testing.(*T).Run", File: "testing.go", Line: 1, CreatedBy: true},
	}
	var got []string
	for _, f := range report.ShortStack(stack, 4) {
		got = append(got, f.Function)
	}
	if want := "sync.(*WaitGroup).Wait net/http_test.TestAbort testing.(*T).Run"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestACrashOfOneGoroutineShowsItsStack: it is no dump, and counts none.
func TestACrashOfOneGoroutineShowsItsStack(t *testing.T) {
	r := one(t, "app.log", "panic: boom\n\ngoroutine 7 [running]:\nmain.work(0x1)\n\t/src/main.go:9 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:20 +0x3a\nexit status 2\n")
	s := &r.Series[0]
	if s.Died == nil || len(s.Died.Stacks) != 1 || len(s.Died.Stacks[0].Stack) != 2 || s.Died.Stacks[0].Who != "goroutine 7" || r.Snapshots[0].Totals.Goroutines != nil {
		t.Errorf("%+v, %+v", s.Died, r.Snapshots[0].Totals)
	}
}
