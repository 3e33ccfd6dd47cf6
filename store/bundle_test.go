package store

import (
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestABundleComesBackAsAdded(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	files := []File{f.file("b.txt", "second"), f.file("a.txt", "first one")}
	want, job, err := f.AddBundle(f.ctx, c.ID, "two files", files)
	f.ok(err)
	if want.Size != int64(len("second")+len("first one")) || want.Status != Queued || job.BundleID != want.ID || job.Kind != jobIngest {
		t.Errorf("got %+v, %+v", want, job)
	}
	got, err := f.Bundle(f.ctx, want.ID)
	f.ok(err)
	wantEqual(t, want, got)
	gotJob, err := f.Job(f.ctx, job.ID)
	f.ok(err)
	wantEqual(t, job, gotJob)
	after, err := f.Case(f.ctx, c.ID)
	f.ok(err)
	if !after.Updated.After(c.Updated) {
		t.Error("the case was not touched")
	}
	_, err = f.Bundle(f.ctx, "bnone")
	wantCode(t, err, "not_found")
	_, err = f.Job(f.ctx, "jnone")
	wantCode(t, err, "not_found")
}

func TestAnUploadIsRecordedWithItsAnswerOrNotAtAll(t *testing.T) {
	f := open(t)
	var asked Bundle
	receipt := Receipt{Key: "k", Answer: func(b Bundle, ownerKey string) (Answer, error) {
		asked = b
		return Answer{RequestHash: "h", Status: 201, Body: []byte(b.ID + ownerKey)}, nil
	}}
	_, b, ownerKey, err := f.OpenCase(f.ctx, "c", "", "x", []File{f.file("x", "1")}, receipt)
	f.ok(err)
	if asked.ID != b.ID || ownerKey == "" {
		t.Errorf("the answer was made for %+v, recorded is %+v", asked, b)
	}
	want := func(body string) {
		t.Helper()
		if got, known, err := f.Recall(f.ctx, "k"); !known || err != nil || string(got.Body) != body {
			t.Errorf("the answer is %q, %v, %v, want %q", got.Body, known, err, body)
		}
	}
	want(b.ID + ownerKey)
	// Another server has the same request.
	_, _, _, err = f.OpenCase(f.ctx, "c", "", "x", []File{f.file("x", "1")}, receipt)
	wantCode(t, err, Answered)
	_, _, err = f.AddBundle(f.ctx, b.CaseID, "x", []File{f.file("x", "2")}, receipt)
	wantCode(t, err, Answered)
	if n := f.rows("bundle"); n != 1 {
		t.Errorf("%d bundles, want the first", n)
	}
	want(b.ID + ownerKey)
	f.ok(f.Reword(f.ctx, "k", Answer{RequestHash: "h", Status: 200, Body: []byte("read")}))
	want("read")
	f.ok(f.Reword(f.ctx, "k", Answer{RequestHash: "another", Status: 200, Body: []byte("no")}))
	want("read")
}

func TestBundlesAreListedInTheOrderOfUpload(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	first, _ := f.upload(c.ID, "1")
	f.upload(other.ID, "2")
	second, _ := f.upload(c.ID, "3")
	got, err := f.Bundles(f.ctx, c.ID)
	f.ok(err)
	wantEqual(t, []Bundle{first, second}, got)
}

func TestABundleThatCannotBeKeptLeavesNothing(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	stored := f.file("a", "a")
	for name, tc := range map[string]struct {
		caseID string
		files  []File
		want   string
	}{
		"no such case":     {"cnone", []File{stored}, "not_found"},
		"no file":          {c.ID, nil, "empty"},
		"bytes not stored": {c.ID, []File{stored, {Name: "b", SHA256: strings.Repeat("0", 64)}}, "missing_blob"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := f.AddBundle(f.ctx, tc.caseID, "b", tc.files)
			wantCode(t, err, tc.want)
			f.wantEmpty("bundle", "bundle_file", "job")
		})
	}
}

func TestTheSameFilesAreFoundInTheirCaseOnly(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	x, y := f.file("x", "x"), f.file("y", "y")
	first, _, err := f.AddBundle(f.ctx, c.ID, "b", []File{x, y})
	f.ok(err)
	for name, tc := range map[string]struct {
		caseID string
		hashes []string
		want   bool
	}{
		"the same files":              {c.ID, []string{x.SHA256, y.SHA256}, true},
		"the same in another order":   {c.ID, []string{y.SHA256, x.SHA256}, true},
		"one of the files":            {c.ID, []string{x.SHA256}, false},
		"one of the files twice":      {c.ID, []string{x.SHA256, x.SHA256}, false},
		"the same files, other case":  {other.ID, []string{x.SHA256, y.SHA256}, false},
		"the same files, no case":     {"cnone", []string{x.SHA256, y.SHA256}, false},
		"no files":                    {c.ID, nil, false},
		"the same files and one more": {c.ID, []string{x.SHA256, y.SHA256, x.SHA256}, false},
	} {
		got, found, err := f.FindBundle(f.ctx, tc.caseID, tc.hashes)
		f.ok(err)
		if found != tc.want || (found && got.ID != first.ID) {
			t.Errorf("%s: got %v, %v", name, got.ID, found)
		}
	}
}

func TestRemovingABundleRemovesItsSnapshotsJobAndBlobs(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	kept := f.filled(c.ID, "kept", kubeletResult("2"))
	gone := f.filled(c.ID, "gone", kubeletResult("3"))
	f.ok(f.RemoveBundle(f.ctx, gone.ID))
	bundles, err := f.Bundles(f.ctx, c.ID)
	f.ok(err)
	wantEqual(t, []Bundle{kept}, bundles)
	snaps, err := f.Snapshots(f.ctx, c.ID)
	f.ok(err)
	if len(snaps) != 1 || snaps[0].ID != snapshotID("2") {
		t.Errorf("got %d snapshots", len(snaps))
	}
	if f.rows("job") != 1 || f.rows("snapshot") != 1 {
		t.Error("rows are left")
	}
	if f.holds(gone.Files[0].SHA256) || !f.holds(kept.Files[0].SHA256) {
		t.Error("the wrong blob was deleted")
	}
	wantCode(t, f.RemoveBundle(f.ctx, gone.ID), "not_found")
	f.wantSound()
}

func TestRemovingOneOfTwoBundlesKeepsWhatBothHold(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	first := f.filled(c.ID, "same", kubeletResult("2"))
	second, _, err := f.AddBundle(f.ctx, c.ID, "two files", []File{f.file("same", "same"), f.file("more", "more")})
	f.ok(err)
	f.ingest(kubeletResult("2"))
	for b, want := range map[string]bool{first.ID: true, second.ID: false} {
		if own, err := f.BundleSnapshots(f.ctx, b); err != nil || own[snapshotID("2")] != want {
			t.Errorf("bundle %s: %v, %v", b, own, err)
		}
	}
	if got, _, err := f.SnapshotHeads(f.ctx, c.ID); err != nil || len(got) != 1 || got[0].ID != snapshotID("2") || got[0].Bundle != first.ID {
		t.Errorf("got %v, %v, want the first bundle", got, err)
	}
	f.ok(f.RemoveBundle(f.ctx, first.ID))
	if got, _, err := f.SnapshotHeads(f.ctx, c.ID); err != nil || len(got) != 1 || got[0].Bundle != second.ID {
		t.Errorf("got %v, %v, want the second bundle", got, err)
	}
	if !f.holds(second.Files[0].SHA256) {
		t.Error("a blob that is still used was deleted")
	}
	f.ok(f.RemoveBundle(f.ctx, second.ID))
	if got, _, err := f.SnapshotHeads(f.ctx, c.ID); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v, want none", got, err)
	}
}

func TestTheInventoryComesBackAsWritten(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	r := kubeletResult("2")
	for range 50 {
		r.Artifacts = append(r.Artifacts, analysis.Artifact{Path: "logs/app.log", Kind: "log", Reason: "lines of a log", Status: analysis.Ignored, Modified: instant})
	}
	b, _ := f.upload(c.ID, "x")
	if got, err := f.Artifacts(f.ctx, b.ID); got != nil || err != nil {
		t.Errorf("before the result: got %v, %v", got, err)
	}
	f.ingest(r)
	artifacts, err := f.Artifacts(f.ctx, b.ID)
	f.ok(err)
	wantEqual(t, r.Artifacts, artifacts)
	problems, err := f.Problems(f.ctx, b.ID)
	f.ok(err)
	wantEqual(t, r.Problems, problems)
	got, err := f.Bundle(f.ctx, b.ID)
	f.ok(err)
	if got.Status != Done || got.Snapshots != 1 || got.Problems != 1 || got.Unpacked != 1<<20 || got.Engine != 1 {
		t.Errorf("got %+v", got)
	}
	_, err = f.Artifacts(f.ctx, "bnone")
	wantCode(t, err, "not_found")
}

func TestABundleIsRunningUntilItsJobEnds(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b, job := f.upload(c.ID, "x")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	got, err := f.Bundle(f.ctx, b.ID)
	f.ok(err)
	if got.Status != Running {
		t.Errorf("got %+v", got)
	}
	f.clock.advance(time.Minute)
	f.ok(f.FinishJob(f.ctx, job.ID, kubeletResult("2")))
	got, err = f.Bundle(f.ctx, b.ID)
	f.ok(err)
	if got.Status != Done {
		t.Errorf("got %+v", got)
	}
	if after, err := f.Case(f.ctx, c.ID); err != nil || !after.Updated.Equal(f.clock.now) {
		t.Errorf("the case was updated at %v (%v), want %v", after.Updated, err, f.clock.now)
	}
}

func TestTheProblemsOfACaseAreThoseOfItsFinishedBundlesInTheirOrder(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	result := func(snapshot, what string) Result {
		r := kubeletResult(snapshot)
		r.Problems = []analysis.Problem{{Path: what, Offset: -1, Severity: analysis.Warning, What: what, Why: "w", Hint: "h"}}
		return r
	}
	f.filled(c.ID, "x", result("1", "first"))
	clean := kubeletResult("2")
	clean.Problems = nil
	f.filled(c.ID, "y", clean)
	f.filled(other.ID, "z", result("4", "of another case"))
	last := f.filled(c.ID, "w", result("3", "last"))
	f.upload(c.ID, "waits")
	var got []string
	for _, p := range must[[]analysis.Problem](t)(f.CaseProblems(f.ctx, c.ID)) {
		got = append(got, p.What)
	}
	wantEqual(t, []string{"first", "last"}, got)
	f.ok(f.RemoveBundle(f.ctx, last.ID))
	if n := len(must[[]analysis.Problem](t)(f.CaseProblems(f.ctx, c.ID))); n != 1 {
		t.Errorf("%d problems after the bundle is gone", n)
	}
}
