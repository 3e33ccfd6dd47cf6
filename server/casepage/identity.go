package casepage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// IdentityPage leads to the page of the newest bundle, which shows the files and the processes. A
// case without bundles has its edits alone.
func (s *Service) IdentityPage(w http.ResponseWriter, r *http.Request) {
	l, err := s.loader.Heads(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if len(l.Bundles) == 0 {
		s.showProcesses(w, r, l, http.StatusOK, nil)
		return
	}
	newest := slices.MaxFunc(l.Bundles, func(a, b store.Bundle) int { return a.Created.Compare(b.Created) })
	to := url.URL{Path: "/bundles/" + newest.ID, RawQuery: r.URL.RawQuery, Fragment: "processes"}
	s.respond.Redirect(w, r, to.String())
}

// Processes returns the recognised values of a case with their sources and edits, for the page
// that a request asks for.
func (s *Service) Processes(r *http.Request, caseID string) (*view.IdentityInput, error) {
	load := s.loader.Heads
	if q := r.URL.Query(); q.Has("done") || q.Has("undone") {
		load = func(ctx context.Context, id string) (*loader.Loaded, error) {
			return s.loader.Evidence(ctx, id, loader.Part{}) // the page shows which verdicts the edit changed
		}
	}
	l, err := load(r.Context(), caseID)
	if err != nil {
		return nil, err
	}
	return s.processes(r, l), nil
}

func (s *Service) processes(r *http.Request, l *loader.Loaded) *view.IdentityInput {
	in := &view.IdentityInput{
		CaseID: l.ID, CaseTitle: l.Title, Series: l.Built.Series, Said: l.Said, Edits: l.Edits,
		Query: r.URL.Query(), NeedsKey: s.access.NeedsKey(r.Context(), l.ID),
	}
	in.Done, _ = strconv.ParseInt(r.URL.Query().Get("done"), 10, 64)
	in.Undone, _ = strconv.ParseInt(r.URL.Query().Get("undone"), 10, 64)
	return in
}

// showProcesses shows the processes without files. refused is the form with an invalid value, nil
// for none.
func (s *Service) showProcesses(w http.ResponseWriter, r *http.Request, l *loader.Loaded, status int, refused *view.RefusedEdit) {
	in := s.processes(r, l)
	in.Bundle, in.Refused = r.URL.Query().Get("bundle"), refused
	v := view.NewIdentity(*in)
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, status, page.HTML(v.Page()))
}

// addEdit checks and stores an edit, and updates the list of cases.
func (s *Service) addEdit(r *http.Request, l *loader.Loaded, e identity.Edit, key string) (identity.Edit, error) {
	role, err := s.access.Edit(r, l.ID, key)
	if err != nil {
		return e, err
	}
	if e, err = l.Said.Check(e); err != nil {
		return e, err
	}
	e.By = role
	if e, err = s.store.AddEdit(r.Context(), l.ID, e); err != nil {
		return e, err
	}
	s.remember(l, e, true)
	s.edited(r, l.ID)
	return e, nil
}

// remember keeps beyond a case what an edit says of a program, or forgets it: that it is the readers'
// own, and which of its metrics is a load. The case has the edit in any way.
func (s *Service) remember(l *loader.Loaded, e identity.Edit, on bool) {
	if e.Kind != identity.Ours && e.Kind != identity.Load {
		return
	}
	metric, _ := identity.SplitLoad(e.Value)
	for i := range l.Said.Snapshots {
		x := &l.Said.Snapshots[i]
		if !strings.HasPrefix(e.Target+":", "series:"+l.Said.Keys[x.ID]+":") {
			continue // an edit names one snapshot of the series by its evidence
		}
		var err error
		switch {
		case e.Kind == identity.Ours:
			err = s.catalogue.Own(x.Process.Name.Value, on)
		case identity.HasMetric(x, metric):
			err = s.catalogue.Load(x.Process.Name.Value, metric, on)
		}
		if err != nil {
			s.log.Error("what was said of a program was not remembered", "case", l.ID, "error", err)
		}
	}
}

func (s *Service) edited(r *http.Request, caseID string) {
	if err := s.Summarise(r.Context(), caseID); err != nil {
		s.log.Error("summing up a case failed", "case", caseID, "error", err)
	}
}

// EditForm handles the forms of the page. An invalid value is explained beside its field.
func (s *Service) EditForm(w http.ResponseWriter, r *http.Request) {
	l, err := s.loader.Heads(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	e := editOf(r.PostForm)
	if again := r.PostForm.Get("again"); again != "" {
		if e, err = madeBefore(l.Edits, again); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
	}
	made, err := s.addEdit(r, l, e, r.PostForm.Get("key"))
	var f *analysis.Fault
	if errors.As(err, &f) && (f.Code == "invalid" || f.Code == "forbidden") {
		_, status := s.respond.Fault(err)
		s.showProcesses(w, r, l, status, &view.RefusedEdit{Edit: e, Fault: f})
		return
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.respond.Redirect(w, r, processesURL(r, l.ID, "done", made.ID))
}

// editOf reads a form. The forms of events and loads have a field for each part of the
// value.
func editOf(form url.Values) identity.Edit {
	e := identity.Edit{Kind: identity.Kind(form.Get("kind")), Target: form.Get("target"), Value: form.Get("value"), Note: form.Get("note")}
	switch e.Kind {
	case identity.Happened:
		e.Value = identity.EventValue(form.Get("at"), form.Get("what"), form.Get("text"))
	case identity.Load:
		e.Value = identity.LoadValue(form.Get("name"), form.Get("numbers"))
	}
	return e
}

// madeBefore returns a copy of an earlier edit, to be made again.
func madeBefore(edits []identity.Edit, number string) (identity.Edit, error) {
	for _, e := range edits {
		if strconv.FormatInt(e.ID, 10) == number {
			return identity.Edit{Kind: e.Kind, Target: e.Target, Value: e.Value, Note: e.Note}, nil
		}
	}
	return identity.Edit{}, noSuchEdit(number)
}

func noSuchEdit(number string) error {
	return response.Refuse("not_found", "there is no such edit", fmt.Sprintf("%.40q", number), "edits are named by their number", "the page of files and processes lists every edit")
}

// processesURL is the page that a form was sent from, with the edit that it made or took back.
func processesURL(r *http.Request, caseID, outcome string, number int64) string {
	to := "/cases/" + url.PathEscape(caseID) + "/identity"
	if bundle := r.URL.Query().Get("bundle"); bundle != "" {
		to = "/bundles/" + url.PathEscape(bundle)
	}
	return fmt.Sprintf("%s?%s=%d#processes", to, outcome, number)
}

// UndoForm handles the form that takes an edit back.
func (s *Service) UndoForm(w http.ResponseWriter, r *http.Request) {
	l, err := s.loader.Heads(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	number, err := s.undo(r, l, r.PostForm.Get("number"), r.PostForm.Get("key"))
	var f *analysis.Fault
	if errors.As(err, &f) && f.Code == "forbidden" {
		_, status := s.respond.Fault(err)
		s.showProcesses(w, r, l, status, &view.RefusedEdit{Undo: number, Fault: f})
		return
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.respond.Redirect(w, r, processesURL(r, l.ID, "undone", number))
}

func (s *Service) undo(r *http.Request, l *loader.Loaded, text, key string) (number int64, err error) {
	number, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, noSuchEdit(text)
	}
	if _, err := s.access.Edit(r, l.ID, key); err != nil {
		return number, err
	}
	if err := s.store.UndoEdit(r.Context(), l.ID, number); err != nil {
		return number, err
	}
	for _, e := range l.Edits {
		if e.ID == number {
			s.remember(l, e, false)
		}
	}
	s.edited(r, l.ID)
	return number, nil
}

// EditJSON is an edit with its effect. Snapshots are ids.
type EditJSON struct {
	identity.Edit
	Snapshots []string `json:"snapshots"`
	Was       string   `json:"was,omitempty"`
	// Unused is the reason why an edit in force changes nothing.
	Unused string `json:"unused,omitempty"`
}

func newEditJSON(e identity.Edit, outcome identity.Outcome) EditJSON {
	effect := outcome.Effects[e.ID]
	return EditJSON{Edit: e, Snapshots: append([]string{}, effect.Snapshots...), Was: effect.Was, Unused: effect.Why}
}

// EditsAPI is GET /api/v1/cases/{id}/edits and the JSON twin of the page.
func (s *Service) EditsAPI(w http.ResponseWriter, r *http.Request) {
	l, err := s.loader.Heads(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	out := struct {
		Case    string     `json:"case"`
		Zone    string     `json:"zone"`
		Edits   []EditJSON `json:"edits"`
		LeftOut []string   `json:"left_out"`
		// Events are in time order. Loads are by name and snapshot id.
		Events []identity.Event              `json:"events"`
		Loads  map[string]map[string]float64 `json:"loads"`
	}{
		Case: l.ID, Zone: l.Said.Zone.String(), Edits: []EditJSON{}, LeftOut: []string{},
		Events: append([]identity.Event{}, l.Said.Events...), Loads: l.Said.Loads,
	}
	for _, e := range l.Edits {
		out.Edits = append(out.Edits, newEditJSON(e, l.Said))
	}
	for _, snap := range l.Said.LeftOut {
		out.LeftOut = append(out.LeftOut, snap.ID)
	}
	s.respond.ListJSON(w, r, out)
}

// EditAPI is POST /api/v1/cases/{id}/edits. A target is a snapshot's id, "from:ID" for the
// snapshot and the later ones of its series, "series:ID" for its whole series, or "case".
// An event has the value "TIME; KIND; TEXT". A load has "NAME; NUMBERS": a number or a
// dash for each snapshot of the series, or pairs LABEL=NUMBER.
func (s *Service) EditAPI(w http.ResponseWriter, r *http.Request) {
	l, err := s.loader.Heads(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	var in struct {
		Kind   identity.Kind `json:"kind"`
		Target string        `json:"target"`
		Value  string        `json:"value"`
		Note   string        `json:"note"`
	}
	if err := response.ReadJSON(w, r, &in, `{"kind": "process", "target": "series:SNAPSHOT", "value": "kubelet"}`); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	made, err := s.addEdit(r, l, identity.Edit{Kind: in.Kind, Target: in.Target, Value: in.Value, Note: in.Note}, "")
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	after, err := s.loader.Heads(r.Context(), l.ID)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.Header().Set("Location", s.respond.Path()+fmt.Sprintf("/api/v1/cases/%s/edits/%d", url.PathEscape(l.ID), made.ID))
	response.WriteJSON(w, http.StatusCreated, newEditJSON(made, after.Said))
}

// UndoAPI is DELETE /api/v1/cases/{id}/edits/{number}.
func (s *Service) UndoAPI(w http.ResponseWriter, r *http.Request) {
	l, err := s.loader.Heads(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	if _, err := s.undo(r, l, response.PathValue(r, "number"), ""); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
