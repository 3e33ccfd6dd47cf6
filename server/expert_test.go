package server

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"leakdiff/server/expert"
	"leakdiff/store"
)

var frameAddress = regexp.MustCompile(`<iframe class="expert" src="(/x/[a-z2-7]{32}/)(flamegraph|top|peek)" sandbox="allow-scripts"`)

// frame opens the page around pprof and returns the address of the frame.
func (s *site) frame(path string) string {
	s.t.Helper()
	r := s.get(path)
	found := frameAddress.FindStringSubmatch(r.body)
	if r.status != 200 || found == nil {
		s.t.Fatalf("%s: status %d and no frame: %.300s", path, r.status, r.body)
	}
	return found[1]
}

func TestPprofIsFramedOverASnapshotAndAPair(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("PPROF_TMPDIR", filepath.Join(home, "pprof"))
	s := newSite(t)
	k := uploadKubelet(t, s)
	q := "?case=" + k.up.Case
	for name, c := range map[string]struct {
		path  string
		total string
	}{
		"a snapshot": {"/snapshots/" + k.t6 + "/pprof", "243"},
		"a pair":     {"/diff/" + k.t1 + ".." + k.t6 + "/pprof", "128"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			page := s.get(c.path + q)
			if got := page.header.Get("Content-Security-Policy"); !strings.Contains(got, "frame-src 'self'") || !strings.Contains(got, "script-src 'self'") || strings.Contains(got, "unsafe") {
				t.Errorf("the page's own policy is %q", got)
			}
			x := s.frame(c.path + q)
			for _, view := range []string{"flamegraph", "top", "peek"} {
				r := s.get(x + view)
				if r.status != 200 || !strings.Contains(r.header.Get("Content-Type"), "text/html") || !strings.Contains(r.body, "housekeepingTick") {
					t.Errorf("%s: status %d, %d bytes", view, r.status, len(r.body))
				}
				if got := r.header.Get("Content-Security-Policy"); got != expert.ViewPolicy {
					t.Errorf("%s: the policy is %q", view, got)
				}
			}
			if r := s.get(x + "top"); !strings.Contains(r.body, c.total) {
				t.Errorf("top does not name the total %s", c.total)
			}
			if p, err := pprof.Parse(strings.NewReader(s.get(x + "download").body)); err != nil || len(p.Sample) == 0 {
				t.Errorf("the download is no profile: %v", err)
			}
		})
	}
	x := s.frame("/snapshots/" + k.t6 + "/pprof" + q)
	secret := filepath.Join(home, "secret.go")
	if err := os.WriteFile(secret, []byte("package secret // do-not-show\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{
		"source", "source?f=housekeepingTick&source_path=" + home, "weblist?f=.", "list?f=.", "disasm?f=.", "graph", "", "dot", "svg", "flamegraph2", "flamegraphold",
		"saveconfig?config=x", "deleteconfig?config=x", "../saveconfig?config=x", "flamegraph/", "flamegraph/../source?f=.", "%73ource?f=.", "ui/source?f=.", "debug/pprof",
	} {
		r := s.get(x + view)
		if r.status == 200 || strings.Contains(r.body, "do-not-show") || strings.Contains(r.body, "package ") {
			t.Errorf("%q gives %d: %.200s", view, r.status, r.body)
		}
	}
	for _, token := range []string{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "..", "%2e%2e", ""} {
		if r := s.get("/x/" + token + "/flamegraph"); r.status == 200 {
			t.Errorf("the token %q opens something", token)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		if r := s.do(method, x+"flamegraph", strings.NewReader("")); r.status != http.StatusMethodNotAllowed {
			t.Errorf("%s gives %d, want 405", method, r.status)
		}
	}
	var found []string
	filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != secret {
			found = append(found, path)
		}
		return nil
	})
	if len(found) > 0 {
		t.Errorf("the home directory holds %v", found)
	}
}

func TestNothingIsFramedWithoutStacks(t *testing.T) {
	s := newSite(t)
	up := s.put("lsof.txt", []byte("COMMAND PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\nserver   77 root    3u  IPv4  12345      0t0  TCP 127.0.0.1:80 (LISTEN)\nserver   77 root    4u  IPv4  12346      0t0  TCP 127.0.0.1:81 (LISTEN)\n"))
	if len(up.Snapshots) != 1 {
		t.Fatalf("%d snapshots", len(up.Snapshots))
	}
	at := "/snapshots/" + up.Snapshots[0].ID
	if r := s.get(at); r.status != 200 || strings.Contains(r.body, "Expert view") || strings.Contains(r.body, ".pb.gz") {
		t.Errorf("the page gives %d and leads to stacks", r.status)
	}
	s.run(t, []scenario{{name: "the frame is refused in words", path: at + "/pprof", status: 404, want: []string{"no stacks"}}})
}

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func TestAFramedAddressEnds(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{at: time.Now()}
	s := startSite(t, st, Config{Now: c.now})
	up := s.put("dump.txt", []byte(tinyDump))
	page := "/snapshots/" + up.Snapshots[0].ID + "/pprof"
	first := s.frame(page)
	c.move(expert.MountedFor - time.Second)
	if again := s.frame(page); again != first {
		t.Errorf("the page opened again frames %s, want %s for longer", again, first)
	}
	c.move(expert.MountedFor - time.Second)
	if r := s.get(first + "flamegraph"); r.status != 200 {
		t.Fatalf("a kept address gives %d", r.status)
	}
	// Only the page around the frame extends the address, not pprof's own pages.
	c.move(2 * time.Second)
	if r := s.get(first + "flamegraph"); r.status != 404 || !strings.Contains(r.body, "reload") {
		t.Errorf("an ended address gives %d: %.200s", r.status, r.body)
	}
	if next := s.frame(page); next == first {
		t.Error("the ended address is given again")
	}
}

func TestManyReadersOfPprofDoNotDisturbEachOther(t *testing.T) {
	s := newSite(t)
	up := s.put("dump.txt", []byte(tinyDump))
	other := s.put("other.txt", []byte(tinyDump+"\ngoroutine 99 [select]:\nmain.other()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n"))
	var all sync.WaitGroup
	for i := range 8 {
		id, want := up.Snapshots[0].ID, "main.leak"
		if i%2 == 1 {
			id, want = other.Snapshots[0].ID, "main.other"
		}
		all.Go(func() {
			r := s.get("/snapshots/" + id + "/pprof")
			found := frameAddress.FindStringSubmatch(r.body)
			if found == nil {
				t.Errorf("no frame: %d", r.status)
				return
			}
			for _, view := range []string{"flamegraph", "top", "peek?f=main", "top?f=main&si=goroutine", "download"} {
				got := s.get(found[1] + view)
				if got.status != 200 || view != "download" && !strings.Contains(got.body, want) {
					t.Errorf("%s: status %d without %s", view, got.status, want)
				}
			}
		})
	}
	all.Wait()
}
