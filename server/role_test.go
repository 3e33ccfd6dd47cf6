package server

import (
	"crypto/sha256"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"leakdiff/server/access"
	"leakdiff/server/intake"
	"leakdiff/server/share"
	"leakdiff/store"
)

// asked is one route with a request to it, and the status that each sender gets: nobody,
// the roles read and upload (of somebody who does not own the case) and admin. Open and
// local are those of a server without accounts, 0 for that of upload and of admin.
type asked struct {
	route, path, kind, body     string
	nobody, read, upload, admin int
	open, local                 int
}

// everyRoute is what must hold, written by hand. Braces stand for ids that the test makes.
// What deletes comes last.
var everyRoute = []asked{
	{route: "GET /readyz", path: "/readyz", nobody: 200, read: 200, upload: 200, admin: 200},
	{route: "GET /healthz", path: "/healthz", nobody: 200, read: 200, upload: 200, admin: 200},
	{route: "GET /assets/*", path: "/assets/0123456789abcdef/none.css", nobody: 404, read: 404, upload: 404, admin: 404},
	{route: "GET /login", path: "/login", nobody: 200, read: 303, upload: 303, admin: 303, open: 303, local: 303},
	{route: "GET /p/{id}", path: "/p/{link}", nobody: 200, read: 200, upload: 200, admin: 200},
	{route: "GET /p/{id}/{tail}", path: "/p/{link}/a-title", nobody: 200, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/permalinks/{id}", path: "/api/v1/permalinks/{link}", nobody: 200, read: 200, upload: 200, admin: 200},
	{route: "GET /p/{id}", path: "/p/{account}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /p/{id}", path: "/p/{account}.md", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /p/{id}/{tail}", path: "/p/{account}/a-title", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/permalinks/{id}", path: "/api/v1/permalinks/{account}", nobody: 401, read: 200, upload: 200, admin: 200},

	{route: "GET /", path: "/", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /search", path: "/search?q=leak", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /fleet", path: "/fleet?days=3650", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /server", path: "/server", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /retention", path: "/retention", nobody: 401, read: 303, upload: 303, admin: 303},
	{route: "GET /fleet.md", path: "/fleet.md", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /fleet.txt", path: "/fleet.txt", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /fleet.jira", path: "/fleet.jira", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /fleet.csv", path: "/fleet.csv", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /fleet/{fingerprint}", path: "/fleet/g1:none", nobody: 401, read: 404, upload: 404, admin: 404},
	{route: "GET /help", path: "/help", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api", path: "/api", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /knowledge", path: "/knowledge", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /knowledge.json", path: "/knowledge.json", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /knowledge/schema.json", path: "/knowledge/schema.json", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /knowledge/own/{id}", path: "/knowledge/own/none", nobody: 401, read: 404, upload: 404, admin: 404},
	{route: "GET /cases/{id}", path: "/cases/{case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /cases/{id}/identity", path: "/cases/{case}/identity", nobody: 401, read: 303, upload: 303, admin: 303},
	{route: "GET /cases/{id}/identity.json", path: "/cases/{case}/identity.json", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /bundles/{id}", path: "/bundles/{bundle}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /bundles/{id}/events", path: "/bundles/{bundle}/events", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /bundles/{id}/files/{sha}", path: "/bundles/{bundle}/files/{sha}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /snapshots/{id}", path: "/snapshots/{snapshot}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /snapshots/{id}/pprof", path: "/snapshots/{snapshot}/pprof", nobody: 401, read: 303, upload: 303, admin: 303},
	{route: "GET /snapshots/{id}/{page}", path: "/snapshots/{snapshot}/flame", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /diff-pick", path: "/diff-pick?a={snapshot}&b={snapshot}", nobody: 401, read: 303, upload: 303, admin: 303},
	{route: "GET /diff-other", path: "/diff-other?case={case}&b={snapshot}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /diff/{pair}", path: "/diff/{snapshot}..{snapshot}?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /diff/{pair}/pprof", path: "/diff/{snapshot}..{snapshot}/pprof?case={case}", nobody: 401, read: 303, upload: 303, admin: 303},
	{route: "GET /diff/{pair}/{page}", path: "/diff/{snapshot}..{snapshot}/flame?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /compare", path: "/compare?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /compare.json", path: "/compare.json?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /compare.md", path: "/compare.md?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /compare.txt", path: "/compare.txt?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /compare.jira", path: "/compare.jira?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /compare.csv", path: "/compare.csv?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /compare.html", path: "/compare.html?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /families/{fingerprint}", path: "/families/{family}?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /members/{id}", path: "/members/goroutine:0?case={case}", nobody: 401, read: 404, upload: 404, admin: 404},
	{route: "GET /objects/{id}", path: "/objects/none?case={case}", nobody: 401, read: 404, upload: 404, admin: 404},
	{route: "GET /raw/{bundle}", path: "/raw/{bundle}?path=dump.txt", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /raw/{bundle}/download", path: "/raw/{bundle}/download?path=dump.txt", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /collect.sh", path: "/collect.sh", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /metrics", path: "/metrics", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/openapi.json", path: "/api/v1/openapi.json", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/bundles/{id}", path: "/api/v1/bundles/{bundle}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/bundles/{id}/inventory", path: "/api/v1/bundles/{bundle}/inventory", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/cases", path: "/api/v1/cases", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/cases/{id}", path: "/api/v1/cases/{case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/cases/{id}/bundles", path: "/api/v1/cases/{case}/bundles", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/cases/{id}/triage", path: "/api/v1/cases/{case}/triage", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/cases/{id}/edits", path: "/api/v1/cases/{case}/edits", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/families/{fingerprint}", path: "/api/v1/families/{family}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/search", path: "/api/v1/search?q=leak", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/retention", path: "/api/v1/retention", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/annotations", path: "/api/v1/annotations?from=0", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/fleet", path: "/api/v1/fleet?days=3650", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/fleet/{fingerprint}", path: "/api/v1/fleet/g1:none", nobody: 401, read: 404, upload: 404, admin: 404},
	{route: "GET /api/v1/snapshots/{id}", path: "/api/v1/snapshots/{snapshot}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/diffs/{id}", path: "/api/v1/diffs/{snapshot}..{snapshot}?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "GET /api/v1/compare", path: "/api/v1/compare?case={case}", nobody: 401, read: 200, upload: 200, admin: 200},

	{route: "POST /mcp", path: "/mcp", kind: jsonKind, body: callOf("diagnose", `{"case":"{case}"}`), nobody: 401, read: 200, upload: 200, admin: 200},
	{route: "POST /mcp", path: "/mcp", kind: jsonKind, body: `{`, nobody: 401, read: 400, upload: 400, admin: 400},

	{route: "GET /share", path: "/share?view=/cases/{case}", nobody: 401, read: 403, upload: 200, admin: 200},
	{route: "POST /share", path: "/share", kind: formType, body: "case={case}&redact=on&keep=7d", nobody: 401, read: 403, upload: 200, admin: 200},
	{route: "POST /share", path: "/share", kind: formType, body: "case={case}&keep=7d", nobody: 401, read: 403, upload: 403, admin: 200},
	{route: "POST /api/v1/permalinks", path: "/api/v1/permalinks", kind: jsonKind, body: `{"case":"{case}"}`, nobody: 401, read: 403, upload: 201, admin: 201},
	{route: "POST /p/{id}/again", path: "/p/{link}/again", kind: formType, nobody: 401, read: 403, upload: 403, admin: 200},
	{route: "POST /upload", path: "/upload", kind: "multipart/form-data; boundary=b", body: "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"d.txt\"\r\n\r\ngoroutine 1 [running]:\r\n\r\n--b--\r\n", nobody: 401, read: 403, upload: 303, admin: 303, open: 200},
	{route: "POST /samples/{name}", path: "/samples/none", kind: formType, nobody: 401, read: 403, upload: 404, admin: 404},
	{route: "PUT /api/v1/bundles", path: "/api/v1/bundles", body: "hello", nobody: 401, read: 403, upload: 201, admin: 201},
	{route: "PUT /api/v1/bundles/*", path: "/api/v1/bundles/d.txt", body: "hello", nobody: 401, read: 403, upload: 201, admin: 201},
	{route: "PUT /api/v1/bundles/*", path: "/api/v1/bundles/d.txt?case={case}", body: "hello", nobody: 401, read: 403, upload: 403, admin: 201},
	{route: "POST /api/v1/bundles", path: "/api/v1/bundles", body: "hello", nobody: 401, read: 403, upload: 201, admin: 201},
	{route: "POST /bundles/{id}/cancel", path: "/bundles/{bundle}/cancel", kind: formType, nobody: 401, read: 403, upload: 403, admin: 303},
	{route: "POST /bundles/{id}/kind", path: "/bundles/{bundle}/kind", kind: formType, body: "path=none&kind=ignore", nobody: 401, read: 403, upload: 403, admin: 404},
	{route: "PUT /api/v1/bundles/{id}/kinds", path: "/api/v1/bundles/{bundle}/kinds", kind: jsonKind, body: `{"path":"none","kind":"ignore"}`, nobody: 401, read: 403, upload: 403, admin: 404},
	{route: "POST /cases/{id}/identity", path: "/cases/{case}/identity", kind: formType, body: "kind=process&target=series:{snapshot}&value=shopd", nobody: 401, read: 403, upload: 403, admin: 303},
	{route: "POST /cases/{id}/identity/undo", path: "/cases/{case}/identity/undo", kind: formType, body: "number=1", nobody: 401, read: 403, upload: 403, admin: 303},
	{route: "POST /cases/{id}/baseline", path: "/cases/{case}/baseline", kind: formType, body: "snapshot=none", nobody: 401, read: 403, upload: 403, admin: 404},
	{route: "POST /cases/{id}/fields", path: "/cases/{case}/fields", kind: formType, body: "ticket=INC-1", nobody: 401, read: 403, upload: 403, admin: 303},
	{route: "POST /cases/{id}/triage", path: "/cases/{case}/triage", kind: formType, body: "process=&fingerprint=none&state=benign", nobody: 401, read: 403, upload: 403, admin: 404},
	{route: "PATCH /api/v1/cases/{id}", path: "/api/v1/cases/{case}", kind: jsonKind, body: `{"ticket":"INC-2"}`, nobody: 401, read: 403, upload: 403, admin: 200},
	{route: "PUT /api/v1/cases/{id}/triage", path: "/api/v1/cases/{case}/triage", kind: jsonKind, body: `{"process":"","fingerprint":"none","state":"benign"}`, nobody: 401, read: 403, upload: 403, admin: 404},
	{route: "POST /api/v1/cases/{id}/edits", path: "/api/v1/cases/{case}/edits", kind: jsonKind, body: `{"kind":"process","target":"series:{snapshot}","value":"shopd"}`, nobody: 401, read: 403, upload: 403, admin: 201},
	{route: "POST /api/v1/alertmanager", path: "/api/v1/alertmanager", kind: jsonKind, body: `{"alerts":[]}`, nobody: 401, read: 403, upload: 200, admin: 200},
	{route: "DELETE /api/v1/cases/{id}/edits/{number}", path: "/api/v1/cases/{case}/edits/2", nobody: 401, read: 403, upload: 403, admin: 204},
	{route: "POST /families/{fingerprint}/remember", path: "/families/{family}/remember", kind: formType, body: "case={case}&title=", nobody: 401, read: 403, upload: 403, admin: 400},
	{route: "POST /knowledge/own/{id}", path: "/knowledge/own/none", kind: formType, nobody: 401, read: 403, upload: 404, admin: 404},
	{route: "POST /bundles/{id}/read", path: "/bundles/{bundle}/read", kind: formType, nobody: 401, read: 403, upload: 403, admin: 303},

	{route: "GET /audit", path: "/audit", nobody: 401, read: 403, upload: 403, admin: 303},
	{route: "GET /audit.jsonl", path: "/audit.jsonl", nobody: 401, read: 403, upload: 403, admin: 200},

	{route: "PATCH /api/v1/permalinks/{id}", path: "/api/v1/permalinks/{link}", kind: jsonKind, body: `{"keep":"30d"}`, nobody: 401, read: 403, upload: 403, admin: 204, local: 403},
	{route: "POST /p/{id}/extend", path: "/p/{link}/extend", kind: formType, body: "keep=30d", nobody: 401, read: 403, upload: 403, admin: 303, local: 403},
	{route: "POST /p/{id}/withdraw", path: "/p/{link}/withdraw", kind: formType, nobody: 401, read: 403, upload: 403, admin: 303, local: 403},
	{route: "DELETE /api/v1/permalinks/{id}", path: "/api/v1/permalinks/{account}", nobody: 401, read: 403, upload: 403, admin: 204, local: 403},
	{route: "POST /bundles/{id}/remove", path: "/bundles/{second}/remove", kind: formType, nobody: 401, read: 403, upload: 403, admin: 303},
	{route: "DELETE /api/v1/bundles/{id}", path: "/api/v1/bundles/{third}", nobody: 401, read: 403, upload: 403, admin: 204},
	{route: "POST /cases/{id}/delete", path: "/cases/{case}/delete", kind: formType, nobody: 401, read: 403, upload: 403, admin: 303},
	{route: "DELETE /api/v1/cases/{id}", path: "/api/v1/cases/{other}", nobody: 401, read: 403, upload: 403, admin: 204},

	{route: "POST /logout", path: "/logout", kind: formType, nobody: 303, read: 303, upload: 303, admin: 303},
	{route: "POST /login", path: "/login", kind: formType, body: "user=alice&password=wrong", nobody: 401, read: 401, upload: 401, admin: 401, open: 404, local: 404},
}

// The title of the case that nobody without a role may read.
const secretTitle = "acquisition-of-initech"

// guarded is a server in one mode with two cases, and the headers of those who ask it.
type guarded struct {
	*site
	ids     *strings.Replacer
	caseID  string
	senders map[string][]string
}

// people are the accounts of the password file, by role, with the password "correct horse".
var people = map[access.Role]string{access.Reader: "rita", access.Uploader: "uwe", access.Admin: "alice"}

func passwordFile(t *testing.T) *access.Passwords {
	t.Helper()
	var lines strings.Builder
	for role, name := range people {
		line, err := access.PasswordLine(name, role, "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&lines, line)
	}
	path := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := access.ReadPasswords(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trustLoopback are the proxies of a test: it connects from 127.0.0.1.
func trustLoopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

func proxyPolicy(trusted ...netip.Prefix) access.Policy {
	return access.Policy{Mode: access.ByProxy, Trusted: trusted, Proxy: access.Proxy{
		Header: "X-Forwarded-User", Groups: "X-Forwarded-Groups", Default: access.Reader,
		Roles: map[string]access.Role{"uwe": access.Uploader, "group:ops": access.Admin},
	}}
}

// token makes a token and returns its header.
func token(t *testing.T, st *store.Store, name string, role access.Role, expires time.Time) []string {
	t.Helper()
	secret, err := st.Accounts().AddToken(t.Context(), name, role.String(), expires)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + secret}
}

func guard(t *testing.T, policy access.Policy) *guarded {
	t.Helper()
	st := openStore(t)
	g := &guarded{site: startSite(t, st, Config{Access: policy, Script: []byte("#!/bin/sh\n")}), senders: map[string][]string{}}
	admin := token(t, st, "admin", access.Admin, time.Time{})
	g.senders["the token admin"] = admin
	g.senders["the token upload"] = token(t, st, "upload", access.Uploader, time.Now().Add(time.Hour))
	g.senders["the token read"] = token(t, st, "read", access.Reader, time.Time{})
	g.senders["a wrong token"] = []string{"Authorization", "Bearer ld_" + strings.Repeat("A", 43)}
	g.senders["an expired token"] = token(t, st, "old", access.Admin, time.Now().Add(-time.Second))
	g.senders["a revoked token"] = token(t, st, "gone", access.Admin, time.Time{})
	if err := st.Accounts().RevokeToken(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	put := func(query, body string) intake.Uploaded {
		r := g.do("PUT", "/api/v1/bundles/dump.txt?wait=1"+query, strings.NewReader(body), admin...)
		if r.status != http.StatusCreated {
			t.Fatalf("uploading gave %d: %s", r.status, r.body)
		}
		return decode[intake.Uploaded](t, r.body)
	}
	up := put("", tinyDump)
	second, third, other := put("&case="+up.Case, dumpOf(5)), put("&case="+up.Case, dumpOf(9)), put("", dumpOf(4))
	if r := g.do("PATCH", "/api/v1/cases/"+up.Case, strings.NewReader(`{"title":"`+secretTitle+`"}`), admin...); r.status != 200 {
		t.Fatalf("the title gave %d", r.status)
	}
	frozen := func(audience string) string {
		r := g.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","audience":"`+audience+`"}`), admin...)
		return decode[share.Result](t, r.body).ID
	}
	sum := sha256.Sum256([]byte(tinyDump))
	family := regexp.MustCompile(`"(g1:[0-9a-f]+)"`).FindStringSubmatch(g.do("GET", "/api/v1/cases/"+up.Case, nil, admin...).body)
	if family == nil {
		t.Fatal("the case has no family")
	}
	g.caseID = up.Case
	g.ids = strings.NewReplacer("{case}", up.Case, "{other}", other.Case, "{bundle}", up.ID, "{second}", second.ID, "{third}", third.ID,
		"{snapshot}", up.Snapshots[0].ID, "{family}", family[1], "{sha}", fmt.Sprintf("%x", sum), "{link}", frozen("link"), "{account}", frozen("account"))
	return g
}

// send sends the request of a row.
func (g *guarded) send(a asked, header []string) reply {
	method, _, _ := strings.Cut(a.route, " ")
	if a.kind != "" {
		header = append([]string{"Content-Type", a.kind}, header...)
	}
	if a.route == "POST /mcp" {
		header = append([]string{"Accept", "application/json, text/event-stream"}, header...)
	}
	return g.do(method, g.ids.Replace(a.path), strings.NewReader(g.ids.Replace(a.body)), header...)
}

// signIn gives the cookie of somebody who signed in.
func (g *guarded) signIn(t *testing.T, name string) []string {
	t.Helper()
	r := g.do("POST", "/login", strings.NewReader("user="+name+"&password=correct+horse"), "Content-Type", formType, "X-Forwarded-For", name)
	set := (&http.Response{Header: r.header}).Cookies()
	if r.status != http.StatusSeeOther || len(set) != 1 {
		t.Fatalf("signing in gave %d and %v: %.300s", r.status, set, r.body)
	}
	return []string{"Cookie", set[0].Name + "=" + set[0].Value}
}

// column is the status that a row names for a sender.
type column struct {
	sender string
	header []string
	of     func(asked) int
}

func ofNobody(a asked) int { return a.nobody }
func ofReader(a asked) int { return a.read }
func ofUpload(a asked) int { return a.upload }
func ofAdmin(a asked) int  { return a.admin }

// refusedToken is 401 wherever a role is needed: a wrong proof is not better than none.
func refusedToken(a asked) int { return a.nobody }

func TestEveryRouteAdmitsWhoTheTableSaysAndNobodyElse(t *testing.T) {
	for mode, policy := range map[string]access.Policy{
		"password":  {Mode: access.ByPassword, Passwords: passwordFile(t)},
		"proxy":     proxyPolicy(trustLoopback()...),
		"untrusted": proxyPolicy(netip.MustParsePrefix("192.0.2.0/24")),
		"open":      {Mode: access.Open},
		"loopback":  {Mode: access.OnLoopback},
	} {
		t.Run(mode, func(t *testing.T) {
			g := guard(t, policy)
			columns := []column{
				{"a wrong token", g.senders["a wrong token"], refusedToken},
				{"an expired token", g.senders["an expired token"], refusedToken},
				{"a revoked token", g.senders["a revoked token"], refusedToken},
				{"the token read", g.senders["the token read"], ofReader},
				{"the token upload", g.senders["the token upload"], ofUpload},
			}
			switch mode {
			case "password":
				columns = append(columns, column{"nobody", nil, ofNobody}, column{"a made up session", []string{"Cookie", "leakdiff-session=" + strings.Repeat("A", 43)}, ofNobody},
					column{"a header without a proxy", []string{"X-Forwarded-User", "alice"}, ofNobody})
				for _, x := range []struct {
					role access.Role
					of   func(asked) int
				}{{access.Reader, ofReader}, {access.Uploader, ofUpload}, {access.Admin, ofAdmin}} {
					columns = append(columns, column{x.role.String(), g.signIn(t, people[x.role]), x.of})
				}
			case "proxy":
				columns = append(columns, column{"nobody", nil, ofNobody}, column{"read", []string{"X-Forwarded-User", "rita"}, ofReader}, column{"upload", []string{"X-Forwarded-User", "uwe"}, ofUpload},
					column{"admin", []string{"X-Forwarded-User", "alice", "X-Forwarded-Groups", "dev, ops"}, ofAdmin})
			case "untrusted":
				columns = append(columns, column{"a header of a stranger", []string{"X-Forwarded-User", "alice", "X-Forwarded-Groups", "ops", "X-Forwarded-For", "192.0.2.1"}, ofNobody})
			case "open":
				columns = append(columns, column{"anybody", nil, func(a asked) int { return orElse(a.open, a.upload) }})
			case "loopback":
				columns = append(columns, column{"anybody", nil, func(a asked) int { return orElse(a.local, a.admin) }})
			}
			for _, a := range everyRoute {
				for _, c := range columns {
					want := c.of(a)
					if a.route == "POST /login" || a.route == "GET /login" || a.route == "POST /upload" {
						if mode != "password" && !strings.HasPrefix(c.sender, "any") {
							continue // these answer by the mode, not by the role
						}
						if strings.Contains(c.sender, "token") {
							continue
						}
					}
					got := g.send(a, c.header)
					if got.status != want {
						t.Errorf("%s gets %d for %s %s, want %d: %.300s", c.sender, got.status, a.route, a.path, want, got.body)
					}
					if want == 401 && strings.Contains(got.body+fmt.Sprint(got.header), secretTitle) {
						t.Errorf("%s learns the title of the case at %s", c.sender, a.route)
					}
				}
			}
		})
	}
}

func orElse(n, other int) int {
	if n != 0 {
		return n
	}
	return other
}

func TestNoRouteIsMissingInTheTable(t *testing.T) {
	s := newSite(t)
	missing, err := unchecked(s.s.routes())
	if err != nil || len(missing) > 0 {
		t.Errorf("nobody may use %v: they have no rule (%v)", missing, err)
	}
	tried := map[string]bool{}
	for _, a := range everyRoute {
		tried[a.route] = true
	}
	walked := map[string]bool{}
	err = chi.Walk(s.s.routes(), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		walked[method+" "+route] = true
		if !tried[method+" "+route] {
			t.Errorf("no role is tried at %s %s", method, route)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for route := range tried {
		if !walked[route] {
			t.Errorf("%s is tried and does not exist", route)
		}
	}
	for route := range rules {
		if !walked[route] {
			t.Errorf("%s has a rule and does not exist", route)
		}
	}
}

func TestARouteWithoutARuleIsRefused(t *testing.T) {
	s := newSite(t)
	r := chi.NewRouter()
	r.With(s.s.check).Get("/forgotten", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(secretTitle)) })
	if missing, err := unchecked(r); err != nil || len(missing) != 1 || missing[0] != "GET /forgotten" {
		t.Errorf("the walk finds %v, %v", missing, err)
	}
	got := answerOf(r, "GET", "/forgotten")
	if got.Code != http.StatusForbidden || strings.Contains(got.Body.String(), secretTitle) {
		t.Errorf("it gives %d %s", got.Code, got.Body)
	}
}

var requestIDs = regexp.MustCompile(`[0-9a-f]{12}`)

func TestARefusalDoesNotSayWhetherAnythingIsThere(t *testing.T) {
	g := guard(t, access.Policy{Mode: access.ByPassword, Passwords: passwordFile(t)})
	missing := strings.NewReplacer("{case}", "c"+strings.Repeat("a", 26), "{other}", "c"+strings.Repeat("a", 26), "{bundle}", "b"+strings.Repeat("a", 26), "{second}", "b"+strings.Repeat("a", 26), "{third}", "b"+strings.Repeat("a", 26),
		"{snapshot}", "s"+strings.Repeat("a", 26), "{family}", "g1:"+strings.Repeat("0", 32), "{sha}", strings.Repeat("0", 64), "{link}", strings.Repeat("a", 32), "{account}", strings.Repeat("a", 32))
	there := g.ids
	for _, a := range everyRoute {
		if a.nobody != 401 || !strings.Contains(a.path+a.body, "{") {
			continue
		}
		for who, header := range map[string][]string{"nobody": nil, "a browser": {"Accept", "text/html"}, "a wrong token": g.senders["a wrong token"]} {
			g.ids = there
			have := g.send(a, header)
			g.ids = missing
			none := g.send(a, header)
			// A page prints the address that it was asked for.
			asked := strings.NewReplacer(address(there.Replace(a.path)), "", address(missing.Replace(a.path)), "")
			tidy := func(r reply) string {
				text := fmt.Sprint(r.status, r.header.Get("Content-Type"), r.header.Get("WWW-Authenticate"), r.header.Get("Cache-Control")) + r.body
				to, _ := url.QueryUnescape(r.header.Get("Location"))
				if to != "" && !strings.HasPrefix(to, "/login") {
					t.Errorf("%s at %s is sent to %s", who, a.path, to)
				}
				return requestIDs.ReplaceAllString(asked.Replace(text), "")
			}
			if x, y := tidy(have), tidy(none); x != y && !strings.Contains(x, "/login?next=") {
				t.Errorf("%s at %s %s: %s\nand where nothing is: %s", who, a.route, a.path, x, y)
			}
		}
	}
}

func answerOf(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// address is an address as a page prints it.
func address(path string) string { return template.HTMLEscapeString(path) }
