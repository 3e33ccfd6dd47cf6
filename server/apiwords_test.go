package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestABodyThatIsNotExpectedIsToldInWordsOfJSON(t *testing.T) {
	s := newSite(t)
	up := s.put("dump.txt", []byte(tinyDump))
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/v1/permalinks", `[]`, "it is an array, and an object is expected"},
		{"POST", "/api/v1/permalinks", `"` + up.Case + `"`, "it is a string, and an object is expected"},
		{"POST", "/api/v1/permalinks", `7`, "it is a number, and an object is expected"},
		{"POST", "/api/v1/permalinks", `{"case": 7}`, "case is a number, and a string is expected"},
		{"POST", "/api/v1/permalinks", `{"redact": "yes"}`, "redact is a string, and true or false is expected"},
		{"POST", "/api/v1/permalinks", `{"colour": 1}`, `there is no member \"colour\"`},
		{"POST", "/api/v1/permalinks", `{"case": `, "it breaks off before its end"},
		{"POST", "/api/v1/permalinks", `{case}`, "byte 2 is not what JSON may have there"},
		{"POST", "/api/v1/permalinks", ``, "it is empty"},
		{"PATCH", "/api/v1/cases/" + up.Case, `{"ticket": ["INC-1"]}`, "a value is an array, and a string is expected"},
		{"PUT", "/api/v1/cases/" + up.Case + "/triage", `{"State": {}}`, "is an object, and a string is expected"},
		{"POST", "/api/v1/cases/" + up.Case + "/edits", `true`, "it is true or false, and an object is expected"},
	} {
		r := s.do(c.method, c.path, strings.NewReader(c.body), "Content-Type", "application/json")
		if r.status != 400 || !strings.Contains(r.body, c.want) || !strings.Contains(r.header.Get("Content-Type"), "problem+json") {
			t.Errorf("%s %s gives %d: %s, want %q", c.path, c.body, r.status, r.body, c.want)
		}
		for _, inside := range []string{"unmarshal", "Go value", "server.", "json:", "struct"} {
			if strings.Contains(r.body, inside) {
				t.Errorf("%s %s tells %q: %s", c.path, c.body, inside, r.body)
			}
		}
	}
	for _, c := range []struct{ path, kind, body string }{
		{"/share", formType, "case=%zz"}, {"/share", "multipart/form-data", "x"}, {"/cases/" + up.Case + "/fields", formType, "title=%"}, {"/api/v1/bundles", "multipart/form-data", "x"},
	} {
		r := s.do("POST", c.path, strings.NewReader(c.body), "Content-Type", c.kind)
		for _, inside := range []string{"invalid URL", "mime:", "request Content-Type", "multipart: "} {
			if r.status != 400 || strings.Contains(r.body, inside) {
				t.Errorf("%s with %s gives %d: %s", c.path, c.body, r.status, r.body)
			}
		}
	}
}

func TestAWordThatIsNoVerdictIsRefused(t *testing.T) {
	s := newSite(t)
	s.waitForSummary(s.put("dump.txt", []byte(tinyDump)).Case)
	const words = "leaking, saturated, suspicious, scaling, stopped, grew, new, shrinking, gone, stable, too_few_points"
	s.run(t, []scenario{
		{name: "by the API", path: "/api/v1/cases?verdict=zz", status: 400, want: []string{`"code": "bad_request"`, words}},
		{name: "under the box, with the cases", path: "/?verdict=zz", status: 400, want: []string{"no verdict “zz”", words, ">dump<"}},
		{name: "and no other word", path: "/api/v1/cases?verdict=too_few_points", status: 200, want: []string{`"title": "dump"`}},
		{name: "not even a rare one", path: "/api/v1/cases?verdict=gone", status: 200, want: []string{`"total": 0`}},
		{name: "which the page offers", path: "/?verdict=gone", status: 200, want: []string{`value="gone" selected`}},
	})
}

func TestTheNextPageLiesBelowThePathOfAProxy(t *testing.T) {
	s := startSite(t, openStore(t), Config{BaseURL: "https://h.example/leak/", Hosts: []string{"h.example"}})
	for _, name := range []string{"a-dump.txt", "b-dump.txt", "c-dump.txt"} {
		s.put(name, []byte(tinyDump))
	}
	for _, path := range []string{"/api/v1/cases?limit=1", "/api/v1/search?q=dump&limit=1"} {
		r := s.get("/leak" + path)
		next := decode[struct{ Next string }](t, r.body).Next
		if !strings.HasPrefix(next, "/leak/api/v1/") || r.header.Get("Link") != "<"+next+`>; rel="next"` {
			t.Errorf("next is %q, Link is %q", next, r.header.Get("Link"))
		}
		if r := s.get(next); r.status != http.StatusOK {
			t.Errorf("%s gives %d", next, r.status)
		}
	}
}
