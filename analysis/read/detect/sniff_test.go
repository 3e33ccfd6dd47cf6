package detect_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/samples/corpus"
)

func whole(path, content string) detect.Head {
	return detect.Head{Bytes: []byte(content), Whole: true, Path: path, Size: int64(len(content))}
}

const stack = "\nmain.main()\n\t/srv/main.go:3 +0x7f\n\n"

// profileOf is the smallest profile with these sample types.
func profileOf(types ...string) string {
	out := ""
	for i := range types {
		out += "\x0a\x04\x08" + string(rune(2*i+1)) + "\x10" + string(rune(2*i+2))
	}
	out += "\x12\x04\x0a\x00\x12\x00" + "\x32\x00"
	for _, t := range types {
		out += "\x32" + string(rune(len(t))) + t + "\x32\x05count"
	}
	return out
}

func utf16le(text string) string {
	out := []byte("\xff\xfe")
	for _, u := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

func TestContentDecides(t *testing.T) {
	for name, c := range map[string]struct {
		path, content string
		want          detect.Kind
		reason        string
	}{
		"an empty file":                         {"t0/metrics.txt", "", detect.Empty, "no content"},
		"an empty fdinfo file":                  {"proc/7/fdinfo/12", "", detect.EmptyFDInfo, "no content"},
		"an empty file of a copied fdinfo":      {"cpr_fdinfo/12", "", detect.EmptyFDInfo, "no content"},
		"an empty file whose name is no number": {"proc/7/fdinfo/x", "", detect.Empty, "no content"},
		"a dump that begins with a header":      {"x", "goroutine 1 [running]:" + stack + "goroutine 7 [select, 6 minutes]:" + stack, detect.GoroutineDebug2, "1 more follow"},
		"a record of debug=1 without its total": {"x", "811 @ 0x43aad6 0x40862c\n#\t0x122fe68\tmain.f+0xe5\t/src/m.go:1\n", detect.GoroutineDebug1, "without the line"},
		"a record of debug=1 amid prose":        {"x", "We see this:\n811 @ 0x43aad6\n# labels: {\"k\":\"v\"}\nand more", detect.GoroutineDebug1, "without the line"},
		"an address that is no record":          {"x", "811 @ 0x43aad6 is where it hangs\n#\t0x1\tmain.f+0x1\t/src/m.go:1\n", detect.Text, "no known form"},
		"the list of a leak checker":            {"x", "Too many goroutines running after all test(s).\n3 instances of:\nmain.work(...)\n\t/s/a.go:1 +0x1\n", detect.GoroutineDebug1, "leak checkers"},
		"a thread of Jenkins alone":             {"x", "\"A\" Id=4 Group=main WAITING on x.Y@9\n\tat x.Y.z(Y.java:1)\n", detect.ThreadDump, "of Jenkins"},
		"a thread that is no thread's line":     {"x", "\"A\" Id=4 WAITING on x.Y@9\n", detect.Text, "no known form"},
		"one behind the name of its file":       {"x", "    m_test.go:14: leaked: 2 instances of:\n    main.work(...)\n", detect.GoroutineDebug1, "leak checkers"},
		"a record of debug=1 in a quotation":    {"x", "We see\n\n> 811 @ 0x43aad6 0x40862c\n> #\t0x122fe68\tmain.f+0xe5\t/src/m.go:1\n", detect.GoroutineDebug1, "without the line"},
		"prose that counts instances":           {"x", "3 instances of:\nthe service run here\n", detect.Text, "no known form"},
		"a dump named as something else":        {"heap.prof", "goroutine 1 [running]:" + stack, detect.GoroutineDebug2, "first line is a goroutine header"},
		"a dump behind a byte order mark":       {"x", "\xef\xbb\xbfgoroutine 1 [running]:" + stack, detect.GoroutineDebug2, "first line"},
		"an indented dump":                      {"x", "notes\n" + strings.Repeat("    goroutine 5 [select]:\r\n    main.f()\r\n", 3), detect.GoroutineDebug2, "3 lines are goroutine headers"},
		"labels of Go 1.27 with brackets":       {"x", "goroutine 69 [chan receive] {k: v1, \"na me\": \"quo\\\"te]:, x\"}:" + stack, detect.GoroutineDebug2, "first line"},
		"labels of Go 1.26 with brackets":       {"x", "goroutine 69 [chan receive labels:{\"na me\": \"quo\\\"te]:, x\"}]:" + stack, detect.GoroutineDebug2, "first line"},
		"a dump with a NUL in it":               {"x", "goroutine 1 [running]:\nmain.\x00main()\n", detect.GoroutineDebug2, "first line"},
		"curl -i of a dump":                     {"x", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\ngoroutine 1 [running]:" + stack, detect.GoroutineDebug2, "first line"},
		"one header after panic":                {"x.log", "I0101 starting\npanic: boom\n\ngoroutine 1 [running]:" + stack, detect.GoroutineCrash, "panic: boom"},
		"a dump after a signal":                 {"x.log", "SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\ngoroutine 0 gp=0xa m=0 mp=0xb [idle]:" + stack, detect.GoroutineCrash, "SIGQUIT"},
		"a dump and then a panic":               {"x", strings.Repeat("goroutine 1 [running]:"+stack, 3) + "panic: boom\n", detect.GoroutineDebug2, "2 more follow"},
		"one header in the middle of a log":     {"x.log", "2026-01-02 10:00:00 hello\ngoroutine 1 [running]:\n2026-01-02 10:00:01 world\n", detect.Log, "1 goroutine header in it makes no dump"},
		"headers in a sentence":                 {"x.md", "The goroutine 1 [running]: line begins a block.\n", detect.Text, "no known form"},
		"debug=1":                               {"goroutine.pb", "goroutine profile: total 81\n10 @ 0x4902a1\n", detect.GoroutineDebug1, "total 81"},
		"debug=1 of leaked goroutines":          {"x", "goroutineleak profile: total 40\n", detect.GoroutineDebug1, "goroutineleak"},
		"debug=1 behind that of the heap":       {"all.txt", "heap profile: 4: 5 [6: 7] @ heap/1048576\n4: 5 [6: 7] @ 0x1\n\ngoroutine profile: total 81\n10 @ 0x4902a1\n", detect.GoroutineDebug1, "another profile"},
		"a dump of a program's own words":       {"x.txt", "Full thread dump:\n\nnothing that is known\n", detect.ThreadDump, "Full thread dump"},
		"debug=1 of the heap":                   {"goroutine.txt", "heap profile: 4: 5 [6: 7] @ heap/1048576\n", detect.HeapText, "a profile of the heap"},
		"debug=1 of mutexes":                    {"x", "--- mutex:\ncycles/second=2096012853\nsampling period=1\n", detect.ContentionText, "--- mutex:"},
		"debug=1 of blocking":                   {"x", "--- contention:\ncycles/second=2096012853\n", detect.ContentionText, "--- contention:"},
		"debug=1 behind that of mutexes":        {"all.txt", "--- mutex:\ncycles/second=1\n\ngoroutine profile: total 81\n10 @ 0x4902a1\n", detect.GoroutineDebug1, "another profile"},
		"a profile of waits":                    {"goroutine.pb", profileOf("contentions", "delay"), detect.ContentionProto, "contentions, delay"},
		"a goroutine profile named .txt":        {"goroutine.txt", profileOf("goroutine"), detect.GoroutineProto, "sample type is goroutine"},
		"a leak profile":                        {"x", profileOf("goroutineleak"), detect.GoroutineProto, "goroutineleak"},
		"a heap profile named goroutine":        {"goroutine.pb", profileOf("alloc_objects", "inuse_space"), detect.HeapProto, "alloc_objects, inuse_space"},
		"a line feed before text is no profile": {"x", "\n\nhello\n", detect.Text, "no known form"},
		"an execution trace named .prof":        {"trace.prof", "go 1.26 trace\x00\x00\x00\x01", detect.ExecutionTrace, "not a profile"},
		"CRI lines":                             {"x", strings.Repeat("2026-02-03T19:00:16.68694293Z stderr F goroutine 1 [running]:\n", 4), detect.Wrapped, "behind a prefix"},
		"a log field":                           {"x", `time="2026" msg="=== BEGIN goroutine stack dump ===\ngoroutine 9 [running]:\nmain.main()\n\t/a.go:1 +0x1\n\ngoroutine 1 [select]:\n"`, detect.Wrapped, "escaped"},
		"a JSON string":                         {"result.json", `{"response":{"status":200,"body":"goroutine 1 [running]:\nmain.main()\n\ngoroutine 2 [select]:\n\ngoroutine 3 [select]:\n"}}`, detect.Wrapped, "escaped"},
		"a race report":                         {"x", "==================\nWARNING: DATA RACE\nRead at 0x00c by goroutine 7:\n", detect.RaceReport, "race detector"},
		"fdinfo":                                {"t0/fdinfo/12", "pos:\t0\nflags:\t02004000\nmnt_id:\t15\n", detect.FDInfo, "pos and flags"},
		"fdinfo with watches, indented":         {"x", "   pos: 0\n   flags: 00\n   inotify wd:1 ino:2 sdev:3 mask:fce ignored_mask:0\n", detect.FDInfo, "1 inotify"},
		"grep over fdinfo":                      {"x", "/proc/7/fdinfo/25:inotify wd:1 ino:2 sdev:3\n/proc/7/fdinfo/25:inotify wd:2 ino:2 sdev:3\n", detect.FDInfoGrep, "grep"},
		"counts of grep over fdinfo":            {"x", "/proc/7/fdinfo/25:398\n/proc/7/fdinfo/26:0\n", detect.FDInfoGrep, "grep"},
		"tail over fdinfo":                      {"x", "==> /proc/7/fdinfo/25 <==\npos:\t0\nflags:\t00\n", detect.FDInfoGrep, "below its path"},
		"ls -l of fd":                           {"x", "total 0\nlrwx------. 1 root root 64 Jun 20 12:56 0 -> /dev/pts/0\n", detect.FDListing, "ls -l"},
		"ls -l of another directory":            {"x", "total 0\nlrwxrwxrwx 1 root root 64 Jun 20 12:56 current -> /srv/a\n", detect.Text, "no known form"},
		"find over fd":                          {"x", ". -> \n0 -> /dev/null\n3 -> socket:[1]\n", detect.FDListing, "number -> target"},
		"lsof far below warnings":               {"x", strings.Repeat("lsof: avoiding readlink(/proc): -b was specified.\n", 300) + "COMMAND  PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n", detect.LsofTable, "header"},
		"lsof behind blanks":                    {"x", strings.Repeat(" ", 330) + "COMMAND  PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n", detect.LsofTable, "header"},
		"lsof without a header":                 {"x", "kube-prox 23746                     root *614u  IPv4 42992070      0t0  TCP 10.132.0.1:34014->10.132.0.66:http (CLOSE_WAIT)\n", detect.LsofTable, "without its header"},
		"lsof -F":                               {"x", "p14406\ncnode\nu0\nfcwd\ntDIR\n", detect.LsofFields, "lsof -F:"},
		"lsof -F0":                              {"x", "p14406\x00csock\x00u0\x00\nfcwd\x00a \x00tDIR\x00\nf4\x00au\x00\n", detect.LsofFields, "lsof -F0"},
		"lsof -t":                               {"x", "14406\n14409\n", detect.Text, "2 numbers"},
		"lsof -J":                               {"x", `{"lsof_version":"4.99.7","processes":[]}`, detect.LsofJSON, "lsof -J"},
		"lsfd":                                  {"x", "COMMAND       PID USER  ASSOC MODE TYPE       SOURCE MNTID      INODE NAME\n", detect.Lsfd, "ASSOC"},
		"mountinfo":                             {"x", "160 109 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n", detect.Mountinfo, "mountinfo"},
		"mountinfo with optional fields":        {"x", "44 43 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n", detect.Mountinfo, "mountinfo"},
		"limits":                                {"x", "Limit                     Soft Limit           Hard Limit           Units     \n", detect.Limits, "limits"},
		"status":                                {"x", "Name:\tkubelet\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\n", detect.Status, "Pid"},
		"stat with blanks in its name":          {"x", "14406 (zoo (a b) c) S 1 14388 14388 0 -1 4194304 2856 0\n", detect.Stat, "stat"},
		"the stat of the machine":               {"proc/stat", "cpu  38833 45325 27365 131148 282 0 362 794 0 0\nintr 12 3\n", detect.Text, "processor times"},
		"a command line":                        {"proc/7/cmdline", "/usr/bin/kubelet\x00--config=/a b\x00", detect.Cmdline, "arguments"},
		"a command line of short arguments":     {"proc/7/cmdline", "a\x00b\x00c\x00", detect.Cmdline, "arguments"},
		"an environment":                        {"proc/7/environ", "HOME=/\x00TOKEN=x\x00", detect.Text, "secrets"},
		"cgroup":                                {"x", "9:name=systemd:/\n0::/kubepods.slice\n", detect.Cgroup, "cgroup"},
		"sysctl":                                {"x", "fs.inotify.max_user_watches = 192536\n", detect.Sysctls, "kernel settings"},
		"grep over sysctls":                     {"x", "/proc/sys/fs/inotify/max_user_watches:192536\n", detect.Sysctls, "kernel settings"},
		"one sysctl":                            {"proc/sys/fs/inotify/max_user_watches", "192536\n", detect.Sysctls, "one number"},
		"the time of capture":                   {"t0/captured_at", "2026-11-21T02:58:36Z\n", detect.CapturedAt, "manifest"},
		"a broken time of capture":              {"t0/captured_at.txt", "yesterday\n", detect.CapturedAt, "no RFC 3339 time"},
		"metrics":                               {"metrics.json", "# HELP go_goroutines Number.\n# TYPE go_goroutines gauge\ngo_goroutines 7\n", detect.Metrics, "Prometheus"},
		"metrics of a HashiCorp agent":          {"metrics.json", `{"Timestamp":"x","Gauges":[],"Points":[],"Counters":[]}`, detect.MetricsJSON, "HashiCorp"},
		"ss":                                    {"x", "State      Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n", detect.SocketTable, "ss"},
		"ss rows":                               {"x", "ESTAB 0 0 127.0.0.1:1 127.0.0.1:2 users:((\"a\",pid=1,fd=2))\n", detect.SocketTable, "without its header"},
		"/proc/net/tcp":                         {"x", "  sl  local_address rem_address   st tx_queue\n", detect.NetTable, "/proc/net"},
		"a HotSpot dump":                        {"x", "2026-11-21 02:46:57\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15):\n", detect.ThreadDump, "Full thread dump"},
		"an actuator's dump":                    {"x", `{"threads":[{"threadName":"","threadId":38}]}`, detect.ThreadJSON, "actuator"},
		"a summary of clients":                  {"x", "Active K8s Clients\n----------\n", detect.ClientSummary, "Active K8s Clients"},
		"a Node report":                         {"x", "\n{\n  \"header\": {\"reportVersion\": 5, \"nodejsVersion\": \"v22\"},\n  \"libuv\": []}\n", detect.NodeReport, "Node.js"},
		"truth":                                 {"s/expected.kubelet.json", `{"series": "x"}`, detect.Truth, "expected.kubelet.json"},
		"JSON":                                  {"pods.json", `{"kind":"PodList","items":null}`, detect.JSON, "JSON"},
		"a log of JSON lines":                   {"x", "{\"level\":\"info\"}\n{\"level\":\"warn\"}\n", detect.Log, "each line"},
		"a log in brackets":                     {"x", "[2006-05-03 12:00:00] one\n[2006-05-03 12:00:01] two\n", detect.Log, "time or a level"},
		"a klog log":                            {"x", "I1120 10:00:01.123456       1 main.go:262] hello\n", detect.Log, "time or a level"},
		"HTML":                                  {"x", "<!DOCTYPE html>\n<html></html>\n", detect.HTML, "begins with"},
		"an error page":                         {"metrics.txt", "404 page not found\n", detect.Text, "server that refused"},
		"a PNG image":                           {"x.txt", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", detect.Image, "PNG"},
		"an ELF file":                           {"goroutine.txt", "\x7fELF\x02\x01\x01\x00", detect.Binary, "ELF"},
		"a 7-Zip archive":                       {"x.7z", "7z\xbc\xaf\x27\x1c\x00\x04", detect.Binary, "7-Zip"},
		"zeros":                                 {"x", strings.Repeat("\x00", 512), detect.Binary, "NUL"},
		"the second half of a tar":              {"half.tar", "some text of a member\n" + strings.Repeat("\x00", 400) + "name" + strings.Repeat("\x00", 96) + "0000644\x00", detect.Binary, "NUL"},
		"random bytes":                          {"x", "\x01\x02\x03\x9f\x10\x11\xfe\x06\x07\xc3\x01\x05\xaa", detect.Binary, "control bytes"},
		"Chinese in UTF-8":                      {"说明.txt", "这是一个关于协程泄漏的说明。\n请查看附件。\n", detect.Text, "这是一个"},
		"Chinese in GBK":                        {"x.txt", "\xd5\xe2\xca\xc7\xd2\xbb\xb8\xf6\xcb\xb5\xc3\xf7\xa1\xa3\n\xc7\xeb\xb2\xe9\xbf\xb4\n", detect.Text, "another encoding"},
		"UTF-16 that was not transcoded":        {"x", utf16le("hello"), detect.Text, "UTF-16"},
		"blanks":                                {"x", " \n\t\n", detect.Text, "blanks"},
		"YAML":                                  {"x.yaml", "apiVersion: v1\nkind: Pod\n", detect.Text, "YAML"},
		"coloured log lines with an escape":     {"x.log", "\x1b[31mERROR\x1b[0m something\n", detect.Log, "name says"},
	} {
		got := detect.Sniff(whole(c.path, c.content))
		if got.Kind != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s is %s because %q; want %s because of %q", name, got.Kind, got.Reason, c.want, c.reason)
		}
		if got.NeedMore {
			t.Errorf("%s: more is asked for although it is whole", name)
		}
	}
}

func TestALinkNamedByANumberIsADescriptor(t *testing.T) {
	if got := detect.Sniff(detect.Head{Path: "proc/7/fd/12", Link: "socket:[1]", Whole: true}); got.Kind != detect.FDLink {
		t.Errorf("fd/12 is %s", got.Kind)
	}
	if got := detect.Sniff(detect.Head{Path: "sos/lsof", Link: "sos_commands/lsof", Whole: true}); got.Kind != detect.Link {
		t.Errorf("lsof is %s", got.Kind)
	}
}

func TestPlainTextAsksForMoreUntilAMegabyteWasSeen(t *testing.T) {
	text := strings.Repeat("2026-01-02 10:00:00 a line of a log\n", 40000)
	head := detect.Head{Bytes: []byte(text[:64<<10]), Path: "x.log", Size: int64(len(text))}
	if got := detect.Sniff(head); !got.NeedMore || got.Kind != detect.Log {
		t.Errorf("after 64 KiB: %+v, want a log and more of it", got)
	}
	head.Bytes = []byte(text[:detect.SniffLimit])
	if got := detect.Sniff(head); got.NeedMore || got.Kind != detect.Log {
		t.Errorf("after 1 MiB: %+v, want a log", got)
	}
	head.Bytes = []byte(text[:100<<10] + "\n" + strings.Repeat("goroutine 5 [select]:"+stack, 3))
	if got := detect.Sniff(head); got.Kind != detect.GoroutineDebug2 || !strings.Contains(got.Reason, "at least 3") {
		t.Errorf("with a dump below: %+v", got)
	}
	if got := detect.Sniff(detect.Head{Bytes: make([]byte, 64<<10), Size: 1 << 30}); got.NeedMore || got.Kind != detect.Binary {
		t.Errorf("of binary data: %+v, want no more", got)
	}
}

// TestAPrefixKeepsItsKind cuts real files anywhere after their first lines: the kind
// must not depend on where a head ends.
func TestAPrefixKeepsItsKind(t *testing.T) {
	root := corpus.Path(t)
	for name, want := range map[string]detect.Kind{
		"goroutine/gen/debug2-go1.27.0.txt":                           detect.GoroutineDebug2,
		"goroutine/gen/debug1-go1.26.8.txt":                           detect.GoroutineDebug1,
		"goroutine/gen/sigquit-go1.26.8.txt":                          detect.GoroutineCrash,
		"descriptors/lsof/nP.txt":                                     detect.LsofTable,
		"descriptors/lsof/F.txt":                                      detect.LsofFields,
		"descriptors/lsof/ls_l_fd.txt":                                detect.FDListing,
		"series/kubelet-probe-leak/t1/kubelet/mountinfo":              detect.Mountinfo,
		"series/prometheus-hanging-targets/t1/prometheus/metrics.txt": detect.Metrics,
	} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			end := rapid.IntRange(400, len(content)).Draw(t, "end")
			got := detect.Sniff(detect.Head{Bytes: content[:end], Path: "x", Size: int64(len(content))})
			if got.Kind != want {
				t.Fatalf("%s cut at %d is %s because %q, want %s", name, end, got.Kind, got.Reason, want)
			}
		})
	}
}

func FuzzSniff(f *testing.F) {
	for _, s := range []string{
		"goroutine 1 [running]:" + stack, "goroutine 69 [chan receive] {k: \"]:\"}:", profileOf("goroutine"), profileOf("alloc_objects", "inuse_space"),
		"goroutine profile: total 81\n", "p1\nfcwd\n", "{\"a\":[1,", "\xff\xfea\x00", "pos:\t0\nflags:\t02\n", "COMMAND  PID USER   FD   TYPE NAME\n",
		"\"a\" #1 nid=0x1 \n", "go 1.26 trace\x00", "panic: x\n\ngoroutine 1 [running]:\n", "x\ngoroutine 1 [running]:\\ngoroutine 2 [a]:", "",
		"--- mutex:\ncycles/second=1\n", "\x00\x01\x00\x00\x0a\x02\x0a\x00",
	} {
		f.Add([]byte(s), "t0/fdinfo/12", true)
		f.Add([]byte(s), "x.log", false)
	}
	f.Fuzz(func(t *testing.T, content []byte, path string, complete bool) {
		h := detect.Head{Bytes: content, Whole: complete, Path: path, Size: -1}
		got := detect.Sniff(h)
		if got.Kind == "" || got.Reason == "" || got.NeedMore && complete {
			t.Errorf("%+v", got)
		}
		if got.Confidence != analysis.Low && got.Confidence != analysis.Medium && got.Confidence != analysis.High {
			t.Errorf("confidence %q", got.Confidence)
		}
		if again := detect.Sniff(h); again != got {
			t.Errorf("%+v, then %+v", got, again)
		}
	})
}

func BenchmarkSniffAMegabyteOfLog(b *testing.B) {
	line := "2026-01-02 10:00:00.123 INFO [main] com.example.Thing - state= tid=7 a line of a log\n"
	h := detect.Head{Bytes: []byte(strings.Repeat(line, detect.SniffLimit/len(line))), Path: "x.log", Size: 1 << 30}
	b.SetBytes(int64(len(h.Bytes)))
	for b.Loop() {
		detect.Sniff(h)
	}
}
