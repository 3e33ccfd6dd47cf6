package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/say/report"
	"leakdiff/server/api"
	"leakdiff/server/casepage"
	"leakdiff/server/intake"
	"leakdiff/server/share"
	"leakdiff/store"
)

// contract is the served description, with the requests made so far.
type contract struct {
	*site
	router routers.Router
	doc    *openapi3.T
	seen   map[string]bool
}

func newContract(t *testing.T) *contract {
	t.Helper()
	s := newSite(t)
	served := s.get("/api/v1/openapi.json")
	doc, err := openapi3.NewLoader().LoadFromData([]byte(served.body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("the document is OpenAPI %s", doc.OpenAPI)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &contract{s, router, doc, map[string]bool{}}
}

// ask sends a request that must match the description and checks that the answer does.
func (c *contract) ask(t *testing.T, method, path, body, kind string, status int) string {
	t.Helper()
	request := func() *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		return r
	}
	r := request()
	r.URL.Scheme, r.URL.Host = "", ""
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		t.Fatalf("%s %s is not described: %v", method, path, err)
	}
	c.seen[method+" "+route.Path] = true
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if status < 400 && kind == jsonKind {
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			t.Errorf("%s %s: the request: %v", method, path, err)
		}
	}
	res, err := http.DefaultClient.Do(request())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, status, text)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(text)), Options: &openapi3filter.Options{IncludeResponseStatus: true}}
	if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
		t.Errorf("%s %s: the answer: %v", method, path, err)
	}
	if res.Header.Get("X-RateLimit-Remaining") == "" {
		t.Errorf("%s %s: no X-RateLimit-Remaining", method, path)
	}
	return string(text)
}

const jsonKind = "application/json"

func TestTheAPIIsWhatItsDescriptionSays(t *testing.T) {
	c := newContract(t)
	up := c.untimed(t, 3, 13, 23, 33)
	second := decode[intake.Uploaded](t, c.ask(t, "PUT", "/api/v1/bundles/tiny.txt?wait=1", tinyDump, "application/octet-stream", 201))
	c.ask(t, "PUT", "/api/v1/bundles/"+second.ID+"/kinds", `{"path":"tiny.txt","kind":"ignore"}`, jsonKind, 202)
	third := decode[intake.Uploaded](t, c.ask(t, "PUT", "/api/v1/bundles?wait=1", tinyDump+"\n", "application/octet-stream", 201))
	c.ask(t, "PUT", "/api/v1/bundles/tiny.txt?wait=1&case="+second.Case, tinyDump, "application/octet-stream", 200)
	body, kind := form(t, map[string]string{"t0.txt": dumpOf(2), "t1.txt": dumpOf(9)}, nil)
	c.ask(t, "POST", "/api/v1/bundles?wait=1", body.String(), kind, 201)

	c.ask(t, "GET", "/api/v1/openapi.json", "", "", 200)
	c.ask(t, "GET", "/api/v1/bundles/"+up.ID, "", "", 200)
	c.ask(t, "GET", "/api/v1/bundles/"+up.ID+"/inventory", "", "", 200)
	c.ask(t, "GET", "/api/v1/bundles/bnone", "", "", 404)
	c.ask(t, "GET", "/api/v1/cases?text=t&page=1", "", "", 200)
	c.ask(t, "GET", "/api/v1/cases?since=then", "", "", 400)
	doc := decode[report.Report](t, c.ask(t, "GET", "/api/v1/cases/"+up.Case, "", "", 200))
	objects := decode[report.Report](t, c.ask(t, "GET", "/api/v1/cases/"+c.conns(t, growing).Case, "", "", 200))
	if len(objects.Series[0].Objects) == 0 || objects.Series[0].Findings[0].Object == "" {
		t.Error("no objects are in the report: their description is not tested")
	}
	series := doc.Series[0]
	print := series.Findings[0].Families[0]
	c.ask(t, "GET", "/api/v1/cases/cnone", "", "", 404)
	c.ask(t, "PATCH", "/api/v1/cases/"+up.Case, `{"ticket":"INC-1"}`, jsonKind, 200)
	c.ask(t, "PATCH", "/api/v1/cases/"+up.Case, `{"colour":"red"}`, jsonKind, 400)
	c.ask(t, "GET", "/api/v1/cases/"+up.Case+"/bundles", "", "", 200)
	c.ask(t, "PUT", "/api/v1/cases/"+up.Case+"/triage", fmt.Sprintf(`{"process":%q,"fingerprint":%q,"state":"benign","note":"a pool"}`, series.Process, print), jsonKind, 200)
	c.ask(t, "GET", "/api/v1/cases/"+up.Case+"/triage", "", "", 200)
	edit := decode[casepage.EditJSON](t, c.ask(t, "POST", "/api/v1/cases/"+up.Case+"/edits", `{"kind":"process","target":"series:`+up.Snapshots[0].ID+`","value":"shopd"}`, jsonKind, 201))
	c.ask(t, "GET", "/api/v1/cases/"+up.Case+"/edits", "", "", 200)
	c.ask(t, "POST", "/api/v1/alertmanager", `{"version":"4","alerts":[{"status":"firing","labels":{"leakdiff_case":"`+up.Case+`"},"startsAt":"2026-11-21T03:00:00Z"},{"labels":{},"startsAt":"2026-11-21T03:00:00Z"}]}`, jsonKind, 200)
	c.ask(t, "POST", "/api/v1/alertmanager", `{}`, jsonKind, 400)
	c.ask(t, "DELETE", fmt.Sprintf("/api/v1/cases/%s/edits/%d", up.Case, edit.ID), "", "", 204)
	c.ask(t, "GET", "/api/v1/snapshots/"+up.Snapshots[0].ID+"?case="+up.Case, "", "", 200)
	c.ask(t, "GET", "/api/v1/snapshots/snone", "", "", 404)
	c.ask(t, "GET", "/api/v1/diffs/"+up.Snapshots[0].ID+".."+up.Snapshots[3].ID+"?case="+up.Case, "", "", 200)
	c.ask(t, "GET", "/api/v1/compare?case="+up.Case, "", "", 200)
	c.ask(t, "GET", "/api/v1/compare?case="+up.Case+"&s="+up.Snapshots[0].ID+"&s="+up.Snapshots[3].ID+"&q=delta>0", "", "", 200)
	c.ask(t, "GET", "/api/v1/compare?case=cnone", "", "", 404)
	c.ask(t, "GET", "/api/v1/families/"+print, "", "", 200)
	c.ask(t, "GET", "/api/v1/families/g1:00", "", "", 404)
	c.ask(t, "GET", "/api/v1/search?q=main.leak", "", "", 200)
	c.ask(t, "GET", "/api/v1/search?q=", "", "", 400)
	c.ask(t, "GET", "/api/v1/retention", "", "", 200)
	c.ask(t, "GET", "/api/v1/retention?case=c0", "", "", 404)
	c.ask(t, "GET", "/api/v1/annotations?from=0&to=4102444800000", "", "", 200)
	c.ask(t, "GET", "/api/v1/annotations?from=yesterday", "", "", 400)
	c.ask(t, "GET", "/api/v1/fleet?days=3650&sort=hosts&kind=goroutine&limit=1", "", "", 200)
	c.ask(t, "GET", "/api/v1/fleet?q=main.leak&new=1", "", "", 200)
	c.ask(t, "GET", "/api/v1/fleet?days=none", "", "", 400)
	c.node("node-1", 3, 20)
	fleet := decode[fleetAnswer](t, c.ask(t, "GET", "/api/v1/fleet?days=3650", "", "", 200))
	c.ask(t, "GET", "/api/v1/fleet/"+fleet.Families[0].Fingerprint+"?days=3650", "", "", 200)
	c.ask(t, "GET", "/api/v1/fleet/g1:00", "", "", 404)
	made := decode[share.Result](t, c.ask(t, "POST", "/api/v1/permalinks", fmt.Sprintf(`{"case":%q,"view":%q,"redact":true,"keep":"30d","preview":"counts"}`, up.Case, up.Link), jsonKind, 201))
	c.ask(t, "GET", "/api/v1/permalinks/"+made.ID, "", "", 200)
	for _, x := range []struct{ method, body string }{{"PATCH", `{"keep":"90d"}`}, {"DELETE", ""}} {
		r := c.do(x.method, "/api/v1/permalinks/"+made.ID, strings.NewReader(x.body), "Authorization", "Bearer "+made.OwnerKey, "Content-Type", jsonKind)
		if r.status != 204 {
			t.Errorf("%s with the owner key: %d %s", x.method, r.status, r.body)
		}
		c.seen[x.method+" /api/v1/permalinks/{id}"] = true
	}
	c.ask(t, "GET", "/api/v1/permalinks/"+made.ID, "", "", 410)
	c.ask(t, "DELETE", "/api/v1/bundles/"+third.ID, "", "", 204)
	c.ask(t, "DELETE", "/api/v1/cases/"+second.Case, "", "", 204)
	c.ask(t, "DELETE", "/api/v1/cases/"+second.Case, "", "", 404)

	t.Run("and nothing of either is left out", func(t *testing.T) {
		served := map[string]bool{}
		parameter := regexp.MustCompile(`\{[^}]*\}|\*`)
		err := chi.Walk(c.s.routes(), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			if strings.HasPrefix(route, "/api/") {
				served[method+" "+parameter.ReplaceAllString(route, "{}")] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		described := map[string]bool{}
		for path, item := range c.doc.Paths.Map() {
			for method := range item.Operations() {
				described[method+" "+parameter.ReplaceAllString(path, "{}")] = true
				if !c.seen[method+" "+path] {
					t.Errorf("%s %s is described and was not asked", method, path)
				}
			}
		}
		for route := range served {
			if !described[route] {
				t.Errorf("%s is served and not described", route)
			}
		}
		for route := range described {
			if !served[route] {
				t.Errorf("%s is described and not served", route)
			}
		}
	})
}

func TestListsOfTheAPIHavePages(t *testing.T) {
	c := newContract(t)
	for range 5 {
		c.untimed(t, 1, 2)
	}
	for path, of := range map[string]func(string) []api.CaseListed{
		"/api/v1/cases?": func(body string) []api.CaseListed {
			return decode[struct{ Cases []api.CaseListed }](t, body).Cases
		},
		"/api/v1/search?q=more&": func(body string) []api.CaseListed {
			return decode[struct{ Cases []api.CaseListed }](t, body).Cases
		},
	} {
		all := of(c.ask(t, "GET", path+"limit=500", "", "", 200))
		if len(all) != 5 {
			t.Fatalf("%s lists %d cases, want 5", path, len(all))
		}
		var got []string
		address := path + "limit=2"
		for pages := 0; address != ""; pages++ {
			body := c.ask(t, "GET", address, "", "", 200)
			for _, x := range of(body) {
				got = append(got, x.ID)
			}
			address = decode[struct{ Next string }](t, body).Next
			if pages > 3 {
				t.Fatalf("%s has no end", path)
			}
		}
		var want []string
		for _, x := range all {
			want = append(want, x.ID)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s by pages: %s", path, d)
		}
		for _, bad := range []string{"limit=abc", "limit=0", "limit=-1", "limit=501", "limit=", "page=abc", "page=-1", "page=0", "page=1e3"} {
			if body := c.ask(t, "GET", path+bad, "", "", 400); !strings.Contains(body, "was not understood") {
				t.Errorf("%s%s: %s", path, bad, body)
			}
		}
	}
}

func TestTheAPISpeaksOfTheAddressBehindAProxy(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	base := "https://leak.example.com/tools/leakdiff"
	s := startSite(t, st, Config{BaseURL: base + "/"})
	doc := decode[struct{ Servers []struct{ URL string } }](t, s.get("/api/v1/openapi.json").body)
	if len(doc.Servers) != 1 || doc.Servers[0].URL != base {
		t.Errorf("the servers are %+v", doc.Servers)
	}
	type linked struct{ Link, URL string }
	up := s.put("t0.txt", []byte(dumpOf(3)))
	frozen := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`))
	print := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0].Families[0].Fingerprint
	list := func(path string) linked {
		return decode[struct{ Cases []linked }](t, s.get(path).body).Cases[0]
	}
	for what, got := range map[string]linked{
		"the upload": {up.Link, up.URL}, "the bundle": decode[linked](t, s.get("/api/v1/bundles/"+up.ID).body), "the frozen result": decode[linked](t, frozen.body),
		"the list": list("/api/v1/cases"), "the search": list("/api/v1/search?q=t0"), "the family": list("/api/v1/families/" + print),
	} {
		if !strings.HasPrefix(got.Link, "/") || strings.HasPrefix(got.Link, "/tools") || got.URL != base+got.Link {
			t.Errorf("%s: link %q, url %q", what, got.Link, got.URL)
		}
		if r := s.get("/tools/leakdiff" + got.Link); r.status != 200 {
			t.Errorf("%s: %d at %s", what, r.status, got.URL)
		}
	}
	if to := frozen.header.Get("Location"); !strings.HasPrefix(to, "/tools/leakdiff/p/") {
		t.Errorf("Location is %q", to)
	}
}

func TestTheAPIAnswersAreKeptByTheirETag(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13)
	made := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`)).body)
	print := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0].Families[0].Fingerprint
	for _, path := range []string{"/api/v1/cases/" + up.Case, "/api/v1/cases", "/api/v1/search?q=main", "/api/v1/families/" + print, made.Link, made.Link + ".json", made.Link + ".md", "/api/v1/permalinks/" + made.ID, "/api/v1/diffs/" + up.Snapshots[0].ID + ".." + up.Snapshots[1].ID + "?case=" + url.QueryEscape(up.Case), "/api/v1/snapshots/" + up.Snapshots[0].ID, "/api/v1/openapi.json",
		"/api/v1/cases/" + up.Case + "/bundles", "/api/v1/cases/" + up.Case + "/edits", "/api/v1/cases/" + up.Case + "/triage", "/api/v1/bundles/" + up.ID + "/inventory"} {
		first := s.get(path)
		tag := first.header.Get("ETag")
		if first.status != 200 || tag == "" || strings.HasPrefix(tag, "W/") {
			t.Errorf("%s: %d with ETag %q", path, first.status, tag)
		}
		if again := s.do("GET", path, nil, "If-None-Match", tag); again.status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.status)
		}
	}
}
