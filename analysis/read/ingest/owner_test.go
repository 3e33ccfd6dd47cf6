package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// owner is whose evidence a snapshot is, what it counts and when: "node1/kubelet pid 50: 2d at
// 03:00:00".
func ownerOf(s analysis.Snapshot) string {
	out := strings.TrimPrefix(s.Process.Host.Value+"/"+s.Process.Name.Value, "/")
	if s.Process.PID.Known() {
		out = strings.TrimSpace(out + " pid " + s.Process.PID.Value)
	}
	var counts []string
	for _, k := range []struct {
		n    *int
		mark string
	}{{s.Totals.Goroutines, "g"}, {s.Totals.Threads, "t"}, {s.Totals.Descriptors, "d"}, {s.Totals.Watches, "w"}, {s.Totals.Sockets, "s"}} {
		if k.n != nil {
			counts = append(counts, fmt.Sprint(*k.n, k.mark))
		}
	}
	out += ": " + strings.Join(counts, " ")
	if !s.CapturedAt.IsZero() {
		out += " at " + s.CapturedAt.Format("15:04:05")
	}
	return out
}

// wantOwners reads files and compares whose captures they hold.
func wantOwners(t *testing.T, files map[string]string, want []string) {
	t.Helper()
	var got []string
	r := run(t, files)
	for _, s := range r.Snapshots {
		got = append(got, ownerOf(s))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff, r.Artifacts, r.Problems)
	}
}

// twoLinks and threeLinks are listings of the descriptors of a process.
const (
	twoLinks   = "total 0\nlrwx------ 1 root root 64 Nov 21 03:00 0 -> socket:[5000]\nlrwx------ 1 root root 64 Nov 21 03:00 1 -> socket:[5001]\n"
	threeLinks = "total 0\nlrwx------ 1 root root 64 Nov 21 03:00 0 -> socket:[6000]\nlrwx------ 1 root root 64 Nov 21 03:00 1 -> socket:[6001]\nlrwx------ 1 root root 64 Nov 21 03:00 2 -> socket:[6002]\n"
	twoRecords = "goroutine profile: total 3\n3 @ 0x1\n#\t0x1\tmain.leak+0x1\t/src/main.go:20\n\n"
	oneThread  = "1:\n2026-11-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.1+12 mixed mode):\n\n" +
		"\"main\" #1 prio=5 os_prio=0 cpu=10.00ms elapsed=10.00s tid=0x00007f0 nid=0x1 waiting on condition  [0x00007f0]\n" +
		"   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(Native Method)\n\tat A.main(A.java:3)\n\nJNI global refs: 1, weak refs: 0\n"
	tableOfSS = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 10.0.0.1:40000 10.0.0.9:80\n"
)

// waitingDump is a dump without the goroutine that writes it.
func waitingDump(ids ...int) string {
	_, rest, _ := strings.Cut(dump(ids...), "\n\n")
	return rest + "\n"
}

// quoted is a text as a mail quotes it.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n> ") + "\n"
}

func TestWhoseEvidenceItIsIsReadFromCommandsHeadingsAndPaths(t *testing.T) {
	goroutine := "/debug/pprof/goroutine?debug=2\n"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"curl of two hosts is two processes", map[string]string{
			"a.txt": "$ curl http://10.0.0.2:6060" + goroutine + dump(5) + "\n$ curl http://10.0.0.3:6060" + goroutine + dump(5, 6)},
			[]string{"10.0.0.2/prober: 2g", "10.0.0.3/prober: 3g"}},
		{"curl of one host in two ways is one process", map[string]string{
			"a.txt": "$ curl http://10.0.0.2:6060" + goroutine + dump(5) + "\n$ curl -s 'http://10.0.0.2:6060/debug/pprof/goroutine?debug=2'\n" + dump(5, 6)},
			[]string{"10.0.0.2/prober: 2g", "10.0.0.2/prober: 3g"}},
		{"curl of profiles with counts", map[string]string{
			"a.txt": "$ curl http://10.0.0.2:6060/debug/pprof/goroutine?debug=1\n" + twoRecords + "$ curl http://10.0.0.3:6060/debug/pprof/goroutine?debug=1\n" + strings.ReplaceAll(twoRecords, "3", "4")},
			[]string{"10.0.0.2/: 3g", "10.0.0.3/: 4g"}},
		{"curl inside of two pods of one name in two namespaces", map[string]string{
			"a.txt": "[me@bastion ~]$ kubectl exec web-1 -n prod -- curl -s localhost:6060" + goroutine + dump(5) +
				"\n[me@bastion ~]$ kubectl exec web-1 -n stage -- curl -s localhost:6060" + goroutine + dump(5)},
			[]string{"prod/web-1/prober: 2g", "stage/web-1/prober: 2g"}},
		{"the time of date above curl", map[string]string{
			"a.txt": "$ date\nSat Nov 21 03:00:00 UTC 2026\n$ curl http://10.0.0.2:6060" + goroutine + dump(5)},
			[]string{"10.0.0.2/prober: 2g at 03:00:00"}},
		{"docker exec of a thread dump", map[string]string{"a.txt": "$ docker exec web jcmd 1 Thread.print\n" + oneThread},
			[]string{"web/ pid 1: 1t at 03:00:00"}},
		{"ls in two containers", map[string]string{"a.txt": "$ docker exec web-1 ls -l /proc/1/fd\n" + twoLinks + "$ docker exec web-2 ls -l /proc/1/fd\n" + threeLinks},
			[]string{"web-1/ pid 1: 2d", "web-2/ pid 1: 3d"}},
		{"ls in a shell on another host", map[string]string{"a.txt": "$ ssh node1\n$ ls -l /proc/$(pidof kubelet)/fd\n" + twoLinks + "$ exit\n$ ssh node2 ls -l /proc/60/fd\n" + threeLinks},
			[]string{"node1/kubelet: 2d", "node2/ pid 60: 3d"}},
		{"hosts that a loop on another host names", map[string]string{"a.txt": "[me@bastion ~]$ for n in node1 node2; do echo \"== $n\"; ssh $n ls -l /proc/60/fd; done\n== node1\n" + twoLinks + "== node2\n" + threeLinks},
			[]string{"node1/ pid 60: 2d", "node2/ pid 60: 3d"}},
		{"ansible on two hosts", map[string]string{"a.txt": "$ ansible all -a 'ls -l /proc/60/fd'\nnode1 | CHANGED | rc=0 >>\n" + twoLinks + "node2 | CHANGED | rc=0 >>\n" + threeLinks},
			[]string{"node1/ pid 60: 2d", "node2/ pid 60: 3d"}},
		{"a shell that changes to the directory of a process", map[string]string{"a.txt": "$ cd /proc/50/fd\n$ ls -l\n" + twoLinks + "$ cd /proc/60/fd\n$ ls -l\n" + threeLinks},
			[]string{"pid 50: 2d", "pid 60: 3d"}},
		{"a prompt in the directory of a process", map[string]string{"a.txt": "root@node1:/proc/50/fd# ls -l\n" + twoLinks + "root@node1:/proc/60/fd# ls -l\n" + threeLinks},
			[]string{"node1/ pid 50: 2d", "node1/ pid 60: 3d"}},
		{"headings with name and pid", map[string]string{"a.txt": "== kubelet (50) ==\n" + twoLinks + "== dockerd (60) ==\n" + threeLinks},
			[]string{"kubelet pid 50: 2d", "dockerd pid 60: 3d"}},
		{"curl of another host in a shell on a host", map[string]string{"a.txt": "$ ssh node1\n[me@node1 ~]$ curl http://10.0.0.2:6060" + goroutine + dump(5) + "\n[me@node1 ~]$ curl localhost:6060" + goroutine + dump(5, 6)},
			[]string{"10.0.0.2/prober: 2g", "node1/prober: 3g"}},
		{"sockets of the network of two processes", map[string]string{"a.txt": "# nsenter -t 50 -n ss -tan\n" + tableOfSS + "# nsenter -t 60 -n ss -tan\n" + tableOfSS},
			[]string{"pid 50: 1s", "pid 60: 1s"}},
		{"files below the headings of tail", map[string]string{"a.txt": "==> t0/billing/goroutine.txt <==\n" + dump(5) + "\n==> t1/billing/goroutine.txt <==\n" + dump(5, 6)},
			[]string{"billing: 2g", "billing: 3g"}},
		{"the directories of two processes below such headings", map[string]string{"a.txt": "==> /proc/50/fd <==\n" + twoLinks + "==> /proc/60/fd <==\n" + threeLinks},
			[]string{"pid 50: 2d", "pid 60: 3d"}},
		{"two programs that a command looks up", map[string]string{"a.txt": "$ ls -l /proc/$(pidof kubelet)/fd\n" + twoLinks + "$ ls -l /proc/$(pgrep -x dockerd)/fd\n" + threeLinks},
			[]string{"kubelet: 2d", "dockerd: 3d"}},
		{"one program that a command looks up twice", map[string]string{"a.txt": "$ ls -l /proc/$(pidof kubelet)/fd\n" + twoLinks + "$ ls -l /proc/$(pgrep -f kubelet)/fd\n" + threeLinks},
			[]string{"kubelet: 2d", "kubelet: 3d"}},
		{"two containers of a pod", map[string]string{"a.txt": "$ kubectl exec web-1 -c app -- ls -l /proc/1/fd\n" + twoLinks + "$ kubectl exec web-1 -c sidecar -- ls -l /proc/1/fd\n" + threeLinks},
			[]string{"web-1/app pid 1: 2d", "web-1/sidecar pid 1: 3d"}},
		{"lsof and ls of one container", map[string]string{"a.txt": "$ kubectl exec web-1 -c app -- lsof -p 1\nCOMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\napp 1 root 0u IPv4 5000 0t0 TCP 10.0.0.1:1->10.0.0.2:2 (ESTABLISHED)\n$ kubectl exec web-1 -c app -- ls -l /proc/1/fd\n" + twoLinks},
			[]string{"web-1/app pid 1: 2d"}},
		{"two ports of one host", map[string]string{"a.txt": "$ curl localhost:6060" + goroutine + dump(5) + "\n$ curl localhost:6061" + goroutine + dump(5, 6)},
			[]string{"localhost:6060/prober: 2g", "localhost:6061/prober: 3g"}},
		{"one port twice", map[string]string{"a.txt": "$ curl localhost:6060" + goroutine + dump(5) + "\n$ curl http://localhost:6060" + goroutine + dump(5, 6)},
			[]string{"prober: 2g", "prober: 3g"}},
		{"one pod of two clusters", map[string]string{"a.txt": "$ kubectl --context eu exec web-1 -- ls -l /proc/1/fd\n" + twoLinks + "$ kubectl --context us exec web-1 -- ls -l /proc/1/fd\n" + threeLinks},
			[]string{"eu/web-1/ pid 1: 2d", "us/web-1/ pid 1: 3d"}},
		{"two nodes by the API server", map[string]string{"a.txt": "$ kubectl get --raw /api/v1/nodes/n1/proxy/debug/pprof/goroutine?debug=1\n" + twoRecords + "$ kubectl get --raw /api/v1/nodes/n2/proxy/debug/pprof/goroutine?debug=1\n" + twoRecords},
			[]string{"n1/kubelet: 3g", "n2/kubelet: 3g"}},
		{"the host that a directory below the headings of tail names", map[string]string{"a.txt": "==> node1/kubelet/goroutine.txt <==\n" + twoRecords + "==> node2/kubelet/goroutine.txt <==\n" + twoRecords},
			[]string{"node1/kubelet: 3g", "node2/kubelet: 3g"}},
		{"two files that cat prints on a third host", map[string]string{"a.txt": "me@jump:~$ cat web-0.txt\n" + twoRecords + "me@jump:~$ cat web-1.txt\n" + twoRecords},
			[]string{"web-0/web: 3g", "web-1/web: 3g"}},
		{"two moments in the names of files that cat prints", map[string]string{"a.txt": "$ cat t0.txt\n" + dump(5) + "\n$ cat t1.txt\n" + dump(5, 6)},
			[]string{"prober: 2g", "prober: 3g"}},
		{"headings of a ticket above code blocks", map[string]string{"a.md": "### node1\n```\n" + waitingDump(5) + "```\n### node2\n```\n" + waitingDump(5, 6) + "```\n"},
			[]string{"node1/: 1g", "node2/: 2g"}},
		{"sentences above code blocks", map[string]string{"a.md": "On host alpha:\n```\n" + tableOfSS + "```\nOn host beta:\n```\n" + tableOfSS + "```\n"},
			[]string{"alpha/: 1s", "beta/: 1s"}},
		{"a code block that no heading is of", map[string]string{"a.md": "On host alpha:\n```\n" + waitingDump(5) + "```\nand elsewhere\n```\n" + waitingDump(5, 6) + "```\n"},
			[]string{"alpha/: 1g", ": 2g"}},
		{"hosts in bold above code blocks of Jira", map[string]string{"a.md": "*db1*\n{code}\n/proc/50/fd:\n" + twoLinks + "{code}\n*db2*\n{code}\n/proc/50/fd:\n" + threeLinks + "{code}\n"},
			[]string{"db1/ pid 50: 2d", "db2/ pid 50: 3d"}},
		{"numbers in bold that name no host", map[string]string{"a.md": "*part1*\n{code}\n/proc/50/fd:\n" + twoLinks + "{code}\n*part2*\n{code}\n/proc/50/fd:\n" + threeLinks + "{code}\n"},
			[]string{"pid 50: 2d", "pid 50: 3d"}},
		{"hosts with a colon, without a frame", map[string]string{"a.txt": "node1:\n" + waitingDump(5) + "node2:\n" + waitingDump(15, 16)},
			[]string{"node1/: 1g", "node2/: 2g"}},
		{"comments with hosts", map[string]string{"a.txt": "# node1\n" + waitingDump(5) + "# node2\n" + waitingDump(15, 16)},
			[]string{"node1/: 1g", "node2/: 2g"}},
		{"the output of hostname", map[string]string{"a.txt": "$ hostname; ls -l /proc/50/fd\nalpha\n" + twoLinks + "$ hostname; ls -l /proc/50/fd\nbeta\n" + threeLinks},
			[]string{"alpha/ pid 50: 2d", "beta/ pid 50: 3d"}},
		{"the pids that jstack is run with", map[string]string{"a.txt": "$ jstack 50\n" + oneThread[3:] + "$ jstack 60\n" + oneThread[3:]},
			[]string{"pid 50: 1t at 03:00:00", "pid 60: 1t at 03:00:00"}},
		{"the pids that jcmd prints", map[string]string{"a.txt": "50" + oneThread[1:] + "60" + oneThread[1:]},
			[]string{"pid 50: 1t at 03:00:00", "pid 60: 1t at 03:00:00"}},
		{"one pid that jcmd prints twice", map[string]string{"a.txt": "50" + oneThread[1:] + "50" + strings.ReplaceAll(oneThread[1:], "03:00:00", "03:01:00")},
			[]string{"pid 50: 1t at 03:00:00", "pid 50: 1t at 03:01:00"}},
		{"a listing in a quotation", map[string]string{"a.md": "see below\n\n> $ ls -l /proc/50/fd\n" + quoted(twoLinks)}, []string{"pid 50: 2d"}},
		{"a code block in a quotation", map[string]string{"a.md": "> ```\n" + quoted("/proc/50/fd:\n"+twoLinks+"/proc/60/fd:\n"+threeLinks) + "> ```\n"},
			[]string{"pid 50: 2d", "pid 60: 3d"}},
		{"threads without a header in a quotation", map[string]string{"a.md": "see below\n\n> \"A\" Id=4 Group=main BLOCKED on x.Y@1 owned by \"B\" Id=5\n> \tat x.Y.z(Y.java:1)\n> \n> \"B\" Id=5 Group=main RUNNABLE\n> \tat x.Y.z(Y.java:2)\n"},
			[]string{": 2t"}},
		{"a quotation without a listing", map[string]string{"a.md": "> does it leak?\n> total 0\n\nno\n"}, nil},
		{"totals of two profiles alone", map[string]string{"a.txt": "$ curl -s localhost:6060/debug/pprof/goroutine?debug=1 | head -1\ngoroutine profile: total 12\n$ curl -s localhost:6060/debug/pprof/goroutine?debug=1 | head -1\ngoroutine profile: total 13\n"},
			[]string{": 0g", ": 0g"}},
		{"pods of one name in paths of two namespaces", map[string]string{
			"namespaces/prod/pods/web-1/goroutine.txt": dump(5), "namespaces/prod/pods/web-2/goroutine.txt": dump(5), "namespaces/stage/pods/web-1/goroutine.txt": dump(5)},
			[]string{"prod/web-1/prober: 2g", "prod/web-2/prober: 2g", "stage/web-1/prober: 2g"}},
		{"a log of kubectl cluster-info dump", map[string]string{
			"cluster-info/prod/web-1/logs.txt": "==== START logs for container app of pod prod/web-1 ====\nstarting\n" + crash + "==== END logs for container app of pod prod/web-1 ====\n"},
			[]string{"prod/web-1/prober: 3g"}},
		{"two pods in the log of kubectl cluster-info dump", map[string]string{
			"dump.txt": "==== START logs for container app of pod prod/web-1 ====\nstarting\n" + crash + "==== END logs for container app of pod prod/web-1 ====\n" +
				"==== START logs for container app of pod prod/web-2 ====\n" + crash + "==== END logs for container app of pod prod/web-2 ====\n"},
			[]string{"prod/web-1/prober: 3g", "prod/web-2/prober: 3g"}},
		{"the endpoint's command line beside a dump", map[string]string{"debug/pprof/goroutine": dump(5), "debug/pprof/cmdline": "/usr/local/bin/billing\x00--listen=:6060"},
			[]string{"billing: 2g"}},
		{"a command line with blanks beside a dump", map[string]string{"goroutine.txt": dump(5), "cmdline.txt": "/usr/local/bin/billing --listen=:6060\n"},
			[]string{"billing: 2g"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range run(t, tc.files).Snapshots {
				got = append(got, ownerOf(s))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
