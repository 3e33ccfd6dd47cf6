package ingest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

// dump is a small debug=2 text with the given goroutines parked in one function.
func dump(ids ...int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [running]:\nruntime/pprof.writeGoroutineStacks(0x1)\n\truntime/pprof/pprof.go:819 +0x6b\nmain.main()\n\t/src/prober/main.go:10 +0x1d\n")
	for _, id := range ids {
		fmt.Fprintf(&b, "\ngoroutine %d [chan receive, 5 minutes]:\nmain.leak()\n\t/src/prober/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/prober/main.go:9 +0x1d\n", id)
	}
	return b.String()
}

const fdinfo = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1038\n"
const watching = fdinfo + "inotify wd:1 ino:2 sdev:fe00000 mask:fc6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0200000000000000\n"

const lsofTable = `COMMAND    PID USER   FD   TYPE DEVICE SIZE/OFF  NODE NAME
container 4382 root  cwd    DIR  254,0     4096     2 /
container 4382 root    0r   CHR    1,3      0t0     5 /dev/null
container 4382 root    7u  IPv4 339779      0t0   TCP 127.0.0.1:38847->127.0.0.1:58290 (ESTABLISHED)
prometheu 9999 root    1w   REG  254,0      100    77 /var/log/p.log
`

// crash is what SIGQUIT prints, with the scheduler's own goroutine first.
const crash = "SIGQUIT: quit\nPC=0x46f2a1 m=0 sigcode=0\n\ngoroutine 0 [idle]:\nruntime.futex()\n\t/go/src/runtime/sys.s:557 +0x21\n" +
	"\ngoroutine 1 [chan receive]:\nmain.main()\n\t/src/prober/main.go:10 +0x1d\n" +
	"\ngoroutine 5 [select]:\nmain.a()\n\t/src/prober/main.go:20 +0x1d\ncreated by main.main\n\t/src/prober/main.go:9 +0x1d\n" +
	"\ngoroutine 7 [select]:\nmain.a()\n\t/src/prober/main.go:20 +0x1d\ncreated by main.main\n\t/src/prober/main.go:9 +0x1d\n\nrax    0xca\n\n"

func run(t *testing.T, files map[string]string) Result {
	t.Helper()
	return runAs(t, nil, files)
}

// runAs reads files, some as kinds of a person's choice.
func runAs(t *testing.T, kinds, files map[string]string) Result {
	t.Helper()
	return runWith(t, Config{Kinds: kinds}, files)
}

// runWith reads files with other settings.
func runWith(t *testing.T, cfg Config, files map[string]string) Result {
	t.Helper()
	var inputs []bundle.Input
	for _, name := range sortedNames(files) {
		body := files[name]
		inputs = append(inputs, bundle.Input{Name: name, Size: int64(len(body)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(body)), nil
		}})
	}
	cfg.Bundle.TempDir = t.TempDir()
	r, err := Run(t.Context(), cfg, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sortedNames(files map[string]string) []string {
	var names []string
	for n := range files {
		names = append(names, n)
	}
	for i := range names {
		for j := i; j > 0 && names[j] < names[j-1]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return names
}

// brief is a snapshot in one line: "kubelet t0 87g 23d 44w at 02:58:10".
func brief(s analysis.Snapshot) string {
	out := s.Process.Name.Value + " " + s.Label
	if s.Process.Host.Source == "directory name" {
		out = s.Process.Host.Value + "/" + out
	}
	if s.Totals.Threads != nil && s.Process.PID.Known() {
		out += " pid " + s.Process.PID.Value
	}
	for _, k := range []struct {
		kind analysis.Kind
		mark string
	}{{analysis.KindGoroutine, "g"}, {analysis.KindDescriptor, "d"}, {analysis.KindWatch, "w"}} {
		if n := s.Totals.Of(k.kind); n != nil {
			out += fmt.Sprintf(" %d%s", *n, k.mark)
		}
	}
	if !s.CapturedAt.IsZero() {
		out += " at " + s.CapturedAt.Format("15:04:05")
	}
	return out
}

func TestFilesBecomeSnapshots(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"directories named by capture and process", map[string]string{
			"t0/prober/goroutine.txt": dump(5), "t1/prober/goroutine.txt": dump(5, 6), "t10/prober/goroutine.txt": dump(5, 6, 7), "t2/prober/goroutine.txt": dump(5, 6, 8),
		}, []string{"prober t0 2g", "prober t1 3g", "prober t2 4g", "prober t10 4g"}},
		{"loose files told apart by their numbers", map[string]string{"dump-2.txt": dump(5, 6), "dump-1.txt": dump(5), "dump-10.txt": dump(5, 6, 7)},
			[]string{"prober capture 1 2g", "prober capture 2 3g", "prober capture 10 4g"}},
		{"before comes before after", map[string]string{"after.txt": dump(5, 6), "before.txt": dump(5)},
			[]string{"prober before 2g", "prober after 3g"}},
		{"one instant in several forms is one snapshot", map[string]string{
			"t0/prober/goroutine-debug2.txt": dump(5, 6), "t0/prober/goroutine-debug1.txt": "goroutine profile: total 3\n3 @ 0x1\n#\t0x1\tmain.leak+0x1\t/src/main.go:20\n\n",
			"t0/prober/fdinfo/3": fdinfo, "t0/prober/fdinfo/4": watching,
		}, []string{"prober t0 3g 2d 1w"}},
		{"the collector's manifest gives the time to all below it", map[string]string{
			"t0/captured_at": "2026-11-21T02:58:10.939Z\n", "t0/prober/goroutine.txt": dump(5), "t0/other/goroutine.txt": strings.ReplaceAll(dump(6), "prober", "other"),
		}, []string{"other t0 2g at 02:58:10", "prober t0 2g at 02:58:10"}},
		{"a time in a name is a time", map[string]string{"goroutine-2026-11-21T025540Z.txt": dump(5), "goroutine-2026-11-21T030000Z.txt": dump(5, 6)},
			[]string{"prober 2026-11-21t025540z 2g at 02:55:40", "prober 2026-11-21t030000z 3g at 03:00:00"}},
		{"a listing of all processes is a snapshot of each", map[string]string{"lsof.txt": lsofTable},
			[]string{"container #1 2d", "prometheu #1 1d"}},
		{"a name that lsof cut is completed by the directory", map[string]string{"t0/containerd/lsof.txt": strings.SplitAfter(lsofTable, "(ESTABLISHED)\n")[0]},
			[]string{"containerd t0 2d"}},
		{"an empty copy of fdinfo never says that there are no watches", map[string]string{"t0/leaker/fdinfo/3": "", "t0/leaker/fdinfo/4": ""},
			[]string{"leaker t0 2d"}},
		{"two dumps that follow one another are two snapshots", map[string]string{"t0/prober/goroutine.txt": dump(5) + "\n" + dump(5, 6, 7)},
			[]string{"prober t0 #1 2g", "prober t0 #2 4g"}},
		{"a crash that repeats its goroutines is two dumps", map[string]string{"crash.log": strings.Repeat(crash, 2)},
			[]string{"prober #1 3g", "prober #2 3g"}},
		{"two listings of one instant are variants of it", map[string]string{"t0/lsof-nP.txt": lsofTable, "t0/lsof-l.txt": lsofTable, "t1/lsof-nP.txt": lsofTable},
			[]string{"container t0 2d", "prometheu t0 1d", "container t1 2d", "prometheu t1 1d"}},
		{"two dumps of one form whose names differ in words are two", map[string]string{"t0/kubelet.txt": dump(5), "t0/containerd.txt": strings.ReplaceAll(dump(6, 7), "prober", "other")},
			[]string{"other t0 3g", "prober t0 2g"}},
		{"the host's settings and a process' limits find the snapshots below and beside them", map[string]string{
			"host/proc/4382/status": "Name:\tcontainerd\nPid:\t4382\nThreads:\t9\n", "host/lsof.txt": lsofTable, "host/sysctl.txt": "fs.inotify.max_user_watches = 8192\n",
		}, []string{"containerd #1 2d", "prometheu #1 1d"}},
		{"two directories with captures of the same moments are two hosts", map[string]string{
			"node-a/dump-1.txt": dump(5), "node-a/dump-2.txt": dump(5, 6), "node-b/dump-1.txt": dump(7), "node-b/dump-2.txt": dump(7, 8, 9),
		}, []string{"node-a/prober capture 1 2g", "node-a/prober capture 2 3g", "node-b/prober capture 1 2g", "node-b/prober capture 2 4g"}},
		{"nodes of one round are hosts", map[string]string{"t0/node-a/prober/goroutine.txt": dump(5), "t0/node-b/prober/goroutine.txt": dump(5, 6)},
			[]string{"node-a/prober t0 2g", "node-b/prober t0 3g"}},
		{"two directories one after the other are one series", map[string]string{"monday/dump.txt": dump(5), "tuesday/dump.txt": dump(5, 6)},
			[]string{"prober #1 2g", "prober #2 3g"}},
		{"pids in the names of thread dumps are processes", map[string]string{
			"jstack.2620.t0.txt": jstack("2026-11-21 02:46:52", [2]string{"a", waiting("0x10")}), "jstack.2620.t1.txt": jstack("2026-11-21 02:47:52", [2]string{"a", waiting("0x10")}),
			"jstack.99.t0.txt": jstack("2026-11-21 02:46:52", [2]string{"b", waiting("0x10")}, [2]string{"c", waiting("0x11")}),
		}, []string{" 99.t0 pid 99 at 02:46:52", " 2620.t0 pid 2620 at 02:46:52", " 2620.t1 pid 2620 at 02:47:52"}},
		{"the collector's date is the time where nothing else says it", map[string]string{"report/date": "Sat Nov 21 02:50:05 UTC 2026\n", "report/lsof.txt": lsofTable},
			[]string{"container #1 2d at 02:50:05", "prometheu #1 1d at 02:50:05"}},
		{"one goroutine under a panic is no dump", map[string]string{"crash.log": "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/prober/main.go:10 +0x1d\nexit status 2\n"},
			[]string{"prober #1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range run(t, tc.files).Snapshots {
				got = append(got, brief(s))
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnEmptyFdinfoIsAProblemWithAdvice(t *testing.T) {
	r := run(t, map[string]string{"fdinfo/3": "", "fdinfo/4": ""})
	for _, p := range r.Problems {
		if strings.Contains(p.What, "captured with tar") && strings.Contains(p.Hint, "cp -r /proc/PID/fdinfo") {
			return
		}
	}
	t.Errorf("no advice in %+v", r.Problems)
}

func TestAnEmptyCopyOfAnFdinfoThatWasReadCostsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		beside string
		want   analysis.Severity
	}{
		"the fdinfo stands beside it":     {"t0/web/fdinfo/3", analysis.Note},
		"that of another process does":    {"t0/db/fdinfo/3", analysis.Warning},
		"its own name is not that of one": {"t0/web/other.txt", analysis.Warning},
	} {
		t.Run(name, func(t *testing.T) {
			var empty bytes.Buffer
			w := tar.NewWriter(&empty)
			for _, fd := range []string{"fdinfo/3", "fdinfo/4"} {
				if err := w.WriteHeader(&tar.Header{Name: fd, Mode: 0o600}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			r := run(t, map[string]string{"t0/web/direct.tar": empty.String(), c.beside: "pos:\t0\nflags:\t02000000\nmnt_id:\t15\nino:\t7\ninotify wd:1 ino:2 sdev:fe00000 mask:8000fc6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:a1000000\n"})
			for _, p := range r.Problems {
				if strings.Contains(p.What, "captured with tar") {
					if p.Severity != c.want {
						t.Errorf("severity %s, want %s", p.Severity, c.want)
					}
					return
				}
			}
			t.Errorf("nothing is said of it: %+v", r.Problems)
		})
	}
}

func TestAListingNamesAProcessByTheFileThatItRuns(t *testing.T) {
	const header = "COMMAND     PID USER   FD      TYPE DEVICE  SIZE/OFF     NODE NAME\n"
	for name, c := range map[string]struct{ rows, want string }{
		"a shim, whose command is cut":      {"container  1234 root  txt       REG    8,1  12345678   123456 /usr/bin/containerd-shim-runc-v2\n", "containerd-shim-runc-v2"},
		"files that macOS lists as mapped":  {"SpamSieve  1234 root  txt       REG    8,1  12345678   123456 /Applications/SpamSieve.app/Contents/MacOS/SpamSieve\nSpamSieve  1234 root  txt       REG    8,1  12345   123457 /Applications/SpamSieve.app/Contents/Resources/SpamSieveFoerster.icns\n", "SpamSieve"},
		"a shim whose file was replaced":    {"container  1234 root  txt       REG    8,1  12345678   123456 /usr/bin/containerd-shim-runc-v2 (deleted)\n", "containerd-shim-runc-v2"},
		"a program that another one runs":   {"container  1234 root  txt       REG    8,1  12345678   123456 /usr/bin/python3.11\n", "container"},
		"a short command and a longer file": {"python3    1234 root  txt       REG    8,1  12345678   123456 /usr/bin/python3.11\n", "python3"},
	} {
		command, _, _ := strings.Cut(c.rows, " ")
		r := run(t, map[string]string{"lsof.txt": header + c.rows + command + "  1234 root    3u      CHR    1,3       0t0        6 /dev/null\n"})
		if len(r.Snapshots) != 1 || r.Snapshots[0].Process.Name.Value != c.want {
			t.Errorf("%s: %+v, want %s", name, r.Snapshots, c.want)
		}
	}
}

func TestDeletedFilesAreCountedWithTheirBytes(t *testing.T) {
	const header = "COMMAND  PID USER   FD      TYPE DEVICE   SIZE/OFF     NODE NAME\n"
	for name, c := range map[string]struct {
		rows         string
		files, bytes float64
		said         string
	}{
		"two descriptors of one file": {"app     1234 root    3w      REG    8,1  524288000   123457 /var/log/a.log (deleted)\napp     1234 root    4w      REG    8,1  524288000   123457 /var/log/a.log (deleted)\n",
			1, 524288000, "1 deleted file holds 524\u00a0MB of disk"},
		"two files":                     {"app     1234 root    3w      REG    8,1  524288000   123457 /var/log/a.log (deleted)\napp     1234 root    4w      REG    8,1  475712000   123458 /var/log/b.log (deleted)\n", 2, 1e9, "2 deleted files hold 1.0\u00a0GB of disk"},
		"a small one, which is no word": {"app     1234 root    3w      REG    8,1       1000   123457 /tmp/a (deleted)\n", 1, 1000, ""},
		"memory, an offset and a file that is there": {"app     1234 root    3u      REG    0,1    5000000   123457 /memfd:x (deleted)\napp     1234 root    4w      REG    8,1      0t500   123458 /tmp/b (deleted)\napp     1234 root    5w      REG    8,1    5000000   123459 /tmp/c\n",
			0, 0, ""},
	} {
		s := run(t, map[string]string{"lsof.txt": header + c.rows}).Snapshots[0]
		if s.Figures[analysis.DeletedFiles] != c.files || s.Figures[analysis.DeletedBytes] != c.bytes {
			t.Errorf("%s: %v", name, s.Figures)
		}
		said := ""
		for _, x := range s.Statements {
			said += x.Title
		}
		if said != c.said {
			t.Errorf("%s: %q, want %q", name, said, c.said)
		}
	}
}

func TestFilesWithoutADumpAreNamedWithWhatWouldHelp(t *testing.T) {
	table := "NAME    READY   UP-TO-DATE   AVAILABLE   AGE\nweb-1   1/1     1            1           3d\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"one":     {map[string]string{"pods.txt": table}, []string{"pods.txt: a table of kubectl"}},
		"several": {map[string]string{"pods.txt": table, "notes.txt": "see pods\n"}, []string{"notes.txt: their kinds", "pods.txt: a table of kubectl"}},
	} {
		res := run(t, c.files)
		var got []string
		for _, p := range res.Problems {
			got = append(got, p.Path+": "+p.Why)
			if strings.Contains(p.Why, "kubectl") != strings.Contains(p.Hint, "kubectl exec") {
				t.Errorf("%s: hint %q for %q", name, p.Hint, p.Why)
			}
		}
		if len(got) != len(c.want) {
			t.Fatalf("%s: %q", name, got)
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%s: %q, want %q", name, got[i], c.want[i])
			}
		}
	}
}

func TestACutDumpTakesItsTotalsFromACompleteTwin(t *testing.T) {
	cut := dump(5, 6, 7)
	cut = cut[:len(cut)-30]
	twin := "goroutine profile: total 9\n8 @ 0x1 0x2\n#\t0x1\tmain.leak+0x1\t/src/prober/main.go:20\n\n1 @ 0x3\n#\t0x3\truntime/pprof.writeRuntimeProfile+0x1\t/x.go:1\n\n"
	alone := run(t, map[string]string{"t0/prober/goroutine-debug2.txt": cut}).Snapshots[0]
	if !alone.Truncated || !alone.LowerBound || *alone.Totals.Goroutines != 4 {
		t.Errorf("alone: truncated %v, lower bound %v, %d goroutines", alone.Truncated, alone.LowerBound, *alone.Totals.Goroutines)
	}
	both := run(t, map[string]string{"t0/prober/goroutine-debug2.txt": cut, "t0/prober/goroutine-debug1.txt": twin}).Snapshots[0]
	if !both.Truncated || both.LowerBound || *both.Totals.Goroutines != 9 {
		t.Errorf("with its twin: truncated %v, lower bound %v, %d goroutines", both.Truncated, both.LowerBound, *both.Totals.Goroutines)
	}
	for _, g := range both.Groups {
		if g.Count == 8 && g.Members.Len() == 3 {
			return
		}
	}
	t.Errorf("no family of 8 with the 3 members that were read: %+v", both.Groups)
}

func TestTheSameBytesGiveTheSameSnapshotWhateverTheirPath(t *testing.T) {
	a := run(t, map[string]string{"t0/prober/goroutine.txt": dump(5, 6)}).Snapshots[0]
	b := run(t, map[string]string{"case/deep/t0/prober/goroutine.txt": dump(5, 6)}).Snapshots[0]
	if a.ID != b.ID || len(a.ID) != 27 {
		t.Errorf("ids %s and %s", a.ID, b.ID)
	}
}

func TestEveryMemberLeadsBackToItsRawLines(t *testing.T) {
	text := dump(5, 600, 70)
	s := run(t, map[string]string{"t0/prober/goroutine.txt": text}).Snapshots[0]
	seen := 0
	for _, g := range s.Groups {
		for i := range g.Members.Len() {
			m := g.Members.At(i)
			raw := text[m.Place.Offset : m.Place.Offset+m.Place.Length]
			if !strings.HasPrefix(raw, fmt.Sprintf("goroutine %d [", m.Identity.ID)) {
				t.Errorf("member %d leads to %q", m.Identity.ID, raw)
			}
			seen++
		}
	}
	if seen != 3 {
		t.Errorf("%d members, want 3: the dumping goroutine is in no family", seen)
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct{ base, want string }{
		{"p1-t4.debug1.txt", "p1-t4"}, {"p1-t4.txt", "p1-t4"}, {"p1-t4.pb.gz", "p1-t4"},
		{"goroutine-debug2_0001.txt", "0001"}, {"goroutine_0001.prof", "0001"},
		{"lsof.txt", ""}, {"lsof.F0", ""}, {"fd.txt", ""}, {"mountinfo", ""}, {"inotify-sysctls.txt", ""}, {"net_tcp", ""}, {"metrics.txt", ""},
		{"metrics.prom", ""}, {"api-metrics.csv", "api"}, {"before.txt", "before"}, {"kubelet-goroutines.txt", "kubelet"},
	} {
		if got := stemOf(tc.base); got != tc.want {
			t.Errorf("the stem of %s is %q, want %q", tc.base, got, tc.want)
		}
	}
	for _, tc := range []struct{ dir, label, process string }{
		{"kubelet-probe-leak/t8-shims-resumed/kubelet", "t8", "kubelet"}, {"t0/sock", "t0", "sock"}, {"t3", "t3", ""}, {"", "", ""}, {"cap/proc/21630", "", "21630"},
	} {
		label, process := naming(tc.dir)
		if label != tc.label || process != tc.process && tc.process != "21630" {
			t.Errorf("%s is label %q of process %q, want %q and %q", tc.dir, label, process, tc.label, tc.process)
		}
	}
}

func TestNaturalOrder(t *testing.T) {
	for _, tc := range [][2]string{{"t2", "t10"}, {"t9/x", "t10/x"}, {"before", "after"}, {"a", "b"}, {"", "a"}, {"t1", "t1/x"}} {
		if !naturalLess(tc[0], tc[1]) || naturalLess(tc[1], tc[0]) {
			t.Errorf("%q must come before %q", tc[0], tc[1])
		}
	}
}

func TestTimesInNames(t *testing.T) {
	want := time.Date(2026, 11, 21, 2, 55, 40, 0, time.UTC)
	for _, name := range []string{"nomad-debug-2026-11-21-025540Z", "crio-goroutine-stacks-2026-11-21T02:55:40Z.log", "support-bundle-2026-11-21T02_55_40", "d-20261121-025540.txt"} {
		if got, ok := timeInName(name); !ok || !got.Equal(want) {
			t.Errorf("%s: %v %v", name, got, ok)
		}
	}
	want = want.Truncate(time.Minute)
	for _, name := range []string{"kubelet-goroutine-2026-11-21T02-55.txt", "web_2026-11-21T02:55Z_goroutine.txt", "jstack-2026-11-21_0255.txt", "dump-2026-11-21T03-55+0100"} {
		if got, ok := timeInName(name); !ok || !got.Equal(want) {
			t.Errorf("%s: %v %v", name, got, ok)
		}
	}
	for _, name := range []string{"t0", "dump-12.txt", "v1.34.4", "2026-99-99T99:99:99", "jstack-2026-11-21.txt", "2026-11-21T02-551"} {
		if got, ok := timeInName(name); ok {
			t.Errorf("%s is no time, got %v", name, got)
		}
	}
}

func FuzzRun(f *testing.F) {
	f.Add([]byte(dump(5, 6)), "t0/prober/goroutine.txt")
	f.Add([]byte(lsofTable), "lsof.txt")
	f.Add([]byte(watching), "fdinfo/4")
	f.Add([]byte("goroutine profile: total 1\n1 @ 0x1\n#\t0x1\tmain.f+0x1\t/x.go:1\n"), "g1.txt")
	f.Fuzz(func(t *testing.T, body []byte, name string) {
		in := bundle.Input{Name: name, Size: int64(len(body)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }}
		r, err := Run(context.Background(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{in})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Snapshots) == 0 && len(r.Problems) == 0 {
			t.Fatal("nothing was found and nothing was said")
		}
		for _, s := range r.Snapshots {
			for _, g := range s.Groups {
				if g.Count < g.Members.Len() && g.Members.Identified() {
					t.Fatalf("a family of %d has %d members", g.Count, g.Members.Len())
				}
			}
		}
	})
}

func TestAnFdinfoThatWasCutOffAccusesNobody(t *testing.T) {
	files := map[string]string{"t0/leaker/fdinfo/3": watching, "t0/leaker/fdinfo/4": watching}
	listed := "COMMAND  PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n"
	for fd := 3; fd < 23; fd++ {
		listed += fmt.Sprintf("leaker  4382 root  %3dr  a_inode 0,14 0 1038 inotify\n", fd)
	}
	files["t0/leaker/lsof.txt"] = listed
	r := run(t, files)
	s := r.Snapshots[0]
	if *s.Totals.Descriptors != 20 || s.Totals.Watches != nil || !s.Bounded(analysis.KindDescriptor) {
		t.Errorf("descriptors %d, watches %v, inexact %v", *s.Totals.Descriptors, s.Totals.Watches, s.Inexact)
	}
	for _, p := range r.Problems {
		if strings.Contains(p.What, "2 of 20 descriptors") {
			return
		}
	}
	t.Errorf("nothing was said of it: %+v", r.Problems)
}

// TestAStackOfAHiddenGoroutineHidesNoOthers begins with a goroutine that counts in no
// family, the one that wrote the dump, before others with its very stack.
func TestAStackOfAHiddenGoroutineHidesNoOthers(t *testing.T) {
	var text strings.Builder
	for id := 7; id < 27; id++ {
		state := "runnable"
		if id == 7 {
			state = "running"
		}
		fmt.Fprintf(&text, "goroutine %d [%s]:\nmain.spin(0x1)\n\t/srv/main.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/srv/main.go:5 +0x1d\n\n", id, state)
	}
	text.WriteString("goroutine 1 [select]:\nmain.main()\n\t/srv/main.go:5 +0x1d\n")
	s := run(t, map[string]string{"goroutines.txt": text.String()}).Snapshots[0]
	counts := map[string]int{}
	for _, g := range s.Groups {
		counts[g.Family.Title] = g.Count
		if g.Members.Len() != g.Count {
			t.Errorf("%s has %d members, counted are %d", g.Family.Title, g.Members.Len(), g.Count)
		}
	}
	if want := map[string]int{"main.spin <- main.main": 19, "main.main": 1}; !maps.Equal(counts, want) {
		t.Errorf("families %v, want %v", counts, want)
	}
}

// TestDumpsThatAreTooManyAreNotReadAsOne counts: 1,000 of 1,004 dumps are read, and the
// goroutines of the others are in none.
func TestDumpsThatAreTooManyAreNotReadAsOne(t *testing.T) {
	r := run(t, map[string]string{"dumps.txt": strings.Repeat(dump(5, 6), 1004)})
	if len(r.Snapshots) != 1000 {
		t.Fatalf("%d snapshots", len(r.Snapshots))
	}
	for _, s := range r.Snapshots {
		if *s.Totals.Goroutines != *r.Snapshots[0].Totals.Goroutines {
			t.Fatalf("%s has %d goroutines, the first %d", s.Label, *s.Totals.Goroutines, *r.Snapshots[0].Totals.Goroutines)
		}
	}
	for _, p := range r.Problems {
		if strings.Contains(p.What, "more than 1000 dumps; the rest, 12 goroutines") {
			return
		}
	}
	t.Errorf("nothing was said of the rest: %+v", r.Problems)
}

func TestAFileIsReadAsItWasChosen(t *testing.T) {
	files := map[string]string{"t0/goroutines.txt": dump(5, 6, 7), "t1/goroutines.txt": dump(5, 6, 7, 8), "t0/fdinfo/3": "pos:\t0\nflags:\t02\n", "t0/fdinfo/4": "pos:\t0\nflags:\t02\n"}
	for _, tc := range []struct {
		name  string
		kinds map[string]string
		want  []string
	}{
		{"nothing is chosen", nil, []string{"prober t0 4g 2d 0w", "prober t1 5g"}},
		{"one dump is left out", map[string]string{"t1/goroutines.txt": Ignore}, []string{"prober t0 4g 2d 0w"}},
		{"one file of a directory is left out", map[string]string{"t0/fdinfo/4": Ignore}, []string{"prober t0 4g 1d 0w", "prober t1 5g"}},
		{"a dump is read as what it is not", map[string]string{"t1/goroutines.txt": "lsof"}, []string{"prober t0 4g 2d 0w"}},
		{"a path that is not there", map[string]string{"t2/goroutines.txt": Ignore}, []string{"prober t0 4g 2d 0w", "prober t1 5g"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := runAs(t, tc.kinds, files)
			var got []string
			for _, s := range r.Snapshots {
				got = append(got, brief(s))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("snapshots %q, want %q", got, tc.want)
			}
			for _, a := range r.Artifacts {
				if _, chosen := tc.kinds[a.Path]; chosen != strings.HasPrefix(a.Reason, "chosen by a person") {
					t.Errorf("%s: reason %q", a.Path, a.Reason)
				}
			}
		})
	}
}

func TestEveryKindThatCanBeChosenHasAReader(t *testing.T) {
	for _, kind := range Kinds() {
		if r := runAs(t, map[string]string{"x": kind}, map[string]string{"x": "nothing of this kind\n"}); len(r.Artifacts) == 0 {
			t.Errorf("%s: the file is lost", kind)
		}
	}
}

// TestABorderBetweenDumpsThatIsOnlyGuessedIsSaid appends dumps of which none shows who
// wrote it, and ids that are too large to be told apart.
func TestABorderBetweenDumpsThatIsOnlyGuessedIsSaid(t *testing.T) {
	parked := func(ids ...string) string {
		var b strings.Builder
		for _, id := range ids {
			fmt.Fprintf(&b, "goroutine %s [select]:\nmain.park(0x1)\n\t/srv/main.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/srv/main.go:5 +0x1d\n\n", id)
		}
		return b.String()
	}
	huge := []string{"18446744073709551617", "18446744073709551618", "18446744073709551619"}
	for _, tc := range []struct {
		name      string
		text      string
		snapshots int
		says      string
	}{
		{"one dump", parked("7", "8", "9"), 1, ""},
		{"the same goroutines again", parked("7", "8") + parked("7", "8", "9"), 2, "goroutine 7 is here again, so another dump is taken to begin"},
		{"the writers mark the border", dump(7, 8) + dump(7, 8), 2, ""},
		{"ids without end are one dump", parked(huge...), 1, "the id of a goroutine is larger than any that a runtime gives"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, map[string]string{"dump.txt": tc.text})
			var said []string
			for _, p := range r.Problems {
				if strings.Contains(p.What, "again") || strings.Contains(p.What, "larger") {
					said = append(said, p.What)
				}
			}
			if got := strings.Join(said, "; "); got != tc.says || len(r.Snapshots) != tc.snapshots {
				t.Errorf("%d snapshots and %q, want %d and %q", len(r.Snapshots), got, tc.snapshots, tc.says)
			}
		})
	}
}

// TestFiguresOfAFamilyAreThoseOfItsGoroutines counts states and waits by hand. No wait is
// printed of the sleepers, which wake on timers: they have no oldest wait.
func TestFiguresOfAFamilyAreThoseOfItsGoroutines(t *testing.T) {
	var text strings.Builder
	for i, of := range []struct{ status, function string }{
		{"sleep", "main.tick"}, {"sleep", "main.tick"}, {"select, 7 minutes", "main.wait"}, {"chan receive", "main.wait"}, {"select, 300 minutes", "main.wait"}, {"select", "main.wait"},
	} {
		fmt.Fprintf(&text, "goroutine %d [%s]:\n%s(0x1)\n\t/srv/main.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/srv/main.go:5 +0x1d\n\n", 5+i, of.status, of.function)
	}
	s := run(t, map[string]string{"goroutines.txt": text.String()}).Snapshots[0]
	type figures struct {
		states string
		waits  [len(analysis.WaitBuckets)]int
		oldest int
	}
	got := map[string]figures{}
	for _, g := range s.Groups {
		got[g.Family.Title] = figures{fmt.Sprint(g.States), g.Waits, g.OldestWait}
	}
	want := map[string]figures{
		"main.tick <- main.main": {"map[sleep:2]", [9]int{0: 2}, -1},
		"main.wait <- main.main": {"map[chan receive:1 select:3]", [9]int{0: 2, 3: 1, 7: 1}, 300},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
