package thread_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
	"leakdiff/samples/corpus"
)

const hotSpotThread = "\"worker-1\" #20 [4711] daemon prio=5 os_prio=0 cpu=1.50ms elapsed=12.25s tid=0x00007f01 nid=4711 waiting on condition  [0x00007f02]\n" +
	"   java.lang.Thread.State: WAITING (parking)\n" +
	"\tat jdk.internal.misc.Unsafe.park(java.base@21.0.2/Native Method)\n" +
	"\t- parking to wait for  <0x000000008a> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)\n" +
	"\tat app.Worker.run(Worker.java:7)\n" +
	"\n   Locked ownable synchronizers:\n\t- <0x000000009b> (a java.util.concurrent.ThreadPoolExecutor$Worker)\n"

func TestAThreadOfHotSpotIsReadWhole(t *testing.T) {
	p := parse(t, "x", "4711:\n2026-11-21 02:46:52\nFull thread dump OpenJDK 64-Bit Server VM (21 mixed mode):\n\n"+hotSpotThread+"\nJNI global refs: 1, weak refs: 0\n")
	want := analysis.Thread{
		Name: "worker-1", Sort: analysis.JavaThread, ID: 20, Native: 4711, Address: 0x7f01, Daemon: true, State: "WAITING", Carrying: -1, Elapsed: 12.25, CPU: 0.0015,
		Stack: &analysis.Stack{Frames: []analysis.Frame{
			{Func: "jdk.internal.misc.Unsafe.park", File: "java.base@21.0.2/Native Method"},
			{Func: "app.Worker.run", File: "Worker.java", Line: 7},
		}},
		Locks: []analysis.Lock{
			{How: "parking to wait for", Object: "0x000000008a", Class: "java.util.concurrent.locks.ReentrantLock$NonfairSync"},
			{How: "owns", Object: "0x000000009b", Class: "java.util.concurrent.ThreadPoolExecutor$Worker", Frame: -1},
		},
		Line: 5, Offset: 86, Length: int64(len(hotSpotThread)) - 1,
	}
	if diff := cmp.Diff([]analysis.Thread{want}, p.all()); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	dump := thread.Dump{
		Form: thread.FormHotSpot, PID: 4711, Time: time.Date(2026, 11, 21, 2, 46, 52, 0, time.UTC), Zoneless: true,
		Version: "OpenJDK 64-Bit Server VM (21 mixed mode)", MainElapsed: -1, Threads: 1, Line: 1,
	}
	if diff := cmp.Diff([]thread.Dump{dump}, p.dumps); diff != "" {
		t.Errorf("dumps (-want +got):\n%s", diff)
	}
}

func TestHeadersOfEveryForm(t *testing.T) {
	for _, test := range []struct {
		text, form, name, state string
		id, native              int64
		sort                    analysis.ThreadSort
	}{
		{`"GC Thread#0" os_prio=0 cpu=4.30ms elapsed=4.39s tid=0x00007f nid=0xa43 runnable  `, thread.FormHotSpot, "GC Thread#0", "runnable", -1, 0xa43, analysis.VMThread},
		{`"C2 CompilerThread0" #5 daemon prio=9 os_prio=0 tid=0x00007f nid=0x10 waiting on condition [0x0000000000000000]`, thread.FormHotSpot, "C2 CompilerThread0", "waiting on condition", 5, 16, analysis.VMThread},
		{`"VirtualThread[#21]" #21 virtual [21] prio=5 os_prio=0 cpu=45.23ms elapsed=1.67s tid=0x00007f nid=0x1ac8 runnable  [0x0]`, thread.FormHotSpot, "VirtualThread[#21]", "runnable", 21, 0x1ac8, analysis.VirtualThread},
		{`"main" prio=10 tid=0x00002b nid=0xa5d in Object.wai`, thread.FormHotSpot, "main", "in Object.wai", -1, 0xa5d, analysis.VMThread},
		{`"x" prio=10 tid=60000000044e3840 nid=1194 lwp_id=9992026 runnable [9fffffffb6f00000..9fffffffb6f00a40]`, thread.FormHPUX, "x", "runnable", -1, 9992026, analysis.JavaThread},
		{`"a "b" nid=0x1" #7 prio=5 os_prio=0 tid=0x01 nid=0x02 runnable [0x03]`, thread.FormHotSpot, `a "b" nid=0x1`, "runnable", 7, 2, analysis.JavaThread},
		{`"" id=32 (0x20) state=TIMED_WAITING cpu=0%`, thread.FormSupportCore, "", "TIMED_WAITING", 32, 0, analysis.JavaThread},
		{`"x" id=3 (0x3) state=RUNNABLE cpu=12% (running in native)`, thread.FormSupportCore, "x", "RUNNABLE", 3, 0, analysis.JavaThread},
		{`"x" id=3149 in RUNNABLE (running in native)`, thread.FormThreadInfo, "x", "RUNNABLE", 3149, 0, analysis.JavaThread},
		{`"Main Thread" id=1 idx=0x4 tid=11648 prio=5 alive, in native, waiting, daemon`, thread.FormJRockit, "Main Thread", "alive, in native, waiting", 1, 11648, analysis.JavaThread},
		{`"(GC Worker Thread 1)" id=? idx=0x10 tid=11663 prio=5 alive, in native, daemon`, thread.FormJRockit, "(GC Worker Thread 1)", "alive, in native", -1, 11663, analysis.VMThread},
		{`"x" Id=14 Group=a b WAITING on C@1b2c owned by "y "z" Id=3" Id=15 (in native)`, thread.FormJenkins, "x", "WAITING", 14, 0, analysis.JavaThread},
		{`"x" daemon prio=8 Id=3 BLOCKED on java.lang.Object@1b owned by "y" Id=9 (suspended)`, thread.FormThreadInfo, "x", "BLOCKED", 3, 0, analysis.JavaThread},
		{`"Timer-180" - Thread t@332`, thread.FormVisualVM, "Timer-180", "", 332, 0, analysis.JavaThread},
		{`Thread[a,b,5,main] WAITING`, thread.FormStackTraces, "a,b", "WAITING", -1, 0, analysis.JavaThread},
		{`Thread[#38,,5,main] TIMED_WAITING`, thread.FormStackTraces, "", "TIMED_WAITING", 38, 0, analysis.JavaThread},
		{`VirtualThread[#106,SubPoller-0]/waiting`, thread.FormStackTraces, "SubPoller-0", "WAITING", 106, 0, analysis.VirtualThread},
		{`Thread 16653: (state = BLOCKED)`, thread.FormJstackF, "", "state = BLOCKED", -1, 16653, analysis.JavaThread},
		{`#48 "vt "4"" virtual`, thread.FormDumpToFile, `vt "4"`, "", 48, 0, analysis.VirtualThread},
		{`#51 "" BLOCKED 2026-11-21T02:54:23.475659678Z`, thread.FormDumpToFile, "", "BLOCKED", 51, 0, analysis.JavaThread},
		{`"odd "name"" daemon prio=5 TIMED_WAITING`, thread.FormJavaMelody, `odd "name"`, "TIMED_WAITING", -1, 0, analysis.JavaThread},
		{"Name: pool-1\nState: WAITING on java.lang.Object@1b2c owned by: other", thread.FormJConsole, "pool-1", "WAITING", -1, 0, analysis.JavaThread},
	} {
		p := parse(t, "x", test.text+"\n")
		if len(p.dumps) != 1 || len(p.all()) != 1 {
			t.Errorf("%q: %d dumps", test.text, len(p.dumps))
			continue
		}
		x := p.all()[0]
		got := fmt.Sprint(p.dumps[0].Form, "|", x.Name, "|", x.State, "|", x.ID, x.Native, x.Sort)
		want := fmt.Sprint(test.form, "|", test.name, "|", test.state, "|", test.id, test.native, test.sort)
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", test.text, got, want)
		}
	}
}

func TestLinesThatAreNoHeader(t *testing.T) {
	for _, text := range []string{
		`"key": "value",`, `"Deadlock-monitor-1":`, `"x" #5 said tid=3 to me`, `"unclosed tid=0x1 nid=0x2`, "Thread[main,5,main]", "Thread pool: (state = X)", `#5 "open`,
		"Full thread dump was asked for", "\"", "#", `"" `, "Name: x\nState: Bavaria",
		"os_prio=31 is the priority", "os_prio=31 tid=0x1 is whose",
	} {
		if p := parse(t, "x", text+"\n"); len(p.all()) > 0 {
			t.Errorf("%q: %+v", text, p.all())
		}
	}
}

// locksOf are the locks of the one thread of a text, each as "how class object".
func locksOf(t *testing.T, text string) []string {
	t.Helper()
	p := parse(t, "x", text)
	if len(p.all()) != 1 {
		t.Fatalf("%q: %d threads", text, len(p.all()))
	}
	var out []string
	for _, l := range p.all()[0].Locks {
		s := fmt.Sprintf("%s %s %s %d", l.How, l.Class, l.Object, l.Frame)
		if l.Owner != "" {
			s += " " + l.Owner
		}
		out = append(out, s)
	}
	return out
}

func TestLocksAreThoseThatTheThreadHolds(t *testing.T) {
	header := `"x" #7 prio=5 os_prio=0 tid=0x01 nid=0x02 in Object.wait() [0x03]` + "\n   java.lang.Thread.State: WAITING (on object monitor)\n\tat java.lang.Object.wait(Native Method)\n"
	blocked := `"x" #7 prio=5 os_prio=0 tid=0x01 nid=0x02 waiting for monitor entry [0x03]` + "\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat a.B.c(B.java:1)\n"
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"Object.wait released what it locked", header + "\t- waiting on <0x0a> (a C)\n\tat a.B.c(B.java:1)\n\t- locked <0x0a> (a C)\n\t- locked <0x0b> (a D)\n", []string{"waiting on C 0x0a 0", "locked D 0x0b 1"}},
		{"also where the compiler lost the object", header + "\t- waiting on <no object reference available>\n\tat a.B.c(B.java:1)\n\t- locked <0x0a> (a C)\n\t- locked <0x0b> (a D)\n", []string{"waiting on C 0x0a 0", "locked D 0x0b 1"}},
		{"a re-lock is a lock that is waited for", header + "\t- waiting to re-lock in wait() <0x0a> (a C)\n", []string{"waiting to lock C 0x0a 0"}},
		{"a class", blocked + "\t- waiting to lock <0x0a> (a java.lang.Class for x.Y)\n\t- locked <0x0b> (a D)\n", []string{"waiting to lock java.lang.Class for x.Y 0x0a 0", "locked D 0x0b 0"}},
		{"an eliminated lock", blocked + "\t- eliminated <owner is scalar replaced> (a D)\n", []string{"eliminated D  0"}},
		{"a class being initialised", blocked + "\t- waiting on the Class initialization monitor for x.Y\n", []string{"waiting on x.Y  0"}},
		{"support-core repeats the waited object as locked", "\"x\" id=11 (0xb) state=WAITING cpu=0%\n    - waiting on <0x0e2144e4> (a C)\n    - locked <0x0e2144e4> (a C)\n      owned by \"y \"z\"\" id=15 (0xf)\n    at a.B.c(B.java:1)\n      - locked D@1b\n\n    Locked synchronizers: count = 1\n      - E@2c\n", []string{"waiting on C 0x0e2144e4 0 y \"z\"", "locked D 1b 0", "owns E 2c -1"}},
		{"Jenkins and ThreadInfo say it twice", "\"x\" Id=1 Group=main BLOCKED on C@1b owned by \"y\" Id=2\n\tat a.B.c(B.java:1)\n\t-  blocked on C@1b\n\t-  locked D@2c\n\n\tNumber of locked synchronizers = 1\n\t- E@3d\n", []string{"waiting to lock C 1b 0 y", "locked D 2c 0", "owns E 3d -1"}},
		{"VisualVM", "\"x\" - Thread t@3\n   java.lang.Thread.State: WAITING on C@7f owned by \"y\" t@4\n\tat a.B.c(B.java:1)\n\t- locked D@52\n\n   Locked ownable synchronizers:\n\t- locked E@7a\n", []string{"waiting on C 7f 0 y", "locked D 52 0", "owns E 7a -1"}},
		{"the actuator's text", "\"x\" - Thread t@3\n   java.lang.Thread.State: BLOCKED\n\tat a.B.c(B.java:1)\n\t- waiting to lock <7f> (a C) owned by \"y\" t@4\n", []string{"waiting to lock C 7f 0 y"}},
		{"JDK 25 in a file", "#3 \"x\" WAITING 2026-11-21T02:54:23.1Z\n    at java.base/java.lang.Object.wait0(Native Method)\n    - waiting on <C@1b>\n    at a.B.c(B.java:1)\n    - locked <C@1b>\n    - locked <D@2c>\n", []string{"waiting on C 1b 0", "locked D 2c 1"}},
		{"JRockit", "\"x\" id=1 idx=0x4 tid=1 prio=5 alive, in native, waiting\n    -- Waiting for notification on: java/lang/C@0x6f[fat lock]\n    at java/lang/Object.wait(J)V(Native Method)\n    ^-- Lock released while waiting: java/lang/C@0x6f[fat lock]\n    at a/B.c(B.java:1)\n    ^-- Holding lock: java/lang/D@0x70[thin lock]\n    -- end of trace\n", []string{"waiting on java.lang.C 0x6f 0", "locked java.lang.D 0x70 1"}},
		{"a thread without frames", "\"x\" Id=1 Group=main WAITING on C@1b\n", []string{"waiting on C 1b -1"}},
	} {
		if diff := cmp.Diff(test.want, locksOf(t, test.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestAFrameIsTheSameInEveryForm(t *testing.T) {
	for _, test := range []struct {
		header, line string
		want         analysis.Frame
	}{
		{`"x" #7 prio=5 os_prio=0 tid=0x01 nid=0x02 runnable [0x03]`, "\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)", analysis.Frame{Func: "java.lang.Thread.run", File: "java.base@17.0.15/Thread.java", Line: 840}},
		{`"x" Id=1 RUNNABLE`, "\tat java.base@17.0.15/java.lang.Thread.run(Thread.java:840)", analysis.Frame{Func: "java.lang.Thread.run", File: "java.base@17.0.15/Thread.java", Line: 840}},
		{`"x" Id=1 RUNNABLE`, "\tat app//a.B$2.run(B.java:9)", analysis.Frame{Func: "a.B$2.run", File: "B.java", Line: 9}},
		{`"x" Id=1 RUNNABLE`, "\tat a.FCA.nativeAccept(I)La/b/Connection;(Native Method)", analysis.Frame{Func: "a.FCA.nativeAccept", File: "Native Method"}},
		{`"x" Id=1 RUNNABLE`, "\tat deployment.my.war//a.B.run(Unknown Source)", analysis.Frame{Func: "a.B.run", File: "deployment.my.war//Unknown Source"}},
		{`#7 "x"`, "      java.base/java.lang.Object.wait0(Native Method)", analysis.Frame{Func: "java.lang.Object.wait0", File: "java.base/Native Method"}},
		{`"x" #7 prio=5 os_prio=0 tid=0x01 nid=0x02 runnable [0x03]`, "\tat a.B$$Lambda$33/0x00007f335c00ebf8.run(Unknown Source)", analysis.Frame{Func: "a.B$$Lambda$33/0x00007f335c00ebf8.run", File: "Unknown Source"}},
		{`"x" #7 prio=5 os_prio=0 tid=0x01 nid=0x02 runnable [0x03]`, "\tat java.lang.VirtualThread$$Lambda/0x00007fc79005a228.run(java.base@21.0.12.1/Unknown Source)", analysis.Frame{Func: "java.lang.VirtualThread$$Lambda/0x00007fc79005a228.run", File: "java.base@21.0.12.1/Unknown Source"}},
		{`Thread 5: (state = BLOCKED)`, " - java.lang.Object.wait(long) @bci=20, line=226 (Interpreted frame)", analysis.Frame{Func: "java.lang.Object.wait", Line: 226}},
		{`"x" id=1 idx=0x4 tid=1 prio=5 alive`, "    at java/lang/Object.wait(J)V(Native Method)", analysis.Frame{Func: "java.lang.Object.wait", File: "Native Method"}},
		{`"x" Id=1 RUNNABLE`, "\tat a.Spec.does a thing(Spec.kt:3)", analysis.Frame{Func: "a.Spec.does a thing", File: "Spec.kt", Line: 3}},
	} {
		p := parse(t, "x", test.header+"\n"+test.line+"\n")
		if len(p.all()) != 1 {
			t.Errorf("%s: %d threads", test.header, len(p.all()))
			continue
		}
		if diff := cmp.Diff([]analysis.Frame{test.want}, p.all()[0].Stack.Frames); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.line, diff)
		}
	}
}

func TestLogLinesInsideADumpAreSaidAndCostNothing(t *testing.T) {
	text := "Full thread dump OpenJDK 64-Bit Server VM (21 mixed mode):\n\n" + hotSpotThread + "\n" + hotSpotThread + "\nJNI global refs: 1\n"
	noisy := strings.Replace(text, "\tat app.Worker", "10:00:01 INFO tick\n\tat app.Worker", 1)
	p := parse(t, "x", noisy)
	if diff := cmp.Diff(sketch(parse(t, "x", text)), sketch(p)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if len(p.problems) != 1 || p.problems[0].Severity != analysis.Note || p.problems[0].Line != 7 || !strings.Contains(p.problems[0].Why, "tick") {
		t.Errorf("problems %+v", p.problems)
	}
}

func TestAnExceptionBehindAThreadIsNotItsStack(t *testing.T) {
	trace := "java.io.IOException: closed\n\tat app.Io.read(Io.java:1)\n"
	for name, between := range map[string]string{"named": trace, "logged": "\n10:00:01 WARN it failed\n\tat app.Io.read(Io.java:1)\n"} {
		p := parse(t, "x", hotSpotThread+between)
		if len(p.all()) != 1 || len(p.all()[0].Stack.Frames) != 2 {
			t.Errorf("%s: %+v", name, p.all())
		}
	}
}

func TestWhatIsCutIsSaid(t *testing.T) {
	announced := "Full thread dump OpenJDK 64-Bit Server VM (21 mixed mode):\n"
	smr := announced + "\nThreads class SMR info:\n_java_thread_list=0x01, length=2, elements={\n0x01, 0x02\n}\n\n"
	for _, test := range []struct {
		name, text, why string
	}{
		{"threads of the list are missing", smr + hotSpotThread, "the JVM lists 2 Java threads, 1 are in the text"},
		{"more threads than the list has", smr + strings.Repeat(hotSpotThread, 3) + "\nJNI global refs: 1, weak refs: 0\n", ""},
		{"nothing follows the threads", announced + "\n" + hotSpotThread, "neither the thread"},
		{"the last frame is half", hotSpotThread[:strings.Index(hotSpotThread, "run(Worker")], "inside a line"},
		{"the last header is half", hotSpotThread + "\n\"worker-2\" #21 dae", "inside a line"},
		{"threads of the machine are missing", announced + hotSpotThread + "\n\"VM Thread\" os_prio=0 tid=0x01 nid=0x02 runnable\n", "neither the thread"},
		{"nothing is missing", announced + hotSpotThread + "\n\"VM Thread\" os_prio=0 tid=0x01 nid=0x02 runnable\n\n\"VM Periodic Task Thread\" os_prio=0 tid=0x01 nid=0x03 waiting on condition\n", ""},
		{"the line about JNI is missing", smr + strings.Repeat(hotSpotThread, 2) + "\n\"VM Periodic Task Thread\" os_prio=0 tid=0x01 nid=0x03 waiting on condition\n", "the line about JNI"},
		{"an excerpt claims nothing", hotSpotThread, ""},
		{"a last line without its end is whole", strings.TrimSuffix("Thread 5: (state = BLOCKED)\n - a.B.c() @bci=1, line=2 (Interpreted frame)\n", "\n"), ""},
	} {
		p := parse(t, "x", test.text)
		d := p.dumps[0]
		if d.Truncated != (test.why != "") || !strings.Contains(d.TruncatedWhy, test.why) {
			t.Errorf("%s: truncated %v, %q", test.name, d.Truncated, d.TruncatedWhy)
		}
	}
}

// TestNoEndOfALineEndsADumpInSilence cuts real dumps behind each line. The releases print
// the threads of the machine in different orders.
func TestNoEndOfALineEndsADumpInSilence(t *testing.T) {
	for _, release := range []string{"jdk8", "jdk11", "jdk17", "jdk26"} {
		text := content(t, corpus.Path(t, "threads", "jdk-matrix", release, "jstack.txt"))
		truth := len(parse(t, "x", text).all())
		at := strings.Index(text, "Full thread dump")
		for at < len(text) {
			at += 1 + strings.IndexByte(text[at:], '\n')
			if p := parse(t, "x", text[:at]); len(p.all()) < truth && !p.dumps[0].Truncated {
				t.Errorf("%s, %d bytes: %d threads of %d, and nothing is said", release, at, len(p.all()), truth)
			}
		}
	}
}

// TestAMountedVirtualThreadIsAThread has the layout of jcmd Thread.print of Temurin 25.0.3.
func TestAMountedVirtualThreadIsAThread(t *testing.T) {
	p := parse(t, "x", "Full thread dump OpenJDK 64-Bit Server VM (25.0.3+9-LTS mixed mode, sharing)\n\nThreads class SMR info:\n_java_thread_list=0x01, length=1, elements={\n0x01\n}\n\n"+
		"\"ForkJoinPool-1-worker-1\" #24 [4712] daemon prio=5 os_prio=0 cpu=7.59ms elapsed=9.05s tid=0x00007f06  [0x00007f07]\n   Carrying virtual thread #23\n"+
		"\tat jdk.internal.vm.Continuation.run(java.base@25.0.3/Continuation.java:251)\n   Mounted virtual thread #23\n\tat shop.Cart.sum(Cart.java:4)\n"+
		"\tat java.lang.VirtualThread.run(java.base@25.0.3/VirtualThread.java:460)\n\n   Locked ownable synchronizers:\n\t- None\n\nJNI global refs: 1, weak refs: 0\n")
	if len(p.problems) != 0 || len(p.all()) != 2 {
		t.Fatalf("%d threads, %+v", len(p.all()), p.problems)
	}
	carrier, mounted := p.all()[0], p.all()[1]
	if carrier.Carrying != 23 || len(carrier.Stack.Frames) != 1 || carrier.Sort != analysis.JavaThread {
		t.Errorf("carrier: %+v", carrier)
	}
	if mounted.ID != 23 || mounted.Sort != analysis.VirtualThread || len(mounted.Stack.Frames) != 2 || mounted.Stack.Frames[0].Func != "shop.Cart.sum" {
		t.Errorf("mounted: %+v", mounted)
	}
}

// TestJstackOfJDK5 has the layout of samurai-core/src/test/resources/Apple/1.5.0_13AppleStacked_jstack.dmp
// of yusuke/samurai: dumps of one process, one after the other.
func TestJstackOfJDK5(t *testing.T) {
	one := "Attaching to process ID 4711, please wait...\nDebugger attached successfully.\nClient compiler detected.\nJVM version is 1.5.0_13-119\n" +
		"Thread t@60675: (state = BLOCKED)\n - shop.Cart.sum() @bci=7, line=38 (Interpreted frame)\n\n\nThread t@66307: (state = BLOCKED)\n\n\n"
	p := parse(t, "x", one+one)
	if got := p.counts(); len(got) != 2 || got[0] != 2 || got[1] != 2 || len(warned(p)) != 0 {
		t.Fatalf("%v threads, %+v", got, p.problems)
	}
	if x := p.all()[0]; x.Native != 60675 || len(x.Stack.Frames) != 1 || p.dumps[1].PID != 4711 {
		t.Errorf("%+v of %+v", x, p.dumps[1])
	}
}

func TestSupportCoreNamesItsNode(t *testing.T) {
	thread1 := "\"x\" id=3 (0x3) state=RUNNABLE cpu=12%\n    at a.B.c(B.java:1)\n\n"
	p := parse(t, "x", "Master\n======\n\n*WARNING*: jenkins.util.Timer is unresponsive\n"+thread1+strings.Replace(thread1, "id=3", "id=4", 1)+"agent-7\n=======\n\n"+thread1+" Deadlock Found \na.B.c(B.java:1)\n")
	if len(p.dumps) != 2 || p.dumps[0].Node != "Master" || p.dumps[0].Threads != 2 || p.dumps[1].Node != "agent-7" || p.dumps[1].Threads != 1 ||
		p.dumps[0].Unresponsive != "*WARNING*: jenkins.util.Timer is unresponsive" {
		t.Errorf("%+v", p.dumps)
	}
}

func TestSeveralFilesInOne(t *testing.T) {
	file := "11429\n2026-11-21T02:54:16.125764505Z\n21.0.12\n\n#1 \"main\"\n      a.B.c(B.java:1)\n\n#2 \"x\" virtual\n\n"
	mx := "\"x\" Id=1 Group=main WAITING on C@1b\n\n"
	p := parse(t, "x", file+file+mx+strings.Replace(mx, "Id=1", "Id=2", 1)+hotSpotThread)
	if diff := cmp.Diff([]int{2, 2, 2, 1}, p.counts()); diff != "" {
		t.Fatalf("threads (-want +got):\n%s", diff)
	}
	for i, form := range []string{thread.FormDumpToFile, thread.FormDumpToFile, thread.FormJenkins, thread.FormHotSpot} {
		if d := p.dumps[i]; d.Form != form || d.Ordinal != i {
			t.Errorf("dump %d: %+v", i, d)
		}
	}
	if d := p.dumps[1]; d.PID != 11429 || d.Zoneless || d.Version != "21.0.12" || d.Time.Nanosecond() == 0 || d.Offset != int64(len(file)) {
		t.Errorf("%+v", d)
	}
}

func TestDeadlocksWithAwkwardNames(t *testing.T) {
	p := parse(t, "x", hotSpotThread+"\nFound one Java-level deadlock:\n=============================\n\"two\nlines\":\n  waiting to lock monitor 0x01 (object 0x02, a java.lang.Class for x.Y),\n  which is held by \"a \"b\"\"\n\n\"a \"b\"\":\n  waiting for ownable synchronizer 0x03, (a C$D),\n  which is held by \"two\nlines\"\n\nJava stack information for the threads listed above:\n===\n\"two\nlines\":\n\tat a.B.c(B.java:1)\n\nFound 1 deadlock.\n")
	want := []thread.Deadlock{{Threads: []thread.DeadlockLink{
		{Name: "two\nlines", Waits: "java.lang.Class for x.Y (0x02)", HeldBy: `a "b"`},
		{Name: `a "b"`, Waits: "C$D (0x03)", HeldBy: "two\nlines"},
	}}}
	if diff := cmp.Diff(want, p.dumps[0].Deadlocks); diff != "" || len(p.all()) != 1 {
		t.Errorf("%d threads, deadlocks (-want +got):\n%s", len(p.all()), diff)
	}
}

func TestJstackFPrintsDeadlocksFirst(t *testing.T) {
	p := parse(t, "x", "Deadlock Detection:\n\nFound one Java-level deadlock:\n=====\n\n\"a\":\n  waiting to lock Monitor@0x01 (Object@0x02, a java/lang/String),\n  which is held by \"b\"\n\"b\":\n  waiting to lock Monitor@0x03 (Object@0x04, a java/lang/String),\n  which is held by \"a\"\nFound a total of 1 deadlock.\n\nThread 5: (state = BLOCKED)\n - a.B.c() @bci=1 (Interpreted frame)\n")
	if len(p.dumps) != 1 || len(p.all()) != 1 || len(p.dumps[0].Deadlocks) != 1 || p.dumps[0].Deadlocks[0].Threads[1].Waits != "java.lang.String (0x04)" {
		t.Errorf("%+v", p.dumps)
	}
}

// deadlockAlone is what people paste of a dump whose end names a deadlock.
const deadlockAlone = `Found one Java-level deadlock:
=============================
"waiter":
  waiting to lock monitor 0x01 (object 0x0a, a x.Outer),
  which is held by "first"
"first":
  waiting to lock monitor 0x02 (object 0x0b, a x.Inner),
  which is held by "second"
"second":
  waiting to lock monitor 0x03 (object 0x0a, a x.Outer),
  which is held by "first"

`

func TestADeadlockAloneIsADumpOfItsThreads(t *testing.T) {
	ring := []thread.Deadlock{{Threads: []thread.DeadlockLink{{Name: "first", Waits: "x.Inner (0x0b)", HeldBy: "second"}, {Name: "second", Waits: "x.Outer (0x0a)", HeldBy: "first"}}}}
	for name, text := range map[string]string{
		"without stacks": deadlockAlone,
		"with stacks": deadlockAlone + "Java stack information for the threads listed above:\n====\n\"waiter\":\n\tat a.B.c(B.java:1)\n\t- waiting to lock <0x0a> (a x.Outer)\n" +
			"\"first\":\n\tat a.B.d(B.java:2)\n\t- waiting to lock <0x0b> (a x.Inner)\n\t- locked <0x0a> (a x.Outer)\n\"second\":\n\tat a.B.e(B.java:3)\n\nFound 1 deadlock.\n",
		"with a stack whose name is lost": deadlockAlone + "Java stack information for the threads listed above:\n====\n\tat a.B.c(B.java:1)\n\"second\":\n\tat a.B.e(B.java:3)\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, "x", text)
			var names []string
			for _, x := range p.all() {
				names = append(names, x.Name)
			}
			slices.Sort(names)
			if diff := cmp.Diff([]string{"first", "second", "waiter"}, names); diff != "" {
				t.Errorf("threads (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(ring, p.dumps[0].Deadlocks); diff != "" {
				t.Errorf("the ring without who waits for it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACappedStackSaysSo(t *testing.T) {
	x := parse(t, "x", "\"x\" Id=1 RUNNABLE\n\tat a.B.c(B.java:1)\n\t...\n\n").all()[0]
	if !x.Capped || x.Stack.Elided != -1 {
		t.Errorf("%+v %+v", x, x.Stack)
	}
}

func TestEqualStacksAreShared(t *testing.T) {
	p := parse(t, "x", strings.Repeat(hotSpotThread, 3))
	if a := p.all(); a[0].Stack != a[1].Stack || a[1].Stack != a[2].Stack {
		t.Error("three equal stacks are not one")
	}
}

func TestBoundsHold(t *testing.T) {
	deep := hotSpotThread + strings.Repeat("\tat a.B.c(B.java:1)\n\t- locked <0x01> (a C)\n", 20_000)
	p := parse(t, "x", deep)
	if x := p.all()[0]; len(x.Stack.Frames) != 4096 || x.Stack.Elided != 20_000-4096+2 || len(x.Locks) > 4096 {
		t.Errorf("%d frames, %d elided, %d locks", len(x.Stack.Frames), x.Stack.Elided, len(x.Locks))
	}
	var many strings.Builder
	for i := range 20 {
		fmt.Fprintf(&many, "\"x\" Id=%d RUNNABLE\n\tat a.B.c(B.java:%d)\n\n", i, i)
	}
	n := 0
	_, problems, err := thread.ParseText(strings.NewReader(many.String()), thread.Config{MaxStacks: 5}, func(_ int, x *analysis.Thread) error {
		if x.Stack.Unavailable != "" {
			n++
		}
		return nil
	})
	if err != nil || n != 15 || len(problems) != 1 || !strings.Contains(problems[0].What, "15 threads have no stack") {
		t.Errorf("%d without a stack, %+v, %v", n, problems, err)
	}
	var cut strings.Builder
	for range 30 {
		cut.WriteString("Full thread dump OpenJDK VM:\n" + hotSpotThread)
	}
	_, problems, _ = thread.ParseText(strings.NewReader(cut.String()), thread.Config{MaxProblems: 3}, func(int, *analysis.Thread) error { return nil })
	if len(problems) != 4 || !strings.Contains(problems[3].What, "27 more") {
		t.Errorf("%d problems, the last %+v", len(problems), problems[len(problems)-1])
	}
}

func TestErrorsAreThoseOfTheReaderAndTheVisitor(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, text := range map[string]string{"x.txt": hotSpotThread + hotSpotThread, "x.json": `[{"threadName":"a","threadId":1},{"threadName":"b"`} {
		p, err := read(name, io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || len(p.all()) == 0 {
			t.Errorf("%s: %d threads, %v", name, len(p.all()), err)
		}
	}
	stop := errors.New("enough")
	visit := func(int, *analysis.Thread) error { return stop }
	if _, _, err := thread.ParseText(strings.NewReader(hotSpotThread), thread.Config{}, visit); !errors.Is(err, stop) {
		t.Errorf("text: %v", err)
	}
	if _, _, err := thread.ParseJSON(strings.NewReader(`[{"threadName":"a"}]`), thread.Config{}, visit); !errors.Is(err, stop) {
		t.Errorf("JSON: %v", err)
	}
}

// TestDumpsAreAddedUp: parsing two texts one after the other returns the threads of
// both.
func TestDumpsAreAddedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (string, int) {
			n := rapid.IntRange(0, 5).Draw(t, label)
			text := "2026-11-21 02:46:52\nFull thread dump OpenJDK 64-Bit Server VM (21 mixed mode):\n\n"
			for i := range n {
				text += strings.Replace(hotSpotThread, "worker-1\" #20", fmt.Sprintf("%s\" #%d", rapid.StringMatching(`[a-z" #=]{0,12}`).Draw(t, "name"), i), 1) + "\n"
			}
			return text + "JNI global refs: 1\n\n", n
		}
		a, m := draw("first")
		b, n := draw("second")
		p, err := read("x", strings.NewReader(a+rapid.SampledFrom([]string{"", "log\n", "\n\n"}).Draw(t, "between")+b))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{m, n}, p.counts()); diff != "" {
			t.Fatalf("threads (-want +got):\n%s", diff)
		}
	})
}

func TestFormsWithoutAFirstLineBeginAgainWithADateOrTheirFirstThreads(t *testing.T) {
	numbered := "\"main\" Id=1 RUNNABLE\n\tat a.B.c(B.java:1)\n\n\"x\" Id=7 RUNNABLE\n\tat a.B.c(B.java:1)\n\n"
	unnumbered := "Thread[main,5,main] RUNNABLE\n\tat a.B.c(B.java:1)\n\nThread[x,5,main] RUNNABLE\n\tat a.B.c(B.java:1)\n\n"
	for _, tc := range []struct {
		name, text string
		want       []int
	}{
		{"numbers again", numbered + numbered + numbered, []int{2, 2, 2}},
		{"numbers again, a thread more", numbered + strings.ReplaceAll(numbered, "Id=7", "Id=8") + numbered, []int{2, 2, 2}},
		{"dates between", unnumbered + "Sat Nov 21 03:00:00 UTC 2026\n" + unnumbered, []int{2, 2}},
		{"no numbers and no dates", unnumbered + unnumbered, []int{4}},
		{"a date above", "Sat Nov 21 03:00:00 UTC 2026\n" + unnumbered, []int{2}},
		{"a date between frames", strings.Replace(numbered, "\tat", "2026-11-21 03:00:00\n\tat", 1), []int{2}},
	} {
		if got := parse(t, "x", tc.text).counts(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestAFrameThatWasWrappedIsMended(t *testing.T) {
	const header, frame = "\"main\" #1 prio=5 os_prio=0 tid=0x1 nid=0x2 runnable [0x3]\n   java.lang.Thread.State: RUNNABLE\n", "\tat com.example.Dispatcher.await(Dispatcher.java:251)\n"
	for _, tc := range []struct {
		name, frames string
		want         []string
		problems     int
	}{
		{"within the name of its class", strings.Replace(frame, "Dispatcher.a", "Dispat\ncher.a", 1), []string{"com.example.Dispatcher.await"}, 0},
		{"and not continued", "\tat com.example.Dispat\n" + frame, []string{"com.example.Dispatcher.await"}, 1},
		{"and followed by a sentence", "\tat com.example.Dispat\nit hangs (since noon)\n" + frame, []string{"com.example.Dispatcher.await"}, 1},
	} {
		for _, times := range []int{1, 3} { // what was read once is known
			n := 0
			_, problems, err := thread.ParseText(strings.NewReader(strings.Repeat(header+tc.frames+"\n", times)), thread.Config{}, func(_ int, th *analysis.Thread) error {
				n++
				var got []string
				for _, f := range th.Stack.Frames {
					got = append(got, f.Func)
				}
				if !slices.Equal(got, tc.want) {
					t.Errorf("%s: frames %q, want %q", tc.name, got, tc.want)
				}
				return nil
			})
			if err != nil || n != times || len(problems) > 0 != (tc.problems > 0) {
				t.Errorf("%s: %d threads, %v, %+v", tc.name, n, err, problems)
			}
		}
	}
}

func TestANameEndsBeforeTheAttributesOfAJVMOfSAP(t *testing.T) {
	for line, want := range map[string]string{
		`"HTTP Worker [11]" cpu=411750.00 [reset 411750.00] ms allocated=63 B (59.12 GB) [reset 63 B (59.12 GB)] user="ADMINUSER5" prio=1 tid=0x0000002ca872b0c0 nid=0x4f76 runnable [0x000000004403b000..0x000000004403ed80]`: "HTTP Worker [11]",
		`"HTTP Worker [11]" cpu=439130.00 [reset 439130.00] ms allocated=67 B (62.92 GB) [reset 67 B (62.92 GB)] prio=1 tid=0x0000002ca872b0c0 nid=0x4f76 runnable [0x000000004403e000..0x000000004403ed80]`:                   "HTTP Worker [11]",
		`"a "b" c" prio=1 tid=0x0000002ca872b0c0 nid=0x4f76 runnable`: `a "b" c`,
	} {
		all := parse(t, "x", line+"\n   java.lang.Thread.State: RUNNABLE\n\tat a.B.run(B.java:9)\n").all()
		if len(all) != 1 || all[0].Name != want {
			t.Errorf("%+v, want %q, of %s", all, want, line)
		}
	}
}
