package casepage

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/server/access"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// RememberForm adds a family to the catalogue by its frames and states: every case is
// compared with it from then on. A form with an error is shown again.
func (s *Service) RememberForm(w http.ResponseWriter, r *http.Request) {
	fingerprint := response.PathValue(r, "fingerprint")
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	caseID := r.PostForm.Get("case")
	if _, err := s.access.Edit(r, caseID, r.PostForm.Get("key")); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.RawQuery = url.Values{"case": {caseID}}.Encode()
	l, series, err := s.familySeries(inner, fingerprint)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	group := report.GroupOf(series.Snapshots[series.FamilySnapshot(fingerprint)], fingerprint)
	program := series.Snapshots[0].Process.Name.Value
	e := knowledge.EntryOf(group.Family, group.States, program)
	e.Project, e.Added = program, s.cfg.Now().UTC().Format("2006-01-02")
	entry := entryOf(r.PostForm)
	e.ID = s.catalogue.NewID(entry.Title, fingerprint)
	if err := s.catalogue.Remember(e, entry); err != nil {
		s.refuseEntry(w, r, err, view.EntryInput{Name: familyOf(l, series, fingerprint).Title, Action: r.URL.Path, Case: caseID, Entry: entry})
		return
	}
	s.respond.Redirect(w, r, "/knowledge?q="+url.QueryEscape(e.ID))
}

// entryOf reads the words of an entry from a form.
func entryOf(form url.Values) view.Entry {
	text := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return view.Entry{Title: text("title"), Status: text("status"), Affected: text("affected"), Fixed: text("fixed"), Trigger: text("trigger"), Remedy: text("remedy"), URL: text("url"), Bound: text("bound")}
}

// refuseEntry shows a form again with its error. Programs get only the error.
func (s *Service) refuseEntry(w http.ResponseWriter, r *http.Request, err error, in view.EntryInput) {
	var f *analysis.Fault
	if !errors.As(err, &f) || f.Code != "invalid" || strings.Contains(r.Header.Get("Accept"), "application/json") {
		s.respond.Fail(w, r, err)
		return
	}
	in.Wrong = "Nothing was kept: " + f.What + ". " + f.Hint + "."
	in.NeedsKey, in.Engine = s.access.NeedsKey(r.Context(), in.Case), s.respond.Engine()
	s.respond.Page(w, r, http.StatusBadRequest, page.HTML(view.NewEntryPage(in).Page()))
}

// EntryPage shows the form to change an own entry.
func (s *Service) EntryPage(w http.ResponseWriter, r *http.Request) {
	e, err := s.catalogue.Entry(response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	entry := view.Entry{Title: e.Title, Status: string(e.Status), Affected: e.Affected, Fixed: e.FixedIn, Trigger: e.Trigger, Remedy: e.Remedy, URL: e.URL}
	if e.BoundMinutes > 0 {
		entry.Bound = strconv.Itoa(e.BoundMinutes)
	}
	v := view.NewEntryPage(view.EntryInput{Name: e.Title, Action: r.URL.Path, Entry: entry, NeedsKey: s.access.NeedsKey(r.Context(), ""), Kept: true, Engine: s.respond.Engine()})
	s.respond.Page(w, r, http.StatusOK, page.HTML(v.Page()))
}

// EntryForm changes or deletes an own entry.
func (s *Service) EntryForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	e, err := s.catalogue.Entry(response.PathValue(r, "id"))
	if err == nil {
		err = s.mayChange(r, e, r.PostForm.Get("key"))
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if r.PostForm.Get("forget") != "" {
		if err := s.catalogue.Forget(e.ID); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		s.respond.Redirect(w, r, "/knowledge")
		return
	}
	entry := entryOf(r.PostForm)
	if err := s.catalogue.Remember(*e, entry); err != nil {
		s.refuseEntry(w, r, err, view.EntryInput{Name: e.Title, Action: r.URL.Path, Entry: entry, Kept: true})
		return
	}
	s.respond.Redirect(w, r, "/knowledge?q="+url.QueryEscape(e.ID))
}

// mayChange allows a change of an entry to those who could have made it: they have the key
// of a case that shows its family.
func (s *Service) mayChange(r *http.Request, e *knowledge.Entry, key string) error {
	if given, ok := access.OwnerKey(r); ok {
		key = given
	}
	if key == "" && !s.access.NeedsKey(r.Context(), "") {
		return nil
	}
	for _, print := range e.Signature.Fingerprints {
		found, err := s.store.FamilySightings(r.Context(), print, maxSightings)
		if err != nil {
			return err
		}
		for _, x := range found.List {
			if owns, err := s.store.CheckOwner(r.Context(), x.CaseID, key); owns || err != nil {
				return err
			}
		}
	}
	why := "no key was sent"
	if key != "" {
		why = "the key is of no case that shows this family"
	}
	return response.Refuse("forbidden", "changing this entry needs the owner key of a case with its family", "key", why, "it is the owner_key of the answer that created the case; scripts send it as Authorization: Bearer")
}
