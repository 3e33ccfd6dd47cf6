//go:build linux

package capture_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"leakdiff/analysis/say/report"
	"leakdiff/cmd/leakdiff/capture"
	"leakdiff/samples/corpus"
)

// openThings is the role "opener": at each command it opens FIFOs, pipes and connections, and
// forgets them or has a goroutine wait for each.
func openThings() {
	o := opener{dir: os.Getenv("OPENED_DIR")}
	pages, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go http.Serve(pages, nil) // which net/http/pprof has joined
	said := served{Address: pages.Addr().String()}
	json.NewEncoder(os.Stdout).Encode(said)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		for range openedAtOnce {
			o.open(in.Text() == "hold")
		}
		said.Open += openedAtOnce
		json.NewEncoder(os.Stdout).Encode(said)
	}
}

const openedAtOnce = 40

type opener struct {
	dir string
	n   int
}

// open opens one thing of each sort.
func (o *opener) open(held bool) {
	o.n++
	name := filepath.Join(o.dir, fmt.Sprint("io-", o.n))
	check(syscall.Mkfifo(name, 0o600))
	fifo, err := os.OpenFile(name, os.O_RDWR, 0)
	check(err)
	r, w, err := os.Pipe()
	check(err)
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	check(err)
	opened = append(opened, fifo, r, w, socket)
	if held {
		go readOnce(fifo)()
		go readOnce(r)()
		go socket.ReadFrom(make([]byte, 1))
	}
}

// threeCaptures are what the opener shows after it obeyed a command three times.
func threeCaptures(t *testing.T, command string, lsof bool) report.Case {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=opener", "OPENED_DIR="+t.TempDir())
	p := start(t, cmd)
	var said served
	if err := json.Unmarshal([]byte(p.line()), &said); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.pid())); err != nil {
		corpus.LeaveOut(t, "the memory of another process cannot be read here: %v", err)
	} else {
		f.Close()
	}
	var files []string
	for i := range 3 {
		p.ask(command, &said)
		want := 0
		if command == "hold" {
			want = 3 * said.Open
		}
		for len(parkedIn(waiting{Address: said.Address}.dump(t))) < want {
		}
		file := filepath.Join(t.TempDir(), fmt.Sprintf("capture%d.tar.gz", i))
		a, err := capture.NewArchive(file)
		if err != nil {
			t.Fatal(err)
		}
		cfg := capture.Config{
			Targets: []capture.Target{{PID: p.pid(), Pprof: said.Address}}, Pair: capture.PairAlways,
			PairTime: time.Hour, Budget: 10 * time.Minute, NoLsof: !lsof,
		}
		if sum, err := capture.Run(t.Context(), cfg, a); err != nil {
			t.Fatalf("%v, %+v", err, sum)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	r := read(t, files...)
	if len(r.Snapshots) != 3 {
		t.Fatalf("%d snapshots", len(r.Snapshots))
	}
	return report.Build(r.Snapshots, r.Problems, report.Options{Version: "test"})
}

// sayings are what the findings say and what stays open, a line each.
func sayings(c report.Case) string {
	var out []string
	for i := range c.Report.Series {
		s := &c.Report.Series[i]
		out = append(out, s.Limits...)
		for k := range s.Findings {
			out = append(out, s.Findings[k].Title, s.Findings[k].Text)
		}
	}
	return strings.Join(out, "\n")
}

func TestWhatIsOpenedAndForgottenIsAFinding(t *testing.T) {
	_, lsof := have(t, "lsof") // the links of /proc show no FIFO, only lsof does
	built := threeCaptures(t, "forget", lsof)
	want := []string{"120 UDP sockets", `24\d ends of pipes`} // a test may inherit some
	if lsof {
		want = append(want, "120 FIFOs")
	}
	text := sayings(built)
	for _, w := range want {
		said := false
		for _, line := range strings.Split(text, "\n") {
			said = said || strings.Contains(line, "Opened and forgotten: ") && regexp.MustCompile(w).MatchString(line)
		}
		if !said {
			t.Errorf("%q is not said to be forgotten:\n%s", w, text)
		}
	}
}

func TestWhatGoroutinesWaitForIsNotForgotten(t *testing.T) {
	_, lsof := have(t, "lsof")
	built := threeCaptures(t, "hold", lsof)
	text := sayings(built)
	if strings.Contains(text, "forgotten") {
		t.Errorf("something is said to be forgotten:\n%s", text)
	}
	for _, o := range built.Report.Series[0].Objects {
		if o.Orphaned {
			t.Errorf("nothing holds %s: %+v", o.Name, o)
		}
	}
}
