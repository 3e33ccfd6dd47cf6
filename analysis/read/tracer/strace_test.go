package tracer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

func parsed(t *testing.T, text string) Trace {
	t.Helper()
	got, problems, err := ParseStrace(strings.NewReader(text), "trace")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Severity != analysis.Note {
			t.Errorf("problem %+v", p)
		}
	}
	return got
}

// leftOf is what each process left open, in one line each: "50 3 /a, 4 socket".
func leftOf(all Trace) []string {
	var out []string
	for _, p := range all.Processes {
		var words []string
		for _, o := range p.Left {
			words = append(words, fmt.Sprint(o.FD, " ", o.Name))
		}
		out = append(out, fmt.Sprint(p.PID, ": ", strings.Join(words, ", ")))
	}
	return out
}

// The programs behind these files are told at samples of each: which calls they made and which of
// them they did not undo was counted in the files with grep.
func TestRealTracesLeaveOpenWhatNobodyClosed(t *testing.T) {
	for _, c := range []struct {
		file    string
		program string
		pid     int
		certain bool
		opened  int
		left    int
		// frames counts the descriptors left by the function of the frame at depth.
		depth  int
		frames map[string]int
		begin  string
	}{
		// A Go program that opens 24 files at main.leak and keeps them, and 24 at main.look that it
		// closes. Its threads are told by a signal among them.
		{"confd.strace", "confd", 2934, true, 48, 24, 6, map[string]int{"main.leak": 24}, "2026-11-28T15:07:52Z"},
		{"fine.strace", "confd", 3366, true, 24, 0, 0, map[string]int{}, ""},
		// A C program that leaks 9 files and 3 sockets, keeps one end of a pipe, a copy of it as 100
		// and a file that its child's exec closes; the child ended.
		{"reporter.strace", "reporter", 3396, false, 26, 15, 1, map[string]int{"open_report": 9, "open_channel": 3, "main": 3}, "2026-11-28T15:08:26Z"},
		{"web.strace", "node", 3434, false, 10, 5, 1, map[string]int{"uv__fs_work": 5}, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			all := parsed(t, string(raw))
			if len(all.Processes) != 1 {
				t.Fatalf("%d processes: %v", len(all.Processes), leftOf(all))
			}
			p, frames := all.Processes[0], map[string]int{}
			for _, o := range p.Left {
				frames[all.Stacks[o.Stack].Frames[c.depth].Func]++
				if row := string(raw[o.Place.Offset:][:o.Place.Length]); !strings.Contains(row, fmt.Sprint(o.FD)) {
					t.Errorf("descriptor %d at %q", o.FD, row)
				}
			}
			type facts struct {
				Program      string
				PID          int
				Certain      bool
				Opened, Left int
				Frames       map[string]int
			}
			if d := cmp.Diff(facts{c.program, c.pid, c.certain, c.opened, c.left, c.frames}, facts{p.Program, p.PID, p.Certain, p.Opened, len(p.Left), frames}); d != "" {
				t.Error(d)
			}
			if begin := all.Begin.Truncate(time.Second); c.begin != "" && begin.Format(time.RFC3339) != c.begin || c.begin == "" && !begin.IsZero() {
				t.Errorf("it begins at %v", all.Begin)
			}
		})
	}
}

func TestWhatIsLeftOpen(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a file that is closed", "open(\"/a\", O_RDONLY) = 3\nclose(3) = 0\nopen(\"/b\", O_RDONLY) = 3\n", []string{"0: 3 /b"}},
		{"a call that failed opens nothing", "open(\"/a\", O_RDONLY) = -1 ENOENT (No such file or directory)\nopen(\"/b\", O_RDONLY) = 3\n", []string{"0: 3 /b"}},
		{"a close that failed closes nothing", "open(\"/a\", O_RDONLY) = 3\nclose(3) = -1 EBADF (Bad file descriptor)\n", []string{"0: 3 /a"}},
		{"a call that did not return", "open(\"/a\", O_RDONLY) = 3\nclose(3) = ?\n", []string{"0: 3 /a"}},
		{"a path below a directory that is decoded", "50 openat(AT_FDCWD</srv>, \"a,b) = 4\", O_RDONLY) = 3\n", []string{"50: 3 /srv/a,b) = 4"}},
		{"a path below one that is not", "50 openat(AT_FDCWD, \"a\", O_RDONLY) = 3\n", []string{"50: 3 a"}},
		{"what strace decodes counts more than the argument", "50 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</srv/a>\n", []string{"50: 3 /srv/a"}},
		{"dup2 onto an open one closes it", "open(\"/a\", O_RDONLY) = 3\nopen(\"/b\", O_RDONLY) = 4\ndup2(3, 4) = 4\n", []string{"0: 3 /a, 4 /a"}},
		{"dup2 onto itself changes nothing", "open(\"/a\", O_RDONLY) = 3\ndup2(3, 3) = 3\n", []string{"0: 3 /a"}},
		{"copies by fcntl and dup", "open(\"/a\", O_RDONLY) = 3\nfcntl(3, F_DUPFD_CLOEXEC, 0) = 4\ndup(4) = 5\nfcntl(3, F_GETFL) = 6\n", []string{"0: 3 /a, 4 /a, 5 /a"}},
		{"both ends of a pipe and of a pair of sockets", "pipe2([3, 4], O_CLOEXEC) = 0\nsocketpair(AF_UNIX, SOCK_STREAM, 0, [5<socket:[7]>, 6<socket:[8]>]) = 0\nclose(4) = 0\n",
			[]string{"0: 3 pipe, 5 socket:[7], 6 socket:[8]"}},
		{"a connection with its ends", "accept4(3<TCP:[0.0.0.0:80]>, {sa_family=AF_INET, sin_port=htons(4000)}, [16], SOCK_CLOEXEC) = 9<TCP:[10.0.0.2:80->10.0.0.1:4000]>\n",
			[]string{"0: 9 TCP:[10.0.0.2:80->10.0.0.1:4000]"}},
		{"close_range up to the highest", "open(\"/a\", O_RDONLY) = 3\nopen(\"/b\", O_RDONLY) = 4\nopen(\"/c\", O_RDONLY) = 5\nclose_range(4, 4294967295, 0) = 0\n", []string{"0: 3 /a"}},
		{"close_range of one", "open(\"/a\", O_RDONLY) = 3\nopen(\"/b\", O_RDONLY) = 4\nopen(\"/c\", O_RDONLY) = 5\nclose_range(4, 4, 0) = 0\n", []string{"0: 3 /a, 5 /c"}},
		{"close_range that waits for exec", "open(\"/a\", O_RDONLY) = 3\nclose_range(3, ~0U, CLOSE_RANGE_CLOEXEC) = 0\n", []string{"0: 3 /a"}},
		{"exec after it", "open(\"/a\", O_RDONLY) = 3\nopen(\"/b\", O_RDONLY) = 4\nclose_range(4, ~0U, CLOSE_RANGE_CLOEXEC) = 0\nexecve(\"/bin/x\", [\"x\"], 0x1 /* 3 vars */) = 0\n", []string{"0: 3 /a"}},
		{"exec closes those that are marked", "open(\"/a\", O_RDONLY|O_CLOEXEC) = 3\nopen(\"/b\", O_RDONLY) = 4\nopen(\"/c\", O_RDONLY) = 5\nfcntl(5, F_SETFD, FD_CLOEXEC) = 0\nexecve(\"/bin/x\", [\"x\"], 0x1 /* 3 vars */) = 0\n", []string{"0: 4 /b"}},
		{"an exec that failed closes nothing", "open(\"/a\", O_RDONLY|O_CLOEXEC) = 3\nexecve(\"/bin/x\", [\"x\"], 0x1 /* 3 vars */) = -1 ENOENT (No such file or directory)\n", []string{"0: 3 /a"}},
		{"a child inherits, and its close is its own", "50 open(\"/a\", O_RDONLY) = 3\n50 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 51\n51 close(3) = 0\n51 open(\"/b\", O_RDONLY) = 4\n50 close(7) = 0\n",
			[]string{"50: 3 /a", "51: 4 /b"}},
		{"a child that runs before its parent goes on", "50 open(\"/a\", O_RDONLY) = 3\n50 vfork( <unfinished ...>\n51 close(3) = 0\n51 open(\"/b\", O_RDONLY) = 4\n50 <... vfork resumed>) = 51\n",
			[]string{"50: 3 /a", "51: 4 /b"}},
		{"a thread shares", "50 open(\"/a\", O_RDONLY) = 3\n50 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD} => {parent_tid=[51]}, 88) = 51\n51 close(3) = 0\n51 open(\"/b\", O_RDONLY) = 4\n", []string{"50: 4 /b"}},
		{"a child that ended beside a parent that lives", "50 open(\"/a\", O_RDONLY) = 3\n50 fork() = 51\n51 open(\"/b\", O_RDONLY) = 4\n51 +++ exited with 0 +++\n", []string{"50: 3 /a"}},
		{"all ended: what the first did not close itself", "50 open(\"/a\", O_RDONLY) = 3\n50 fork() = 51\n51 +++ exited with 0 +++\n50 +++ killed by SIGKILL +++\n", []string{"50: 3 /a"}},
		{"a thread that ended", "50 open(\"/a\", O_RDONLY) = 3\n50 clone(flags=CLONE_FILES|CLONE_THREAD) = 51\n51 close(9) = 0\n51 +++ exited with 0 +++\n", []string{"50: 3 /a"}},
		{"calls that are not finished at once", "50 openat(AT_FDCWD, \"/a\", O_RDONLY <unfinished ...>\n51 openat(AT_FDCWD, \"/b\", O_RDONLY) = 4\n50 <... openat resumed>) = 3</a>\n51 close(4 <unfinished ...>\n", []string{"50: 3 /a, 4 /b"}},
		{"pids in brackets", "strace: Process 50 attached with 2 threads\n[pid    51] 03:00:00 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n[pid    50] 03:00:01 close(9) = 0\n", []string{"50: 3 /a"}},
		{"a child whose calls are in another file", "open(\"/a\", O_RDONLY) = 3\nfork() = 51\nclose(9) = 0\n", []string{"0: 3 /a"}},
		{"a fork that strace interrupts on the terminal", "open(\"/a\", O_RDONLY) = 3\nclone(child_stack=NULL, flags=SIGCHLDstrace: Process 51 attached\n, child_tidptr=0x7f) = 51\n" +
			"[pid    50] open(\"/b\", O_RDONLY) = 4\n[pid    51] execve(\"/bin/echo\", [\"echo\"], 0x1 /* 3 vars */) = 0\n[pid    51] close(3) = 0\n[pid    51] +++ exited with 0 +++\nclose(4) = 0\n", []string{"50: 3 /a"}},
		{"a path with an arrow within", "50 close(9</x>) = 0\n50 dup(8</a(b>) = 3</a(b>\n", []string{"50: 3 /a(b"}},
		{"nothing that was opened", "50 close(9</x>) = 0\n50 close(8) = 0\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, leftOf(parsed(t, c.text))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAnOpeningCountsThoseOfItsStack: what a child inherits is its parent's.
func TestAnOpeningCountsThoseOfItsStack(t *testing.T) {
	const leak, look, here = " > /srv/a(leak+0x1) [0x2]\n", " > /srv/a(look+0x1) [0x2]\n", "50 openat(AT_FDCWD, \"/a\", O_RDONLY) = "
	all := parsed(t, here+"3\n"+leak+here+"4\n"+leak+here+"5\n"+look+"50 fork() = 51\n50 close(3) = 0\n50 close(9) = 0\n"+leak+"51 openat(AT_FDCWD, \"/b\", O_RDONLY) = 6\n"+leak)
	var got []string
	for _, p := range all.Processes {
		for _, o := range p.Left {
			got = append(got, fmt.Sprint(p.PID, " ", o.FD, " ", o.OfStack, " ", o.LeftOfStack, " ", o.Inherited))
		}
	}
	want := []string{"50 4 2 1 false", "50 5 1 1 false", "51 3 0 0 true", "51 4 0 0 true", "51 5 0 0 true", "51 6 1 1 false"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAProcessEndsWithItsLastTask(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ended      bool
	}{
		{"all ended", "50 open(\"/a\", O_RDONLY) = 3\n50 +++ exited with 0 +++\n", true},
		{"killed, without pids", "open(\"/a\", O_RDONLY) = 3\n+++ killed by SIGKILL +++\n", true},
		{"on a terminal, where the last task has no pid again", "open(\"/a\", O_RDONLY) = 3\n[pid 50] close(9) = 0\n+++ exited with 0 +++\n", true},
		{"a thread lives", "50 open(\"/a\", O_RDONLY) = 3\n50 clone(flags=CLONE_FILES|CLONE_THREAD) = 51\n51 close(9) = 0\n50 +++ exited with 0 +++\n", false},
		{"strace was stopped", "50 open(\"/a\", O_RDONLY) = 3\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := parsed(t, c.text).Processes[0]; p.Ended != c.ended || len(p.Left) != 1 {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestFramesOfEachForm(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       analysis.Stack
	}{
		{"names alone", " > /srv/confd(main.leak+0x92) [0xead12]\n > /srv/confd(runtime.goexit.abi0+0x1) [0x7f621]\n",
			analysis.Stack{Frames: []analysis.Frame{{Func: "main.leak"}, {Func: "runtime.goexit"}}}},
		{"with lines", " > /srv/confd(main.leak+0x92) [0xead12] leak.go:21\n > /srv/a(f(int, char)+0x1) [0x2] /src/a b.cc:7\n",
			analysis.Stack{Frames: []analysis.Frame{{Func: "main.leak", File: "leak.go", Line: 21}, {Func: "f(int, char)", File: "/src/a b.cc", Line: 7}}}},
		{"of a library", " > /usr/lib/libc.so.6(__open64+0x51) [0xf8011]\n > /srv/a(f+0x1) [0x2]\n",
			analysis.Stack{Frames: []analysis.Frame{{Func: "__open64", File: "/usr/lib/libc.so.6"}, {Func: "f"}}}},
		{"without names", " > /srv/a() [0x2]\n > /srv/a(f+0x1) [0x2]\n > unexpected_backtracing_error [0x3]\n",
			analysis.Stack{Frames: []analysis.Frame{{Func: "f"}}, Elided: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := parsed(t, "open(\"/a\", O_RDONLY) = 3\n"+c.text+"close(9) = 0\n > /srv/a(g+0x1) [0x2]\n")
			if d := cmp.Diff([]analysis.Stack{c.want}, all.Stacks); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTimesOfEachForm(t *testing.T) {
	for _, c := range []struct {
		name, text string
		begin      string
		span, at   time.Duration
	}{
		{"a clock", "03:00:00 close(9) = 0\n03:00:02.5 open(\"/a\", O_RDONLY) = 3\n03:01:00 close(9) = 0\n", "", time.Minute, 2500 * time.Millisecond},
		{"a clock past midnight", "23:59:59 close(9) = 0\n00:00:01 open(\"/a\", O_RDONLY) = 3\n", "", 2 * time.Second, 2 * time.Second},
		{"seconds since 1970", "1795878472.813718 close(9) = 0\n1795878473.813718 open(\"/a\", O_RDONLY) = 3\n", "2026-11-28T15:07:52.813718Z", time.Second, time.Second},
		{"seconds since the line before", "     0.000000 close(9) = 0\n     0.250000 open(\"/a\", O_RDONLY) = 3\n     0.500000 close(9) = 0\n", "", 750 * time.Millisecond, 250 * time.Millisecond},
		{"none", "close(9) = 0\nopen(\"/a\", O_RDONLY) = 3\n", "", 0, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := parsed(t, c.text)
			begin := ""
			if !all.Begin.IsZero() {
				begin = all.Begin.Format(time.RFC3339Nano)
			}
			if at := all.Processes[0].Left[0].At; begin != c.begin || all.Span != c.span || at != c.at {
				t.Errorf("begins %q, takes %v, opened after %v", begin, all.Span, at)
			}
		})
	}
}

func TestNotMoreStacksAreKeptThanTheBound(t *testing.T) {
	for _, n := range []int{maxStacks, maxStacks + 1} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "open(\"/a\", O_RDONLY) = %d\n > /srv/a(f%d+0x1) [0x2]\n", i, i)
		}
		all, problems, err := ParseStrace(strings.NewReader(text.String()), "trace")
		said := slices.ContainsFunc(problems, func(p analysis.Problem) bool { return p.What == "too many stacks" })
		if err != nil || len(all.Stacks) != maxStacks || len(all.Processes[0].Left) != n || said != (n > maxStacks) {
			t.Errorf("%d stacks: %d kept, said so %v, %v", n, len(all.Stacks), said, err)
		}
	}
}

func TestATraceWithoutStacksSaysHowToGetThem(t *testing.T) {
	for text, want := range map[string]bool{
		"open(\"/a\", O_RDONLY) = 3\n":                         true,
		"open(\"/a\", O_RDONLY) = 3\n > /srv/a(f+0x1) [0x2]\n": false,
	} {
		_, problems, _ := ParseStrace(strings.NewReader(text), "trace")
		if said := len(problems) == 1 && strings.Contains(problems[0].Hint, "strace -f -y -k"); said != want {
			t.Errorf("%q: %v", text, problems)
		}
	}
}

func FuzzStrace(f *testing.F) {
	for _, name := range []string{"confd.strace", "reporter.strace", "web.strace"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[:8<<10])
		f.Add(raw[len(raw)-4<<10:])
	}
	f.Add([]byte("[pid 5] 1.5 pipe2([3<pipe:[1]>, 4<pi], 0) = 0\n5 clone(flags=CLONE_FILES <unfinished ...>\n6 close_range(0, ~0U, 0) = 0\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		all, problems, err := ParseStrace(bytes.NewReader(in), "f")
		checkTrace(t, in, all, problems, err)
	})
}

// checkTrace fails where a parser reports a place outside its input, or what it does not have.
func checkTrace(t *testing.T, in []byte, all Trace, problems []analysis.Problem, err error) {
	t.Helper()
	if err != nil || len(problems) > line.MaxProblems+1 || all.Bytes != int64(len(in)) {
		t.Fatalf("%d problems, %d bytes, %v", len(problems), all.Bytes, err)
	}
	for _, p := range all.Processes {
		for _, o := range p.Left {
			if o.FD < 0 || o.Stack < -1 || o.Stack >= len(all.Stacks) || o.Place.Offset+o.Place.Length > int64(len(in)) {
				t.Fatalf("opening %+v", o)
			}
		}
	}
}

// TestTimesThatNoClockShowsEndTheReading has a line in the far future before one with a clock alone, whose
// day is counted from it, and times since the line before whose sum is beyond all clocks.
func TestTimesThatNoClockShowsEndTheReading(t *testing.T) {
	for name, text := range map[string]string{
		"a clock after a date far away":  "8999999999.0 close(3) = 0\n00:00:01 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n",
		"a date that no clock can count": "9223372035.0 close(3) = 0\n00:00:01 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n",
		"sums of times":                  strings.Repeat("99999999.0 close(3) = 0\n", 200) + "0.1 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n",
	} {
		t.Run(name, func(t *testing.T) {
			all := parsed(t, text)
			if got := leftOf(all); len(got) != 1 || all.Span < 0 {
				t.Errorf("%q is left, over %s", got, all.Span)
			}
		})
	}
}

// TestATaskBelongsToTheFirstOfTwoForks: tasks 20 and 10 are within clone when 30 begins. That is a thread
// of 10, which shares its descriptors, and not the child of 20.
func TestATaskBelongsToTheFirstOfTwoForks(t *testing.T) {
	const text = "20 openat(AT_FDCWD, \"/twenty\", O_RDONLY) = 3\n10 openat(AT_FDCWD, \"/ten\", O_RDONLY) = 3\n" +
		"20 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n10 clone(child_stack=0x1, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD <unfinished ...>\n" +
		"30 close(3) = 0\n10 <... clone resumed>) = 30\n20 <... clone resumed>) = 40\n"
	for range 20 {
		if got := strings.Join(leftOf(parsed(t, text)), "; "); strings.Contains(got, "/ten") {
			t.Fatalf("task 30 closed the descriptor of 10, and %q is left", got)
		}
	}
}
