// Package gateway is for tests alone: it builds and starts a real server that speaks S3
// (versitygw, a module of its own in the folder below), and stands between it and its clients
// to be a bad network.
package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"leakdiff/samples/corpus"
)

// Server is a server of buckets behind a Proxy.
type Server struct {
	*Proxy
	dir string
}

// Start starts a server until the test ends, and sets its credentials in the environment. It
// leaves the test out where the server cannot be built, unless CI is true.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		corpus.LeaveOut(t, "heavy: make quick does without a server of buckets")
	}
	program, err := program()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the server of buckets cannot be built and CI=true: %v", err)
		}
		corpus.LeaveOut(t, "the server of buckets (versitygw) cannot be built here")
	}
	s := &Server{dir: t.TempDir()}
	const key, secret = "leakdiff-test", "only for tests"
	address := freeAddress(t)
	cmd := exec.Command(program, "--quiet", "--port", address, "posix", s.dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+key, "ROOT_SECRET_KEY="+secret)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for answers(address) != nil {
		select {
		case <-ended:
			t.Fatalf("the server of buckets ended: %s", said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.Proxy = NewProxy(t, address)
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	return s
}

func answers(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Bucket creates a bucket and returns the address of a prefix in it, for serve --blobs.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	return Create(t, s.Given())
}

// Given is what another process needs for Create, beside the environment.
func (s *Server) Given() string { return s.Address() + " " + s.dir }

// Create creates a bucket on the server of another process, as Bucket does.
func Create(t testing.TB, given string) string {
	t.Helper()
	address, dir, _ := strings.Cut(given, " ")
	made, err := os.MkdirTemp(dir, "made")
	if err != nil {
		t.Fatal(err)
	}
	return "s3://" + filepath.Base(made) + "/of/tests?region=us-east-1&style=path&endpoint=http://" + address
}

// Files are the files of the objects of a bucket, by their names below its prefix.
func (s *Server) Files(t testing.TB, bucket string) map[string]string {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimPrefix(bucket, "s3://"), "/")
	out := map[string]string{}
	prefix := filepath.Join(s.dir, name, "of", "tests")
	err := filepath.WalkDir(prefix, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && d.Type().IsRegular() {
			below, _ := filepath.Rel(prefix, path)
			out[filepath.ToSlash(below)] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// folder has the module of the server, below the root of the checkout.
const folder = "internal/test/gateway/versitygw"

var once = sync.OnceValues(build)

// program is the server, built once for each version of its module.
func program() (string, error) { return once() }

func build() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "leakdiff").Output()
	if err != nil {
		return "", err
	}
	checkout := strings.TrimSpace(string(root))
	module := filepath.Join(checkout, folder)
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	version := sha256.Sum256(sums)
	path := filepath.Join(checkout, ".build", "versitygw-"+hex.EncodeToString(version[:4]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Tests of other packages may build it at the same time.
	fresh := fmt.Sprint(path, ".", os.Getpid())
	cmd := exec.Command("go", "build", "-o", fresh, "github.com/versity/versitygw/cmd/versitygw")
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, os.Rename(fresh, path)
}

// Proxy passes connections on to a server, unless it is told not to.
type Proxy struct {
	target   string
	listener net.Listener

	mu sync.Mutex
	// refused ends every connection, cut ends each after so many bytes from the server.
	refused bool
	cut     int64
	// loses ends connections before the answer to what contains it, "" for none.
	loses   string
	open    map[net.Conn]bool
	pending sync.WaitGroup
}

const endless = 1 << 62

// NewProxy starts a proxy in front of a server until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: listener, cut: endless, open: map[net.Conn]bool{}}
	p.pending.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.Refuse()
		p.pending.Wait()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return p
}

// Address is where the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Refuse ends all connections, and new ones at once, until Pass.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = true
	p.endAll()
}

// Cut ends every connection after so many bytes from the server and as many to it, until Pass.
func (p *Proxy) Cut(after int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = after
	p.endAll()
}

// LoseAnswer passes on what clients send that contains a text, and ends the connection before
// the answer, until Pass.
func (p *Proxy) LoseAnswer(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loses = to
}

// Pass passes everything on again.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused, p.cut, p.loses = false, endless, ""
}

func (p *Proxy) endAll() {
	for conn := range p.open {
		conn.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.pending.Go(func() { p.pass(client) })
	}
}

func (p *Proxy) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	cut, ok := p.begin(client, server)
	defer p.end(client, server)
	if !ok {
		return
	}
	var lost atomic.Bool
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(server, io.TeeReader(io.LimitReader(client, cut), watcher{p, &lost}))
		server.Close()
	}()
	_, _ = io.Copy(&losing{client, &lost}, io.LimitReader(server, cut))
	client.Close()
	<-sent
}

// watcher sets lost when the text whose answer is lost was sent.
type watcher struct {
	proxy *Proxy
	lost  *atomic.Bool
}

func (w watcher) Write(b []byte) (int, error) {
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	if w.proxy.loses != "" && bytes.Contains(b, []byte(w.proxy.loses)) {
		w.lost.Store(true)
	}
	return len(b), nil
}

// losing writes to a client until answers are lost.
type losing struct {
	client io.Writer
	lost   *atomic.Bool
}

func (l *losing) Write(b []byte) (int, error) {
	if l.lost.Load() {
		return 0, net.ErrClosed
	}
	return l.client.Write(b)
}

func (p *Proxy) begin(conns ...net.Conn) (cut int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		p.open[conn] = true
	}
	return p.cut, !p.refused
}

func (p *Proxy) end(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.open, conn)
	}
}
