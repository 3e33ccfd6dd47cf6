package server

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// Bodies of requests are read on behalf of people, and every answer is one that they can act
// on: no body makes a handler fail, and the case can be shown afterwards.
func FuzzBodies(f *testing.F) {
	dir := f.TempDir()
	st, err := store.Open(f.Context(), store.Config{Dir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	s := startSite(f, st, Config{Log: slog.New(slog.DiscardHandler), Knowledge: os.DirFS(dir), KnowledgeDir: dir})
	grown := s.growing(3)
	api, page, family := "/api/v1/cases/"+grown.id, "/cases/"+grown.id, "/families/"+url.PathEscape(grown.family)
	process := decode[report.Report](f, s.get(api).body).Series[0].Process
	// Each process of the fuzzer has a server of its own, whose ids differ.
	ids := strings.NewReplacer("CASE", grown.id, "FIRST", grown.first, "FAMILY", grown.family, "PROCESS", process)
	routes := []struct{ name, seed string }{
		{"POST " + api + "/edits", `{"kind": "host", "target": "series:FIRST", "value": "h"}`},
		{"PATCH " + api, `{"title": "x", "ticket": "T-1"}`},
		{"PUT " + api + "/triage", `{"process": "PROCESS", "fingerprint": "FAMILY", "state": "benign", "note": "n"}`},
		{"POST /api/v1/permalinks", `{"case": "CASE", "view": "/families/FAMILY?case=CASE", "keep": "7d"}`},
		{"POST " + page + "/identity", "kind=host&target=series:FIRST&value=h"},
		{"POST " + page + "/identity/undo", "number=1"},
		{"POST " + page + "/fields", "field=title&value=x"},
		{"POST " + page + "/triage", "process=PROCESS&fingerprint=FAMILY&state=benign&note=n&seen=0"},
		{"POST " + page + "/baseline", "snapshot=FIRST"},
		{"POST /share", "view=/cases/CASE&keep=90d&redact=1"},
		{"POST " + family + "/remember?case=" + grown.id, "title=x&status=leak&fixed=1.2"},
	}
	for i, r := range routes {
		f.Add(uint8(i), r.seed)
		f.Add(uint8(i), "%zz&;{[\x00\xff")
	}
	f.Fuzz(func(t *testing.T, route uint8, body string) {
		method, path, _ := strings.Cut(routes[int(route)%len(routes)].name, " ")
		body = ids.Replace(body)
		called := strings.HasPrefix(path, "/api/")
		ask := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
			r.RemoteAddr = "127.0.0.1:1"
			if !called {
				r.Header.Set("Content-Type", formType)
			}
			w := httptest.NewRecorder()
			s.s.Handler().ServeHTTP(w, r)
			return w
		}
		w := ask(method, path, body)
		if w.Code >= 500 {
			t.Fatalf("%s %s with %q: %d: %.500s", method, path, body, w.Code, w.Body)
		}
		if called && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s with %q: no JSON: %.500s", method, path, body, w.Body)
		}
		if after := ask("GET", page+".json", ""); w.Code < 400 && after.Code != 200 {
			t.Errorf("after %s %s with %q the case is answered with %d: %.500s", method, path, body, after.Code, after.Body)
		}
	})
}
