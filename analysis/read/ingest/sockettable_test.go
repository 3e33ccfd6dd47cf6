package ingest

import (
	"strings"
	"testing"
)

const (
	titlesOfSS  = "State      Recv-Q Send-Q Local Address:Port               Peer Address:Port\n"
	titlesOfNet = "Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State"
	// netTCP is a table of /proc/net/tcp with two sockets, netUnix one of /proc/net/unix with three.
	netTCP = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100000A:9C40 0900000A:0050 08 00000000:00000001 00:00000000 00000000  1000        0 30001 1 0000000000000000 20 4 30 10 -1\n" +
		"   1: 0100000A:9C41 0900000A:0050 08 00000000:00000001 00:00000000 00000000  1000        0 30002 1 0000000000000000 20 4 30 10 -1\n"
	netUDP = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n" +
		"  100: 00000000:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000   100        0 20001 2 0000000000000000 0\n"
	netUnix = "Num       RefCount Protocol Flags    Type St Inode Path\n0000000000000000: 00000002 00000000 00010000 0001 01 21000 /run/containerd/containerd.sock\n" +
		"0000000000000000: 00000003 00000000 00000000 0001 03 31001 /run/containerd/containerd.sock\n0000000000000000: 00000003 00000000 00000000 0001 03 31002\n"
)

func TestSocketTablesGiveTheirOwnersOrTheSocketsWithoutOne(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"ss -tan, without what holds nothing", map[string]string{"ss.txt": titlesOfSS + "LISTEN     0      128          *:22                       *:*\nESTAB      0      0      10.0.0.1:40000              10.0.0.9:80\n" +
			"CLOSE-WAIT 1      0      10.0.0.1:40001              10.0.0.9:80\nTIME-WAIT  0      0      10.0.0.1:40002              10.0.0.9:80\n"}, []string{": 3s"}},
		{"ss -tunap", map[string]string{"ss.txt": "Netid  State   Recv-Q  Send-Q   Local Address:Port    Peer Address:Port  Process\n" +
			`udp    UNCONN  0       0            127.0.0.1:323          0.0.0.0:*      users:(("chronyd",pid=700,fd=5))` + "\n" +
			`tcp    ESTAB   0       0             10.0.0.1:40000       10.0.0.9:80     users:(("app",pid=50,fd=7))` + "\n"}, []string{"app pid 50: 1s", "chronyd pid 700: 1s"}},
		{"ss -x with owners", map[string]string{"ss.txt": "Netid State  Recv-Q Send-Q                      Local Address:Port     Peer Address:Port  Process\n" +
			`u_str LISTEN 0      128               /run/containerd/containerd.sock 21000            * 0      users:(("containerd",pid=800,fd=10))` + "\n" +
			`u_str ESTAB  0      0                 /run/containerd/containerd.sock 31001            * 31002  users:(("containerd",pid=800,fd=11))` + "\n" +
			`u_str ESTAB  0      0                                               * 31002            * 31001  users:(("kubelet",pid=2430,fd=20))` + "\n"}, []string{"containerd pid 800: 2s", "kubelet pid 2430: 1s"}},
		{"netstat -tanp", map[string]string{"n.txt": titlesOfNet + "       PID/Program name\ntcp        0      0 10.0.0.1:40000          10.0.0.9:80             ESTABLISHED 50/app\ntcp6       0      0 :::22                   :::*                    LISTEN      900/sshd\n"},
			[]string{"app pid 50: 1s", "sshd pid 900: 1s"}},
		{"netstat -anv of macOS", map[string]string{"n.txt": "Active Internet connections (including servers)\nProto Recv-Q Send-Q  Local Address          Foreign Address        (state)      rhiwat  shiwat    pid   epid state\n" +
			"tcp4       0      0  10.0.0.1.40000         10.0.0.9.80            ESTABLISHED  131072  131072   4321      0 00102\n"}, []string{"pid 4321: 1s"}},
		{"/proc/net/tcp alone", map[string]string{"tcp": netTCP}, []string{": 2s"}},
		{"the tables of a namespace are one", map[string]string{"node1/proc/net/tcp": netTCP, "node1/proc/net/tcp6": strings.SplitAfter(netTCP, "inode\n")[0], "node1/proc/net/udp": netUDP, "node1/proc/net/unix": netUnix}, []string{": 6s"}},
		{"tables of captures in one directory", map[string]string{"t1-tcp.txt": netTCP, "t1-tcp6.txt": netTCP, "t16-tcp.txt": netTCP, "t16-udp.txt": netUDP}, []string{": 4s", ": 3s"}},
		{"tables in one file below headings", map[string]string{"net.txt": "==> /proc/net/tcp <==\n" + netTCP + "\n==> /proc/net/udp <==\n" + netUDP}, []string{": 3s"}},
		{"/proc/net/tcp below its command", map[string]string{"a.txt": "[root@node1 ~]# cat /proc/net/tcp\n" + netTCP}, []string{"node1/: 2s"}},
		{"/proc/net/tcp in a loop with date", map[string]string{"a.txt": "Sat Nov 21 03:00:00 UTC 2026\n" + netTCP + "Sat Nov 21 03:00:05 UTC 2026\n" + netTCP}, []string{": 2s at 03:00:00", ": 2s at 03:00:05"}},
		{"/proc/net/tcp in a loop without date", map[string]string{"a.txt": netTCP + netTCP}, []string{": 2s", ": 2s"}},
		{"/proc/net/tcp beside the links of a process", map[string]string{"proc/50/net/tcp": netTCP, "proc/50/fd.txt": "lrwx------ 1 root root 64 Nov 21 03:00 7 -> socket:[30001]\n"}, []string{"pid 50: 1d"}},
		{"ss -s names no socket", map[string]string{"ss.txt": "Total: 170 (kernel 0)\nTCP:   70 (estab 7, closed 60, orphaned 0, synrecv 0, timewait 50/0), ports 0\n\nTransport Total     IP        IPv6\n*         0         -         -\nRAW       0         0         0\n"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantOwners(t, tc.files, tc.want)
		})
	}
}

// TestTablesOfOneCaptureAreMergedAndNeverAdded: the same sockets by another tool or with their
// owners count once, those of another state or protocol beside them; the same question again is
// another capture.
func TestTablesOfOneCaptureAreMergedAndNeverAdded(t *testing.T) {
	const (
		one      = "Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
		two      = "ESTAB 0 0 10.0.0.1:40000 10.0.0.9:80\nESTAB 0 0 10.0.0.1:40001 10.0.0.9:80\n"
		owned    = "ESTAB 0 0 10.0.0.1:40000 10.0.0.9:80 users:((\"app\",pid=50,fd=3))\nESTAB 0 0 10.0.0.1:40001 10.0.0.9:80 users:((\"app\",pid=50,fd=4))\n"
		netTwo   = titlesOfNet + "\ntcp        0      0 10.0.0.1:40000          10.0.0.9:80             ESTABLISHED\ntcp        0      0 10.0.0.1:40001          10.0.0.9:80             ESTABLISHED\n"
		netOwned = titlesOfNet + "       PID/Program name\ntcp        0      0 10.0.0.1:40000          10.0.0.9:80             ESTABLISHED 50/app\n" +
			"tcp        0      0 10.0.0.1:40001          10.0.0.9:80             ESTABLISHED 50/app\n"
		up     = one + "0 0 10.0.0.1:40000 10.0.0.9:80\n0 0 10.0.0.1:40001 10.0.0.9:80\n"
		closed = one + "1 0 10.0.0.1:41000 10.0.0.9:80\n"
		udp    = titlesOfSS + "UNCONN 0 0 0.0.0.0:68 0.0.0.0:*\nUNCONN 0 0 0.0.0.0:69 0.0.0.0:*\n"
		noon   = "Sat Nov 21 12:00:00 UTC 2026\n"
		later  = "Sat Nov 21 12:00:05 UTC 2026\n"
		asRoot = "[root@node1 ~]# "
	)
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"netstat and ss", "$ netstat -tan\n" + netTwo + "$ ss -tan\n" + titlesOfSS + two, []string{": 2s"}},
		{"ss and netstat without their commands", titlesOfSS + two + "\n" + netTwo, []string{": 2s"}},
		{"ss twice without its commands", titlesOfSS + two + "\n" + titlesOfSS + two, []string{": 2s", ": 2s"}},
		{"ss twice", "$ ss -tan\n" + titlesOfSS + two + "$ ss -tan\n" + titlesOfSS + two, []string{": 2s", ": 2s"}},
		{"both tools in a loop with date", noon + netTwo + titlesOfSS + two + later + netTwo + titlesOfSS + two, []string{": 2s at 12:00:00", ": 2s at 12:00:05"}},
		{"both tools in a loop without date", strings.Repeat("$ netstat -tan\n"+netTwo+"$ ss -tan\n"+titlesOfSS+two, 2), []string{": 2s", ": 2s"}},
		{"both tools with owners", "$ netstat -tanp\n" + netOwned + "$ ss -tanp\n" + titlesOfSS + owned, []string{"app pid 50: 2s"}},
		{"without owners and with them", "$ ss -tan\n" + titlesOfSS + two + "$ ss -tanp\n" + titlesOfSS + owned, []string{"app pid 50: 2s"}},
		{"with owners and without them", "$ ss -tanp\n" + titlesOfSS + owned + "$ ss -tan\n" + titlesOfSS + two, []string{"app pid 50: 2s"}},
		{"below prompts with a host", asRoot + "netstat -tan\n" + netTwo + asRoot + "ss -tan\n" + titlesOfSS + two, []string{"node1/: 2s"}},
		{"twice below prompts with a host", asRoot + "ss -tan\n" + titlesOfSS + two + asRoot + "ss -tan\n" + titlesOfSS + two, []string{"node1/: 2s", "node1/: 2s"}},
		{"one state after another", "$ ss -tan state established\n" + up + "$ ss -tan state close-wait\n" + closed, []string{": 3s"}},
		{"one state after another below prompts with a host", asRoot + "ss -tan state established\n" + up + asRoot + "ss -tan state close-wait\n" + closed, []string{"node1/: 3s"}},
		{"one state after another in blocks of a ticket", "Established:\n```\n$ ss -tan state established\n" + up + "```\nand closed:\n```\n$ ss -tan state close-wait\n" + closed + "```\n", []string{": 3s"}},
		{"blocks of a ticket without commands", "Before:\n```\n" + netTwo + "```\nand after:\n```\n" + titlesOfSS + two + "```\n", []string{": 2s", ": 2s"}},
		{"below what other commands count", "$ date\nSat Nov 21 12:00:00 UTC 2026\n$ ss -tan state time-wait | wc -l\n120\n$ ss -tan state close-wait\n" + closed, []string{": 1s at 12:00:00"}},
		{"one state in a loop without a prompt", "for i in 1 2; do ss -tan state close-wait; sleep 5; done\n" + closed + closed, []string{": 1s", ": 1s"}},
		{"one state twice", "$ ss -tan state close-wait\n" + closed + "$ ss -tan state close-wait\n" + closed, []string{": 1s", ": 1s"}},
		{"a loop over states", "$ for s in established close-wait; do ss -tan state $s; done\n" + up + closed, []string{": 3s"}},
		{"a loop over states in another", "$ while sleep 5; do for s in established close-wait; do ss -tan state $s; done; done\n" + up + closed + up + closed, []string{": 3s", ": 3s"}},
		{"tables of states that nothing names", up + closed, []string{": 2s", ": 1s"}},
		{"TCP and UDP", "$ ss -tan\n" + titlesOfSS + two + "$ ss -uan\n" + udp, []string{": 4s"}},
		{"TCP and UDP without their commands", titlesOfSS + two + udp, []string{": 4s"}},
		{"what listens too", "$ ss -tan\n" + titlesOfSS + two + "$ ss -tln\n" + titlesOfSS + "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n", []string{": 3s"}},
		{"listeners that share a port are as many as one table has", "$ ss -tln\n" + titlesOfSS + strings.Repeat("LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n", 2) +
			"$ netstat -tln\n" + titlesOfNet + strings.Repeat("\ntcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN", 2) + "\n", []string{": 2s"}},
		{"a unix socket of two descriptors, and one of two processes", "Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n" +
			"u_str ESTAB 0 0 * 77 * 78 users:((\"kubelet\",pid=91,fd=7),(\"kubelet\",pid=91,fd=8))\nu_str ESTAB 0 0 * 79 * 80 users:((\"kubelet\",pid=91,fd=9),(\"app\",pid=92,fd=9))\n",
			[]string{"kubelet pid 91: 2s", "app pid 92: 1s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantOwners(t, map[string]string{"a.txt": tc.text}, tc.want)
		})
	}
}

// TestAStateThatNothingNamesIsNotKnown: ss leaves the column out for any one state.
func TestAStateThatNothingNamesIsNotKnown(t *testing.T) {
	rows := "Recv-Q Send-Q Local Address:Port Peer Address:Port\n0 0 10.0.0.1:40000 10.0.0.9:80\n"
	for command, want := range map[string]string{"": "", "$ ss -tn state close-wait\n": "CLOSE_WAIT", "ss -tn state established\n": "ESTABLISHED", "$ ss -tn dport = 80\n": ""} {
		s := run(t, map[string]string{"a.txt": command + rows}).Snapshots[0]
		if got := s.Groups[0].Family.Attributes["state"]; got != want {
			t.Errorf("below %q the state is %q, want %q", command, got, want)
		}
	}
}
