package ingest

import (
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// A text that ends within a row has at least what is read; one that lost its last line end
// alone is whole.
func TestATextThatEndsWithinARowIsALowerBound(t *testing.T) {
	const head = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"
	const row = "app 50 app 4u IPv4 901 0t0 TCP 10.0.0.1:40001->10.0.0.2:80 (ESTABLISHED)\n"
	const last = "app 50 app 5u IPv4 902 0t0 TCP 10.0.0.1:40002->10.0.0.2:80 (ESTABLISHED)"
	const fields = "p50\ncapp\nf4\nau\ntIPv4\nd901\nPTCP\nn10.0.0.1:40001->10.0.0.2:80\nTST=ESTABLISHED\nf5\nau\ntIPv4\nd902\nPTCP\nn10.0.0.1:40002->10.0.0.2:80\nTST=ESTABLISHED"
	const links = "total 0\nlrwx------ 1 app app 64 Nov 21 03:00 4 -> socket:[901]\nlrwx------ 1 app app 64 Nov 21 03:00 5 -> socket:[902]"
	const ss = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\nESTAB 0 0 10.0.0.1:40001 10.0.0.2:80 users:((\"app\",pid=50,fd=4))\nESTAB 0 0 10.0.0.1:40002 10.0.0.2:80 users:((\"app\",pid=50,fd=5))"
	const netstat = "Proto Recv-Q Send-Q Local Address Foreign Address State PID/Program name\ntcp 0 0 10.0.0.1:40001 10.0.0.2:80 ESTABLISHED 50/app\ntcp 0 0 10.0.0.1:40002 10.0.0.2:80 ESTABLISHED 50/app"
	const watches = watching + "inotify wd:2 ino:3 sdev:fe00000 mask:fc6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0300000000000000"
	const grep = "/proc/50/fdinfo/5:inotify wd:1 ino:2 sdev:fe00000 mask:fc6 ignored_mask:0\n/proc/50/fdinfo/5:inotify wd:2 ino:3 sdev:fe00000 mask:fc6 ignored_mask:0"
	goroutines := strings.TrimSuffix(dump(5, 6, 7), "\n")
	for _, tc := range []struct {
		name, path, whole, tail string // tail is what is lost
		kind                    analysis.Kind
		atLeast, all            int
	}{
		{"lsof, in a port", "t0/app/lsof.txt", head + row + last, "80 (ESTABLISHED)", analysis.KindDescriptor, 1, 2},
		{"lsof, in a state", "t0/app/lsof.txt", head + row + last, "ISHED)", analysis.KindDescriptor, 1, 2},
		{"lsof, before a state", "t0/app/lsof.txt", head + row + last, " (ESTABLISHED)", analysis.KindDescriptor, 1, 2},
		{"lsof -F, in a file", "t0/app/lsof.txt", fields, "CP\nn10.0.0.1:40002->10.0.0.2:80\nTST=ESTABLISHED", analysis.KindDescriptor, 2, 2},
		{"ls -l, in a target", "t0/app/fd.txt", links, "2]", analysis.KindDescriptor, 1, 2},
		{"ls -l, before a target", "t0/app/fd.txt", links, " -> socket:[902]", analysis.KindDescriptor, 1, 2},
		{"ss", "t0/app/ss.txt", ss, "50,fd=5))", "socket", 1, 2},
		{"netstat", "t0/app/netstat.txt", netstat, " ESTABLISHED 50/app", "socket", 1, 2},
		{"fdinfo", "t0/app/fdinfo/5", watches, "00000000", analysis.KindWatch, 1, 2},
		{"fdinfo below names", "t0/app/inotify.txt", grep, "gnored_mask:0", analysis.KindWatch, 1, 2},
		{"a dump, in the word before a creator", "t0/app/goroutine.txt", goroutines, " main.main in goroutine 1\n\t/src/prober/main.go:9 +0x1d", analysis.KindGoroutine, 4, 4},
		{"a dump, in the first letter of that word", "t0/app/goroutine.txt", goroutines, "reated by main.main in goroutine 1\n\t/src/prober/main.go:9 +0x1d", analysis.KindGoroutine, 4, 4},
		{"a dump, in a place", "t0/app/goroutine.txt", goroutines, "9 +0x1d", analysis.KindGoroutine, 4, 4},
	} {
		for _, whole := range []bool{true, false} {
			body, want := tc.whole, tc.all
			if !whole {
				if body, want = strings.TrimSuffix(tc.whole, tc.tail), tc.atLeast; body == tc.whole {
					t.Fatalf("%s: does not end with %q", tc.name, tc.tail)
				}
			}
			r := run(t, map[string]string{tc.path: body})
			if len(r.Snapshots) != 1 {
				t.Errorf("%s, whole %v: %d snapshots", tc.name, whole, len(r.Snapshots))
				continue
			}
			s := &r.Snapshots[0]
			kind, total := tc.kind, s.Totals.Of(tc.kind)
			if kind == "socket" {
				kind, total = analysis.KindDescriptor, s.Totals.Sockets
			}
			if total == nil || *total != want || s.Bounded(kind) != !whole {
				t.Errorf("%s, whole %v: total %v, want %d; bounded %v; %+v", tc.name, whole, total, want, s.Bounded(kind), r.Problems)
			}
			told := slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool {
				return p.Path == tc.path && p.Severity == analysis.Warning && p.Line > 0 && p.Why != "" && p.Hint != ""
			})
			if told == whole {
				t.Errorf("%s, whole %v: %+v", tc.name, whole, r.Problems)
			}
		}
	}
}

// An inotify descriptor that is listed and whose file is not there has an unknown number of
// watches.
func TestWatchesOfAMissingFileAreUnknown(t *testing.T) {
	const links = "total 0\nlrwx------ 1 app app 64 Nov 21 03:00 3 -> /dev/null\nlrwx------ 1 app app 64 Nov 21 03:00 5 -> anon_inode:inotify\n"
	const two = links + "lrwx------ 1 app app 64 Nov 21 03:00 6 -> anon_inode:inotify\n"
	for _, tc := range []struct {
		name    string
		files   map[string]string
		watches int // -1 for unknown
		bounded bool
		problem string
	}{
		{"its file is there", map[string]string{"fd.txt": links, "fdinfo/3": fdinfo, "fdinfo/5": watching}, 1, false, ""},
		{"its file is not there", map[string]string{"fd.txt": links, "fdinfo/3": fdinfo}, -1, true, "the watches of inotify descriptor 5 are missing"},
		{"its file is empty", map[string]string{"fd.txt": links, "fdinfo/3": fdinfo, "fdinfo/5": ""}, -1, true, "the watches of inotify descriptor 5 are missing"},
		{"that of another is there", map[string]string{"fd.txt": two, "fdinfo/3": fdinfo, "fdinfo/5": watching}, 1, true, "the watches of inotify descriptor 6 are missing"},
		{"nothing is watched", map[string]string{"fd.txt": links, "fdinfo/3": fdinfo, "fdinfo/5": fdinfo}, 0, false, ""},
		{"another descriptor's file is not there", map[string]string{"fd.txt": links, "fdinfo/5": watching}, 1, false, ""},
	} {
		files := map[string]string{}
		for name, body := range tc.files {
			files["t0/app/"+name] = body
		}
		r := run(t, files)
		s := &r.Snapshots[0]
		if got := s.Totals.Watches; got == nil && tc.watches >= 0 || got != nil && *got != tc.watches || (s.Exactness(analysis.KindWatch) != analysis.Exact) != tc.bounded {
			t.Errorf("%s: %v watches, exactness %q", tc.name, got, s.Exactness(analysis.KindWatch))
		}
		told := slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool { return p.What == tc.problem && p.Why != "" && p.Hint != "" })
		if told != (tc.problem != "") {
			t.Errorf("%s: %+v", tc.name, r.Problems)
		}
	}
}
