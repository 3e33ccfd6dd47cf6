package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/cmd/leakdiff/internal/testprogram"
	"leakdiff/samples"
)

// startLimit and stopLimit end a process that hangs. No test result depends on them.
const (
	startLimit = 2 * time.Minute
	stopLimit  = 2 * time.Minute
)

// built is the program that these tests start: a copy of the file of LEAKDIFF_BINARY, as `make
// build` made it, else of one built here. Tests of memory need the copy: see testprogram.Write.
var built = sync.OnceValues(func() (string, error) {
	linked := os.Getenv("LEAKDIFF_BINARY")
	if linked == "" {
		linked = filepath.Join(buildDir(), "linked")
		build := exec.Command("go", "build", "-o", linked, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	program, err := os.ReadFile(linked)
	if err != nil {
		return "", err
	}
	path := filepath.Join(buildDir(), "leakdiff")
	return path, testprogram.Write(path, program)
})

// buildDir is the directory of built. TestMain removes it.
func buildDir() string {
	return filepath.Join(os.TempDir(), "leakdiff-test-"+strconv.Itoa(os.Getpid()))
}

func TestMain(m *testing.M) {
	if os.Getenv(roleOfLeaker) != "" {
		leak()
		return
	}
	if err := os.MkdirAll(buildDir(), 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	status := m.Run()
	os.RemoveAll(buildDir())
	os.Exit(status)
}

func binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// environment is the present environment without the program's settings.
func environment(extra ...string) []string {
	var out []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "LEAKDIFF_") && name != "GOMEMLIMIT" && name != "GOGC" && name != "GODEBUG" {
			out = append(out, v)
		}
	}
	return append(out, extra...)
}

// ended is the result of a program that has ended.
type ended struct {
	status         int
	stdout, stderr string
}

// execute runs the program to its end.
func execute(t testing.TB, env []string, args ...string) ended {
	t.Helper()
	return executed(t, t.TempDir(), env, args...)
}

// executeIn is execute in a directory.
func executeIn(t testing.TB, dir string, args ...string) ended {
	t.Helper()
	return executed(t, dir, nil, args...)
}

func executed(t testing.TB, dir string, env []string, args ...string) ended {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = environment(env...), &stdout, &stderr, dir
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("leakdiff %q: %v, %v", args, err, ctx.Err())
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// serving is a server in a process of its own.
type serving struct {
	t testing.TB
	// url ends without a slash.
	url            string
	cmd            *exec.Cmd
	stdout, stderr *output
	done           chan struct{}
}

// serve starts `leakdiff serve` on a free port over dir, and returns when the server
// prints its address.
func serve(t testing.TB, dir string, args ...string) *serving {
	t.Helper()
	return serveIn(t, nil, append([]string{"--listen", "127.0.0.1:0", "--data", dir}, args...)...)
}

func serveIn(t testing.TB, env []string, args ...string) *serving {
	t.Helper()
	s := &serving{t: t, stdout: newOutput(), stderr: newOutput(), done: make(chan struct{})}
	s.cmd = exec.Command(binary(t), append([]string{"serve"}, args...)...)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr, s.cmd.Dir = environment(env...), s.stdout, s.stderr, t.TempDir()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(s.kill)
	select {
	case line := <-s.stdout.first:
		_, address, found := strings.Cut(line, " listens on ")
		if !found {
			t.Fatalf("serve printed %q, not where it listens", line)
		}
		s.url = strings.TrimSuffix(strings.TrimSpace(address), "/")
	case <-s.done:
		t.Fatalf("serve ended with status %d: %s", s.cmd.ProcessState.ExitCode(), s.stderr)
	case <-time.After(startLimit):
		t.Fatalf("serve did not start within %s: %s", startLimit, s.stderr)
	}
	return s
}

// stop ends the server as an init system does and returns its exit status.
func (s *serving) stop() int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.done:
	case <-time.After(stopLimit):
		s.t.Fatalf("serve did not stop within %s of SIGTERM: %s", stopLimit, s.stderr)
	}
	return s.cmd.ProcessState.ExitCode()
}

// kill ends the server as a crash does.
func (s *serving) kill() {
	s.cmd.Process.Kill()
	<-s.done
}

// output collects what a process prints. It passes its first line on at once.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	first chan string
}

func newOutput() *output { return &output{first: make(chan string, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	had := bytes.IndexByte(o.text.Bytes(), '\n') >= 0
	o.text.Write(p)
	if end := bytes.IndexByte(o.text.Bytes(), '\n'); end >= 0 && !had {
		o.first <- string(o.text.Bytes()[:end])
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// answered is an HTTP answer read to its end.
type answered struct {
	status int
	body   string
}

// request sends a request. An error is one of the connection.
func (s *serving) request(method, path string, body io.Reader, header ...string) (answered, error) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		return answered{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answered{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answered{res.StatusCode, string(text)}, err
}

func (s *serving) get(path string) string {
	s.t.Helper()
	a, err := s.request(http.MethodGet, path, nil)
	if err != nil || a.status != http.StatusOK {
		s.t.Fatalf("GET %s: %v, status %d: %s\n%s", path, err, a.status, a.body, s.stderr)
	}
	return a.body
}

// put uploads bytes and waits for the result.
func (s *serving) put(name string, body io.Reader) upload {
	s.t.Helper()
	a, err := s.request(http.MethodPut, "/api/v1/bundles/"+name+"?wait=1", body)
	if err != nil || a.status != http.StatusCreated {
		s.t.Fatalf("uploading %s: %v, status %d: %s\n%s", name, err, a.status, a.body, s.stderr)
	}
	return decode[upload](s.t, a.body)
}

func sampleArchive(t testing.TB, name string) []byte {
	t.Helper()
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s.Archive
		}
	}
	t.Fatalf("there is no sample %s", name)
	return nil
}

func TestServeEndsInOrderOnSIGTERM(t *testing.T) {
	s := serve(t, t.TempDir(), "--no-samples")
	s.get("/healthz")
	if status := s.stop(); status != exitDone {
		t.Errorf("status %d after SIGTERM, want %d: %s", status, exitDone, s.stderr)
	}
}

func TestSecondServeOnTheSameDataNamesTheFirst(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples")
	second := execute(t, nil, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	if second.status != exitError {
		t.Errorf("status %d, want %d", second.status, exitError)
	}
	want := fmt.Sprintf("process %d ", s.cmd.Process.Pid)
	if !strings.Contains(second.stderr, want) {
		t.Errorf("the message does not name %q: %s", want, second.stderr)
	}
	if second.stdout != "" {
		t.Errorf("the second server printed %q", second.stdout)
	}
	s.get("/healthz")
}

func TestServeRefusesAReachableAddressUntilAccessIsDecided(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		t.Run(address, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			r := execute(t, nil, "serve", "--listen", address, "--data", dir)
			if r.status != exitError {
				t.Errorf("status %d, want %d", r.status, exitError)
			}
			for _, want := range []string{address, "nobody has decided", "everybody", "--access password", "--access proxy", "--access open"} {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("the refusal lacks %q: %s", want, r.stderr)
				}
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the refused server made its data directory: %v", err)
			}
		})
	}
}

func TestServeWarnsWhenItIsOpenToEverybody(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "127.0.0.1:0"} {
		t.Run(address, func(t *testing.T) {
			s := serveIn(t, nil, "--listen", address, "--access", "open", "--data", t.TempDir(), "--no-samples")
			if !strings.Contains(s.stderr.String(), "everybody who reaches "+address+" can read every case and add new ones; changing one needs its owner key") {
				t.Errorf("no warning: %q", s.stderr)
			}
			s.url = "http://127.0.0.1" + s.url[strings.LastIndexByte(s.url, ':'):]
			up := s.put("dump.txt", strings.NewReader("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n"))
			if a, err := s.request(http.MethodDelete, "/api/v1/cases/"+up.Case, nil); err != nil || a.status != http.StatusForbidden {
				t.Errorf("without its key a case is deleted: %d, %v", a.status, err)
			}
		})
	}
}

func TestServeReadsItsSettingsFromTheEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "from", "environment")
	s := serveIn(t, []string{"LEAKDIFF_LISTEN=127.0.0.1:0", "LEAKDIFF_DATA=" + dir, "LEAKDIFF_NO_SAMPLES=true"})
	if strings.HasSuffix(s.url, ":8080") || !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("LEAKDIFF_LISTEN was not heard: %s", s.url)
	}
	if _, err := os.Stat(filepath.Join(dir, "leakdiff.db")); err != nil {
		t.Errorf("LEAKDIFF_DATA was not heard: %v", err)
	}
	if page := s.get("/"); strings.Contains(page, `href="/cases/c`) {
		t.Error("LEAKDIFF_NO_SAMPLES was not heard: there are cases")
	}
}

func TestArgumentsOverruleTheEnvironment(t *testing.T) {
	s := serveIn(t, []string{"LEAKDIFF_LISTEN=0.0.0.0:0"}, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--no-samples")
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("--listen was not heard: %s", s.url)
	}
}

func TestCaseIsTheSameAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples")
	up := s.put("kubelet.tar.gz", bytes.NewReader(sampleArchive(t, "kubelet-probe-leak")))
	want := map[string]string{}
	for _, path := range []string{up.Link + ".json", up.Link + ".md", "/snapshots/" + up.Snapshots[0].ID + ".md"} {
		want[path] = s.get(path)
	}
	if status := s.stop(); status != exitDone {
		t.Fatalf("status %d: %s", status, s.stderr)
	}
	s = serve(t, dir, "--no-samples")
	for path := range want {
		if diff := cmp.Diff(want[path], s.get(path)); diff != "" {
			t.Errorf("%s changed over a restart (-before +after):\n%s", path, diff)
		}
	}
}

func TestReportAndServerSayTheSame(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "inotify-leak.tar.gz")
	if err := os.WriteFile(archive, sampleArchive(t, "inotify-leak"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := execute(t, nil, "report", "--format", "json", archive)
	if printed.status != exitDone {
		t.Fatalf("status %d: %s", printed.status, printed.stderr)
	}
	s := serve(t, t.TempDir(), "--no-samples")
	up := s.put("inotify-leak.tar.gz", bytes.NewReader(sampleArchive(t, "inotify-leak")))
	var sent bytes.Buffer // without spaces over the wire
	if err := json.Indent(&sent, []byte(s.get(up.Link+".json")), "", " "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printed.stdout, sent.String()); diff != "" {
		t.Errorf("report and server differ (-report +server):\n%s", diff)
	}
}

// BenchmarkStartToFirstPage measures from the start of the process to the end of the start
// page, over a database of several cases. The goal is under one second.
func BenchmarkStartToFirstPage(b *testing.B) {
	dir := b.TempDir()
	s := serve(b, dir)
	for i := range 6 {
		s.put(fmt.Sprintf("bundle-%d.tar.gz", i), bytes.NewReader(sampleArchive(b, "kubelet-probe-leak")))
	}
	s.stop()
	for b.Loop() {
		s := serve(b, dir)
		page := s.get("/")
		b.StopTimer()
		if n := strings.Count(page, `href="/cases/c`); n < 8 {
			b.Fatalf("the first page lists %d cases, want 8", n)
		}
		s.stop()
		b.StartTimer()
	}
}
