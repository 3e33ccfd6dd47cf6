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

// statusStorage knows of each bundle how far it is.
type statusStorage struct {
	Storage
	status atomic.Value
	asked  atomic.Int64
}

func (s *statusStorage) Bundle(context.Context, string) (store.Bundle, error) {
	s.asked.Add(1)
	return store.Bundle{Status: s.status.Load().(store.Status)}, nil
}

func TestWhoeverWaitsForABundleHearsOfItsEndAtOnceAndAsksSeldomUntilThen(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*worker)
	}{
		{"written", func(w *worker) { w.report(ingest.Progress{Stage: "done"}) }},
		{"ended", (*worker).end},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &statusStorage{}
				st.status.Store(store.Running)
				w := newWorker(&Server{store: st})
				w.begin("b", func() {})
				answered := make(chan store.Status, 1)
				go func() {
					b, _ := w.settled(t.Context(), "b")
					answered <- b.Status
				}()
				for range 700 {
					w.report(ingest.Progress{Stage: "parsing"})
					time.Sleep(time.Millisecond)
				}
				if asked := st.asked.Load(); asked > 2 {
					t.Errorf("asked %d times in 700 ms", asked)
				}
				st.status.Store(store.Done)
				c.end(w)
				synctest.Wait() // no time goes by
				select {
				case status := <-answered:
					if status != store.Done {
						t.Errorf("the answer is %q", status)
					}
				default:
					t.Error("still waits")
				}
			})
		})
	}
}
