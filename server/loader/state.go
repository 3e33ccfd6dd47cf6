package loader

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"leakdiff/analysis/judge/identity"
	"leakdiff/store"
)

// State is everything of a case that its pages are made of, without the evidence.
type State struct {
	store.Case
	bundles []store.Bundle
	edits   []identity.Edit
	marks   []store.Mark
	// Fields are what people said of the case, by name.
	Fields map[string]store.Field
	Key    string
	// Settled says that no bundle is being read: its progress is no reason to keep a
	// page.
	Settled bool
}

// stateCache keeps the states that were read since the store last changed: a page
// asks several times, and the pages of one reader follow one another.
type stateCache struct {
	mu      sync.Mutex
	changes int64
	by      map[string]State
}

// maxStates bounds the states that are kept.
const maxStates = 64

func (c *stateCache) get(changes int64, caseID string) (State, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return State{}, false
	}
	st, ok := c.by[caseID]
	return st, ok
}

func (c *stateCache) put(changes int64, st State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes || len(c.by) >= maxStates || c.by == nil {
		c.changes, c.by = changes, map[string]State{}
	}
	c.by[st.ID] = st
}

// State is the state of a case, from memory where nothing was written since.
func (s *Loader) State(ctx context.Context, caseID string) (State, error) {
	// Asked before the state is read: what is committed in between is asked for anew.
	changes, err := s.store.Changes(ctx)
	if err != nil {
		return State{}, err
	}
	if st, ok := s.states.get(changes, caseID); ok {
		return st, nil
	}
	st, err := s.readState(ctx, caseID)
	if err == nil && st.Settled {
		s.states.put(changes, st)
	}
	return st, err
}

func (s *Loader) readState(ctx context.Context, caseID string) (out State, err error) {
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
	if out.Fields, err = s.store.Fields(ctx, caseID); err != nil {
		return out, err
	}
	out.Key, out.Settled = StateKey(out.Case, out.bundles, out.edits, out.marks), true
	for _, b := range out.bundles {
		out.Settled = out.Settled && (b.Status == store.Done || b.Status == store.Failed)
	}
	return out, nil
}

// saidKey changes with every field.
func (st *State) saidKey() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(st.Fields)) {
		fmt.Fprintf(&b, "%q=%q %d %q ", name, st.Fields[name].Value, st.Fields[name].Edited.UnixNano(), st.Fields[name].Replaced)
	}
	return b.String()
}

// Told is all that pages of the case depend on beside their address.
func (st *State) Told() string {
	return strings.Join([]string{st.Key, st.Title, st.saidKey()}, "\x00")
}
