package server

import (
	"context"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/report"
	"leakdiff/store"
)

// loaded is a case with everything that was computed of it.
type loaded struct {
	store.Case
	bundles []store.Bundle
	built   report.Case
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
	key := stateKey(c, bundles)
	if l := s.cases.get(key); l != nil {
		fresh := *l
		fresh.Case, fresh.bundles = c, bundles
		return &fresh, nil
	}
	snapshots, err := s.store.SnapshotsFull(ctx, caseID, store.AllProcesses)
	if err != nil {
		return nil, err
	}
	var problems []analysis.Problem
	l := &loaded{Case: c, bundles: bundles, bundleOf: map[string]string{}}
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
	l.built = report.Build(snapshots, problems, report.Options{Version: s.cfg.Version})
	s.cases.put(key, l)
	return l, nil
}

// stateKey changes whenever a bundle of the case comes, goes or is read again.
func stateKey(c store.Case, bundles []store.Bundle) string {
	key := c.ID
	for _, b := range bundles {
		key += "/" + b.ID + string(b.Status)
	}
	return key
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
