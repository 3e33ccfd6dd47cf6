package casepage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// The front of a case is its page as everybody sees it first, without a query, and the
// JSON of that page. Making it reads and judges every snapshot of the case, so that it is
// kept in the database, with a hash of all that it was made of: of another state, another
// program or another catalogue it is made anew.

// FrontState is what the front of a case is made of beside the evidence.
type FrontState struct {
	// Hash is of all of it, empty where the front is not to be kept: while a bundle of
	// the case is read, or without a name of the program.
	Hash string
	// cases are those that the page is of, told what each has said.
	cases, told []string
	known       string
	permalinks  int
}

// FrontState is the state of the front of a case now.
func (s *Service) FrontState(ctx context.Context, id string) (f FrontState, err error) {
	if f.cases, err = s.withBaselines(ctx, id); err != nil {
		return f, err
	}
	if f.permalinks, err = s.store.PermalinkCount(ctx, id); err != nil {
		return f, err
	}
	settled := true
	for _, caseID := range f.cases {
		st, err := s.loader.State(ctx, caseID)
		if err != nil {
			return f, err
		}
		f.told, settled = append(f.told, st.Told()), settled && st.Settled
	}
	f.known = s.catalogue.Version()
	program := ""
	if s.cfg.Program != nil {
		program = s.cfg.Program()
	}
	if settled && program != "" {
		f.Hash = hashed(append([]string{program + s.respond.Path(), f.known, strconv.FormatBool(s.access.Local()), strconv.Itoa(f.permalinks)}, f.told...))
	}
	return f, nil
}

func hashed(parts []string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", parts)))
}

// holds reports whether the cases that a page was made of are in this state.
func (f *FrontState) holds(cases *loader.Shelf) bool {
	for _, l := range cases.All {
		now := loader.State{Case: l.Case, Fields: l.Fields, Key: loader.StateKey(l.Case, l.Bundles, l.Edits, l.Marks)}
		if l.Known.Version() != f.known || !slices.Contains(f.told, now.Told()) {
			return false
		}
	}
	return true
}

// frontForm is "html" or "json" where a request asks for the front of a case.
func frontForm(r *http.Request, id string) string {
	switch r.URL.RequestURI() {
	case frontPath(id):
		return "html"
	case frontPath(id) + ".json":
		return "json"
	}
	return ""
}

func frontPath(id string) string { return "/cases/" + id }

// front gives the front of a case from the database where it is there and nothing of it
// has changed; otherwise it makes it and has it kept.
func (s *Service) front(ctx context.Context, id, form string) (store.CasePage, error) {
	state, err := s.FrontState(ctx, id)
	if err != nil {
		return store.CasePage{}, err
	}
	if state.Hash != "" {
		p, found, err := s.store.CasePage(ctx, id, form, state.Hash)
		if found {
			return p, nil
		}
		if err != nil {
			s.log.Error("a kept page could not be read", "case", id, "error", err)
		}
	}
	p, err := s.MakeFront(ctx, id, form, state)
	if err == nil && p.State != "" {
		s.queue.Later(func(ctx context.Context) { s.KeepFront(ctx, id, p) })
	}
	return p, err
}

// MakeFront makes the front of a case. Its State is empty where the case was not read in
// this one.
func (s *Service) MakeFront(ctx context.Context, id, form string, state FrontState) (store.CasePage, error) {
	ctx, cases := loader.OnShelf(ctx)
	l, err := s.loader.Load(ctx, id)
	if err != nil {
		return store.CasePage{}, err
	}
	p := store.CasePage{Form: form, Elsewhere: len(state.cases) > 1}
	if form == "json" {
		made, err := response.ReportOf(l.Built.Report)
		if err != nil {
			return p, err
		}
		p.Body = made.Body
	} else if err := s.drawFront(ctx, l, state.permalinks, &p); err != nil {
		return p, err
	}
	if state.holds(cases) {
		p.State = state.Hash
	}
	return p, nil
}

// drawFront renders the page. In the place of its address, and of what other cases know
// of its findings, a name stands between two slots: none for the address, a fingerprint
// for the others. The slots are drawn at random, so that no word of the evidence is taken
// for one.
func (s *Service) drawFront(ctx context.Context, l *loader.Loaded, permalinks int, p *store.CasePage) error {
	p.Slot, p.Recalls = rand.Text(), leading(l.Built.Report)
	slots := map[string]view.CaseMemory{}
	for _, print := range p.Recalls {
		slots[print] = view.CaseMemory{Slot: p.Slot + print + p.Slot}
	}
	v, err := s.caseView(ctx, l, permalinks, url.Values{}, slots, showing)
	if err != nil {
		return err
	}
	response.OfferSharing(&v.Shell, url.URL{Path: frontPath(l.ID)}, l.ID)
	made, err := response.PageOf(page.At(ctx, p.Slot+p.Slot), page.Case(v))
	p.Body = made.Body
	return err
}

// filled is the front under the address that it is asked for, with what other cases
// know now.
func (s *Service) filled(ctx context.Context, p store.CasePage, id, address string) (response.Content, error) {
	if p.Form == "json" {
		return response.Content{Kind: response.JSONType, Body: p.Body}, nil
	}
	known, err := s.memories(ctx, id, p.Recalls)
	if err != nil {
		return response.Content{}, err
	}
	pieces := bytes.Split(p.Body, []byte(p.Slot))
	for i := 1; i < len(pieces); i += 2 {
		text := templ.EscapeString(view.Visible(address))
		if print := string(pieces[i]); print != "" {
			if text, err = page.MemoryLine(ctx, known[print].Sentence()); err != nil {
				return response.Content{}, err
			}
		}
		pieces[i] = []byte(text)
	}
	return response.Content{Kind: response.HTMLType, Body: bytes.Join(pieces, nil), Recalls: p.Recalls}, nil
}

// KeepFront writes the front of a case into the database, if it still is that.
func (s *Service) KeepFront(ctx context.Context, id string, p store.CasePage) {
	if p.State == "" || len(p.Body) > maxShownPage {
		return
	}
	err := func() error {
		if now, err := s.FrontState(ctx, id); err != nil || now.Hash != p.State {
			return err
		}
		if err := s.store.KeepCasePage(ctx, id, p); err != nil {
			return err
		}
		// What was deleted in the meantime must not come back with the page; what is
		// deleted from now on takes the page with it.
		if now, err := s.FrontState(ctx, id); err != nil || now.Hash == p.State {
			return err
		}
		return s.store.ForgetCasePage(ctx, id, p.State)
	}()
	if err != nil && ctx.Err() == nil && !response.IsNotFound(err) {
		s.log.Error("keeping a page failed", "case", id, "error", err)
	}
}
