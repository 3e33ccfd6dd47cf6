package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"leakdiff/analysis"
)

// toyCaptures writes goroutine dumps of a toy program, one directory for each count of
// sessions that never end.
func toyCaptures(dir string, start time.Time, step time.Duration, counts ...int) error {
	return toyCapturesOf("wait", dir, start, step, counts...)
}

// toyCapturesOf takes the method in which the sessions wait, or several with commas between
// them that take turns.
func toyCapturesOf(method, dir string, start time.Time, step time.Duration, counts ...int) error {
	for i, n := range counts {
		var b strings.Builder
		b.WriteString("goroutine 1 [select]:\nmain.main()\n\t/src/cmd/shop/main.go:20 +0x1d\n\n")
		for k := range 8 {
			fmt.Fprintf(&b, "goroutine %d [select, 3 minutes]:\nshop/web.(*Server).accept(0xc0000100%d0)\n\t/src/web/server.go:44 +0x1d\ncreated by shop/web.Start in goroutine 1\n\t/src/web/server.go:12 +0x8c\n\n", k+2, k)
		}
		methods := strings.Split(method, ",")
		for k := range n {
			method := methods[k%len(methods)]
			fmt.Fprintf(&b, "goroutine %d [chan receive]:\nshop/cart.(*Session).%s(0xc00002%04x)\n\t/src/cart/session.go:88 +0x1d\ncreated by shop/cart.Open in goroutine 1\n\t/src/cart/session.go:31 +0x8c\n\n", 100+7*k, method, k)
		}
		at := filepath.Join(dir, "t"+strconv.Itoa(i))
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, "goroutines.txt"), []byte(b.String()), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, "captured-at.txt"), []byte(start.Add(time.Duration(i)*step).Format(time.RFC3339)+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeCaptures is captures [-in=METHOD] [-requests=PER_SECOND] [-untimed] DIR START STEP COUNT...: dumps of a toy program.
func writeCaptures(s *testscript.TestScript, neg bool, args []string) {
	method, requests, untimed := "wait", 0, false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, _ := strings.Cut(args[0], "=")
		switch name {
		case "-in":
			method = value
		case "-untimed":
			untimed = true
		case "-requests":
			var err error
			requests, err = strconv.Atoi(value)
			s.Check(err)
		}
		args = args[1:]
	}
	if neg || len(args) < 4 {
		s.Fatalf("usage: captures [-in=METHOD] [-requests=PER_SECOND] [-untimed] DIR START STEP COUNT...")
	}
	start, err := time.Parse(time.RFC3339, args[1])
	s.Check(err)
	step, err := time.ParseDuration(args[2])
	s.Check(err)
	var counts []int
	for _, a := range args[3:] {
		n, err := strconv.Atoi(a)
		s.Check(err)
		counts = append(counts, n)
	}
	s.Check(toyCapturesOf(method, s.MkAbs(args[0]), start, step, counts...))
	for i := 0; untimed && i < len(counts); i++ {
		s.Check(os.Remove(filepath.Join(s.MkAbs(args[0]), "t"+strconv.Itoa(i), "captured-at.txt")))
	}
	for i := 0; requests > 0 && i < len(counts); i++ {
		total := 1000 + requests*i*int(step.Seconds())
		text := fmt.Sprintf("# TYPE http_requests_total counter\nhttp_requests_total{code=\"200\"} %d\n", total)
		s.Check(os.WriteFile(filepath.Join(s.MkAbs(args[0]), "t"+strconv.Itoa(i), "metrics.txt"), []byte(text), 0o600))
	}
}

// TestGitBisectFindsTheCommit runs git bisect run over commits that each hold the captures of
// their version: one does not build, one was watched too shortly, and one leaks under another
// name.
func TestGitBisectFindsTheCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed:", err)
	}
	program := binary(t)
	dir := t.TempDir()
	repository, bad := filepath.Join(dir, "repository"), filepath.Join(dir, "bad")
	if err := os.Mkdir(repository, 0o700); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = repository
		cmd.Env = environment("GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=toy", "GIT_AUTHOR_EMAIL=toy@example.org", "GIT_COMMITTER_NAME=toy", "GIT_COMMITTER_EMAIL=toy@example.org", "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	start := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	if err := toyCaptures(bad, start, time.Minute, 5, 10, 15, 20, 25, 30); err != nil {
		t.Fatal(err)
	}
	still, leaks := []int{5, 5, 5, 5, 5, 5}, []int{5, 10, 14, 20, 24, 29}
	git("init", "-q", "-b", "main", ".")
	first := ""
	for i, counts := range [][]int{still, still, still, {5, 5}, still, still, leaks, leaks, nil, leaks, leaks} {
		now := filepath.Join(repository, "captures")
		if err := os.RemoveAll(now); err != nil {
			t.Fatal(err)
		}
		method := "wait"
		if i == 7 {
			method = "await" // somebody renamed it there, and back
		}
		if err := toyCapturesOf(method, now, start.Add(time.Duration(i+1)*time.Hour), 2*time.Minute, counts...); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repository, "version"), []byte(strconv.Itoa(i)), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-q", "-m", "version "+strconv.Itoa(i))
		if i == 6 {
			first = git("rev-parse", "HEAD")
		}
	}
	git("bisect", "start", "HEAD", "HEAD~10")
	out := git("bisect", "run", program, "report", "--bisect", "--before", bad, "captures")
	if !strings.Contains(out, first+" is the first bad commit") {
		t.Errorf("git does not find %s:\n%s", first, out)
	}
	if !strings.Contains(out, "that leak is gone, but shop/cart.(*Session).await <- shop/cart.Open leaks at 2.4 a minute: renamed?") {
		t.Errorf("the renamed version is not said to be unknown:\n%s", out)
	}
	if !strings.Contains(out, "leakdiff: bad: ") || !strings.Contains(out, "leakdiff: good: ") {
		t.Errorf("reasons are missing:\n%s", out)
	}
}

func TestNoErrorOfABisectionIsReadAsBad(t *testing.T) {
	tests := []struct {
		name string
		run  func() error
		want int
	}{
		{"nothing was read", func() error { return nothingRead("no dump was found", "") }, exitSkip},
		{"a file is not there", func() error { return &analysis.Fault{Code: "not_found"} }, exitSkip},
		{"a wrong flag", func() error { return &analysis.Fault{Code: "usage"} }, exitAbort},
		{"the disk is full", func() error { return errors.New("no space left on device") }, exitAbort},
		{"the program fails", func() error { panic("index out of range") }, exitAbort},
		{"an answer keeps its status", func() error { return &statusError{status: exitBad} }, exitBad},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got *statusError
			if err := aborting(tc.run); !errors.As(err, &got) || got.status != tc.want {
				t.Errorf("%v, want status %d", got, tc.want)
			}
		})
	}
	if err := aborting(func() error { return nil }); err != nil {
		t.Errorf("good is %v", err)
	}
}

func TestAPaceIsReadAsPeopleWriteIt(t *testing.T) {
	for text, want := range map[string]float64{"24/5m": 288, "3/h": 3, "1/d": 1. / 24, "2/s": 7200, "1.5/2h": .75, "7/2d": 7. / 48} {
		if got, err := parsePace(text); err != nil || got < want*.999 || got > want*1.001 {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "3", "3/", "/h", "-3/h", "0/h", "3/0h", "x/h", "3/parsec", "NaN/h", "Inf/h", "3/-1h"} {
		if got, err := parsePace(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}
