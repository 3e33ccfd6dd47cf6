package server

import (
	"context"
	"errors"
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
	"leakdiff/server/intake"
	"leakdiff/store"
)

// counted is a store that counts how often the evidence of a case was read, and how many
// snapshots were read for its report.
type counted struct {
	*store.Store
	reads, filled atomic.Int32
}

func (c *counted) FillSnapshots(ctx context.Context, rows []store.SnapshotRow, snapshots []*analysis.Snapshot) error {
	c.reads.Add(1)
	c.filled.Add(int32(len(rows)))
	return c.Store.FillSnapshots(ctx, rows, snapshots)
}

// restarted requests a page from a new server on the same data. It returns how often that
// read a whole case. The server runs no jobs.
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

// waitForReport waits until the present report of a case is in the database.
func (s *site) waitForReport(caseID string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c, err := s.s.cfg.Store.Case(s.t.Context(), caseID)
		if err != nil {
			s.t.Fatal(err)
		}
		_, found, err := s.s.cfg.Store.CaseReport(s.t.Context(), caseID, c.Revision, s.s.cfg.Program()+"/"+s.s.catalogue.Version())
		if err != nil {
			s.t.Fatal(err)
		}
		if found {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no report of case %s is stored", caseID)
		}
	}
}

func TestWhatWasSaidOutlivesTheProcess(t *testing.T) {
	s := newSite(t)
	alone, grown := s.untimed(t, 5), s.untimed(t, 3, 13, 23)
	s.waitForReport(grown.Case)
	s.get(alone.Link) // no report of a case with one snapshot is stored
	s.waitForReport(alone.Case)
	for name, path := range map[string]string{
		"several snapshots, never asked for": grown.Link,
		"with a filter":                      grown.Link + "?q=func:wait",
		"its Markdown":                       grown.Link + ".md",
		"its CSV":                            grown.Link + ".csv",
		"one snapshot, asked for once":       alone.Link,
		"the JSON":                           grown.Link + ".json",
		"the JSON by the API":                "/api/v1" + grown.Link,
	} {
		t.Run(name, func(t *testing.T) {
			want, _ := s.restarted(path, anew)
			if got, reads := s.restarted(path, nil); got != want || reads != 0 {
				t.Errorf("the answer differs: %v; the case was read %d times", got != want, reads)
			}
		})
	}
}

// TestNoStaleReportIsShownAfter changes everything that may change a report. A server that
// starts then must show the same as one that judges the case anew.
func TestNoStaleReportIsShownAfter(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	s.beside(t, up.Case)
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
		// gives is a text on the page then.
		gives string
		// holds means that the report is still valid: the evidence is not read.
		holds bool
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
		{"a title", func() { ok(st.RenameCase(t.Context(), up.Case, "Ticket 4711")) }, nil, "Ticket 4711", true},
		{"a field", func() { _, err := st.SetField(t.Context(), up.Case, "ticket", "PROJ-815"); ok(err) }, nil, "PROJ-815", true},
		{"a permalink", func() {
			_, _, err := st.CreatePermalink(t.Context(), store.Permalink{CaseID: up.Case, Record: []byte(`{}`)})
			ok(err)
		}, nil, "", true},
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
		{"another address to listen on, where forms ask for a key", func() {}, func(c *Config) { c.Listen, c.Hosts = "192.0.2.1:80", []string{"127.0.0.1"} }, "", true},
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			s.get(up.Link)
			s.waitForReport(up.Case)
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
			if c.with != nil && !c.holds && reads == 0 || c.holds && reads > 0 {
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

// beside adds another process with two snapshots to a case.
func (s *site) beside(t *testing.T, caseID string) intake.Uploaded {
	t.Helper()
	body, kind := form(t, map[string]string{"t0/sidecar/goroutines.txt": dumpOf(4), "t1/sidecar/goroutines.txt": dumpOf(9)}, nil)
	up := decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1&case="+caseID, body, "Content-Type", kind).body)
	if got := decode[report.Report](t, s.get("/api/v1/cases/"+caseID).body); len(up.Snapshots) != 2 || len(got.Series) != 2 {
		t.Fatalf("%d snapshots, %d series", len(up.Snapshots), len(got.Series))
	}
	return up
}

func TestOnlyTheSeriesThatAChangeTouchedAreJudgedAgain(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	beside := s.beside(t, up.Case)
	st := s.s.cfg.Store.(*store.Store)
	series := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series
	mark := func(process int) {
		m := store.Mark{Process: series[process].Process, Fingerprint: series[process].Families[0].Fingerprint, Triage: analysis.Triage{State: analysis.MarkedSuspect}}
		if _, err := st.SetMark(t.Context(), up.Case, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		make func()
		want int32 // snapshots that are read
	}{
		{"a mark on a family of the first", func() { mark(0) }, 3},
		{"a mark on a family of the second", func() { mark(1) }, 2},
		{"an edit, which may touch all", func() {
			if _, err := st.AddEdit(t.Context(), up.Case, identity.Edit{Kind: identity.Version, Target: "series:" + up.Snapshots[0].ID, Value: "1.2.3"}); err != nil {
				t.Fatal(err)
			}
		}, 5},
		{"what was said of a bundle goes with it", func() {
			if err := st.RemoveBundle(t.Context(), beside.ID); err != nil {
				t.Fatal(err)
			}
		}, 3},
	} {
		s.waitForReport(up.Case)
		c.make()
		late := &counted{Store: st}
		cfg := s.s.cfg
		cfg.Store = late
		if _, _, err := New(cfg).loader.Judge(t.Context(), up.Case); err != nil {
			t.Fatal(err)
		}
		if got := late.filled.Load(); got != c.want {
			t.Errorf("%s: %d snapshots were read, want %d", c.name, got, c.want)
		}
	}
}

func TestAJudgementThatCannotBeReadIsMadeAnew(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	s.beside(t, up.Case)
	s.waitForReport(up.Case)
	want, _ := s.restarted(up.Link, anew)
	for _, text := range []string{"", "{", `{"Series": {"families": [{}]}}`} {
		got, reads := s.restarted(up.Link, func(c *Config) { c.Store = damagedJudgement{damaged{c.Store.(*counted), ""}, text} })
		if got != want || reads == 0 {
			t.Errorf("%q: the page differs: %v; the case was read %d times", text, got != want, reads)
		}
	}
}

// damagedJudgement is a store that cannot read the judgements of series either.
type damagedJudgement struct {
	damaged
	judgement string
}

func (d damagedJudgement) SeriesJudgement(context.Context, string, string) ([]byte, bool, error) {
	if d.judgement == "" {
		return nil, false, errors.New("damaged")
	}
	return []byte(d.judgement), true, nil
}

// TestBundlesThatWereQueuedTogetherAreJudgedOnce queues five bundles in a case before any
// is read.
func TestBundlesThatWereQueuedTogetherAreJudgedOnce(t *testing.T) {
	s := newSite(t)
	cfg := s.s.cfg
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	late := &counted{Store: st}
	gate := make(chan struct{})
	cfg.Store, cfg.Blobs, cfg.TempDir = &gated{counted: late, open: gate}, st.Blobs(), t.TempDir()
	x := startSite(t, st, cfg)
	up := decode[intake.Uploaded](t, x.do("PUT", "/api/v1/bundles/t0.txt", strings.NewReader(dumpOf(3))).body)
	for i := 1; i < 5; i++ {
		x.do("PUT", fmt.Sprintf("/api/v1/bundles/t%d.txt?case=%s", i, up.Case), strings.NewReader(dumpOf(3+10*i)))
	}
	close(gate)
	x.s.queue.Notify()
	x.waitForReport(up.Case)
	if rows, _, err := st.SnapshotHeads(t.Context(), up.Case); err != nil || len(rows) != 5 {
		t.Fatalf("%d snapshots, %v", len(rows), err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // wait for the summary
		c, err := st.Case(t.Context(), up.Case)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("verdict %q: %v", c.Verdict, err)
		}
		if c.Verdict != "" {
			break
		}
	}
	if n := late.reads.Load(); n != 1 {
		t.Errorf("the case was judged %d times", n)
	}
}

// gated is a store that returns no job before it is opened.
type gated struct {
	*counted
	open chan struct{}
}

func (g *gated) ClaimChosen(ctx context.Context, choose func([]store.QueuedJob) int) (store.Job, bool, error) {
	select {
	case <-g.open:
		return g.counted.ClaimChosen(ctx, choose)
	default:
		return store.Job{}, false, nil
	}
}

func TestAReportThatCannotBeReadIsMadeAnew(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	s.waitForReport(up.Case)
	want, _ := s.restarted(up.Link, anew)
	for name, text := range map[string]string{"an error": "", "no JSON": "{", "a series of another report": `{"Report": {"series": []}, "Series": [{}]}`} {
		got, reads := s.restarted(up.Link, func(c *Config) { c.Store = damaged{c.Store.(*counted), text} })
		if got != want || reads == 0 {
			t.Errorf("%s: the page differs: %v; the case was read %d times", name, got != want, reads)
		}
	}
}

// damaged is a store that cannot read what it stored, or reads another text.
type damaged struct {
	*counted
	text string
}

func (d damaged) CaseReport(context.Context, string, int64, string) ([]byte, bool, error) {
	if d.text == "" {
		return nil, false, errors.New("damaged")
	}
	return []byte(d.text), true, nil
}

// TestAReportMadeBeforeADeletionIsNotStoredAfterIt removes the bundle after its report was
// made and before it is stored: deleted data must not return to the database.
func TestAReportMadeBeforeADeletionIsNotStoredAfterIt(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	s.waitForReport(up.Case)
	cfg := s.s.cfg
	late := &removing{Store: s.s.cfg.Store.(*store.Store), bundle: up.ID}
	cfg.Store, cfg.Program = late, func() string { return "another" }
	if _, _, err := New(cfg).loader.Judge(t.Context(), up.Case); err != nil || !late.removed {
		t.Fatalf("%v; the bundle was removed: %v", err, late.removed)
	}
	if late.found(t, up.Case) {
		t.Error("the report is stored")
	}
}

// removing removes a bundle just before a report is stored.
type removing struct {
	*store.Store
	bundle   string
	removed  bool
	madeWith string
}

func (r *removing) KeepCaseReport(ctx context.Context, caseID string, revision int64, madeWith string, text []byte, series store.StoredJudgements) error {
	r.removed, r.madeWith = r.RemoveBundle(ctx, r.bundle) == nil, madeWith
	return r.Store.KeepCaseReport(ctx, caseID, revision, madeWith, text, series)
}

func (r *removing) found(t *testing.T, caseID string) bool {
	t.Helper()
	c, err := r.Case(t.Context(), caseID)
	if err != nil {
		t.Fatal(err)
	}
	_, found, err := r.CaseReport(t.Context(), caseID, c.Revision, r.madeWith)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
