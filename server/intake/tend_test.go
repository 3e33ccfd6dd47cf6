package intake

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"leakdiff/analysis/read/ingest"
	"leakdiff/store"
)

// sharedStorage is a database that other servers have too.
type sharedStorage struct {
	JobStore

	mu        sync.Mutex
	queued    []store.QueuedJob
	lost      []store.Job
	away      bool
	inherited []time.Time
	renewed   []store.Lease
}

func (*sharedStorage) Shared() bool { return true }

func (s *sharedStorage) Queued(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queued), nil
}

func (s *sharedStorage) ClaimChosen(_ context.Context, choose func([]store.QueuedJob) int) (store.Job, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queued) == 0 {
		return store.Job{}, false, nil
	}
	at := choose(s.queued)
	if at < 0 {
		return store.Job{}, false, nil
	}
	q := s.queued[at]
	s.queued = nil
	return store.Job{ID: q.ID, BundleID: q.BundleID, Generation: 2}, true, nil
}

func (s *sharedStorage) Renew(_ context.Context, leases []store.Lease) ([]store.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errors.New("the database does not answer")
	}
	s.renewed = append(s.renewed, leases...)
	return s.lost, nil
}

func (s *sharedStorage) Inherit(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inherited = append(s.inherited, time.Now())
	return nil
}

func (s *sharedStorage) Reap(context.Context) (bool, error) { return false, nil }

func (s *sharedStorage) Bundle(ctx context.Context, id string) (store.Bundle, error) {
	<-ctx.Done() // its reading lasts until it is stopped
	return store.Bundle{}, ctx.Err()
}

func (s *sharedStorage) CancelJob(context.Context, store.Job) error { return nil }

type noSummaries struct{ Summaries }

func (noSummaries) Outdated(context.Context) ([]string, error) { return nil, nil }

func (s *sharedStorage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// tended runs a worker on a shared storage.
func tended(t *testing.T, proof func(w *Worker, st *sharedStorage)) {
	synctest.Test(t, func(t *testing.T) {
		st := &sharedStorage{}
		w := NewWorker(WorkerConfig{Queue: NewQueue(st), Store: st, Log: slog.New(slog.DiscardHandler), Summaries: noSummaries{}, Readers: 1})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { w.Run(ctx) })
		defer all.Wait()
		defer stop()
		synctest.Wait()
		proof(w, st)
	})
}

func (s *sharedStorage) Progress(context.Context, string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed[len(s.renewed)-1].Progress, nil
}

func TestAJobThatAnotherServerRecordedIsReadSoonAndStoppedWhenItIsLost(t *testing.T) {
	tended(t, func(w *Worker, st *sharedStorage) {
		st.set(func() { st.queued = []store.QueuedJob{{ID: "j", BundleID: "b", Size: 5 << 20}} })
		for range 10 { // the quick reader may be woken first
			time.Sleep(tendEvery)
			synctest.Wait()
			if w.Busy() {
				break
			}
		}
		r, _, _ := w.state("b")
		if r == nil {
			t.Fatal("it is not read")
		}
		r.taken.Store(1 << 20)
		w.report(r, ingest.Progress{Stage: "unpacking", Files: 7})
		time.Sleep(tendEvery)
		synctest.Wait()
		other := NewQueue(st)
		text, taken := other.Progress(t.Context(), store.Bundle{ID: "b", Size: 4 << 20, Status: store.Running})
		if taken != 1<<20 || !strings.Contains(text, "25 %") || !strings.Contains(text, "7 files") {
			t.Errorf("another server says %q, %d bytes", text, taken)
		}
		st.set(func() { st.lost = []store.Job{{ID: "j", BundleID: "b", Generation: 1}} })
		time.Sleep(tendEvery)
		synctest.Wait()
		if !w.Busy() {
			t.Error("it was stopped for an earlier claim")
		}
		st.set(func() { st.lost[0].Generation = 2 })
		time.Sleep(tendEvery)
		synctest.Wait()
		if w.Busy() {
			t.Error("it is still read")
		}
	})
}

// After an outage every server renews its own leases before another one inherits them.
func TestAServerInheritsNothingUntilTheOthersHadTimeToRenew(t *testing.T) {
	tended(t, func(w *Worker, st *sharedStorage) {
		time.Sleep(tendEvery)
		synctest.Wait()
		if len(st.inherited) != 1 {
			t.Fatalf("it inherited %d times after its start", len(st.inherited))
		}
		st.set(func() { st.away = true })
		time.Sleep(tendEvery)
		synctest.Wait()
		st.set(func() { st.away, st.inherited = false, nil })
		back := time.Now()
		time.Sleep(backAgain + tendEvery)
		synctest.Wait()
		if len(st.inherited) == 0 || st.inherited[0].Sub(back) < backAgain {
			t.Errorf("it inherited at %v, the database is back since %v", st.inherited, back)
		}
	})
}
