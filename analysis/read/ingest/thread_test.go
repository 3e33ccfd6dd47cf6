package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			[]string{"pool-N-thread-N · Pool.take: an object for each thread | 10 of the 10 threads name the object that they wait for (app.Pool), and it is another one for each: there are as many owners as threads. A pool that is shared has one; so many were made one by one."}},
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
