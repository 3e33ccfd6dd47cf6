package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

func TestWhoIsFollowedIsAKindWithANumber(t *testing.T) {
	for text, want := range map[string]report.Wanted{
		"42": {Number: 42}, "#31": {Number: 31}, "goroutine:42": {Kind: analysis.KindGoroutine, Number: 42}, "thread:31": {Kind: analysis.KindThread, Number: 31},
		"fd:12": {Kind: analysis.KindDescriptor, Number: 12}, "inode:90112": {Kind: analysis.KindDescriptor, Inode: true, Number: 90112}, "watch:5.3": {Kind: analysis.KindWatch, Number: 5, Watch: 3},
	} {
		if got, err := report.ParseWanted(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "x:1", "fd:", "watch:5", "watch:5.", "12 ", "goroutine:a", "99999999999999999999"} {
		if got, err := report.ParseWanted(text); err == nil {
			t.Errorf("%q is understood as %+v", text, got)
		}
	}
}

func FuzzParseWanted(f *testing.F) {
	for _, text := range []string{"42", "watch:5.3", "inode:-", ":/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if w, err := report.ParseWanted(text); err == nil && w.Number < 0 {
			t.Errorf("%q: %+v", text, w)
		}
	})
}

// TestAMemberIsFollowedThroughTheCapturesOfEachRun: goroutine 7 comes at t1, moves at t3, is gone at t4; the
// process that begins at t5 has another one of that number.
func TestAMemberIsFollowedThroughTheCapturesOfEachRun(t *testing.T) {
	member := map[int]string{
		1: "goroutine 7 [select]:\nmain.(*Job).run(0xc000200000)\n\t/src/app/job.go:51 +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/job.go:22 +0x5a\n",
		2: "goroutine 7 [select, 5 minutes]:\nmain.(*Job).run(0xc000200000)\n\t/src/app/job.go:51 +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/job.go:22 +0x5a\n",
		3: "goroutine 7 [chan send]:\nmain.(*Job).send(0xc000200000)\n\t/src/app/job.go:77 +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/job.go:22 +0x5a\n",
		5: "goroutine 7 [sleep]:\nmain.tick()\n\t/src/app/tick.go:9 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:8 +0x5a\n",
	}
	member[4] = "goroutine 8 [sleep]:\nmain.tick()\n\t/src/app/tick.go:9 +0x1d\ncreated by main.(*Job).send in goroutine 7\n\t/src/app/job.go:70 +0x5a\n"
	member[3] += "\n" + member[4]
	var inputs []bundle.Input
	for k := range 6 {
		text := "goroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n\n" + member[k]
		pid := 100 + k/5
		for name, text := range map[string]string{
			"app/goroutines.txt": text, "captured_at": fmt.Sprintf("2026-05-21T03:%02d:00Z\n", 5*k), "app/status": fmt.Sprintf("Name:\tapp\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t1\n", pid, pid),
		} {
			inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("t%d/%s", k, name), Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
		}
	}
	c := built(t, inputs)
	var got strings.Builder
	found, err := c.Follow("7")
	if err != nil {
		t.Fatal(err)
	}
	for _, track := range found.Tracks {
		got.WriteString(track.Text())
	}
	const want = `goroutine 7 of app: there in 3 of 5 captures, the last one t3
t0  03:00:00  not there
t1  03:05:00  main.(*Job).run job.go:51, select
t2  03:10:00  the same, 5 minutes
t3  03:15:00  main.(*Job).send job.go:77, chan send
t4  03:20:00  not there
started at main.start job.go:22
started by goroutine 1 (main.main)
started 1 goroutine: 8
goroutine 7 of app: there in 1 of 1 capture
t5  03:25:00  main.tick tick.go:9, sleep
started at main.main main.go:8
started by goroutine 1 (main.main)
`
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
	for _, name := range []string{"9", "thread:7"} {
		if got, err := c.Follow(name); err == nil {
			t.Errorf("nobody is %s: %+v", name, got)
		}
	}
}

// TestAMemberIsFollowedWithItsLocks: threads 16 and 17 wait for the lock of thread 12, and thread 18 for none.
func TestAMemberIsFollowedWithItsLocks(t *testing.T) {
	thread := func(name string, number int, state, frames string) string {
		return fmt.Sprintf("%q #%d prio=5 os_prio=0 cpu=1.00ms elapsed=100.00s tid=0x00007f00%04d nid=0x%d waiting  [0x00007f0000000000]\n   java.lang.Thread.State: %s\n%s\n", name, number, number, number, state, frames)
	}
	const blocked = "\tat com.acme.Shop.buy(Shop.java:15)\n\t- waiting to lock <0x000000070e0a1b20> (a java.lang.Object)\n"
	dump := "2026-05-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.1+12 mixed mode):\n\n" +
		thread("keeper", 12, "TIMED_WAITING (sleeping)", "\tat java.lang.Thread.sleep(java.base@17/Native Method)\n\tat com.acme.Shop.refresh(Shop.java:6)\n\t- locked <0x000000070e0a1b20> (a java.lang.Object)\n") +
		thread("buyer-1", 16, "BLOCKED (on object monitor)", blocked) + thread("buyer-2", 17, "BLOCKED (on object monitor)", blocked) +
		thread("clock", 18, "TIMED_WAITING (sleeping)", "\tat java.lang.Thread.sleep(java.base@17/Native Method)\n\tat com.acme.Clock.tick(Clock.java:3)\n")
	c := built(t, []bundle.Input{{Name: "shop.txt", Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(dump)), nil }}})
	for name, want := range map[string]string{
		"thread:12": "Shop.refresh Shop.java:6, TIMED_WAITING, keeper, holds lock 1 (java.lang.Object), for which 2 threads wait\n",
		"thread:16": "Shop.buy Shop.java:15, BLOCKED, buyer-1, waits for lock 1 (java.lang.Object), its holder: thread \"keeper\" in Shop.refresh, which waits\n",
		"thread:18": "Clock.tick Clock.java:3, TIMED_WAITING, clock\n",
	} {
		found, err := c.Follow(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Tracks[0].Text(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", name, got, want)
		}
	}
}

// TestADescriptorIsFollowedToItsOpener: those of a case with a trace.
func TestADescriptorIsFollowedToItsOpener(t *testing.T) {
	const trace = "50 1795878472.000000 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3</srv/a>\n > /srv/confd(main.leak+0x21) [0x2]\n50 1795878473.000000 close(9) = 0\n"
	c := built(t, []bundle.Input{{Name: "a.strace", Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(trace)), nil }}})
	found, err := c.Follow("fd:3")
	if err != nil {
		t.Fatal(err)
	}
	if got := found.Tracks[0].Text(); !strings.HasSuffix(got, "\nopened at main.leak\n") {
		t.Errorf("%s", got)
	}
}

func TestTheNameOfAMemberFindsItAgain(t *testing.T) {
	for _, c := range []struct {
		kind analysis.Kind
		id   analysis.Identity
		name string
	}{
		{analysis.KindGoroutine, analysis.Identity{ID: 42}, "goroutine:42"},
		{analysis.KindThread, analysis.Identity{ID: 31}, "thread:31"},
		{analysis.KindDescriptor, analysis.Identity{ID: 0, Sub: 90112}, "fd:0"},
		{analysis.KindWatch, analysis.Identity{ID: 5, Sub: 3}, "watch:5.3"},
		{analysis.KindThread, analysis.Identity{ID: -1}, ""},
		{analysis.KindGoroutine, analysis.Identity{}, ""},
	} {
		got := report.NameOf(c.kind, c.id)
		w, err := report.ParseWanted(got)
		if got != c.name || c.name != "" && (err != nil || w.Kind != c.kind || w.Number != c.id.ID) {
			t.Errorf("%s %v is named %q, want %q; read as %+v, %v", c.kind, c.id, got, c.name, w, err)
		}
	}
}
