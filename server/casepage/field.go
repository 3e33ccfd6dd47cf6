package casepage

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"leakdiff/server/response"
	"leakdiff/store"
)

// The fields of a case that people edit.
const (
	titleField    = "title"
	ticketField   = "ticket"
	modulesField  = "modules"
	archivedField = "archived"
)

// fieldLimits are the longest values in bytes.
var fieldLimits = map[string]int{titleField: 300, ticketField: 500, modulesField: 2000, archivedField: 3, store.KeepMembersField: 5, store.KeepUploadsField: 5}

// setField stores a field of a case and returns its value before.
func (s *Service) setField(r *http.Request, caseID, name, value, key string) (before store.Field, err error) {
	if _, err := s.access.Edit(r, caseID, key); err != nil {
		return before, err
	}
	value = strings.TrimSpace(value)
	limit, known := fieldLimits[name]
	switch {
	case !known:
		return before, response.Refuse("bad_request", "there is no such field", name, "a case has title, ticket, modules, archived, keep_members and keep_uploads", "use one of these")
	case len(value) > limit:
		return before, response.Refuse("invalid", "the value is too long", name, "it is kept in full in the list of cases", "shorten it and put the rest into the ticket")
	case name == titleField && value == "":
		return before, response.Refuse("bad_request", "a case needs a title of 1 to 300 bytes", "", "", "give it the ticket's number or a few words")
	case name == archivedField && value != "" && value != "yes":
		return before, response.Refuse("invalid", "a case is archived or not", value, "the value is neither yes nor empty", `send "yes", or "" to take it back`)
	}
	if name == store.KeepMembersField || name == store.KeepUploadsField {
		if days, err := strconv.Atoi(value); value != "" && (err != nil || strconv.Itoa(days) != value || days < 0 || days > store.MostDays) {
			return before, response.Refuse("invalid", "the days were not understood", value, "they are a number in digits from 0, which is for ever, to "+strconv.Itoa(store.MostDays), "leave them empty for what the server keeps")
		}
	}
	if name == titleField {
		c, err := s.store.Case(r.Context(), caseID)
		if err != nil {
			return before, err
		}
		if err := s.store.RenameCase(r.Context(), caseID, value); err != nil {
			return before, err
		}
		before.Value = c.Title
	}
	replaced, err := s.store.SetField(r.Context(), caseID, name, value)
	if err != nil {
		return before, err
	}
	if before.Value == "" || replaced.Value != "" {
		before = replaced
	}
	s.edited(r, caseID)
	return before, nil
}

// FieldForm handles the forms of the fields. It writes only fields that differ from what
// the page showed ("was-NAME"), so that two people who edit different fields do not undo
// each other.
func (s *Service) FieldForm(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	var over []string
	for _, name := range []string{titleField, ticketField, modulesField, archivedField, store.KeepMembersField, store.KeepUploadsField} {
		values, sent := r.PostForm[name]
		was := r.PostForm.Get("was-" + name)
		if !sent || strings.TrimSpace(values[0]) == was && r.PostForm.Has("was-"+name) {
			continue
		}
		before, err := s.setField(r, id, name, values[0], r.PostForm.Get("key"))
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		if r.PostForm.Has("was-"+name) && before.Value != was && before.Value != strings.TrimSpace(values[0]) {
			over = append(over, name)
		}
	}
	q := ""
	if len(over) > 0 {
		slices.Sort(over)
		q = "?" + url.Values{"over": over}.Encode()
	}
	s.respond.Redirect(w, r, "/cases/"+url.PathEscape(id)+q+"#about")
}

// FieldsAPI is PATCH /api/v1/cases/{id} with any of {"title", "ticket", "modules",
// "archived", "keep_members", "keep_uploads"}. It returns the values before.
func (s *Service) FieldsAPI(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	var in map[string]string
	if err := response.ReadJSON(w, r, &in, `{"ticket": "INC-4711"}`); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	replaced := map[string]string{}
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		before, err := s.setField(r, id, name, in[name], "")
		if err != nil {
			s.respond.FailAPI(w, r, err)
			return
		}
		replaced[name] = before.Value
	}
	response.WriteJSON(w, http.StatusOK, map[string]any{"case": id, "replaced": replaced})
}
