package thread_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
)

// openJ9 has the layout that runtime/rasdump/javadump.cpp of eclipse-openj9/openj9 writes for
// Java 21, with seven threads: five that the machine counts, one that only the operating
// system knows, and an unmounted virtual one.
const openJ9 = `NULL           ------------------------------------------------------------------------
0SECTION       TITLE subcomponent dump routine
NULL           ===============================
1TICHARSET     UTF-8
1TISIGINFO     Dump Event "user" (00004000) received
1TIDATETIMEUTC Date: 2026/11/21 at 06:02:44:017 (UTC)
1TIDATETIME    Date: 2026/11/21 at 02:02:44:017
1TITIMEZONE    Timezone: UTC-4 (EDT)
1TIFILENAME    Javacore filename:    /srv/shop/javacore.20261121.020244.4711.0001.txt
NULL           ------------------------------------------------------------------------
0SECTION       ENVINFO subcomponent dump routine
NULL           =================================
1CIJAVAVERSION JRE 21 Linux amd64-64 (build 21.0.5+11-LTS)
1CISTARTTIME   JVM start time: 2026/11/21 at 02:01:44:017
1CIPROCESSID   Process ID: 4711 (0x1267)
NULL           ------------------------------------------------------------------------
0SECTION       LOCKS subcomponent dump routine
NULL           ===============================
NULL
1LKPOOLINFO    Monitor pool info:
2LKPOOLTOTAL     Current total number of monitors: 2
NULL
1LKMONPOOLDUMP Monitor Pool Dump (flat & inflated object-monitors):
2LKMONINUSE      sys_mon_t:0x00007F6B903C5E98 infl_mon_t: 0x00007F6B903C5F10:
3LKMONOBJECT       shop/Cart@0x00000000FFE26A10: owner "worker-2" (J9VMThread:0x0000000000300300), entry count 1
3LKWAITERQ            Waiting to enter:
3LKWAITER                "worker-1" (J9VMThread:0x0000000000200200)
2LKMONINUSE      sys_mon_t:0x00007F6B903C5E99 infl_mon_t: 0x00007F6B903C5F11:
3LKMONOBJECT       java/lang/Object@0x00000000FFE26B20: <unowned>
3LKNOTIFYQ            Waiting to be notified:
3LKWAITNOTIFY            "main" (J9VMThread:0x0000000000100100)
NULL
1LKREGMONDUMP  JVM System Monitor Dump (registered monitors):
2LKREGMON          Thread global lock (0x00007FF4F0004FE8): <unowned>
3LKNOTIFYQ            Waiting to be notified:
3LKWAITNOTIFY            "GC Worker" (J9VMThread:0x0000000000400400)
NULL
1LKDEADLOCK    Deadlock detected !!!
NULL           ---------------------
NULL
2LKDEADLOCKTHR  Thread "worker-1" (0x0000000000200200)
3LKDEADLOCKWTR    is waiting for:
4LKDEADLOCKMON      sys_mon_t:0x00007F6B903C5E98 infl_mon_t: 0x00007F6B903C5F10:
4LKDEADLOCKOBJ      shop/Cart@0x00000000FFE26A10
3LKDEADLOCKOWN    which is owned by:
2LKDEADLOCKTHR  Thread "worker-2" (0x0000000000300300)
3LKDEADLOCKWTR    which is waiting for:
4LKDEADLOCKOBJ      java/util/concurrent/locks/ReentrantLock$NonfairSync@0x00000000FFE26C30
3LKDEADLOCKOWN    which is owned by:
2LKDEADLOCKTHR  Thread "worker-1" (0x0000000000200200)
NULL           ------------------------------------------------------------------------
0SECTION       THREADS subcomponent dump routine
NULL           =================================
NULL
1XMPOOLINFO    JVM Thread pool info:
2XMPOOLTOTAL       Current total number of pooled threads: 6
2XMPOOLLIVE        Current total number of live threads: 5
2XMPOOLDAEMON      Current total number of live daemon threads: 2
NULL
1XMTHDINFO     Thread Details
NULL
3XMTHREADINFO      "main" J9VMThread:0x0000000000100100, omrthread_t:0x00007F3F8C0D02C8, java/lang/Thread:0x00000000FFF42120, state:CW, rawStateValue:0x4, prio=5
3XMJAVALTHREAD            (java/lang/Thread getId:0x1, isDaemon:false)
3XMJAVALTHRCCL            jdk/internal/loader/ClassLoaders$AppClassLoader(0x00000000FFF3BF98)
3XMTHREADINFO1            (native thread ID:0x1268, native priority:0x5, native policy:UNKNOWN, vmstate:CW, vm thread flags:0x00000181)
3XMTHREADINFO2            (native stack address range from:0x00007F3F879C5000, to:0x00007F3F87AC5000, size:0x100000)
3XMCPUTIME               CPU usage total: 0.250000000 secs, current category="Application"
3XMTHREADBLOCK     Waiting on: java/lang/Object@0x00000000FFE26B20 Owned by: <unowned>
3XMHEAPALLOC             Heap bytes allocated since last GC cycle=0 (0x0)
3XMTHREADINFO3           Java callstack:
4XESTACKTRACE                at java/lang/Object.waitImpl(Native Method)
4XESTACKTRACE                at java/lang/Object.wait(Object.java:281(Compiled Code))
5XESTACKTRACE                   (entered lock: java/lang/Object@0x00000000FFE26B20, entry count: 1)
4XESTACKTRACE                at shop/Main$$Lambda/0x000000009C1A2B30.run(Bytecode PC:4)
3XMTHREADINFO3           Native callstack:
4XENATIVESTACK               (0x00007F173142A702 [libj9prt29.so+0x4e702])
3XMTHREADINFO4           Type: Platform
NULL
3XMTHREADINFO      "worker-1" J9VMThread:0x0000000000200200, omrthread_t:0x00007F3F8C1494C8, java/lang/Thread:0x00000000FFF53EE8, state:B, rawStateValue:0x2, prio=5
3XMJAVALTHREAD            (java/lang/Thread getId:0x13, isDaemon:true)
3XMTHREADINFO1            (native thread ID:0x1269, native priority:0x5, native policy:UNKNOWN, vmstate:B, vm thread flags:0x00000201)
3XMCPUTIME               CPU usage total: 0.010000000 secs, current category="Application"
3XMTHREADBLOCK     Blocked on: shop/Cart@0x00000000FFE26A10 Owned by: "worker-2" (J9VMThread:0x0000000000300300, java/lang/Thread:0x00000000FFF53D80)
3XMTHREADINFO3           Java callstack:
4XESTACKTRACE                at shop/Cart.sum(Cart.java:4)
3XMTHREADINFO3           No native callstack available for this thread
3XMTHREADINFO4           Type: Platform
NULL
3XMTHREADINFO      "worker-2" J9VMThread:0x0000000000300300, omrthread_t:0x00007F3F8C148F50, java/lang/Thread:0x00000000FFF53D80, state:P, rawStateValue:0x8, prio=5
3XMJAVALTHREAD            (java/lang/Thread getId:0x14, isDaemon:false)
3XMTHREADINFO1            (native thread ID:0x126A, native priority:0x5, native policy:UNKNOWN, vmstate:P, vm thread flags:0x00000081)
3XMTHREADBLOCK     Parked on: java/util/concurrent/locks/ReentrantLock$NonfairSync@0x00000000FFE26C30 Owned by: "worker-1" (J9VMThread:0x0000000000200200, java/lang/Thread:0x00000000FFF53EE8)
3XMTHREADINFO3           Java callstack:
4XESTACKTRACE                at jdk/internal/misc/Unsafe.park(Native Method)
4XESTACKTRACE                at shop/Cart.add(Cart.java:9)
5XESTACKTRACE                   (entered lock: shop/Cart@0x00000000FFE26A10, entry count: 1)
3XMTHREADINFO4           Type: Platform
NULL
3XMTHREADINFO      "JIT Compilation Thread-000" J9VMThread:0x0000000000500500, omrthread_t:0x00007F3F8C148F60, java/lang/Thread:0x00000000FFF53D90, state:R, rawStateValue:0x1, prio=10
3XMJAVALTHREAD            (java/lang/Thread getId:0x4, isDaemon:true)
3XMTHREADINFO1            (native thread ID:0x126B, native priority:0xB, native policy:UNKNOWN, vmstate:CW, vm thread flags:0x00000081)
3XMCPUTIME               CPU usage total: 1.500000000 secs, current category="JIT"
3XMTHREADINFO3           No Java callstack associated with this thread
3XMTHREADINFO3           Native callstack:
4XENATIVESTACK               pthread_cond_wait+0x1a8 (0x09000000005D38AC [libpthread.so.0+0x258ac])
3XMTHREADINFO4           Type: Platform
NULL
3XMTHREADINFO      "GC Worker" J9VMThread:0x0000000000400400, omrthread_t:0x00007F3F8C148F70, java/lang/Thread:0x0000000000000000, state:R, rawStateValue:0x1, prio=0
3XMTHREADINFO1            (native thread ID:0x126C, native priority:0x5, native policy:UNKNOWN, vmstate:R, vm thread flags:0x00000000)
3XMTHREADINFO3           No Java callstack associated with this thread
NULL
3XMTHREADINFO      Anonymous native thread
3XMTHREADINFO1            (native thread ID:0x126D, native priority: 0x0, native policy:UNKNOWN)
3XMTHREADINFO3           Native callstack:
4XENATIVESTACK               pthread_cond_wait+0x1a8 (0x09000000005D38AC [libpthread.so.0+0x258ac])
4XENATIVESTACK               (0x00007F173142A702 [libj9thr29.so+0x4e702])
NULL
1XMTHDSUMMARY  Threads CPU Usage Summary
NULL           =========================
NULL
1XMTHDCATEGORY All JVM attached threads: 1.760000000 secs
1XMTHDCATEGORY |
2XMTHDCATEGORY +--System-JVM: 1.500000000 secs
2XMTHDCATEGORY |  |
3XMTHDCATEGORY |  +--GC: 0.0 secs
2XMTHDCATEGORY |  |
3XMTHDCATEGORY |  +--JIT: 1.500000000 secs
1XMTHDCATEGORY |
2XMTHDCATEGORY +--Application: 0.260000000 secs
NULL
1XMVTHDINFO    Unmounted Threads
NULL           =================
NULL
3XMVTHDINFO        "vt-1" J9VMContinuation:0x00007F3F8C148FFF, java/lang/Thread:0x00000000FFF53DA0
3XMVTHDINFO1             Type: Virtual
3XMTHREADINFO3           Java callstack:
4XESTACKTRACE                at java/lang/VirtualThread.park(VirtualThread.java:732)
NULL
NULL           ------------------------------------------------------------------------
0SECTION       CLASSES subcomponent dump routine
NULL           =================================
0SECTION       Javadump End section
NULL           ---------------------- END OF DUMP -------------------------------------
`

// classic has the layout of IBM/1.4.2IBM/javacore.20060510.122941.6036.txt of yusuke/samurai:
// the current thread stands twice, locks have their threads by identifier, classes have dots.
const classic = `0SECTION       TITLE subcomponent dump routine
NULL           ===============================
1TISIGINFO     signal 21 received
1TIDATETIME    Date:                 2026/11/21 at 02:02:44
1TIFILENAME    Javacore filename:    C:\shop\javacore.20261121.020244.516.txt
NULL           ------------------------------------------------------------------------
0SECTION       LK subcomponent dump routine
NULL           ============================
1LKMONPOOLDUMP Monitor Pool Dump (flat & inflated object-monitors):
2LKMONINUSE      sys_mon_t:0x0003FBD8 infl_mon_t: 0x00000000:
3LKMONOBJECT       shop.Cart@29402D0/29402D8: Flat locked by thread ident 0x02, entry count 1
3LKWAITERQ            Waiting to enter:
3LKWAITER                "main" (0x301A38)
1LKFLATMONDUMP Thread identifiers (as used in flat monitors):
2LKFLATMON         ident 0x03 "Signal dispatcher" (0x101F8B8) ee 0x0101F6E0
2LKFLATMON         ident 0x02 "Thread-1" (0x23C9158) ee 0x023C8F80
2LKFLATMON         ident 0x01 "main" (0x301A38) ee 0x00301860
NULL           ------------------------------------------------------------------------
0SECTION       XM subcomponent dump routine
NULL           ============================
NULL
1XMCURTHDINFO  Current Thread Details
NULL           ----------------------
3XMTHREADINFO      "Signal dispatcher" (TID:0x292B960, sys_thread_t:0x101F8B8, state:R, native ID:0xAAC) prio=5
1XMTHDINFO     All Thread Details
NULL           ------------------
NULL
2XMFULLTHDDUMP Full thread dump Classic VM (J2RE 1.4.2 IBM Windows 32 build cn142sr1w-20041028, native threads):
3XMTHREADINFO      "Thread-1" (TID:0x2ACCB88, sys_thread_t:0x23C9158, state:CW, native ID:0xF4C) prio=5
4XESTACKTRACE          at java.lang.Thread.sleep(Native Method)
4XESTACKTRACE          at shop.Cart.add(Cart.java:9)
3XMTHREADINFO      "Signal dispatcher" (TID:0x292B960, sys_thread_t:0x101F8B8, state:R, native ID:0xAAC) prio=5
3XMTHREADINFO      "main" (TID:0x2928CE0,sys_thread_t:0x301A38, state:MW,native ID:0xA0) prio=5
4XESTACKTRACE          at shop.Cart.sum(Cart.java:4)
NULL           ------------------------------------------------------------------------
0SECTION       CL subcomponent dump routine
NULL           ---------------------- END OF DUMP -------------------------------------
`

// lineOf is a thread as the tables below have it.
func lineOf(x analysis.Thread) string {
	s := fmt.Sprintf("%q %s #%d nid %d %s", x.Name, x.Sort, x.ID, x.Native, x.State)
	for _, f := range x.Stack.Frames {
		s += fmt.Sprintf(" | %s %s:%d", f.Func, f.File, f.Line)
	}
	for _, l := range x.Locks {
		s += fmt.Sprintf(" ; %s %s@%s at %d", l.How, l.Class, l.Object, l.Frame)
		if l.Owner != "" {
			s += " of " + l.Owner
		}
	}
	return s
}

func linesOf(p parsed) []string {
	var out []string
	for _, x := range p.all() {
		out = append(out, lineOf(x))
	}
	return out
}

func TestAJavacoreIsReadWhole(t *testing.T) {
	p := parse(t, "x.javacore", openJ9)
	want := []string{
		`"main" java #1 nid 4712 WAITING | java.lang.Object.waitImpl Native Method:0 | java.lang.Object.wait Object.java:281 | shop.Main$$Lambda/0x000000009C1A2B30.run Unknown Source:0 ; waiting on java.lang.Object@0x00000000FFE26B20 at 0`,
		`"worker-1" java #19 nid 4713 BLOCKED | shop.Cart.sum Cart.java:4 ; waiting to lock shop.Cart@0x00000000FFE26A10 at 0 of worker-2`,
		`"worker-2" java #20 nid 4714 WAITING | jdk.internal.misc.Unsafe.park Native Method:0 | shop.Cart.add Cart.java:9 ; parking to wait for java.util.concurrent.locks.ReentrantLock$NonfairSync@0x00000000FFE26C30 at 0 of worker-1 ; locked shop.Cart@0x00000000FFE26A10 at 1`,
		`"JIT Compilation Thread-000" vm #4 nid 4715 RUNNABLE`,
		`"GC Worker" vm #-1 nid 4716 RUNNABLE`,
		`"Anonymous native thread" vm #-1 nid 4717  | pthread_cond_wait+0x1a8 libpthread.so.0:0 | libj9thr29.so+0x4e702 libj9thr29.so:0`,
		`"vt-1" virtual #-1 nid 0  | java.lang.VirtualThread.park VirtualThread.java:732`,
	}
	if diff := cmp.Diff(want, linesOf(p)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if cpu := p.all()[0].CPU; cpu != 0.25 || !p.all()[1].Daemon {
		t.Errorf("cpu %v, daemon %v", cpu, p.all()[1].Daemon)
	}
	dump := thread.Dump{
		Form: thread.FormJavacore, PID: 4711, Time: time.Date(2026, 11, 21, 6, 2, 44, 17e6, time.UTC), Version: "JRE 21 Linux amd64-64 (build 21.0.5+11-LTS)",
		MainElapsed: 60, Threads: 7, Declared: 5, Line: 2, Offset: 88,
		Deadlocks: []thread.Deadlock{{Threads: []thread.DeadlockLink{
			{Name: "worker-1", Waits: "shop.Cart (0x00000000FFE26A10)", HeldBy: "worker-2"},
			{Name: "worker-2", Waits: "java.util.concurrent.locks.ReentrantLock$NonfairSync (0x00000000FFE26C30)", HeldBy: "worker-1"},
		}}},
	}
	if diff := cmp.Diff([]thread.Dump{dump}, p.dumps); diff != "" {
		t.Errorf("dumps (-want +got):\n%s", diff)
	}
	if len(p.problems) != 0 {
		t.Errorf("problems %+v", p.problems)
	}
}

func TestAJavacoreBeforeJava5IsReadWhole(t *testing.T) {
	p := parse(t, "x.javacore", classic)
	want := []string{
		`"Signal dispatcher" java #-1 nid 2732 RUNNABLE`,
		`"Thread-1" java #-1 nid 3916 CW | java.lang.Thread.sleep Native Method:0 | shop.Cart.add Cart.java:9 ; locked shop.Cart@29402D0 at -1`,
		`"main" java #-1 nid 160 MW | shop.Cart.sum Cart.java:4 ; waiting to lock shop.Cart@29402D0 at -1`,
	}
	if diff := cmp.Diff(want, linesOf(p)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if d := p.dumps[0]; d.PID != 516 || !d.Zoneless || d.Truncated || d.Declared != 3 || len(warned(p)) != 0 {
		t.Errorf("%+v, %+v", d, p.problems)
	}
}

func TestWhatAJavacoreLacksIsSaid(t *testing.T) {
	without := func(s, line string) string {
		at := strings.Index(s, line)
		return s[:at] + s[at+strings.IndexByte(s[at:], '\n')+1:]
	}
	for _, tc := range []struct {
		name, text string
		threads    int
		refused    int
		what, why  string
	}{
		{"a header is missing", without(openJ9, `3XMTHREADINFO      "worker-2"`), 6, 1, "1 thread was not understood", "3XMJAVALTHREAD"},
		{"a header of the machine is missing", without(openJ9, `3XMTHREADINFO      "GC Worker"`), 6, 1, "1 thread was not understood", "3XMTHREADINFO1"},
		{"a header is damaged", strings.Replace(openJ9, `"worker-2" J9VMThread:0x`, `"worker-2" J9VMThr`, 1), 6, 1, "1 thread was not understood", "worker-2"},
		{"a whole thread is missing", strings.Replace(openJ9, openJ9[strings.Index(openJ9, `3XMTHREADINFO      "worker-2"`):strings.Index(openJ9, `3XMTHREADINFO      "JIT`)], "", 1), 6, 0,
			"not whole", "the virtual machine lists 5 threads, 4 of them are in the text"},
		{"a header without more is missing", without(classic, `3XMTHREADINFO      "main"`), 2, 0, "not whole", "lists 3 threads, 2 of them"},
		{"more threads than there are", strings.Replace(openJ9, "live threads: 5", "live threads: 4", 1), 7, 0, "more threads than", "lists 4 threads, 5 of them"},
		{"it stops before the threads", openJ9[:strings.Index(openJ9, "0SECTION       THREADS")], 0, 0, "not whole", "it holds no line of a thread"},
		{"it stops among the threads", strings.Replace(openJ9[:strings.Index(openJ9, "1XMTHDSUMMARY")], "2XMPOOLLIVE", "2XMPOOLXXXX", 1), 6, 0, "not whole", "END OF DUMP is missing"},
		{"an excerpt stops in a line", `3XMTHREADINFO      "main" J9VMThread:0x0000000000100100, omrthread_t:0x00007F`, 1, 0, "not whole", "ends inside a line"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := parse(t, "x.javacore", tc.text)
			warnings := warned(p)
			if len(p.all()) != tc.threads || refused(p) != tc.refused || len(warnings) != 1 {
				t.Fatalf("%d threads and %d refused, %+v", len(p.all()), refused(p), warnings)
			}
			if !strings.Contains(warnings[0].What, tc.what) || !strings.Contains(warnings[0].Why, tc.why) {
				t.Errorf("%+v", warnings[0])
			}
		})
	}
}

func TestSeveralJavacoresInOneFile(t *testing.T) {
	p := parse(t, "x.javacore", openJ9+classic+openJ9)
	if !slices.Equal(p.counts(), []int{7, 3, 7}) || len(warned(p)) != 0 {
		t.Errorf("%v threads, %+v", p.counts(), p.problems)
	}
	excerpt := openJ9[strings.Index(openJ9, "3XMTHREADINFO"):strings.Index(openJ9, "3XMTHREADINFO      \"worker-2\"")]
	if p := parse(t, "x.javacore", excerpt); !slices.Equal(p.counts(), []int{2}) || len(p.problems) != 0 {
		t.Errorf("excerpt: %v threads, %+v", p.counts(), p.problems)
	}
}

// A document shows parts of several javacores: one without a title says nothing of its process.
func TestAPartOfAJavacoreBelowAnotherIsOfNoKnownProcess(t *testing.T) {
	locks := openJ9[strings.Index(openJ9, "1LKDEADLOCK"):strings.Index(openJ9, "NULL           ------------------------------------------------------------------------\n0SECTION       THREADS")]
	section := openJ9[strings.Index(openJ9, "0SECTION       THREADS"):]
	workers := openJ9[strings.Index(openJ9, "3XMTHREADINFO      \"worker-1\""):strings.Index(openJ9, "3XMTHREADINFO      \"JIT")]
	const prose = "```\n\nThe next output is of another program.\n\n```\n"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"a deadlock with its threads", openJ9 + prose + locks + prose + workers, []string{"4711: 7 threads, 1 deadlock", "excerpt: 2 threads, 1 deadlock"}},
		{"another section of threads", openJ9 + prose + section, []string{"4711: 7 threads, 1 deadlock", "excerpt: 7 threads, 0 deadlock"}},
		{"a whole javacore", openJ9 + prose + openJ9, []string{"4711: 7 threads, 1 deadlock", "4711: 7 threads, 1 deadlock"}},
		{"prose between the title and the threads", openJ9[:strings.Index(openJ9, "0SECTION       LOCKS")] + prose + section, []string{"4711: 7 threads, 0 deadlock"}},
	} {
		var got []string
		for _, d := range parse(t, "x.javacore", tc.text).dumps {
			who := fmt.Sprint(d.PID)
			if d.Excerpt {
				who = "excerpt"
			}
			got = append(got, fmt.Sprintf("%s: %d threads, %d deadlock", who, d.Threads, len(d.Deadlocks)))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestNamesInAJavacoreHoldAnything(t *testing.T) {
	for _, name := range []string{``, `a "quoted" one`, `(TID:0x1) state:B`, "two\nlines", `GET http://host/a?b=c, prio=9`} {
		p := parse(t, "x.javacore", strings.Replace(openJ9, `"worker-1" J9VMThread`, `"`+name+`" J9VMThread`, 1))
		if len(p.all()) != 7 || p.all()[1].Name != name || p.all()[1].State != "BLOCKED" || len(warned(p)) != 0 {
			t.Errorf("%q: %d threads, %q, %+v", name, len(p.all()), p.all()[1].Name, warned(p))
		}
	}
}

// TestNoLineOfAJavacoreIsLostInSilence cuts, repeats or garbles any line.
func TestNoLineOfAJavacoreIsLostInSilence(t *testing.T) {
	for name, text := range map[string]string{"OpenJ9": openJ9, "Classic VM": classic} {
		truth := len(parse(t, "x.javacore", text).all())
		lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
		rapid.Check(t, func(t *rapid.T) {
			at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
			damaged := slices.Clone(lines)
			switch rapid.SampledFrom([]string{"remove", "cut", "garble", "insert", "end"}).Draw(t, "damage") {
			case "remove":
				damaged[at] = ""
			case "cut":
				damaged[at] = lines[at][:rapid.IntRange(0, len(lines[at])-1).Draw(t, "kept")] + "\n"
			case "garble":
				i := rapid.IntRange(0, len(lines[at])-1).Draw(t, "byte")
				damaged[at] = lines[at][:i] + "\x00\x07" + lines[at][i:]
			case "insert":
				damaged[at] += "2026-11-21 02:46:52 INFO started\n"
			case "end":
				damaged = damaged[:max(at, 5)] // with the first words of a javacore
			}
			got, err := read("x.javacore", strings.NewReader(strings.Join(damaged, "")))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(got.all()); n < truth && len(warned(got)) == 0 {
				t.Fatalf("%s: %d threads of %d, and no warning: %q", name, n, truth, lines[min(at, len(lines)-1)])
			}
		})
	}
}
