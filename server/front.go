package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// The front of a case is its page as everybody sees it first: without a query. Making it
// reads and judges every snapshot of the case, so that it is kept in the database, with a
// hash of all that it was made of: of another state, another program or another
// catalogue it is made anew.

// frontState is that hash, empty where the front is not to be kept: while a bundle of the
// case is read, or without a name of the program. cases are those that the page is of.
func (s *Server) frontState(ctx context.Context, id string) (state string, cases []string, err error) {
	program := ""
	if s.cfg.Program != nil {
		program = s.cfg.Program()
	}
	if cases, err = s.withBaselines(ctx, id); err != nil {
		return "", nil, err
	}
	found := func() ([]string, error) { return cases, nil }
	key, settled, err := s.shownState(ctx, found, []func() (string, error){s.permalinksOf(ctx, id)})
	if err != nil || !settled || program == "" {
		return "", cases, err
	}
	return hashed(program, s.knownVersion(), strconv.FormatBool(s.loopback()), key), cases, nil
}

// permalinksOf tells how many permalinks a case has, which expire without a write.
func (s *Server) permalinksOf(ctx context.Context, id string) func() (string, error) {
	return func() (string, error) {
		n, err := s.store.PermalinkCount(ctx, id)
		return strconv.Itoa(n), err
	}
}

func hashed(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", parts)))
}

// isFront reports whether a request asks for the front of a case.
func isFront(r *http.Request, id string) bool { return r.URL.RequestURI() == frontPath(id) }

func frontPath(id string) string { return "/cases/" + id }

// front gives the front of a case from the database where it is there and nothing of it
// has changed; otherwise it makes it and has it kept.
func (s *Server) front(ctx context.Context, id string) (store.CasePage, error) {
	// Asked before the case is read: what is written in between makes another state.
	state, cases, err := s.frontState(ctx, id)
	if err != nil {
		return store.CasePage{}, err
	}
	if state != "" {
		p, found, err := s.store.CasePage(ctx, id, state)
		if found {
			return p, nil
		}
		if err != nil {
			s.log.Error("a kept page could not be read", "case", id, "error", err)
		}
	}
	p, err := s.makeFront(ctx, id, state, cases)
	if err == nil {
		s.worker.keepFront(id, p)
	}
	return p, err
}

// makeFront makes the front of a case. In the place of its address, and of what other
// cases know of its findings, a name stands between two slots: none for the address, a
// fingerprint for the others. The slots are drawn at random, so that no word of the
// evidence is taken for one.
func (s *Server) makeFront(ctx context.Context, id, state string, cases []string) (store.CasePage, error) {
	l, err := s.load(ctx, id)
	if err != nil {
		return store.CasePage{}, err
	}
	p := store.CasePage{State: state, Slot: rand.Text(), Recalls: leading(l.built.Report), Elsewhere: len(cases) > 1}
	slots := map[string]view.CaseMemory{}
	for _, print := range p.Recalls {
		slots[print] = view.CaseMemory{Slot: p.Slot + print + p.Slot}
	}
	permalinks, err := s.store.PermalinkCount(ctx, id)
	if err != nil {
		return store.CasePage{}, err
	}
	v, err := s.caseView(ctx, l, permalinks, url.Values{}, slots, showing)
	if err != nil {
		return store.CasePage{}, err
	}
	offerSharing(&v.Shell, url.URL{Path: frontPath(id)}, id)
	made, err := pageOf(page.At(ctx, p.Slot+p.Slot), page.Case(v))
	p.Body = made.body
	return p, err
}

// filled is the front under the address that it is asked for, with what other cases
// know now.
func (s *Server) filled(ctx context.Context, p store.CasePage, id, address string) (written, error) {
	known, err := s.memories(ctx, id, p.Recalls)
	if err != nil {
		return written{}, err
	}
	pieces := bytes.Split(p.Body, []byte(p.Slot))
	for i := 1; i < len(pieces); i += 2 {
		text := templ.EscapeString(view.Visible(address))
		if print := string(pieces[i]); print != "" {
			if text, err = page.MemoryLine(ctx, known[print].Sentence()); err != nil {
				return written{}, err
			}
		}
		pieces[i] = []byte(text)
	}
	return written{kind: htmlType, body: bytes.Join(pieces, nil), recalls: p.Recalls}, nil
}

// keepFront writes the front of a case into the database, if it still is that.
func (s *Server) keepFront(ctx context.Context, id string, p store.CasePage) {
	err := func() error {
		if p.State == "" || len(p.Body) > maxShownPage {
			return nil
		}
		if holds, err := s.holds(ctx, id, p); !holds || err != nil {
			return err
		}
		if err := s.store.KeepCasePage(ctx, id, p); err != nil {
			return err
		}
		// What was deleted in the meantime must not come back with the page; what is
		// deleted from now on takes the page with it.
		if holds, err := s.holds(ctx, id, p); holds || err != nil {
			return err
		}
		return s.store.ForgetCasePage(ctx, id, p.State)
	}()
	if err != nil && ctx.Err() == nil && !isNotFound(err) {
		s.log.Error("keeping a page failed", "case", id, "error", err)
	}
}

// holds reports whether the front of the case would be the same now.
func (s *Server) holds(ctx context.Context, id string, p store.CasePage) (bool, error) {
	state, _, err := s.frontState(ctx, id)
	return state == p.State, err
}
