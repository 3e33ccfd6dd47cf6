package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// purpose says whether a view is shown now or kept: what is kept has no form and
// no link to a live page.
type purpose bool

const (
	showing purpose = false
	keeping purpose = true
)

// frozen is the record of a permalink: all that its page and its twins are
// rendered from.
type frozen struct {
	// Kind is case, diff, compare, family, snapshot or flame, and says what Model is.
	Kind  string          `json:"kind"`
	Model json.RawMessage `json:"model"`
	// Data is the twin for programs.
	Data     json.RawMessage  `json:"data"`
	Headline string           `json:"headline"`
	Redacted bool             `json:"redacted"`
	Receipt  []redact.Receipt `json:"receipt,omitempty"`
}

// frozenView computes what the page at an address shows, ready to be kept, and gives
// the case that it is of and all that it tells of.
func (s *Server) frozenView(r *http.Request, address string) (frozen, *loaded, []*loaded, error) {
	ctx, cases := onShelf(r.Context())
	f, l, err := s.frozenPage(r.WithContext(ctx), address)
	return f, l, cases.all, err
}

func (s *Server) frozenPage(r *http.Request, address string) (frozen, *loaded, error) {
	bad := refuse("bad_request", "this page cannot be frozen", address, "only cases, comparisons, families and snapshots can", "open one of them and share it from there")
	u, err := url.Parse(address)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return frozen{}, nil, bad
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	inner := r.Clone(r.Context())
	inner.URL = u
	if bare, ok := strings.CutSuffix(id, "/"+flamePath); ok && (kind == "snapshots" || kind == "diff") {
		return s.freezeFlame(inner, kind, bare)
	}
	switch kind {
	case "cases":
		l, err := s.load(r.Context(), id)
		if err != nil {
			return frozen{}, nil, err
		}
		return s.freezeCase(r.Context(), l, u.Query())
	case "diff":
		c, err := s.compare(inner, id)
		if err != nil {
			return frozen{}, nil, err
		}
		data, err := c.data(u.Query())
		if err != nil {
			return frozen{}, nil, err
		}
		v := s.diffView(c, u.Query(), keeping)
		f, err := pack("diff", v, data, v.Headline)
		return f, c.l, err
	case "compare":
		c, err := s.several(inner)
		if err != nil {
			return frozen{}, nil, err
		}
		data, err := s.severalData(inner, c, u.Query())
		if err != nil {
			return frozen{}, nil, err
		}
		v, err := s.severalView(inner, c, u.Query(), keeping)
		if err != nil {
			return frozen{}, nil, err
		}
		f, err := pack("compare", v, data, v.Headline)
		return f, c.l, err
	case "families":
		l, line, err := s.familyLine(inner, id)
		if err != nil {
			return frozen{}, nil, err
		}
		v, err := s.familyView(inner, l, line, id, keeping)
		if err != nil {
			return frozen{}, nil, err
		}
		f, err := pack("family", v, line.Membership(familyOf(l, line, id), chosen(inner, line, id), maxMembers), v.Headline)
		return f, l, err
	case "snapshots":
		l, line, i, err := s.snapshot(inner, id)
		if err != nil {
			return frozen{}, nil, err
		}
		v := s.snapshotView(l, line, i, u.Query(), keeping)
		f, err := pack("snapshot", v, onlySnapshot(l, line, i), v.Headline)
		return f, l, err
	}
	return frozen{}, nil, bad
}

func (s *Server) freezeCase(ctx context.Context, l *loaded, query url.Values) (frozen, *loaded, error) {
	v, err := s.caseView(ctx, l, 0, query, nil, keeping)
	if err != nil {
		return frozen{}, nil, err
	}
	f, err := pack("case", v, l.built.Report, v.Headline)
	return f, l, err
}

func pack(kind string, model, data any, headline string) (frozen, error) {
	m, err := json.Marshal(model)
	if err != nil {
		return frozen{}, err
	}
	d, err := json.Marshal(data)
	if err != nil {
		return frozen{}, err
	}
	return frozen{Kind: kind, Model: m, Data: d, Headline: headline}, nil
}

// unpack reads the page of a record and what its twins are written from.
func (f frozen) unpack() (exported, error) {
	switch f.Kind {
	case "case":
		v, r, err := opened[view.Case, report.Report](f)
		return exported{page: v, alone: aloneCase(v), csv: func(w io.Writer) error { return report.CSV(w, r) }}, err
	case "diff":
		v, c, err := opened[view.Diff, report.Comparison](f)
		return exported{page: v, alone: aloneDiff(v), csv: c.CSV}, err
	case "compare":
		v, c, err := opened[view.Compare, report.Several](f)
		return exported{page: v, alone: aloneCompare(v), csv: c.CSV}, err
	case "family":
		v, m, err := opened[view.Family, report.Membership](f)
		table := m.CSV
		if m.At == "" {
			table = func(io.Writer) error {
				return refuse("not_found", "this frozen result has no table", "", "an earlier version froze it without the members", "take its text, or freeze the family again")
			}
		}
		return exported{page: v, alone: aloneFamily(v), csv: table}, err
	case "snapshot":
		v, r, err := opened[view.Snapshot, report.Report](f)
		return exported{page: v, alone: aloneSnapshot(v), csv: func(w io.Writer) error {
			id := ""
			if len(r.Snapshots) > 0 {
				id = r.Snapshots[0].ID
			}
			return report.SnapshotCSV(w, r, id)
		}}, err
	case "flame":
		v, _, err := opened[view.Flame, flameGraph](f)
		return exported{page: v, alone: aloneFlame(v), csv: flameCSV(v)}, err
	}
	return exported{}, unknownKind(f.Kind)
}

// opened decodes the page of a record and its data.
func opened[Page, Data any](f frozen) (v Page, d Data, err error) {
	if err = json.Unmarshal(f.Model, &v); err == nil {
		err = json.Unmarshal(f.Data, &d)
	}
	return v, d, err
}

// redacted replaces secrets in everything that the record holds. Its texts are written
// from what is left of the page: behind the escapes of a markup secrets look different.
func (f frozen) redacted(r *redact.Redactor) (frozen, error) {
	model, data := f.shapes()
	if model == nil {
		return f, unknownKind(f.Kind)
	}
	if err := errors.Join(json.Unmarshal(f.Model, model), json.Unmarshal(f.Data, data)); err != nil {
		return f, err
	}
	if m, ok := data.(*report.Membership); ok {
		for i := range m.Members {
			r.LearnEvidence(m.Members[i].Detail)
		}
	}
	if v, ok := model.(*view.Family); ok {
		for _, line := range v.Raw {
			r.LearnEvidence(strings.TrimSpace(line.Text))
		}
		for _, line := range v.Raw {
			if n, err := strconv.ParseInt(onlyDigits(line.Number), 10, 64); err == nil {
				r.Locate(line.Text, v.RawTitle, n)
			}
		}
	}
	r.Value([]any{model, data})
	f.Headline = r.Text(f.Headline)
	out, err := pack(f.Kind, model, data, f.Headline)
	out.Redacted, out.Receipt = true, r.Receipt()
	return out, err
}

// shapes are what the page and the data of a record are, empty.
func (f frozen) shapes() (model, data any) {
	switch f.Kind {
	case "case":
		return new(view.Case), new(report.Report)
	case "diff":
		return new(view.Diff), new(report.Comparison)
	case "compare":
		return new(view.Compare), new(report.Several)
	case "family":
		return new(view.Family), new(report.Membership)
	case "snapshot":
		return new(view.Snapshot), new(report.Report)
	case "flame":
		return new(view.Flame), new(flameGraph)
	}
	return nil, nil
}

func unknownKind(kind string) error {
	return fmt.Errorf("a frozen record has the unknown kind %q", kind)
}

// onlyDigits is a number without what groups its digits.
func onlyDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, s)
}

// redactor knows the names in the evidence of the cases, and those that people wrote.
func redactor(cases []*loaded) *redact.Redactor {
	known := make([]redact.Case, len(cases))
	for i, l := range cases {
		known[i] = l.names()
	}
	return redact.New(known...)
}

// names are the parts of a case from which a redactor learns.
func (l *loaded) names() redact.Case {
	out := redact.Case{Problems: l.built.Report.Problems, Hosts: l.said.Hosts}
	for _, line := range l.built.Lines {
		out.Series = append(out.Series, line.Snapshots)
	}
	for _, b := range l.bundles {
		out.Files = append(out.Files, b.Name)
	}
	if !slices.Contains(out.Files, l.Title) {
		out.Said = append(out.Said, l.Title)
	}
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		out.Said = append(out.Said, l.fields[name].Value)
	}
	for _, m := range l.marks {
		out.Said = append(out.Said, m.Note, m.Outcome)
	}
	for _, e := range l.edits {
		out.Said = append(out.Said, e.Note)
	}
	for _, e := range l.said.Events {
		out.Said = append(out.Said, e.Text)
	}
	out.Said = append(out.Said, slices.Sorted(maps.Keys(l.said.Loads))...)
	return out
}

// sharePage is the form that freezes a result; it shows what goes out.
func (s *Server) sharePage(w http.ResponseWriter, r *http.Request) {
	address := r.URL.Query().Get("view")
	f, l, cases, err := s.frozenView(r, address)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	safe, err := f.redacted(redactor(cases))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	e, err := safe.unpack()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if r.URL.Query().Get("look") != "" {
		s.render(w, r, http.StatusOK, e.alone(view.Shell{Title: safe.Headline, Seal: s.unsealed(safe), Engine: s.engine()}))
		return
	}
	v := view.NewShare(view.ShareInput{
		Case: l.ID, CaseTitle: l.Title, View: address, Title: safe.Headline, Rules: receiptRows(safe.Receipt),
		NeedsKey: !s.loopback(),
		Freezes: []string{
			fmt.Sprintf("The %s as it stands now, with its figures, verdicts and evidence (%s).", f.Kind, wording.Bytes(int64(len(safe.Model)+len(safe.Data)))),
			"The same as Markdown, Jira markup, text, HTML file, CSV, JSON and its charts as SVG.",
		},
		CountsTitle: safe.counted(countsOnly(f.Kind, l)), Counts: countsOnly(f.Kind, l), Full: safe.Headline, Now: s.cfg.Now(), Markdown: e.page.Document().Markdown(),
	})
	v.Shell.Engine = s.engine()
	s.render(w, r, http.StatusOK, page.Share(v))
}

func receiptRows(receipt []redact.Receipt) []view.RedactionRule {
	var out []view.RedactionRule
	for _, x := range receipt {
		out = append(out, view.RedactionRule{Name: x.Title(), Text: x.Become(), Count: x.Count(), First: x.FirstPlaces()})
	}
	return out
}

// countsOnly says a result without a name in it.
func countsOnly(kind string, l *loaded) string {
	sum := report.Summary(l.built)
	switch kind {
	case "compare":
		return "Several snapshots compared, from a case with the verdict " + strings.ReplaceAll(string(sum.Verdict), "_", " ") + "."
	case "diff":
		return "Two snapshots compared, from a case with the verdict " + strings.ReplaceAll(string(sum.Verdict), "_", " ") + "."
	case "family":
		return "One family over time, from a case with the verdict " + strings.ReplaceAll(string(sum.Verdict), "_", " ") + "."
	case "snapshot":
		return "One snapshot of a process."
	case "flame":
		return "The merged stacks of a process."
	}
	return fmt.Sprintf("%s of %s, verdict %s.", wording.PagePlural(int64(len(l.built.Report.Snapshots)), "snapshot", "snapshots"), wording.PagePlural(int64(len(l.built.Report.Series)), "process", "processes"), strings.ReplaceAll(string(sum.Verdict), "_", " "))
}

// wish is what somebody wants frozen, from a form or as JSON.
type wish struct {
	Case    string `json:"case"`
	View    string `json:"view"`
	Redact  *bool  `json:"redact"`
	Keep    string `json:"keep"`
	Preview string `json:"preview"`
	Title   string `json:"title"`
}

// result is what freezing gave.
type result struct {
	ID        string           `json:"id"`
	Link      string           `json:"link"`
	URL       string           `json:"url"`
	OwnerKey  string           `json:"owner_key"`
	ExpiresAt *time.Time       `json:"expires_at"`
	Receipt   []redact.Receipt `json:"receipt"`
}

// keepUntil reads how long a result is kept: "7d", "90d", "keep".
func (s *Server) keepUntil(keep string) (time.Time, error) {
	switch keep {
	case "":
		keep = "90d"
	case "keep":
		return time.Time{}, nil
	case "1y":
		keep = "365d"
	}
	var days int
	if _, err := fmt.Sscanf(keep, "%dd", &days); err != nil || days < 1 || days > 3660 {
		return time.Time{}, refuse("bad_request", "the time to keep a result was not understood", keep, "it is a number of days such as 90d, or keep", "use 7d, 30d, 90d, 365d or keep")
	}
	return s.cfg.Now().AddDate(0, 0, days), nil
}

// viewOf is the address of a page in a case, "" for the case that the address names.
func viewOf(address, caseID string) (string, error) {
	if caseID == "" {
		return address, nil
	}
	if address == "" {
		return "/cases/" + url.PathEscape(caseID), nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", refuse("bad_request", "the view is no address", address, "it is no path with a query", "send the path of a page, as in the browser")
	}
	q := u.Query()
	named := q.Get("case")
	if rest, ok := strings.CutPrefix(u.Path, "/cases/"); ok {
		named, _, _ = strings.Cut(rest, "/")
	} else if named == "" {
		q.Set("case", caseID)
		u.RawQuery, named = q.Encode(), caseID
	}
	if named != caseID {
		return "", refuse("bad_request", "the view is of another case", address, "case says "+caseID, "leave case out, or name the same case in both")
	}
	return u.String(), nil
}

// mayReveal demands the owner key of a case that is frozen without redaction: the link is
// for everybody, and outlives what its owner does to the case.
func (s *Server) mayReveal(r *http.Request, formKey string) func(caseID string) error {
	return func(caseID string) error {
		_, err := s.mayEdit(r, caseID, formKey)
		var f *analysis.Fault
		if !errors.As(err, &f) || f.Code != "forbidden" {
			return err
		}
		return refuse(f.Code, "freezing a case without redaction needs its owner key", "case "+caseID, f.Why, f.Hint+"; with redaction no key is needed")
	}
}

// freezeWish freezes a page; mayReveal is asked about every case in it where nothing is
// redacted.
func (s *Server) freezeWish(r *http.Request, in wish, mayReveal func(caseID string) error) (result, *loaded, error) {
	until, err := s.keepUntil(in.Keep)
	if err != nil {
		return result{}, nil, err
	}
	if in.Preview == "" {
		in.Preview = "counts"
	}
	if in.Preview != "counts" && in.Preview != "full" && in.Preview != "none" {
		return result{}, nil, refuse("bad_request", "the preview level was not understood", in.Preview, "", "use counts, full or none")
	}
	if in.View, err = viewOf(in.View, in.Case); err != nil {
		return result{}, nil, err
	}
	f, l, cases, err := s.frozenView(r, in.View)
	if err != nil {
		return result{}, nil, err
	}
	redacts := in.Redact == nil || *in.Redact
	if !redacts {
		for _, c := range cases {
			if err := mayReveal(c.ID); err != nil {
				return result{}, nil, err
			}
		}
	}
	hide := redactor(cases)
	hide.LearnSaid(in.Title)
	if redacts {
		if f, err = f.redacted(hide); err != nil {
			return result{}, nil, err
		}
	}
	title := strings.TrimSpace(in.Title)
	if title == "" {
		title = f.Headline
	} else if f.Redacted {
		title = hide.Text(title)
	}
	record, err := json.Marshal(f)
	if err != nil {
		return result{}, nil, err
	}
	p, key, err := s.store.CreatePermalink(r.Context(), store.Permalink{
		CaseID: l.ID, View: in.View, Title: title, Expires: until, Engine: ingest.Engine, Fingerprint: family.Version,
		Record: record, Preview: in.Preview, Counts: countsOnly(f.Kind, l), Redacted: f.Redacted,
	})
	if err != nil {
		return result{}, nil, err
	}
	out := result{ID: p.ID, Link: "/p/" + p.ID, URL: s.base(r) + "/p/" + p.ID, OwnerKey: key, Receipt: f.Receipt}
	if out.Receipt == nil {
		out.Receipt = []redact.Receipt{}
	}
	if !until.IsZero() {
		out.ExpiresAt = &until
	}
	return out, l, nil
}

// freeze takes the form of the share page.
func (s *Server) freeze(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, formFault(err))
		return
	}
	keepSecrets := r.PostForm.Get("redact") != ""
	s.frozenAs(w, r, wish{
		Case: r.PostForm.Get("case"), View: r.PostForm.Get("view"), Redact: &keepSecrets,
		Keep: r.PostForm.Get("keep"), Preview: r.PostForm.Get("preview"), Title: r.PostForm.Get("title"),
	}, s.mayReveal(r, strings.TrimSpace(r.PostForm.Get("key"))))
}

// frozenAs freezes and shows the link with its key, once.
func (s *Server) frozenAs(w http.ResponseWriter, r *http.Request, in wish, mayReveal func(caseID string) error) {
	out, l, err := s.freezeWish(r, in, mayReveal)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var expires time.Time
	if out.ExpiresAt != nil {
		expires = *out.ExpiresAt
	}
	v := view.NewShared(l.ID, l.Title, out.URL, out.OwnerKey, expires, receiptRows(out.Receipt))
	v.Shell.Engine = s.engine()
	s.keepKey(w, out.ID, out.OwnerKey, expires)
	w.Header().Set("Cache-Control", "no-store")
	s.render(w, r, http.StatusOK, page.Shared(v))
}

// freezeAPI is POST /api/v1/permalinks.
func (s *Server) freezeAPI(w http.ResponseWriter, r *http.Request) {
	var in wish
	if err := readJSON(w, r, &in, `{"case": "...", "view": "/diff/a..b", "redact": true, "keep": "90d", "preview": "counts"}`); err != nil {
		s.failAPI(w, r, err)
		return
	}
	out, _, err := s.freezeWish(r, in, s.mayReveal(r, ""))
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	w.Header().Set("Location", pathOf(s.cfg.BaseURL)+out.Link)
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusCreated, out)
}

// extendAPI is PATCH /api/v1/permalinks/{id} with {"keep": "90d"}.
func (s *Server) extendAPI(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Keep string `json:"keep"`
	}
	if err := readJSON(w, r, &in, `{"keep": "90d"}`); err != nil {
		s.failAPI(w, r, err)
		return
	}
	until, err := s.keepUntil(in.Keep)
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	key, _ := bearer(r)
	if err := s.store.ExtendPermalink(r.Context(), pathValue(r, "id"), key, until); err != nil {
		s.failAPI(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// withdrawAPI is DELETE /api/v1/permalinks/{id}.
func (s *Server) withdrawAPI(w http.ResponseWriter, r *http.Request) {
	key, _ := bearer(r)
	if err := s.store.WithdrawPermalink(r.Context(), pathValue(r, "id"), key); err != nil {
		s.failAPI(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// permalink shows a frozen result from its record alone. A readable tail after
// the id is for people and ignored.
func (s *Server) permalink(w http.ResponseWriter, r *http.Request) {
	id, suffix := twin(pathValue(r, "id"))
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "private")
	p, err := s.store.Permalink(r.Context(), id)
	if err != nil {
		s.noPermalink(w, r, err)
		return
	}
	var f frozen
	if err := json.Unmarshal(p.Record, &f); err != nil {
		s.fail(w, r, fmt.Errorf("permalink %s: %w", id, err))
		return
	}
	if suffix == "" {
		suffix = accepted(r)
	}
	if suffix == ".json" {
		s.sealed(w, r, written{kind: jsonType, body: append([]byte(f.Data), '\n')})
		return
	}
	e, err := f.unpack()
	if err != nil {
		s.fail(w, r, fmt.Errorf("permalink %s: %w", id, err))
		return
	}
	e.name, e.note = "frozen "+id, s.sealLine(p, f)
	e.shell = view.Shell{Title: publicTitle(p, f), Description: description(p, f), Seal: s.seal(p, f)}
	e.shell.Engine = e.shell.Seal.Engine
	if suffix == "" {
		e.shell.Offer("/p/"+p.ID, "", view.WithoutStacks)
		e.shell.Seal.Countdown(p.Expires, s.cfg.Now())
		if key := ownerKey(r); key != "" && s.store.OwnsPermalink(r.Context(), id, key) {
			e.shell.Seal.Own("/p/"+p.ID, s.cfg.Now())
		}
		made, err := pageOf(r.Context(), e.alone(e.shell))
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.sealed(w, r, made)
		return
	}
	made, err := s.twinOf(r, suffix, e)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.sealed(w, r, made)
}

// sealed answers a frozen result, or that whoever asks has it already. What a client
// accepts decides in which form it comes.
func (s *Server) sealed(w http.ResponseWriter, r *http.Request, made written) {
	w.Header().Set("Vary", "Accept, Cookie")
	shown{written: made, etag: strongTag(made.body)}.answer(w, r)
}

// accepted is the twin that the client asks for by Accept, "" for the page.
func accepted(r *http.Request) string {
	accept := r.Header.Get("Accept")
	switch {
	case strings.HasPrefix(accept, "application/json"):
		return ".json"
	case strings.HasPrefix(accept, "text/markdown"):
		return ".md"
	case strings.HasPrefix(accept, "text/plain"):
		return ".txt"
	}
	return ""
}

// publicTitle is the document's title, which chats show like the description:
// only a full preview may name what the result is about.
func publicTitle(p store.Permalink, f frozen) string {
	if p.Preview == "full" {
		return p.Title
	}
	if p.Preview == "none" {
		return "Frozen result"
	}
	return f.counted(p.Counts)
}

// counted is a title of kind and counts without a name in it: "Frozen case: 9 snapshots
// of 2 processes". The counts are those of countsOnly.
func (f frozen) counted(counts string) string {
	switch f.Kind {
	case "case":
		if counts, _, ok := strings.Cut(counts, ", verdict "); ok {
			return "Frozen case: " + counts
		}
		return "Frozen case"
	case "diff":
		return "Frozen comparison: 2 snapshots"
	case "compare":
		var data struct{ Snapshots []json.RawMessage }
		if err := json.Unmarshal(f.Data, &data); err != nil || len(data.Snapshots) == 0 {
			return "Frozen comparison"
		}
		return "Frozen comparison: " + wording.PagePlural(int64(len(data.Snapshots)), "snapshot", "snapshots")
	case "family":
		var data struct{ Counts []json.RawMessage }
		if err := json.Unmarshal(f.Data, &data); err != nil || len(data.Counts) == 0 {
			return "Frozen family"
		}
		return "Frozen family: over " + wording.PagePlural(int64(len(data.Counts)), "snapshot", "snapshots")
	case "snapshot":
		return "Frozen snapshot of a process"
	case "flame":
		return "Frozen stacks of a process"
	}
	return "Frozen result"
}

// description is what a chat shows of the link before anyone opens it.
func description(p store.Permalink, f frozen) string {
	switch p.Preview {
	case "full":
		return f.Headline
	case "none":
		return ""
	}
	return p.Counts
}

func (s *Server) seal(p store.Permalink, f frozen) *view.Seal {
	seal := &view.Seal{
		Made: wording.Time(p.Created) + " UTC", Engine: fmt.Sprintf("engine %d, fingerprint g%d", p.Engine, p.Fingerprint),
		Expires: "kept until withdrawn", Redaction: "not redacted",
	}
	if p.CaseID != "" && (p.Engine != ingest.Engine || p.Fingerprint != family.Version) {
		seal.NeedsKey = !s.loopback()
		seal.Newer = fmt.Sprintf("Computed by engine %d, fingerprint g%d; this server has engine %d, fingerprint g%d.", p.Engine, p.Fingerprint, ingest.Engine, family.Version)
		seal.Again = "/p/" + p.ID + "/again"
	}
	if !p.Expires.IsZero() {
		seal.Expires = "expires " + wording.Day(p.Expires)
	}
	if p.Redacted {
		seal.Redaction = redact.Sum(f.Receipt)
	}
	return seal
}

// unsealed says that a page is how a frozen one would look.
func (s *Server) unsealed(f frozen) *view.Seal {
	return &view.Seal{Preview: true, Engine: s.engine(), Redaction: redact.Sum(f.Receipt)}
}

func (s *Server) sealLine(p store.Permalink, f frozen) string {
	seal := s.seal(p, f)
	return fmt.Sprintf("Frozen %s by leakdiff, %s, %s, %s.", seal.Made, seal.Engine, seal.Redaction, seal.Expires)
}

// noPermalink answers 410 for a result that ended and 404 for one that never
// was, each with the likely reasons.
func (s *Server) noPermalink(w http.ResponseWriter, r *http.Request, err error) {
	v, was, status := view.NewNoSuchPermalink(), (*endedJSON)(nil), http.StatusNotFound
	var gone *store.Gone
	if errors.As(err, &gone) {
		v = view.NewGone(view.GoneInput{Title: gone.Title, Counts: strings.TrimSuffix(gone.Counts, "."), Made: gone.Created, Ended: gone.Ended, Withdrawn: gone.Withdrawn})
		was, status = &endedJSON{Title: gone.Title, Counts: gone.Counts, Made: gone.Created, Ended: gone.Ended}, http.StatusGone
	} else if !isNotFound(err) {
		s.fail(w, r, err)
		return
	}
	_, suffix := twin(pathValue(r, "id"))
	if suffix == "" {
		suffix = accepted(r)
	}
	switch suffix {
	case "", ".html":
		v.Shell.Engine = s.engine()
		s.render(w, r, status, page.Gone(v))
	case ".json":
		f, _ := s.fault(err)
		writeProblem(w, status, struct {
			problemJSON
			Reasons []string   `json:"reasons"`
			Result  *endedJSON `json:"result,omitempty"`
		}{problemOf(f, status), v.Reasons, was})
	case ".md", ".txt", ".jira":
		made := wordsOf(suffix, v.Document())
		w.Header().Set("Content-Type", made.kind)
		w.WriteHeader(status)
		w.Write(made.body)
	default:
		s.fail(w, r, err)
	}
}

// endedJSON is what remains of a result that ended.
type endedJSON struct {
	Title  string    `json:"title"`
	Counts string    `json:"counts"`
	Made   time.Time `json:"made_at"`
	Ended  time.Time `json:"ended_at"`
}

// freezeAgain makes a second link of what an older engine froze, computed by this one;
// the old link stays what it is. It needs the owner key of the case or of the link, or a
// server that only its own machine reaches.
func (s *Server) freezeAgain(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	p, err := s.store.Permalink(r.Context(), pathValue(r, "id"))
	if err != nil {
		s.noPermalink(w, r, err)
		return
	}
	if p.CaseID == "" {
		s.fail(w, r, refuse("not_found", "the case of this result was deleted", "", "there is nothing left to compute it from", "upload the bundle again"))
		return
	}
	key := ownerKey(r)
	if !s.store.OwnsPermalink(r.Context(), p.ID, key) {
		if _, err := s.mayEdit(r, p.CaseID, key); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if reading, err := s.refresh(r.Context(), p.CaseID); err != nil || reading {
		if err == nil {
			err = refuse("busy", "the bundles of this case are being read by the new engine", "", "the result is computed from them", "try again in a moment")
		}
		s.fail(w, r, err)
		return
	}
	keep := "keep"
	if !p.Expires.IsZero() {
		keep = fmt.Sprintf("%dd", max(1, int(p.Expires.Sub(p.Created).Hours()/24)))
	}
	// Whoever came this far owns the case, or the link that showed the same unredacted.
	mayReveal := func(caseID string) error {
		if caseID == p.CaseID {
			return nil
		}
		return s.mayReveal(r, key)(caseID)
	}
	s.frozenAs(w, r, wish{Case: p.CaseID, View: p.View, Redact: &p.Redacted, Keep: keep, Preview: p.Preview, Title: p.Title}, mayReveal)
}

// refresh has bundles read again that an older engine has read, and reports whether
// that goes on.
func (s *Server) refresh(ctx context.Context, caseID string) (reading bool, err error) {
	bundles, err := s.store.Bundles(ctx, caseID)
	for _, b := range bundles {
		if b.Status == store.Done && b.Engine != ingest.Engine {
			if _, err := s.store.Requeue(ctx, b.ID); err != nil {
				return false, err
			}
			s.worker.nudge()
			reading = true
		}
		reading = reading || b.Status == store.Queued || b.Status == store.Running
	}
	return reading, err
}
