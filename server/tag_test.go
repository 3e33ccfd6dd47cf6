package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"leakdiff/server/response"
)

func TestAPageIsSentOnceUntilItsCaseChanges(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	a, b := up.Snapshots[0].ID, up.Snapshots[2].ID
	pages := []string{up.Link, up.Link + ".md", up.Link + ".json", "/diff/" + a + ".." + b + "?case=" + up.Case, "/snapshots/" + a, "/snapshots/" + a + ".md?case=" + up.Case}
	tags := map[string]string{}
	ask := func(path string) reply { return s.do("GET", path, nil, "If-None-Match", tags[path]) }
	for _, path := range pages {
		first := s.get(path)
		tags[path] = first.header.Get("ETag")
		if first.status != http.StatusOK || tags[path] == "" || strings.HasPrefix(tags[path], "W/") {
			t.Fatalf("%s: status %d, ETag %q", path, first.status, tags[path])
		}
		if again := s.get(path); again.body != first.body || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
			t.Errorf("%s: the second answer differs", path)
		}
		if known := ask(path); known.status != http.StatusNotModified || known.body != "" {
			t.Errorf("%s with its ETag: status %d, %d bytes", path, known.status, len(known.body))
		}
		if other := s.do("GET", path, nil, "If-None-Match", `"other"`); other.status != http.StatusOK || other.body != first.body {
			t.Errorf("%s with another ETag: status %d", path, other.status)
		}
	}
	for _, change := range []struct {
		name   string
		make   func()
		pages  []string
		expect string
	}{
		{"a write elsewhere", func() { s.put("t0.txt", []byte(pileOf(20))) }, nil, ""},
		{"the same family elsewhere", func() { s.untimed(t, 1, 2) }, []string{up.Link, up.Link + ".md"}, "other case"},
		{"another title", func() {
			s.do("POST", up.Link+"/fields", strings.NewReader("title=Ticket+4711"), "Content-Type", formType)
		}, []string{up.Link}, "Ticket 4711"},
		{"an edit", func() { s.edit(up.Case, "process", "series:"+a, "renamed-program") }, pages, "renamed-program"},
	} {
		t.Run(change.name, func(t *testing.T) {
			change.make()
			for _, path := range pages {
				got := ask(path)
				changed := false
				for _, p := range change.pages {
					changed = changed || p == path
				}
				if changed && (got.status != http.StatusOK || !strings.Contains(got.body, change.expect)) {
					t.Errorf("%s: status %d, want the page with %q", path, got.status, change.expect)
				}
				if len(change.pages) == 0 && got.status != http.StatusNotModified {
					t.Errorf("%s: status %d, though nothing of it changed", path, got.status)
				}
				if got.status == http.StatusOK {
					tags[path] = got.header.Get("ETag")
				}
			}
		})
	}
	if r := s.do("POST", up.Link+"/delete", strings.NewReader(""), "Content-Type", formType); r.status >= 400 {
		t.Fatalf("deleting gave %d: %s", r.status, r.body)
	}
	for _, path := range pages {
		if got := ask(path); got.status != http.StatusNotFound {
			t.Errorf("%s of a deleted case: status %d", path, got.status)
		}
	}
}

func TestAnErrorIsNeverKept(t *testing.T) {
	s := newSite(t)
	for range 2 {
		if r := s.get("/diff/sx..sy"); r.status != http.StatusNotFound || r.header.Get("ETag") != "" {
			t.Errorf("status %d, ETag %q", r.status, r.header.Get("ETag"))
		}
	}
}

// TestATagOutlivesTheProcess sends the ETags of one server to a second one on the same
// data.
func TestATagOutlivesTheProcess(t *testing.T) {
	if got, want := response.StrongTag(nil), `"ef46db3751d8e999-0"`; got != want {
		t.Errorf("no bytes are tagged %s, XXH64 of them is %s", got, want)
	}
	s := newSite(t)
	up := s.untimed(t, 3, 13)
	cfg := s.s.cfg
	cfg.TempDir = t.TempDir()
	again := httptest.NewServer(New(cfg).Handler())
	defer again.Close()
	for _, path := range []string{up.Link, up.Link + ".json", "/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[1].ID + "?case=" + up.Case, "/snapshots/" + up.Snapshots[0].ID} {
		tag := s.do("GET", path, nil, "Host", "127.0.0.1").header.Get("ETag")
		other := &site{t: t, url: again.URL}
		if r := other.do("GET", path, nil, "Host", "127.0.0.1", "If-None-Match", tag); r.status != http.StatusNotModified {
			t.Errorf("%s: status %d after a restart, tag %s became %s", path, r.status, tag, r.header.Get("ETag"))
		}
	}
}
