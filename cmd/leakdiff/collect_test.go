package main

import (
	"bufio"
	"debug/elf"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"leakdiff/samples/corpus"
)

// collecting starts `leakdiff collect` for the process of this test and waits for its
// first round.
func collecting(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"collect", "--pid", strconv.Itoa(os.Getpid()), "--no-lsof", "--every", "1h"}, args...)...)
	cmd.Env = environment()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	said := bufio.NewReader(pipe)
	for {
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended: %v", err)
		}
		if strings.Contains(line, "t0 of 10") {
			return cmd, said
		}
	}
}

func TestACollectThatIsStoppedLeavesAWholeArchive(t *testing.T) {
	// Under nohup the program would ignore a hangup, as it should. A signal that the test
	// catches is not ignored in its children.
	caught := make(chan os.Signal, 1)
	ossignal.Notify(caught, syscall.SIGHUP)
	defer ossignal.Stop(caught)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "capture.tar.gz")
			cmd, said := collecting(t, "-o", file)
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(said)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, rest)
			}
			if !strings.Contains(string(rest), "ended by a signal in round 1 of 10") {
				t.Errorf("it says %q", rest)
			}
			if got := execute(t, nil, "report", file); got.status != 0 || !strings.Contains(got.stdout, "descriptors") {
				t.Errorf("status %d: %s%s", got.status, got.stdout, got.stderr)
			}
			if _, err := os.Stat(file + ".partial"); err == nil {
				t.Error("the partial file is still there")
			}
		})
	}
}

func TestACollectThatIsKilledLeavesWhatItHad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "capture.tar.gz")
	cmd, _ := collecting(t, "-o", file)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if _, err := os.Stat(file); err == nil {
		t.Error("an archive that is not whole has the name of a whole one")
	}
	if got := execute(t, nil, "report", file+".partial"); got.status != 0 || !strings.Contains(got.stdout, "descriptors") {
		t.Errorf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left, want the partial one", len(left))
	}
}

// The program is copied to nodes and into containers that have another libc, or none.
func TestTheProgramNeedsNoLibrary(t *testing.T) {
	f, err := elf.Open(binary(t))
	if err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		corpus.LeaveOut(t, "only Linux has ELF files: %v", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it asks for a dynamic linker")
		}
	}
}

func TestServeGivesTheScriptOfCollect(t *testing.T) {
	s := serve(t, t.TempDir(), "--no-samples")
	want := execute(t, nil, "collect", "--script").stdout
	if got := s.get("/collect.sh"); got != want {
		t.Errorf("%d bytes are served, want the %d that collect --script prints", len(got), len(want))
	}
}

func TestCollectAutoTakesWhatItFindsOnTheHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		corpus.LeaveOut(t, "only Linux has procfs")
	}
	l := startLeaker(t)
	l.leak(30)
	proc := t.TempDir() // a host with one process
	for _, name := range []string{"stat", "sys", l.pid()} {
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(proc, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	got := execute(t, nil, "collect", "--auto", "--proc", proc, "--no-lsof", "--count", "2", "--every", "1ms", "-o", file)
	if got.status != exitDone || !strings.Contains(got.stderr, "goroutines from http://"+l.address) {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	if read := execute(t, nil, "report", "--format", "json", file); !strings.Contains(read.stdout, "waitForAnswer") {
		t.Errorf("the report has no goroutines: %s%s", read.stdout, read.stderr)
	}
	if both := execute(t, nil, "collect", "--auto", "--pid", l.pid(), "-o", file); both.status != exitError || !strings.Contains(both.stderr, "--auto finds processes and addresses by itself") {
		t.Errorf("status %d: %s", both.status, both.stderr)
	}
	if none := execute(t, nil, "collect", "--auto", "--proc", t.TempDir(), "-o", file+".none"); none.status != exitError || !strings.Contains(none.stderr, "no process of this host can be captured") {
		t.Errorf("status %d: %s", none.status, none.stderr)
	}
}

// evilName is a name of at most 15 bytes, which the kernel keeps, and which colours what a
// terminal shows after it.
const evilName, evilShown = "ev\x1b[31mil", `ev\x1b[31mil`

func TestNamesOfProcessesDoNotReachTheTerminalAsTheyAre(t *testing.T) {
	if runtime.GOOS != "linux" {
		corpus.LeaveOut(t, "only Linux has procfs")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, evilName)
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	l := startLeakerAs(t, link)
	proc := t.TempDir()
	for _, name := range []string{"self", "stat", "sys", "uptime", "version", l.pid()} {
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(proc, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "capture.tar.gz")
	for name, args := range map[string][]string{
		"a pid":              {"collect", "--pid", l.pid(), "--count", "1"},
		"a name":             {"collect", "--name", evilName, "--count", "1"},
		"what is found":      {"collect", "--auto", "--proc", proc, "--count", "1"},
		"no such process":    {"collect", "--name", evilName + "x", "--count", "1"},
		"until it leaks":     {"collect", "--pid", l.pid(), "--pprof", l.address, "--until", "leaking", "--every", "1ms", "--max", "1ms"},
		"a name of no watch": {"watch", "--process", evilName, "--process", evilName, "--dir", dir},
	} {
		t.Run(name, func(t *testing.T) {
			if args[0] == "collect" {
				args = append(args, "--no-lsof", "-o", file)
			}
			got := execute(t, nil, args...)
			if all := got.stdout + got.stderr; strings.Contains(all, "\x1b") || !strings.Contains(all, evilShown) {
				t.Errorf("it says %q and %q", got.stdout, got.stderr)
			}
		})
	}
	w := watch(t, "--process", evilName+"="+l.address, "--dir", filepath.Join(dir, "watch"))
	if line := w.until(nil, " goroutines, "); strings.Contains(line, "\x1b") || !strings.Contains(line, evilShown+": t0: "+evilShown) {
		t.Errorf("watch says %q", line)
	}
}

// silentAddress is an address at which nothing answers.
func silentAddress(t *testing.T) string {
	t.Helper()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	return silent.Addr().String()
}

func TestACollectThatCapturedNothingEndsWithStatus2AndKeepsTheArchive(t *testing.T) {
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<html>log in</html>")
	}))
	defer login.Close()
	for name, c := range map[string]struct{ address, why string }{
		"nobody answers": {silentAddress(t), "connection refused"},
		"a login page":   {login.URL, "<html>log in</html>"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, until := range [][]string{{"--count", "2"}, {"--until", "leaking", "--max", "3ms"}} {
				file := filepath.Join(t.TempDir(), "capture.tar.gz")
				got := execute(t, nil, append([]string{"collect", "--pprof", c.address, "--every", "1ms", "-o", file}, until...)...)
				if got.status != exitError || got.stdout != "" || !strings.Contains(got.stderr, file+": nothing was captured (no step of ") || !strings.Contains(got.stderr, c.why) {
					t.Errorf("%q: status %d: %s%s", until, got.status, got.stdout, got.stderr)
				}
				if read := execute(t, nil, "report", "--verbose", file); !strings.Contains(read.stdout+read.stderr, c.why) {
					t.Errorf("%q: the archive does not say why: %s%s", until, read.stdout, read.stderr)
				}
			}
		})
	}
}

func TestCollectRefusesAnAddressThatIsNotOfHTTP(t *testing.T) {
	for _, args := range [][]string{{"--pprof", "ftp://127.0.0.1:1"}, {"--metrics", "ftp://127.0.0.1:1"}, {"--pprof", "ftp://127.0.0.1:1", "--until", "leaking"}} {
		dir := t.TempDir()
		got := execute(t, nil, append([]string{"collect", "-o", filepath.Join(dir, "capture.tar.gz")}, args...)...)
		if got.status != exitError || !strings.Contains(got.stderr, args[0]+`: "ftp://127.0.0.1:1" is no address of an endpoint`) {
			t.Errorf("%q: status %d: %s", args, got.status, got.stderr)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%q: it leaves %s", args, left[0].Name())
		}
	}
}

func TestCollectCountsInWordsThatFit(t *testing.T) {
	if runtime.GOOS != "linux" {
		corpus.LeaveOut(t, "only Linux has procfs")
	}
	address := silentAddress(t)
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	args := []string{"--pid", strconv.Itoa(os.Getpid()), "--pprof", address, "--no-lsof", "--count", "1", "-o", file}
	got := execute(t, nil, append([]string{"collect"}, args...)...)
	if got.status != exitDone || !strings.Contains(got.stderr, " bytes, 1 round; read it") || !strings.Contains(got.stderr, ", 1 step failed\n") {
		t.Errorf("status %d: %s", got.status, got.stderr)
	}
	script := exec.Command("sh", "-s", "--", "--pid", strconv.Itoa(os.Getpid()), "--pprof", address, "--count", "1", "-o", file)
	script.Stdin = strings.NewReader(execute(t, nil, "collect", "--script").stdout)
	if said, err := script.CombinedOutput(); err != nil || !strings.Contains(string(said), ", failed steps 1\n") {
		t.Errorf("%v: %s", err, said)
	}
}

func TestCollectSaysWhatASystemWithoutProcfsDoesNotShow(t *testing.T) {
	l := startLeaker(t)
	l.leak(20)
	proc, file := filepath.Join(t.TempDir(), "proc"), filepath.Join(t.TempDir(), "capture.tar.gz")
	got := execute(t, nil, "collect", "--proc", proc, "--pid", l.pid(), "--pprof", l.address, "--count", "1", "-o", file)
	if got.status != exitDone || !strings.Contains(got.stderr, "has no procfs") || !strings.Contains(got.stderr, "lsof -p PID") {
		t.Errorf("status %d: %s", got.status, got.stderr)
	}
	if read := execute(t, nil, "report", "--format", "json", file); !strings.Contains(read.stdout, "waitForAnswer") {
		t.Errorf("the report has no goroutines: %s%s", read.stdout, read.stderr)
	}
	got = execute(t, nil, "collect", "--proc", proc, "--pid", l.pid(), "-o", file+".none")
	if got.status != exitError || !strings.Contains(got.stderr, "has no procfs") || !strings.Contains(got.stderr, "leakdiff pprof URL") {
		t.Errorf("status %d: %s", got.status, got.stderr)
	}
}
