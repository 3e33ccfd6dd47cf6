package detect

import (
	"strings"
	"testing"
)

func TestTablesOfSocketsWatchesAndInodesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		path, content string
		want          Kind
	}{
		"ss":                       {"x", "State      Recv-Q Send-Q Local Address:Port Peer Address:Port Process\nESTAB 0 0 a:1 b:2\n", SocketTable},
		"ss with unix sockets":     {"x", "u_str ESTAB 0 0 * 314878 * 314879\nu_seq ESTAB 0 0 * 1 * 2\n", SocketTable},
		"ss of one state":          {"x", "Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n1 0 10.0.0.1:4000 10.0.0.2:80\n", SocketTable},
		"netstat of Windows":       {"x", "\r\nActive Connections\r\n\r\n  Proto  Local Address          Foreign Address        State           PID\r\n  TCP    0.0.0.0:135            0.0.0.0:0              LISTENING       888\r\n", SocketTable},
		"ss -s":                    {"x", "Total: 54\nTCP:   70 (estab 7, closed 60, orphaned 0, timewait 50)\n", SocketSummary},
		"netstat of macOS":         {"x", "tcp4       0      0  192.168.1.5.52345      17.57.144.84.443     ESTABLISHED\n", SocketTable},
		"netstat of macOS, whole":  {"x", "Active Internet connections (including servers)\nProto Recv-Q Send-Q  Local Address          Foreign Address        (state)\n", SocketTable},
		"/proc/net/tcp":            {"x", "  sl  local_address rem_address   st tx_queue\n", NetTable},
		"/proc/net/tcp, no header": {"x", "   6: 0100007F:E45D 0100007F:B304 01 00000000:00000000 00:00000000\n", NetTable},
		"/proc/net/unix":           {"x", "Num       RefCount Protocol Flags    Type St Inode Path\n", NetTable},
		"/proc/net/netlink":        {"x", "sk               Eth Pid        Groups   Rmem\n", NetTable},
		"sockstat":                 {"x", "sockets: used 1312\nTCP: inuse 1266 orphan 0 tw 47 alloc 1279 mem 94\n", SocketSummary},
		"sockstat6":                {"x", "TCP6: inuse 0\nUDP6: inuse 0\n", SocketSummary},
		"inotify with a header":    {"x", "COUNT\tPID\tUSER\tCOMMAND\n7491\t8412\troot /bin/kubelet\n", InotifyTable},
		"inotify targets":          {"x", "Kubelet Pid: 8412\nCount: 7491\nINUM       DEV        COUNT  TARGET\n1          0:231      6649   \n", CommandOutput},
		"inotify-consumers":        {"x", "   INOTIFY   INSTANCES\n   WATCHES      PER\n    COUNT     PROCESS   PID USER         COMMAND\n------\n 5 1 7 a b\n", InotifyTable},
		"uniq -c, named":           {"inotify-per-pid.txt", "      5  6795 root     kubelet\n      2  6956 polkitd  polkitd\n", InotifyTable},
		"uniq -c, its command":     {"x", "$ ... |grep inotify |uniq -c\n      5  6795 root     kubelet\n      2  6956 polkitd  polkitd\n", InotifyTable},
		"uniq -c of anything":      {"x", "      5  6795 root     kubelet\n      2  6956 polkitd  polkitd\n", Text},
		"uniq -c, threads":         {"x", "tail: inotify cannot be used\n\n$ ps -eLo pid,user,comm | sort | uniq -c\n     90     50 root     java\n", ThreadTable},
		"uniq -c of processes":     {"x", "tail: inotify cannot be used\n\n$ ps -eo pid,user,comm | sort | uniq -c\n     1     50 root     java\n", Text},
		"threads, a row for each":  {"x", "    PID    SPID TTY          TIME CMD\n     50      51 ?        00:00:00 java\n", ThreadTable},
		"watches per descriptor":   {"x", "PID 1, FD 10 has 1 watches\nPID 1, FD 18 has 5 watches\n", InotifyTable},
		"debugfs ncheck":           {"x", "debugfs 1.46.5 (30-Dec-2021)\nInode\tPathname\n258855\t/etc/ca.crt\n", InodeList},
		"a listed cgroup tree":     {"x", "1 /sys/fs/cgroup\n77 /sys/fs/cgroup/kubepods\n", InodeList},
		"a manifest of a capture":  {"x", "{\n \"schema\": \"leakdiff.capture/1\",\n \"tool\": \"x\"\n}\n", Capture},
		"watched file handles":     {"x", "{\"schema\":\"leakdiff.watches/1\",\"sdev\":\"1b\"}\n{\"schema\":\"leakdiff.watches/1\",\"sdev\":\"1c\"}\n", WatchTargets},
		"another schema":           {"x", "{\"schema\": \"leakdiff.report/1\"}\n", JSON},
		"find -ls":                 {"x", "   77      0 drwxr-xr-x   3 root     root            0 Nov 21 02:57 /sys/fs/x\n", InodeList},
		"sizes of du":              {"x", "4 /var/log/a\n8 /var/log\n", Text},
		"targets of fd links":      {"x", "/dev/null\nsocket:[1]\nsocket:[2]\nanon_inode:[eventpoll]\n", FDTargets},
		"a ceiling by its name":    {"t0/max_user_watches", "8192\n", Sysctls},
		"ceilings of tail":         {"x", "==> /proc/sys/fs/inotify/max_user_instances <==\n128\n\n==> /proc/sys/fs/inotify/max_user_watches <==\n8192\n", Sysctls},
		"paths":                    {"x", "/dev/null\n/dev/zero\n/etc/hosts\n", Text},
	} {
		got := Sniff(Head{Bytes: []byte(c.content), Whole: true, Path: c.path, Size: int64(len(c.content))})
		if got.Kind != c.want || got.Reason == "" {
			t.Errorf("%s is %s because %q, want %s", name, got.Kind, got.Reason, c.want)
		}
	}
}

func TestJSONOfLsofIsNamed(t *testing.T) {
	row := `{"pid":1,"command":"a","uid":0,"fd":"3","access":"r","type":"CHR","name":"/dev/null"}` + "\n"
	for name, c := range map[string]struct {
		content string
		want    bool
	}{
		"lsof -J":                {`{"lsof_version":"4.99.7","processes":[]}`, true},
		"lsof -J below warnings": {"lsof: WARNING: can't stat() tmpfs file system /x\n      Output information may be incomplete.\n" + `{"lsof_version":"4.99.7","processes":[]}`, true},
		"lsof -j":                {row + row, true},
		"lsof -j, one row":       {row, true},
		"lsof -j, few fields":    {`{"pid":1,"fd":"3","name":"/dev/null"}` + "\n", true},
		"lsof -j, fd first":      {`{"fd":"3","access":"r","type":"CHR","name":"/dev/null","pid":1,"command":"a"}` + "\n", true},
		"lsof -j, sorted":        {`{"access":"r","command":"a","fd":"3","name":"/dev/null","pid":1,"type":"CHR"}` + "\n", true},
		"lsof -j, over lines":    {"{\n  \"pid\": 1,\n  \"command\": \"a\",\n  \"fd\": \"3\",\n  \"type\": \"CHR\"\n}\n", true},
		"lsof -j, as a list":     {`[{"pid":1,"fd":"3","type":"CHR"},{"pid":1,"fd":"4","type":"CHR"}]`, true},
		"lsof -j, cut":           {`{"pid":1,"fd":"3","type":"CHR","name":"/dev/nu`, true},
		"lsof -J, sorted":        {`{"processes":[{"command":"a","files":[{"access":"u","fd":"3","name":"/x"}],"pid":1}],"lsof_version":"4.99.7"}`, true},
		"the processes alone":    {"[\n  {\n    \"command\": \"a\",\n    \"files\": [\n      {\n        \"fd\": \"3\",\n        \"type\": \"CHR\"\n      }", true},
		"a log with a file":      {`{"level":"info","pid":1,"msg":"opened","fd":3,"type":"a"}` + "\n", false},
		"a list of numbers":      {"[1, 2]\n", false},
		"brackets":               {strings.Repeat("[{", 1000), false},
		"a log in JSON":          {strings.Repeat(`{"level":"info","pid":1,"msg":"fd"}`+"\n", 30), false},
		"text":                   {"hello\n", false},
	} {
		got, ok := newView(Head{Bytes: []byte(c.content), Whole: true, Path: "x"}).lsofJSON()
		if ok != c.want || ok && got.Kind != LsofJSON {
			t.Errorf("%s: got %v %+v", name, ok, got)
		}
	}
}
