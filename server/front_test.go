package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/report"
	"leakdiff/server/casepage"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// counted is a store that counts how often all of a case was read.
type counted struct {
	*store.Store
	reads atomic.Int32
}

func (c *counted) SnapshotsPacked(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	c.reads.Add(1)
	return c.Store.SnapshotsPacked(ctx, caseID)
}

// restarted asks a new server on the same data for a page, and says how often it read a
// whole case for it. The server works off no jobs.
func (s *site) restarted(path string, change func(*Config)) (body string, reads int) {
	s.t.Helper()
	cfg := s.s.cfg
	st := &counted{Store: s.s.cfg.Store.(*store.Store)}
	cfg.Store, cfg.TempDir = st, s.t.TempDir()
	if change != nil {
		change(&cfg)
	}
	web := httptest.NewServer(New(cfg).Handler())
	defer web.Close()
	r := (&site{t: s.t, url: web.URL}).do("GET", path, nil, "Host", "127.0.0.1")
	if r.status != http.StatusOK {
		s.t.Fatalf("%s: status %d: %.300s", path, r.status, r.body)
	}
	return r.body, int(st.reads.Load())
}

func anew(cfg *Config) { cfg.Program = nil }

// waitForFront waits until the front of a case is in the database as it is now.
func (s *site) waitForFront(caseID, form string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		state, err := s.s.cases.FrontState(s.t.Context(), caseID)
		if err != nil {
			s.t.Fatal(err)
		}
		_, found, err := s.s.cfg.Store.CasePage(s.t.Context(), caseID, form, state.Hash)
		if err != nil {
			s.t.Fatal(err)
		}
		if found {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no front of case %s is kept", caseID)
		}
	}
}

func TestAFrontThatWasMadeOutlivesTheProcess(t *testing.T) {
	s := newSite(t)
	alone, grown := s.untimed(t, 5), s.untimed(t, 3, 13, 23)
	s.waitForFront(grown.Case, "html")
	s.get(alone.Link) // the worker makes only fronts of cases that it reads whole
	s.get(grown.Link + ".json")
	for _, tt := range []struct {
		name, path, caseID, form string
	}{
		{"several snapshots, never asked for", grown.Link, grown.Case, "html"},
		{"one snapshot, asked for once", alone.Link, alone.Case, "html"},
		{"the JSON, asked for once", grown.Link + ".json", grown.Case, "json"},
		{"the JSON by the API", "/api/v1" + grown.Link, grown.Case, "json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.waitForFront(tt.caseID, tt.form)
			want, _ := s.restarted(tt.path, anew)
			if got, reads := s.restarted(tt.path, nil); got != want || reads != 0 {
				t.Errorf("the front differs: %v; the case was read %d times", got != want, reads)
			}
			if tt.form == "json" {
				return
			}
			if !strings.Contains(want, "http://127.0.0.1"+tt.path) {
				t.Error("the page does not tell its address")
			}
			if r := s.do("GET", tt.path, nil, "Host", "localhost"); strings.Contains(r.body, "127.0.0.1") || !strings.Contains(r.body, "http://localhost"+tt.path) {
				t.Error("under another name the page tells another address")
			}
		})
	}
}

// TestAKeptFrontIsMadeAnewAfter changes what a front is made of: a server that starts
// then shows what one shows that keeps none.
func TestAKeptFrontIsMadeAnewAfter(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	first := up.Snapshots[0]
	series := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0]
	leak := series.Findings[0].Families[0]
	st := s.s.cfg.Store.(*store.Store)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var undo int64
	var other, more intake.Uploaded
	changes := []struct {
		name string
		make func()
		// with configures the server that starts.
		with func(*Config)
		// gives stands on the page then.
		gives string
		// filled says that the kept front holds, but for what is put into it.
		filled bool
	}{
		{"a new snapshot", func() {
			r := s.do("PUT", "/api/v1/bundles/t3.txt?wait=1&case="+up.Case, strings.NewReader(dumpOf(37)))
			more = decode[intake.Uploaded](t, r.body)
		}, nil, "t3", false},
		{"a bundle that is removed", func() { ok(st.RemoveBundle(t.Context(), more.ID)) }, nil, "", false},
		{"a bundle that is read again", func() {
			_, err := st.Requeue(t.Context(), up.ID)
			ok(err)
			s.s.queue.Notify()
			_, err = s.s.worker.Settled(t.Context(), up.ID)
			ok(err)
		}, nil, "", false},
		{"an edit", func() { undo = s.edit(up.Case, "process", "series:"+first.ID, "renamed-program") }, nil, "renamed-program", false},
		{"an edit that is undone", func() { ok(st.UndoEdit(t.Context(), up.Case, undo)) }, nil, "", false},
		{"a title", func() { ok(st.RenameCase(t.Context(), up.Case, "Ticket 4711")) }, nil, "Ticket 4711", false},
		{"a field", func() { _, err := st.SetField(t.Context(), up.Case, "ticket", "PROJ-815"); ok(err) }, nil, "PROJ-815", false},
		{"a permalink", func() {
			_, _, err := st.CreatePermalink(t.Context(), store.Permalink{CaseID: up.Case, Record: []byte(`{}`)})
			ok(err)
		}, nil, "", false},
		{"the same family in another case", func() { other = s.untimed(t, 1, 2) }, nil, "other case", true},
		{"a word about it there", func() {
			_, err := st.SetMark(t.Context(), other.Case, store.Mark{Process: "other", Fingerprint: leak, Triage: analysis.Triage{State: analysis.Reviewed, Outcome: "a bad cable"}})
			ok(err)
		}, nil, "once a bad cable", true},
		{"the end of that case", func() { ok(st.DeleteCase(t.Context(), other.Case, store.WithdrawPermalinks)) }, nil, "", true},
		{"a mark", func() {
			_, err := st.SetMark(t.Context(), up.Case, store.Mark{Process: series.Process, Fingerprint: leak, Triage: analysis.Triage{State: analysis.Benign, Note: "a pool that fills"}})
			ok(err)
		}, nil, "a pool that fills", false},
		{"another engine or program", func() {}, func(c *Config) { c.Program = func() string { return "another" } }, "", false},
		{"another catalogue", func() {}, func(c *Config) {
			c.Knowledge = fstest.MapFS{"own.json": {Data: []byte(`{"schema": "leakdiff.knowledge/1", "known": [
				{"id": "own-1", "title": "a pool for each call", "status": "leak", "remedy": "share it", "url": "https://tickets.example.org/1",
				 "signature": {"frames_in_order": ["example.org/pool.(*Client).wait"], "wait_states": ["chan receive"]}}]}`)}}
		}, "", false},
		{"another address to listen on, where forms ask for a key", func() {}, func(c *Config) { c.Listen, c.Hosts = "192.0.2.1:80", []string{"127.0.0.1"} }, "", false},
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			for form, path := range map[string]string{"html": up.Link, "json": up.Link + ".json"} {
				s.get(path)
				s.waitForFront(up.Case, form)
			}
			if _, reads := s.restarted(up.Link, nil); reads != 0 {
				t.Fatalf("the case was read %d times before the change", reads)
			}
			c.make()
			made := func(cfg *Config) {
				if c.with != nil {
					c.with(cfg)
				}
				anew(cfg)
			}
			got, reads := s.restarted(up.Link, c.with)
			if c.with != nil && reads == 0 || c.filled && reads > 0 {
				t.Errorf("the case was read %d times", reads)
			}
			if want, _ := s.restarted(up.Link, made); got != want {
				t.Error("the page is not what it is when made anew")
			}
			twin, _ := s.restarted(up.Link+".json", c.with)
			if want, _ := s.restarted(up.Link+".json", made); twin != want {
				t.Error("the JSON is not what it is when made anew")
			}
			if c.gives != "" && !strings.Contains(got, c.gives) {
				t.Errorf("the page does not tell %q", c.gives)
			}
		})
	}
}

func TestAKeptFrontThatIsDamagedIsMadeAnew(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	s.waitForFront(up.Case, "html")
	want, _ := s.restarted(up.Link, anew)
	got, _ := s.restarted(up.Link, func(c *Config) { c.Store = damaged{c.Store.(*counted)} })
	if got != want {
		t.Error("the page differs")
	}
}

// damaged is a store that cannot read the pages that it kept.
type damaged struct{ *counted }

func (damaged) CasePage(context.Context, string, string, string) (store.CasePage, bool, error) {
	return store.CasePage{}, false, fmt.Errorf("damaged")
}

// TestAFrontMadeBeforeADeletionIsNotKeptAfterIt: what was deleted must not come back
// into the database with a page that was made before.
// newFront is a site with a case, and its page made anew.
func newFront(t *testing.T) (*site, intake.Uploaded, casepage.FrontState, store.CasePage) {
	t.Helper()
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	s.waitForFront(up.Case, "html")
	state, err := s.s.cases.FrontState(t.Context(), up.Case)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.s.cases.MakeFront(t.Context(), up.Case, "html", state)
	if err != nil {
		t.Fatal(err)
	}
	return s, up, state, p
}

func TestAFrontMadeBeforeADeletionIsNotKeptAfterIt(t *testing.T) {
	s, up, state, p := newFront(t)
	if err := s.s.cfg.Store.RemoveBundle(t.Context(), up.ID); err != nil {
		t.Fatal(err)
	}
	s.s.cases.KeepFront(t.Context(), up.Case, p)
	if _, found, err := s.s.cfg.Store.CasePage(t.Context(), up.Case, "html", state.Hash); found || err != nil {
		t.Errorf("the page was kept: %v, %v", found, err)
	}
}

// TestADeletionDuringTheWriteTakesTheFrontBack removes the bundle between the look at the
// state and the write.
func TestADeletionDuringTheWriteTakesTheFrontBack(t *testing.T) {
	s, up, state, p := newFront(t)
	cfg := s.s.cfg
	late := &removing{Store: s.s.cfg.Store.(*store.Store), bundle: up.ID}
	cfg.Store = late
	New(cfg).cases.KeepFront(t.Context(), up.Case, p)
	if _, found, err := s.s.cfg.Store.CasePage(t.Context(), up.Case, "html", state.Hash); found || err != nil || !late.removed {
		t.Errorf("the page was kept: %v, %v; the bundle was removed: %v", found, err, late.removed)
	}
}

// removing removes a bundle just before a page is kept.
type removing struct {
	*store.Store
	bundle  string
	removed bool
}

func (r *removing) KeepCasePage(ctx context.Context, caseID string, p store.CasePage) error {
	r.removed = r.RemoveBundle(ctx, r.bundle) == nil
	return r.Store.KeepCasePage(ctx, caseID, p)
}

// TestAFrontOfACaseThatWasReadInAnotherStateIsNotKept: between the look at the state and
// the reading of the case somebody renames it.
func TestAFrontOfACaseThatWasReadInAnotherStateIsNotKept(t *testing.T) {
	for name, change := range map[string]func(s *site, id string) error{
		"a title": func(s *site, id string) error { return s.s.cfg.Store.RenameCase(s.t.Context(), id, "another") },
		"a field": func(s *site, id string) error {
			_, err := s.s.cfg.Store.SetField(s.t.Context(), id, "ticket", "PROJ-1")
			return err
		},
		"an edit": func(s *site, id string) error {
			_, err := s.s.cfg.Store.AddEdit(s.t.Context(), id, identity.Edit{Kind: identity.Happened, Target: "2026-11-21T03:00:00Z", Value: "deploy"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			up := s.untimed(t, 3, 13, 23)
			s.waitForFront(up.Case, "html")
			state, err := s.s.cases.FrontState(t.Context(), up.Case)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := s.s.cases.MakeFront(t.Context(), up.Case, "html", state); err != nil || p.State != state.Hash {
				t.Fatalf("state %q, want %q; %v", p.State, state.Hash, err)
			}
			if err := change(s, up.Case); err != nil {
				t.Fatal(err)
			}
			if p, err := s.s.cases.MakeFront(t.Context(), up.Case, "html", state); err != nil || p.State != "" {
				t.Errorf("state %q, want none; %v", p.State, err)
			}
		})
	}
}
