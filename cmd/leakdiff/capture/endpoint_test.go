//go:build linux

package capture_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"leakdiff/analysis"
	"leakdiff/cmd/leakdiff/capture"
	"leakdiff/cmd/leakdiff/internal/testprogram"

	"leakdiff/samples/corpus"
)

func TestAnAddressIsShownWithoutItsSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:6060":                         "http://127.0.0.1:6060",
		"127.0.0.1:6060":                                "127.0.0.1:6060",
		"unix:/run/me@host.sock":                        "unix:/run/me@host.sock",
		"https://me:hunter2@10.0.0.1:10250/debug/pprof": "https://10.0.0.1:10250/debug/pprof",
		"me:hunter2@localhost:6060":                     "localhost:6060",
		"http://me:hun/ter2@h/x?token=hunter2#hunter2":  "http://h/x",
		"4711=http://me:hun@ter2@h:1":                   "4711=http://h:1",
		"kubelet=me:hunter2@h:1":                        "kubelet=h:1",
		"https://h/debug?token=hunter2":                 "https://h/debug",
	} {
		if got := capture.Shown(address); got != want {
			t.Errorf("%s is shown as %s, want %s", address, got, want)
		}
	}
}

func TestNoPasswordOfAnAddressGetsOut(t *testing.T) {
	for _, address := range []string{"http://admin:hunter2@127.0.0.1:1", "admin:hunter2@127.0.0.1:1"} {
		var said []string
		cfg := capture.Config{Targets: []capture.Target{{Pprof: address}}, Say: func(text string) { said = append(said, text) }}
		file, sum, err := collect(t, t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range members(t, file) {
			if strings.Contains(name+text, "hunter2") {
				t.Errorf("%s: %s", name, text)
			}
		}
		if all := strings.Join(append(said, sum.Lost...), "\n"); strings.Contains(all, "hunter2") || !strings.Contains(all, "127.0.0.1:1") {
			t.Errorf("it says %s", all)
		}
	}
}

// A proxy that wants a login answers 200 as well.
func TestAnAnswerThatIsSomethingElseIsALostStep(t *testing.T) {
	t.Parallel()
	const page = `"<html><body>please log in</body></html>"`
	for _, by := range append(takers(t), fetchers(t)...) {
		const typed = "text/html; charset=utf-8, " + page
		const without = " at t0 was not captured: the endpoint answered 200 without "
		for _, c := range []struct {
			name, other string
			// lost are the steps that fail, absent their files, and want the leaked
			// goroutines that are told.
			lost, absent []string
			want         int
			// script are the steps that fail where the script asked; it takes neither
			// metrics nor packed profiles.
			script []string
		}{
			{"everything", "login metrics debug debug1 debug2",
				[]string{"goroutines debug=1" + without + "a goroutine profile: " + typed, "metrics" + without + "metrics: " + typed},
				[]string{"goroutine.debug1.txt", "goroutine.pb", "goroutine.debug2.txt", "metrics.txt"}, -1,
				[]string{"goroutines debug=1" + without + `"goroutine profile:" at its begin`}},
			{"debug=2", "login debug2", []string{"goroutines debug=2" + without + "a goroutine dump: " + typed}, []string{"goroutine.debug2.txt"}, 50,
				[]string{"goroutines debug=2" + without + `"goroutine " at its begin`}},
			{"the packed profile", "login debug", []string{"goroutines proto" + without + "a goroutine profile: " + typed}, []string{"goroutine.pb"}, 50, nil},
			{"in the packed profile", "packed debug", []string{"goroutines proto" + without + "a goroutine profile: "}, []string{"goroutine.pb"}, 50, nil},
			{"nothing at all", "nothing debug1", []string{"goroutines debug=1" + without + "a goroutine profile: nothing that can be read"}, []string{"goroutine.debug1.txt"}, -1,
				[]string{"goroutines debug=1" + without + `"goroutine profile:" at its begin`}},
		} {
			lost := c.lost
			if by.isScript() {
				lost = c.script
			}
			t.Run(by.name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				p, about := server(t)
				// So many that a connection more or less is no difference between two files.
				p.ask("leak 50", &about)
				p.ask("other "+c.other, &about)
				cfg := one(p.pid(), about.Address)
				cfg.Targets[0].Metrics = "http://" + about.Address + "/metrics"
				file := by.take(t, cfg)
				r := read(t, file)
				for _, text := range lost {
					if !said(r, text) {
						t.Errorf("%q is not among the problems: %q", text, problems(r))
					}
				}
				if len(problems(r)) != len(lost) {
					t.Errorf("problems %q", problems(r))
				}
				got := -1
				if r.Snapshots[0].Totals.Goroutines != nil {
					got = counted(&r.Snapshots[0], analysis.KindGoroutine, "(*profileServer).leak")
				}
				if got != c.want {
					t.Errorf("%d leaked goroutines, want %d", got, c.want)
				}
				for name := range members(t, file) {
					if slices.Contains(c.absent, path.Base(name)) {
						t.Errorf("%s is kept", name)
					}
				}
			})
		}
	}
}

// An endpoint that never ends costs what is kept of one file, in the script as in the
// program, and the other evidence is read.
func TestAnAnswerWithoutEndIsKeptInPart(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	for _, name := range []string{"dash", "busybox"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, about := server(t)
			p.ask("other endless debug1", &about)
			cfg := one(p.pid(), about.Address)
			file := filepath.Join(t.TempDir(), "capture.tar.gz")
			cmd := scriptCommand(t, shell(t, name), nil, append(arguments(cfg), "-o", file)...)
			text := strings.Replace(string(capture.Script()), "longest=268435456", "longest="+strconv.Itoa(most), 1)
			if text == string(capture.Script()) {
				t.Fatal("the script has another limit than the program")
			}
			if err := os.WriteFile(cmd.Args[1], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := len(member(t, file, "goroutine.debug1.txt")); got != most {
				t.Errorf("%d bytes are kept, want %d", got, most)
			}
			r := read(t, file)
			if !said(r, "goroutines debug=1 at t0 is not whole: it is longer than what is kept of one file") || *r.Snapshots[0].Totals.Descriptors == 0 {
				t.Errorf("problems %q", problems(r))
			}
		})
	}
}

// Where a request is sent on to may be anybody's: neither it nor the token goes there.
func TestAnEndpointCannotSendTheTokenElsewhere(t *testing.T) {
	t.Parallel()
	for _, by := range append(takers(t), fetchers(t)...) {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			other, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			var asked atomic.Pointer[string]
			go func() {
				for {
					conn, err := other.Accept()
					if err != nil {
						return
					}
					text := make([]byte, 4096)
					n, _ := conn.Read(text)
					request := string(text[:n])
					asked.Store(&request)
					conn.Close()
				}
			}()
			p, about := server(t)
			p.ask("elsewhere http://"+other.Addr().String()+"/", &about)
			cfg := one(p.pid(), about.Address)
			alone := strings.Contains(by.name, "wget")
			if !alone {
				cfg.HeaderFile = filepath.Join(t.TempDir(), "token")
				if err := os.WriteFile(cfg.HeaderFile, []byte("gate-0pen-5esame"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := read(t, by.take(t, cfg))
			if !said(r, "goroutines debug=1 at t0 was not captured") {
				t.Errorf("problems %q", problems(r))
			}
			if request := asked.Load(); request != nil && (!alone || strings.Contains(*request, "Authorization")) {
				t.Errorf("it asked elsewhere: %q", *request)
			}
		})
	}
}

func TestTheScriptRefusesWhatItCannotDo(t *testing.T) {
	header := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(header, []byte("gate-0pen-5esame"), 0o600); err != nil {
		t.Fatal(err)
	}
	box := busyboxOnly(t, tool(t, "busybox"))
	if err := os.Remove(filepath.Join(strings.TrimPrefix(box[0], "PATH="), "curl")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	self := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"a token for the wget of BusyBox", box, []string{"--pid", self, "--header-file", header}, "--header-file needs curl"},
		{"no tar", []string{pathWithout(t, "tar")}, []string{"--pid", self}, "tar is not installed"},
		{"no gzip", []string{pathWithout(t, "gzip")}, []string{"--pid", self}, "gzip is not installed"},
		{"what only the program takes", nil, []string{"--pid", self, "--metrics", "h:1"}, "--metrics is no option of the script"},
		{"an address of nobody", nil, []string{"--pid", self, "--pprof", "kubelet=me:hunter2@h:1"}, "--pprof names kubelet, a process that is not captured"},
		{"an address of no process", nil, []string{"--name", "sh", "--pprof", "999999999=h:1"}, "--pprof names 999999999, a process that is not captured"},
		{"an address of one of two", nil, []string{"--pid", self, "--name", "sh", "--pprof", "h:1"}, "does not say which of several processes"},
		{"a time that is none", nil, []string{"--pid", self, "--every", "often"}, "often is no number above 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			shell := tool(t, "dash")
			if len(c.env) > 1 {
				shell = ""
			}
			cmd := scriptCommand(t, shell, c.env, append(c.args, "--count", "1", "-o", filepath.Join(dir, "capture.tar.gz"))...)
			out, err := cmd.CombinedOutput()
			var status *exec.ExitError
			if !errors.As(err, &status) || status.ExitCode() != 2 || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "hunter2") {
				t.Errorf("%v: %q, want %q", err, out, c.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it leaves %s", left[0].Name())
			}
		})
	}
}

// twins are two programs of one name, and that name.
func twins(t *testing.T) (a, b *program, aboutA, aboutB served, name string) {
	t.Helper()
	name = "twin" + strconv.Itoa(os.Getpid())
	program := filepath.Join(t.TempDir(), name)
	if err := os.Link(os.Args[0], program); err != nil {
		text, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := testprogram.Write(program, text); err != nil {
			t.Fatal(err)
		}
	}
	a, aboutA = serverOf(t, program)
	b, aboutB = serverOf(t, program)
	return a, b, aboutA, aboutB, name
}

func TestAnAddressIsFiledUnderItsProcessOnly(t *testing.T) {
	t.Parallel()
	a, b, aboutA, aboutB, name := twins(t)
	// So many that the connections of those that ask at the same time are no difference
	// between two files of one.
	a.ask("leak 60", &aboutA)
	b.ask("leak 80", &aboutB)
	for _, by := range takers(t) {
		t.Run(by.name+", of both nobody knows", func(t *testing.T) {
			t.Parallel()
			r := read(t, by.take(t, capture.Config{Targets: []capture.Target{{Name: name, Pprof: aboutA.Address}}}))
			if len(r.Snapshots) != 2 || !said(r, "2 processes are called "+name+": say whose address it is with PID=URL") {
				t.Errorf("%d snapshots, problems %q", len(r.Snapshots), problems(r))
			}
			for i := range r.Snapshots {
				if n := r.Snapshots[i].Totals.Goroutines; n != nil {
					t.Errorf("%d goroutines of one of the two are filed", *n)
				}
			}
		})
		t.Run(by.name+", two targets are one process", func(t *testing.T) {
			t.Parallel()
			file := by.take(t, capture.Config{Targets: []capture.Target{{PID: a.pid(), Pprof: aboutA.Address}, {PID: b.pid(), Pprof: aboutB.Address}, {Name: name}}})
			r := read(t, file)
			got := map[string]int{}
			for i := range r.Snapshots {
				got[r.Snapshots[i].Process.PID.Value] = counted(&r.Snapshots[i], analysis.KindGoroutine, "(*profileServer).leak")
			}
			if len(got) != 2 || got[strconv.Itoa(a.pid())] != 60 || got[strconv.Itoa(b.pid())] != 80 || len(problems(r)) > 0 {
				t.Errorf("leaked goroutines by pid: %v, problems %q", got, problems(r))
			}
			manifests := 0
			for name := range members(t, file) {
				if path.Base(name) == "manifest.json" {
					manifests++
				}
			}
			if manifests != 2 {
				t.Errorf("%d manifests, want 2", manifests)
			}
		})
	}
	t.Run("leakdiff collect, a name first", func(t *testing.T) {
		t.Parallel()
		r := read(t, runCollect(t, capture.Config{Targets: []capture.Target{{Name: name}, {PID: b.pid(), Pprof: aboutB.Address}}}))
		total := 0
		for i := range r.Snapshots {
			total += counted(&r.Snapshots[i], analysis.KindGoroutine, "(*profileServer).leak")
		}
		if len(r.Snapshots) != 2 || total != 80 {
			t.Errorf("%d snapshots, %d leaked goroutines, problems %q", len(r.Snapshots), total, problems(r))
		}
	})
}

// What was captured is worth more than its archive.
func TestTheScriptKeepsWhatItCannotWrite(t *testing.T) {
	for _, name := range []string{"dash", "busybox"} {
		t.Run(name+", where the archive cannot have its name", func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "capture.tar.gz")
			if err := os.MkdirAll(file+".partial/x", 0o700); err != nil {
				t.Fatal(err)
			}
			out := failing(t, shell(t, name), file)
			keptIn(t, dir, out)
		})
		t.Run(name+", where tar fails", func(t *testing.T) {
			bin := t.TempDir()
			if err := testprogram.Write(filepath.Join(bin, "tar"), []byte("#!/bin/sh\nexit 2\n")); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			dir := t.TempDir()
			keptIn(t, dir, failing(t, shell(t, name), filepath.Join(dir, "capture.tar.gz")))
			t.Setenv("TMPDIR", dir)
			keptIn(t, dir, failing(t, shell(t, name), "-"))
		})
		t.Run(name+", where the disk is full", func(t *testing.T) {
			dir := t.TempDir()
			switch err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); {
			case errors.Is(err, unix.EPERM):
				corpus.LeaveOut(t, "only root can mount a small file system, and not in every container: %v", err)
			case err != nil:
				t.Fatal(err)
			}
			defer unix.Unmount(dir, unix.MNT_DETACH)
			out := failing(t, shell(t, name), filepath.Join(dir, "capture.tar.gz"))
			keptIn(t, dir, out)
			if !strings.Contains(out, "is there room in "+dir) {
				t.Errorf("it does not tell that the disk is full: %s", out)
			}
		})
	}
}

// failing is what the script says that cannot write its archive.
func failing(t *testing.T, shell, file string) string {
	t.Helper()
	cmd := scriptCommand(t, shell, nil, "--pid", strconv.Itoa(os.Getpid()), "--count", "3", "--every", "1", "-o", file)
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 2 {
		t.Errorf("it ended with %v, want status 2: %s", err, said.String())
	}
	return said.String()
}

// keptIn demands that a directory below dir is named and holds what was captured.
func keptIn(t *testing.T, dir, said string) {
	t.Helper()
	_, kept, ok := strings.Cut(said, "could not be written; what was captured is in ")
	kept = strings.TrimSpace(kept)
	found, _ := filepath.Glob(kept + "/leakdiff-*/t0/*/stat")
	if !ok || !strings.HasPrefix(kept, dir) || len(found) != 1 {
		t.Errorf("what was captured is not kept: %s", said)
	}
}

func TestTheScriptEndsWellWhereNobodyReadsWhatItSays(t *testing.T) {
	for _, name := range []string{"dash", "busybox"} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			file, err := os.Create(filepath.Join(t.TempDir(), "capture.tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := scriptCommand(t, shell(t, name), append(os.Environ(), "TMPDIR="+tmp), "--pid", strconv.Itoa(os.Getpid()), "--count", "1000", "--every", "1", "-o", "-")
			cmd.Stdout, cmd.Stderr = file, w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			r.Close()
			err = cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
				t.Errorf("it ended with %v", err)
			}
			if got := read(t, file.Name()); len(got.Snapshots) == 0 {
				t.Error("the archive holds no snapshot")
			}
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("%s is left behind", left[0].Name())
			}
		})
	}
}
