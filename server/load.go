package server

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// loaded is a case with everything that was computed of it.
type loaded struct {
	store.Case
	bundles []store.Bundle
	// built is the report over the snapshots as they are after the edits.
	built report.Case
	edits []identity.Edit
	said  identity.Outcome
	// fields are what people keep about the case, by name.
	fields map[string]store.Field
	marks  []store.Mark
	// bundleOf names the bundle of each snapshot.
	bundleOf map[string]string
	// known is the catalogue that the report was made with.
	known *knowledge.Catalogue
	pairs *pairs
}

// maxCached bounds the computed cases kept in memory, and maxCachedBytes what they
// may weigh together: a case of a million members is read again instead.
const (
	maxCached      = 8
	maxCachedBytes = 32 << 20
)

// weight is about how many bytes a computed case takes: columns and the numbers of
// verdicts for each member, words for each family of a snapshot.
func (l *loaded) weight() int {
	bytes := 0
	for _, line := range l.built.Series {
		for _, s := range line.Snapshots {
			bytes += 2_000 + 600*len(s.Groups)
			for i := range s.Groups {
				// Packed goroutines and their numbers in the verdict, or columns.
				each := 80
				if len(s.Groups[i].Members.Packed) > 0 {
					each = 24
				}
				bytes += each * s.Groups[i].Members.Len()
			}
		}
	}
	return bytes
}

// caseCache keeps the cases that were last asked for, by their state in the store.
type caseCache struct {
	mu sync.Mutex
	// computing are the states being computed.
	computing map[string]*computation
	size      int
	order     []string
	cases     map[string]cachedCase
}

type cachedCase struct {
	l      *loaded
	weight int
}

func newCaseCache() *caseCache {
	return &caseCache{cases: map[string]cachedCase{}, computing: map[string]*computation{}}
}

func (c *caseCache) get(key string) *loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.cases[key]
	if ok {
		c.order = append(slices.DeleteFunc(c.order, func(k string) bool { return k == key }), key)
	}
	return found.l
}

// computation is a case that is being computed. done closes at the end; made is nil where
// that came to nothing.
type computation struct {
	done chan struct{}
	made *loaded
	// moved says that the case left the state meanwhile.
	moved bool
}

// once gives the case in this state: from the cache, from whoever computes it now, or
// from compute. Requests for one large case that come together take the memory and the
// time of one.
func (c *caseCache) once(ctx context.Context, key string, compute func() (*loaded, error)) (*loaded, error) {
	for {
		if l := c.get(key); l != nil {
			return l, nil
		}
		c.mu.Lock()
		busy := c.computing[key]
		if busy == nil {
			busy = &computation{done: make(chan struct{})}
			c.computing[key] = busy
			c.mu.Unlock()
			return c.compute(key, busy, compute)
		}
		c.mu.Unlock()
		select {
		case <-busy.done:
			if busy.made != nil {
				return busy.made, nil
			}
			if busy.moved {
				return nil, errMoved
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *caseCache) compute(key string, mine *computation, compute func() (*loaded, error)) (*loaded, error) {
	defer func() {
		c.mu.Lock()
		delete(c.computing, key)
		c.mu.Unlock()
		close(mine.done)
	}()
	l, err := compute()
	if err == nil {
		c.put(key, l)
		mine.made = l
	}
	mine.moved = errors.Is(err, errMoved)
	return l, err
}

func (c *caseCache) put(key string, l *loaded) {
	weight := l.weight()
	if weight > maxCachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	c.order, c.cases[key] = append(c.order, key), cachedCase{l, weight}
	c.size += weight
	for len(c.order) > maxCached || c.size > maxCachedBytes {
		c.drop(c.order[0])
	}
}

func (c *caseCache) drop(key string) {
	if found, ok := c.cases[key]; ok {
		c.size -= found.weight
		delete(c.cases, key)
		c.order = slices.DeleteFunc(c.order, func(k string) bool { return k == key })
	}
}

// A shelf holds the cases that one answer is made of. Each is loaded once, however
// often it is named, so that all parts of the answer speak of the same state.
type shelf struct{ all []*loaded }

type shelfKey struct{}

// shelved gives every request that changes nothing a shelf.
func shelved(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			ctx, _ := onShelf(r.Context())
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// onShelf gives a context in which cases are kept for one answer.
func onShelf(ctx context.Context) (context.Context, *shelf) {
	if have, ok := ctx.Value(shelfKey{}).(*shelf); ok {
		return ctx, have
	}
	made := &shelf{}
	return context.WithValue(ctx, shelfKey{}, made), made
}

// has reports whether the case was loaded.
func (s *shelf) has(caseID string) bool {
	return slices.ContainsFunc(s.all, func(l *loaded) bool { return l.ID == caseID })
}

// load reads a case and computes its report, or takes it from the shelf of the request
// or the cache.
func (s *Server) load(ctx context.Context, caseID string) (*loaded, error) {
	kept, ok := ctx.Value(shelfKey{}).(*shelf)
	if !ok {
		return s.loadCase(ctx, caseID)
	}
	for _, l := range kept.all {
		if l.ID == caseID {
			return l, nil
		}
	}
	l, err := s.loadCase(ctx, caseID)
	if err == nil {
		kept.all = append(kept.all, l)
	}
	return l, err
}

// errMoved says that a case changed while it was read, so that what was made of it belongs
// to no state of it.
var errMoved = errors.New("the case changed while it was read")

const (
	// loadTries is how often a case is read that changes meanwhile, mostTries how often
	// where bundles are deleted under the reader's hands.
	loadTries = 3
	mostTries = 30
)

func (s *Server) loadCase(ctx context.Context, caseID string) (*loaded, error) {
	for try := 1; ; try++ {
		now, err := s.caseState(ctx, caseID)
		if err != nil {
			return nil, err
		}
		known, _ := s.knowledge()
		key := now.key + "/" + known.Version()
		l, err := s.cases.once(ctx, key, func() (*loaded, error) { return s.compute(ctx, now, known) })
		if moved := errors.Is(err, errMoved); moved && (try < loadTries || l == nil && try < mostTries) {
			continue
		} else if err != nil && (!moved || l == nil) {
			return nil, err
		}
		fresh := *l
		fresh.Case, fresh.bundles, fresh.fields = now.Case, now.bundles, now.fields
		return &fresh, nil
	}
}

// compute reads the snapshots of a case and makes its report. Where the case is no longer
// in the given state then, the error is errMoved.
func (s *Server) compute(ctx context.Context, now caseState, known *knowledge.Catalogue) (*loaded, error) {
	snapshots, err := s.store.SnapshotsPacked(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	l := &loaded{Case: now.Case, bundles: now.bundles, edits: now.edits, fields: now.fields, marks: now.marks, said: identity.Resolve(snapshots, now.edits), pairs: &pairs{}}
	problems := l.said.Problems
	for _, b := range now.bundles {
		if b.Status != store.Done {
			continue
		}
		p, err := s.store.Problems(ctx, b.ID)
		if isNotFound(err) { // the bundle was deleted
			return nil, errMoved
		}
		if err != nil {
			return nil, err
		}
		problems = append(problems, p...)
	}
	if l.bundleOf, err = s.store.SnapshotBundles(ctx, now.ID); err != nil {
		return nil, err
	}
	then, err := s.caseState(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	l.built = report.Build(l.said.Snapshots, problems, report.Options{Version: s.cfg.Version, Events: happened(l.said), Loads: l.said.Loads, Triage: sorted(now.marks), Knowledge: known})
	l.known = known
	if then.key != now.key {
		return l, errMoved
	}
	return l, nil
}

// sorted is what people said of families, as reports take it.
func sorted(marks []store.Mark) map[report.Sorted]analysis.Triage {
	out := map[report.Sorted]analysis.Triage{}
	for _, m := range marks {
		out[report.Sorted{Process: m.Process, Fingerprint: m.Fingerprint}] = m.Triage
	}
	return out
}

// happened are the events that people entered, as verdicts take them.
func happened(said identity.Outcome) []trend.Event {
	var out []trend.Event
	for _, e := range said.Events {
		out = append(out, trend.Event{At: e.At, Kind: e.Kind, Text: e.Text})
	}
	return out
}

// brief are the snapshots of a case without members, as they are after its edits.
func (s *Server) brief(ctx context.Context, caseID string) (identity.Outcome, error) {
	found, err := s.store.Snapshots(ctx, caseID)
	if err != nil {
		return identity.Outcome{}, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return identity.Outcome{}, err
	}
	return identity.Resolve(found, edits), nil
}

// stateKey changes whenever a bundle of the case comes, goes or is read again, and
// whenever the case is edited, an edit is undone or somebody marks a family: edits are
// only ever added, and undone once. No state comes back when a bundle comes and goes.
func stateKey(c store.Case, bundles []store.Bundle, edits []identity.Edit, marks []store.Mark) string {
	undone := 0
	for _, e := range edits {
		if e.Undone {
			undone++
		}
	}
	key := fmt.Sprintf("%s+%d+%d-%d", c.ID, c.Revision, len(edits), undone)
	said := fnv.New64a()
	for _, m := range marks {
		fmt.Fprintf(said, "%q%q%q%q%q%v%d%q", m.Process, m.Fingerprint, m.State, m.Note, m.Outcome, m.Remembered, m.At.UnixNano(), m.Replaced)
	}
	key += fmt.Sprintf("+%x", said.Sum64())
	for _, b := range bundles {
		key += fmt.Sprintf("/%s%s-%d-%d", b.ID, b.Status, b.Engine, b.Generation)
	}
	return key
}

// leftOut reports whether a person took the snapshot out of the case.
func (l *loaded) leftOut(snapshotID string) bool {
	return slices.ContainsFunc(l.said.LeftOut, func(s analysis.Snapshot) bool { return s.ID == snapshotID })
}

func leftOutFault(snapshotID string) error {
	return refuse("not_found", "this snapshot was left out of its case", snapshotID, "a person took it out of all series and verdicts", "take it back in on the identity page of the case")
}

// series finds the series that holds a snapshot, with the snapshot's index.
func (l *loaded) series(snapshotID string) (*report.JudgedSeries, int) {
	for i := range l.built.Series {
		for j, s := range l.built.Series[i].Snapshots {
			if s.ID == snapshotID {
				return &l.built.Series[i], j
			}
		}
	}
	return nil, -1
}
