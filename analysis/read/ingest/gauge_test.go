package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestTotalsOfCounts(t *testing.T) {
	two := func(line string) string { return line + "\n" + line + "\n" }
	for _, tc := range []struct {
		name, text string
		want       analysis.Totals
	}{
		{"goroutines", two("goroutines: 120"), analysis.Totals{Goroutines: new(120)}},
		{"descriptors and threads at once", "open FDs: 22\nthreads: 7\nopen FDs: 23\nthreads: 7\n", analysis.Totals{Descriptors: new(22), Threads: new(7)}},
		{"a number beyond all counts", two("goroutines: 1e300"), analysis.Totals{Goroutines: new(largestCount)}},
		{"sockets by their state", "12 ESTABLISHED\n40 CLOSE_WAIT\n", analysis.Totals{Sockets: new(52)}},
		{"numbers below dates", "Wed Mar  4 00:00:01 UTC 2026\n220\nWed Mar  4 01:00:01 UTC 2026\n275\n", analysis.Totals{Numbers: new(220)}},
		{"a listing of processes, of one with its threads", "  PID STAT  RSS THCNT CMD\n   10 S    2048    14 java -jar a.jar\n", analysis.Totals{Threads: new(14)}},
		{"no dump, and a status", "Name:\tthumbd\nPid:\t812\nThreads:\t14\n", analysis.Totals{Threads: new(14)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := run(t, map[string]string{"x.txt": tc.text}).Snapshots
			if len(s) == 0 {
				t.Fatal("no snapshot")
			}
			for _, kind := range append(analysis.Kinds(), analysis.KindCount) {
				if got, want := fmt.Sprint(number(s[0].Totals.Of(kind))), fmt.Sprint(number(tc.want.Of(kind))); got != want {
					t.Errorf("%s: %s, want %s", kind, got, want)
				}
			}
		})
	}
}

func number(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

func TestCountsBesideADumpAreAnotherProcess(t *testing.T) {
	found := run(t, map[string]string{"prober/goroutine.txt": dump(5), "prober/open-fds.log": "open FDs: 22\nopen FDs: 23\n"}).Snapshots
	var got []string
	for i := range found {
		s := &found[i]
		got = append(got, fmt.Sprint(s.Process.Name.Value, " ", number(s.Totals.Goroutines), " ", number(s.Totals.Descriptors), " ", len(s.Groups)))
	}
	want := "[prober 2 <nil> 1 open-fds <nil> 22 0 open-fds <nil> 23 0]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestThePodsOfANodeAreThoseOfAllItsNamespaces(t *testing.T) {
	table := func(namespace string, names ...string) string {
		out := "NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE   IP         NODE    NOMINATED NODE   READINESS GATES\n"
		for _, name := range names {
			out += namespace + "   " + name + "   1/1   Running   2   1h   10.1.0.1   node1   <none>   <none>\n"
		}
		return out
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  []float64
	}{
		"a file for each namespace":     {map[string]string{"pods/shop.txt": table("shop", "a", "b"), "pods/kube-system.txt": table("kube-system", "c")}, []float64{3}},
		"one namespace in two captures": {map[string]string{"t0/pods.txt": table("shop", "a"), "t1/pods.txt": table("shop", "a", "b")}, []float64{1, 2}},
	} {
		var got []float64
		for _, s := range run(t, test.files).Snapshots {
			got = append(got, s.Figures["pods_on_node"])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestAListingOfProcessesTellsTheirMemory(t *testing.T) {
	ps := "USER PID PPID RSS STAT COMMAND\nroot 4711 1 2048 S /usr/bin/kubelet --v=2\nroot 4712 1 1024 S /bin/sh\nroot 4713 9 0 Z [sh] <defunct>\n"
	lsof := "COMMAND  PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nkubelet 4711 root 3u REG 8,1 0 12 /var/log/a\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"alone it is of each of them", map[string]string{"ps.txt": ps}, []string{"kubelet 2 MiB, 0 ended", "process 9 0 MiB, 1 ended", "sh 1 MiB, 0 ended"}},
		{"beside a listing of descriptors it is of its process", map[string]string{"ps.txt": ps, "lsof.txt": lsof}, []string{"kubelet 2 MiB, 0 ended"}},
		{"in another directory of the bundle as well", map[string]string{"sos/process/ps.txt": ps, "sos/process/lsof.txt": lsof}, []string{"kubelet 2 MiB, 0 ended"}},
		{"two listings of one moment that differ in their columns", map[string]string{"ps_auxwww": ps, "ps_alxwww": ps}, []string{"kubelet 2 MiB, 0 ended", "process 9 0 MiB, 1 ended", "sh 1 MiB, 0 ended"}},
		{"two listings are two captures", map[string]string{"ps.txt": "Fri Nov 27 10:00:00 UTC 2026\nPID RSS STAT COMMAND\n10 1024 S web\nFri Nov 27 11:00:00 UTC 2026\nPID RSS STAT COMMAND\n10 2048 S web\n"}, []string{"web 1 MiB, 0 ended", "web 2 MiB, 0 ended"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, s := range run(t, test.files).Snapshots {
				got = append(got, fmt.Sprintf("%s %.0f MiB, %.0f ended", s.Process.Name.Value, s.Figures["process_resident_memory_bytes"]/(1<<20), s.Figures["ended_children"]))
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestLiveChildrenAreFollowedByPid reads reports of Node.js that list the child processes. A listing with
// parents (ps -ef) tells nothing of who they are for: servers keep children on purpose.
func TestLiveChildrenAreFollowedByPid(t *testing.T) {
	const lsof = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nthumbs 3944 root 3u REG 8,1 0 12 /var/log/a\n"
	const ps = "UID        PID  PPID  C STIME TTY          TIME CMD\nroot      3944     1  0 10:00 ?        00:00:01 thumbs -a\nroot      4001  3944  0 10:00 ?        00:00:00  \\_ sleep 600\n"
	report := func(stamp, handles string) string {
		return `{"header":{"processId":3944,"dumpEventTimeStamp":"` + stamp + `","commandLine":["node","a.js"]},"javascriptStack":{},"libuv":[` + handles + `]}`
	}
	const child = `{"type":"process","is_active":true,"is_referenced":true,"address":"0x10","pid":4001}`
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
		left  bool
	}{
		{"in a listing of processes", map[string]string{"lsof-1.txt": lsof, "ps-1.txt": ps}, []string{"none"}, true},
		{"in a report of Node.js", map[string]string{"a.json": report("1793527200000", child), "b.json": report("1793527260000", "")},
			[]string{"1 child process: child process, pid 4001", "0 watch: "}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			result := run(t, test.files)
			for i := range result.Snapshots {
				s := &result.Snapshots[i]
				text := ""
				for _, g := range s.Groups {
					if g.Family.Kind == analysis.KindWatch {
						text += g.Members.First(1)[0].Detail
					}
				}
				if n := s.Totals.Of(analysis.KindWatch); n == nil {
					got = append(got, "none")
				} else {
					got = append(got, fmt.Sprintf("%d %s: %s", *n, s.Totals.Counted(analysis.KindWatch), text))
				}
			}
			left := slices.ContainsFunc(result.Problems, func(p analysis.Problem) bool {
				return strings.Contains(p.What, "nothing of this listing of processes is used")
			})
			if !slices.Equal(got, test.want) || left != test.left {
				t.Errorf("%q, left out %v, want %q, %v", got, left, test.want, test.left)
			}
		})
	}
}

// TestChildrenJoinTheirParent reads listings of the children of a process (ps --ppid PID), which have no
// row of it.
func TestChildrenJoinTheirParent(t *testing.T) {
	children := func(parent, n int) string {
		return "  PID  PPID STAT COMMAND\n" + strings.Repeat(fmt.Sprintf(" 4042  %d Z    [sh] <defunct>\n", parent), n)
	}
	const dump = "goroutine 1 [running]:\nmain.main()\n\t/src/thumbs/main.go:64 +0x20d\n\ngoroutine %d [select]:\nmain.work()\n\t/src/thumbs/main.go:12 +0x1\n\n"
	const lsof = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nthumbs 3944 root %du REG 8,1 0 12 /var/log/a\n"
	first, second := fmt.Sprintf(dump, 21), fmt.Sprintf(dump, 22)
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
		left  int // listings that are compared with nothing
	}{
		{"alone they are captures of one process", map[string]string{"ps-children-1.txt": children(3944, 2), "ps-children-2.txt": children(3944, 3)},
			[]string{"process 3944 on , pid 3944: 2 ended", "process 3944 on , pid 3944: 3 ended"}, 0},
		{"alone, of two processes", map[string]string{"ps-children-1.txt": children(3944, 2) + " 4043  3950 Z    [sh] <defunct>\n"},
			[]string{"process 3944 on , pid 3944: 2 ended", "process 3950 on , pid 3950: 1 ended"}, 0},
		{"beside listings of descriptors, by the pid", map[string]string{"lsof-1.txt": fmt.Sprintf(lsof, 3), "lsof-2.txt": fmt.Sprintf(lsof, 4), "ps-children-1.txt": children(3944, 2), "ps-children-2.txt": children(3944, 3)},
			[]string{"thumbs on , pid 3944: 2 ended", "thumbs on , pid 3944: 3 ended"}, 0},
		{"beside those of another process", map[string]string{"lsof-1.txt": fmt.Sprintf(lsof, 3), "lsof-2.txt": fmt.Sprintf(lsof, 4), "ps-children-1.txt": children(3950, 2), "ps-children-2.txt": children(3950, 3)},
			[]string{"thumbs on , pid 3944: 0 ended", "thumbs on , pid 3944: 0 ended"}, 2},
		{"beside dumps that tell no pid, by the number of the capture", map[string]string{"thumbs-goroutines-1.txt": first, "thumbs-goroutines-2.txt": second, "ps-children-1.txt": children(3944, 2), "ps-children-2.txt": children(3944, 3)},
			[]string{"thumbs on , pid 3944: 2 ended", "thumbs on , pid 3944: 3 ended"}, 0},
		{"beside dumps that tell no pid, without a number", map[string]string{"thumbs-goroutines-1.txt": first, "thumbs-goroutines-2.txt": second, "ps-children.txt": children(3944, 2)},
			[]string{"thumbs on , pid : 0 ended", "thumbs on , pid : 0 ended"}, 1},
		{"of two processes beside dumps that tell no pid", map[string]string{"thumbs-goroutines-1.txt": first, "thumbs-goroutines-2.txt": second, "ps-children-1.txt": children(3944, 2), "ps-children-2.txt": children(3950, 3)},
			[]string{"thumbs on , pid : 0 ended", "thumbs on , pid : 0 ended"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			result := run(t, test.files)
			for _, s := range result.Snapshots {
				got = append(got, fmt.Sprintf("%s on %s, pid %s: %.0f ended", s.Process.Name.Value, s.Process.Host.Value, s.Process.PID.Value, s.Figures["ended_children"]))
			}
			slices.Sort(got)
			left := 0
			for _, p := range result.Problems {
				if strings.Contains(p.What, "are compared with nothing") {
					left++
				}
			}
			if !slices.Equal(got, test.want) || left != test.left {
				t.Errorf("%q, %d left out, want %q, %d", got, left, test.want, test.left)
			}
		})
	}
}
