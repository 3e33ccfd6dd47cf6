package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"leakdiff/cmd/leakdiff/internal/testprogram"
	"leakdiff/samples"
)

// demonstrate starts a command that serves an answer over an empty directory for temporary files, and
// returns the link that it prints.
func demonstrate(t *testing.T, temporary string, env []string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	read, write := io.Pipe()
	var stderr output
	stderr.first = make(chan string, 1)
	cmd := exec.Command(binary(t), args...)
	cmd.Env, cmd.Dir = environment(append(env, "TMPDIR="+temporary)...), t.TempDir()
	cmd.Stdout, cmd.Stderr = write, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(startLimit, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		hung.Stop()
		cmd.Process.Kill()
		write.Close()
	})
	said, link := "", regexp.MustCompile(`(?s)^\w[^\n]+\.\n\n(http://127\.0\.0\.1:\d+/cases/\w+)\n.*Ctrl-C`)
	for buffer := make([]byte, 4096); ; {
		n, err := read.Read(buffer)
		said += string(buffer[:n])
		if found := link.FindStringSubmatch(said); found != nil {
			return cmd, found[1]
		}
		if err != nil {
			t.Fatalf("it printed no link: %q, %s", said, &stderr)
		}
	}
}

func TestTheDemoShowsTheAnswerOfASampleAndLeavesNothing(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			temporary := t.TempDir()
			// Settings are for other servers.
			cmd, link := demonstrate(t, temporary, []string{"LEAKDIFF_ACCESS=password", "LEAKDIFF_DATABASE=postgres://nobody@127.0.0.1:1/none", "LEAKDIFF_NO_SAMPLES=true"}, "demo", "--no-open")
			res, err := http.Get(link)
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(page), "▲</i>leaking") {
				t.Errorf("%v, status %d, %d bytes without the verdict", err, res.StatusCode, len(page))
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("it left %v: %v", left, err)
			}
		})
	}
}

func TestOpenShowsTheAnswerOfFilesAndLeavesNothing(t *testing.T) {
	dumps, temporary := t.TempDir(), t.TempDir()
	for i := range 4 {
		text := "goroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n\n"
		for k := range 20 * i {
			text += fmt.Sprintf("goroutine %d [select]:\nmain.(*Job).run(0xc000200000)\n\t/src/app/job.go:51 +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/job.go:22 +0x5a\n\n", 100+k)
		}
		if err := os.WriteFile(filepath.Join(dumps, fmt.Sprintf("t%d.txt", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd, link := demonstrate(t, temporary, nil, "open", "--no-open", dumps)
	res, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(page), "main.(*Job).run") {
		t.Errorf("%v, status %d, %d bytes without the function", err, res.StatusCode, len(page))
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it left %v: %v", left, err)
	}
}

// TestTheDemoOpensTheBrowserOfADesktop gives it one that writes down what it is to open.
func TestTheDemoOpensTheBrowserOfADesktop(t *testing.T) {
	needProc(t) // macOS has another opener
	bin := t.TempDir()
	fifo := filepath.Join(bin, "opened")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := testprogram.Write(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" > "+fifo+"\n")); err != nil {
		t.Fatal(err)
	}
	cmd, link := demonstrate(t, t.TempDir(), []string{"DISPLAY=:99", "PATH=" + bin + ":" + os.Getenv("PATH")}, "demo")
	opened, err := os.ReadFile(fifo)
	if err != nil || strings.TrimSpace(string(opened)) != link {
		t.Errorf("%q was opened, not %q: %v", opened, link, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTheDemoHasItsSample(t *testing.T) {
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range all {
		if sample.Found.Title == demoTitle {
			return
		}
	}
	t.Errorf("no sample is %q", demoTitle)
}
