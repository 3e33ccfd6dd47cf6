package server

import (
	"regexp"
	"strings"
	"testing"

	"leakdiff/store"
)

func TestEveryAddressLiesUnderThePathOfAProxy(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{BaseURL: "http://127.0.0.1/tools/leakdiff/"})
	up := s.put("t0.txt", []byte(tinyDump))
	address := regexp.MustCompile(` (?:href|src|action|formaction|data-(?:copy-url|poll|events|to|api))="(/[^"]*)"`)
	for _, path := range []string{"/", up.Link, "/bundles/" + up.ID, "/snapshots/" + up.Snapshots[0].ID, "/help", "/search?q=main", "/no-such-page"} {
		for _, asked := range []string{path, "/tools/leakdiff" + path} {
			page := s.get(asked)
			found := address.FindAllStringSubmatch(page.body, -1)
			if len(found) == 0 {
				t.Errorf("%s has no address", asked)
			}
			for _, m := range found {
				if !strings.HasPrefix(m[1], "/tools/leakdiff/") {
					t.Errorf("%s leads to %s", asked, m[1])
				}
			}
		}
	}
	if r := s.do("POST", "/tools/leakdiff"+up.Link+"/fields", strings.NewReader("title=x"), "Content-Type", formType); r.status != 303 || !strings.HasPrefix(r.header.Get("Location"), "/tools/leakdiff/cases/") {
		t.Errorf("a form leads with %d to %q", r.status, r.header.Get("Location"))
	}
	s.put("t1.txt", []byte(tinyDump))
	for _, asked := range []string{"/api/v1/cases?limit=1", "/tools/leakdiff/api/v1/cases?limit=1"} {
		if got := s.get(asked).header.Get("Link"); got != `</tools/leakdiff/api/v1/cases?limit=1&page=2>; rel="next"` {
			t.Errorf("%s has the Link %s", asked, got)
		}
	}
	if r := s.do("PUT", "/api/v1/bundles/t2.txt?wait=1", strings.NewReader(tinyDump)); !strings.HasPrefix(r.header.Get("Location"), "/tools/leakdiff/api/v1/bundles/") {
		t.Errorf("an upload is at %q", r.header.Get("Location"))
	}
	style := between(s.get("/").body, `<link rel="stylesheet" href="`, `"`)
	if r := s.get(style); r.status != 200 || !strings.Contains(r.header.Get("Content-Type"), "text/css") {
		t.Errorf("%s gives %d", style, r.status)
	}
	if r := s.get("/tools/leakdiffer/"); r.status != 404 {
		t.Errorf("a longer name is taken for the path: %d", r.status)
	}
	if !strings.Contains(s.get("/").body, "curl -H Accept:text/plain -T bundle.tgz &#39;http://127.0.0.1/tools/leakdiff/api/v1/bundles/?wait=1&#39;") {
		t.Error("the lines for a shell do not name the path")
	}
}
