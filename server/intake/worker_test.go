package intake

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"leakdiff/analysis/read/ingest"
	"leakdiff/store"
)

// bundleStorage knows the status of one bundle.
type bundleStorage struct {
	JobStore
	bundle atomic.Pointer[store.Bundle]
	asked  atomic.Int64
}

func (s *bundleStorage) Bundle(context.Context, string) (store.Bundle, error) {
	s.asked.Add(1)
	return *s.bundle.Load(), nil
}

func TestWhoeverWaitsForABundleHearsOfItsEndAtOnceAndAsksSeldomUntilThen(t *testing.T) {
	written := func(w *Worker) { w.report(w.running["b"], ingest.Progress{Stage: "done"}) }
	for _, c := range []struct {
		name     string
		unpacked int64
		then     func(*Worker)
		after    time.Duration
	}{
		{"a large one that is written", largeBundle + 1, written, 0},
		{"a small one that is written", 1, written, summaryWait},
		{"a small one that is summed up", 1, func(w *Worker) { written(w); w.end("b") }, 0},
		{"one that failed", 0, func(w *Worker) { w.end("b") }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &bundleStorage{}
				st.bundle.Store(&store.Bundle{Status: store.Running})
				w := NewWorker(WorkerConfig{Queue: NewQueue(nil), Store: st})
				r := w.begin(store.Job{BundleID: "b"}, func(error) {})
				answered := make(chan time.Time, 1)
				go func() {
					w.Settled(t.Context(), "b")
					answered <- time.Now()
				}()
				for range 700 {
					w.report(r, ingest.Progress{Stage: "parsing"})
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
		// waits are the bundles that answers wait for, with the time until each answer.
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
				w := NewWorker(WorkerConfig{Queue: NewQueue(nil)})
				for id, after := range c.waits {
					// There are two answers about each bundle. The last one counts.
					w.addWaiter(id)()
					first, last := w.addWaiter(id), w.addWaiter(id)
					time.AfterFunc(after/2, first)
					time.AfterFunc(after, last)
				}
				began := time.Now()
				w.waitForAnswers(t.Context(), "b")
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
