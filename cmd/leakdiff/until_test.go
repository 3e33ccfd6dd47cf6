package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/cmd/leakdiff/capture"
)

// untilTest runs collect --until with a clock that moves by waiting alone. Before each wait it
// calls between with the number of rounds that were taken.
type untilTest struct {
	collectCommand
	stdout, stderr bytes.Buffer
	waits          []time.Duration
}

func newUntilTest(t *testing.T, l *leaker, until string, between func(rounds int)) *untilTest {
	u := &untilTest{}
	clock := time.Now()
	u.collectCommand = collectCommand{
		Every: 30 * time.Second, Count: 10, Until: until, Max: 2 * time.Hour, MaxSize: "1GiB", StepTimeout: 10 * time.Second, MaxGoroutines: 1000,
		Proc: "/proc", Output: filepath.Join(t.TempDir(), "capture.tar.gz"), JVM: true,
		now: func() time.Time { return clock },
		wait: func(ctx context.Context, until time.Time) bool {
			u.waits = append(u.waits, until.Sub(clock))
			clock = until
			between(len(u.waits))
			return ctx.Err() == nil
		},
	}
	u.PID, u.Pprof = []int{l.cmd.Process.Pid}, []string{l.address}
	return u
}

// run returns the exit status.
func (u *untilTest) run(t *testing.T, ctx context.Context) int {
	t.Helper()
	m := &Main{Stdout: &u.stdout, Stderr: &u.stderr}
	targets, err := u.targets()
	if err != nil {
		t.Fatal(err)
	}
	err = u.collect(ctx, m, targets)
	t.Logf("%s%s", &u.stderr, &u.stdout)
	if err == nil {
		return exitDone
	}
	if own, ok := err.(*statusError); ok {
		return own.status
	}
	t.Log(err)
	return exitError
}

func TestCollectUntilEndsWhenTheReportAccuses(t *testing.T) {
	for _, word := range []string{"leaking", "suspicious", "grew"} {
		t.Run(word, func(t *testing.T) {
			l := startLeaker(t)
			l.leak(5)
			u := newUntilTest(t, l, word, func(int) { l.leak(40) })
			if status := u.run(t, t.Context()); status != exitDone {
				t.Fatalf("status %d", status)
			}
			rounds := len(u.waits) + 1
			if got := execute(t, nil, "report", "--fail-on", word, u.Output); got.status != exitVerdict || !strings.Contains(got.stdout, "waitForAnswer") {
				t.Errorf("report of the archive: status %d: %s%s", got.status, got.stdout, got.stderr)
			}
			if !strings.Contains(u.stderr.String(), word+" after ") || !strings.Contains(u.stdout.String(), "waitForAnswer") {
				t.Errorf("%d rounds, it says %q and %q", rounds, &u.stderr, &u.stdout)
			}
			for i, wait := range u.waits[1:] {
				if before := u.waits[i]; wait != min(before*3/2, 10*time.Minute) {
					t.Errorf("wait %d is %s after %s", i+1, wait, before)
				}
			}
			if left, _ := filepath.Glob(u.Output + "?*"); len(left) > 0 {
				t.Errorf("%q are left beside the archive", left)
			}
		})
	}
}

func TestCollectUntilEndsByItsTimeWhereNothingLeaks(t *testing.T) {
	l := startLeaker(t)
	l.leak(5)
	u := newUntilTest(t, l, "grew", func(int) {})
	u.Max = 10 * time.Minute
	if status := u.run(t, t.Context()); status != exitNotReached {
		t.Fatalf("status %d", status)
	}
	// At 0, 30, 75, 142.5, 243.75 and 395.625 s, and the last one at 600 s.
	if len(u.waits) != 6 || u.waits[5] != 204375*time.Millisecond {
		t.Errorf("it waited %s", u.waits)
	}
	if !strings.Contains(u.stderr.String(), "not grew after 7 rounds: --max 10m0s has passed") {
		t.Errorf("it says %q", &u.stderr)
	}
	if got := execute(t, nil, "report", "--fail-on", "grew", u.Output); got.status != exitDone || !strings.Contains(got.stdout, "7 dumps") {
		t.Errorf("report of the archive: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
}

func TestCollectUntilDropsRoundsInTheMiddleWhenTheDiskIsFull(t *testing.T) {
	l := startLeaker(t)
	l.leak(5)
	u := newUntilTest(t, l, "leaking", func(int) {})
	u.Max = 2 * time.Hour
	u.Proc, u.MaxSize = l.procWithoutSockets(), "70KB" // a round takes 9 KB
	var most int64
	advance := u.wait
	u.wait = func(ctx context.Context, until time.Time) bool {
		files, _ := filepath.Glob(filepath.Join(u.Output+".rounds", "*"))
		var size int64
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				size += info.Size()
			}
		}
		most = max(most, size)
		return advance(ctx, until)
	}
	if status := u.run(t, t.Context()); status != exitNotReached {
		t.Fatalf("status %d", status)
	}
	if most > 70_000 || most < 35_000 {
		t.Errorf("the rounds took %d bytes", most)
	}
	if info, err := os.Stat(u.Output); err != nil || info.Size() > 71_000 {
		t.Errorf("%v, %v", info, err)
	}
	if !strings.Contains(u.stderr.String(), "dropped to stay within 70KB") {
		t.Errorf("it says %q", &u.stderr)
	}
	got := execute(t, nil, "report", "-v", "--format", "json", u.Output).stdout
	last := fmt.Sprintf(`"label": "t%d"`, len(u.waits))
	if !strings.Contains(got, `"label": "t0"`) || !strings.Contains(got, last) {
		t.Errorf("the first or %s is lost: %.3000s", last, got)
	}
}

func TestCollectUntilSaysThatTheProcessEnded(t *testing.T) {
	l := startLeaker(t)
	u := newUntilTest(t, l, "leaking", func(rounds int) {
		if rounds == 2 {
			l.kill()
		}
	})
	if status := u.run(t, t.Context()); status != exitNotReached {
		t.Fatalf("status %d", status)
	}
	if said := u.stderr.String(); !strings.Contains(said, "has ended") || !strings.Contains(said, "no process is left to capture") {
		t.Errorf("it says %q", said)
	}
	if got := execute(t, nil, "report", u.Output); got.status != exitDone {
		t.Errorf("report of the archive: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
}

func TestCollectUntilWritesWhatItHasWhenItIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := startLeaker(t)
	u := newUntilTest(t, l, "leaking", func(rounds int) {
		if rounds == 2 {
			cancel()
		}
	})
	if status := u.run(t, ctx); status != exitNotReached {
		t.Fatalf("status %d", status)
	}
	if said := u.stderr.String(); !strings.Contains(said, "not leaking after 2 rounds: it was ended by a signal") {
		t.Errorf("it says %q", said)
	}
	if got := execute(t, nil, "report", u.Output); got.status != exitDone || !strings.Contains(got.stdout, "2 dumps") {
		t.Errorf("report of the archive: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
}

func TestCollectUntilLeavesReadableRoundsWhenItIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	l := startLeaker(t)
	cmd := exec.Command(binary(t), "collect", "--pid", l.pid(), "--pprof", l.address, "--no-lsof", "--every", "10ms", "--until", "leaking", "-o", file)
	cmd.Env = environment()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for said := bufio.NewReader(pipe); ; {
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended: %v", err)
		}
		if strings.Contains(line, "leakdiff: t2: ") {
			break
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := execute(t, nil, "report", "--verbose", file+".rounds"); got.status != exitDone || !strings.Contains(got.stdout, " dumps in ") || strings.Contains(got.stdout, "has no end") {
		t.Errorf("report of the rounds: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	left, _ := filepath.Glob(filepath.Join(file+".rounds", "*.tar.gz"))

	// The next one keeps them under another name and begins anew.
	args := []string{"collect", "--pid", l.pid(), "--pprof", l.address, "--no-lsof", "--every", "1ms", "--max", "2ms", "--until", "leaking", "-o", file}
	locked, err := capture.LockDirectory(file + ".rounds")
	if err != nil {
		t.Fatal(err)
	}
	if beside := execute(t, nil, args...); beside.status != exitError || !strings.Contains(beside.stderr, "another process uses this directory") {
		t.Errorf("beside another collect: status %d: %s", beside.status, beside.stderr)
	}
	locked.Close()
	again := execute(t, nil, args...)
	kept, _ := filepath.Glob(file + "?*")
	if again.status != exitNotReached || len(kept) != 1 {
		t.Fatalf("status %d, kept %q: %s", again.status, kept, again.stderr)
	}
	if want := fmt.Sprintf("leakdiff: %d rounds of an earlier collect that did not end in order: kept in %s;", len(left), kept[0]); !strings.Contains(again.stderr, want) {
		t.Errorf("it says %q, want %q", again.stderr, want)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(kept[0], filepath.Base(name))); err != nil {
			t.Error(err)
		}
	}
	if got := execute(t, nil, "report", kept[0]); got.status != exitDone || !strings.Contains(got.stdout, fmt.Sprintf("%d dumps", len(left))) {
		t.Errorf("report of what is kept: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	// So does a part of the archive, which the program was writing when it was killed.
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".partial", whole[:len(whole)-40], 0o600); err != nil {
		t.Fatal(err)
	}
	third := execute(t, nil, args...)
	parts, _ := filepath.Glob(file + ".partial*")
	if third.status != exitNotReached || len(parts) != 1 || !strings.Contains(third.stderr, "kept as "+parts[0]+";") {
		t.Fatalf("status %d, parts %q: %s", third.status, parts, third.stderr)
	}
	if got := execute(t, nil, "report", parts[0]); got.status != exitDone || !strings.Contains(got.stdout, " dump") {
		t.Errorf("report of the part: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	if nothing := execute(t, nil, "collect", "--name", "no-such-program", "--until", "leaking", "-o", file+".none"); nothing.status != exitError || !strings.Contains(nothing.stderr, "no-such-program") {
		t.Errorf("status %d: %s", nothing.status, nothing.stderr)
	}
	if left, _ := filepath.Glob(file + ".none*"); len(left) > 0 {
		t.Errorf("%q are left of nothing", left)
	}
}

func TestARingDropsTheRoundsThatStandClosest(t *testing.T) {
	r, err := openRing(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	for _, minute := range []int{0, 1, 2, 10, 20, 30, 31} {
		c := captured{start.Add(time.Duration(minute) * time.Minute).Format(capturedName), start.Add(time.Duration(minute) * time.Minute), 100}
		if err := os.WriteFile(r.path(c), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, start.Add(time.Hour).Format(capturedName)+".partial"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = openRing(r.dir); err != nil {
		t.Fatal(err)
	}
	dropped, err := r.thin(10, 400)
	if err != nil || dropped != 3 {
		t.Fatalf("%d dropped, %v", dropped, err)
	}
	var minutes []int
	for _, c := range r.captures {
		minutes = append(minutes, int(c.at.Sub(start)/time.Minute))
	}
	if diff := cmp.Diff([]int{0, 10, 20, 31}, minutes); diff != "" {
		t.Errorf("the minutes that are left (-want +got):\n%s", diff)
	}
	if files, _ := os.ReadDir(r.dir); len(files) != 4 {
		t.Errorf("%d files are left", len(files))
	}
	if dropped, err := r.thin(1, 1); err != nil || dropped != 2 || len(r.captures) != 2 {
		t.Errorf("%d dropped, %v, %d are left, want the first and the last", dropped, err, len(r.captures))
	}
}
