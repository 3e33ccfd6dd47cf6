package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunCapturesAProgramUntilItEnds runs a shell that ends when it sees that two rounds were taken of it.
func TestRunCapturesAProgramUntilItEnds(t *testing.T) {
	needProc(t)
	temporary := t.TempDir()
	const script = `while set -- "$TMPDIR"/leakdiff-run-*/rounds/*Z.tar.gz; [ $# -lt 2 ]; do sleep 0.1; done; echo own words; exit 7`
	kept := filepath.Join(t.TempDir(), "kept.tar.gz")
	cmd := exec.Command(binary(t), "run", "--every", "100ms", "-o", kept, "--", "sh", "-c", script)
	cmd.Env = environment("TMPDIR=" + temporary)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the status of the program is 7: %v", err)
	}
	if stdout.String() != "own words\n" || !strings.Contains(stderr.String(), "sh on ") {
		t.Errorf("standard output %q, standard error:\n%s", &stdout, &stderr)
	}
	if report := execute(t, nil, "report", "--format", "json", kept); !strings.Contains(report.stdout, `"label": "t1"`) || strings.Contains(report.stdout, `"label": "t0 (2)"`) {
		t.Errorf("its rounds are not numbered: %s", report.stdout[:min(len(report.stdout), 2000)])
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it left %v: %v", left, err)
	}
}

func TestRunSaysWhatCouldNotBeCaptured(t *testing.T) {
	needProc(t)
	for _, c := range []struct {
		name, want string
		status     int
		args       []string
	}{
		{"a program that ends at once", "nothing was captured: the program ended before the first round", 3, []string{"--", "sh", "-c", "exit 3"}},
		{"no such program", "the program cannot be started", 2, []string{"--", "no-such-program-here"}},
		{"no program", "no program was named", 2, []string{"--"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(binary(t), append([]string{"run"}, c.args...)...)
			cmd.Env = environment("TMPDIR=" + t.TempDir())
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.status || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
}
