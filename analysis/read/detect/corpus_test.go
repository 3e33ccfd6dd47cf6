package detect_test

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/detect"
	"leakdiff/samples/corpus"
)

// sniffed names every member of a file, as ingest does.
func sniffed(t testing.TB, root, name string) map[string]detect.Result {
	t.Helper()
	out := map[string]detect.Result{}
	full := filepath.Join(root, filepath.FromSlash(name))
	in := bundle.Input{Name: name, Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(full) }}
	_, _, err := bundle.Walk(context.Background(), bundle.Config{TempDir: t.TempDir()}, []bundle.Input{in}, func(m *bundle.Member) error {
		h := detect.Head{Bytes: m.Head, Whole: m.Whole(), Path: m.Path, Size: m.Size, Link: m.Link}
		r := detect.Sniff(h)
		if r.NeedMore {
			h.Bytes = m.Peek(detect.SniffLimit)
			h.Whole = len(h.Bytes) < detect.SniffLimit
			r = detect.Sniff(h)
		}
		if r.NeedMore {
			t.Errorf("%s: more is asked for after %d bytes", m.Path, len(h.Bytes))
		}
		if r.Reason == "" || r.Confidence == "" || strings.HasSuffix(r.Reason, ".") {
			t.Errorf("%s: reason %q, confidence %q", m.Path, r.Reason, r.Confidence)
		}
		out[m.Path] = r
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// formats says which kind a word of the format column of EXPECTED.tsv stands for.
var formats = []struct {
	word string
	kind detect.Kind
}{
	{"debug=2 in a wrapping", ""}, // see exceptions
	{"debug=2", detect.GoroutineDebug2},
	{"gccgo debug=2", detect.GoroutineDebug2},
	{"runtime.Stack file", detect.GoroutineDebug2},
	{"debug=1", detect.GoroutineDebug1},
	{"pprof proto", detect.GoroutineProto},
	{"crash", detect.GoroutineCrash},
	{"signal or crash dump", detect.GoroutineCrash},
	{"race detector report", detect.RaceReport},
	{"dump inside log lines", detect.Wrapped},
	{"one log line", detect.Wrapped},
	{"fdinfo of every descriptor type", detect.FDInfo},
	{"fdinfo inotify", detect.FDInfo},
	{"fdinfo of one inotify instance", detect.FDInfo},
	{"lsof stderr only", detect.LsofTable},
	{"lsof -F", detect.LsofFields},
	{"lsof -t", detect.Text},
	{"lsof -Z (refused: empty)", detect.Empty},
	{"busybox (empty", detect.Empty},
	{"lsof", detect.LsofTable},
	{"busybox lsof", detect.LsofTable},
	{"util-linux lsfd", detect.Lsfd},
	{"lsfd table", detect.Lsfd},
	{"ls -l of /proc/PID/fd", detect.FDListing},
	{"ls -l fd", detect.FDListing},
	{"find -printf of /proc/PID/fd", detect.FDListing},
	{"socket table", detect.SocketTable},
	{"ss -np", detect.SocketTable},
	{"netstat -tnp", detect.SocketTable},
	{"uniq -c table", detect.InotifyTable},
	{"error output", detect.Text},
	{"output of the tool", detect.Text},
	{"other", detect.Text},
	{"gocd support", detect.Text},
	{"jstack", detect.ThreadDump},
	{"jcmd-Thread.print", detect.ThreadDump},
	{"sigquit", detect.ThreadDump},
	{"support-core", detect.ThreadDump},
	{"threadmxbean", detect.ThreadDump},
	{"jenkins-threadDump", detect.ThreadDump},
	{"Thread.getAllStackTraces", detect.ThreadDump},
	{"actuator JSON", detect.ThreadDump},
	{"dump_to_file", detect.ThreadDump},
	{"hotspot", detect.ThreadDump},
	{"jrockit", detect.ThreadDump},
	{"visualvm/jmx", detect.ThreadDump},
	{"JVM output with kill -3 dumps", detect.ThreadDump},
}

// exceptions are files whose format column says something else than a kind: how
// a dump is wrapped, what became of a command, or nothing.
var exceptions = map[string]detect.Kind{
	// Byte order marks, line ends, blanks at the front and foreign lines between
	// do not hide headers; prefixes and escapes do.
	"goroutine/prefixed/bom.txt":                 detect.GoroutineDebug2,
	"goroutine/prefixed/crlf.txt":                detect.GoroutineDebug2,
	"goroutine/prefixed/utf16le.txt":             detect.GoroutineDebug2,
	"goroutine/prefixed/tabs-to-8-spaces.txt":    detect.GoroutineDebug2,
	"goroutine/prefixed/curl-i-headers.txt":      detect.GoroutineDebug2,
	"goroutine/prefixed/klog-multiline.txt":      detect.Wrapped,
	"goroutine/prefixed/html-pre.html":           detect.Wrapped,
	"goroutine/prefixed/cri.log":                 detect.Wrapped,
	"goroutine/prefixed/docker-json.log":         detect.Wrapped,
	"goroutine/prefixed/journald-iso.txt":        detect.Wrapped,
	"goroutine/prefixed/json-escaped-field.json": detect.Wrapped,
	"goroutine/prefixed/kubectl-timestamps.txt":  detect.Wrapped,
	// A panic and an abort that show all goroutines: the table names the grammar.
	"goroutine/public/syncthing-panic.log":    detect.GoroutineCrash,
	"goroutine/public/scone-gccgo-excerpt.md": detect.GoroutineCrash,
	// The commands of these files printed nothing or refused.
	"descriptors/lsof/default.err":                      detect.Empty,
	"descriptors/lsof/netstat.err":                      detect.Empty,
	"descriptors/lsof/repeat.err":                       detect.Empty,
	"descriptors/lsof/busybox_netstat.txt":              detect.Empty,
	"descriptors/lsof/lsfd_cols.txt":                    detect.Text,
	"threads/jdk-matrix/jdk8/jstack-l-e.txt":            detect.Text,
	"threads/jdk-matrix/jdk8/jcmd-Thread.print-l-e.txt": detect.Text,
	"threads/jdk-matrix/jdk17/actuator-threaddump.json": detect.ThreadJSON,
	"threads/jdk-matrix/jdk21/actuator-threaddump.json": detect.ThreadJSON,
	"threads/jdk-matrix/jdk25/actuator-threaddump.json": detect.ThreadJSON,
	"threads/jdk-matrix/jdk26/actuator-threaddump.json": detect.ThreadJSON,
	"threads/jdk-matrix/jdk21/dump_to_file.json":        detect.ThreadJSON,
	"threads/jdk-matrix/jdk25/dump_to_file.json":        detect.ThreadJSON,
	"threads/jdk-matrix/jdk26/dump_to_file.json":        detect.ThreadJSON,
	"threads/public/tda/intellij_dump.json":             detect.ThreadJSON,
	"threads/public/binaryfoo/gosupport.txt":            detect.ThreadForeign,
	"threads/public/binaryfoo/go-log-12.txt":            detect.ThreadForeign,
	// The table calls all of these a socket table.
	"descriptors/lsof/proc_net_netlink.txt": detect.NetTable,
	"descriptors/lsof/proc_net_packet.txt":  detect.NetTable,
	"descriptors/lsof/proc_net_tcp.txt":     detect.NetTable,
	"descriptors/lsof/proc_net_tcp6.txt":    detect.NetTable,
	"descriptors/lsof/proc_net_udp.txt":     detect.NetTable,
	"descriptors/lsof/proc_net_unix.txt":    detect.NetTable,
	"descriptors/lsof/ss_s.txt":             detect.SocketSummary,
	// Rows with the format "-".
	"descriptors/lsof/limits.txt":  detect.Limits,
	"descriptors/lsof/stat_fd.txt": detect.FDListing,
}

// TestEveryFileOfTheTableIsNamed sniffs each single file of EXPECTED.tsv; the
// archives follow in a test of their own.
func TestEveryFileOfTheTableIsNamed(t *testing.T) {
	root := corpus.Path(t)
	f, err := os.Open(filepath.Join(root, "EXPECTED.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		columns := strings.Split(lines.Text(), "\t")
		if columns[0] == "path" || isArchive(columns[0]) || !corpus.Has(t, columns[0]) {
			continue
		}
		files++
		want := expectedKind(columns[0], columns[1])
		if want == "" {
			t.Errorf("%s: no kind is known for %q", columns[0], columns[1])
			continue
		}
		for p, got := range sniffed(t, root, columns[0]) {
			if got.Kind != want {
				t.Errorf("%s (%s): %s because %q, want %s", p, columns[1], got.Kind, got.Reason, want)
			}
		}
	}
	least := 390
	if !corpus.Has(t, "bundles") {
		least = 300 // of our own
	}
	if files < least {
		t.Errorf("%d files were sniffed, want at least %d", files, least)
	}
}

func isArchive(name string) bool {
	return regexp.MustCompile(`\.(tar|tgz|zip|tar\.gz|tar\.xz)$`).MatchString(name)
}

func expectedKind(name, format string) detect.Kind {
	if kind, ok := exceptions[name]; ok {
		return kind
	}
	best := ""
	var kind detect.Kind
	for _, f := range formats {
		if strings.HasPrefix(format, f.word) && len(f.word) > len(best) {
			best, kind = f.word, f.kind
		}
	}
	return kind
}

// inSeries says by name what the files of corpus/series are.
var inSeries = []struct {
	name *regexp.Regexp
	kind detect.Kind
}{
	{regexp.MustCompile(`^expected.*\.json$`), detect.Truth},
	{regexp.MustCompile(`^captured_at(\.txt)?$`), detect.CapturedAt},
	{regexp.MustCompile(`(^goroutine-debug2|^p\d-t\d)\.txt$`), detect.GoroutineDebug2},
	{regexp.MustCompile(`debug1\.txt$`), detect.GoroutineDebug1},
	{regexp.MustCompile(`\.pb\.gz$`), detect.GoroutineProto},
	{regexp.MustCompile(`^(proc-)?limits(\.txt)?$`), detect.Limits},
	{regexp.MustCompile(`^(proc-)?status(\.txt)?$`), detect.Status},
	{regexp.MustCompile(`^stat$`), detect.Stat},
	{regexp.MustCompile(`^mountinfo$`), detect.Mountinfo},
	{regexp.MustCompile(`^cmdline$`), detect.Cmdline},
	{regexp.MustCompile(`^cgroup$`), detect.Cgroup},
	{regexp.MustCompile(`^(file-nr|inotify-sysctls)\.txt$`), detect.Sysctls},
	{regexp.MustCompile(`^lsof(-nP|-p|-nP-p)?\.txt$`), detect.LsofTable},
	{regexp.MustCompile(`^lsof(-F\.txt|\.F0)$`), detect.LsofFields},
	{regexp.MustCompile(`^(fd|proc-fd|ls-l-proc-fd)\.txt$`), detect.FDListing},
	{regexp.MustCompile(`^ss(-tnap)?\.txt$`), detect.SocketTable},
	{regexp.MustCompile(`^(net_(tcp|unix)|proc-net-tcp6?\.txt)$`), detect.NetTable},
	{regexp.MustCompile(`^sockstat$`), detect.SocketSummary},
	{regexp.MustCompile(`^fd-targets\.txt$`), detect.FDTargets},
	{regexp.MustCompile(`^node-report\.json$`), detect.NodeReport},
	{regexp.MustCompile(`^pods\.json$`), detect.JSON},
	{regexp.MustCompile(`jcmd|jstack|threadmxbean|support-core|jenkins|getAllStackTraces`), detect.ThreadDump},
	{regexp.MustCompile(`^t\d\.txt$`), detect.ClientSummary},
	{regexp.MustCompile(`^(cgroup-dirs|uname|os-thread-count)\.txt$|^lsof\.err$`), detect.Text},
	{regexp.MustCompile(`^app\.log$`), detect.ThreadDump},
	{regexp.MustCompile(`^app-stdout\.log$`), detect.Log},
}

func seriesKind(name string, size int64) detect.Kind {
	switch {
	case path.Base(path.Dir(name)) == "fdinfo":
		return detect.FDInfo
	case size == 0:
		return detect.Empty
	case path.Base(name) == "metrics.txt" && strings.Contains(name, "clientgo-informer"):
		return detect.Text // "404 page not found"
	case path.Base(name) == "metrics.txt":
		return detect.Metrics
	}
	for _, s := range inSeries {
		if s.name.MatchString(path.Base(name)) {
			return s.kind
		}
	}
	return ""
}

func TestEveryFileOfTheSeriesIsNamed(t *testing.T) {
	root := corpus.Path(t)
	files := 0
	err := fs.WalkDir(os.DirFS(root), "series", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || isArchive(name) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		want := seriesKind(name, info.Size())
		if want == "" {
			t.Errorf("%s: this test does not know what it is", name)
			return nil
		}
		for p, got := range sniffed(t, root, name) {
			if got.Kind != want {
				t.Errorf("%s: %s because %q, want %s", p, got.Kind, got.Reason, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 5500 {
		t.Errorf("%d files were sniffed, want at least 5500", files)
	}
}

// kinds counts the members of an archive by kind, leaving out the kinds that
// hold no evidence.
func kinds(all map[string]detect.Result) map[detect.Kind]int {
	out := map[detect.Kind]int{}
	for _, r := range all {
		switch r.Kind {
		case detect.Text, detect.Log, detect.JSON, detect.HTML, detect.Binary, detect.Link:
		default:
			out[r.Kind]++
		}
	}
	return out
}
