package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// prefixes are 10.0.0.0/8 and ::1.
func prefixes() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

func TestTheSenderIsTheLastAddressThatIsNoTrustedProxy(t *testing.T) {
	a := New(Config{Policy: Policy{Mode: Open, Trusted: prefixes()}})
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"nobody stands between", "192.0.2.7:1", nil, "192.0.2.7"},
		{"a stranger says whatever he likes", "192.0.2.7:1", []string{"10.0.0.1, 198.51.100.1"}, "192.0.2.7"},
		{"a proxy names its client", "10.0.0.1:1", []string{"192.0.2.7"}, "192.0.2.7"},
		{"a client puts addresses before its own", "10.0.0.1:1", []string{"198.51.100.1, 192.0.2.7"}, "192.0.2.7"},
		{"two proxies", "10.0.0.1:1", []string{"192.0.2.7, 10.0.0.2"}, "192.0.2.7"},
		{"two headers", "10.0.0.1:1", []string{"198.51.100.1", "192.0.2.7"}, "192.0.2.7"},
		{"only proxies", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"a proxy that names nobody", "10.0.0.1:1", nil, "10.0.0.1"},
		{"no address ends the way", "10.0.0.1:1", []string{"192.0.2.7, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"IPv6 that stands for IPv4", "[::ffff:10.0.0.1]:1", []string{"::ffff:192.0.2.7"}, "192.0.2.7"},
		{"IPv6", "[::1]:1", []string{"2001:db8::7"}, "2001:db8::7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.peer
			r.Header["X-Forwarded-For"] = c.forwarded
			if got := a.Sender(r); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAProxyNamesAUserAndNobodyElseDoes(t *testing.T) {
	a := New(Config{Policy: Policy{Mode: ByProxy, Trusted: prefixes(), Proxy: Proxy{
		Header: "X-Forwarded-User", Groups: "X-Forwarded-Groups", Default: Reader, Roles: map[string]Role{"uwe": Uploader, "group:ops": Admin, "none": Nobody},
	}}})
	for _, c := range []struct {
		name, peer    string
		users, groups []string
		want          Identity
		refused       bool
	}{
		{"no user", "10.0.0.1:1", nil, nil, Identity{}, false},
		{"an empty user", "10.0.0.1:1", []string{""}, nil, Identity{}, false},
		{"the default role", "10.0.0.1:1", []string{"rita"}, nil, Identity{Account: "user rita", Role: Reader}, false},
		{"the role of a user", "10.0.0.1:1", []string{"uwe"}, nil, Identity{Account: "user uwe", Role: Uploader}, false},
		{"a user without a role", "10.0.0.1:1", []string{"none"}, nil, Identity{Account: "user none"}, false},
		{"the role of a group", "10.0.0.1:1", []string{"rita"}, []string{"dev, ops"}, Identity{Account: "user rita", Role: Admin}, false},
		{"a user called like a group", "10.0.0.1:1", []string{"ops"}, nil, Identity{Account: "user ops", Role: Reader}, false},
		{"a user called like the role of a group", "10.0.0.1:1", []string{"group:ops"}, nil, Identity{Account: "user group:ops", Role: Reader}, false},
		{"groups without a user", "10.0.0.1:1", nil, []string{"ops"}, Identity{}, false},
		{"a stranger", "192.0.2.7:1", []string{"uwe"}, nil, Identity{}, true},
		{"a stranger without a user", "192.0.2.7:1", nil, []string{"ops"}, Identity{}, false},
		{"two users", "10.0.0.1:1", []string{"rita", "uwe"}, nil, Identity{}, true},
		{"a name with a line break", "10.0.0.1:1", []string{"rita\nuwe"}, nil, Identity{}, true},
		{"a name without an end", "10.0.0.1:1", []string{strings.Repeat("u", 201)}, nil, Identity{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.peer
			r.Header["X-Forwarded-User"], r.Header["X-Forwarded-Groups"] = c.users, c.groups
			got, err := a.Identify(r)
			if got != c.want || (err != nil) != c.refused {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestALoginLeadsOnlyToThisServer(t *testing.T) {
	for address, want := range map[string]string{
		"/cases/c1?open=all#p-forms": "/cases/c1?open=all#p-forms", "/": "/", "": "/",
		"//evil.example": "/", "///evil.example": "/", `/\evil.example`: "/", `\\evil.example`: "/", "/\t/evil.example": "/", "https://evil.example/": "/",
		"javascript:alert(1)": "/", "evil.example": "/", "/a\r\nSet-Cookie: x=y": "/", " /x": "/", "/" + strings.Repeat("x", 3000): "/",
		"/p/%5C..": "/p/%5C..", "/%2F/evil.example": "/%2F/evil.example",
	} {
		if got := LocalAddress(address); got != want {
			t.Errorf("%q leads to %q, want %q", address, got, want)
		}
	}
}

// ofReference is the hash of "password" with the salt "somesalt" in the tests of the
// reference implementation of Argon2.
const ofReference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"

func TestHashesOfOtherProgramsFit(t *testing.T) {
	h, ok := parsePHC(ofReference)
	if !ok || !h.fits("password") || h.fits("passwore") || h.fits("") {
		t.Errorf("the hash of the reference: %v", ok)
	}
	own, ok := parsePHC(HashPassword("correct horse"))
	if !ok || !own.fits("correct horse") || own.fits("correct horse ") {
		t.Errorf("an own hash: %v", ok)
	}
}

func TestAHashThatCostsTooMuchOrTooLittleIsNone(t *testing.T) {
	for _, text := range []string{
		"", "password", "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		strings.Replace(ofReference, "v=19", "v=16", 1), strings.Replace(ofReference, "m=65536", "m=65537", 1), strings.Replace(ofReference, "m=65536", "m=7", 1),
		strings.Replace(ofReference, "t=2", "t=17", 1), strings.Replace(ofReference, "t=2", "t=0", 1), strings.Replace(ofReference, "p=1", "p=0", 1), strings.Replace(ofReference, "p=1", "p=17", 1),
		strings.Replace(ofReference, "p=1", "p=1,x=2", 1), strings.Replace(ofReference, "c29tZXNhbHQ", "c29t", 1), ofReference[:60], ofReference + "$x",
	} {
		if _, ok := parsePHC(text); ok {
			t.Errorf("%q is taken for a hash", text)
		}
	}
}

func TestAPasswordFileNamesItsWrongLine(t *testing.T) {
	line := "alice:admin:" + ofReference
	for name, c := range map[string]struct{ text, want string }{
		"no colon":       {line + "\nbob\n", "line 2"},
		"another role":   {"# people\n\nbob:root:" + ofReference, "line 3"},
		"no hash":        {"bob:read:secret", "line 1"},
		"twice the same": {line + "\n" + line, "line 2"},
		"nobody":         {"# nobody\n", "no user"},
		"no name":        {":read:" + ofReference, "line 1"},
	} {
		path := filepath.Join(t.TempDir(), "passwords")
		os.WriteFile(path, []byte(c.text), 0o600)
		_, err := ReadPasswords(path, slog.New(slog.DiscardHandler))
		var f *analysis.Fault
		if !errors.As(err, &f) || !strings.Contains(f.Error(), c.want) || strings.Contains(f.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := PasswordLine("a:b", Reader, "long enough"); err == nil {
		t.Error("a name with a colon is taken")
	}
	if _, err := PasswordLine("bob", Reader, "short"); err == nil {
		t.Error("a short password is taken")
	}
}

func TestAChangedPasswordFileCountsAtOnceAndABrokenOneDoesNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passwords")
	write := func(text string, at int) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, time.Unix(int64(at), 0), time.Unix(int64(at), 0))); err != nil {
			t.Fatal(err)
		}
	}
	write("alice:read:"+ofReference, 1)
	p, err := ReadPasswords(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	role := func() string {
		u, _, known := p.user("alice")
		return fmt.Sprint(known, " ", u.role)
	}
	if got := role(); got != "true read" {
		t.Errorf("first %s", got)
	}
	write("alice:admin:"+ofReference, 2)
	if got := role(); got != "true admin" {
		t.Errorf("changed %s", got)
	}
	write("alice", 3)
	if got := role(); got != "true admin" {
		t.Errorf("broken %s", got)
	}
	write("bob:read:"+ofReference, 4)
	if got := role(); got != "false " {
		t.Errorf("removed %s", got)
	}
}

func TestRefusalsAreCountedForEachSenderAndForAll(t *testing.T) {
	var b budget
	now := time.Unix(60, 0)
	taken := func(sender string, n int) (sum int) {
		for range n {
			if b.take(sender, now) {
				sum++
			}
		}
		return sum
	}
	if one, all := taken("a", 100), 0; one != 10 {
		t.Errorf("%d of one sender", one)
	} else {
		for i := range 100 {
			all += taken(fmt.Sprint(i), 1)
		}
		if one+all != 60 {
			t.Errorf("%d of all", one+all)
		}
	}
	now = now.Add(time.Minute)
	if taken("a", 1) != 1 {
		t.Error("the next minute begins without room")
	}
}

func TestAServerOfOneMachineAnswersNoProxy(t *testing.T) {
	a := New(Config{Listen: "127.0.0.1:8080"})
	for name, header := range map[string]string{"nobody passed it on": "", "nginx": "X-Forwarded-For", "a proxy of RFC 7239": "Forwarded", "another": "X-Real-IP", "a cache": "Via"} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/audit", nil)
			r.RemoteAddr = "127.0.0.1:1"
			if header != "" {
				r.Header.Set(header, "192.0.2.1")
			}
			who, err := a.Identify(r)
			if header == "" && (err != nil || who.Role != Admin) || header != "" && (err == nil || who != Identity{}) {
				t.Errorf("it is %+v, %v", who, err)
			}
		})
	}
}
