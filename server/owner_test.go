package server

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"leakdiff/store"
)

// frozenByForm freezes a case by the form of the share page, and returns the address and
// the cookie.
func frozenByForm(t *testing.T, s *site, caseID string, fields ...string) (link string, key *http.Cookie) {
	t.Helper()
	form := url.Values{"case": {caseID}, "redact": {"on"}, "keep": {"90d"}, "title": {"the pool leaks"}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := s.do("POST", "/share", strings.NewReader(form.Encode()), "Content-Type", formType)
	set := (&http.Response{Header: r.header}).Cookies()
	if r.status != 200 || len(set) != 1 {
		t.Fatalf("freezing gave %d with the cookies %v", r.status, set)
	}
	whole, err := url.Parse(between(r.body, `id="link" autocomplete="off" value="`, `"`))
	if err != nil {
		t.Fatal(err)
	}
	return whole.Path, set[0]
}

func TestTheBrowserThatFrozeAResultMayChangeIt(t *testing.T) {
	s := newSite(t)
	up := s.put("dump.txt", []byte(tinyDump))
	link, key := frozenByForm(t, s, up.Case)
	if key.Path != link || !key.HttpOnly || key.SameSite != http.SameSiteStrictMode || key.Secure || key.Value == "" {
		t.Errorf("the cookie of %s is %v", link, key)
	}
	if days := time.Until(key.Expires).Hours() / 24; days < 89 || days > 90 {
		t.Errorf("the cookie ends in %.1f days, want the 90 of the result", days)
	}
	cookie := key.Name + "=" + key.Value
	withdraw, extend := `action="`+link+`/withdraw"`, `action="`+link+`/extend"`
	s.run(t, []scenario{
		{name: "its page offers both", path: link, header: []string{"Cookie", cookie}, status: 200, want: []string{withdraw, extend}, never: []string{key.Value}},
		{name: "to nobody else", path: link, status: 200, never: []string{"<form"}},
		{name: "nor with another key", path: link, header: []string{"Cookie", key.Name + "=wrong"}, status: 200, never: []string{"<form"}},
		{name: "nor in the file", path: link + ".html", header: []string{"Cookie", cookie}, status: 200, never: []string{"<form"}},
		{name: "no key, no change", method: "POST", path: link + "/withdraw", body: "", header: []string{"Content-Type", formType}, status: 403},
		{name: "a typed key counts before the cookie", method: "POST", path: link + "/withdraw", body: "key=wrong", header: []string{"Content-Type", formType, "Cookie", cookie}, status: 403},
		{name: "a key in the address does not count", method: "POST", path: link + "/withdraw?key=" + key.Value, body: "", header: []string{"Content-Type", formType}, status: 403},
		{name: "another time is kept", method: "POST", path: link + "/extend", body: "keep=7d", header: []string{"Content-Type", formType, "Cookie", cookie}, status: 303},
		{name: "and shown", path: link, status: 200, want: []string{"expires in 7\u00a0days, on "}},
		{name: "no time is refused", method: "POST", path: link + "/extend", body: "keep=soon", header: []string{"Content-Type", formType, "Cookie", cookie}, status: 400},
	})
	r := s.do("POST", link+"/withdraw", strings.NewReader("key="), "Content-Type", formType, "Cookie", cookie)
	set := (&http.Response{Header: r.header}).Cookies()
	if r.status != 303 || len(set) != 1 || set[0].MaxAge >= 0 || set[0].Path != link {
		t.Errorf("withdrawing with the cookie gave %d and %v", r.status, set)
	}
	if r := s.get(link); r.status != 410 {
		t.Errorf("then the page gives %d", r.status)
	}
}

func TestTheKeyOfAResultStaysBelowThePathOfAProxy(t *testing.T) {
	s := startSite(t, openStore(t), Config{BaseURL: "https://h.example/leak/", Hosts: []string{"h.example"}})
	up := s.put("dump.txt", []byte(tinyDump))
	link, key := frozenByForm(t, s, up.Case, "keep", "keep")
	if !strings.HasPrefix(link, "/leak/p/") || key.Path != link || !key.Secure {
		t.Errorf("%s has the cookie %v", link, key)
	}
	if days := time.Until(key.Expires).Hours() / 24; days < 300 || days > 400 {
		t.Errorf("the cookie of a result without an end lasts %.0f days", days)
	}
}

func TestTheOwnerOfALinkComputesItAgain(t *testing.T) {
	st := openStore(t)
	s := startSite(t, st, Config{Listen: "192.0.2.1:8080"})
	up := s.put("dump.txt", []byte(tinyDump))
	link, key := frozenByForm(t, s, up.Case)
	if r := s.do("POST", link+"/again", strings.NewReader(""), "Content-Type", formType); r.status != 403 {
		t.Errorf("without a key it gives %d", r.status)
	}
	if r := s.do("POST", link+"/again", strings.NewReader("key="), "Content-Type", formType, "Cookie", key.Name+"="+key.Value); r.status != 200 {
		t.Errorf("with the key of the link it gives %d: %s", r.status, r.body)
	}
}

func TestAResultSaysWhenItEndsAndWhy(t *testing.T) {
	began := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	c := &clock{at: began}
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{Now: c.now})
	up := s.put("dump.txt", []byte(tinyDump))
	link, _ := frozenByForm(t, s, up.Case)
	mine, key := frozenByForm(t, s, up.Case)
	for _, at := range []struct {
		after time.Duration
		want  string
	}{
		{0, "expires in 90\u00a0days, on 20 Feb 2027"},
		{time.Hour, "expires in 90\u00a0days, on 20 Feb 2027"},
		{25 * time.Hour, "expires in 89\u00a0days, on 20 Feb 2027"},
		{89*24*time.Hour + time.Hour, "expires in 23\u00a0hours, on 20 Feb 2027"},
		{90*24*time.Hour - time.Minute, "expires within an hour, on 20 Feb 2027"},
	} {
		c.move(began.Add(at.after).Sub(c.now()))
		if page := s.get(link).body; !strings.Contains(page, at.want) {
			t.Errorf("after %v: no %q in %s", at.after, at.want, between(page, `class="seal"`, "</div>"))
		}
		for _, twin := range []string{".md", ".txt", ".html"} {
			if text := s.get(link + twin).body; !strings.Contains(text, "expires 20 Feb 2027") {
				t.Errorf("%s does not tell the day", twin)
			}
		}
	}
	s.do("POST", mine+"/withdraw", strings.NewReader("key="+key.Value), "Content-Type", formType)
	c.move(2 * 24 * time.Hour)
	reasons := []string{"Its time was over", "Its owner withdrew it", "The case it was made of was deleted"}
	all := append([]string{"the pool leaks", "snapshot", "22 Nov 2026"}, reasons...)
	data := append([]string{`"title": "the pool leaks"`, `"made_at": "2026-11-22T10:00:00Z"`, `"counts": "1`, `"code": "gone"`}, reasons...)
	for _, gone := range []string{link, mine} {
		for suffix, want := range map[string][]string{"": all, ".md": all, ".txt": all, ".jira": all, ".html": all, ".json": data} {
			r := s.get(gone + suffix)
			if r.status != 410 {
				t.Errorf("%s gives %d", suffix, r.status)
			}
			for _, w := range want {
				if !strings.Contains(strings.Join(strings.Fields(r.body), " "), w) {
					t.Errorf("%q does not say %q:\n%s", suffix, w, r.body)
				}
			}
			if isPage := strings.Contains(r.body, "<html"); isPage != (suffix == "" || suffix == ".html") {
				t.Errorf("%q is a page: %v", suffix, isPage)
			}
		}
		if r := s.do("GET", gone, nil, "Accept", "application/json"); r.status != 410 || !strings.Contains(r.body, `"result"`) {
			t.Errorf("to a program it gives %d %s", r.status, r.body)
		}
	}
	for suffix, want := range map[string]string{"": "The address was cut", ".md": "The address was cut", ".json": "The address was cut"} {
		if r := s.get("/p/" + strings.Repeat("a", 32) + suffix); r.status != 404 || !strings.Contains(r.body, want) {
			t.Errorf("one that never was gives %d %s", r.status, r.body)
		}
	}
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
