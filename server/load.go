package server

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/identity"
	"leakdiff/analysis/report"
	"leakdiff/analysis/trend"
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
	// bundleOf names the bundle of each snapshot.
	bundleOf map[string]string
}

// maxCached bounds the computed cases kept in memory, and maxCachedMembers the
// size of one that is worth keeping: a million members are read again instead.
const (
	maxCached        = 4
	maxCachedMembers = 50_000
)

// caseCache keeps the last computed cases by their state in the store.
type caseCache struct {
	mu    sync.Mutex
	order []string
	cases map[string]*loaded
}

func newCaseCache() *caseCache { return &caseCache{cases: map[string]*loaded{}} }

func (c *caseCache) get(key string) *loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cases[key]
}

func (c *caseCache) put(key string, l *loaded) {
	members := 0
	for _, line := range l.built.Lines {
		for _, s := range line.Snapshots {
			for i := range s.Groups {
				members += s.Groups[i].Members.Len()
			}
		}
	}
	if members > maxCachedMembers {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.cases[key]; !ok {
		c.order = append(c.order, key)
	}
	c.cases[key] = l
	for len(c.order) > maxCached {
		delete(c.cases, c.order[0])
		c.order = c.order[1:]
	}
}

// forget drops every computed case, after a bundle was read again.
func (c *caseCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.cases)
	c.order = nil
}

// load reads a case and computes its report, or takes it from the cache.
func (s *Server) load(ctx context.Context, caseID string) (*loaded, error) {
	c, err := s.store.Case(ctx, caseID)
	if err != nil {
		return nil, err
	}
	bundles, err := s.store.Bundles(ctx, caseID)
	if err != nil {
		return nil, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return nil, err
	}
	key := stateKey(c, bundles, edits)
	if l := s.cases.get(key); l != nil {
		fresh := *l
		fresh.Case, fresh.bundles = c, bundles
		return &fresh, nil
	}
	snapshots, err := s.store.SnapshotsFull(ctx, caseID, store.AllProcesses)
	if err != nil {
		return nil, err
	}
	l := &loaded{Case: c, bundles: bundles, edits: edits, said: identity.Resolve(snapshots, edits), bundleOf: map[string]string{}}
	problems := l.said.Problems
	for _, b := range bundles {
		if b.Status != store.Done {
			continue
		}
		p, err := s.store.Problems(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		problems = append(problems, p...)
	}
	for i := range snapshots {
		bundle, err := s.store.SnapshotBundle(ctx, caseID, snapshots[i].ID)
		if err != nil {
			return nil, err
		}
		l.bundleOf[snapshots[i].ID] = bundle
	}
	l.built = report.Build(l.said.Snapshots, problems, report.Options{Version: s.cfg.Version, Events: happened(l.said), Loads: l.said.Loads})
	s.cases.put(key, l)
	return l, nil
}

// happened are the events that people entered, as verdicts take them.
func happened(said identity.Outcome) []trend.Event {
	var out []trend.Event
	for _, e := range said.Events {
		out = append(out, trend.Event{At: e.At, Kind: e.Kind, Text: e.Text})
	}
	return out
}

// inventorySnapshots are all snapshots of a case without members, as they are after its
// edits, with those that were left out.
func (s *Server) inventorySnapshots(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	found, err := s.store.Snapshots(ctx, caseID)
	if err != nil {
		return nil, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return nil, err
	}
	said := identity.Resolve(found, edits)
	return append(said.Snapshots, said.LeftOut...), nil
}

// stateKey changes whenever a bundle of the case comes, goes or is read again,
// and whenever it is edited or an edit is undone: edits are only ever added, and
// undone once.
func stateKey(c store.Case, bundles []store.Bundle, edits []identity.Edit) string {
	undone := 0
	for _, e := range edits {
		if e.Undone {
			undone++
		}
	}
	key := fmt.Sprintf("%s+%d-%d", c.ID, len(edits), undone)
	for _, b := range bundles {
		key += "/" + b.ID + string(b.Status)
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

// line finds the series that holds a snapshot, with the snapshot's index.
func (l *loaded) line(snapshotID string) (*report.Line, int) {
	for i := range l.built.Lines {
		for j, s := range l.built.Lines[i].Snapshots {
			if s.ID == snapshotID {
				return &l.built.Lines[i], j
			}
		}
	}
	return nil, -1
}
