package share

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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

// Permalink shows a frozen result from its record alone. A readable tail after the id is
// ignored.
func (s *Service) Permalink(w http.ResponseWriter, r *http.Request) {
	id, picture := strings.CutSuffix(response.PathValue(r, "id"), ".png")
	id, suffix := response.Twin(id)
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "private")
	p, err := s.store.Permalink(r.Context(), id)
	if s.hides(r, p, err) {
		s.cfg.SignIn(w, r)
		return
	}
	if err != nil {
		s.noPermalink(w, r, err)
		return
	}
	if p.Audience == store.ForAccount {
		w.Header().Set("Cache-Control", "private, no-cache")
	}
	var f Record
	if err := json.Unmarshal(p.Record, &f); err != nil {
		s.respond.Fail(w, r, fmt.Errorf("permalink %s: %w", id, err))
		return
	}
	if suffix == "" {
		suffix = accepted(r)
	}
	if suffix == ".json" {
		s.sealed(w, r, response.Content{Kind: response.JSONType, Body: append([]byte(f.Data), '\n')})
		return
	}
	e, err := f.Unpack()
	if err != nil {
		s.respond.Fail(w, r, fmt.Errorf("permalink %s: %w", id, err))
		return
	}
	e.Name, e.Note = "frozen "+id, s.sealLine(r, p, f)
	e.Shell = view.Shell{Title: publicTitle(p, f), Description: description(p, f), Seal: s.seal(r, p, f)}
	e.Shell.Engine = e.Shell.Seal.Engine
	e.Link = s.respond.Base(r) + "/p/" + p.ID
	if picture {
		s.card(w, r, p, &e)
		return
	}
	if suffix == "" {
		if p.Preview != "none" {
			e.Shell.Picture = e.Link + ".png"
		}
		e.Shell.Offer("/p/"+p.ID, "", view.WithoutStacks)
		if e.HasTicket() {
			e.Shell.OfferTicket("/p/"+p.ID, "")
		}
		e.Shell.Seal.Countdown(p.Expires, s.cfg.Now())
		if key := ownerKey(r); access.Administers(r) || key != "" && s.store.OwnsPermalink(r.Context(), id, key) {
			e.Shell.Seal.Owns("/p/"+p.ID, s.cfg.Now())
		}
		made, err := response.PageOf(r.Context(), e.Alone(e.Shell))
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		s.sealed(w, r, made)
		return
	}
	made, err := s.respond.TwinOf(r, suffix, e)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.sealed(w, r, made)
}

// card answers with the picture that a chat shows of the link. It says what the preview says: names
// where that is full, figures alone where it is counts.
func (s *Service) card(w http.ResponseWriter, r *http.Request, p store.Permalink, e *response.Export) {
	if p.Preview == "none" {
		s.respond.Fail(w, r, response.Refuse("not_found", "this result has no picture", p.ID+".png", "it was frozen without a preview", "freeze the page again with a preview of counts or of the sentence"))
		return
	}
	made, err := view.CardOf(e.Page, e.Shell.Title, e.Shell.Description, p.Preview == "full").PNG()
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.sealed(w, r, response.Content{Kind: "image/png", Body: made})
}

// hides reports whether a result is for accounts and its reader has none. A result that is
// not there looks the same.
func (s *Service) hides(r *http.Request, p store.Permalink, err error) bool {
	if access.Of(r.Context()).Role >= access.Reader {
		return false
	}
	var gone *store.Gone
	if errors.As(err, &gone) {
		return gone.Audience == store.ForAccount
	}
	return response.IsNotFound(err) || err == nil && p.Audience == store.ForAccount
}

// sealed answers with a frozen result, or with 304. The Accept header decides the form.
func (s *Service) sealed(w http.ResponseWriter, r *http.Request, made response.Content) {
	w.Header().Set("Vary", "Accept, Cookie")
	made.Tagged(w, r)
}

// accepted returns the twin that the Accept header asks for, "" for the page.
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

// publicTitle is the title of the document. Chats show it like the description, so only a
// full preview may name the subject.
func publicTitle(p store.Permalink, f Record) string {
	if p.Preview == "full" {
		return p.Title
	}
	kind, err := casepage.KindNamed(f.Kind)
	if p.Preview == "none" || err != nil {
		return otherTitle
	}
	return kind.Title(f.Data, p.Counts)
}

// countsOnly describes a result without any name, and gives it such a title.
func (f Record) countsOnly(l *loader.Loaded) (title, counts string) {
	kind, err := casepage.KindNamed(f.Kind)
	if err != nil {
		return otherTitle, ""
	}
	counts = kind.Counts(l)
	return kind.Title(f.Data, counts), counts
}

const otherTitle = "Frozen result"

// description returns what a chat shows of the link before anyone opens it.
func description(p store.Permalink, f Record) string {
	switch p.Preview {
	case "full":
		return f.Headline
	case "none":
		return ""
	}
	return p.Counts
}

func (s *Service) seal(r *http.Request, p store.Permalink, f Record) *view.Seal {
	seal := &view.Seal{
		Made: wording.Time(p.Created) + " UTC", Engine: fmt.Sprintf("engine %d, fingerprint g%d", p.Engine, p.Fingerprint),
		Expires: "kept until withdrawn", Redaction: "not redacted",
	}
	if p.CaseID != "" && (p.Engine != ingest.Engine || p.Fingerprint != family.Version) {
		seal.NeedsKey = s.access.NeedsKey(r.Context(), p.CaseID)
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

// unsealed marks a page as the preview of a frozen one.
func (s *Service) unsealed(f Record) *view.Seal {
	return &view.Seal{Preview: true, Engine: s.respond.Engine(), Redaction: redact.Sum(f.Receipt)}
}

func (s *Service) sealLine(r *http.Request, p store.Permalink, f Record) string {
	seal := s.seal(r, p, f)
	return fmt.Sprintf("Frozen %s by leakdiff, %s, %s, %s.", seal.Made, seal.Engine, seal.Redaction, seal.Expires)
}

// noPermalink answers 410 for a result that ended and 404 for one that never existed, each
// with the likely reasons.
func (s *Service) noPermalink(w http.ResponseWriter, r *http.Request, err error) {
	v, was, status := view.NewNoSuchPermalink(), (*endedJSON)(nil), http.StatusNotFound
	var gone *store.Gone
	if errors.As(err, &gone) {
		v = view.NewGone(view.GoneInput{Title: gone.Title, Counts: gone.Counts, Made: gone.Created, Ended: gone.Ended, Withdrawn: gone.Withdrawn})
		was, status = &endedJSON{Title: gone.Title, Counts: gone.Counts, Made: gone.Created, Ended: gone.Ended}, http.StatusGone
	} else if !response.IsNotFound(err) {
		s.respond.Fail(w, r, err)
		return
	}
	_, suffix := response.Twin(response.PathValue(r, "id"))
	if suffix == "" {
		suffix = accepted(r)
	}
	switch suffix {
	case "", ".html":
		v.Shell.Engine = s.respond.Engine()
		s.respond.Page(w, r, status, page.HTML(v.Page()))
	case ".json":
		f, _ := s.respond.Fault(err)
		response.WriteProblem(w, status, struct {
			response.ProblemJSON
			Reasons []string   `json:"reasons"`
			Result  *endedJSON `json:"result,omitempty"`
		}{response.ProblemOf(f, status), v.Reasons, was})
	case ".md", ".txt", ".jira", ".ticket.md", ".ticket.jira":
		made := response.WordsOf(suffix, v.Document())
		w.Header().Set("Content-Type", made.Kind)
		w.WriteHeader(status)
		w.Write(made.Body)
	default:
		s.respond.Fail(w, r, err)
	}
}

// endedJSON is what remains of a result that ended.
type endedJSON struct {
	Title  string    `json:"title"`
	Counts string    `json:"counts"`
	Made   time.Time `json:"made_at"`
	Ended  time.Time `json:"ended_at"`
}
