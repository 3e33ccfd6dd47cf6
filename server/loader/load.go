// Package loader reads a case with the corrections that people made, and makes its report.
// It shows nothing: pages, links and summaries are made from what it gives.
package loader

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/server/response"
	"leakdiff/store"
)

// maxPairs bounds the comparisons that a computed case keeps.
const maxPairs = 4

// pairs are the comparisons that were last asked for of a computed case: the same
// one is written anew for every filter, order and opened row.
type pairs struct {
	mu    sync.Mutex
	order []string
	by    map[string]diff.Result
}

// Pair compares two snapshots of a case once.
func (l *Loaded) Pair(other *Loaded, idA, idB string, compare func() diff.Result) diff.Result {
	if other != l || l.pairs == nil {
		return compare()
	}
	key := idA + ".." + idB
	l.pairs.mu.Lock()
	found, ok := l.pairs.by[key]
	l.pairs.mu.Unlock()
	if ok {
		return found
	}
	found = compare()
	l.pairs.mu.Lock()
	defer l.pairs.mu.Unlock()
	if l.pairs.by == nil {
		l.pairs.by = map[string]diff.Result{}
	}
	if len(l.pairs.order) == maxPairs {
		delete(l.pairs.by, l.pairs.order[0])
		l.pairs.order = l.pairs.order[1:]
	}
	if _, twice := l.pairs.by[key]; !twice {
		l.pairs.order = append(l.pairs.order, key)
	}
	l.pairs.by[key] = found
	return found
}

// Store is what the loader asks of a database.
type Store interface {
	Case(ctx context.Context, id string) (store.Case, error)
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	Edits(ctx context.Context, caseID string) ([]identity.Edit, error)
	Marks(ctx context.Context, caseID string) ([]store.Mark, error)
	Fields(ctx context.Context, caseID string) (map[string]store.Field, error)
	Problems(ctx context.Context, bundleID string) ([]analysis.Problem, error)
	Snapshots(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotHeads(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotsPacked(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotsAged(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotBundles(ctx context.Context, caseID string) (bundleOf map[string]string, err error)
	// Changes stays the same while nothing is written.
	Changes(ctx context.Context) (int64, error)
}

// Knowledge is what is known of leaks, as it is now.
type Knowledge interface {
	Current() (*knowledge.Catalogue, []analysis.Problem)
}

// Config says what cases are read from.
type Config struct {
	Store     Store
	Knowledge Knowledge
	// Version is that of the program, for reports.
	Version string
}

// Loader loads cases.
type Loader struct {
	store     Store
	knowledge Knowledge
	version   string
	cases     *caseCache
	states    stateCache
}

// New makes a loader.
func New(cfg Config) *Loader {
	return &Loader{store: cfg.Store, knowledge: cfg.Knowledge, version: cfg.Version, cases: newCaseCache()}
}

// Loaded is a case with everything that was computed of it.
type Loaded struct {
	store.Case
	Bundles []store.Bundle
	// Built is the report over the snapshots as they are after the edits.
	Built report.Case
	Edits []identity.Edit
	Said  identity.Outcome
	// Fields are what people keep about the case, by name.
	Fields map[string]store.Field
	Marks  []store.Mark
	// BundleOf names the bundle of each snapshot.
	BundleOf map[string]string
	// Known is the catalogue that the report was made with.
	Known *knowledge.Catalogue
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
func (l *Loaded) weight() int {
	bytes := 0
	for _, line := range l.Built.Series {
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
	l      *Loaded
	weight int
}

func newCaseCache() *caseCache {
	return &caseCache{cases: map[string]cachedCase{}, computing: map[string]*computation{}}
}

func (c *caseCache) get(key string) *Loaded {
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
	made *Loaded
	// moved says that the case left the state meanwhile.
	moved bool
}

// once gives the case in this state: from the cache, from whoever computes it now, or
// from compute. Requests for one large case that come together take the memory and the
// time of one.
func (c *caseCache) once(ctx context.Context, key string, compute func() (*Loaded, error)) (*Loaded, error) {
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

func (c *caseCache) compute(key string, mine *computation, compute func() (*Loaded, error)) (*Loaded, error) {
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

func (c *caseCache) put(key string, l *Loaded) {
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
type Shelf struct{ All []*Loaded }

type shelfKey struct{}

// Shelved gives every request that changes nothing a shelf.
func Shelved(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			ctx, _ := OnShelf(r.Context())
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// OnShelf gives a context in which cases are kept for one answer.
func OnShelf(ctx context.Context) (context.Context, *Shelf) {
	if have, ok := ctx.Value(shelfKey{}).(*Shelf); ok {
		return ctx, have
	}
	made := &Shelf{}
	return context.WithValue(ctx, shelfKey{}, made), made
}

// Has reports whether the case was loaded.
func (s *Shelf) Has(caseID string) bool {
	return slices.ContainsFunc(s.All, func(l *Loaded) bool { return l.ID == caseID })
}

// Load reads a case and computes its report, or takes it from the shelf of the request
// or the cache.
func (s *Loader) Load(ctx context.Context, caseID string) (*Loaded, error) {
	kept, ok := ctx.Value(shelfKey{}).(*Shelf)
	if !ok {
		return s.loadCase(ctx, caseID)
	}
	for _, l := range kept.All {
		if l.ID == caseID {
			return l, nil
		}
	}
	l, err := s.loadCase(ctx, caseID)
	if err == nil {
		kept.All = append(kept.All, l)
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

func (s *Loader) loadCase(ctx context.Context, caseID string) (*Loaded, error) {
	for try := 1; ; try++ {
		now, err := s.State(ctx, caseID)
		if err != nil {
			return nil, err
		}
		known, _ := s.knowledge.Current()
		key := now.Key + "/" + known.Version()
		l, err := s.cases.once(ctx, key, func() (*Loaded, error) { return s.compute(ctx, now, known) })
		if moved := errors.Is(err, errMoved); moved && (try < loadTries || l == nil && try < mostTries) {
			continue
		} else if err != nil && (!moved || l == nil) {
			return nil, err
		}
		fresh := *l
		fresh.Case, fresh.Bundles, fresh.Fields = now.Case, now.bundles, now.Fields
		return &fresh, nil
	}
}

// compute reads the snapshots of a case and makes its report. Where the case is no longer
// in the given state then, the error is errMoved.
func (s *Loader) compute(ctx context.Context, now State, known *knowledge.Catalogue) (*Loaded, error) {
	snapshots, err := s.store.SnapshotsPacked(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Case: now.Case, Bundles: now.bundles, Edits: now.edits, Fields: now.Fields, Marks: now.marks, Said: identity.Resolve(snapshots, now.edits), pairs: &pairs{}}
	problems := l.Said.Problems
	for _, b := range now.bundles {
		if b.Status != store.Done {
			continue
		}
		p, err := s.store.Problems(ctx, b.ID)
		if response.IsNotFound(err) { // the bundle was deleted
			return nil, errMoved
		}
		if err != nil {
			return nil, err
		}
		problems = append(problems, p...)
	}
	if l.BundleOf, err = s.store.SnapshotBundles(ctx, now.ID); err != nil {
		return nil, err
	}
	then, err := s.State(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	l.Built = report.Build(l.Said.Snapshots, problems, report.Options{Version: s.version, Events: happened(l.Said), Loads: l.Said.Loads, Triage: sorted(now.marks), Knowledge: known})
	l.Known = known
	if then.Key != now.Key {
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

// Brief are the snapshots of a case without members, as they are after its edits.
func (s *Loader) Brief(ctx context.Context, caseID string) (identity.Outcome, error) {
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

// StateKey changes whenever a bundle of the case comes, goes or is read again, and
// whenever the case is edited, an edit is undone or somebody marks a family: edits are
// only ever added, and undone once. No state comes back when a bundle comes and goes.
func StateKey(c store.Case, bundles []store.Bundle, edits []identity.Edit, marks []store.Mark) string {
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

// LeftOut reports whether a person took the snapshot out of the case.
func (l *Loaded) LeftOut(snapshotID string) bool {
	return slices.ContainsFunc(l.Said.LeftOut, func(s analysis.Snapshot) bool { return s.ID == snapshotID })
}

// LeftOutFault refuses a snapshot that a person left out.
func LeftOutFault(snapshotID string) error {
	return response.Refuse("not_found", "this snapshot was left out of its case", snapshotID, "a person took it out of all series and verdicts", "take it back in on the identity page of the case")
}

// Line finds the series that holds a snapshot, with the snapshot's index.
func (l *Loaded) Line(snapshotID string) (*report.JudgedSeries, int) {
	for i := range l.Built.Series {
		for j, s := range l.Built.Series[i].Snapshots {
			if s.ID == snapshotID {
				return &l.Built.Series[i], j
			}
		}
	}
	return nil, -1
}

// Briefly is the report of a case for what speaks of no single member. Only series
// of several snapshots follow members; where there is none, a million of them are not
// loaded: aged gives as much of them as verdicts need, and nothing is read of them
// for a list.
func (s *Loader) Briefly(ctx context.Context, caseID string, aged bool) (report.Case, error) {
	found, err := s.store.SnapshotHeads(ctx, caseID)
	if err != nil {
		return report.Case{}, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return report.Case{}, err
	}
	said := identity.Resolve(found, edits)
	if slices.ContainsFunc(report.Group(said.Snapshots), func(l report.JudgedSeries) bool { return len(l.Snapshots) > 1 }) {
		l, err := s.Load(ctx, caseID)
		if err != nil {
			return report.Case{}, err
		}
		return l.Built, nil
	}
	if aged {
		if found, err = s.store.SnapshotsAged(ctx, caseID); err != nil {
			return report.Case{}, err
		}
		said = identity.Resolve(found, edits)
	}
	for i := range said.Snapshots {
		said.Snapshots[i].Objects = nil // they name members
	}
	marks, err := s.store.Marks(ctx, caseID)
	if err != nil {
		return report.Case{}, err
	}
	known, _ := s.knowledge.Current()
	return report.Build(said.Snapshots, nil, report.Options{Version: s.version, Events: happened(said), Loads: said.Loads, Triage: sorted(marks), Knowledge: known}), nil
}
