package share

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/access"
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
	if err := s.withdraw(r, id, ownerKey(r)); err != nil {
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
		err = s.extend(r, id, key, until)
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if key != "" {
		s.keepKey(w, id, key, until)
	}
	s.respond.Redirect(w, r, "/p/"+id)
}

// withdraw ends a result. It needs the owner key of the result, or an account that is admin.
func (s *Service) withdraw(r *http.Request, id, key string) error {
	ctx := context.WithoutCancel(r.Context())
	role := may(r, key)
	var err error
	if role == access.AdminRole {
		err = s.store.WithdrawAnyPermalink(ctx, id)
	} else {
		err = s.store.WithdrawPermalink(ctx, id, key)
	}
	if err == nil {
		s.logged(r, "result withdrawn", role, id)
	}
	return s.hidden(r, err)
}

// extend sets when a result ends. It needs what withdraw needs.
func (s *Service) extend(r *http.Request, id, key string, until time.Time) error {
	ctx := context.WithoutCancel(r.Context())
	role := may(r, key)
	var err error
	if role == access.AdminRole {
		err = s.store.ExtendAnyPermalink(ctx, id, until)
	} else {
		err = s.store.ExtendPermalink(ctx, id, key, until)
	}
	if err == nil {
		s.logged(r, "result extended", role, id, "expires", ends(until))
	}
	return s.hidden(r, err)
}

// may returns what a request changes a result by: its key, or the role of an admin.
func may(r *http.Request, key string) string {
	if key == "" && access.Administers(r) {
		return access.AdminRole
	}
	return access.OwnerRole
}

// logged logs what became of a result and by whom, with a part of its id. Refusals are in
// the audit log.
func (s *Service) logged(r *http.Request, what, role, id string, fields ...any) {
	s.log.Info(what, append(append(s.access.By(r, role), "result", access.ResultName(id)), fields...)...)
}

// hidden makes the refusals of a result that is not there and of a wrong key alike for those
// who may not read the server.
func (s *Service) hidden(r *http.Request, err error) error {
	if err == nil || access.Of(r.Context()).Role >= access.Reader {
		return err
	}
	var f *analysis.Fault
	if errors.As(err, &f) && (f.Code == "not_found" || f.Code == "forbidden" || f.Code == "gone") {
		return response.Refuse("unauthorized", "changing this result needs its owner key", "key", "the key is missing or wrong, or there is no such result", "it was shown when the result was frozen; or sign in as admin")
	}
	return err
}

// ends returns what the log says of the end of a result: zero is none.
func ends(until time.Time) string {
	if until.IsZero() {
		return "never"
	}
	return until.UTC().Format(time.RFC3339)
}
