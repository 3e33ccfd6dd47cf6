package access

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/server/response"
)

// cookieName returns that of the cookie of a session. With https it has a prefix by which
// browsers refuse it from other hosts and by http.
func (a *Access) cookieName() string {
	if a.cfg.Secure {
		return "__Host-leakdiff"
	}
	return "leakdiff-session"
}

func (a *Access) cookie(secret string, seconds int) *http.Cookie {
	return &http.Cookie{Name: a.cookieName(), Value: secret, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: a.cfg.Secure, SameSite: http.SameSiteLaxMode}
}

// bySession returns the user of the cookie. A user who is no longer in the password file,
// or has another password, is nobody.
func (a *Access) bySession(r *http.Request) (Identity, error) {
	c, err := r.Cookie(a.cookieName())
	if err != nil {
		return Identity{}, nil
	}
	account, stamp, known, err := a.accounts.Session(r.Context(), c.Value)
	if err != nil || !known {
		return Identity{}, err
	}
	u, _, known := a.cfg.Passwords.user(strings.TrimPrefix(account, userKind))
	if !known || subtle.ConstantTimeCompare(u.stamp, stamp) != 1 {
		return Identity{}, nil
	}
	return Identity{Account: account, Role: u.role, Session: true}, nil
}

// SignIn checks a password and gives the browser a session. The error is a fault
// "unauthorized" that does not say which of both is wrong.
func (a *Access) SignIn(w http.ResponseWriter, r *http.Request, name, password string) error {
	stamp, ok := a.cfg.Passwords.check(r.Context(), name, password)
	// People type passwords into the field of the name: only names that exist are logged.
	if _, _, known := a.cfg.Passwords.user(name); known {
		Name(r, userKind+name)
	}
	if !ok {
		return response.Refuse("unauthorized", "the name or the password is wrong", "", "", "try again, or ask the operator of this server")
	}
	secret, err := a.accounts.AddSession(r.Context(), userKind+name, stamp, a.now().Add(sessionTime))
	if err != nil {
		return err
	}
	http.SetCookie(w, a.cookie(secret, int(sessionTime.Seconds())))
	return nil
}

// SignOut ends the session of the browser, also that of an old cookie.
func (a *Access) SignOut(w http.ResponseWriter, r *http.Request) error {
	if c, err := r.Cookie(a.cookieName()); err == nil {
		if err := a.accounts.EndSession(context.WithoutCancel(r.Context()), c.Value); err != nil {
			return err
		}
	}
	http.SetCookie(w, a.cookie("", -1))
	return nil
}

// longestNext bounds the address after signing in.
const longestNext = 2000

// LocalAddress returns a path of this server with its query, or "/" for any other address.
// Browsers read a backslash as a slash.
func LocalAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || len(address) > longestNext || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(address, "/") ||
		strings.HasPrefix(address, "//") || strings.ContainsFunc(address, func(c rune) bool { return c < 0x21 || c == '\\' || c == 0x7f }) {
		return "/"
	}
	return address
}
