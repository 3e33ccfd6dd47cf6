package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/internal/test/cluster"
	"leakdiff/samples"
)

func TestAServerSaysTheSameOnPostgreSQL(t *testing.T) {
	database := cluster.Start(t).Database(t)
	dir := t.TempDir()
	start := func() *serving { return serve(t, dir, "--no-samples", "--database", database) }
	file, other := serve(t, t.TempDir(), "--no-samples"), start()
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	var last upload
	for _, sample := range all {
		want, got := file.put("sample.tar.gz", bytes.NewReader(sample.Archive)), other.put("sample.tar.gz", bytes.NewReader(sample.Archive))
		said[got.Link+".json"] = file.get(want.Link + ".json")
		last = got
	}
	ask := func(s *serving) {
		t.Helper()
		for path, want := range said {
			if diff := cmp.Diff(want, s.get(path)); diff != "" {
				t.Errorf("%s differs (-file +PostgreSQL)\n%s", path, diff)
			}
		}
	}
	ask(other)
	for _, path := range []string{"/api/v1/fleet", "/api/v1/fleet?sort=hosts", "/api/v1/fleet?q=prober"} {
		if diff := cmp.Diff(strings.ReplaceAll(file.get(path), file.url, other.url), other.get(path)); diff != "" {
			t.Errorf("%s differs (-file +PostgreSQL)\n%s", path, diff)
		}
	}
	for _, path := range []string{"/", "/?order=name", "/search?q=prober", "/search?q=inotify+watch", "/search?q=%D0%96"} {
		if got, want := links(other.get(path)), links(file.get(path)); got != want {
			t.Errorf("%s has %d cases, on a file %d", path, got, want)
		}
	}
	if made := execute(t, nil, "token", "create", "--database", database, "--name", "ci"); made.status != exitDone {
		t.Errorf("a token beside the server: %+v", made)
	}
	other.kill()
	other = start()
	ask(other)
	a, err := other.request(http.MethodDelete, "/api/v1/cases/"+last.Case, nil, "Authorization", "Bearer "+last.OwnerKey)
	if err != nil || a.status/100 != 2 {
		t.Fatalf("deleting: %v, %+v", err, a)
	}
	if a, err := other.request(http.MethodGet, last.Link, nil); err != nil || a.status != http.StatusNotFound {
		t.Errorf("a deleted case has status %d, %v", a.status, err)
	}
	if status := other.stop(); status != exitDone {
		t.Errorf("status %d after SIGTERM: %s", status, other.stderr)
	}
	if said := other.stderr.String(); strings.Contains(said, "level=ERROR") || strings.Contains(said, "level=WARN") {
		t.Errorf("the log has\n%s", said)
	}
}

// links counts the links to cases of a page.
func links(page string) int { return strings.Count(page, `href="/cases/c`) }
