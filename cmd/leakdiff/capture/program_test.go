//go:build linux

package capture_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"leakdiff/cmd/leakdiff/capture"
)

// The tests capture real processes: this test program, started again in a role that
// the environment names. A program takes commands from standard input and answers
// each with one line of JSON.
const roleVariable = "CAPTURED_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "server":
		serveProfiles()
	case "secluded":
		raiseLoopback()
		serveProfiles()
	case "watcher":
		watchThings()
	case "opener":
		openThings()
	case "waiter":
		waitForThings()
	case "collector":
		collectAsAsked()
	case "holder":
		io.Copy(io.Discard, os.Stdin)
	}
}

// configVariable holds a collection of the role "collector".
const configVariable = "CAPTURED_CONFIG"

// collection is what a collector that is another process is asked for.
type collection struct {
	File    string
	Targets []capture.Target
	Budget  time.Duration
	SIGQUIT bool
	Pair    capture.Pairing
}

// collectAsAsked does what leakdiff collect does, as another user for example.
func collectAsAsked() {
	var asked collection
	check(json.Unmarshal([]byte(os.Getenv(configVariable)), &asked))
	archive, err := capture.NewArchive(asked.File)
	check(err)
	_, err = capture.Run(context.Background(), capture.Config{
		Targets: asked.Targets, Budget: asked.Budget, SIGQUIT: asked.SIGQUIT, NoLsof: true, Pair: asked.Pair, PairTime: time.Hour,
		Say: func(text string) { fmt.Fprintln(os.Stderr, "leakdiff:", text) },
	}, archive)
	check(errors.Join(err, archive.Close()))
}

// program is a process that the test started.
type program struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start runs a command that answers with lines, and ends it with the test.
func start(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *program) pid() int { return p.cmd.Process.Pid }

func (p *program) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// line is the next line that the program writes.
func (p *program) line() string {
	p.t.Helper()
	text, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the program ended: %v", err)
	}
	return strings.TrimSpace(text)
}

// ask sends a command and reads the answer into v.
func (p *program) ask(command string, v any) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(p.line()), v); err != nil {
		p.t.Fatal(err)
	}
}

// descriptors counts what the process has open, as the kernel lists it.
func (p *program) descriptors() int {
	p.t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(p.pid()) + "/fd")
	if err != nil {
		p.t.Fatal(err)
	}
	return len(entries)
}

// server starts a program with profiles.
func server(t testing.TB, args ...string) (*program, served) {
	t.Helper()
	return serverOf(t, os.Args[0], args...)
}

// serverOf starts a copy of this test program with profiles.
func serverOf(t testing.TB, name string, args ...string) (*program, served) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), roleVariable+"=server")
	p := start(t, cmd)
	var about served
	if err := json.Unmarshal([]byte(p.line()), &about); err != nil {
		t.Fatal(err)
	}
	// Its socket is in a folder that it cannot remove itself: it is killed.
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(about.Socket)) })
	return p, about
}

// served is what the server says of itself.
type served struct {
	Address string `json:"address"`
	Socket  string `json:"socket"`
	// Leaked are the goroutines of leak, Open the descriptors opened on demand.
	Leaked int `json:"leaked"`
	Open   int `json:"open"`
}

// serveProfiles serves pprof over TCP and over a unix socket. A request for a profile
// hangs where its name is among those that "hang" named.
func serveProfiles() {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	dir, err := os.MkdirTemp("", "ld")
	check(err)
	defer os.RemoveAll(dir)
	unix, err := net.Listen("unix", dir+"/s")
	check(err)
	s := &profileServer{said: served{Address: tcp.Addr().String(), Socket: dir + "/s"}}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/goroutine", s.goroutine)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		if s.answered(w, "metrics") {
			return
		}
		fmt.Fprintf(w, "# TYPE leaked_goroutines gauge\nleaked_goroutines %d\n# TYPE process_open_fds gauge\nprocess_open_fds 42\n", s.said.Leaked)
	})
	go http.Serve(tcp, mux)
	go http.Serve(unix, mux)
	s.tell()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		s.obey(strings.Fields(in.Text()))
		s.tell()
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

type profileServer struct {
	said  served
	hangs map[string]bool
	// token is the only one that is let in, "" lets everybody.
	token string
	// elsewhere is where a request is sent on to, "" for nowhere.
	elsewhere string
	// others are the answers that are something else, by the name of what was asked for.
	others map[string]string
	open   []*os.File
	block  chan struct{}
}

func (s *profileServer) tell() { json.NewEncoder(os.Stdout).Encode(s.said) }

func (s *profileServer) obey(words []string) {
	switch words[0] {
	case "leak":
		n, _ := strconv.Atoi(words[1])
		for range n {
			begun := make(chan struct{})
			go s.leak(begun)
			<-begun
		}
		s.said.Leaked += n
	case "open":
		n, _ := strconv.Atoi(words[1])
		for range n {
			f, err := os.Open("/dev/zero")
			check(err)
			s.open = append(s.open, f)
		}
		s.said.Open += n
	case "hang":
		s.hangs = map[string]bool{}
		for _, name := range words[1:] {
			s.hangs[name] = true
		}
	case "token":
		s.token = words[1]
	case "other":
		s.others = map[string]string{}
		for _, name := range words[2:] {
			s.others[name] = words[1]
		}
	case "elsewhere":
		s.elsewhere = words[1]
	}
}

// leak is the family that the tests count.
//
//go:noinline
func (s *profileServer) leak(begun chan struct{}) {
	close(begun)
	<-s.block
}

// otherAnswers are what the server can be told to answer in place of a profile.
var otherAnswers = map[string]string{
	"login":   "<html><body>please log in</body></html>\n",
	"nothing": "",
}

// answered gives another answer than what was asked for, where the server was told to.
func (s *profileServer) answered(w http.ResponseWriter, name string) bool {
	other, told := s.others[name]
	switch {
	case !told:
	case other == "packed":
		z := gzip.NewWriter(w)
		io.WriteString(z, otherAnswers["login"])
		z.Close()
	case other == "endless":
		text := []byte("goroutine profile: total 1\n1 @ 0x1\n")
		for err := error(nil); err == nil; {
			_, err = w.Write(text)
			text = bytes.Repeat([]byte("#\t0x1\tmain.main+0x1\t/src/main.go:10\n"), 1000)
		}
	default:
		if other == "login" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		io.WriteString(w, otherAnswers[other])
	}
	return told
}

func (s *profileServer) goroutine(w http.ResponseWriter, r *http.Request) {
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if s.elsewhere != "" {
		http.Redirect(w, r, s.elsewhere, http.StatusFound)
		return
	}
	debug := r.URL.Query().Get("debug")
	if s.answered(w, "debug"+debug) {
		return
	}
	switch {
	case s.hangs["half"+debug]:
		// The beginning of a dump, then nothing more.
		fmt.Fprint(w, "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\ngoroutine 7 [chan receive]:\nmain.work()\n\t/src/main.go:20 +0x1d\n\n")
		w.(http.Flusher).Flush()
		fallthrough
	case s.hangs["debug"+debug]:
		fmt.Fprintln(os.Stdout, `"hanging"`)
		<-s.block
	}
	pprof.Handler("goroutine").ServeHTTP(w, r)
}
