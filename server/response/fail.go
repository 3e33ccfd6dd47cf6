package response

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"leakdiff/analysis"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// Fail answers with the refusal of a page (what, where, why and what to do) in the form
// that the client asked for.
func (s *Responder) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if strings.HasPrefix(r.URL.Path, "/api/") || strings.Contains(r.Header.Get("Accept"), "application/json") {
		s.FailAPI(w, r, err)
		return
	}
	if _, suffix := Twin(r.URL.Path); suffix == ".json" {
		s.FailAPI(w, r, err)
		return
	} else if suffix != "" {
		f, status := s.Fault(err)
		s.refused(r, f.Code)
		setRetry(w, status)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		io.WriteString(w, f.Error()+"\n")
		return
	}
	f, status := s.Fault(err)
	s.refused(r, f.Code)
	id := ""
	if f.Code == "internal" {
		id, f.Where = strings.TrimPrefix(f.Where, "error "), ""
	}
	v := view.NewError(status, f, id)
	v.Shell.Engine = s.Engine()
	setRetry(w, status)
	s.Page(w, r, status, page.HTML(v))
}

// WantsPage reports whether Fail would answer with a page: the request is that of a
// browser, not of a program.
func WantsPage(r *http.Request) bool {
	_, suffix := Twin(r.URL.Path)
	accept := r.Header.Get("Accept")
	return !strings.HasPrefix(r.URL.Path, "/api/") && (suffix == "" || suffix == ".html") && strings.Contains(accept, "text/html")
}

// ProblemJSON is RFC 9457.
type ProblemJSON struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Code, Where and Hint are leakdiff's own members.
	Code  string `json:"code"`
	Where string `json:"where,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// ProblemOf is the body of a refusal.
func ProblemOf(f *analysis.Fault, status int) ProblemJSON {
	return ProblemJSON{Type: "about:blank", Title: f.What, Status: status, Detail: f.Why, Code: f.Code, Where: f.Where, Hint: f.Hint}
}

// FailAPI answers with a refusal as problem+json.
func (s *Responder) FailAPI(w http.ResponseWriter, r *http.Request, err error) {
	p := ProblemOf(s.Fault(err))
	s.refused(r, p.Code)
	WriteProblem(w, p.Status, p)
}

func (s *Responder) refused(r *http.Request, code string) {
	if s.cfg.Refused != nil {
		s.cfg.Refused(r, code)
	}
}

// setRetry sets Retry-After for refusals that pass soon.
func setRetry(w http.ResponseWriter, status int) {
	if status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
}

// WriteProblem writes problem+json.
func WriteProblem(w http.ResponseWriter, status int, v any) {
	body, _ := json.MarshalIndent(v, "", " ")
	setRetry(w, status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

func (s *Responder) NotFound(w http.ResponseWriter, r *http.Request) {
	s.Fail(w, r, Refuse("not_found", "there is no such page", r.URL.Path, "the address is wrong, or what it showed was deleted", "start from the list of cases"))
}

func (s *Responder) MethodNotAllowed(w http.ResponseWriter, r *http.Request) {
	s.Fail(w, r, Refuse("method", "this address does not take "+r.Method, r.URL.Path, "", "see the help page for the addresses that do"))
}
