package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// watching is a `leakdiff watch` in a process of its own.
type watching struct {
	t   testing.TB
	cmd *exec.Cmd
	// lines are those of both outputs, those of standard output after "stdout: ".
	lines chan string
	done  chan struct{}
}

func watch(t testing.TB, args ...string) *watching {
	t.Helper()
	w := &watching{t: t, cmd: exec.Command(binary(t), append([]string{"watch", "--every", "20ms"}, args...)...), lines: make(chan string, 100_000), done: make(chan struct{})}
	w.cmd.Env = environment()
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{}, 2)
	pass := func(from io.Reader, before string) {
		for in := bufio.NewScanner(from); in.Scan(); {
			w.lines <- before + in.Text()
		}
		read <- struct{}{}
	}
	go pass(stdout, "stdout: ")
	go pass(stderr, "")
	go func() {
		<-read
		<-read
		w.cmd.Wait()
		close(w.lines)
		close(w.done)
	}()
	t.Cleanup(w.kill)
	return w
}

func (w *watching) kill() {
	w.cmd.Process.Kill()
	<-w.done
}

// until returns the next line with all words. each is called for every capture before it.
func (w *watching) until(each func(), words ...string) string {
	w.t.Helper()
	limit := time.After(startLimit)
	var all []string
	for {
		select {
		case line, open := <-w.lines:
			if !open {
				w.t.Fatalf("it ended without %q: %q", words, all)
			}
			all = append(all, line)
			if containsAll(line, words) {
				return line
			}
			if each != nil && strings.Contains(line, " goroutines") {
				each()
			}
		case <-limit:
			w.t.Fatalf("no %q within %s: %q", words, startLimit, all)
		}
	}
}

func containsAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

// rest ends the watch in order and returns what it printed after the last line that was read.
func (w *watching) rest() string {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	select {
	case <-w.done:
	case <-time.After(stopLimit):
		w.t.Fatalf("watch did not stop within %s of SIGTERM", stopLimit)
	}
	if status := w.cmd.ProcessState.ExitCode(); status != exitDone {
		w.t.Errorf("status %d after SIGTERM", status)
	}
	var all []string
	for line := range w.lines {
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// casesOf are the ids of the cases of a server.
func casesOf(s *serving) []string {
	s.t.Helper()
	var out []string
	var list struct {
		Cases []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(s.get("/api/v1/cases")), &list); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range list.Cases {
		out = append(out, c.ID)
	}
	return out
}

func TestWatchTellsOnceWhenALeakBegins(t *testing.T) {
	s := serve(t, t.TempDir(), "--no-samples")
	l := startLeaker(t)
	dir := t.TempDir()
	args := []string{"--process", l.pid() + "=" + l.address, "--server", s.url, "--dir", dir, "--again", "1ms"}
	w := watch(t, args...)
	for range 3 { // it is healthy
		w.until(nil, " goroutines, ")
	}
	if got := casesOf(s); len(got) != 0 {
		t.Fatalf("cases %q of a healthy process", got)
	}
	line := w.until(func() { l.leak(40) }, "stdout: ", "leaking: ", s.url+"/cases/")
	if !strings.Contains(line, "waitForAnswer") {
		t.Errorf("it says %q", line)
	}
	page := s.get(strings.TrimPrefix(line[strings.Index(line, s.url):], s.url))
	if !strings.Contains(page, "waitForAnswer") {
		t.Error("the case does not show the leak")
	}
	w.until(func() { l.leak(40) }, "added to "+s.url+"/cases/")
	w.kill()

	again := watch(t, args...)
	for range 5 {
		again.until(func() { l.leak(40) }, " goroutines, ")
		l.leak(40)
	}
	if rest := again.rest(); strings.Contains(rest, "stdout: ") {
		t.Errorf("it tells again: %q", rest)
	}
	if got := casesOf(s); len(got) != 1 {
		t.Errorf("cases %q, want one", got)
	}
}

func TestWatchTellsAgainAfterALeakWasGone(t *testing.T) {
	s := serve(t, t.TempDir(), "--no-samples")
	l := startLeaker(t)
	w := watch(t, "--process", l.pid()+"="+l.address, "--server", s.url, "--dir", t.TempDir(), "--keep", "5", "--until", "suspicious") // five captures in a moment are too few for more
	w.until(func() { l.leak(40) }, "stdout: ", "suspicious: ")
	l.release()
	w.until(nil, ": no longer suspicious") // and not that too few are kept to say so
	line := w.until(func() { l.leak(40) }, "stdout: ", "suspicious: ")
	if got := casesOf(s); len(got) != 1 || !strings.HasSuffix(line, s.url+"/cases/"+got[0]) {
		t.Errorf("cases %q, want one, of %q", got, line)
	}
	l.kill()
	w.until(nil, "the process has ended: it is watched no more")
	<-w.done
	if status := w.cmd.ProcessState.ExitCode(); status != exitDone {
		t.Errorf("status %d", status)
	}
}

func TestWatchDoesNotCallALeakOverOfWhichItKeepsTooFewCaptures(t *testing.T) {
	l := startLeaker(t)
	dir := t.TempDir()
	args := []string{"--process", l.pid() + "=" + l.address, "--proc", l.procWithoutSockets(), "--dir", dir}
	w := watch(t, args...)
	w.until(func() { l.leak(40) }, "stdout: ", "waitForAnswer")
	w.until(nil, " goroutines, ") // what was told is noted
	w.kill()
	captures, _ := filepath.Glob(filepath.Join(dir, l.pid(), "*.tar.gz"))
	info, err := os.Stat(captures[len(captures)-1])
	if err != nil {
		t.Fatal(err)
	}
	size := strconv.FormatInt(info.Size()*5/2, 10) // two of them, or three

	cut := watch(t, append(args, "--max-size", size)...)
	var warnings, open int
	for range 3 * clearReports {
		line := cut.until(nil, " ")
		for !strings.Contains(line, " goroutines") {
			warnings += strings.Count(line, "--max-size "+size+" holds fewer than the 4 that \"leaking\" needs")
			open += strings.Count(line, "too few to say that it is no longer leaking, which was told from ")
			if strings.Contains(line, ": no longer leaking") {
				t.Errorf("it says %q", line)
			}
			line = cut.until(nil, " ")
		}
	}
	if warnings != 1 || open != 1 {
		t.Errorf("%d warnings and %d lines that it stands open, want one of each", warnings, open)
	}
	cut.rest()

	// With room it says so after as many captures again.
	whole := watch(t, args...)
	whole.until(nil, ": no longer leaking")
}

func TestAVerdictNeedsAsManyCapturesAsWatchKeepsAtLeast(t *testing.T) {
	for _, until := range []string{"leaking", "suspicious", "grew"} {
		least := leastCaptures(until)
		for n := least - 1; n <= least; n++ {
			dir := t.TempDir()
			for i := range n {
				// Forty more stay each time, and the program goes on to start others.
				dump := fmt.Sprintf("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:7 +0x20\n\ngoroutine %d [select]:\nmain.tick()\n\t/src/tick.go:9 +0x20\n", 100_000+i)
				for id := range 20 + 40*i {
					dump += fmt.Sprintf("\ngoroutine %d [chan receive]:\nmain.leak()\n\t/src/leak.go:9 +0x20\n", 100+id)
				}
				put(t, filepath.Join(dir, fmt.Sprintf("t%d.txt", i)), dump)
			}
			want := exitDone
			if n == least {
				want = exitVerdict
			}
			if got := execute(t, nil, "report", "--fail-on", until, dir); got.status != want {
				t.Errorf("%d dumps, %s: status %d, want %d: %s%s", n, until, got.status, want, got.stdout, got.stderr)
			}
		}
	}
}

func TestAVerdictEndsOnlyOverAsManyCapturesAsItHad(t *testing.T) {
	for _, c := range []struct {
		until              string
		captures, toldFrom int
		want               bool
	}{
		{"leaking", 3, 3, false},
		{"leaking", 4, 4, true},
		{"leaking", 5, 4, true},
		{"leaking", 5, 0, true}, // told by a watch that noted no number
		{"leaking", 35, 48, false},
		{"leaking", 36, 48, true},
		{"suspicious", 1, 1, false},
		{"suspicious", 2, 2, true},
		{"grew", 1, 0, false},
		{"grew", 2, 2, true},
		{"grew", 2, 3, false},
	} {
		if got := mayEnd(c.until, c.captures, c.toldFrom); got != c.want {
			t.Errorf("%s told from %d may end over %d: %v", c.until, c.toldFrom, c.captures, got)
		}
	}
}

func TestWatchMakesANewCaseWhereItsOwnIsGone(t *testing.T) {
	s := serve(t, t.TempDir(), "--no-samples")
	l := startLeaker(t)
	w := watch(t, "--process", l.pid()+"="+l.address, "--server", s.url, "--dir", t.TempDir(), "--again", "1ms")
	w.until(func() { l.leak(40) }, "stdout: ", "leaking: ")
	first := casesOf(s)
	if a, err := s.request("DELETE", "/api/v1/cases/"+first[0], nil); err != nil || a.status != 204 {
		t.Fatalf("%+v, %v", a, err)
	}
	w.until(func() { l.leak(40) }, "not sent: ")
	line := w.until(func() { l.leak(40) }, "stdout: ", ": leaking: The captures are now in ")
	w.until(func() { l.leak(40) }, "added to ")
	if got := casesOf(s); len(got) != 1 || got[0] == first[0] || !strings.HasSuffix(line, got[0]) {
		t.Errorf("cases %q after %q, and it says %q", got, first, line)
	}
}

// caseOf makes a case on a server. It returns its id and its owner key.
func caseOf(t *testing.T, s *serving) (id, key string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "goroutine.txt")
	put(t, file, "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:7 +0x20\n")
	got := execute(t, nil, "push", "--server", s.url, file)
	_, key, _ = strings.Cut(got.stderr, "shown only now: ")
	key, _, _ = strings.Cut(key, "\n")
	_, id, _ = strings.Cut(strings.TrimSpace(got.stdout), "/cases/")
	if id == "" || key == "" {
		t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	return id, key
}

func TestWatchRefusesACaseOrAKeyThatTheServerRefuses(t *testing.T) {
	s := serve(t, t.TempDir(), "--no-samples")
	id, _ := caseOf(t, s)
	for name, c := range map[string]struct{ id, key, want string }{
		"a case that does not exist": {"cnone", "", "there is no such case"},
		"a wrong key":                {id, "hunter2", "changing this case needs its owner key (the key is wrong)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "w")
			got := execute(t, nil, "watch", "--url", "127.0.0.1:1", "--dir", dir, "--server", s.url, "--case", c.id, "--key", c.key)
			if got.status != exitError || got.stdout != "" || !strings.Contains(got.stderr, "the captures could not be sent: "+c.want) || strings.Contains(got.stderr, "hunter2") {
				t.Errorf("status %d: %s%s", got.status, got.stdout, got.stderr)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("it leaves a directory")
			}
		})
	}
	if got := casesOf(s); len(got) != 1 {
		t.Errorf("asking made cases: %q", got)
	}
}

func TestWatchTellsOnceWhatTheServerRefusesForGood(t *testing.T) {
	s := serve(t, t.TempDir(), "--no-samples")
	id, key := caseOf(t, s)
	l := startLeaker(t)
	dir := t.TempDir()
	args := []string{"--process", l.pid() + "=" + l.address, "--server", s.url, "--case", id, "--key", key, "--dir", dir, "--keep", "8"}
	w := watch(t, args...)
	w.until(nil, " goroutines, ")
	if a, err := s.request("DELETE", "/api/v1/cases/"+id, nil); err != nil || a.status != 204 {
		t.Fatalf("%+v, %v", a, err)
	}
	line := w.until(func() { l.leak(40) }, "stdout: ", ": leaking: ")
	if !strings.Contains(line, "waitForAnswer") || !strings.Contains(line, "It is in no case, as the server refused the captures: "+s.url) || !strings.Contains(line, "there is no such case") {
		t.Errorf("it says %q", line)
	}
	for range 2 { // it tries again
		w.until(nil, "not sent: ", "there is no such case")
	}
	for range 2 * 8 { // captures are dropped, also those that were to be sent
		w.until(nil, " goroutines, ")
	}
	if rest := w.rest(); strings.Contains(rest, "stdout: ") {
		t.Errorf("it tells again: %q", rest)
	}
	if captures, _ := filepath.Glob(filepath.Join(dir, l.pid(), "*.tar.gz")); len(captures) > 8 {
		t.Errorf("%d captures are kept, want 8", len(captures))
	}
}

func TestWatchCapturesWhileAPushHangs(t *testing.T) {
	begun, end := make(chan struct{}, 1), make(chan struct{})
	release := sync.OnceFunc(func() { close(end) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); len(body) == 0 { // it asks whether it may send
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"title": "the upload is empty", "code": "empty"}`)
			return
		}
		begun <- struct{}{}
		<-end
		io.WriteString(w, `{"id": "b1", "link": "/cases/c1", "case": "c1", "status": "done"}`)
	}))
	defer server.Close()
	defer release()
	l := startLeaker(t)
	w := watch(t, "--process", l.pid()+"="+l.address, "--server", server.URL, "--dir", t.TempDir(), "--again", "24h", "--keep", "8")
	for hangs := false; !hangs; {
		w.until(nil, " goroutines, ")
		l.leak(40)
		select {
		case <-begun:
			hangs = true
		default:
		}
	}
	for range 20 { // more than wait to be read
		w.until(nil, " goroutines, ")
	}
	release()
	w.until(nil, "stdout: ", ": leaking: ", server.URL+"/cases/c1")
	if rest := w.rest(); strings.Contains(rest, "stdout: ") {
		t.Errorf("it tells again: %q", rest)
	}
}

func TestWatchSendsWhatItHasOfAProcessThatEnded(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data, "--no-samples")
	address := strings.TrimPrefix(s.url, "http://")
	s.kill()
	l := startLeaker(t)
	w := watch(t, "--process", l.pid()+"="+l.address, "--server", "http://"+address, "--dir", t.TempDir())
	w.until(func() { l.leak(40) }, "not sent: ")
	l.kill()
	w.until(nil, "the process has ended: it is watched no more")
	s = serveIn(t, nil, "--listen", address, "--data", data, "--no-samples")
	w.until(nil, "stdout: ", "leaking: ", s.url+"/cases/")
	<-w.done
}

func TestWatchSendsWhenTheServerIsBack(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	s := serve(t, data, "--no-samples")
	address := strings.TrimPrefix(s.url, "http://")
	s.kill()
	l := startLeaker(t)
	args := []string{"--process", l.pid() + "=" + l.address, "--server", "http://" + address, "--dir", dir, "--again", "24h"}
	w := watch(t, args...)
	w.until(func() { l.leak(40) }, "not sent: ", "the server does not answer", "tried again in ")
	w.kill()
	state := filepath.Join(dir, l.pid(), stateFile)
	pending, err := os.ReadFile(state)
	if err != nil || !strings.Contains(string(pending), `"pending"`) {
		t.Fatalf("%v: %s", err, pending)
	}

	s = serveIn(t, nil, "--listen", address, "--data", data, "--no-samples")
	back := watch(t, args...)
	back.until(nil, "stdout: ", "leaking: ", s.url+"/cases/")
	back.kill()
	// As if it had been killed before it noted the answer.
	if err := os.WriteFile(state, pending, 0o600); err != nil {
		t.Fatal(err)
	}
	third := watch(t, args...)
	third.until(nil, "stdout: ", "leaking: ", s.url+"/cases/")
	third.rest()
	if got := casesOf(s); len(got) != 1 {
		t.Errorf("cases %q, want one", got)
	}
	if text, _ := os.ReadFile(state); !strings.Contains(string(text), `"owner_key"`) || strings.Contains(string(text), `"pending"`) {
		t.Errorf("the state is %s", text)
	}
}

func TestWatchIsNotDelayedByATargetThatHangs(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	l := startLeaker(t)
	dir := t.TempDir()
	w := watch(t, "--url", silent.Addr().String(), "--url", l.address, "--process", "no-such-program", "--dir", dir, "--step-timeout", "1h", "--keep", "6", "--until", "suspicious")
	w.until(func() { l.leak(40) }, "stdout: ", "waitForAnswer")
	for range 10 {
		w.until(nil, " goroutines")
	}
	if second := execute(t, nil, "watch", "--url", l.address, "--dir", dir); second.status != exitError || !strings.Contains(second.stderr, "another process uses this directory") {
		t.Errorf("a second watch: status %d: %s", second.status, second.stderr)
	}
	if rest := w.rest(); strings.Contains(rest, "has ended") {
		t.Errorf("it says %q", rest)
	}
	captures, _ := filepath.Glob(filepath.Join(dir, "127*", "*.tar.gz"))
	if len(captures) != 6 {
		t.Errorf("%d captures are kept, want 6: %q", len(captures), captures)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*.partial")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestWatchRefusesWhatItCannotWatch(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":                     {nil, "no process and no address was named"},
		"a pid that does not run":     {[]string{"--process", "999999999"}, "no process has the pid 999999999"},
		"the same target twice":       {[]string{"--process", "a", "--process", "a=127.0.0.1:1"}, "a is named twice"},
		"an address without a name":   {[]string{"--process", "=127.0.0.1:1"}, "names no process"},
		"an address of ftp":           {[]string{"--url", "ftp://me:hunter2@127.0.0.1:1"}, `"ftp://127.0.0.1:1" is no address of an endpoint`},
		"a process' address of ftp":   {[]string{"--process", "a=ftp://127.0.0.1:1"}, `"ftp://127.0.0.1:1" is no address of an endpoint`},
		"a server that is no address": {[]string{"--process", "a", "--server", "leaks"}, "this is no address of a server"},
		"a ring of three":             {[]string{"--process", "a", "--keep", "3"}, "--keep 3 is fewer than the 4 captures that \"leaking\" needs"},
		"a ring of one":               {[]string{"--process", "a", "--keep", "1", "--until", "grew"}, "--keep 1 is fewer than the 2 captures"},
		"a ring of one byte":          {[]string{"--process", "a", "--max-size", "1"}, "give it at least 12 KiB"},
		"a ring shared by many":       {[]string{"--process", "a", "--process", "b", "--max-size", "23KiB"}, "--max-size 23KiB leaves 11.5 KiB to each target"},
	} {
		t.Run(name, func(t *testing.T) {
			got := execute(t, nil, append([]string{"watch", "--dir", filepath.Join(t.TempDir(), "w")}, c.args...)...)
			if got.status != exitError || !strings.Contains(got.stderr, c.want) {
				t.Errorf("status %d: %s", got.status, got.stderr)
			}
		})
	}
}
