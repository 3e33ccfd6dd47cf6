package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// textOf is a debug=2 dump of the program srv with main and workers of some numbers.
func textOf(numbers ...int) string {
	var text strings.Builder
	text.WriteString("goroutine 1 [select, 900 minutes]:\nmain.main()\n\t/srv/m.go:1 +0x1\n\n")
	for _, n := range numbers {
		fmt.Fprintf(&text, "goroutine %d [select, 5 minutes]:\nmain.worker(0x1)\n\t/srv/a.go:1 +0x1\ncreated by main.main\n\t/srv/m.go:9 +0x1\n\n", n)
	}
	return text.String()
}

// srvCounts is a debug=1 dump of the program srv.
func srvCounts(n int) string {
	return fmt.Sprintf("goroutine profile: total %d\n1 @ 0x1\n#\t0x1\tmain.main+0x1\t/srv/m.go:1\n\n%d @ 0x2\n#\t0x2\tmain.worker+0x1\t/srv/a.go:1\n\n", n+1, n)
}

func between(from, to int) (out []int) {
	for n := from; n < to; n++ {
		out = append(out, 100*n+n%7)
	}
	return out
}

// listening is a goroutine that accepts at a socket.
func listening(address string) string {
	return "goroutine 3 [IO wait]:\ninternal/poll.runtime_pollWait(" + address + ", 0x72)\n\t/go/src/runtime/netpoll.go:351 +0x85\ninternal/poll.(*pollDesc).waitRead(...)\n\t/go/src/internal/poll/fd_poll_runtime.go:89\n" +
		"internal/poll.(*FD).Accept(0xc000054080)\n\t/go/src/internal/poll/fd_unix.go:613 +0x28c\nmain.main()\n\t/src/srv/main.go:26 +0xa5\n\n"
}

func TestNamesTellReplicasApartWhereIdentitiesAllowIt(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		// want are the hosts, "" for one process.
		want string
	}{
		{"no number is in two dumps", map[string]string{"web-0.txt": textOf(between(1, 40)...), "web-1.txt": textOf(between(40, 90)...), "web-2.txt": textOf(between(90, 140)...)}, "web-0 web-1 web-2"},
		{"names in directories", map[string]string{"web-0/goroutine.txt": textOf(between(1, 40)...), "web-1/goroutine.txt": textOf(between(40, 90)...)}, "web-0 web-1"},
		{"names with times", map[string]string{"web-0-2026-11-01T10-00-00.txt": textOf(between(1, 40)...), "web-1-2026-11-01T10-00-05.txt": textOf(between(40, 90)...)}, "web-0 web-1"},
		{"the second dump has most of the first", map[string]string{"web-0.txt": textOf(between(1, 40)...), "web-1.txt": textOf(between(10, 60)...)}, ""},
		{"some goroutines stay", map[string]string{"web-0.txt": textOf(between(1, 40)...), "web-1.txt": textOf(between(37, 140)...)}, ""},
		{"a restart: only the time differs", map[string]string{"web-2026-11-01T10-00-00.txt": textOf(between(1, 40)...), "web-2026-11-01T11-00-00.txt": textOf(between(40, 90)...)}, ""},
		{"replicas at times without seconds", map[string]string{"web-0-2026-11-01T10-00.txt": textOf(between(1, 40)...), "web-1-2026-11-01T10-10.txt": textOf(between(40, 90)...)}, "web-0 web-1"},
		{"a restart: only a time without seconds differs", map[string]string{"web-2026-11-01T10-00.txt": textOf(between(1, 40)...), "web-2026-11-01T11-10.txt": textOf(between(40, 90)...)}, ""},
		{"a restart over New Year", map[string]string{"web-2026-12-31T23-50.txt": textOf(between(1, 40)...), "web-2027-01-01T00-10.txt": textOf(between(40, 90)...)}, ""},
		{"a restart: only tN differs", map[string]string{"web-t0.txt": textOf(between(1, 40)...), "web-t1.txt": textOf(between(40, 90)...)}, ""},
		{"a restart: before and after", map[string]string{"before.txt": textOf(between(1, 40)...), "after.txt": textOf(between(40, 90)...)}, ""},
		{"a restart: numbers follow one another", map[string]string{"p1-t1.txt": textOf(between(1, 40)...), "p2-t2.txt": textOf(between(40, 90)...)}, ""},
		{"a letter and a number count captures, from 0 as well", map[string]string{"h0.txt": srvCounts(40), "h1.txt": srvCounts(50)}, ""},
		{"counts of several names", map[string]string{"web-0.txt": srvCounts(40), "web-1.txt": srvCounts(50)}, "web-0 web-1"},
		{"counts of pods", map[string]string{"web-7d9f8b6c5-x2x4z.txt": srvCounts(40), "web-7d9f8b6c5-qq7lm.txt": srvCounts(50)}, "web-7d9f8b6c5-qq7lm web-7d9f8b6c5-x2x4z"},
		{"counts that the program's name numbers", map[string]string{"srv-1.txt": srvCounts(40), "srv-2.txt": srvCounts(50)}, ""},
		{"counts that are numbered from 0, as sets of pods are", map[string]string{"srv-0.txt": srvCounts(40), "srv-1.txt": srvCounts(50)}, "srv-0 srv-1"},
		{"dumps of workers that live short, which a known name counts from 1", map[string]string{"srv.1.txt": textOf(between(1, 40)...), "srv.2.txt": textOf(between(40, 90)...)}, ""},
		{"the second of two such names has the lower numbers", map[string]string{"srv.1.txt": textOf(between(40, 90)...), "srv.2.txt": textOf(between(1, 40)...)}, "srv.1 srv.2"},
		{"three dumps in order that a name of no program counts", map[string]string{"app-1.txt": textOf(between(1, 40)...), "app-2.txt": textOf(between(40, 90)...), "app-3.txt": textOf(between(90, 140)...)}, ""},
		{"two of them, as replicas are by chance", map[string]string{"app-1.txt": textOf(between(1, 40)...), "app-2.txt": textOf(between(40, 90)...)}, "app-1 app-2"},
		{"the third is some numbers behind the second", map[string]string{"app-1.txt": textOf(7), "app-2.txt": textOf(7, 104), "app-3.txt": textOf(7, 40)}, ""},
		{"the third is more numbers behind than processors take at once", map[string]string{"app-1.txt": textOf(7), "app-2.txt": textOf(7, 105), "app-3.txt": textOf(7, 40)}, "app-1 app-2 app-3"},
		{"one number of two creators", map[string]string{"app-1.txt": textOf(7), "app-2.txt": textOf(8, 9), "app-3.txt": strings.ReplaceAll(textOf(7), "created by main.main", "created by main.serve")}, "app-1 app-2 app-3"},
		{"three dumps in order that are numbered from 0", map[string]string{"app-0.txt": textOf(between(1, 40)...), "app-1.txt": textOf(between(40, 90)...), "app-2.txt": textOf(between(90, 140)...)}, "app-0 app-1 app-2"},
		{"three dumps in order, of which the first are not given", map[string]string{"app-3.txt": textOf(between(1, 40)...), "app-4.txt": textOf(between(40, 90)...), "app-5.txt": textOf(between(90, 140)...)}, ""},
		{"one between is not given", map[string]string{"app-1.txt": textOf(between(1, 40)...), "app-3.txt": textOf(between(40, 90)...), "app-4.txt": textOf(between(90, 140)...)}, "app-1 app-3 app-4"},
		{"two processes with two dumps each, which their names count", map[string]string{"web-0-1.txt": textOf(between(1, 40)...), "web-0-2.txt": textOf(between(1, 50)...), "web-1-1.txt": textOf(between(50, 90)...), "web-1-2.txt": textOf(between(50, 95)...)}, "web-0 web-0 web-1 web-1"},
		{"three dumps in order of directories", map[string]string{"app-1/goroutine.txt": textOf(between(1, 40)...), "app-2/goroutine.txt": textOf(between(40, 90)...), "app-3/goroutine.txt": textOf(between(90, 140)...)}, ""},
		{"two dumps of workers that live short, of one socket to accept at", map[string]string{"app-1.txt": textOf(between(1, 40)...) + listening("0x7f346f0d2000"), "app-2.txt": textOf(between(40, 90)...) + listening("0x7f346f0d2000")}, ""},
		{"four dumps in order, of one socket and then of another: a restart", map[string]string{"app-1.txt": textOf(between(1, 40)...) + listening("0x7f346f0d2000"), "app-2.txt": textOf(between(1, 50)...) + listening("0x7f346f0d2000"), "app-3.txt": textOf(between(1, 30)...) + listening("0x7f5556a4c000"), "app-4.txt": textOf(between(1, 40)...) + listening("0x7f5556a4c000")}, ""},
		{"four dumps of two sockets in turn", map[string]string{"app-1.txt": textOf(between(1, 40)...) + listening("0x7f346f0d2000"), "app-2.txt": textOf(between(1, 50)...) + listening("0x7f5556a4c000"), "app-3.txt": textOf(between(1, 60)...) + listening("0x7f346f0d2000"), "app-4.txt": textOf(between(1, 40)...) + listening("0x7f5556a4c000")}, "app-1 app-1 app-2 app-2"},
		{"three dumps in order, of other sockets", map[string]string{"app-1.txt": textOf(between(1, 40)...) + listening("0x7f346f0d2000"), "app-2.txt": textOf(between(1, 50)...) + listening("0x7f346f0d3000"), "app-3.txt": textOf(between(1, 60)...) + listening("0x7f346f0d4000")}, "app-1 app-2 app-3"},
		{"letters of processes, and numbers of their dumps", map[string]string{"app-a-1.txt": textOf(between(1, 40)...), "app-a-2.txt": textOf(between(1, 50)...), "app-b-1.txt": textOf(between(50, 90)...), "app-b-2.txt": textOf(between(50, 95)...)}, "app-a app-a app-b app-b"},
		{"directories of letters with dumps that are counted", map[string]string{"a/dump-1.txt": textOf(between(1, 40)...), "a/dump-2.txt": textOf(between(1, 50)...), "b/dump-1.txt": textOf(between(50, 90)...), "b/dump-2.txt": textOf(between(50, 95)...)}, "a a b b"},
		{"directories of letters with a dump each", map[string]string{"a/dump.txt": textOf(between(1, 40)...), "b/dump.txt": textOf(between(50, 90)...)}, ""},
		{"dumps that letters order", map[string]string{"dump-a.txt": textOf(between(1, 40)...), "dump-b.txt": textOf(between(50, 90)...)}, ""},
		{"counts of a workload with the name of no program", map[string]string{"app-1.txt": srvCounts(40), "app-2.txt": srvCounts(50)}, "app-1 app-2"},
		{"counts in directories of several names", map[string]string{"web-0/goroutine.txt": srvCounts(40), "web-1/goroutine.txt": srvCounts(50)}, "web-0 web-1"},
		{"counts below the top of an archive", map[string]string{"case/dumps/web-0/goroutine.txt": srvCounts(40), "case/dumps/web-1/goroutine.txt": srvCounts(50)}, "web-0 web-1"},
		{"counts in directories of one program on two hosts", map[string]string{"node1/srv/goroutine.txt": srvCounts(40), "node2/srv/goroutine.txt": srvCounts(50)}, "node1 node2"},
		{"counts of addresses", map[string]string{"10.0.0.1.txt": srvCounts(40), "10.0.0.2.txt": srvCounts(50)}, "10.0.0.1 10.0.0.2"},
		{"counts in directories of addresses", map[string]string{"10.0.0.1/goroutine.txt": srvCounts(40), "10.0.0.2/goroutine.txt": srvCounts(50)}, "10.0.0.1 10.0.0.2"},
		{"texts of addresses", map[string]string{"goroutine-10.0.0.1.txt": textOf(between(1, 40)...), "goroutine-10.0.0.2.txt": textOf(between(40, 90)...)}, "10.0.0.1 10.0.0.2"},
		{"texts of numbers that tell nothing", map[string]string{"web-0.txt": textOf(5, 6, 7), "web-1.txt": textOf(5, 6, 7, 8)}, "web-0 web-1"},
		{"counts of versions, which are no addresses", map[string]string{"1.2.3.txt": srvCounts(40), "1.2.4.txt": srvCounts(50)}, ""},
		{"counts of numbered dumps", map[string]string{"dump-0.txt": srvCounts(40), "dump-1.txt": srvCounts(50)}, ""},
		{"counts of numbered results", map[string]string{"result-0.txt": srvCounts(40), "result-1.txt": srvCounts(50)}, ""},
		{"counts in numbered directories", map[string]string{"dump-1/goroutine.txt": srvCounts(40), "dump-2/goroutine.txt": srvCounts(50)}, ""},
		{"counts in directories of times", map[string]string{"case-2026-11-01T10-00-00/goroutine.txt": srvCounts(40), "case-2026-11-01T11-00-00/goroutine.txt": srvCounts(50)}, ""},
		{"counts in directories of states", map[string]string{"before/goroutine.txt": srvCounts(40), "after/goroutine.txt": srvCounts(50)}, ""},
		{"counts of a program that a host has once", map[string]string{"kubelet-0.txt": srvCounts(40), "kubelet-1.txt": srvCounts(50)}, ""},
		{"counts that a browser downloaded one after another", map[string]string{"goroutine.txt": srvCounts(40), "goroutine (1).txt": srvCounts(50), "goroutine (2).txt": srvCounts(60)}, ""},
		{"counts before and after", map[string]string{"web-before.txt": srvCounts(40), "web-after.txt": srvCounts(50)}, ""},
		{"counts of two states", map[string]string{"idle.txt": srvCounts(40), "loaded.txt": srvCounts(50)}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, tc.files)
			if len(r.Snapshots) != len(tc.files) {
				t.Fatalf("%d snapshots of %d files", len(r.Snapshots), len(tc.files))
			}
			var hosts []string
			for _, s := range r.Snapshots {
				if s.Process.Name.Value != "srv" {
					t.Errorf("process %q", s.Process.Name.Value)
				}
				if s.Process.Host.Known() {
					hosts = append(hosts, s.Process.Host.Value)
				}
			}
			slices.Sort(hosts)
			if got := strings.Join(hosts, " "); got != tc.want {
				t.Errorf("hosts %q, want %q", got, tc.want)
			}
		})
	}
}

// jvmOf is a thread dump of a JVM whose threads begin at an address: all JVMs number theirs alike.
func jvmOf(address, workers int) string {
	var text strings.Builder
	text.WriteString("2026-11-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (21.0.2+13 mixed mode):\n\n")
	for i := range workers {
		fmt.Fprintf(&text, "\"worker-%d\" #%d prio=5 os_prio=0 cpu=1ms elapsed=50s tid=0x%016x nid=0x%x waiting on condition\n   java.lang.Thread.State: WAITING (parking)\n\tat app.Worker.run(Worker.java:9)\n\n", i, 100+i, address+0x1000*i, 100+i)
	}
	return text.String() + "JNI global refs: 1, weak refs: 0\n"
}

func TestAddressesOfThreadsTellJVMsApart(t *testing.T) {
	for name, tc := range map[string]struct {
		second int
		age    string
		want   int
	}{"replicas": {0x7fcc00000000, "50s", 2}, "one process": {0x7faa00000000, "60s", 1}, "replicas with equal addresses, the second of which is younger": {0x7faa00000000, "40s", 2}} {
		hosts := map[string]bool{}
		second := strings.ReplaceAll(jvmOf(tc.second, 50), "elapsed=50s", "elapsed="+tc.age)
		for _, s := range run(t, map[string]string{"web-0.txt": jvmOf(0x7faa00000000, 40), "web-1.txt": second}).Snapshots {
			hosts[s.Process.Host.Value] = true
		}
		if len(hosts) != tc.want {
			t.Errorf("%s: hosts %v", name, hosts)
		}
	}
}

func TestThousandsOfWorkersShareNumbersByChance(t *testing.T) {
	// Two in ten of the numbers of each are in the other, as two in ten of all numbers are taken.
	var a, b []int
	for n := 100; n < 30000; n++ {
		if n*7919%10 < 2 {
			a = append(a, n)
		}
		if n*104729%97 < 20 {
			b = append(b, n)
		}
	}
	hosts := map[string]bool{}
	for _, s := range run(t, map[string]string{"web-0.txt": textOf(a...), "web-1.txt": textOf(b...)}).Snapshots {
		hosts[s.Process.Host.Value] = true
	}
	if !hosts["web-0"] || !hosts["web-1"] {
		t.Errorf("hosts %v", hosts)
	}
}
