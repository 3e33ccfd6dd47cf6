//go:build linux

package capture_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/cmd/leakdiff/capture"
	"leakdiff/samples/corpus"
)

// waiting is what the program of the role "waiter" says of itself.
type waiting struct {
	Address string
	// FDs are the descriptors that its goroutines wait for, by goroutine id.
	FDs map[int64]int
	// Kinds says what those are.
	Kinds map[int64]string
}

// waiter is a program whose goroutines wait for descriptors of every kind.
type waiter struct {
	mu sync.Mutex
	waiting
	// connection is one that can be closed.
	connection net.Conn
}

func waitForThings() {
	w := &waiter{waiting: waiting{FDs: map[int64]int{}, Kinds: map[int64]string{}}}
	pages, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	w.Address = pages.Addr().String()
	go http.Serve(pages, nil) // which net/http/pprof has joined
	w.streams()
	w.messages()
	w.pipes()
	json.NewEncoder(os.Stdout).Encode(w.waiting)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		// The only other command is to close a connection.
		w.connection.Close()
		json.NewEncoder(os.Stdout).Encode(w.waiting)
	}
}

// streams opens connections, of which both ends are read and one is written too.
func (w *waiter) streams() {
	for _, network := range []string{"tcp", "unix"} {
		at := "127.0.0.1:0"
		if network == "unix" {
			dir, err := os.MkdirTemp("", "ld")
			check(err)
			defer os.RemoveAll(dir)
			at = dir + "/s"
		}
		listener, err := net.Listen(network, at)
		check(err)
		const connections = 20
		for i := range connections {
			client, err := net.Dial(network, listener.Addr().String())
			check(err)
			server, err := listener.Accept()
			check(err)
			w.wait(network+" client", client, readOnce(client))
			w.wait(network+" server", server, readOnce(server))
			w.connection = client
			if i == 0 {
				check(server.(interface{ SetWriteBuffer(int) error }).SetWriteBuffer(4096))
				unread, err := net.Dial(network, listener.Addr().String())
				check(err)
				full, err := listener.Accept()
				check(err)
				w.wait(network+" writer", full, func() { io.Copy(full, endless{}) })
				w.wait(network+" reader of what is full", full, readOnce(full))
				runtime.KeepAlive(unread)
				opened = append(opened, unread)
			}
		}
		w.wait(network+" listener", listener.(syscall.Conn), func() { listener.Accept() })
	}
}

// opened keeps connections from the collector of garbage, which would close them.
var opened []any

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func readOnce(r io.Reader) func() {
	return func() { r.Read(make([]byte, 1)) }
}

func (w *waiter) messages() {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	check(err)
	w.wait("udp", udp.(syscall.Conn), func() { udp.ReadFrom(make([]byte, 1)) })
	connected, err := net.Dial("udp", udp.LocalAddr().String())
	check(err)
	w.wait("udp with a peer", connected, readOnce(connected))
	message, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.IPv6loopback})
	if err != nil {
		message, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	}
	check(err)
	w.wait("udp with control messages", message, func() { message.ReadMsgUDP(make([]byte, 1), make([]byte, 1)) })
}

func (w *waiter) pipes() {
	r, into, err := os.Pipe()
	check(err)
	w.wait("pipe", r, readOnce(r))
	opened = append(opened, into)
	dir, err := os.MkdirTemp("", "ld")
	check(err)
	defer os.RemoveAll(dir)
	check(syscall.Mkfifo(dir+"/fifo", 0o600))
	fifo, err := os.OpenFile(dir+"/fifo", os.O_RDWR, 0)
	check(err)
	w.wait("fifo", fifo, readOnce(fifo))
}

// wait starts a goroutine that waits for a descriptor.
func (w *waiter) wait(kind string, of any, how func()) {
	raw, err := of.(syscall.Conn).SyscallConn()
	check(err)
	fd := -1
	check(raw.Control(func(n uintptr) { fd = int(n) }))
	begun := make(chan bool)
	go func() {
		var header [64]byte
		fields := bytes.Fields(header[:runtime.Stack(header[:], false)])
		id, err := strconv.ParseInt(string(fields[1]), 10, 64)
		check(err)
		w.mu.Lock()
		w.FDs[id], w.Kinds[id] = fd, kind
		w.mu.Unlock()
		begun <- true
		how()
		select {} // its id stays in the dump
	}()
	<-begun
}

// startWaiter starts the program and returns it when all its goroutines wait.
func startWaiter(t *testing.T) (*program, waiting) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=waiter")
	p := start(t, cmd)
	var said waiting
	if err := json.Unmarshal([]byte(p.line()), &said); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.pid())); err != nil {
		corpus.LeaveOut(t, "the memory of another process cannot be read here: %v", err)
	} else {
		f.Close()
	}
	for {
		parked := parkedIn(said.dump(t))
		missing := 0
		for id := range said.FDs {
			if !parked[id] {
				missing++
			}
		}
		if missing == 0 {
			return p, said
		}
	}
}

func (w waiting) dump(t *testing.T) []byte {
	t.Helper()
	answer, err := http.Get("http://" + w.Address + "/debug/pprof/goroutine?debug=2")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var parkedHeader = regexp.MustCompile(`(?m)^goroutine (\d+) \[IO wait`)

func parkedIn(dump []byte) map[int64]bool {
	out := map[int64]bool{}
	for _, m := range parkedHeader.FindAllSubmatch(dump, -1) {
		id, _ := strconv.ParseInt(string(m[1]), 10, 64)
		out[id] = true
	}
	return out
}

func pairsIn(t *testing.T, text string) map[int64]int {
	t.Helper()
	out := map[int64]int{}
	for line := range strings.Lines(text) {
		var id int64
		var fd int
		if n, err := fmt.Sscanf(line, "%d %d\n", &id, &fd); n != 2 || err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out[id] = fd
	}
	return out
}

// collected captures the program once and returns the archive, and the files of the round.
func collected(t *testing.T, p *program, w waiting, cfg capture.Config) (archive string, files map[string]string) {
	t.Helper()
	cfg.Targets = []capture.Target{{PID: p.pid(), Pprof: w.Address}}
	// Nothing here depends on how fast the machine is.
	cfg.PairTime, cfg.Budget = time.Hour, 10*time.Minute
	archive = runCollect(t, cfg)
	return archive, filesOf(t, archive)
}

// filesOf reads the files of the first round of an archive.
func filesOf(t *testing.T, archive string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, text := range members(t, archive) {
		if strings.Contains(name, "/t0/") {
			out[filepath.Base(name)] = text
		}
	}
	return out
}

func TestEveryGoroutineThatWaitsIsPairedWithItsDescriptor(t *testing.T) {
	p, w := startWaiter(t)
	archive, files := collected(t, p, w, capture.Config{Pair: capture.PairAlways})
	got := pairsIn(t, files["goroutine-fds.txt"])
	if len(got) == 0 {
		t.Fatalf("there are no pairs: %s", files["manifest.json"])
	}
	for id, fd := range w.FDs {
		if pairFD, ok := got[id]; !ok || pairFD != fd {
			t.Errorf("goroutine %d waits for %s, descriptor %d: got %d, %t", id, w.Kinds[id], fd, pairFD, ok)
		}
	}
	// The others are the goroutines of the server; it is asked over a connection that is
	// younger than the listing.
	parked := parkedIn([]byte(files["goroutine.debug2.txt"]))
	for id := range got {
		if !parked[id] {
			t.Errorf("goroutine %d has a pair and does not wait", id)
		}
	}
	t.Logf("%d pairs of %d goroutines that wait", len(got), len(parked))
	if len(got) < len(parked)-1 {
		t.Errorf("%d of %d goroutines have a pair, want all but that of the connection which asked", len(got), len(parked))
	}
	r := read(t, archive)
	ingested := map[int64]int{}
	for _, x := range r.Snapshots[0].Pairs {
		ingested[x.Goroutine] = x.FD
	}
	if d := cmp.Diff(got, ingested); d != "" || len(r.Snapshots) != 1 {
		t.Errorf("%d snapshots, pairs %s", len(r.Snapshots), d)
	}
	for _, problem := range r.Problems {
		if strings.Contains(problem.What+problem.Path, "pair") || strings.Contains(problem.Path, "goroutine-fds") {
			t.Errorf("%+v", problem)
		}
	}
}

func TestNoPairIsMadeUnlessItIsWanted(t *testing.T) {
	p, w := startWaiter(t)
	_, files := collected(t, p, w, capture.Config{Pair: capture.PairNever})
	if text, ok := files["goroutine-fds.txt"]; ok || strings.Contains(files["manifest.json"], "pairs") {
		t.Errorf("%q in spite of --no-pair", text)
	}
	if files["goroutine.debug2.txt"] == "" {
		t.Error("there is no dump")
	}
	_, files = collected(t, p, w, capture.Config{})
	if _, ok := files["goroutine-fds.txt"]; ok != (os.Geteuid() == 0) {
		t.Errorf("pairs by default: %t, as user %d", ok, os.Geteuid())
	}
}

func TestNothingButIdsAndDescriptorsIsStored(t *testing.T) {
	p, w := startWaiter(t)
	_, files := collected(t, p, w, capture.Config{Pair: capture.PairAlways})
	if text := files["goroutine-fds.txt"]; !regexp.MustCompile(`\A(\d{1,7} \d{1,4}\n)+\z`).MatchString(text) {
		t.Errorf("%q", text)
	}
	if strings.Contains(files["manifest.json"], "0x") {
		t.Errorf("the manifest has an address: %s", files["manifest.json"])
	}
}

func TestAWrongPlaceInMemoryIsRefused(t *testing.T) {
	p, w := startWaiter(t)
	for offset, right := range map[int]bool{8: false, 16: true, 24: false} {
		text, err := capture.PairsAt(fmt.Sprintf("/proc/%d", p.pid()), offset, func(to io.Writer) { to.Write(w.dump(t)) }, func() {})
		if right && (err != nil || len(pairsIn(t, text)) < len(w.FDs)) {
			t.Errorf("offset %d: %v, %s", offset, err, text)
		}
		if !right && (err == nil || text != "") {
			t.Errorf("offset %d: %v, %s", offset, err, text)
		}
		t.Logf("offset %d: %d pairs, %v", offset, len(pairsIn(t, text)), err)
	}
}

func TestADescriptorThatIsClosedAfterTheDumpHasNoPair(t *testing.T) {
	p, w := startWaiter(t)
	text, err := capture.PairsAt(fmt.Sprintf("/proc/%d", p.pid()), 16,
		func(to io.Writer) { to.Write(w.dump(t)) },
		func() { p.ask("close", &waiting{}) })
	if err != nil {
		t.Fatal(err)
	}
	got := pairsIn(t, text)
	ended := 0
	for id, fd := range w.FDs {
		switch pairFD, ok := got[id]; {
		case !ok:
			ended++
			if !strings.HasPrefix(w.Kinds[id], "unix ") {
				t.Errorf("%s has no pair", w.Kinds[id])
			}
		case pairFD != fd:
			t.Errorf("%s: %d, want %d", w.Kinds[id], pairFD, fd)
		}
	}
	// The other end reads the end of the connection and waits no more.
	if ended < 1 || ended > 2 {
		t.Errorf("%d goroutines have no pair, want the one whose connection was closed, and the other end", ended)
	}
}

func TestWhoMayNotReadMemoryLosesThePairsOnly(t *testing.T) {
	if os.Getuid() != 0 {
		corpus.LeaveOut(t, "only root has processes that others may not read")
	}
	p, w := startWaiter(t)
	archive, said := nobodyTakes(t, "leakdiff collect", capture.Config{
		Targets: []capture.Target{{PID: p.pid(), Pprof: w.Address}}, Budget: 10 * time.Minute, Pair: capture.PairAlways,
	})
	files := filesOf(t, archive)
	if _, ok := files["goroutine-fds.txt"]; ok || !regexp.MustCompile(`"step": "pairs",\s+"status": "skipped",[^}]*"error": "none \(permission\)"`).MatchString(files["manifest.json"]) {
		t.Error(files["manifest.json"])
	}
	if len(parkedIn([]byte(files["goroutine.debug2.txt"]))) < len(w.FDs) {
		t.Error("the dump is not whole")
	}
	if strings.Contains(said, "pairs") {
		t.Errorf("it is said to be a loss: %s", said)
	}
}
