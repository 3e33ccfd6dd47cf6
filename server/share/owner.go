package share

import (
	"context"
	"net/http"
	"strings"
	"time"

	"leakdiff/server/response"
)

// ownerCookie holds the owner key of one frozen result, in the browser that froze it. Its
// path is that of the result, so that no other page gets it.
const ownerCookie = "leakdiff-owner"

// longestCookie is the longest time that browsers keep a cookie.
const longestCookie = 400 * 24 * time.Hour

// keepKey stores the owner key in the browser until the result expires. The zero time
// means never.
func (s *Service) keepKey(w http.ResponseWriter, id, key string, until time.Time) {
	last := s.cfg.Now().Add(longestCookie)
	if until.IsZero() || until.After(last) {
		until = last
	}
	c := s.keyCookie(id)
	c.Value, c.Expires, c.MaxAge = key, until.UTC(), max(1, int(until.Sub(s.cfg.Now()).Seconds()))
	http.SetCookie(w, &c)
}

// dropKey removes the owner key from the browser.
func (s *Service) dropKey(w http.ResponseWriter, id string) {
	c := s.keyCookie(id)
	c.MaxAge = -1
	http.SetCookie(w, &c)
}

func (s *Service) keyCookie(id string) http.Cookie {
	return http.Cookie{
		Name: ownerCookie, Path: s.respond.Path() + "/p/" + id, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(strings.ToLower(s.cfg.BaseURL), "https://"),
	}
}

// ownerKey returns the key that a form sends, else the one in the cookie.
func ownerKey(r *http.Request) string {
	if key := strings.TrimSpace(r.PostFormValue("key")); key != "" {
		return key
	}
	if c, err := r.Cookie(ownerCookie); err == nil {
		return c.Value
	}
	return ""
}

// WithdrawForm handles the form that withdraws a result.
func (s *Service) WithdrawForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	id := response.PathValue(r, "id")
	if err := s.store.WithdrawPermalink(context.WithoutCancel(r.Context()), id, ownerKey(r)); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.dropKey(w, id)
	s.respond.Redirect(w, r, "/p/"+id)
}

// ExtendForm handles the form that extends a result, counted from now.
func (s *Service) ExtendForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	id, key := response.PathValue(r, "id"), ownerKey(r)
	until, err := s.keepUntil(r.PostFormValue("keep"))
	if err == nil {
		err = s.store.ExtendPermalink(context.WithoutCancel(r.Context()), id, key, until)
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.keepKey(w, id, key, until)
	s.respond.Redirect(w, r, "/p/"+id)
}
