package report_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// one is the diagnosis of a single file with a text.
func one(t *testing.T, name, text string) report.Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return reportOfAll(t, []string{path})
}

func TestACrashLeadsWithItsReasonAndTheFirstOwnFrame(t *testing.T) {
	for path, want := range map[string]struct{ state, sentence, next string }{
		"goroutine/public/syncthing-panic.log":    {"crashed", "syncthing crashed: nil pointer dereference in connections.(*service).setConnectionStatus.", "Find what is nil at service.go:689."},
		"goroutine/gen/nilderef-go1.26.8.txt":     {"crashed", "prog crashed: nil pointer dereference in main.main.", "Find what is nil at main.go:212. To see all goroutines of the next crash, set GOTRACEBACK=all."},
		"goroutine/gen/fatalmap-go1.26.8.txt":     {"crashed", "The process crashed: concurrent map writes in main.main.func2.", "Guard the map with a lock at main.go:198 and wherever else it is used. To see all goroutines of the next crash, set GOTRACEBACK=all."},
		"goroutine/gen/unlock-go1.21.13.txt":      {"crashed", "prog crashed: unlock of unlocked mutex in main.main.", ""},
		"goroutine/gen/overflow-go1.26.8.txt":     {"crashed", "prog crashed: stack overflow in main.main.func5.", ""},
		"goroutine/gen/panic-go1.18.10.txt":       {"crashed", "prog crashed: panic “boom” in main.main.", ""},
		"goroutine/gen/panic-system-go1.26.8.txt": {"crashed", "prog crashed: panic “boom” in main.main.", ""},
		"goroutine/gen/repanic-go1.18.10.txt":     {"crashed", "prog crashed: panic “boom: EOF” in main.main.", ""},
		"goroutine/gen/repanic-go1.27.0.txt":      {"crashed", "prog crashed: panic “boom: EOF” in main.main.", ""},
		"goroutine/gen/panicboth-go1.26.8.txt":    {"crashed", "prog crashed: panic “first” in main.main.", ""},
		"goroutine/gen/deadlock-go1.26.8.txt":     {"deadlock", "Deadlock in dl: all goroutines are asleep, main.main is waiting for a mutex.", "Find who should have sent, closed or unlocked what main.main waits for at main.go:10: nobody is left to do it."},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			r := reportOfAll(t, []string{corpus.Path(t, path)})
			d := r.Diagnosis
			if d.State != want.state || d.Sentence != want.sentence {
				t.Errorf("%s: %q, want %s: %q", d.State, d.Sentence, want.state, want.sentence)
			}
			if want.next != "" && (d.Next == nil || d.Next.Text != want.next) {
				t.Errorf("do %+v, want %q", d.Next, want.next)
			}
		})
	}
}

func TestConnectionsThatOnlyThePeersHaveClosedLead(t *testing.T) {
	listing, err := os.ReadFile(corpus.Path(t, "series/socket-leak/t3/sock/lsof.txt"))
	if err != nil {
		t.Fatal(err)
	}
	// rows are the header, the files that are no sockets, and so many sockets in each state.
	rows := func(left, established int) string {
		var out strings.Builder
		for line := range strings.Lines(string(listing)) {
			switch {
			case strings.Contains(line, "(CLOSE_WAIT)"):
				left--
				if left < 0 {
					continue
				}
			case strings.Contains(line, "->127.0.0.1:38847 (ESTABLISHED)"):
				established--
				if established < 0 {
					continue
				}
			case strings.Contains(line, " TCP "):
				continue
			}
			out.WriteString(line)
		}
		return out.String()
	}
	const closeThem = "Close each connection when its peer has closed."
	for _, tc := range []struct {
		name              string
		left, established int
		leads             bool
	}{
		{"six of six", 6, 0, true},
		{"eighteen of twenty", 18, 2, true},
		{"six of ten", 6, 4, false},
		{"two of two", 2, 0, false},
	} {
		d := one(t, "lsof.txt", rows(tc.left, tc.established)).Diagnosis
		want := fmt.Sprintf("%d connections to 127.0.0.1:38847 are in CLOSE_WAIT: the peers have closed, sock has not.", tc.left)
		if leads := d.Sentence == want; leads != tc.leads || d.State != "one dump" {
			t.Errorf("%s: %s: %q", tc.name, d.State, d.Sentence)
		}
		if d.Next == nil || (d.Next.Text == closeThem) != tc.leads {
			t.Errorf("%s: do %+v", tc.name, d.Next)
		}
	}
}

func TestTheLargestGroupOfOneDumpSaysWhatItWaitsFor(t *testing.T) {
	dump := func(n, waiting int, state string) string {
		var out strings.Builder
		for i := range n {
			of := state
			if i >= waiting {
				of = "runnable"
			}
			fmt.Fprintf(&out, "goroutine %d [%s]:\nexample.org/app.handle(0xc000010000)\n\t/src/app/handle.go:41 +0x1d\ncreated by example.org/app.serve in goroutine 1\n\t/src/app/serve.go:9 +0x1d\n\n", i+10, of)
		}
		return out.String()
	}
	for _, tc := range []struct {
		n, waiting  int
		state, want string
	}{
		{20, 20, "chan send, 6 minutes", ", all of them in app.handle, blocked in channel send, the oldest for 6 min."},
		{20, 18, "chan send", ", all of them in app.handle, blocked in channel send."},
		{20, 17, "chan send", ", all of them in app.handle."},
		{20, 20, "syscall, 6 minutes", ", all of them in app.handle."},
		{20, 20, "sync.Cond.Wait, 125 minutes", ", all of them in app.handle, waiting for a condition, the oldest for 2 h 5 min."},
	} {
		if got := one(t, "goroutines.txt", dump(tc.n, tc.waiting, tc.state)).Diagnosis.Sentence; !strings.HasSuffix(got, "20 goroutines"+tc.want) {
			t.Errorf("%d of %d in %q: %q", tc.waiting, tc.n, tc.state, got)
		}
	}
}

func TestAnIncompleteProfileSaysWhatItDeclares(t *testing.T) {
	profile, err := os.ReadFile(corpus.Path(t, "goroutine/public/stackgazer-crdb-debug1-labels.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const head = "goroutine profile: total "
	text := string(profile)
	at := strings.Index(text, head) + len(head)
	total, _, _ := strings.Cut(text[at:], "\n")
	more := strings.Replace(text, head+total, head+"90412", 1)
	got := one(t, "debug1.txt", more).Diagnosis.Sentence
	if want := "90\u202f412 goroutines declared, stacks of " + total; !strings.Contains(got, want) || strings.Contains(got, "at least") {
		t.Errorf("%q does not say %q", got, want)
	}
	if got := one(t, "debug1.txt", text).Diagnosis.Sentence; strings.Contains(got, "declared") {
		t.Errorf("a whole profile: %q", got)
	}
	const record = "\n7 @ 0x43a0c1 0x470001\n#\t0x470001\tmain.wait+0x20\t/src/m/main.go:9\n"
	for last, want := range map[string]string{
		"1900": "1000 to 1900 goroutines declared, stacks of 7: the dumps do not show which grew.",
		"1000": "1000 to 1000 goroutines declared, stacks of 7: the dumps do not show which stayed.",
		"10":   "1000 to 10 goroutines declared, stacks of 7: the dumps do not show which ended.",
	} {
		got = every(t, []map[string]string{{"goroutine.txt": head + "1000" + record}, {"goroutine.txt": head + last + record}}).Diagnosis.Sentence
		if !strings.HasSuffix(got, want) {
			t.Errorf("a series of them: %q, want %q", got, want)
		}
	}
}

func TestADeadlockShowsTheThreadsInIt(t *testing.T) {
	dump, err := os.ReadFile(corpus.Path(t, "threads/jdk-matrix/jdk21/jstack.txt"))
	if err != nil {
		t.Fatal(err)
	}
	c := built(t, []bundle.Input{{Name: "jstack.txt", Size: int64(len(dump)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(dump)), nil }}})
	r := &c.Report
	if r.Diagnosis.State != "deadlock" {
		t.Fatalf("%s: %s", r.Diagnosis.State, r.Diagnosis.Sentence)
	}
	var first []string
	cycles := r.Series[0].Locks.Cycles
	for i := range cycles {
		for _, s := range cycles[i].Stacks {
			for _, f := range s.Stack {
				if strings.HasPrefix(f.Function, "Scenario$") {
					first = append(first, s.Who+" in "+f.Function)
				}
			}
		}
	}
	slices.Sort(first)
	want := []string{`thread "Deadlock-lock-1" in Scenario$4.run`, `thread "Deadlock-lock-2" in Scenario$5.run`, `thread "Deadlock-monitor-1" in Scenario$2.run`, `thread "Deadlock-monitor-2" in Scenario$3.run`}
	if !slices.Equal(first, want) {
		t.Errorf("stacks of %q, want %q", first, want)
	}
	out := printed(t, c, report.Terminal{})
	for _, name := range []string{"Compiler", "G1 ", "GC Thread"} {
		if strings.Contains(out, name) {
			t.Errorf("the screen shows %q:\n%s", name, out)
		}
	}
	if n := strings.Count(out, "where thread \"Deadlock-"); n != 2 {
		t.Errorf("the screen shows %d stacks:\n%s", n, out)
	}
}

func TestTheScreenOfACrashShowsTheGoroutineThatFailed(t *testing.T) {
	dump, err := os.ReadFile(corpus.Path(t, "goroutine/public/syncthing-panic.log"))
	if err != nil {
		t.Fatal(err)
	}
	c := built(t, []bundle.Input{{Name: "panic.log", Size: int64(len(dump)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(dump)), nil }}})
	out := printed(t, c, report.Terminal{})
	for _, want := range []string{"▲ CRASHED", "where goroutine 171 failed\n", "(*service).setConnectionStatus", "service.go:689", "service.go:838", "created by", "service.go:836"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(out, "suture") {
		t.Error("shows groups that did not fail")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestWatchesOnWhatIsGoneLeadOneDump has a process with few descriptors and many watches, of
// which two thirds are on a device that its mountinfo does not show.
func TestWatchesOnWhatIsGoneLeadOneDump(t *testing.T) {
	capture := func(gone, there int) map[string]string {
		var fdinfo strings.Builder
		fdinfo.WriteString("pos:\t0\nflags:\t02004000\nmnt_id:\t15\n")
		for wd := range gone + there {
			device := "800001"
			if wd < gone {
				device = "5a"
			}
			fmt.Fprintf(&fdinfo, "inotify wd:%x ino:%x sdev:%s mask:3c6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:%016x\n", wd+1, 100+wd, device, 100+wd)
		}
		return map[string]string{
			"kubelet/fdinfo/0": "pos:\t0\nflags:\t02\nmnt_id:\t15\n", "kubelet/fdinfo/5": fdinfo.String(),
			"kubelet/mountinfo": "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n",
		}
	}
	for _, tt := range []struct {
		gone, there int
		want        string
	}{
		{40, 20, "40 of 60 inotify watches of kubelet are on mounts or cgroups that are gone."},
		{30, 30, "One dump of kubelet: "},
		{2, 0, "One dump of kubelet: "},
	} {
		got := every(t, []map[string]string{capture(tt.gone, tt.there)}).Diagnosis
		if !strings.HasPrefix(got.Sentence, tt.want) {
			t.Errorf("%d gone, %d there: %q, want %q", tt.gone, tt.there, got.Sentence, tt.want)
		}
	}
	still := every(t, []map[string]string{capture(40, 20), capture(40, 20)}).Diagnosis
	if want := "No leak seen, but 40 of 60 inotify watches of kubelet are on mounts or cgroups that are gone."; still.Sentence != want || still.Next == nil {
		t.Errorf("two dumps: %q, %v, want %q", still.Sentence, still.Next, want)
	}
}

// What the process does to one peer it does to all: their connections are told together.
func TestConnectionsThatSeveralPeersHaveClosedAreToldTogether(t *testing.T) {
	row := func(fd int, remote, state string) string {
		return fmt.Sprintf("proxy 900 root %du IPv4 %d 0t0 TCP 10.0.0.1:%d->%s (%s)\n", fd, 4000+fd, 30000+fd, remote, state)
	}
	rows := func(from, n int, remote, state string) (out string) {
		for i := range n {
			out += row(from+i, remote, state)
		}
		return out
	}
	for name, c := range map[string]struct{ listing, want string }{
		"two peers":                     {rows(10, 3, "10.0.0.7:80", "CLOSE_WAIT") + rows(20, 3, "10.0.0.8:80", "CLOSE_WAIT"), "6 connections to 2 peers are in CLOSE_WAIT: the peers have closed, proxy has not."},
		"a few of a third":              {rows(10, 3, "10.0.0.7:80", "CLOSE_WAIT") + rows(20, 2, "10.0.0.8:80", "CLOSE_WAIT") + row(30, "10.0.0.9:8080", "CLOSE_WAIT"), "6 connections to 3 peers are in CLOSE_WAIT: the peers have closed, proxy has not."},
		"one peer":                      {rows(10, 3, "10.0.0.7:80", "CLOSE_WAIT"), "3 connections to 10.0.0.7:80 are in CLOSE_WAIT: the peers have closed, proxy has not."},
		"one whose others are in order": {rows(10, 4, "10.0.0.7:80", "CLOSE_WAIT") + rows(20, 1, "10.0.0.8:80", "CLOSE_WAIT") + rows(30, 3, "10.0.0.8:80", "ESTABLISHED"), "4 connections to 10.0.0.7:80 are in CLOSE_WAIT: the peers have closed, proxy has not."},
	} {
		d := every(t, []map[string]string{{"lsof.txt": "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n" + c.listing}}).Diagnosis
		if d.Sentence != c.want {
			t.Errorf("%s: %s\nwant %s", name, d.Sentence, c.want)
		}
	}
}

func TestAListingThatCouldNotReadProcessesOfOthersIsTakenAsRoot(t *testing.T) {
	const head = "COMMAND     PID   TID           USER   FD      TYPE             DEVICE  SIZE/OFF       NODE NAME\n"
	const refused = "systemd       1                 root NOFD                                               /proc/1/fd (opendir: Permission denied)\n"
	files := func(n int) (out string) {
		for i := range n {
			out += fmt.Sprintf("app         900                 dev   %3du      REG                8,1        10       %4d /srv/data/%d.csv\n", i+3, 7000+i, i)
		}
		return out
	}
	for _, tt := range []struct {
		name, text, do string
		told           bool
	}{
		{"what is seen is little", head + refused + files(5), "List the descriptors as root, and again some minutes later:", true},
		{"a process of the reader holds much", head + refused + files(80), "Take five captures over two minutes:", true},
		{"all were readable", head + files(5), "Take five captures over two minutes:", false},
	} {
		d := one(t, "lsof.txt", tt.text).Diagnosis
		if d.Next == nil || d.Next.Text != tt.do || strings.Contains(d.Proof, "Other processes were not readable") != tt.told {
			t.Errorf("%s: %s %s %+v", tt.name, d.Sentence, d.Proof, d.Next)
		}
	}
}
