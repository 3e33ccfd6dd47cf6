package access

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"leakdiff/store"
)

func FuzzPasswordFile(f *testing.F) {
	for _, seed := range []string{"alice:admin:" + ofReference, "# comment\n\n bob:read:" + ofReference + "\r\n", "a:b:c", "x:read:$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA", ":admin:" + ofReference, "a:admin:" + ofReference + "\na:read:" + ofReference} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		users, _, err := parseUsers([]byte(text))
		if (err == nil) != (len(users) > 0) {
			t.Fatalf("%d users, %v", len(users), err)
		}
		for name, u := range users {
			if !userName(name) || u.role == Nobody || len(u.stamp) == 0 {
				t.Errorf("%q has the role %v", name, u.role)
			}
			if h := u.hash; h.memory > mostMemory || h.time > mostTime || h.threads > mostThreads || h.time < 1 || h.threads < 1 || len(h.salt) < 8 || len(h.hash) < 16 {
				t.Errorf("%q costs %d KiB, %d passes, %d threads", name, h.memory, h.time, h.threads)
			}
			if !strings.Contains(text, name+":"+u.role.String()+":$argon2id$") {
				t.Errorf("no line names %q as %v", name, u.role)
			}
		}
	})
}

func FuzzLocalAddress(f *testing.F) {
	for _, seed := range []string{"/cases/c1?open=all#x", "//evil.example", `/\evil.example`, "/\t/evil.example", "https://evil.example/", "javascript:alert(1)", "/%2F/evil", "/..//evil.example", "/?next=//evil"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://leaks.example/login")
	if err != nil {
		f.Fatal(err)
	}
	// A browser drops tabs and line ends from an address, and reads a backslash as a slash.
	browser := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/")
	f.Fuzz(func(t *testing.T, address string) {
		got := LocalAddress(address)
		read := browser.Replace(got)
		u, err := base.Parse(strings.TrimSpace(read))
		if err != nil || u.Scheme != base.Scheme || u.Host != base.Host || u.User != nil || strings.HasPrefix(read, "//") {
			t.Errorf("%q leads to %q, which is %v, %v", address, got, u, err)
		}
		if again := LocalAddress(got); again != got {
			t.Errorf("%q became %q, then %q", address, got, again)
		}
	})
}

// oneSecret are accounts with one token and one session, of the same secret.
type oneSecret struct{ Accounts }

const theSecret = "ld_abcdefghijklmnopqrstuvwxyz234567"

func (oneSecret) Token(_ context.Context, secret string) (store.Token, bool, error) {
	return store.Token{Name: "ci", Role: "upload", Expires: time.Unix(1<<40, 0)}, secret == theSecret, nil
}

func (oneSecret) Session(_ context.Context, secret string) (string, []byte, bool, error) {
	return userKind + "nobody-of-the-file", nil, secret == theSecret, nil
}

func FuzzIdentify(f *testing.F) {
	f.Add("192.0.2.7:1", "Bearer "+theSecret, "leakdiff-session="+theSecret, "rita", "ops", "10.0.0.1")
	f.Add("10.0.0.1:1", "bearer\t"+theSecret, "a=b; leakdiff-session=\"x", "rita\n", "dev, ops", "192.0.2.7, unknown")
	f.Add("[::1%eth0]:1", "", "__Host-leakdiff=;;", "", ",,", "::ffff:10.0.0.1")
	f.Add("", "Basic YTpi", "=", "\xff", "group:ops", "")
	proxy := Proxy{Header: "X-Forwarded-User", Groups: "X-Forwarded-Groups", Default: Reader, Roles: map[string]Role{"group:ops": Admin}}
	f.Fuzz(func(t *testing.T, peer, authorization, cookie, user, groups, forwarded string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		for name, value := range map[string]string{"Authorization": authorization, "Cookie": cookie, proxy.Header: user, proxy.Groups: groups, "X-Forwarded-For": forwarded} {
			r.Header[name] = []string{value}
		}
		for _, mode := range []Mode{ByPassword, ByProxy} {
			a := New(Config{Policy: Policy{Mode: mode, Trusted: prefixes(), Proxy: proxy, Passwords: &Passwords{log: slog.New(slog.DiscardHandler)}}, Accounts: oneSecret{}, Now: time.Now})
			at, ok := peerOf(r)
			trusted := ok && a.trusts(at)
			if sender := a.Sender(r); !trusted && ok && sender != at.String() {
				t.Errorf("%s calls itself %s", peer, sender)
			}
			who, err := a.Identify(r)
			byToken := strings.Contains(authorization, theSecret) && who.Account == tokenKind+"ci" && who.Role == Uploader
			byHeader := mode == ByProxy && trusted && plainName(user) && who.Account == userKind+user
			if (who.Role != Nobody || who.Account != "") && (err != nil || !byToken && !byHeader) {
				t.Errorf("%s: %+v, %v", mode, who, err)
			}
		}
	})
}
