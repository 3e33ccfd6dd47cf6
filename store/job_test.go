package store

import (
	"errors"
	"slices"
	"testing"

	"leakdiff/analysis"
)

func TestJobsAreClaimedInTheOrderOfUpload(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	_, first := f.upload(c.ID, "1")
	_, second := f.upload(c.ID, "2")
	for _, want := range []Job{first, second} {
		want.Status, want.Attempts, want.Generation = Running, 1, want.Generation+1
		got, claimed, err := f.ClaimJob(f.ctx)
		f.ok(err)
		if !claimed {
			t.Fatal("nothing claimed")
		}
		wantEqual(t, want, got)
	}
	if _, claimed, err := f.ClaimJob(f.ctx); claimed || err != nil {
		t.Errorf("a third job: %v, %v", claimed, err)
	}
}

func TestAnOrderlyStopIsNoFailedAttempt(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.upload(c.ID, "1")
	for range maxAttempts + 2 {
		job, claimed, err := f.ClaimJob(f.ctx)
		f.ok(err)
		if !claimed || job.Attempts != 1 {
			t.Fatalf("claimed %v, attempt %d", claimed, job.Attempts)
		}
		f.close()
		f.reopen()
	}
}

func TestAFailedJobSaysWhyAndShowsNothing(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b, job := f.upload(c.ID, "1")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.addSnapshot(job.ID, kubelet("2", instant, 5)))
	why := &analysis.Fault{Code: "unreadable", What: "w", Where: "x.tar line 3", Why: "y", Hint: "h", Err: errors.New("inner")}
	f.ok(f.FailJob(f.ctx, job.ID, why))
	got, err := f.Bundle(f.ctx, b.ID)
	f.ok(err)
	want := *why
	want.Err = nil
	wantEqual(t, &want, got.Error)
	if got.Status != Failed {
		t.Errorf("status is %s", got.Status)
	}
	f.reap()
	f.wantEmpty("snapshot", "series", "family", "function")
	wantCode(t, f.FinishJob(f.ctx, job.ID, kubeletResult("2")), "conflict")
	wantCode(t, f.FailJob(f.ctx, job.ID, why), "conflict")
	wantCode(t, f.FailJob(f.ctx, "jnone", why), "not_found")
}

func TestAFailureWithoutAReasonStillSaysSomething(t *testing.T) {
	f := open(t)
	b, job := f.upload(f.newCase("a").ID, "1")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.FailJob(f.ctx, job.ID, nil))
	if got, err := f.Bundle(f.ctx, b.ID); err != nil || got.Error == nil || got.Error.What == "" {
		t.Errorf("got %+v, %v", got.Error, err)
	}
}

func TestACancelledJobTellsItsWorker(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b, job := f.upload(c.ID, "1")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.addSnapshot(job.ID, kubelet("2", instant, 5)))
	f.ok(f.CancelJob(f.ctx, job.ID))
	wantCode(t, f.addSnapshot(job.ID, kubelet("3", instant, 5)), "cancelled")
	wantCode(t, f.FinishJob(f.ctx, job.ID, kubeletResult("2")), "cancelled")
	if got, err := f.Bundle(f.ctx, b.ID); err != nil || got.Status != Cancelled || got.Error != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	f.wantEmpty("snapshot")
}

func TestAQueuedJobCanBeCancelled(t *testing.T) {
	f := open(t)
	b, _ := f.upload(f.newCase("a").ID, "1")
	f.ok(f.CancelOpenJob(f.ctx, b.ID))
	if _, claimed, err := f.ClaimJob(f.ctx); claimed || err != nil {
		t.Errorf("claimed %v, %v", claimed, err)
	}
}

func TestAWorkerLearnsThatItsBundleOrCaseWasDeleted(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b, job := f.upload(c.ID, "1")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.RemoveBundle(f.ctx, b.ID))
	wantCode(t, f.FinishJob(f.ctx, job.ID, kubeletResult("2")), "not_found")
	_, job = f.upload(c.ID, "2")
	_, _, err = f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	wantCode(t, f.addSnapshot(job.ID, kubelet("2", instant, 5)), "not_found")
	f.reap()
	f.wantEmpty("snapshot", "family")
}

func TestAnUnclaimedJobCannotBeFinished(t *testing.T) {
	f := open(t)
	_, job := f.upload(f.newCase("a").ID, "1")
	wantCode(t, f.FinishJob(f.ctx, job.ID, kubeletResult("2")), "conflict")
	wantCode(t, f.FinishJob(f.ctx, "jnone", Result{}), "not_found")
}

func TestFinishingTwiceChangesNothing(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.upload(c.ID, "1")
	job := f.ingest(kubeletResult("2"))
	f.ok(f.FinishJob(f.ctx, job.ID, kubeletResult("3", "4")))
	got, err := f.full(c.ID)
	f.ok(err)
	wantEqual(t, kubeletResult("2").Snapshots, got)
}

func TestNobodySeesASnapshotBeforeTheJobIsFinished(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b, job := f.upload(c.ID, "1")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	snap := kubelet("2", instant, 5)
	f.ok(f.addSnapshot(job.ID, snap))
	f.wantUnseen(c.ID, snap.ID)
	f.crash()
	f.wantUnseen(c.ID, snap.ID)
	f.reap()
	f.wantEmpty("snapshot", "snapshot_members", "series", "family", "function", "frame", "stack")
	if got, err := f.Bundle(f.ctx, b.ID); err != nil || got.Status != Queued {
		t.Errorf("got %+v, %v, want the bundle queued again", got, err)
	}
	again, claimed, err := f.ClaimJob(f.ctx)
	f.ok(err)
	if !claimed || again.ID != job.ID || again.Attempts != 2 {
		t.Errorf("got %+v", again)
	}
	f.ok(f.addSnapshot(job.ID, snap))
	f.ok(f.FinishJob(f.ctx, job.ID, Result{Snapshots: []analysis.Snapshot{snap}}))
	got, err := f.full(c.ID)
	f.ok(err)
	wantEqual(t, []analysis.Snapshot{snap}, got)
}

// wantUnseen asks every reader for a snapshot that must not be visible.
func (f *fixture) wantUnseen(caseID, snapshotID string) {
	f.t.Helper()
	fingerprint := proberGroup(5).Family.Fingerprint
	if snaps, err := f.Snapshots(f.ctx, caseID); len(snaps) > 0 || err != nil {
		f.t.Errorf("Snapshots: %d, %v", len(snaps), err)
	}
	if snaps, err := f.full(caseID); len(snaps) > 0 || err != nil {
		f.t.Errorf("SnapshotsPacked: %d, %v", len(snaps), err)
	}
	if ids, err := f.FindSnapshot(f.ctx, snapshotID); len(ids) > 0 || err != nil {
		f.t.Errorf("FindSnapshot: %v, %v", ids, err)
	}
	if rows, _, err := f.SnapshotHeads(f.ctx, caseID); len(rows) > 0 || err != nil {
		f.t.Errorf("SnapshotHeads: %v, %v", rows, err)
	}
	if seen, err := f.FamilySightings(f.ctx, fingerprint, 10); len(seen.List) > 0 || seen.Cases > 0 || err != nil {
		f.t.Errorf("FamilySightings: %v, %v", seen, err)
	}
	if n, err := f.FamilyCases(f.ctx, fingerprint); n != 0 || err != nil {
		f.t.Errorf("FamilyCases: %d, %v", n, err)
	}
	for _, query := range []string{"prober", "kubelet", "in"} {
		found, err := f.SearchFunctions(f.ctx, query, nil, 10, 0)
		if err != nil || len(found.Families)+len(found.Processes) > 0 {
			f.t.Errorf("SearchFunctions(%q): %+v, %v", query, found, err)
		}
	}
	cases, _, err := f.Cases(f.ctx, CaseQuery{Everything: true, Limit: 10})
	i := slices.IndexFunc(cases, func(c CountedCase) bool { return c.ID == caseID })
	if err != nil || i < 0 || cases[i].Snapshots != 0 {
		f.t.Errorf("Cases: %d of %+v, %v", i, cases, err)
	}
}

func TestAReanalysisReplacesTheResultOnlyWhenItIsComplete(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	older, newer := kubeletResult("2", "3"), kubeletResult("3", "4", "5")
	newer.Engine, newer.Artifacts = 2, newer.Artifacts[:1]
	b := f.filled(c.ID, "1", older)
	shows := func(when string, want Result) {
		t.Helper()
		got, err := f.full(c.ID)
		f.ok(err)
		wantEqual(t, want.Snapshots, got)
		artifacts, err := f.Artifacts(f.ctx, b.ID)
		f.ok(err)
		wantEqual(t, want.Artifacts, artifacts)
		if got, err := f.Bundle(f.ctx, b.ID); err != nil || got.Engine != want.Engine || got.Snapshots != len(want.Snapshots) {
			t.Errorf("%s: got %+v, %v", when, got, err)
		}
	}
	job, err := f.Requeue(f.ctx, b.ID)
	f.ok(err)
	if job.Kind != jobReingest || job.Status != Queued {
		t.Errorf("got %+v", job)
	}
	if again, err := f.Requeue(f.ctx, b.ID); err != nil || again.ID != job.ID {
		t.Errorf("a second request: got %+v, %v, want the same job", again, err)
	}
	shows("queued", older)
	_, _, err = f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.addSnapshot(job.ID, newer.Snapshots[0]))
	shows("half written", older)
	f.crash()
	shows("after a crash", older)
	f.ingest(newer)
	shows("finished", newer)
	if n := f.rows("snapshot"); n != 3 {
		t.Errorf("%d snapshot rows, want 3", n)
	}
	f.wantSound()
}

func TestAFailedReanalysisLeavesTheOldResult(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b := f.filled(c.ID, "1", kubeletResult("2"))
	job, err := f.Requeue(f.ctx, b.ID)
	f.ok(err)
	_, _, err = f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.addSnapshot(job.ID, kubelet("3", instant, 5)))
	f.ok(f.FailJob(f.ctx, job.ID, &analysis.Fault{Code: "x", What: "new engine broke"}))
	got, err := f.Bundle(f.ctx, b.ID)
	f.ok(err)
	if got.Status != Done || got.Error == nil || got.Engine != 1 {
		t.Errorf("got %+v", got)
	}
	snaps, err := f.full(c.ID)
	f.ok(err)
	wantEqual(t, kubeletResult("2").Snapshots, snaps)
	_, err = f.Requeue(f.ctx, b.ID)
	f.ok(err)
	f.ingest(kubeletResult("4"))
	if got, err := f.Bundle(f.ctx, b.ID); err != nil || got.Error != nil || got.Status != Done {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAFailedBundleCanBeReadAgain(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b, job := f.upload(c.ID, "1")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.FailJob(f.ctx, job.ID, &analysis.Fault{What: "w"}))
	again, err := f.Requeue(f.ctx, b.ID)
	f.ok(err)
	if again.Kind != jobIngest {
		t.Errorf("got %+v, want a first reading", again)
	}
	f.ingest(kubeletResult("2"))
	if got, err := f.Bundle(f.ctx, b.ID); err != nil || got.Status != Done || got.Error != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = f.Requeue(f.ctx, "bnone")
	wantCode(t, err, "not_found")
}

func TestOnlyAnOpenJobIsCancelled(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b := f.filled(c.ID, "1", kubeletResult("2"))
	f.ok(f.CancelOpenJob(f.ctx, b.ID))
	got, err := f.Bundle(f.ctx, b.ID)
	f.ok(err)
	if got.Status != Done {
		t.Errorf("a bundle whose job had ended is %s", got.Status)
	}
	job, err := f.Requeue(f.ctx, b.ID)
	f.ok(err)
	f.ok(f.CancelOpenJob(f.ctx, b.ID))
	if err := f.FinishJob(f.ctx, job.ID, kubeletResult("3")); err == nil {
		t.Error("a cancelled job was finished")
	}
	f.wantSound()
}
