package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// jstack is a HotSpot dump with the given threads; each is a header's name and the
// lines below it.
func jstack(at string, threads ...[2]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n", at)
	for i, t := range threads {
		fmt.Fprintf(&b, "%q #%d daemon prio=5 os_prio=0 cpu=1.00ms elapsed=%d.00s tid=0x00007f00%04x nid=0x%x waiting on condition  [0x00007f]\n%s\n\n", t[0], i+20, 10*i, i, i+100, t[1])
	}
	b.WriteString("JNI global refs: 4, weak refs: 0\n")
	return b.String()
}

func blocked(object string) string {
	return "   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat app.Store.get(Store.java:10)\n\t- waiting to lock <" + object + "> (a app.Store)"
}

func waiting(object string) string {
	return "   java.lang.Thread.State: WAITING (parking)\n\tat app.Pool.take(Pool.java:10)\n\t- parking to wait for  <" + object + "> (a app.Pool)"
}

func TestADumpOfThreadsStatesWhoWaitsForWhom(t *testing.T) {
	owner := [2]string{"writer", "   java.lang.Thread.State: RUNNABLE\n\tat app.Disk.write(Disk.java:7)\n\t- locked <0x00000001> (a app.Store)"}
	pools := func(n int, object func(int) string) (out [][2]string) {
		for i := range n {
			out = append(out, [2]string{fmt.Sprintf("pool-%d-thread-1", i), waiting(object(i))})
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		threads [][2]string
		want    []string
	}{
		{"three threads behind one holder are contention",
			[][2]string{owner, {"a", blocked("0x00000001")}, {"b", blocked("0x00000001")}, {"c", blocked("0x00000001")}},
			[]string{`3 threads wait for one lock, a app.Store | "a" and 2 others in jstack.txt wait for 0x00000001 (a app.Store), which "writer" holds while it is RUNNABLE in app.Disk.write. That is contention, no leak: look at what the holder does.`}},
		{"two threads behind one holder are everyday life", [][2]string{owner, {"a", blocked("0x00000001")}, {"b", blocked("0x00000001")}}, nil},
		{"ten threads with an object each are ten owners", pools(10, func(i int) string { return fmt.Sprintf("0x%08x", i+16) }),
			[]string{"10 of 10 threads wait for an object of their own: pool-N-thread-N · Pool.take | Those objects are of app.Pool. Idle workers of one executor would wait for the same one."}},
		{"ten threads of one object are one pool", pools(10, func(int) string { return "0x00000010" }), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := run(t, map[string]string{"t0/app/jstack.txt": jstack("2026-11-21 02:46:52", tc.threads...)}).Snapshots
			if len(s) != 1 {
				t.Fatalf("%d snapshots", len(s))
			}
			var got []string
			for _, f := range s[0].Statements {
				got = append(got, f.Title+" | "+f.Text)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDumpsOfThreadsBecomeSnapshots(t *testing.T) {
	one := func(n int) (out [][2]string) {
		for i := range n {
			out = append(out, [2]string{fmt.Sprintf("worker-%d", i), waiting("0x00000010")})
		}
		return out
	}
	early, late := jstack("2026-11-21 02:46:52", one(4)...), jstack("2026-11-21 02:46:57", one(6)...)
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"two forms of one second are one instant", map[string]string{"t0/app/jstack.txt": early, "t0/app/jcmd-Thread.print-l.txt": early}, []string{"app t0 4t at 02:46:52"}},
		{"two dumps five seconds apart are two", map[string]string{"app/jstack.txt": early, "app/jstack-later.txt": late}, []string{" #1 4t at 02:46:52", " later 6t at 02:46:57"}},
		{"dumps between the lines of a log are one each", map[string]string{"app/stdout.log": "starting\n" + early + "working\n" + late + "done\n"},
			[]string{" #1 4t at 02:46:52", " #2 6t at 02:46:57"}},
		{"a log that repeats the captures beside it adds nothing", map[string]string{
			"app.log": "starting\n" + early + "working\n" + late + "done\n", "t0/app/jstack.txt": early, "t1/app/jstack.txt": late,
		}, []string{"app t0 4t at 02:46:52", "app t1 6t at 02:46:57"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range run(t, tc.files).Snapshots {
				line := fmt.Sprintf("%s %s %dt", s.Process.Name.Value, s.Label, *s.Totals.Threads)
				got = append(got, line+" at "+s.CapturedAt.Format("15:04:05"))
				if !s.Zoneless {
					t.Errorf("%s: the time has no zone, and nobody says so", line)
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestJavacoresAreFollowedByTheirThreads has names as OpenJ9 gives them to its files; an
// unmounted virtual thread has no id, which hides no other's.
func TestJavacoresAreFollowedByTheirThreads(t *testing.T) {
	javacore := func(minute int) string {
		return fmt.Sprintf("0SECTION       TITLE subcomponent dump routine\n1TIDATETIMEUTC Date: 2026/11/21 at 06:%02d:44:017 (UTC)\n1CIPROCESSID   Process ID: 4711 (0x1267)\n"+
			"NULL\n0SECTION       THREADS subcomponent dump routine\n2XMPOOLLIVE        Current total number of live threads: 1\n"+
			"3XMTHREADINFO      \"worker\" J9VMThread:0x0000000000100100, omrthread_t:0x01, java/lang/Thread:0x02, state:R, prio=5\n"+
			"3XMJAVALTHREAD            (java/lang/Thread getId:0x13, isDaemon:false)\n3XMTHREADINFO3           Java callstack:\n4XESTACKTRACE                at shop/Cart.sum(Cart.java:4)\nNULL\n"+
			"3XMVTHDINFO        \"\" J9VMContinuation:0x03, java/lang/Thread:0x04\n3XMVTHDINFO1             Type: Virtual\nNULL\n"+
			"0SECTION       Javadump End section\nNULL           ---------------------- END OF DUMP -------------------------------------\n", minute)
	}
	var got []string
	for _, s := range run(t, map[string]string{"javacore.20261121.020244.4711.0001.txt": javacore(2), "javacore.20261121.020344.4711.0002.txt": javacore(3)}).Snapshots {
		line := fmt.Sprintf("pid %s at %s: %d threads,", s.Process.PID.Value, s.CapturedAt.Format("15:04:05"), *s.Totals.Threads)
		for _, g := range s.Groups {
			line += fmt.Sprintf(" %s %v", g.Family.Attributes["sort"], g.Members.Fill().ID)
		}
		got = append(got, line)
	}
	want := []string{"pid 4711 at 06:02:44: 2 threads, virtual [] java [19]", "pid 4711 at 06:03:44: 2 threads, virtual [] java [19]"}
	for i := range got {
		got[i] = strings.Replace(got[i], "java [19] virtual []", "virtual [] java [19]", 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAThreadIsFollowedByItsNumber: its name tells what it does. A thread of the virtual machine has
// no number, and another one may have its nid next.
func TestAThreadIsFollowedByItsNumber(t *testing.T) {
	dump := func(name, machine string) string {
		return "2026-05-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n" +
			"\"" + name + "\" #31 prio=5 os_prio=0 cpu=1.52ms elapsed=9.25s tid=0x00007f33d0000310 nid=0x31 waiting on condition  [0x00007f33d451e000]\n" +
			"   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\tat com.acme.Mail.send(Mail.java:23)\n\n" +
			"\"" + machine + "\" os_prio=0 cpu=1.52ms elapsed=9.25s tid=0x00007f33d0000320 nid=0x32 runnable\n\nJNI global refs: 20, weak refs: 0\n"
	}
	identities := func(name, machine string) map[string]analysis.Identity {
		out := map[string]analysis.Identity{}
		for _, s := range run(t, map[string]string{"jstack.txt": dump(name, machine)}).Snapshots {
			for i := range s.Groups {
				for id := range s.Groups[i].Members.Identities() {
					out[s.Groups[i].Family.Attributes["sort"]] = id
				}
			}
		}
		return out
	}
	idle, busy := identities("mailer-7 [idle]", "VM Thread"), identities("mailer-7 [sending]", "G1 Service")
	if idle["java"] != (analysis.Identity{ID: 31}) || busy["java"] != idle["java"] {
		t.Errorf("renamed: %+v, then %+v; want the number alone", idle["java"], busy["java"])
	}
	if idle["vm"].ID != 0x32 || busy["vm"].ID != 0x32 || idle["vm"] == busy["vm"] {
		t.Errorf("two threads of the virtual machine with one nid: %+v, then %+v", idle["vm"], busy["vm"])
	}
}

func TestACutThreadDumpIsALowerBound(t *testing.T) {
	var threads [][2]string
	for i := range 9 {
		threads = append(threads, [2]string{fmt.Sprintf("w-%d", i), "   java.lang.Thread.State: WAITING (parking)\n\tat shop.Cart.sum(Cart.java:4)"})
	}
	whole := jstack("2026-07-01 00:00:00", threads...)
	for name, tt := range map[string]struct {
		text string
		cut  bool
		want int
	}{
		"a whole one":              {whole, false, 9},
		"cut within its seventh":   {whole[:strings.Index(whole, "\"w-6\"")+150], true, 7},
		"cut behind its last line": {whole[:strings.Index(whole, "JNI")], true, 9},
	} {
		t.Run(name, func(t *testing.T) {
			s := run(t, map[string]string{"t0/jstack.txt": tt.text}).Snapshots[0]
			if *s.Totals.Threads != tt.want || s.LowerBound != tt.cut || s.Truncated != tt.cut || s.Bounded(analysis.KindThread) != tt.cut {
				t.Errorf("%d threads, lower bound %v, truncated %v, bounded %v", *s.Totals.Threads, s.LowerBound, s.Truncated, s.Bounded(analysis.KindThread))
			}
		})
	}
}

func TestHotThreadsAreThoseOfTheirNode(t *testing.T) {
	const node = "::: {es-%d}{a}{b}{10.0.0.%d}{10.0.0.%d:9300}\n   Hot threads at 2026-11-21T02:54:23.304Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:\n\n" +
		"   44.0%% (220.2ms out of 500ms) cpu usage by thread 'elasticsearch[es-%d][search][T#2]'\n     10/10 snapshots sharing following 1 elements\n       java.base@17.0.4/java.lang.Thread.run(Thread.java:833)\n\n"
	result := run(t, map[string]string{"nodes_hot_threads.txt": fmt.Sprintf(node, 1, 1, 1, 1) + fmt.Sprintf(node, 2, 2, 2, 2)})
	var got []string
	for _, s := range result.Snapshots {
		got = append(got, fmt.Sprintf("%s by %s: %d, whole %v", s.Process.Host.Value, s.Process.Host.Source, *s.Totals.Threads, !s.Truncated))
	}
	want := []string{"es-1 by nodes_hot_threads.txt: 1, whole false", "es-2 by nodes_hot_threads.txt: 1, whole false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
