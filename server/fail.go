package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"leakdiff/analysis"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// fail answers a page's refusal: what, where, why and what to do, in the form
// that the client asked for.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if strings.HasPrefix(r.URL.Path, "/api/") || strings.Contains(r.Header.Get("Accept"), "application/json") {
		s.failAPI(w, r, err)
		return
	}
	if _, suffix := twin(r.URL.Path); suffix == ".json" {
		s.failAPI(w, r, err)
		return
	} else if suffix != "" {
		f, status := s.fault(err)
		setRetry(w, status)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		io.WriteString(w, f.Error()+"\n")
		return
	}
	f, status := s.fault(err)
	id := ""
	if f.Code == "internal" {
		id, f.Where = strings.TrimPrefix(f.Where, "error "), ""
	}
	v := view.NewError(status, f, id)
	v.Shell.Engine = s.engine()
	setRetry(w, status)
	s.render(w, r, status, page.Error(v))
}

// problemJSON is RFC 9457.
type problemJSON struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Code, Where and Hint are leakdiff's own members.
	Code  string `json:"code"`
	Where string `json:"where,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

func problemOf(f *analysis.Fault, status int) problemJSON {
	return problemJSON{Type: "about:blank", Title: f.What, Status: status, Detail: f.Why, Code: f.Code, Where: f.Where, Hint: f.Hint}
}

// failAPI answers a refusal as problem+json.
func (s *Server) failAPI(w http.ResponseWriter, _ *http.Request, err error) {
	p := problemOf(s.fault(err))
	writeProblem(w, p.Status, p)
}

// setRetry tells a client that what is refused now is taken soon.
func setRetry(w http.ResponseWriter, status int) {
	if status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
}

func writeProblem(w http.ResponseWriter, status int, v any) {
	body, _ := json.MarshalIndent(v, "", " ")
	setRetry(w, status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, refuse("not_found", "there is no such page", r.URL.Path, "the address is wrong, or what it showed was deleted", "start from the list of cases"))
}

func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, refuse("method", "this address does not take "+r.Method, r.URL.Path, "", "see the help page for the addresses that do"))
}
