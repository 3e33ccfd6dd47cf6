package casepage

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/response"
	"leakdiff/store"
)

// TriageForm stores the triage of a family and leads back to its page. The last one to
// save wins. The page shows if that replaced a mark made after the form was opened.
func (s *Service) TriageForm(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	form := r.PostForm
	process, err := url.QueryUnescape(form.Get("process"))
	series, seriesErr := url.QueryUnescape(form.Get("series"))
	if err = errors.Join(err, seriesErr); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	m := store.Mark{Process: process, Fingerprint: form.Get("fingerprint"), Triage: analysis.Triage{
		State: analysis.TriageState(form.Get("state")), Note: strings.TrimSpace(form.Get("note")), Outcome: strings.TrimSpace(form.Get("outcome")),
	}}
	before, err := s.setMark(r, id, m, form.Get("key"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	q := url.Values{"case": {id}, "series": {series}}
	if since(form.Get("seen"), before.At) && before.Words() != m.Words() {
		q.Set("over", "triage")
	}
	s.respond.Redirect(w, r, "/families/"+url.PathEscape(m.Fingerprint)+"?"+q.Encode()+"#triage")
}

// since reports whether something was written after the moment that a form names, in
// microseconds.
func since(seen string, at time.Time) bool {
	opened, err := strconv.ParseInt(seen, 10, 64)
	return err == nil && !at.IsZero() && at.UnixMicro() > opened
}

func (s *Service) setMark(r *http.Request, caseID string, m store.Mark, key string) (before store.Mark, err error) {
	if _, err := s.access.Edit(r, caseID, key); err != nil {
		return before, err
	}
	c, err := s.loader.Report(r.Context(), caseID)
	if err != nil {
		return before, err
	}
	if !showsFamily(c.Said, m.Process, m.Fingerprint) {
		return before, response.Refuse("not_found", "the case has no such family", m.Fingerprint, "no snapshot of "+strconv.Quote(m.Process)+" in it shows one", "take the fingerprint and the process from the case's JSON")
	}
	if before, err = s.store.SetMark(r.Context(), caseID, m); err != nil {
		return before, err
	}
	s.edited(r, caseID)
	s.queue.Notify()
	return before, nil
}

// showsFamily reports whether a process of the case shows the family.
func showsFamily(judged *report.CaseReport, process, fingerprint string) bool {
	for _, series := range judged.Report.Series {
		if series.Process != process {
			continue
		}
		for _, f := range series.Families {
			if f.Fingerprint == fingerprint {
				return true
			}
		}
	}
	return false
}

type triageJSON struct {
	Process     string               `json:"process"`
	Fingerprint string               `json:"fingerprint"`
	State       analysis.TriageState `json:"state"`
	Note        string               `json:"note"`
	Outcome     string               `json:"outcome"`
	At          *time.Time           `json:"at"`
	Remembered  bool                 `json:"remembered"`
	Replaced    string               `json:"replaced"`
}

func newTriageJSON(m store.Mark) triageJSON {
	return triageJSON{m.Process, m.Fingerprint, m.State, m.Note, m.Outcome, &m.At, m.Remembered, m.Replaced}
}

// MarksAPI is GET /api/v1/cases/{id}/triage.
func (s *Service) MarksAPI(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	if _, err := s.store.Case(r.Context(), id); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	marks, err := s.store.Marks(r.Context(), id)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	out := []triageJSON{}
	for _, m := range marks {
		out = append(out, newTriageJSON(m))
	}
	s.respond.ListJSON(w, r, map[string]any{"case": id, "triage": out})
}

// MarkAPI is PUT /api/v1/cases/{id}/triage with {"process", "fingerprint", "state",
// "note", "outcome"}. It returns the mark and the words of the one before.
func (s *Service) MarkAPI(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	var in struct {
		Process, Fingerprint, Note, Outcome string
		State                               analysis.TriageState
	}
	if err := response.ReadJSON(w, r, &in, `{"process": "kubelet", "fingerprint": "g1:...", "state": "benign", "note": "one per pod"}`); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	m := store.Mark{Process: in.Process, Fingerprint: in.Fingerprint, Triage: analysis.Triage{State: in.State, Note: strings.TrimSpace(in.Note), Outcome: strings.TrimSpace(in.Outcome), At: s.cfg.Now()}}
	before, err := s.setMark(r, id, m, "")
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	m.Replaced = before.Words()
	response.WriteJSON(w, http.StatusOK, newTriageJSON(m))
}
