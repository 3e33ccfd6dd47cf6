// Package account signs people in and out. It checks no password:
// access does.
package account

import (
	"errors"
	"net/http"

	"leakdiff/analysis"
	"leakdiff/server/access"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

type Config struct {
	Respond *response.Responder
	Access  *access.Access
}

type Service struct {
	respond *response.Responder
	access  *access.Access
}

func New(cfg Config) *Service {
	return &Service{respond: cfg.Respond, access: cfg.Access}
}

// LoginPage asks for a name and a password. Where no password is asked for, or the browser
// is signed in, it leads on.
func (s *Service) LoginPage(w http.ResponseWriter, r *http.Request) {
	next := access.LocalAddress(r.URL.Query().Get("next"))
	if s.access.Mode() != access.ByPassword || access.Of(r.Context()).Session {
		s.respond.Redirect(w, r, next)
		return
	}
	s.login(w, r, http.StatusOK, next, "", "")
}

func (s *Service) login(w http.ResponseWriter, r *http.Request, status int, next, user, wrong string) {
	v := view.NewLogin(next, user, wrong)
	v.Shell.Engine = s.respond.Engine()
	w.Header().Set("Cache-Control", "no-store")
	s.respond.Page(w, r, status, page.HTML(v.Page()))
}

// Login handles the form of the login page.
func (s *Service) Login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	if s.access.Mode() != access.ByPassword {
		s.respond.Fail(w, r, response.Refuse("not_found", "this server asks for no password", "", "", "open the start page"))
		return
	}
	name, next := r.PostForm.Get("user"), access.LocalAddress(r.PostForm.Get("next"))
	err := s.access.SignIn(w, r, name, r.PostForm.Get("password"))
	var f *analysis.Fault
	switch {
	case err == nil:
		w.Header().Set("Cache-Control", "no-store")
		s.respond.Redirect(w, r, next)
	case errors.As(err, &f) && f.Code == "unauthorized" && response.WantsPage(r):
		s.login(w, r, http.StatusUnauthorized, next, name, "The name or the password is wrong.")
	default:
		s.respond.Fail(w, r, err)
	}
}

// Logout ends the session of the browser, and has it forget the pages that it kept.
func (s *Service) Logout(w http.ResponseWriter, r *http.Request) {
	if err := s.access.SignOut(w, r); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	w.Header().Set("Clear-Site-Data", `"cache"`)
	s.respond.Redirect(w, r, "/login")
}
