package main

import (
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

// demonstrate starts the demo over an empty directory for temporary files and returns the
// link that it prints.
func demonstrate(t *testing.T, temporary string, env []string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	read, write := io.Pipe()
	var stderr output
	stderr.first = make(chan string, 1)
	cmd := exec.Command(binary(t), append([]string{"demo"}, args...)...)
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
			t.Fatalf("the demo printed no link: %q, %s", said, &stderr)
		}
	}
}

func TestTheDemoShowsTheAnswerOfASampleAndLeavesNothing(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			temporary := t.TempDir()
			// Settings are for other servers.
			cmd, link := demonstrate(t, temporary, []string{"LEAKDIFF_ACCESS=password", "LEAKDIFF_DATABASE=postgres://nobody@127.0.0.1:1/none", "LEAKDIFF_NO_SAMPLES=true"}, "--no-open")
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
	cmd, link := demonstrate(t, t.TempDir(), []string{"DISPLAY=:99", "PATH=" + bin + ":" + os.Getenv("PATH")})
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
