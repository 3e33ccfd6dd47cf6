//go:build linux

package capture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leakdiff/cmd/leakdiff/capture"
)

// procOf is a procfs that shows some processes of this machine alone.
func procOf(t *testing.T, pids ...int) string {
	t.Helper()
	dir := t.TempDir()
	for _, pid := range pids {
		name := strconv.Itoa(pid)
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"stat", "sys"} {
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func found(t *testing.T, all []capture.Found, pid int) capture.Found {
	t.Helper()
	i := slices.IndexFunc(all, func(f capture.Found) bool { return f.PID == pid })
	if i < 0 {
		t.Fatalf("process %d is not among %+v", pid, all)
	}
	return all[i]
}

func TestDiscoverFindsTheProfilesOfAGoProgramByItsPorts(t *testing.T) {
	with, about := server(t)
	without := start(t, func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"=holder")
		return cmd
	}())
	other := start(t, exec.Command(tool(t, "sleep"), "1000"))
	all, err := capture.Discover(t.Context(), capture.Config{Proc: procOf(t, with.pid(), without.pid(), other.pid(), os.Getpid())}, 20)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 {
		t.Errorf("%d processes, want three without this one: %+v", len(all), all)
	}
	if f := found(t, all, with.pid()); f.Target.PID != with.pid() || f.Target.Pprof != "http://"+about.Address || !strings.Contains(f.Takes, "goroutines from ") {
		t.Errorf("with profiles: %+v, want those at %s", f, about.Address)
	}
	if f := found(t, all, without.pid()); f.Target.PID != without.pid() || f.Target.Pprof != "" || !strings.Contains(f.Takes, "no goroutines: it listens on no TCP port") {
		t.Errorf("without profiles: %+v", f)
	}
	if f := found(t, all, other.pid()); f.Target.PID != 0 || !strings.Contains(f.Left, "fewer than 100 descriptors and threads") {
		t.Errorf("sleep: %+v", f)
	}

	one, err := capture.Discover(t.Context(), capture.Config{Proc: procOf(t, with.pid(), without.pid())}, 1)
	if err != nil {
		t.Fatal(err)
	}
	larger, smaller := found(t, one, with.pid()), found(t, one, without.pid())
	if larger.Target.PID == 0 || smaller.Target.PID != 0 || smaller.Left != "1 larger ones are captured" {
		t.Errorf("the larger is %+v, the smaller %+v", larger, smaller)
	}
}

func TestDiscoverSaysWhatItMayNotRead(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "4711")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "stat"), stat, 0o600); err != nil {
		t.Fatal(err)
	}
	// A directory that is missing is refused to root as well.
	all, err := capture.Discover(t.Context(), capture.Config{Proc: dir}, 20)
	if err != nil {
		t.Fatal(err)
	}
	if f := found(t, all, 4711); f.Target.PID != 0 || !strings.Contains(f.Left, "may not be read") || !strings.Contains(f.Left, "run as root or as its user") {
		t.Errorf("%+v", f)
	}
}

func TestDiscoverFindsNodeAndAJVMHoweverFewDescriptorsTheyHave(t *testing.T) {
	node := start(t, exec.Command(tool(t, "node"), "-e", clientProgram))
	node.line()
	file := filepath.Join(t.TempDir(), "Leak.java")
	if err := os.WriteFile(file, []byte(threadsProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	java := start(t, exec.Command(tool(t, "java"), file))
	java.line()
	all, err := capture.Discover(t.Context(), capture.Config{Proc: procOf(t, node.pid(), java.pid())}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if f := found(t, all, node.pid()); f.Target.PID == 0 || !strings.Contains(f.Takes, "Node.js: a report where it was started with --report-on-signal") {
		t.Errorf("%+v", f)
	}
	if f := found(t, all, java.pid()); f.Target.PID == 0 || !strings.Contains(f.Takes, "JVM: threads by jcmd or jstack") {
		t.Errorf("%+v", f)
	}
}
