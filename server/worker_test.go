package server

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"leakdiff/analysis/ingest"
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
		{"one that failed", 0, (*worker).end, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &bundleStorage{}
				st.bundle.Store(&store.Bundle{Status: store.Running})
				w := newWorker(&Server{store: st})
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
