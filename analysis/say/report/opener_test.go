package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call is one that opened a file, with its stack by -kk.
func call(second, fd int, function string) string {
	return fmt.Sprintf("50 03:00:%02d openat(AT_FDCWD</srv>, \"a\", O_RDONLY) = %d</srv/a>\n > /usr/lib/libc.so.6(__open64+0x1) [0x1]\n > /srv/confd(os.Open+0x1) [0x1] file.go:7\n > /srv/confd(%s+0x21) [0x2]\n", second, fd, function)
}

func TestATraceAloneSaysWhatWasNotClosedAndWhereItWasOpened(t *testing.T) {
	leak := strings.ReplaceAll(call(0, 3, "main.leak")+call(30, 4, "main.leak"), "[0x2]", "[0x2] leak.go:21")
	closed := "50 03:01:00 close(%d) = 0\n > /srv/confd(main.leak+0x22) [0x2]\n"
	for _, c := range []struct{ name, text, want string }{
		{"all of one function", leak + fmt.Sprintf(closed, 9), "2 descriptors of confd were opened in 1 min of strace and not closed; all at main.leak (leak.go:21)."},
		{"one", leak + fmt.Sprintf(closed, 3), "1 descriptor of confd was opened in 1 min of strace and not closed; at main.leak (leak.go:21)."},
		{"none", leak + fmt.Sprintf(closed, 3) + fmt.Sprintf(closed, 4), "confd closed all 2 descriptors that it opened in 1 min of strace."},
		{"most of one function", leak + call(40, 5, "main.other") + fmt.Sprintf(closed, 9), "3 descriptors of confd were opened in 1 min of strace and not closed; 2 at main.leak (leak.go:21)."},
		{"a program in C", strings.ReplaceAll(call(0, 3, "open_report")+fmt.Sprintf(closed, 9), "os.Open+0x1) [0x1] file.go:7", "open_report+0x1) [0x1]"), "1 descriptor of confd was opened in 1 min of strace and not closed; at open_report."},
		{"a script", strings.ReplaceAll(call(0, 3, "uv_fs_open")+fmt.Sprintf(closed, 9), "os.Open+0x1) [0x1] file.go:7", "uv_fs_open+0x1) [0x1]"), "1 descriptor of confd was opened in 1 min of strace and not closed."},
		{"without times", strings.NewReplacer("03:00:00 ", "", "03:00:30 ", "").Replace(leak), "2 descriptors of confd were opened under strace and not closed; all at main.leak (leak.go:21)."},
		{"events that show no close", `{"fd":3,"fname":"/srv/a","proc":{"comm":"confd","pid":50},"timestamp":"2026-11-28T15:07:52Z"}` + "\n" + `{"fd":4,"fname":"/srv/b","proc":{"comm":"confd","pid":50},"timestamp":"2026-11-28T15:08:22Z"}` + "\n",
			"confd opened 2 files in 30 s of trace_open, which does not show what it closed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := one(t, "a.txt", c.text).Diagnosis
			if d.Sentence != c.want || d.State != "one dump" {
				t.Errorf("%s: %q, want %q", d.State, d.Sentence, c.want)
			}
			_, at, names := strings.Cut(strings.TrimSuffix(c.want, "."), " at ")
			if first := "See whether " + at + " closes what it opens"; strings.HasPrefix(d.Next.Text, "See whether ") != names || names && !strings.HasPrefix(d.Next.Text, first) {
				t.Errorf("next is %q, want it to begin with %q: %t", d.Next.Text, first, names)
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
	}{
		{"with a trace", true, "likely", "opened at main.leak"},
		{"without one", false, "unknown", "the listing shows no code"},
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
			d := reportOfAll(t, []string{dir}).Diagnosis
			if d.State != "leaking" || d.Cause == nil || d.Cause.Word != c.word || d.Cause.Reason != c.reason {
				t.Errorf("%s: %q, cause %+v, want %s: %q", d.State, d.Sentence, d.Cause, c.word, c.reason)
			}
		})
	}
}
