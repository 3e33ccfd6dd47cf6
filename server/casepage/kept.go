package casepage

import (
	"container/list"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"leakdiff/server/response"
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

// show answers a page of a case from memory where it was made before and nothing
// of the case has changed since; otherwise it makes it and keeps it. find says
// which cases the page is of, also what else it tells that may change without a write.
func (s *Service) show(w http.ResponseWriter, r *http.Request, find func() (caseIDs []string, err error), make func() (response.Content, error), also ...func() (string, error)) {
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
func (s *Service) shownState(ctx context.Context, find func() ([]string, error), also []func() (string, error)) (key string, settled bool, err error) {
	cases, err := find()
	if err != nil {
		return "", false, err
	}
	var keys []string
	settled = true
	for _, caseID := range cases {
		st, err := s.loader.State(ctx, caseID)
		if err != nil {
			return "", false, err
		}
		keys, settled = append(keys, st.Told()), settled && st.Settled
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
