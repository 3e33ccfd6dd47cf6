package server

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/ingest"
	"leakdiff/store"
)

// bundleStorage knows of one bundle how far it is.
type bundleStorage struct {
	Storage
	bundle atomic.Pointer[store.Bundle]
	asked  atomic.Int64
}

func (s *bundleStorage) Bundle(context.Context, string) (store.Bundle, error) {
	s.asked.Add(1)
	return *s.bundle.Load(), nil
}

func TestWhoeverWaitsForABundleHearsOfItsEndAtOnceAndAsksSeldomUntilThen(t *testing.T) {
	written := func(w *worker) { w.report(ingest.Progress{Stage: "done"}) }
	for _, c := range []struct {
		name     string
		unpacked int64
		then     func(*worker)
		after    time.Duration
	}{
		{"a large one that is written", largeBundle + 1, written, 0},
		{"a small one that is written", 1, written, summaryWait},
		{"a small one that is summed up", 1, func(w *worker) { written(w); w.end() }, 0},
		{"one that failed", 0, func(w *worker) { w.end() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &bundleStorage{}
				st.bundle.Store(&store.Bundle{Status: store.Running})
				w := newWorker(workerConfig{Queue: newQueue(), Store: st})
				w.begin("b", func() {})
				answered := make(chan time.Time, 1)
				go func() {
					w.settled(t.Context(), "b")
					answered <- time.Now()
				}()
				for range 700 {
					w.report(ingest.Progress{Stage: "parsing"})
					time.Sleep(time.Millisecond)
				}
				if asked := st.asked.Load(); asked > 2 {
					t.Errorf("asked %d times in 700 ms", asked)
				}
				st.bundle.Store(&store.Bundle{Status: store.Done, Unpacked: c.unpacked})
				at := time.Now()
				c.then(w)
				if after := (<-answered).Sub(at); after != c.after {
					t.Errorf("the answer comes after %v, want %v", after, c.after)
				}
			})
		})
	}
}

func TestTheSummaryOfALargeBundleLetsThoseWhoWaitForItAnswerFirst(t *testing.T) {
	for _, c := range []struct {
		name string
		// waits are the bundles that answers wait for, answered after how long.
		waits map[string]time.Duration
		after time.Duration
	}{
		{"nobody waits", nil, 0},
		{"one waits", map[string]time.Duration{"b": 3 * time.Millisecond}, 3 * time.Millisecond},
		{"one waits for another bundle", map[string]time.Duration{"c": time.Hour}, 0},
		{"one waits for it, and for another bundle", map[string]time.Duration{"b": 7 * time.Millisecond, "c": time.Hour}, 7 * time.Millisecond},
		{"an answer does not come", map[string]time.Duration{"b": time.Hour}, answerWait},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorker(workerConfig{Queue: newQueue()})
				for id, after := range c.waits {
					// Two answers about each, and it is the last that counts.
					w.attend(id)()
					first, last := w.attend(id), w.attend(id)
					time.AfterFunc(after/2, first)
					time.AfterFunc(after, last)
				}
				began := time.Now()
				w.letAnswer(t.Context(), "b")
				if after := time.Since(began); after != c.after {
					t.Errorf("it waits for %v, want %v", after, c.after)
				}
				time.Sleep(2 * time.Hour)
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.waiting) > 0 {
					t.Errorf("%v are still waited for", w.waiting)
				}
			})
		})
	}
}

// endStorage has ends of jobs fail.
type endStorage struct {
	Storage
	finish func(bundleID string) error
	// fail is what is recorded of failed jobs, nil for what they failed of.
	fail *analysis.Fault
	// busy is how many more ends are refused.
	busy atomic.Int64
}

func (s *endStorage) refuse() error {
	if s.busy.Add(-1) >= 0 {
		return &analysis.Fault{Code: "busy", What: "ending a job failed", Why: "the database is in use"}
	}
	return nil
}

func (s *endStorage) FinishJob(ctx context.Context, jobID string, r store.Result) error {
	if s.finish == nil {
		return s.Storage.FinishJob(ctx, jobID, r)
	}
	job, err := s.Storage.(*store.Store).Job(ctx, jobID)
	return errors.Join(err, s.finish(job.BundleID))
}

func (s *endStorage) FailJob(ctx context.Context, jobID string, why *analysis.Fault) error {
	if err := s.refuse(); err != nil {
		return err
	}
	return s.Storage.FailJob(ctx, jobID, cmp.Or(s.fail, why))
}

func (s *endStorage) CancelJob(ctx context.Context, jobID string) error {
	if err := s.refuse(); err != nil {
		return err
	}
	return s.Storage.CancelJob(ctx, jobID)
}

func TestTheEndOfAJobIsRecordedWhateverKeepsItFromBeingWrittenAtFirst(t *testing.T) {
	for name, cancelled := range map[string]bool{"a failed one": false, "one that was cancelled while its result was saved": true} {
		t.Run(name, func(t *testing.T) {
			st := openStore(t)
			ends := &endStorage{Storage: st}
			s := startSite(t, st, Config{Store: ends})
			ends.busy.Store(1)
			ends.finish = func(bundleID string) error {
				if cancelled {
					s.s.queue.cancel(bundleID)
				}
				return &analysis.Fault{Code: "database", What: "saving a result failed", Why: "interrupted"}
			}
			up := decode[uploaded](t, s.do("PUT", "/api/v1/bundles/dump.txt", strings.NewReader(tinyDump)).body)
			want := map[bool]string{true: "cancelled", false: "failed"}[cancelled]
			if b := s.settled(up.ID); b.Status != want || ends.busy.Load() >= 0 {
				t.Errorf("it ended %s, want %s", b.Status, want)
			}
		})
	}
}

func TestARunningBundleThatNobodyReadsCanBeCancelled(t *testing.T) {
	st := openStore(t)
	s := startSite(t, st, Config{})
	s.stop()
	s.s.Wait()
	up := decode[uploaded](t, s.do("PUT", "/api/v1/bundles/dump.txt", strings.NewReader(tinyDump)).body)
	if _, claimed, err := st.ClaimJob(t.Context()); !claimed || err != nil {
		t.Fatal(claimed, err)
	}
	if r := s.do("POST", "/bundles/"+up.ID+"/cancel", strings.NewReader(""), "Content-Type", formType); r.status != 303 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if b := decode[bundleState](t, s.get("/bundles/"+up.ID+".json").body); b.Status != "cancelled" {
		t.Errorf("it is %s", b.Status)
	}
}
