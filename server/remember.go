package server

import (
	"cmp"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"leakdiff/analysis"
	"leakdiff/analysis/knowledge"
	"leakdiff/analysis/report"
)

// remembered is the file of the entries that were made on family pages.
const remembered = "remembered.json"

// rememberForm keeps a family as an entry of the catalogue, by its frames and states:
// from then on every case is compared with it.
func (s *Server) rememberForm(w http.ResponseWriter, r *http.Request) {
	fingerprint := pathValue(r, "fingerprint")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, formFault(err))
		return
	}
	caseID := r.PostForm.Get("case")
	if _, err := s.mayEdit(r, caseID, r.PostForm.Get("key")); err != nil {
		s.fail(w, r, err)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.RawQuery = url.Values{"case": {caseID}}.Encode()
	_, line, err := s.familyLine(inner, fingerprint)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	group := report.GroupOf(line.Snapshots[lastIndex(line, fingerprint)], fingerprint)
	e := knowledge.EntryOf(group.Family, group.States)
	form := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	e.Title, e.Status = form("title"), knowledge.Status(form("status"))
	e.Affected, e.FixedIn, e.Trigger, e.Remedy, e.URL = form("affected"), form("fixed"), form("trigger"), form("remedy"), form("url")
	e.Project, e.Added = line.Snapshots[0].Process.Name.Value, s.cfg.Now().UTC().Format("2006-01-02")
	e.ID = entryID(e.Title, fingerprint)
	if err := s.remember(e); err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/knowledge?q="+url.QueryEscape(e.ID), http.StatusSeeOther)
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
	return "own-" + cmp.Or(strings.Join(words, "-"), "family") + "-" + hash[:min(len(hash), 6)]
}

// remember writes an entry into the file of own ones; an entry of the same id is
// replaced. The file is whole at every moment.
func (s *Server) remember(e knowledge.Entry) error {
	if s.cfg.KnowledgeDir == "" {
		return refuse("not_found", "this server keeps no knowledge of its own", "", "it was started without a directory for it", "start it with --knowledge DIR")
	}
	if e.Title == "" {
		return refuse("invalid", "an entry needs a title", "title", "it is what findings say", "write in a few words what leaks and why")
	}
	s.remembering.Lock()
	defer s.remembering.Unlock()
	path := filepath.Join(s.cfg.KnowledgeDir, remembered)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, problems := knowledge.Append(have, e)
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
