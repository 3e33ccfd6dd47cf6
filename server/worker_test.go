package server

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"leakdiff/analysis"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// endStorage fails to record ends of jobs.
type endStorage struct {
	Storage
	finish func(bundleID string) error
	// fail replaces the recorded fault of failed jobs, if it is not nil.
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

func (s *endStorage) FinishJob(ctx context.Context, job store.Job, r store.Result) error {
	if s.finish == nil {
		return s.Storage.FinishJob(ctx, job, r)
	}
	return s.finish(job.BundleID)
}

func (s *endStorage) FailJob(ctx context.Context, job store.Job, why *analysis.Fault) error {
	if err := s.refuse(); err != nil {
		return err
	}
	return s.Storage.FailJob(ctx, job, cmp.Or(s.fail, why))
}

func (s *endStorage) CancelJob(ctx context.Context, job store.Job) error {
	if err := s.refuse(); err != nil {
		return err
	}
	return s.Storage.CancelJob(ctx, job)
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
					s.s.queue.Cancel(bundleID)
				}
				return &analysis.Fault{Code: "database", What: "saving a result failed", Why: "interrupted"}
			}
			up := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/dump.txt", strings.NewReader(tinyDump)).body)
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
	up := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/dump.txt", strings.NewReader(tinyDump)).body)
	if _, claimed, err := st.ClaimJob(t.Context()); !claimed || err != nil {
		t.Fatal(claimed, err)
	}
	if r := s.do("POST", "/bundles/"+up.ID+"/cancel", strings.NewReader(""), "Content-Type", formType); r.status != 303 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if b := decode[intake.BundleState](t, s.get("/bundles/"+up.ID+".json").body); b.Status != "cancelled" {
		t.Errorf("it is %s", b.Status)
	}
}
