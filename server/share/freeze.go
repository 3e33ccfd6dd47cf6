package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/access"
	"leakdiff/server/casepage"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// SharePage shows the form that freezes a result, with a preview of what is shared.
func (s *Service) SharePage(w http.ResponseWriter, r *http.Request) {
	address := r.URL.Query().Get("view")
	safe, l, err := s.safe(r, address)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	e, err := safe.Unpack()
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if r.URL.Query().Get("look") != "" {
		s.respond.Page(w, r, http.StatusOK, e.Alone(view.Shell{Title: safe.Headline, Seal: s.unsealed(safe), Engine: s.respond.Engine()}))
		return
	}
	title, counts := safe.countsOnly(l)
	freezes := []string{
		fmt.Sprintf("The %s as it stands now, with its figures, verdicts and evidence (%s).", safe.Kind, wording.Bytes(int64(len(safe.Page)+len(safe.Data)))),
		"The same as Markdown, Jira markup, text, HTML file, CSV, JSON and its charts as SVG.",
	}
	v := view.NewShare(view.ShareInput{
		Case: l.ID, CaseTitle: l.Title, View: address, Title: safe.Headline, Rules: receiptRows(safe.Receipt),
		NeedsKey:    s.access.NeedsKey(r.Context(), l.ID),
		Freezes:     freezes,
		CountsTitle: title, Counts: counts, Full: safe.Headline, Now: s.cfg.Now(), Markdown: e.Page.Body.Markdown(),
		Accounts: s.access.Controlled(),
	})
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v.Page()))
}

func receiptRows(receipt []redact.Receipt) []view.RedactionRule {
	var out []view.RedactionRule
	for _, x := range receipt {
		out = append(out, view.RedactionRule{Name: x.Title(), Text: x.Become(), Count: x.Count(), Found: x.Places > 0, First: x.FirstPlaces()})
	}
	return out
}

// freezeRequest is a request to freeze a page, from a form or as JSON.
type freezeRequest struct {
	Case    string `json:"case"`
	View    string `json:"view"`
	Redact  *bool  `json:"redact"`
	Keep    string `json:"keep"`
	Preview string `json:"preview"`
	Title   string `json:"title"`
	// Audience is link or account.
	Audience string `json:"audience"`
}

// Result is a new permalink.
type Result struct {
	ID        string           `json:"id"`
	Link      string           `json:"link"`
	URL       string           `json:"url"`
	OwnerKey  string           `json:"owner_key"`
	ExpiresAt *time.Time       `json:"expires_at"`
	Receipt   []redact.Receipt `json:"receipt"`
}

// keepUntil returns when a result expires: after "7d" or "90d", never for "keep".
func (s *Service) keepUntil(keep string) (time.Time, error) {
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
		return time.Time{}, response.Refuse("bad_request", "the time to keep a result was not understood", keep, "it is a number of days such as 90d, or keep", "use 7d, 30d, 90d, 365d or keep")
	}
	return s.cfg.Now().AddDate(0, 0, days), nil
}

// viewOf returns the address of a page in a case. An empty caseID leaves the case to the
// address.
func viewOf(address, caseID string) (string, error) {
	if caseID == "" {
		return address, nil
	}
	if address == "" {
		return "/cases/" + url.PathEscape(caseID), nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", response.Refuse("bad_request", "the view is no address", address, "it is no path with a query", "send the path of a page, as in the browser")
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
		return "", response.Refuse("bad_request", "the view is of another case", address, "case says "+caseID, "leave case out, or name the same case in both")
	}
	return u.String(), nil
}

// mayReveal demands the owner key of a case that is frozen without redaction. Everybody
// with the link can read it, and the link outlives the case.
func (s *Service) mayReveal(r *http.Request, formKey string) func(caseID string) error {
	return func(caseID string) error {
		_, err := s.access.Edit(r, caseID, formKey)
		var f *analysis.Fault
		if !errors.As(err, &f) || f.Code != "forbidden" {
			return err
		}
		return response.Refuse(f.Code, "freezing a case without redaction needs its owner key", "case "+caseID, f.Why, f.Hint+"; with redaction no key is needed")
	}
}

// freezeView freezes a page. Without redaction it calls mayReveal for every case on the
// page.
func (s *Service) freezeView(r *http.Request, in freezeRequest, mayReveal func(caseID string) error) (Result, *loader.Loaded, error) {
	until, err := s.keepUntil(in.Keep)
	if err != nil {
		return Result{}, nil, err
	}
	if in.Preview == "" {
		in.Preview = "counts"
	}
	if in.Preview != "counts" && in.Preview != "full" && in.Preview != "none" {
		return Result{}, nil, response.Refuse("bad_request", "the preview level was not understood", in.Preview, "", "use counts, full or none")
	}
	if in.Audience == "" {
		in.Audience = store.ForLink
	}
	if in.Audience != store.ForLink && in.Audience != store.ForAccount {
		return Result{}, nil, response.Refuse("bad_request", "the audience was not understood", in.Audience, "it is whoever has the link, or whoever has an account", "use link or account")
	}
	if in.View, err = viewOf(in.View, in.Case); err != nil {
		return Result{}, nil, err
	}
	done, err := s.turn(r.Context())
	if err != nil {
		return Result{}, nil, err
	}
	defer done()
	v, l, cases, err := s.pages.FrozenView(r, in.View)
	if err != nil {
		return Result{}, nil, err
	}
	redacts := in.Redact == nil || *in.Redact
	if !redacts {
		for _, c := range cases {
			if err := mayReveal(c.ID); err != nil {
				return Result{}, nil, err
			}
		}
	}
	hide, err := redactor(cases)
	if err != nil {
		return Result{}, nil, err
	}
	hide.LearnSaid(in.Title)
	pack := record
	if redacts {
		pack = func(v casepage.View) (Record, error) { return redacted(v, hide) }
	}
	f, err := pack(v)
	if err != nil {
		return Result{}, nil, err
	}
	title := strings.TrimSpace(in.Title)
	if title == "" {
		title = f.Headline
	} else if f.Redacted {
		title = hide.Text(title)
	}
	_, counts := f.countsOnly(l)
	text, err := json.Marshal(f)
	if err != nil {
		return Result{}, nil, err
	}
	p, key, err := s.store.CreatePermalink(r.Context(), store.Permalink{
		CaseID: l.ID, View: in.View, Title: title, Expires: until, Engine: ingest.Engine, Fingerprint: family.Version,
		Record: text, Preview: in.Preview, Counts: counts, Redacted: f.Redacted,
		Audience: in.Audience,
	})
	if err != nil {
		return Result{}, nil, err
	}
	access.About(r, "case", l.ID)
	access.AboutResult(r, p.ID)
	s.logged(r, "result shared", "", p.ID, "case", l.ID, "redacted", f.Redacted, "audience", in.Audience, "expires", ends(until))
	out := Result{ID: p.ID, Link: "/p/" + p.ID, URL: s.respond.Base(r) + "/p/" + p.ID, OwnerKey: key, Receipt: f.Receipt}
	if out.Receipt == nil {
		out.Receipt = []redact.Receipt{}
	}
	if !until.IsZero() {
		out.ExpiresAt = &until
	}
	return out, l, nil
}

// Freeze handles the form of the share page.
func (s *Service) Freeze(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	redacts := r.PostForm.Get("redact") != ""
	s.frozenAs(w, r, freezeRequest{
		Case: r.PostForm.Get("case"), View: r.PostForm.Get("view"), Redact: &redacts,
		Keep: r.PostForm.Get("keep"), Preview: r.PostForm.Get("preview"), Title: r.PostForm.Get("title"),
		Audience: r.PostForm.Get("audience"),
	}, s.mayReveal(r, strings.TrimSpace(r.PostForm.Get("key"))))
}

// frozenAs freezes a page and shows the link and, only this once, its key.
func (s *Service) frozenAs(w http.ResponseWriter, r *http.Request, in freezeRequest, mayReveal func(caseID string) error) {
	out, l, err := s.freezeView(r, in, mayReveal)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	var expires time.Time
	if out.ExpiresAt != nil {
		expires = *out.ExpiresAt
	}
	v := view.NewShared(l.ID, l.Title, out.URL, out.OwnerKey, expires, receiptRows(out.Receipt))
	v.Shell.Engine = s.respond.Engine()
	s.keepKey(w, out.ID, out.OwnerKey, expires)
	w.Header().Set("Cache-Control", "no-store")
	s.respond.Page(w, r, http.StatusOK, page.HTML(v.Page()))
}

// FreezeAPI is POST /api/v1/permalinks.
func (s *Service) FreezeAPI(w http.ResponseWriter, r *http.Request) {
	var in freezeRequest
	if err := response.ReadJSON(w, r, &in, `{"case": "...", "view": "/diff/a..b", "redact": true, "keep": "90d", "preview": "counts"}`); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	out, _, err := s.freezeView(r, in, s.mayReveal(r, ""))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	if r.Header.Get("Sec-Fetch-Site") == "same-origin" { // a button of a page
		var expires time.Time
		if out.ExpiresAt != nil {
			expires = *out.ExpiresAt
		}
		s.keepKey(w, out.ID, out.OwnerKey, expires)
	}
	w.Header().Set("Location", s.respond.Path()+out.Link)
	w.Header().Set("Cache-Control", "no-store")
	response.WriteJSON(w, http.StatusCreated, out)
}

// ExtendAPI is PATCH /api/v1/permalinks/{id} with {"keep": "90d"}.
func (s *Service) ExtendAPI(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Keep string `json:"keep"`
	}
	if err := response.ReadJSON(w, r, &in, `{"keep": "90d"}`); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	until, err := s.keepUntil(in.Keep)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	key, _ := access.OwnerKey(r)
	if err := s.extend(r, response.PathValue(r, "id"), key, until); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// WithdrawAPI is DELETE /api/v1/permalinks/{id}.
func (s *Service) WithdrawAPI(w http.ResponseWriter, r *http.Request) {
	key, _ := access.OwnerKey(r)
	if err := s.withdraw(r, response.PathValue(r, "id"), key); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// FreezeAgain makes a second permalink of a result that an older engine froze, computed by
// this engine. The old permalink does not change. It needs the owner key of the case or of
// the permalink, or a server that only its own machine reaches.
func (s *Service) FreezeAgain(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	p, err := s.store.Permalink(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.noPermalink(w, r, err)
		return
	}
	if p.CaseID == "" {
		s.respond.Fail(w, r, response.Refuse("not_found", "the case of this result was deleted", "", "there is nothing left to compute it from", "upload the bundle again"))
		return
	}
	key := ownerKey(r)
	if !s.store.OwnsPermalink(r.Context(), p.ID, key) {
		if _, err := s.access.Edit(r, p.CaseID, key); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
	}
	if reading, err := s.refresh(r.Context(), p.CaseID); err != nil || reading {
		if err == nil {
			err = response.Refuse("busy", "the bundles of this case are being read by the new engine", "", "the result is computed from them", "try again in a moment")
		}
		s.respond.Fail(w, r, err)
		return
	}
	keep := "keep"
	if !p.Expires.IsZero() {
		keep = fmt.Sprintf("%dd", max(1, int(p.Expires.Sub(p.Created).Hours()/24)))
	}
	// The sender owns the case, or the permalink that showed the same without redaction.
	mayReveal := func(caseID string) error {
		if caseID == p.CaseID {
			return nil
		}
		return s.mayReveal(r, key)(caseID)
	}
	s.frozenAs(w, r, freezeRequest{Case: p.CaseID, View: p.View, Redact: &p.Redacted, Keep: keep, Preview: p.Preview, Title: p.Title, Audience: p.Audience}, mayReveal)
}

// refresh queues the bundles that an older engine has read. It reports whether any bundle
// is queued or being read.
func (s *Service) refresh(ctx context.Context, caseID string) (reading bool, err error) {
	bundles, err := s.store.Bundles(ctx, caseID)
	for _, b := range bundles {
		if b.Status == store.Done && b.Engine != ingest.Engine && b.Dropped.IsZero() {
			if _, err := s.store.Requeue(ctx, b.ID); err != nil {
				return false, err
			}
			s.queue.Notify()
			reading = true
		}
		reading = reading || b.Status == store.Queued || b.Status == store.Running
	}
	return reading, err
}
