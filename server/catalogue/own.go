package catalogue

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

// Remembered is the file of the entries made on family pages, InRows their setting if several
// servers may have them.
const (
	Remembered = "remembered.json"
	InRows     = "knowledge entered on pages"
)

// OwnFile is the file of the entries made here, "" for none.
func (k *Catalogue) OwnFile() string {
	switch {
	case k.rows != nil:
		return InRows
	case k.dir == "":
		return ""
	}
	return Remembered
}

// EntriesOf returns the entries made here of a family.
func (k *Catalogue) EntriesOf(c *knowledge.Catalogue, fingerprint string) []*knowledge.Entry {
	var out []*knowledge.Entry
	all := c.Known()
	for i := range all {
		if all[i].Origin != "" && all[i].Origin == k.OwnFile() && slices.Contains(all[i].Signature.Fingerprints, fingerprint) {
			out = append(out, &all[i])
		}
	}
	return out
}

// Entry finds an entry made here.
func (k *Catalogue) Entry(id string) (*knowledge.Entry, error) {
	c, _ := k.Current()
	if e := c.Entry(id); e != nil && e.Origin != "" && e.Origin == k.OwnFile() {
		return e, nil
	}
	return nil, response.Refuse("not_found", "there is no such entry", id, "it was forgotten, or stands in a file that somebody put into the directory", "see the list of all of them at /knowledge")
}

// NewID returns an unused id, so that a second entry with the same title does not replace
// the first.
func (k *Catalogue) NewID(title, fingerprint string) string {
	c, _ := k.Current()
	id := entryID(title, fingerprint)
	for n := 2; ; n++ {
		if c.Entry(id) == nil {
			return id
		}
		id = entryID(title, fingerprint) + "-" + strconv.Itoa(n)
	}
}

// entryID makes an id from the title and the beginning of the fingerprint:
// "own-workers-wait-for-the-pool-8a5b9d".
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

// Remember writes an entry with the words of the form into the file of own entries. It
// replaces an entry with the same id.
func (k *Catalogue) Remember(e knowledge.Entry, form view.Entry) error {
	c, _ := k.Current()
	e.Title, e.Status, e.Affected, e.FixedIn, e.Trigger, e.Remedy, e.URL = form.Title, knowledge.Status(form.Status), form.Affected, form.Fixed, form.Trigger, form.Remedy, form.URL
	e.BoundMinutes = 0
	if e.Status == knowledge.BoundedBacklog {
		e.BoundMinutes, _ = strconv.Atoi(form.Bound)
	}
	if err := sensible(e); err != nil {
		return err
	}
	var components []knowledge.Component
	e.Versions, components = c.Fix(e.Project, e.FixedIn)
	return k.rewrite(func(have []byte) ([]byte, []analysis.Problem) { return knowledge.Append(have, e, components...) })
}

// sensible returns what must be corrected before an entry can be stored.
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

// Own remembers of a program that its code is the readers' own, or forgets it. A server without
// knowledge of its own remembers nothing.
func (k *Catalogue) Own(program string, own bool) error {
	if program == "" || k.OwnFile() == "" {
		return nil
	}
	return k.rewrite(func(have []byte) ([]byte, []analysis.Problem) { return knowledge.Own(have, program, own) })
}

// Load remembers that a metric of a program is a load, or forgets it.
func (k *Catalogue) Load(program, metric string, load bool) error {
	if program == "" || k.OwnFile() == "" {
		return nil
	}
	return k.rewrite(func(have []byte) ([]byte, []analysis.Problem) { return knowledge.Loaded(have, program, metric, load) })
}

// Forget removes an entry made here.
func (k *Catalogue) Forget(id string) error {
	return k.rewrite(func(have []byte) ([]byte, []analysis.Problem) { return knowledge.Remove(have, id) })
}

// rewrite changes the file of own entries. The file is complete at every moment.
func (k *Catalogue) rewrite(change func([]byte) ([]byte, []analysis.Problem)) error {
	if k.rows != nil {
		defer k.forgetAsked()
		return k.rows.ChangeSetting(context.Background(), InRows, func(have string) (string, error) {
			text, problems := change([]byte(have))
			return string(text), firstOf(problems)
		})
	}
	if k.dir == "" {
		return response.Refuse("not_found", "this server keeps no knowledge of its own", "", "it was started without a directory for it", "start it with --knowledge DIR")
	}
	k.remembering.Lock()
	defer k.remembering.Unlock()
	path := filepath.Join(k.dir, Remembered)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, problems := change(have)
	if err := firstOf(problems); err != nil {
		return err
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	return replace(path, text)
}

// forgetAsked has the entries read anew.
func (k *Catalogue) forgetAsked() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = time.Time{}
}

// firstOf is the first problem as an error, nil for none.
func firstOf(problems []analysis.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	p := problems[0]
	return &analysis.Fault{Code: "invalid", What: p.What, Where: p.Path, Why: p.Why, Hint: p.Hint}
}

// replace writes a new file beside the old one and renames it when it is durable.
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
