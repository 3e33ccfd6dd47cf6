// Package account signs people in and out, and shows the audit log. It checks no password:
// access does.
package account

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/access"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// Log reads the audit log.
type Log interface {
	AuditLog(ctx context.Context, q store.AuditQuery) ([]store.AuditEntry, error)
}

type Config struct {
	Log     Log
	Respond *response.Responder
	Access  *access.Access
}

type Service struct {
	log     Log
	respond *response.Responder
	access  *access.Access
}

func New(cfg Config) *Service {
	return &Service{log: cfg.Log, respond: cfg.Respond, access: cfg.Access}
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

// auditPage is how many entries a page of the audit log shows, and auditBatch how many are
// read at once for the lines.
const (
	auditPage  = 100
	auditBatch = 500
)

// AuditPage shows the audit log, the newest entry first: ?action=, ?text= and ?before=.
func (s *Service) AuditPage(w http.ResponseWriter, r *http.Request) {
	q, err := chosen(r)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	// One entry more than a page shows that there is another page.
	q.Limit = auditPage + 1
	found, err := s.log.AuditLog(r.Context(), q)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	in := view.AuditInput{Action: q.Action, Text: q.Text, Actions: access.Actions(), Newest: q.Before == 0}
	if len(found) > auditPage {
		found = found[:auditPage]
		in.Older = found[auditPage-1].Number
	}
	for _, e := range found {
		in.Rows = append(in.Rows, view.AuditRow{At: e.At, Account: e.Account, Role: e.Role, Action: e.Action, Subject: e.Subject, Route: e.Route, Status: e.Status, Address: e.Sender})
	}
	v := view.NewAudit(in)
	v.Shell.Engine = s.respond.Engine()
	w.Header().Set("Cache-Control", "no-store")
	s.respond.Page(w, r, http.StatusOK, page.HTML(v))
}

// chosen reads which entries are asked for.
func chosen(r *http.Request) (q store.AuditQuery, err error) {
	values := r.URL.Query()
	q.Action, q.Text = values.Get("action"), values.Get("text")
	for name, to := range map[string]*int64{"before": &q.Before, "after": &q.After} {
		if !values.Has(name) {
			continue
		}
		if *to, err = strconv.ParseInt(values.Get(name), 10, 64); err != nil || *to < 0 {
			return q, response.Refuse("bad_request", "the "+name+" was not understood", values.Get(name), "it is the number of an entry", "leave it out for all")
		}
	}
	return q, nil
}

// entryJSON is one line of the audit log.
type entryJSON struct {
	Number  int64     `json:"number"`
	At      time.Time `json:"at"`
	Account string    `json:"account"`
	Role    string    `json:"role"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	Route   string    `json:"route"`
	Status  int       `json:"status"`
	Sender  string    `json:"sender"`
	Request string    `json:"request"`
}

// AuditLines writes the audit log as JSON lines, the oldest entry first. ?after= continues
// after the last number that was read.
func (s *Service) AuditLines(w http.ResponseWriter, r *http.Request) {
	q, err := chosen(r)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	for q.Oldest, q.Limit = true, auditBatch; ; {
		found, err := s.log.AuditLog(r.Context(), q)
		if err != nil {
			panic(http.ErrAbortHandler) // an answer that only ends early would look complete
		}
		for _, e := range found {
			if err := lines.Encode(entryJSON(e)); err != nil {
				return
			}
			q.After = e.Number
		}
		if len(found) < auditBatch {
			break
		}
	}
	out.Flush()
}
