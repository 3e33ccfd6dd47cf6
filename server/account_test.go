package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"leakdiff/server/access"
	"leakdiff/server/intake"
	"leakdiff/server/share"
	"leakdiff/store"
)

func passwordSite(t *testing.T) (*site, *store.Store) {
	t.Helper()
	st := openStore(t)
	return startSite(t, st, Config{Access: access.Policy{Mode: access.ByPassword, Passwords: passwordFile(t)}}), st
}

// cookieOf signs in and returns the header of the session.
func cookieOf(t *testing.T, s *site, name string) []string {
	t.Helper()
	g := guarded{site: s}
	return g.signIn(t, name)
}

func TestABrowserSignsInAndOut(t *testing.T) {
	s, _ := passwordSite(t)
	page := []string{"Accept", "text/html"}
	for path, want := range map[string]string{"/": "/login", "/search?q=a&b": "/login?next=%2Fsearch%3Fq%3Da%26b", "/cases/c1": "/login?next=%2Fcases%2Fc1"} {
		if r := s.do("GET", path, nil, page...); r.status != 303 || r.header.Get("Location") != want {
			t.Errorf("%s leads with %d to %s", path, r.status, r.header.Get("Location"))
		}
	}
	if r := s.do("POST", "/upload", strings.NewReader("x"), append(page, "Content-Type", formType)...); r.status != 303 || r.header.Get("Location") != "/login" {
		t.Errorf("a form leads with %d to %s", r.status, r.header.Get("Location"))
	}
	for _, path := range []string{"/api/v1/cases", "/cases/c1.json", "/cases/c1.md"} {
		if r := s.do("GET", path, nil, page...); r.status != 401 || r.header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(r.body, "asks for an account") {
			t.Errorf("%s gives %d %s", path, r.status, r.body)
		}
	}
	form := []string{"Content-Type", formType}
	wrong := s.do("POST", "/login", strings.NewReader("user=alice&password=wrong+horse&next=/help"), append(form, page...)...)
	unknown := s.do("POST", "/login", strings.NewReader("user=nobody&password=wrong+horse&next=/help"), append(form, page...)...)
	for name, r := range map[string]reply{"a wrong password": wrong, "an unknown user": unknown} {
		if r.status != 401 || len(r.header.Values("Set-Cookie")) > 0 || !strings.Contains(r.body, "The name or the password is wrong.") || !strings.Contains(r.body, `name="next" value="/help"`) || strings.Contains(r.body, "wrong horse") {
			t.Errorf("%s gives %d %s", name, r.status, r.body)
		}
	}
	right := s.do("POST", "/login", strings.NewReader("user=alice&password=correct+horse&next=//evil.example/"), form...)
	cookie := (&http.Response{Header: right.header}).Cookies()[0]
	if right.header.Get("Location") != "/" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Secure || cookie.Path != "/" || cookie.MaxAge != 7*24*3600 {
		t.Errorf("signing in leads to %s with %v", right.header.Get("Location"), cookie)
	}
	mine := []string{"Cookie", cookie.Name + "=" + cookie.Value}
	if r := s.do("GET", "/", nil, mine...); r.status != 200 || !strings.Contains(r.body, "alice, role admin") || !strings.Contains(r.body, `action="/logout"`) || !strings.Contains(r.body, `href="/server"`) {
		t.Errorf("the start page gives %d %s", r.status, r.body)
	}
	if r := s.do("POST", "/logout", nil, append(mine, "Sec-Fetch-Site", "cross-site")...); r.status != 403 {
		t.Errorf("another site signs people out: %d", r.status)
	}
	if r := s.do("POST", "/login", strings.NewReader("user=alice&password=correct+horse"), append(form, "Sec-Fetch-Site", "cross-site")...); r.status != 403 {
		t.Errorf("another site signs people in: %d", r.status)
	}
	if r := s.do("POST", "/logout", nil, mine...); r.status != 303 || r.header.Get("Location") != "/login" || r.header.Get("Clear-Site-Data") != `"cache"` || !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out gives %d %v", r.status, r.header)
	}
	if r := s.do("GET", "/", nil, mine...); r.status != 401 {
		t.Errorf("the old cookie gives %d", r.status)
	}
}

func TestACookieOfHTTPSIsForThisHostAlone(t *testing.T) {
	s := startSite(t, openStore(t), Config{BaseURL: "https://leaks.example.org/tools", Access: access.Policy{Mode: access.ByPassword, Passwords: passwordFile(t), Secure: true}})
	r := s.do("POST", "/tools/login", strings.NewReader("user=alice&password=correct+horse&next=/help"), "Content-Type", formType)
	c := (&http.Response{Header: r.header}).Cookies()[0]
	if c.Name != "__Host-leakdiff" || !c.Secure || c.Path != "/" || c.Domain != "" || r.header.Get("Location") != "/tools/help" {
		t.Errorf("it is %v, and leads to %s", c, r.header.Get("Location"))
	}
	if r := s.do("GET", "/help", nil, "Cookie", "leakdiff-session="+c.Value); r.status != 401 {
		t.Errorf("a cookie that any subdomain can set gives %d", r.status)
	}
}

func TestWhoTriesPasswordsIsStopped(t *testing.T) {
	s, _ := passwordSite(t)
	for i := range 12 {
		// Only trusted proxies may name another sender.
		r := s.do("POST", "/login", strings.NewReader("user=nobody&password=x"), "Content-Type", formType, "X-Forwarded-For", strings.Repeat("1", i%3+1)+".2.3.4")
		if want := 401; i >= loginRate {
			if r.status != 429 || r.header.Get("Retry-After") == "" {
				t.Errorf("try %d gives %d", i+1, r.status)
			}
		} else if r.status != want {
			t.Errorf("try %d gives %d", i+1, r.status)
		}
	}
	// Another person behind the address is not locked out; nor are names without end tried.
	if r := s.do("POST", "/login", strings.NewReader("user=alice&password=correct+horse"), "Content-Type", formType); r.status != 303 {
		t.Errorf("alice signs in with %d", r.status)
	}
	status := 401
	for i := 13; i < addressRate && status == 401; i++ {
		status = s.do("POST", "/login", strings.NewReader(fmt.Sprintf("user=n%d&password=x", i)), "Content-Type", formType).status
	}
	if last := s.do("POST", "/login", strings.NewReader("user=another&password=x"), "Content-Type", formType).status; status != 401 || last != 429 {
		t.Errorf("try %d gives %d, the next one %d", addressRate, status, last)
	}
}

func TestTheAccountThatMadeACaseChangesItWithoutItsKey(t *testing.T) {
	s, st := passwordSite(t)
	ci, other := token(t, st, "ci", access.Uploader, time.Time{}), token(t, st, "other", access.Uploader, time.Time{})
	up := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/d.txt?wait=1", strings.NewReader(tinyDump), ci...).body)
	uwe := cookieOf(t, s, "uwe")
	patch := func(header ...string) int {
		return s.do("PATCH", "/api/v1/cases/"+up.Case, strings.NewReader(`{"ticket":"INC-1"}`), append([]string{"Content-Type", jsonKind}, header...)...).status
	}
	for name, c := range map[string]struct {
		header []string
		want   int
	}{
		"the token that made it":          {ci, 200},
		"another token":                   {other, 403},
		"another token with the key":      {append([]string{"X-Owner-Key", up.OwnerKey}, other...), 200},
		"another token with a wrong key":  {append([]string{"X-Owner-Key", "wrong"}, other...), 403},
		"the key alone":                   {[]string{"Authorization", "Bearer " + up.OwnerKey}, 401},
		"another user":                    {uwe, 403},
		"another user with the key":       {append([]string{"Authorization", "Bearer " + up.OwnerKey}, uwe...), 200},
		"somebody who reads with the key": {append([]string{"X-Owner-Key", up.OwnerKey}, cookieOf(t, s, "rita")...), 403},
		"an admin":                        {cookieOf(t, s, "alice"), 200},
	} {
		if got := patch(c.header...); got != c.want {
			t.Errorf("%s gets %d, want %d", name, got, c.want)
		}
	}
	form := s.do("GET", up.Link+"?open=all", nil, uwe...).body
	if !strings.Contains(form, `id="key-about"`) {
		t.Error("the page asks another user for no key")
	}
	made := s.do("POST", "/upload", strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"e.txt\"\r\n\r\n"+tinyDump+"\r\n--b--\r\n"), append(uwe, "Content-Type", "multipart/form-data; boundary=b")...)
	own := s.do("GET", made.header.Get("Location")+"?open=all", nil, uwe...)
	if made.status != 303 || own.status != 200 || strings.Contains(own.body, `name="key"`) || !strings.Contains(own.body, `/delete"`) {
		t.Errorf("the user's own case: %d, %d", made.status, own.status)
	}
}

func TestAResultForAccountsIsForNobodyElse(t *testing.T) {
	s, st := passwordSite(t)
	ci := token(t, st, "ci", access.Uploader, time.Time{})
	up := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/d.txt?wait=1", strings.NewReader(tinyDump), ci...).body)
	freeze := func(body string) share.Result {
		r := s.do("POST", "/api/v1/permalinks", strings.NewReader(body), append([]string{"Content-Type", jsonKind}, ci...)...)
		if r.status != 201 {
			t.Fatalf("%s gives %d %s", body, r.status, r.body)
		}
		return decode[share.Result](t, r.body)
	}
	public, inner := freeze(`{"case":"`+up.Case+`","title":"the pool leaks"}`), freeze(`{"case":"`+up.Case+`","audience":"account","title":"the pool leaks"}`)
	if r := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","audience":"world"}`), append([]string{"Content-Type", jsonKind}, ci...)...); r.status != 400 {
		t.Errorf("another audience gives %d", r.status)
	}
	for _, suffix := range []string{"", ".md", ".txt", ".html", ".json", ".csv", "/a-title"} {
		if r := s.get(public.Link + suffix); r.status != 200 {
			t.Errorf("%s of a public one gives %d", suffix, r.status)
		}
		if r := s.get(inner.Link + suffix); r.status != 401 || strings.Contains(r.body, "main.leak") || strings.Contains(r.body, "the pool leaks") {
			t.Errorf("%s of an inner one gives %d %s", suffix, r.status, r.body)
		}
		if r := s.do("GET", inner.Link+suffix, nil, ci...); r.status != 200 {
			t.Errorf("%s of an inner one gives an account %d", suffix, r.status)
		}
	}
	if r := s.do("GET", inner.Link, nil, "Accept", "text/html"); r.status != 303 || !strings.HasPrefix(r.header.Get("Location"), "/login?next=%2Fp%2F") {
		t.Errorf("a browser gets %d to %s", r.status, r.header.Get("Location"))
	}
	t.Run("its key withdraws it without an account", func(t *testing.T) {
		if r := s.do("DELETE", "/api/v1/permalinks/"+inner.ID, nil, "Authorization", "Bearer "+inner.OwnerKey); r.status != 204 {
			t.Errorf("%d", r.status)
		}
		if r := s.get(inner.Link); r.status != 401 {
			t.Errorf("then nobody gets %d", r.status)
		}
		if r := s.do("GET", inner.Link, nil, ci...); r.status != 410 {
			t.Errorf("then an account gets %d", r.status)
		}
		if r := s.do("POST", public.Link+"/withdraw", nil, cookieOf(t, s, "alice")...); r.status != 303 {
			t.Errorf("an admin withdraws with %d", r.status)
		}
		if r := s.get(public.Link); r.status != 410 {
			t.Errorf("then the public one gives %d", r.status)
		}
	})
}

func TestTheAuditLogNamesWhoDidWhatAndHoldsNoEvidence(t *testing.T) {
	s, st := passwordSite(t)
	alice := cookieOf(t, s, "alice")
	ci := token(t, st, "ci", access.Uploader, time.Time{})
	up := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/secret-host.txt?wait=1", strings.NewReader(tinyDump), ci...).body)
	s.do("PATCH", "/api/v1/cases/"+up.Case, strings.NewReader(`{"title":"`+secretTitle+`"}`), append([]string{"Content-Type", jsonKind}, ci...)...)
	made := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`), append([]string{"Content-Type", jsonKind}, ci...)...).body)
	s.do("DELETE", "/api/v1/permalinks/"+made.ID, nil, "Authorization", "Bearer "+made.OwnerKey)
	s.do("POST", "/login", strings.NewReader("user=my+password&password=x"), "Content-Type", formType)
	s.do("POST", "/cases/"+secretTitle+"%20x/delete", nil, "Authorization", "Bearer ld_wrong")
	s.do("POST", up.Link+"/delete", nil, alice...)
	type row struct{ Account, Action, Subject string }
	var got []row
	lines := s.do("GET", "/audit.jsonl", nil, alice...)
	for line := range strings.Lines(lines.body) {
		var e struct {
			row
			At, Sender, Route, Request string
			Status                     int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if e.At == "" || e.Sender != "127.0.0.1" || e.Route == "" || e.Request == "" || e.Status == 0 {
			t.Errorf("something is missing in %s", line)
		}
		got = append(got, e.row)
	}
	result := "result " + made.ID[:8]
	want := []row{
		{"user alice", "login", ""}, {"token ci", "upload", "case " + up.Case + ", bundle " + up.ID}, {"token ci", "edit", "case " + up.Case},
		{"token ci", "share", "case " + up.Case + ", " + result}, {"nobody", "withdraw", result}, {"nobody", "login", ""}, {"nobody", "refuse", ""}, {"user alice", "delete", "case " + up.Case},
	}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d is %v, want %v", i+1, got[i], want[i])
		}
	}
	pages := s.do("GET", "/server?action=delete", nil, alice...)
	if !strings.Contains(pages.body, "case "+up.Case) || strings.Contains(pages.body, "token ci") {
		t.Error("the page does not choose an action")
	}
	// The token ci stands in the list of tokens of an admin.
	for user, sees := range map[string]bool{"alice": true, "uwe": false, "rita": false} {
		page := s.do("GET", "/server", nil, cookieOf(t, s, user)...)
		for _, word := range []string{"Audit log", "API tokens", ">ci<", "case " + up.Case} {
			if page.status != 200 || strings.Contains(page.body, word) != sees {
				t.Errorf("%s gets %d, with %q: %v", user, page.status, word, !sees)
			}
		}
	}
	old := s.do("GET", "/audit?action=delete", nil, alice...)
	if to := old.header.Get("Location"); old.status != 303 || to != "/server?action=delete#audit" {
		t.Errorf("the address of earlier pages leads to %q (%d)", to, old.status)
	}
	for _, never := range []string{secretTitle, "secret-host", made.ID, made.OwnerKey, "main.leak", "my password", "ld_"} {
		if strings.Contains(lines.body, never) || strings.Contains(s.do("GET", "/server", nil, alice...).body, never) {
			t.Errorf("it holds %q", never)
		}
	}
}
