package server

import (
	"container/list"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis/judge/identity"
	"leakdiff/server/response"
	"leakdiff/store"
)

// A shown page is bytes that were written before: the page, or a twin of it.
type shown struct {
	response.Content
	// etag is strong: it is the hash of the body.
	etag string
	// state is what the page was made of, and changes the state of the whole store
	// when that was last found to be so, at the time checked.
	state string
	// memory is what other cases knew of the families that the page recalls.
	memory  string
	changes int64
	checked time.Time
}

// maxShown bounds the pages that are kept, and maxShownPage a single one.
// shownFor is how long a page may go unchecked while nothing is written: permalinks
// expire without a write.
const (
	maxShown     = 16 << 20
	maxShownPage = 6 << 20
	shownFor     = time.Minute
)

// shownCache keeps the pages that were last asked for, by their address.
type shownCache struct {
	mu    sync.Mutex
	size  int
	order *list.List // of *shownEntry, the last used in front
	by    map[string]*list.Element
}

type shownEntry struct {
	address string
	page    shown
}

func newShownCache() *shownCache {
	return &shownCache{order: list.New(), by: map[string]*list.Element{}}
}

// weight is about what an entry takes.
func (e *shownEntry) weight() int {
	return len(e.page.Body) + len(e.page.state) + 2*len(e.address) + 500
}

func (c *shownCache) get(address string) (shown, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.by[address]
	if !ok {
		return shown{}, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*shownEntry).page, true
}

func (c *shownCache) put(address string, p shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.by[address]; ok {
		c.size -= at.Value.(*shownEntry).weight()
		c.order.Remove(at)
		delete(c.by, address)
	}
	entry := &shownEntry{address, p}
	if entry.weight() > maxShownPage {
		return
	}
	c.by[address] = c.order.PushFront(entry)
	c.size += entry.weight()
	for c.size > maxShown {
		last := c.order.Back()
		entry := last.Value.(*shownEntry)
		c.size -= entry.weight()
		c.order.Remove(last)
		delete(c.by, entry.address)
	}
}

// caseState is everything of a case that its pages are made of, without the evidence.
type caseState struct {
	store.Case
	bundles []store.Bundle
	edits   []identity.Edit
	marks   []store.Mark
	// fields are what people said of the case, by name.
	fields map[string]store.Field
	key    string
	// settled says that no bundle is being read: its progress is no reason to keep a
	// page.
	settled bool
}

// stateCache keeps the states that were read since the store last changed: a page
// asks several times, and the pages of one reader follow one another.
type stateCache struct {
	mu      sync.Mutex
	changes int64
	by      map[string]caseState
}

// maxStates bounds the states that are kept.
const maxStates = 64

func (c *stateCache) get(changes int64, caseID string) (caseState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return caseState{}, false
	}
	st, ok := c.by[caseID]
	return st, ok
}

func (c *stateCache) put(changes int64, st caseState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes || len(c.by) >= maxStates || c.by == nil {
		c.changes, c.by = changes, map[string]caseState{}
	}
	c.by[st.ID] = st
}

func (s *Server) caseState(ctx context.Context, caseID string) (caseState, error) {
	// Asked before the state is read: what is committed in between is asked for anew.
	changes, err := s.store.Changes(ctx)
	if err != nil {
		return caseState{}, err
	}
	if st, ok := s.states.get(changes, caseID); ok {
		return st, nil
	}
	st, err := s.readState(ctx, caseID)
	if err == nil && st.settled {
		s.states.put(changes, st)
	}
	return st, err
}

func (s *Server) readState(ctx context.Context, caseID string) (out caseState, err error) {
	if out.Case, err = s.store.Case(ctx, caseID); err != nil {
		return out, err
	}
	if out.bundles, err = s.store.Bundles(ctx, caseID); err != nil {
		return out, err
	}
	if out.edits, err = s.store.Edits(ctx, caseID); err != nil {
		return out, err
	}
	if out.marks, err = s.store.Marks(ctx, caseID); err != nil {
		return out, err
	}
	if out.fields, err = s.store.Fields(ctx, caseID); err != nil {
		return out, err
	}
	out.key, out.settled = stateKey(out.Case, out.bundles, out.edits, out.marks), true
	for _, b := range out.bundles {
		out.settled = out.settled && (b.Status == store.Done || b.Status == store.Failed)
	}
	return out, nil
}

// saidKey changes with every field.
func (st *caseState) saidKey() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(st.fields)) {
		fmt.Fprintf(&b, "%q=%q %d %q ", name, st.fields[name].Value, st.fields[name].Edited.UnixNano(), st.fields[name].Replaced)
	}
	return b.String()
}

// told is all that pages of the case depend on beside their address.
func (st *caseState) told() string {
	return strings.Join([]string{st.key, st.Title, st.saidKey()}, "\x00")
}

// show answers a page of a case from memory where it was made before and nothing
// of the case has changed since; otherwise it makes it and keeps it. find says
// which cases the page is of, also what else it tells that may change without a write.
func (s *Server) show(w http.ResponseWriter, r *http.Request, find func() (caseIDs []string, err error), make func() (response.Content, error), also ...func() (string, error)) {
	address := s.respond.Base(r) + r.URL.RequestURI() + "\x00" + s.catalogue.Version()
	changes, err := s.store.Changes(r.Context())
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	kept, ok := s.shown.get(address)
	if ok && kept.changes == changes && s.cfg.Now().Sub(kept.checked).Abs() < shownFor {
		kept.answer(w, r)
		return
	}
	key, settled, err := s.shownState(r.Context(), find, also)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	fresh := ok && kept.state == key
	if fresh && len(kept.Recalls) > 0 {
		memory, err := s.recalled(r.Context(), kept.Recalls)
		fresh = err == nil && memory == kept.memory
	}
	if !fresh {
		made, err := make()
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		kept = shown{Content: made, state: key, etag: response.StrongTag(made.Body)}
		if kept.memory, err = s.recalled(r.Context(), made.Recalls); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
	}
	if settled {
		kept.changes, kept.checked = changes, s.cfg.Now()
		s.shown.put(address, kept)
	}
	kept.answer(w, r)
}

// shownState is what a page of cases depends on beside its address.
func (s *Server) shownState(ctx context.Context, find func() ([]string, error), also []func() (string, error)) (key string, settled bool, err error) {
	cases, err := find()
	if err != nil {
		return "", false, err
	}
	var keys []string
	settled = true
	for _, caseID := range cases {
		st, err := s.caseState(ctx, caseID)
		if err != nil {
			return "", false, err
		}
		keys, settled = append(keys, st.told()), settled && st.settled
	}
	for _, tell := range also {
		told, err := tell()
		if err != nil {
			return "", false, err
		}
		keys = append(keys, told)
	}
	return strings.Join(keys, "\x00"), settled, nil
}

func (p shown) answer(w http.ResponseWriter, r *http.Request) { p.Serve(w, r, p.etag) }
