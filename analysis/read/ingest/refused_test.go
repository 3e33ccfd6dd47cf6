package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// profileText is a debug=1 text of goroutines in two functions.
func profileText(leaking, pool int) string {
	return fmt.Sprintf("goroutine profile: total %d\n%d @ 0x1 0x2\n#\t0x1\tmain.leak+0x1\t/src/prober/main.go:20\n\n%d @ 0x3\n#\t0x3\tmain.pool+0x1\t/src/prober/main.go:30\n\n", leaking+pool, leaking, pool)
}

// leakedText is what /debug/pprof/goroutineleak?debug=1 prints of them.
func leakedText(leaking int) string {
	return fmt.Sprintf("goroutineleak profile: total %d\n%d @ 0x1 0x2\n#\t0x1\tmain.leak+0x1\t/src/prober/main.go:20\n\n", leaking, leaking)
}

func TestAProfileOfTheLeakedGoroutinesMarksThem(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"behind that of all": {"t0/prober/goroutine.txt": profileText(5, 2) + leakedText(4)},
		"beside a dump":      {"t0/prober/goroutine.txt": dump(5, 6, 7, 8, 9), "t0/prober/goroutineleak.txt": leakedText(4)},
	} {
		snapshots := run(t, files).Snapshots
		if len(snapshots) != 1 {
			t.Fatalf("%s: %d snapshots", name, len(snapshots))
		}
		marked := 0
		for _, g := range snapshots[0].Groups {
			marked += g.Leaked
		}
		if marked != 4 {
			t.Errorf("%s: %d are marked, want 4", name, marked)
		}
	}
}

func TestProfilesThatFollowOneAnotherAreSnapshots(t *testing.T) {
	three := profileText(5, 2) + profileText(7, 2) + profileText(9, 2)
	dated := "2026-11-21T03:00:00Z\n" + profileText(5, 2) + "2026-11-21T03:00:20Z\n" + profileText(7, 2)
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"in one file", map[string]string{"t0/prober/goroutine.txt": three}, []string{"prober t0 #1 7g", "prober t0 #2 9g", "prober t0 #3 11g"}},
		{"with profiles of the leaked ones alone", map[string]string{"t0/prober/goroutine.txt": profileText(5, 2) + leakedText(4) + profileText(7, 2) + leakedText(6)}, []string{"prober t0 #1 7g", "prober t0 #2 9g"}},
		{"with one of the leaked ones in another file", map[string]string{"t0/prober/goroutine.txt": profileText(5, 2), "t0/prober/goroutineleak.txt": leakedText(4)}, []string{"prober t0 7g"}},
		{"of the leaked ones alone", map[string]string{"t0/prober/goroutineleak.txt": leakedText(4) + leakedText(6)}, []string{"prober t0 #1 4g", "prober t0 #2 6g"}},
		{"with the dates of a loop", map[string]string{"prober/goroutine.txt": "curl says:\n" + dated}, []string{" #1 7g at 03:00:00", " #2 9g at 03:00:20"}},
		{"in the lines of a log", map[string]string{"app.log": "time=1 level=info " + strings.ReplaceAll(strings.TrimSuffix(three, "\n"), "\n", "\ntime=1 level=info ") + "\n"}, []string{" #1 7g", " #2 9g", " #3 11g"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, tc.files)
			var got []string
			for _, s := range r.Snapshots {
				got = append(got, brief(s))
				if s.LowerBound || s.Truncated || s.Refused != 0 {
					t.Errorf("%s is a lower bound", s.Label)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q; %+v", got, tc.want, r.Problems)
			}
		})
	}
}

func TestWhatWasNotUnderstoodMakesTheTotalALowerBound(t *testing.T) {
	garbled := strings.Replace(profileText(5, 2), "2 @ 0x3", "2 # 0x3", 1)
	brokenDump := strings.Replace(dump(5, 6, 7, 8, 9), "goroutine 7 [", "gorout17 [", 1)
	threads := jstack("2026-11-21 02:46:52", [2]string{"a", waiting("0x10")}, [2]string{"b", waiting("0x11")}, [2]string{"c", waiting("0x12")})
	broken := strings.Replace(threads, `"b" #21 daemon`, `"b" #2`+"\x01", 1)
	broken = strings.Replace(broken, "tid=0x00007f000001 ", "", 1)
	for _, tc := range []struct {
		name           string
		files          map[string]string
		kind           analysis.Kind
		total, refused int
	}{
		{"a record of a profile", map[string]string{"t0/prober/goroutine.txt": garbled}, analysis.KindGoroutine, 5, 1},
		{"a record of one of several profiles", map[string]string{"t0/prober/goroutine.txt": garbled + profileText(7, 2)}, analysis.KindGoroutine, 5, 1},
		{"a record of a profile, with a whole dump beside it", map[string]string{"t0/prober/goroutine-debug1.txt": garbled, "t0/prober/goroutine-debug2.txt": dump(5, 6, 7, 8, 9)}, analysis.KindGoroutine, 6, 0},
		{"a goroutine", map[string]string{"t0/prober/goroutine.txt": brokenDump}, analysis.KindGoroutine, 5, 1},
		{"a goroutine of one of several dumps", map[string]string{"t0/prober/goroutine.txt": brokenDump + "\n" + dump(5, 6, 7)}, analysis.KindGoroutine, 5, 1},
		{"a goroutine, with a whole profile beside it", map[string]string{"t0/prober/goroutine-debug2.txt": brokenDump, "t0/prober/goroutine-debug1.txt": profileText(5, 2)}, analysis.KindGoroutine, 7, 0},
		{"a goroutine in the lines of a log", map[string]string{"app.log": "app-1  | " + strings.ReplaceAll(strings.TrimSuffix(brokenDump, "\n"), "\n", "\napp-1  | ") + "\n"}, analysis.KindGoroutine, 5, 1},
		{"a thread", map[string]string{"t0/app/jstack.txt": broken}, analysis.KindThread, 2, 1},
		{"a thread, with a whole dump of the same instant beside it", map[string]string{"t0/app/jstack.txt": broken, "t0/app/jstack-l.txt": threads}, analysis.KindThread, 3, 0},
		{"a thread in the lines of a log", map[string]string{"app.log": "app-1  | " + strings.ReplaceAll(strings.TrimSuffix(broken, "\n"), "\n", "\napp-1  | ") + "\n"}, analysis.KindThread, 2, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, tc.files)
			s := r.Snapshots[0]
			if total := s.Totals.Of(tc.kind); total == nil || *total != tc.total || s.Refused != tc.refused || s.LowerBound != (tc.refused > 0) || s.Bounded(tc.kind) != (tc.refused > 0) || s.Truncated {
				t.Fatalf("total %v, %d refused, lower bound %v, truncated %v; %+v", total, s.Refused, s.LowerBound, s.Truncated, r.Problems)
			}
			told := slices.ContainsFunc(s.Problems, func(p analysis.Problem) bool {
				return p.Severity == analysis.Warning && p.Line > 0 && strings.Contains(p.What, "not understood") && strings.Contains(p.What, "at least") && p.Why != "" && p.Hint != ""
			})
			if tc.refused > 0 && !told {
				t.Errorf("no warning says so: %+v", r.Problems)
			}
			for _, a := range s.Artifacts {
				if tc.refused > 0 && len(r.Snapshots) == 1 && !strings.Contains(a.Outcome, "at least") {
					t.Errorf("%s: %s", a.Path, a.Outcome)
				}
			}
		})
	}
}

func TestAllDumpsOfALogWithAPrefixAreRead(t *testing.T) {
	threads := func(n int) (out [][2]string) {
		for i := range n {
			out = append(out, [2]string{fmt.Sprintf("pool-%d-thread-1", i), waiting(fmt.Sprintf("0x%x", i))})
		}
		return out
	}
	announced := jstack("", threads(3)...) + jstack("", threads(5)...) + jstack("", threads(7)...)
	_, bare, _ := strings.Cut(jstack("", threads(3)...), "\n\n")
	for name, text := range map[string]string{
		"of the machine": announced, "of a program": strings.Repeat("Full thread dump:\n\n"+bare, 3),
	} {
		for _, prefix := range []string{"time=1 level=info ", "app-1  | ", ""} {
			lines := "starting\n" + strings.TrimSuffix(text, "\n")
			r := run(t, map[string]string{"app.log": prefix + strings.ReplaceAll(lines, "\n", "\n"+prefix) + "\n"})
			var got []int
			for _, s := range r.Snapshots {
				got = append(got, *s.Totals.Threads)
			}
			want := []int{3, 5, 7}
			if name == "of a program" {
				want = []int{3, 3, 3}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s behind %q: %v threads, want %v; %+v", name, prefix, got, want, r.Problems)
			}
		}
	}
}

func TestFormsThatShareAFileAreNamed(t *testing.T) {
	for name, text := range map[string]string{"a profile behind a dump": dump(5, 6) + "\n" + profileText(5, 2), "a dump behind a profile": profileText(5, 2) + dump(5, 6)} {
		r := run(t, map[string]string{"t0/prober/goroutine.txt": text})
		if len(r.Snapshots) != 1 || !slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool {
			return p.Severity == analysis.Warning && strings.Contains(p.What, "stands in the file and is not read") && p.Offset > 0
		}) {
			t.Errorf("%s: %d snapshots, %+v", name, len(r.Snapshots), r.Problems)
		}
	}
}

func TestARowThatWasNotUnderstoodMakesTheDescriptorsALowerBound(t *testing.T) {
	row := "agentd %d root %du IPv4 %d 0t0 TCP 10.0.0.1:4000->10.0.0.2:80 (ESTABLISHED)\n"
	one := fmt.Sprintf(row, 611, 5, 77) + fmt.Sprintf(row, 611, 6, 78)
	broken := strings.Replace(fmt.Sprintf(row, 611, 7, 79), " 7u ", " 7#u ", 1)
	links := "total 0\nlrwx------ 1 root root 64 Nov 21 03:02 0 -> /dev/null\nlrwx------ 1 root root 64 Nov 21 03:02 1 -> socket:[5]\n"
	for _, tc := range []struct {
		name, text     string
		total, refused int
	}{
		{"a row of lsof", one + broken, 2, 1},
		{"none", one, 2, 0},
		{"a line of other text", one + "real 0m0.412s\n", 2, 0},
		{"an entry of ls", links + "lrwx------ 1 root root 64 Nov 21\n", 2, 1},
		{"a row of a listing of two processes, whose nobody knows", one + fmt.Sprintf(row, 612, 5, 80) + broken, 2, 0},
	} {
		s := run(t, map[string]string{"t0/agentd/lsof.txt": tc.text}).Snapshots[0]
		if n := s.Totals.Descriptors; n == nil || *n != tc.total || s.Refused != tc.refused || s.Bounded(analysis.KindDescriptor) != (tc.refused > 0) || s.LowerBound {
			t.Errorf("%s: %v descriptors, %d refused, %+v", tc.name, n, s.Refused, s.Problems)
		}
	}
}
