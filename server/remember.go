package server

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// remembered is the file of the entries that were made on family pages.
const remembered = "remembered.json"

// rememberedFile is where entries that were made here are kept, empty where none are.
func (s *Server) rememberedFile() string {
	if s.cfg.KnowledgeDir == "" {
		return ""
	}
	return remembered
}

// entriesOf are the entries that were made here of a family.
func (s *Server) entriesOf(c *knowledge.Catalogue, fingerprint string) []*knowledge.Entry {
	var out []*knowledge.Entry
	all := c.Known()
	for i := range all {
		if all[i].Origin != "" && all[i].Origin == s.rememberedFile() && slices.Contains(all[i].Signature.Fingerprints, fingerprint) {
			out = append(out, &all[i])
		}
	}
	return out
}

// rememberForm keeps a family as an entry of the catalogue, by its frames and states:
// from then on every case is compared with it. What cannot be kept is shown again.
func (s *Server) rememberForm(w http.ResponseWriter, r *http.Request) {
	fingerprint := response.PathValue(r, "fingerprint")
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	caseID := r.PostForm.Get("case")
	if _, err := s.mayEdit(r, caseID, r.PostForm.Get("key")); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.RawQuery = url.Values{"case": {caseID}}.Encode()
	l, line, err := s.familyLine(inner, fingerprint)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	group := report.GroupOf(line.Snapshots[lastIndex(line, fingerprint)], fingerprint)
	program := line.Snapshots[0].Process.Name.Value
	e := knowledge.EntryOf(group.Family, group.States, program)
	e.Project, e.Added = program, s.cfg.Now().UTC().Format("2006-01-02")
	said := entryOf(r.PostForm)
	e.ID = s.newEntryID(said.Title, fingerprint)
	if err := s.remember(e, said); err != nil {
		s.refuseEntry(w, r, err, view.EntryInput{Name: familyOf(l, line, fingerprint).Title, Action: r.URL.Path, Case: caseID, Entry: said})
		return
	}
	s.respond.Redirect(w, r, "/knowledge?q="+url.QueryEscape(e.ID))
}

// entryOf are the words of an entry in a form.
func entryOf(form url.Values) view.Entry {
	text := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return view.Entry{Title: text("title"), Status: text("status"), Affected: text("affected"), Fixed: text("fixed"), Trigger: text("trigger"), Remedy: text("remedy"), URL: text("url"), Bound: text("bound")}
}

// refuseEntry shows a form again with what was wrong; programs get the error alone.
func (s *Server) refuseEntry(w http.ResponseWriter, r *http.Request, err error, in view.EntryInput) {
	var f *analysis.Fault
	if !errors.As(err, &f) || f.Code != "invalid" || strings.Contains(r.Header.Get("Accept"), "application/json") {
		s.respond.Fail(w, r, err)
		return
	}
	in.Wrong = "Nothing was kept: " + f.What + ". " + f.Hint + "."
	in.NeedsKey, in.Engine = !s.loopback(), s.respond.Engine()
	s.respond.Page(w, r, http.StatusBadRequest, page.Entry(view.NewEntryPage(in)))
}

// entry finds an entry that was made here.
func (s *Server) entry(id string) (*knowledge.Entry, error) {
	c, _ := s.knowledge()
	if e := c.Entry(id); e != nil && e.Origin != "" && e.Origin == s.rememberedFile() {
		return e, nil
	}
	return nil, response.Refuse("not_found", "there is no such entry", id, "it was forgotten, or stands in a file that somebody put into the directory", "see the list of all of them at /knowledge")
}

// entryPage shows the words of an entry that was made here, to change them.
func (s *Server) entryPage(w http.ResponseWriter, r *http.Request) {
	e, err := s.entry(response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	said := view.Entry{Title: e.Title, Status: string(e.Status), Affected: e.Affected, Fixed: e.FixedIn, Trigger: e.Trigger, Remedy: e.Remedy, URL: e.URL}
	if e.BoundMinutes > 0 {
		said.Bound = strconv.Itoa(e.BoundMinutes)
	}
	v := view.NewEntryPage(view.EntryInput{Name: e.Title, Action: r.URL.Path, Entry: said, NeedsKey: !s.loopback(), Kept: true, Engine: s.respond.Engine()})
	s.respond.Page(w, r, http.StatusOK, page.Entry(v))
}

// entryForm changes or forgets an entry that was made here.
func (s *Server) entryForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	e, err := s.entry(response.PathValue(r, "id"))
	if err == nil {
		err = s.mayChange(r, e, r.PostForm.Get("key"))
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if r.PostForm.Get("forget") != "" {
		if err := s.rewrite(func(have []byte) ([]byte, []analysis.Problem) { return knowledge.Remove(have, e.ID) }); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		s.respond.Redirect(w, r, "/knowledge")
		return
	}
	said := entryOf(r.PostForm)
	if err := s.remember(*e, said); err != nil {
		s.refuseEntry(w, r, err, view.EntryInput{Name: e.Title, Action: r.URL.Path, Entry: said, Kept: true})
		return
	}
	s.respond.Redirect(w, r, "/knowledge?q="+url.QueryEscape(e.ID))
}

// mayChange lets those change an entry who could have made it: with the key of a case
// that shows its family.
func (s *Server) mayChange(r *http.Request, e *knowledge.Entry, key string) error {
	if given, ok := bearer(r); ok {
		key = given
	}
	if key == "" && s.loopback() {
		return nil
	}
	for _, print := range e.Signature.Fingerprints {
		found, err := s.store.FamilySightings(r.Context(), print, maxSightings)
		if err != nil {
			return err
		}
		for _, x := range found.List {
			if s.store.CheckOwner(r.Context(), x.CaseID, key) {
				return nil
			}
		}
	}
	why := "no key was sent"
	if key != "" {
		why = "the key is of no case that shows this family"
	}
	return response.Refuse("forbidden", "changing this entry needs the owner key of a case with its family", "key", why, "it is the owner_key of the answer that created the case; scripts send it as Authorization: Bearer")
}

// newEntryID is an id that no entry has: a second entry of the same title is another one.
func (s *Server) newEntryID(title, fingerprint string) string {
	c, _ := s.knowledge()
	id := entryID(title, fingerprint)
	for n := 2; ; n++ {
		if c.Entry(id) == nil {
			return id
		}
		id = entryID(title, fingerprint) + "-" + strconv.Itoa(n)
	}
}

// entryID names an entry by the words of its title and the beginning of the
// fingerprint: "own-workers-wait-for-the-pool-8a5b9d".
func entryID(title, fingerprint string) string {
	var words []string
	for _, word := range strings.FieldsFunc(strings.ToLower(title), func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		if len(words) < 6 {
			words = append(words, word[:min(len(word), 20)])
		}
	}
	_, hash, _ := strings.Cut(fingerprint, ":")
	name := cmp.Or(strings.Join(words, "-"), "family")
	return "own-" + strings.TrimRight(name[:min(len(name), 60)], "-") + "-" + hash[:min(len(hash), 6)]
}

// remember writes an entry with what people say of it into the file of own ones; an entry
// of the same id is replaced.
func (s *Server) remember(e knowledge.Entry, said view.Entry) error {
	c, _ := s.knowledge()
	e.Title, e.Status, e.Affected, e.FixedIn, e.Trigger, e.Remedy, e.URL = said.Title, knowledge.Status(said.Status), said.Affected, said.Fixed, said.Trigger, said.Remedy, said.URL
	e.BoundMinutes = 0
	if e.Status == knowledge.BoundedBacklog {
		e.BoundMinutes, _ = strconv.Atoi(said.Bound)
	}
	if err := sensible(e); err != nil {
		return err
	}
	var components []knowledge.Component
	e.Versions, components = c.Fix(e.Project, e.FixedIn)
	return s.rewrite(func(have []byte) ([]byte, []analysis.Problem) { return knowledge.Append(have, e, components...) })
}

// sensible says what a person has to correct before an entry can be kept.
func sensible(e knowledge.Entry) error {
	wrong := func(where, what, hint string) error { return response.Refuse("invalid", what, where, "", hint) }
	if e.Title == "" {
		return wrong("title", "an entry needs a title", "Write in a few words what leaks and why")
	}
	if e.Status == knowledge.BoundedBacklog && e.BoundMinutes < 1 {
		return wrong("bound", "a backlog that ends by itself needs the time in which it ends", "Write the minutes as a number, 10 for example")
	}
	if u, err := url.Parse(e.URL); e.URL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(e.URL, " <>\"")) {
		return wrong("url", "the address of the report is none that a page can link to", "It begins with https:// or http://, or leave it out")
	}
	return nil
}

// rewrite changes the file of own entries. It is whole at every moment.
func (s *Server) rewrite(change func([]byte) ([]byte, []analysis.Problem)) error {
	if s.cfg.KnowledgeDir == "" {
		return response.Refuse("not_found", "this server keeps no knowledge of its own", "", "it was started without a directory for it", "start it with --knowledge DIR")
	}
	s.remembering.Lock()
	defer s.remembering.Unlock()
	path := filepath.Join(s.cfg.KnowledgeDir, remembered)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, problems := change(have)
	if len(problems) > 0 {
		p := problems[0]
		return &analysis.Fault{Code: "invalid", What: p.What, Where: p.Path, Why: p.Why, Hint: p.Hint}
	}
	if err := os.MkdirAll(s.cfg.KnowledgeDir, 0o700); err != nil {
		return err
	}
	return replace(path, text)
}

// replace writes a file beside the old one and puts it in its place when it is durable.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".remembered-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
