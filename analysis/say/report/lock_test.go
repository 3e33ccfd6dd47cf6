package report_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// goroutineText is one goroutine of a debug=2 dump. A frame is "main.(*Pool).Get(0xc0100)".
func goroutineText(id int, state, creator string, frames ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "goroutine %d [%s]:\n", id, state)
	for _, f := range frames {
		fmt.Fprintf(&b, "%s\n\t/src/main.go:10 +0x1d\n", f)
	}
	fmt.Fprintf(&b, "created by %s\n\t/src/main.go:9 +0x2a\n\n", creator)
	return b.String()
}

// atLock are the frames of a goroutine that waits for a mutex.
func atLock(address string, frames ...string) []string {
	return append([]string{"sync.runtime_SemacquireMutex(0x0?, 0x0?, 0x0?)", "sync.(*Mutex).lockSlow(" + address + ")", "sync.(*Mutex).Lock(...)"}, frames...)
}

// locksOf are those of one dump.
func locksOf(t *testing.T, text string) *report.Locks {
	t.Helper()
	c := built(t, []bundle.Input{{Name: "dump.txt", Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}})
	if len(c.Report.Series) != 1 {
		t.Fatalf("%d series: %+v", len(c.Report.Series), c.Report.Problems)
	}
	return c.Report.Series[0].Locks
}

func sentences(l *report.Locks) []string {
	if l == nil {
		return nil
	}
	var out []string
	for _, line := range l.Lines() {
		out = append(out, strings.ReplaceAll(line.Sentence(), "\u00a0", " "))
	}
	return out
}

func TestOneDumpSaysWhoWaitsForWhom(t *testing.T) {
	const idle = "goroutine 1 [select, 50 minutes]:\nmain.main()\n\t/src/main.go:3 +0x1d\n\n"
	get := func(id int, state, lock, pool string) string {
		return goroutineText(id, state, "main.serve", atLock(lock, "main.(*Pool).Get("+pool+", 0x1)", "main.handle()")...)
	}
	put := func(id int, state, pool string, above ...string) string {
		return goroutineText(id, state, "main.clean", append(above, "main.(*Pool).Put("+pool+")", "main.loop()")...)
	}
	tests := []struct {
		name string
		dump []string
		want []string
	}{
		{"nobody waits", []string{idle, put(7, "chan receive, 9 minutes", "0xc000010000")}, nil},
		{"a single one waits less than a minute", []string{idle, get(20, "sync.Mutex.Lock", "0xc000010008", "0xc000010000")}, nil},
		{"a single one waits for minutes", []string{idle, get(20, "sync.Mutex.Lock, 3 minutes", "0xc000010008", "0xc000010000")},
			[]string{"1 goroutine waits for lock 1, for ≥ 3 min, in main.(*Pool).Get. Who holds it is open: a Go dump does not print it, and no goroutine as old as they are is seen inside the object."}},
		{"the only one inside the same object is the likely holder", []string{idle,
			get(20, "sync.Mutex.Lock, 5 minutes", "0xc000010008", "0xc000010000"), get(21, "sync.Mutex.Lock", "0xc000010008", "0xc000010000"),
			put(7, "chan receive, 9 minutes", "0xc000010000"), put(8, "chan receive, 9 minutes", "0xc000090000")},
			[]string{"2 goroutines wait for lock 1, the longest ≥ 5 min, in main.(*Pool).Get. Likely holder: goroutine 7 in main.(*Pool).Put, which waits ≥ 9 min at a channel."}},
		{"two inside the same object are possible, the longest wait first", []string{idle,
			get(20, "semacquire, 5 minutes", "0xc000010008", "0xc000010000"), get(21, "semacquire", "0xc000010008", "0xc000010000"),
			put(7, "chan receive, 9 minutes", "0xc000010000"), put(8, "IO wait, 30 minutes", "0xc000010000", "internal/poll.runtime_pollWait(0x7f0000000000, 0x72)")},
			[]string{"2 goroutines wait for lock 1, the longest ≥ 5 min, in main.(*Pool).Get. " +
				"Possible holder: goroutine 8 in main.(*Pool).Put, which waits ≥ 30 min for the network or a pipe. " +
				"Possible holder: goroutine 7 in main.(*Pool).Put, which waits ≥ 9 min at a channel."}},
		{"plain functions name no object", []string{idle,
			goroutineText(20, "sync.Mutex.Lock", "main.main", atLock("0xc000010008", "main.work()")...),
			goroutineText(21, "sync.Mutex.Lock", "main.main", atLock("0xc000010008", "main.work()")...)},
			[]string{"2 goroutines wait for lock 1, in main.work. Who holds it is open: those who wait are in plain functions, which name no object."}},
		{"a chain goes on to what the holder waits for", []string{idle,
			get(20, "sync.Mutex.Lock, 5 minutes", "0xc000010008", "0xc000010000"), get(21, "sync.Mutex.Lock, 4 minutes", "0xc000010008", "0xc000010000"),
			goroutineText(7, "sync.Mutex.Lock, 9 minutes", "main.clean", atLock("0xc000020008", "main.(*Log).Write(0xc000020000)", "main.(*Pool).Put(0xc000010000)")...),
			goroutineText(5, "syscall, 12 minutes", "main.clean", "syscall.Syscall(0x1, 0x2)", "main.(*Log).Flush(0xc000020000)")},
			[]string{
				"2 goroutines wait for lock 1, the longest ≥ 5 min, in main.(*Pool).Get. Likely holder: goroutine 7 in main.(*Log).Write, called by main.(*Pool).Put, which waits ≥ 9 min for lock 2.",
				"1 goroutine waits for lock 2, for ≥ 9 min, in main.(*Log).Write. Likely holder: goroutine 5 in main.(*Log).Flush, which waits ≥ 12 min in a system call."}},
		{"two that wait for each other are a possible deadlock, at once", []string{idle,
			goroutineText(7, "sync.Mutex.Lock", "main.move", atLock("0xc000020008", "main.(*Account).Add(0xc000020000)", "main.(*Account).Move(0xc000010000)")...),
			goroutineText(8, "sync.Mutex.Lock", "main.move", atLock("0xc000010008", "main.(*Account).Add(0xc000010000)", "main.(*Account).Move(0xc000020000)")...)},
			[]string{"Possible deadlock: goroutine 8 may hold lock 1 and waits for lock 2; goroutine 7 may hold lock 2 and waits for lock 1."}},
		{"a holder that waits for its children names them", []string{idle,
			get(20, "semacquire, 5 minutes", "0xc000010008", "0xc000010000"), get(21, "semacquire, 5 minutes", "0xc000010008", "0xc000010000"),
			put(7, "semacquire, 9 minutes", "0xc000010000", "sync.runtime_Semacquire(0xc000030000?)", "sync.(*WaitGroup).Wait(0xc000030000?)"),
			goroutineText(40, "select, 9 minutes", "main.(*Pool).Put in goroutine 7", "main.call()"), goroutineText(41, "select, 9 minutes", "main.(*Pool).Put in goroutine 7", "main.call()")},
			[]string{"2 goroutines wait for lock 1, the longest ≥ 5 min, in main.(*Pool).Get. Likely holder: goroutine 7 in main.(*Pool).Put, which waits ≥ 9 min for goroutines that it may have started: 2 in main.call."}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if d := cmp.Diff(test.want, sentences(locksOf(t, strings.Join(test.dump, "")))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAmongManyWaitersNoneIsTakenForTheHolder(t *testing.T) {
	var dump strings.Builder
	for i := range 200 { // more than the reader keeps by id
		dump.WriteString(goroutineText(100+i, "sync.Mutex.Lock, 46 minutes", "main.serve", atLock("0xc000010008", "main.(*Pool).Get(0xc000010000)")...))
	}
	dump.WriteString(goroutineText(7, "chan send, 47 minutes", "main.clean", "main.(*Pool).Put(0xc000010000)"))
	want := []string{"200 goroutines wait for lock 1, the longest ≥ 46 min, in main.(*Pool).Get. Likely holder: goroutine 7 in main.(*Pool).Put, which waits ≥ 47 min at a channel."}
	if d := cmp.Diff(want, sentences(locksOf(t, dump.String()))); d != "" {
		t.Error(d)
	}
}

func TestAsManyLocksAsWaitersAreNoQueue(t *testing.T) {
	var dump strings.Builder
	for i := range 300 { // small objects beside each other, more than the reader keeps
		address := 0xc000010000 + i*64
		dump.WriteString(goroutineText(100+i, "sync.Mutex.Lock, 46 minutes", "main.serve", atLock(fmt.Sprintf("%#x", address+8), fmt.Sprintf("main.(*Pool).Get(%#x)", address))...))
	}
	want := []string{"100 goroutines wait for a lock each in main.(*Pool).Get, the longest ≥ 46 min: as many objects, no queue.", "200 goroutines wait for other locks."}
	if d := cmp.Diff(want, sentences(locksOf(t, dump.String()))); d != "" {
		t.Error(d)
	}
}

func TestAtMostAHundredLocksAreKept(t *testing.T) {
	var dump strings.Builder
	for i := range 120 {
		for k := range 2 {
			address := 0xc000010000 + i*0x1000
			dump.WriteString(goroutineText(100+2*i+k, "sync.Mutex.Lock", "main.serve", atLock(fmt.Sprintf("%#x", address+8), fmt.Sprintf("main.(*Pool).Get(%#x)", address))...))
		}
	}
	l := locksOf(t, dump.String())
	if len(l.List) != 100 || l.More != 20 || l.MoreWaiters != 40 {
		t.Errorf("%d locks, %d more with %d waiters, want 100, 20 and 40", len(l.List), l.More, l.MoreWaiters)
	}
}

// thread is one thread of a dump of HotSpot.
func thread(number int, name, state string, lines ...string) string {
	return fmt.Sprintf("%q #%d prio=5 os_prio=0 tid=0x00007f000000%04x nid=0x%x runnable\n   java.lang.Thread.State: %s\n\t%s\n\n", name, number, number, number, state, strings.Join(lines, "\n\t"))
}

func jvm(threads ...string) string {
	return "2026-11-21 02:46:52\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n" + strings.Join(threads, "") +
		thread(90, "idle-1", "RUNNABLE", "at a.Idle.run(Idle.java:3)") + thread(91, "idle-2", "RUNNABLE", "at a.Idle.run(Idle.java:3)")
}

func TestThreadsSayWhoHoldsALock(t *testing.T) {
	waits := func(number int, name, object string, held ...string) string {
		lines := []string{"at a.Pool.take(Pool.java:7)", "- waiting to lock <" + object + "> (a a.Pool)"}
		for _, h := range held {
			lines = append(lines, "at a.Main.run(Main.java:3)", "- locked <"+h+"> (a a.Pool)")
		}
		return thread(number, name, "BLOCKED (on object monitor)", lines...)
	}
	tests := []struct {
		name string
		dump string
		want []string
	}{
		{"the holder prints that it locked", jvm(waits(10, "w1", "0x00000000f8000280"), waits(11, "w2", "0x00000000f8000280"),
			thread(12, "h", "RUNNABLE", "at a.Disk.read(Disk.java:7)", "at a.Pool.fill(Pool.java:9)", "- locked <0x00000000f8000280> (a a.Pool)")),
			[]string{`2 threads wait for lock 1 (a.Pool), in Pool.take. Its holder: thread "h" in Disk.read, which runs.`}},
		{"whoever is inside Object.wait() has released its lock", jvm(waits(10, "w1", "0x00000000f8000280"), waits(11, "w2", "0x00000000f8000280"),
			thread(12, "sleeper", "WAITING (on object monitor)", "at java.lang.Object.wait(Native Method)", "- waiting on <0x00000000f8000280> (a a.Pool)", "at a.Pool.idle(Pool.java:9)", "- locked <0x00000000f8000280> (a a.Pool)")),
			[]string{"2 threads wait for lock 1 (a.Pool), in Pool.take. Who holds it is open: no thread of the dump prints that it holds it."}},
		{"a cycle is a deadlock", jvm(waits(10, "w1", "0x00000000f8000280", "0x00000000f8000290"), waits(11, "w2", "0x00000000f8000290", "0x00000000f8000280")),
			[]string{`Deadlock: thread "w2" holds lock 1 and waits for lock 2; thread "w1" holds lock 2 and waits for lock 1.`}},
		{"the address of a hidden class is left out", jvm(
			thread(10, "w1", "BLOCKED (on object monitor)", "at a.Pool$$Lambda$33/0x00007f335c00ebf8.run(Unknown Source)", "- waiting to lock <0x00000000f8000280> (a a.Pool)"),
			thread(11, "w2", "BLOCKED (on object monitor)", "at a.Pool$$Lambda$33/0x00007f335c00ebf8.run(Unknown Source)", "- waiting to lock <0x00000000f8000280> (a a.Pool)")),
			[]string{"2 threads wait for lock 1 (a.Pool), in Pool$$Lambda$33.run. Who holds it is open: no thread of the dump prints that it holds it."}},
		{"idle threads of a pool wait for work, not for a lock", jvm(
			thread(10, "p1", "WAITING (parking)", "at jdk.internal.misc.Unsafe.park(Native Method)", "- parking to wait for  <0x00000000f8000280> (a java.util.concurrent.SynchronousQueue$TransferStack)"),
			thread(11, "p2", "WAITING (parking)", "at jdk.internal.misc.Unsafe.park(Native Method)", "- parking to wait for  <0x00000000f8000280> (a java.util.concurrent.SynchronousQueue$TransferStack)")), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if d := cmp.Diff(test.want, sentences(locksOf(t, test.dump))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTheLockOfKnownCapturesIsFound(t *testing.T) {
	for label, waiters := range map[string]int{"t2": 4, "t3": 9, "t4": 14, "t5": 19, "t6": 24, "t7": 29} {
		l := locksOf(t, text(t, corpus.Path(t, "series", "kubelet-probe-leak", label, "containerd", "goroutine-debug2.txt")))
		if len(l.List) == 0 || l.List[0].Waiters != waiters || len(l.List[0].Holders) != 1 {
			t.Errorf("%s: %q", label, sentences(l))
			continue
		}
		if h := l.List[0].Holders[0]; h.ID != 13927 || h.Certainty != "likely" || h.WaitsFor != "wait group" || len(h.Children) == 0 || h.Children[0].Count != 8 {
			t.Errorf("%s: %+v", label, h)
		}
	}
}

func TestTheDeadlocksOfAllReleasesAreFound(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "threads", "jdk-matrix"), "jdk*", "jstack-l.txt"))
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		l := locksOf(t, text(t, file))
		if len(l.Cycles) != 2 || l.Cycles[0].Certainty != report.Proven || l.List[0].Waiters != 6 || len(l.List[0].Holders) != 1 || l.List[0].Holders[0].Name != "holder of hot" {
			t.Errorf("%s: %q", file, sentences(l))
		}
	}
}

var address = regexp.MustCompile(`0x[0-9a-f]{8,}`)

func TestOtherAddressesChangeNothingAndNoneIsSaid(t *testing.T) {
	for _, elements := range [][]string{
		{"series", "kubelet-probe-leak", "t7", "containerd", "goroutine-debug2.txt"},
		{"goroutine", "gen", "debug2-go1.27.0.txt"}, {"goroutine", "gen", "debug2-go1.18.10.txt"},
		{"threads", "jdk-matrix", "jdk21", "jstack-l.txt"}, {"threads", "public", "tda", "urlthread.log"},
	} {
		if !corpus.Has(t, elements...) {
			continue
		}
		before := text(t, corpus.Path(t, elements...))
		// Another order within each block of 4 KiB keeps what lies inside one object.
		after := address.ReplaceAllStringFunc(before, func(s string) string {
			var n uint64
			fmt.Sscanf(s, "0x%x", &n)
			return fmt.Sprintf("0x%0*x", len(s)-2, n^0x3_0000)
		})
		want, got := asJSON(t, locksOf(t, before)), asJSON(t, locksOf(t, after))
		if d := cmp.Diff(want, got); d != "" || before == after {
			t.Errorf("%v: %s", elements, d)
		}
		if found := address.FindString(want); found != "" {
			t.Errorf("%v: says the address %s", elements, found)
		}
	}
}

func asJSON(t *testing.T, l *report.Locks) string {
	t.Helper()
	out := *l
	out.Snapshot = ""
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func text(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestThePartsOfALockAreNeverNull(t *testing.T) {
	l := locksOf(t, text(t, corpus.Path(t, "threads", "jdk-matrix", "jdk25", "support-core-thread-dump.txt")))
	if strings.Contains(asJSON(t, l), "null") || !slices.ContainsFunc(l.List, func(x report.Lock) bool { return len(x.Waiting) > 0 }) {
		t.Error(asJSON(t, l))
	}
}

func TestALoopThatWaitsForItsNextMessageIsNoLikelyHolder(t *testing.T) {
	var dump strings.Builder
	for i := range 5 {
		dump.WriteString(goroutineText(100+i, "sync.Mutex.Lock, 46 minutes", "main.serve", atLock("0xc000010008", "main.(*Hub).Add(0xc000010000)")...))
	}
	for state, want := range map[string]string{"chan receive, 47 minutes": "Possible holder", "chan send, 47 minutes": "Likely holder"} {
		got := strings.Join(sentences(locksOf(t, dump.String()+goroutineText(7, state, "main.start", "main.(*Hub).Loop(0xc000010000)"))), " ")
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %s", state, got, want)
		}
	}
}
