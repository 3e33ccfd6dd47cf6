// Package browsertest drives the real program with a real headless Chromium: it
// takes the built binary (LEAKDIFF_BINARY, built from this checkout when that is
// empty) and the samples, and says whether an engineer at a browser reaches what
// they came for, with scripts and without. It knows URLs, visible words and the
// roles of elements; it refuses to know packages of the program, and fails on any
// console error, policy violation or request to another host on the way.
package browsertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binaryVariable names the program under test.
const binaryVariable = "LEAKDIFF_BINARY"

// With serversVariable the programs keep their data in PostgreSQL and in buckets, each in its
// own: the address of a database server that psql may create databases on, and the address and
// the directory of a server of buckets whose buckets are directories.
const serversVariable = "LEAKDIFF_SERVERS"

// place returns what a program is started with to keep its data elsewhere, nothing without
// serversVariable.
func place(t testing.TB) []string {
	t.Helper()
	servers := strings.Fields(os.Getenv(serversVariable))
	if len(servers) == 0 {
		return nil
	}
	database, buckets, dir := servers[0], servers[1], servers[2]
	bucket, err := os.MkdirTemp(dir, "story")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(bucket)
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	plain := *address
	plain.RawQuery = "" // psql does not know all of it
	if out, err := exec.Command("psql", plain.String(), "-qc", "CREATE DATABASE "+name).CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	address.Path = "/" + name
	return []string{"--database", address.String(), "--blobs", "s3://" + name + "/stories?region=us-east-1&style=path&endpoint=http://" + buckets}
}

// kubeletSample is a real kubelet and containerd, nine snapshots each; its
// found.json says what must be found in it.
const kubeletSample = "../../samples/kubelet-probe-leak/kubelet-probe-leak.tar.gz"

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

// runAll builds the program once when none is given.
func runAll(m *testing.M) int {
	if os.Getenv(binaryVariable) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "leakdiff-browsertest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "leakdiff")
	build := exec.Command("go", "build", "-o", binary, "./cmd/leakdiff")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building leakdiff: %v\n%s", err, out)
		return 1
	}
	os.Setenv(binaryVariable, binary)
	return m.Run()
}

// startProgram starts the web app on a free port with an empty data directory
// and gives its address without a slash at the end, "http://127.0.0.1:41231".
func startProgram(t testing.TB, arguments ...string) string {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	arguments = slices.Concat([]string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data")}, place(t), arguments)
	program := exec.Command(os.Getenv(binaryVariable), arguments...)
	program.Stderr = log
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopProgram(t, program, log) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the program printed no address: %v", err)
	}
	go io.Copy(io.Discard, out)
	address := regexp.MustCompile(`^leakdiff \S+ listens on http://(?:127\.0\.0\.1|\[::\])(:\d+)/$`).FindStringSubmatch(strings.TrimSpace(line))
	if address == nil {
		t.Fatalf("the program printed %q instead of its address", line)
	}
	return "http://127.0.0.1" + address[1]
}

// stopProgram ends the program as an operator would; its log is printed when the
// test failed.
func stopProgram(t testing.TB, program *exec.Cmd, log *os.File) {
	program.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the program did not end cleanly: %v", err)
		}
	case <-ctx.Done():
		program.Process.Kill()
		t.Error("the program did not end within 10 s of SIGTERM")
	}
	if said, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
		t.Logf("the program said:\n%s", said)
	}
	log.Close()
}

// chromium is the browser's path. Without one the test fails where CI=true and
// otherwise is skipped, which nobody should overlook.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("chromium is missing and CI=true: the browser tests must run here")
	}
	const why = "chromium is missing: THE BROWSER TESTS DID NOT RUN (apt-get install chromium)"
	fmt.Fprintf(os.Stderr, "%[1]s\n%[2]s\n%[1]s\n", strings.Repeat("*", len(why)), why)
	t.Skip(why)
	return ""
}

// absolute is the path of a file of the checkout, as the browser needs it.
func absolute(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// step runs a part of a story; the parts after it need it, so the story ends
// where one fails.
func step(t *testing.T, sentence string, part func(t *testing.T)) {
	t.Helper()
	if !t.Run(sentence, part) {
		t.FailNow()
	}
}
