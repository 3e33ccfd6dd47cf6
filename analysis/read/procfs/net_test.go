package procfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

func netRows(t testing.TB, raw []byte, path string) (NetTable, []analysis.Socket, []analysis.Problem) {
	t.Helper()
	var rows []analysis.Socket
	sum, problems, err := ParseNet(bytes.NewReader(raw), path, func(_ int, s *analysis.Socket) error {
		rows = append(rows, *s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum, rows, problems
}

// TestFiguresOfNetTables: counted in the files with awk.
func TestFiguresOfNetTables(t *testing.T) {
	for name, want := range map[string]NetTable{
		"proc_net_tcp.txt":     {Tables: []string{"tcp"}, Rows: 6, NoDescriptor: 1, Protocols: map[string]int{"tcp": 6}, States: map[string]int{"LISTEN": 1, "ESTABLISHED": 3, "CLOSE_WAIT": 1, "FIN_WAIT2": 1}},
		"proc_net_tcp6.txt":    {Tables: []string{"tcp"}, Rows: 49, NoDescriptor: 45, Protocols: map[string]int{"tcp6": 49}, States: map[string]int{"LISTEN": 1, "ESTABLISHED": 3, "TIME_WAIT": 45}},
		"proc_net_udp.txt":     {Tables: []string{"udp"}, Rows: 1, Protocols: map[string]int{"udp": 1}},
		"proc_net_unix.txt":    {Tables: []string{"unix"}, Rows: 6, Protocols: map[string]int{"unix": 6}},
		"proc_net_netlink.txt": {Tables: []string{"netlink"}, Rows: 10, Protocols: map[string]int{"netlink": 10}},
		"proc_net_packet.txt":  {Tables: []string{"packet"}, Rows: 1, Protocols: map[string]int{"packet": 1}},
	} {
		raw := sample(t, name)
		for _, path := range []string{name, "unnamed"} { // the header names all of these
			got, _, problems := netRows(t, raw, path)
			wantClean(t, problems, nil)
			want.Bytes, want.Begins = int64(len(raw)), []int64{int64(bytes.IndexByte(raw, '\n') + 1)}
			if want.States == nil {
				want.States = map[string]int{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%s", name, path, diff)
			}
		}
	}
	got, rows, problems := netRows(t, sample(t, "sockstat"), "sockstat")
	wantClean(t, problems, nil)
	if len(rows) != 0 || got.Figures["sockets_used"] != 1312 || got.Figures["tcp_inuse"] != 1266 || got.Figures["tcp_tw"] != 47 || len(got.Figures) != 12 {
		t.Errorf("sockstat: got %+v", got)
	}
}

func TestRowsOfNetTables(t *testing.T) {
	const tail = " 00000000:00000000 00:00000000 00000000     0        0 "
	for name, tt := range map[string]struct {
		path, in string
		want     analysis.Socket
	}{
		"a connection":                    {"net/tcp", "   6: 0100007F:E45D 0100007F:B304 01" + tail + "314884 1 00000000a62bb15d 20 0 0 10 -1", analysis.Socket{Protocol: "tcp", Local: "127.0.0.1:58461", Remote: "127.0.0.1:45828", State: "ESTABLISHED", Inode: 314884}},
		"a listener on all":               {"net/tcp6", "   0: 00000000000000000000000000000000:B6BB 00000000000000000000000000000000:0000 0A" + tail + "314890 1 0", analysis.Socket{Protocol: "tcp6", Local: "*:46779", State: "LISTEN", Inode: 314890}},
		"IPv4 inside IPv6":                {"net/tcp6", "   1: 0000000000000000FFFF00000100007F:8541 0000000000000000FFFF00000100007F:91C8 06" + tail + "0 3 0", analysis.Socket{Protocol: "tcp6", Local: "127.0.0.1:34113", Remote: "127.0.0.1:37320", State: "TIME_WAIT"}},
		"IPv6":                            {"net/tcp6", "   6: 00000000000000000000000001000000:B6BB 00000000000000000000000001000000:BB98 08" + tail + "314893 1 0", analysis.Socket{Protocol: "tcp6", Local: "[::1]:46779", Remote: "[::1]:48024", State: "CLOSE_WAIT", Inode: 314893}},
		"UDP has no state":                {"net/udp", " 4693: 0100007F:8D2C 00000000:0000 07" + tail + "314895 2 0 0", analysis.Socket{Protocol: "udp", Local: "127.0.0.1:36140", Inode: 314895}},
		"raw":                             {"net/raw", "   1: 00000000:0001 00000000:0000 07" + tail + "314897 2 0 0", analysis.Socket{Protocol: "raw", Local: "*:1", Inode: 314897}},
		"a unix listener":                 {"x", "000000005e04c278: 00000002 00000000 00010000 0001 01 314880 /run/a b.sock", analysis.Socket{Protocol: "unix", Local: "/run/a b.sock", State: "LISTEN", Inode: 314880}},
		"a unix socket that is connected": {"x", "000000005e04c278: 00000002 00000000 00000000 0001 03   498", analysis.Socket{Protocol: "unix", State: "CONNECTED", Inode: 498}},
		"below a heading of tail":         {"all.txt", "==> /proc/7/net/udp6 <==\n    9: 00000000000000000000000000000000:0035 00000000000000000000000000000000:0000 07" + tail + "5 2 0 0", analysis.Socket{Protocol: "udp6", Local: "*:53", Inode: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			_, rows, problems := netRows(t, []byte(tt.in+"\n"), tt.path)
			wantClean(t, problems, nil)
			if len(rows) != 1 {
				t.Fatalf("got %+v", rows)
			}
			rows[0].Place = analysis.Place{}
			if diff := cmp.Diff(tt.want, rows[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	sum, _, problems := netRows(t, []byte("  sl  local_address rem_address   st\nrubbish here\n   6: 0100007F:E45D 0100007F:B304 01"+tail+"314884 1\n   7: 0100007F:E45D 01000"), "tcp")
	if sum.Rows != 1 || len(problems) != 2 || !sum.Truncated {
		t.Errorf("got %+v, %+v", sum, problems)
	}
	stop := errors.New("stop")
	if _, _, err := ParseNet(bytes.NewReader(sample(t, "proc_net_tcp.txt")), "x", func(int, *analysis.Socket) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// TestNetTablesOfAConcatenationAreThoseOfItsParts joins tables with their headers.
func TestNetTablesOfAConcatenationAreThoseOfItsParts(t *testing.T) {
	names := []string{"proc_net_tcp.txt", "proc_net_tcp6.txt", "proc_net_udp.txt", "proc_net_unix.txt", "proc_net_netlink.txt", "proc_net_packet.txt"}
	rapid.Check(t, func(rt *rapid.T) {
		var all []byte
		var want []string
		for _, name := range rapid.SliceOf(rapid.SampledFrom(names)).Draw(rt, "tables") {
			all = append(all, sample(t, name)...)
			_, rows, _ := netRows(t, sample(t, name), "x")
			for _, s := range rows {
				want = append(want, s.Protocol+" "+s.Local+" "+s.Remote+" "+s.State)
			}
		}
		_, rows, _ := netRows(t, all, "x")
		var got []string
		for _, s := range rows {
			got = append(got, s.Protocol+" "+s.Local+" "+s.Remote+" "+s.State)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestFdinfoAndNetTablesGiveTheSocketsOfTheNodeAgent: the figures are those of the
// links, but for the last: fdinfo was copied after the links and holds one socket more
// (618 descriptors, 617 links; counted with comm).
func TestFdinfoAndNetTablesGiveTheSocketsOfTheNodeAgent(t *testing.T) {
	root := filepath.Join(corpus.Path(t), "series", "node-agent-leak")
	var descriptors, sockets []int
	for i := range 6 {
		dir := filepath.Join(root, "t"+strconv.Itoa(i), "node")
		raw, err := os.ReadFile(filepath.Join(dir, "proc-net-tcp.txt"))
		if err != nil {
			t.Fatal(err)
		}
		_, rows, problems := netRows(t, raw, "proc-net-tcp.txt")
		wantClean(t, problems, nil)
		byInode := map[uint64]analysis.Socket{}
		for _, s := range rows {
			if s.Inode != 0 {
				byInode[s.Inode] = s
			}
		}
		var infos []FDInfo
		files, err := os.ReadDir(filepath.Join(dir, "fdinfo"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			fd, _ := strconv.Atoi(f.Name())
			raw, err := os.ReadFile(filepath.Join(dir, "fdinfo", f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			info, problems, err := ParseFDInfo(bytes.NewReader(raw), f.Name(), fd)
			wantClean(t, problems, err)
			infos = append(infos, info)
		}
		all := Descriptors(infos, rows)
		descriptors = append(descriptors, len(all))
		n := 0
		for _, d := range all {
			if d.Type == "socket" && byInode[d.Inode].State == "ESTABLISHED" && byInode[d.Inode].Remote == "127.0.0.1:42635" {
				n++
			}
		}
		sockets = append(sockets, n)
	}
	if diff := cmp.Diff([]int{104, 199, 297, 403, 508, 618}, descriptors); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{81, 176, 274, 380, 485, 595}, sockets); diff != "" {
		t.Errorf("sockets (-want +got):\n%s", diff)
	}
}

func TestAFileWithTheInodeOfASocketIsNone(t *testing.T) {
	infos := []FDInfo{
		{FD: 3, Flags: 2, MountID: 10, Inode: 5, HasInode: true},
		{FD: 4, Flags: 2, MountID: 10, Inode: 6, HasInode: true},
		{FD: 5, Flags: 2, MountID: 27, Inode: 7, HasInode: true}, // a file
		{FD: 6, Flags: 0, MountID: 10, Inode: 8, HasInode: true}, // open for reading only
		{FD: 7, Type: "epoll", MountID: 17, Inode: 1038, HasInode: true},
	}
	sockets := []analysis.Socket{{Protocol: "tcp", Inode: 5}, {Protocol: "tcp", Inode: 6}, {Protocol: "tcp", Inode: 7}, {Protocol: "tcp", Inode: 8}, {Protocol: "tcp"}}
	want := []analysis.Descriptor{
		{FD: 3, Type: "socket", Access: "u", Inode: 5, Name: "socket:[5]"},
		{FD: 4, Type: "socket", Access: "u", Inode: 6, Name: "socket:[6]"},
		{FD: 5, Type: "unknown", Access: "u"},
		{FD: 6, Type: "unknown", Access: "r"},
		{FD: 7, Type: "anon", Access: "r", Name: "anon_inode:[eventpoll]"},
	}
	if diff := cmp.Diff(want, Descriptors(infos, sockets)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTablesOfInotifyScriptsAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		in, what string
		want     []InotifyCount
	}{
		"a header with tabs, counted with grep": {
			"COUNT\tPID\tUSER\tCOMMAND\n7491\t8412\troot /home/kubernetes/bin/kubelet --v=2\n2620\t1\troot /sbin/init\n", Watches,
			[]InotifyCount{{Count: 7491, PID: 8412, FD: -1, User: "root", Command: "/home/kubernetes/bin/kubelet --v=2"}, {Count: 2620, PID: 1, FD: -1, User: "root", Command: "/sbin/init"}},
		},
		"inotify-consumers": {
			"   INOTIFY   INSTANCES\n   WATCHES      PER\n    COUNT     PROCESS   PID USER         COMMAND\n------------------------------------------------------------\n    21270         2     11076 app     dropbox --start\n", Watches,
			[]InotifyCount{{Count: 21270, Instances: 2, PID: 11076, FD: -1, User: "app", Command: "dropbox --start"}},
		},
		"inotify-info": {
			"       Pid Uid        App                       Watches  Instances\n    171055 1000       codium                     506,980          5\n", Watches,
			[]InotifyCount{{Count: 506980, Instances: 5, PID: 171055, FD: -1, User: "1000", Command: "codium"}},
		},
		"a table of descriptors": {
			"EXE PID FD-INFO INOTIFY-WATCHES\n/usr/bin/kubelet 8412 /proc/8412/fdinfo/12 311\n", Watches,
			[]InotifyCount{{Count: 311, PID: 8412, FD: 12, Command: "/usr/bin/kubelet"}},
		},
		"uniq -c behind its command": {
			"$ find /proc/*/fd -lname anon_inode:inotify | cut -d/ -f3 | uniq -c\n      5   6795\n", Instances,
			[]InotifyCount{{Count: 5, PID: 6795, FD: -1}},
		},
		"uniq -c over fdinfo": {
			"# grep ^inotify /proc/*/fdinfo/* | cut -d/ -f3 | uniq -c\n   7491 8412\n", Watches,
			[]InotifyCount{{Count: 7491, PID: 8412, FD: -1}},
		},
		"sentences": {
			"PID 1, FD 4 has 311 watches      # <--- After ~300 reload\n", Watches,
			[]InotifyCount{{Count: 311, PID: 1, FD: 4}},
		},
		"targets, their devices split by 256": {
			"Kubelet Pid: 8412\nCount: 7491\nUnique target 4\nINUM       DEV        COUNT  TARGET\n1          0:231      6649   \n1          1:44       2      /var/lib/kubelet/pods/a b\n258855     32768:1    3      /etc/ca.crt\n5          254:0      1      /x\n", Watches,
			[]InotifyCount{
				{Count: 6649, PID: 8412, FD: -1, Inode: 1, Device: 231, DeviceText: "0:231"},
				{Count: 2, PID: 8412, FD: -1, Inode: 1, Device: 300, DeviceText: "1:44", Target: "/var/lib/kubelet/pods/a b"},
				{Count: 3, PID: 8412, FD: -1, Inode: 258855, Device: 8<<20 | 1, DeviceText: "32768:1", Target: "/etc/ca.crt"},
				{Count: 1, PID: 8412, FD: -1, Inode: 5, Device: 254 << 20, DeviceText: "254:0", Target: "/x"},
				{Count: 7491 - 6655, PID: 8412, FD: -1},
			},
		},
		"threads of ps": {
			"tail: inotify cannot be used\n\n$ ps -eLo pid,user,comm --no-headers | sort | uniq -c\n     90     50 root     java\n     40     60 root     dockerd\n", Threads,
			[]InotifyCount{{Count: 90, PID: 50, FD: -1, User: "root", Command: "java"}, {Count: 40, PID: 60, FD: -1, User: "root", Command: "dockerd"}},
		},
		"threads of ps, counted by it": {
			"    PID NLWP COMMAND\n     50   90 java -jar a.jar\n     60   40 dockerd\n", Threads,
			[]InotifyCount{{Count: 90, PID: 50, FD: -1, Command: "java -jar a.jar"}, {Count: 40, PID: 60, FD: -1, Command: "dockerd"}},
		},
		"threads of ps, a row each": {
			"    PID    SPID TTY          TIME CMD\n     50      50 ?        00:00:00 java\n     50      51 ?        00:00:01 java\n", Threads,
			[]InotifyCount{{Count: 1, PID: 50, FD: 50, Command: "java"}, {Count: 1, PID: 50, FD: 51, Command: "java"}},
		},
		"instances, and what another command counts": {
			"$ find /proc/*/fd -lname anon_inode:inotify | cut -d/ -f3 | uniq -c\n 3 50\n$ ps -eo ppid,user | sort | uniq -c\n  7 1 root\n", nothing,
			[]InotifyCount{{Count: 3, PID: 50, FD: -1}},
		},
		"targets of debugfs": {
			"kubelet pid=2430\nCount: 120\n1 10b 1259 128a ...\n1   1   72  Inode   Pathname\n10b 267 1   267 /etc/systemd/system/\n", Watches,
			[]InotifyCount{{Count: 72, PID: 2430, FD: -1, Inode: 1}, {Count: 1, PID: 2430, FD: -1, Inode: 267, Target: "/etc/systemd/system/"}, {Count: 120 - 73, PID: 2430, FD: -1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows, what, _, problems, err := ParseInotifyTable(strings.NewReader(tt.in), "x")
			wantClean(t, problems, err)
			for i := range rows {
				if want := tt.what; rows[i].What != want && want != nothing {
					t.Errorf("row %d counts %s, want %s", i, rows[i].What, want)
				}
				rows[i].Place, rows[i].What = analysis.Place{}, ""
			}
			if diff := cmp.Diff(tt.want, rows); diff != "" || what != tt.what {
				t.Errorf("%s, want %s (-want +got):\n%s", what, tt.what, diff)
			}
		})
	}
}

func TestAPublicInotifyTableIsReadAndItsDoubtSaid(t *testing.T) {
	raw, err := os.ReadFile(corpus.Path(t, "descriptors", "realworld", "21-npd-inotify-instances-per-pid.txt"))
	if err != nil {
		t.Fatal(err)
	}
	rows, what, _, problems, err := ParseInotifyTable(bytes.NewReader(raw), "21.txt")
	if err != nil || len(rows) != 9 || what != Instances || len(problems) != 1 {
		t.Fatalf("got %d rows, %s, %+v, %v", len(rows), what, problems, err)
	}
	if r := rows[0]; r.Count != 5 || r.PID != 6795 || r.User != "root" || r.Command != "kubelet" {
		t.Errorf("got %+v", r)
	}
}

func TestInodeListsAreRead(t *testing.T) {
	for name, in := range map[string]string{
		"find -printf": "77 /sys/fs/cgroup/a b\n1 /sys/fs/cgroup\n",
		"ls -di":       "   77 /sys/fs/cgroup/a b\n    1 /sys/fs/cgroup\n",
		"find -ls":     "   77      0 drwxr-xr-x   3 root     root            0 Nov 21 02:57 /sys/fs/cgroup/a b\n    1      0 dr-xr-xr-x   9 root     root            0 Nov 21 02:57 /sys/fs/cgroup\n",
		"ncheck":       "debugfs 1.46.5 (30-Dec-2021)\nInode\tPathname\n77\t/sys/fs/cgroup/a b\n1\t/sys/fs/cgroup\n",
	} {
		list, problems, err := ParseInodes(strings.NewReader(in), "x")
		wantClean(t, problems, err)
		got := map[uint64]string{}
		for inode, path := range list.All() {
			got[inode] = path
		}
		if diff := cmp.Diff(map[uint64]string{77: "/sys/fs/cgroup/a b", 1: "/sys/fs/cgroup"}, got); diff != "" || list.Partial || list.Len() != 2 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	list, problems, _ := ParseInodes(strings.NewReader("1 /sys/fs/cgroup\nfind: '/sys/fs/cgroup/x': Permission denied\n5 /sys/fs/cg"), "x")
	if list.Len() != 1 || !list.Partial || len(problems) != 2 {
		t.Errorf("got %d paths, partial %v, %+v", list.Len(), list.Partial, problems)
	}
	long := strings.Repeat("1 /"+strings.Repeat("x", 4000)+"\n", 20000)
	if list, problems, _ := ParseInodes(strings.NewReader(long), "x"); !list.Partial || list.Len() > 20000 || len(list.text) > maxInodeBytes || len(problems) != 1 {
		t.Errorf("got %d paths of %d bytes, %d problems", list.Len(), len(list.text), len(problems))
	}
}

func TestCeilingsAreReadInEveryForm(t *testing.T) {
	for name, tt := range map[string]struct{ path, in string }{
		"sysctl -a":           {"sysctl.txt", "fs.inotify.max_user_watches = 8192\n"},
		"grep":                {"x", "/proc/sys/fs/inotify/max_user_watches:8192\n"},
		"a bare number":       {"t0/max_user_watches", "8192\n"},
		"a bare number, .txt": {"t0/max_user_watches.txt", "8192\n"},
		"below a heading":     {"x", "==> /proc/sys/fs/inotify/max_user_watches <==\n8192\n"},
		"without blanks":      {"sysctl.conf", "fs.inotify.max_user_watches=8192\n"},
	} {
		got, problems, err := ParseSysctls(strings.NewReader(tt.in), tt.path)
		wantClean(t, problems, err)
		if diff := cmp.Diff(map[string]int64{"fs.inotify.max_user_watches": 8192}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got, _, _ := ParseSysctls(strings.NewReader("fs.file-nr = 1440\t0\t2466177\nfs.file-max = 5\n"), "x")
	if got["fs.file-nr.allocated"] != 1440 || got["fs.file-nr.max"] != 2466177 || got["fs.file-max"] != 5 {
		t.Errorf("file-nr: got %v", got)
	}
	for name, in := range map[string]string{
		"grep":    "/proc/7/limits:Limit                     Soft Limit           Hard Limit           Units     \n/proc/7/limits:Max open files            20000                unlimited            files     \n",
		"prlimit": "RESOURCE   DESCRIPTION                             SOFT      HARD UNITS\nNOFILE     max number of open files               20000 unlimited files\n",
	} {
		limits, problems, err := ParseLimits(strings.NewReader(in), "limits")
		wantClean(t, problems, err)
		if soft, ok := limits.OpenFiles(); !ok || soft != 20000 {
			t.Errorf("%s: got %v", name, limits)
		}
	}
}

func FuzzNet(f *testing.F) {
	seed(f, "proc_net_tcp.txt", "proc_net_tcp6.txt", "proc_net_udp.txt", "proc_net_unix.txt", "proc_net_netlink.txt", "proc_net_packet.txt", "sockstat")
	f.Fuzz(func(t *testing.T, in []byte) {
		n := 0
		sum, problems, err := ParseNet(bytes.NewReader(in), "f", func(_ int, s *analysis.Socket) error {
			n++
			if s.Protocol == "" || s.Place.Offset+s.Place.Length > int64(len(in)) {
				t.Fatalf("socket %+v", s)
			}
			return nil
		})
		checkBounds(t, in, problems, err)
		if sum.Rows != n || sum.NoDescriptor > n || len(sum.Figures) > maxFigures {
			t.Fatalf("%d rows, %+v", n, sum)
		}
	})
}

func FuzzInotifyTable(f *testing.F) {
	f.Add([]byte("COUNT\tPID\tUSER\tCOMMAND\n7491\t8412\troot /bin/kubelet\n"))
	f.Add([]byte("Kubelet Pid: 8412\nINUM       DEV        COUNT  TARGET\n1          0:231      6649   \n"))
	f.Add([]byte("      5  6795 root     kubelet\n10b 267 1   267 /etc/systemd/system/\nPID 1, FD 4 has 311 watches\n"))
	f.Add([]byte("debugfs 1.46\nInode\tPathname\n77\t/sys\n 77 0 drwxr-xr-x 3 root root 0 Nov 21 02:57 /sys/fs\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		rows, what, _, problems, err := ParseInotifyTable(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		for _, r := range rows {
			if r.Count < 0 || r.PID < 0 || r.FD < -1 || what == "" || r.Place.Offset+r.Place.Length > int64(len(in)) {
				t.Fatalf("%s %+v", what, r)
			}
		}
		list, problems, err := ParseInodes(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		n := 0
		for _, path := range list.All() {
			n++
			if path == "" {
				t.Fatal("an empty path")
			}
		}
		if n != list.Len() {
			t.Fatal(n)
		}
	})
}
