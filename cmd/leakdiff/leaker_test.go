package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// roleOfLeaker is the variable that makes this test program one that leaks on demand.
const roleOfLeaker = "TESTED_LEAKER"

// leak serves profiles and leaks goroutines by request. It prints its address and ends with
// its standard input.
func leak() {
	var mu sync.Mutex // of release
	release := make(chan struct{})
	http.HandleFunc("/release", func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		close(release)
		release = make(chan struct{})
	})
	http.HandleFunc("/leak", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n, _ := strconv.Atoi(r.FormValue("n"))
		for range n {
			go waitForAnswer(release)
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go http.Serve(listener, nil)
	io.Copy(io.Discard, os.Stdin)
}

//go:noinline
func waitForAnswer(release chan struct{}) { <-release }

// leaker is a process that leaks on demand.
type leaker struct {
	t       testing.TB
	cmd     *exec.Cmd
	address string
}

func startLeaker(t testing.TB) *leaker {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startLeakerAs(t, program)
}

// startLeakerAs starts it by a path of this test program, whose name is that of the process.
func startLeakerAs(t testing.TB, program string) *leaker {
	t.Helper()
	l := &leaker{t: t, cmd: exec.Command(program)}
	l.cmd.Env = environment(roleOfLeaker + "=1")
	l.cmd.Stderr = os.Stderr
	if _, err := l.cmd.StdinPipe(); err != nil { // open until this program ends
		t.Fatal(err)
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	l.address = strings.TrimSpace(line)
	return l
}

func (l *leaker) pid() string { return strconv.Itoa(l.cmd.Process.Pid) }

// procWithoutSockets is /proc with this process alone and without its tables of sockets, which
// are those of the host: captures of it have one size, whatever else runs.
func (l *leaker) procWithoutSockets() string {
	l.t.Helper()
	dir := l.t.TempDir()
	own := filepath.Join(dir, l.pid())
	if err := os.Mkdir(own, 0o755); err != nil {
		l.t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join("/proc", l.pid()))
	if err != nil {
		l.t.Fatal(err)
	}
	links := map[string]string{filepath.Join(dir, "sys"): "/proc/sys", filepath.Join(dir, "stat"): "/proc/stat"}
	for _, e := range entries {
		if e.Name() != "net" {
			links[filepath.Join(own, e.Name())] = filepath.Join("/proc", l.pid(), e.Name())
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, name); err != nil {
			l.t.Fatal(err)
		}
	}
	return dir
}

func (l *leaker) kill() {
	l.cmd.Process.Kill()
	l.cmd.Wait()
}

// leak has the process start goroutines that do not end before release.
func (l *leaker) leak(n int) { l.t.Helper(); l.ask("/leak?n=" + strconv.Itoa(n)) }

func (l *leaker) release() { l.t.Helper(); l.ask("/release") }

func (l *leaker) ask(path string) {
	l.t.Helper()
	res, err := http.Get("http://" + l.address + path)
	if err != nil {
		l.t.Fatal(err)
	}
	res.Body.Close()
}
