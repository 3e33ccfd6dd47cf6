package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
)

// call is one that opened a file, with its stack by -kk.
func call(second, fd int, function string) string {
	return fmt.Sprintf("50 03:00:%02d openat(AT_FDCWD</srv>, \"a\", O_RDONLY) = %d</srv/a>\n > /usr/lib/libc.so.6(__open64+0x1) [0x1]\n > /srv/confd(os.Open+0x1) [0x1] file.go:7\n > /srv/confd(%s+0x21) [0x2]\n", second, fd, function)
}

func TestATraceAloneSaysWhatWasNotClosedAndWhereItWasOpened(t *testing.T) {
	lines := strings.NewReplacer("[0x2]", "[0x2] leak.go:21")
	leak := func(n int) (text string) {
		for i := range n {
			text += lines.Replace(call(10*i, 3+i, "main.leak"))
		}
		return text
	}
	end := func(fd int) string {
		return fmt.Sprintf("50 03:01:00 close(%d) = 0\n > /srv/confd(main.leak+0x22) [0x2]\n", fd)
	}
	const exit, look, longer = "50 03:01:00 +++ exited with 0 +++\n", "See whether main.leak (leak.go:21) closes what it opens", "Take five captures"
	event := func(second, fd int) string {
		return fmt.Sprintf(`{"fd":%d,"fname":"/srv/a","proc":{"comm":"confd","pid":50},"timestamp":"2026-11-28T15:08:%02dZ","ustack":{"symbols":"[0]syscall.openat; [1]main.leak; "}}`+"\n", fd, second)
	}
	for _, c := range []struct{ name, text, want, next string }{
		{"three of one function", leak(3) + end(9), "3 descriptors of confd were opened in 1 min of strace and not closed; all at main.leak (leak.go:21).", look},
		{"two, as a listener and a log may be", leak(2) + end(9), "All 2 descriptors that confd opened in 1 min of strace were still open at the end of the trace.", longer},
		{"three opened by three calls of one function", strings.Replace(strings.Replace(leak(3)+end(9), "leak+0x21", "leak+0x31", 1), "leak+0x21", "leak+0x41", 1), "All 3 descriptors that confd opened in 1 min of strace were still open at the end of the trace.", longer},
		{"one that is still in use of many that were closed", leak(4) + end(3) + end(4) + end(5), "1 of 4 descriptors that confd opened in 1 min of strace was still open at the end of the trace.", longer},
		{"half of what it opened", leak(6) + end(3) + end(4) + end(5), "3 of 6 descriptors that confd opened in 1 min of strace were still open at the end of the trace.", longer},
		{"more than half of it", leak(5) + end(3) + end(4), "3 descriptors of confd were opened in 1 min of strace and not closed; all at main.leak (leak.go:21).", look},
		{"none", leak(2) + end(3) + end(4), "confd closed all 2 descriptors that it opened in 1 min of strace.", longer},
		{"most of one function", leak(3) + call(40, 8, "main.other") + end(9), "4 descriptors of confd were opened in 1 min of strace and not closed; 3 at main.leak (leak.go:21).", look},
		{"a process that ended", leak(3) + exit, "3 descriptors of confd were opened in 1 min of strace and not closed when it ended; all at main.leak (leak.go:21).", look},
		{"few of a process that ended", leak(1) + end(9) + exit, "The descriptor that confd opened in 1 min of strace was still open when it ended.", "What stays open tells more in a longer run"},
		{"a program in C", strings.ReplaceAll(call(0, 3, "open_report")+call(1, 4, "open_report")+call(2, 5, "open_report")+end(9), "os.Open+0x1) [0x1] file.go:7", "open_report+0x1) [0x1]"), "3 descriptors of confd were opened in 1 min of strace and not closed; all at open_report.", "See whether open_report closes what it opens"},
		{"a script", strings.ReplaceAll(call(0, 3, "uv_fs_open")+call(1, 4, "uv_fs_open")+call(2, 5, "uv_fs_open")+end(9), "os.Open+0x1) [0x1] file.go:7", "uv_fs_open+0x1) [0x1]"), "All 3 descriptors that confd opened in 1 min of strace were still open at the end of the trace.", longer},
		{"without times", strings.NewReplacer("03:00:00 ", "", "03:00:10 ", "", "03:00:20 ", "").Replace(leak(3)), "3 descriptors of confd were opened under strace and not closed; all at main.leak (leak.go:21).", look},
		{"events that show no close", event(0, 3) + event(30, 3) + event(40, 4), "confd opened 3 files in 40 s of trace_open, which does not show what it closed.", longer},
		{"events whose numbers do not come again", event(0, 3) + event(30, 4) + event(40, 5), "confd opened 3 files in 40 s of trace_open; 3 at main.leak got numbers that were never given again.", "See whether main.leak closes what it opens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := one(t, "a.txt", c.text).Diagnosis
			if d.Sentence != c.want || d.State != "one dump" {
				t.Errorf("%s: %q, want %q", d.State, d.Sentence, c.want)
			}
			if !strings.HasPrefix(d.Next.Text, c.next) {
				t.Errorf("next is %q, want it to begin with %q", d.Next.Text, c.next)
			}
			if strings.Contains(c.text, "exited") && strings.Contains(d.Next.Command, "--pid 50") {
				t.Errorf("%q is of a process that is gone", d.Next.Command)
			}
		})
	}
}

// The files are of a program that keeps each file which main.leak opens.
func TestALeakOfDescriptorsSaysWhereTheyWereOpened(t *testing.T) {
	const from = "../../read/ingest/testdata/opener"
	for _, c := range []struct {
		name   string
		traced bool
		word   string
		reason string
		said   string
		next   string
		frames int
	}{
		{"with a trace", true, "likely", "opened at main.leak", " at main.leak and closed none.", "Close what main.leak opens when it is done with it, also where it fails.", 10},
		{"without one", false, "unknown", "the listing shows no code", " and closed none.", "Find the code that opens ", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(from, to string) {
				raw, err := os.ReadFile(from)
				if err == nil {
					os.MkdirAll(filepath.Dir(to), 0o700)
					err = os.WriteFile(to, raw, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for i := range 6 {
				for _, name := range []string{"lsof.txt", "captured_at"} {
					put(fmt.Sprintf("%s/t%d.%s", from, i, name), fmt.Sprintf("%s/t%d/%s", dir, i, name))
				}
			}
			if c.traced {
				put(from+"/confd.strace", dir+"/confd.strace")
			}
			r := reportOfAll(t, []string{dir})
			d := r.Diagnosis
			if lead := r.Series[0].Findings[0]; !strings.HasSuffix(d.Sentence, c.said) || !strings.HasPrefix(d.Next.Text, c.next) || len(lead.Stack) != c.frames || (lead.StackOf != nil) != c.traced {
				t.Errorf("%q, then %q, with the stack %v", d.Sentence, d.Next.Text, lead.Stack)
			}
			if traced := slices.ContainsFunc(d.Steps, func(a report.Action) bool { return strings.HasPrefix(a.Command, "strace ") }); traced == c.traced {
				t.Errorf("the steps are %+v", d.Steps)
			}
			if d.State != "leaking" || d.Cause == nil || d.Cause.Word != c.word || d.Cause.Reason != c.reason {
				t.Errorf("%s: %q, cause %+v, want %s: %q", d.State, d.Sentence, d.Cause, c.word, c.reason)
			}
		})
	}
}

func TestDescriptorsWithoutAPathAreNamedByWhatOpensThem(t *testing.T) {
	for title, want := range map[string]string{
		"[timerfd]":   "Find the code that calls timerfd_create, and close each timer descriptor there when it is done with it.",
		"[eventpoll]": "Close each event loop or selector when it is done with, or share one: each calls epoll_create1.",
		"[fanotify]":  "Find the code that opens fanotify descriptors, and close each there when it is done with it.",
	} {
		var captures []map[string]string
		for k := range 6 {
			text := "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"
			for i := range 4 + 8*k {
				text += fmt.Sprintf("app 50 app %du a_inode 0,16 0 1038 %s\n", 4+i, title)
			}
			captures = append(captures, map[string]string{"app/lsof.txt": text})
		}
		if d := every(t, captures).Diagnosis; d.State != "leaking" || d.Next == nil || d.Next.Text != want {
			t.Errorf("%s: %s %+v\nwant %s", title, d.Sentence, d.Next, want)
		}
	}
}
