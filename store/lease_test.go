package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/internal/test/cluster"
	"leakdiff/samples/corpus"
)

// TestSeveralServersOnOneDatabase has two servers, each with a directory of its own: what one
// of them writes must not depend on what the other one has in memory.
func TestSeveralServersOnOneDatabase(t *testing.T) {
	corpus.Heavy(t)
	server := cluster.Start(t)
	for _, c := range []struct {
		name  string
		proof func(a, b *fixture)
	}{
		{"each job is claimed once", eachJobIsClaimedOnce},
		{"a server that was paused writes nothing, and its rows go", aPausedServerWritesNothing},
		{"the locks of a paused server end before its leases", locksEndBeforeLeases},
		{"a job that ends its servers is given up", aJobThatEndsItsServersIsGivenUp},
		{"a server that gives a sign keeps its job", aServerThatGivesASignKeepsItsJob},
		{"a job that is being written is not inherited, and keeps nobody waiting", aJobBeingWrittenIsNotInherited},
		{"a job is cancelled from the other server", aJobIsCancelledFromTheOtherServer},
		{"a start and an orderly end leave the jobs of others alone", startAndEndLeaveOthersAlone},
		{"how far a job is, the other one knows", theOtherOneKnowsHowFarAJobIs},
		{"a duty is that of one", aDutyIsThatOfOne},
		{"what a policy keeps no longer one drops, and says what", aPolicyIsAppliedByOne},
		{"a case has equal uploads once", aCaseHasEqualUploadsOnce},
		{"an answer with a key is made by one", anAnswerIsMadeByOne},
		{"words that another one writes stay", wordsThatAnotherOneWritesStay},
		{"frames of a stack that is not committed yet stay", framesOfAStackThatIsNotCommittedStay},
		{"what another one knows of frames is not believed", aMarkingEndsWithItsDuty},
		{"both write and forget the same words", bothWriteAndForgetTheSameWords},
		{"a summary does not replace a later one", aSummaryDoesNotReplaceALaterOne},
		{"an upload comes after a job that was postponed", anUploadComesAfterAPostponedJob},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := server.Database(t)
			c.proof(openShared(t, address), openShared(t, address))
		})
	}
}

// openShared opens a store beside others.
func openShared(t *testing.T, address string) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: newClock(), database: address, shared: true}
	f.reopen()
	t.Cleanup(func() {
		if f.Store != nil {
			f.close()
		}
	})
	return f
}

// claim claims the next job.
func (f *fixture) claim() Job {
	f.t.Helper()
	job, claimed, err := f.ClaimJob(f.ctx)
	f.ok(err)
	if !claimed {
		f.t.Fatal("no job to claim")
	}
	return job
}

func TestAServerWithUploadsOfItsOwnHasItsDatabaseForItself(t *testing.T) {
	corpus.Heavy(t)
	alone := openOn(t, cluster.Start(t).Database(t))
	_, err := Open(t.Context(), Config{Dir: t.TempDir(), Database: alone.database, shared: true})
	wantCode(t, err, "locked")
}

func eachJobIsClaimedOnce(a, b *fixture) {
	c := a.newCase("a")
	const uploads = 20
	for i := range uploads {
		a.upload(c.ID, fmt.Sprint(i))
	}
	var mu sync.Mutex
	claimed := map[string]int{}
	var all sync.WaitGroup
	for _, f := range []*fixture{a, b} {
		all.Go(func() {
			for {
				job, more, err := f.ClaimJob(f.ctx)
				if err != nil {
					a.t.Error(err)
				}
				if !more || err != nil {
					return
				}
				mu.Lock()
				claimed[job.BundleID]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, n := range claimed {
		if n != 1 {
			a.t.Errorf("bundle %s was claimed %d times", id, n)
		}
	}
	if len(claimed) != uploads {
		a.t.Errorf("%d of %d were claimed", len(claimed), uploads)
	}
}

func aPausedServerWritesNothing(a, b *fixture) {
	c := a.newCase("a")
	bundle, _ := a.upload(c.ID, "1")
	paused := a.claim()
	a.ok(a.addSnapshot(paused.ID, ownWords("alice", 3)))
	b.endLeases()
	b.ok(b.Inherit(b.ctx))
	b.wantEmpty("snapshot", "series")
	if lost := must[[]Job](a.t)(a.Renew(a.ctx, []Lease{{Job: paused}})); len(lost) != 1 {
		a.t.Errorf("%d jobs are lost", len(lost))
	}
	wantCode(a.t, a.Store.FinishJob(a.ctx, paused, kubeletResult("2")), "conflict")
	inherited := b.claim()
	if inherited.BundleID != bundle.ID || inherited.Attempts != 2 || inherited.Generation <= paused.Generation {
		a.t.Errorf("inherited %+v of %+v", inherited, paused)
	}
	for name, write := range map[string]func() error{
		"result":      func() error { return a.Store.FinishJob(a.ctx, paused, kubeletResult("2")) },
		"failure":     func() error { return a.Store.FailJob(a.ctx, paused, &analysis.Fault{What: "w"}) },
		"delay":       func() error { return a.Store.PostponeJob(a.ctx, paused, nil) },
		"cancelation": func() error { return a.Store.CancelJob(a.ctx, paused) },
	} {
		if err := write(); code(err) != "lost" {
			a.t.Errorf("the %s of a lost job: %v", name, err)
		}
	}
	b.wantEmpty("snapshot")
	b.ok(b.Store.FinishJob(b.ctx, inherited, kubeletResult("3")))
	wantEqual(a.t, kubeletResult("3").Snapshots, must[[]analysis.Snapshot](a.t)(a.full(c.ID)))
	b.ok(b.reapAll(b.ctx))
	var of int
	b.ok(b.reader.QueryRowContext(b.ctx, `SELECT count(*) FROM function WHERE name LIKE '%alice%'`).Scan(&of))
	if of != 0 {
		a.t.Errorf("%d functions are left of what the paused server wrote", of)
	}
	b.wantSound()
}

func locksEndBeforeLeases(a, _ *fixture) {
	var text string
	a.ok(a.writer.QueryRowContext(a.ctx, `SHOW idle_in_transaction_session_timeout`).Scan(&text))
	if d, err := time.ParseDuration(text); err != nil || d <= 0 || d >= leaseTime {
		a.t.Errorf("a transaction of a server that does nothing ends after %q, %v", text, err)
	}
	err := a.write(a.ctx, "pausing", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(a.ctx, `SET LOCAL idle_in_transaction_session_timeout = 1`); err != nil {
			return err
		}
		for {
			if err := tx.QueryRowContext(a.ctx, `SELECT 1`).Scan(new(int)); err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	wantCode(a.t, err, "busy")
}

func aJobThatEndsItsServersIsGivenUp(a, b *fixture) {
	bundle, _ := a.upload(a.newCase("a").ID, "1")
	for n := range maxAttempts {
		if job := a.claim(); job.Attempts != n+1 {
			a.t.Errorf("attempt %d, want %d", job.Attempts, n+1)
		}
		b.endLeases()
		b.ok(b.Inherit(b.ctx))
	}
	if got := must[Bundle](a.t)(a.Bundle(a.ctx, bundle.ID)); got.Status != Failed || got.Error == nil || got.Error.Code != Crashed {
		a.t.Errorf("the bundle is %s, %v", got.Status, got.Error)
	}
}

func aServerThatGivesASignKeepsItsJob(a, b *fixture) {
	c := a.newCase("a")
	a.upload(c.ID, "1")
	job := a.claim()
	b.endLeases()
	if lost := must[[]Job](a.t)(a.Renew(a.ctx, []Lease{{Job: job}})); len(lost) > 0 {
		a.t.Errorf("lost %v", lost)
	}
	b.ok(b.Inherit(b.ctx))
	if _, claimed, err := b.ClaimJob(b.ctx); claimed || err != nil {
		a.t.Errorf("claimed %v, %v", claimed, err)
	}
	b.endLeases()
	// What is written renews the lease too.
	a.ok(a.addSnapshot(job.ID, kubelet("2", instant, 5)))
	b.ok(b.Inherit(b.ctx))
	a.ok(a.Store.FinishJob(a.ctx, job, kubeletResult("2")))
}

func aJobBeingWrittenIsNotInherited(a, b *fixture) {
	a.upload(a.newCase("a").ID, "1")
	job := a.claim()
	b.endLeases()
	tx, err := a.writer.BeginTx(a.ctx, a.engine.writing())
	a.ok(err)
	_, err = a.own(a.ctx, tx, job)
	a.ok(err)
	b.ok(b.Inherit(b.ctx))
	if lost := must[[]Job](a.t)(a.Renew(a.ctx, []Lease{{Job: job}})); len(lost) > 0 {
		a.t.Errorf("lost %v", lost)
	}
	if got := must[Job](a.t)(b.Job(b.ctx, job.ID)); got.Status != Running {
		a.t.Errorf("the job is %s", got.Status)
	}
	a.ok(tx.Commit())
	a.ok(a.Store.FinishJob(a.ctx, job, kubeletResult("2")))
}

func aJobIsCancelledFromTheOtherServer(a, b *fixture) {
	bundle, _ := a.upload(a.newCase("a").ID, "1")
	job := a.claim()
	b.ok(b.CancelOpenJob(b.ctx, bundle.ID))
	if lost := must[[]Job](a.t)(a.Renew(a.ctx, []Lease{{Job: job}})); len(lost) != 1 {
		a.t.Errorf("%d jobs are lost", len(lost))
	}
	wantCode(a.t, a.Store.FinishJob(a.ctx, job, kubeletResult("2")), "cancelled")
}

func startAndEndLeaveOthersAlone(a, b *fixture) {
	c := a.newCase("a")
	a.upload(c.ID, "1")
	a.upload(c.ID, "2")
	of, own := a.claim(), b.claim()
	a.ok(a.addSnapshot(of.ID, kubelet("2", instant, 5)))
	b.ok(b.addSnapshot(own.ID, kubelet("3", instant, 5)))
	b.close()
	if n := a.rows("snapshot"); n != 1 {
		a.t.Errorf("%d snapshots", n)
	}
	b.reopen()
	again := b.claim()
	if again.ID != own.ID || again.Attempts != 1 {
		a.t.Errorf("claimed %+v, want %+v", again, own)
	}
	a.ok(a.Store.FinishJob(a.ctx, of, kubeletResult("2")))
	b.ok(b.Store.FinishJob(b.ctx, again, kubeletResult("3")))
	a.wantSound()
}

func theOtherOneKnowsHowFarAJobIs(a, b *fixture) {
	bundle, _ := a.upload(a.newCase("a").ID, "1")
	job := a.claim()
	must[[]Job](a.t)(a.Renew(a.ctx, []Lease{{job, "half"}}))
	if got := must[string](a.t)(b.Progress(b.ctx, bundle.ID)); got != "half" {
		a.t.Errorf("got %q", got)
	}
	a.ok(a.Store.CancelJob(a.ctx, job))
	if got := must[string](a.t)(b.Progress(b.ctx, bundle.ID)); got != "" {
		a.t.Errorf("got %q after the end", got)
	}
}

func aDutyIsThatOfOne(a, b *fixture) {
	for _, step := range []struct {
		f    *fixture
		want bool
	}{{a, true}, {b, false}, {a, true}} {
		if got := must[bool](a.t)(step.f.TakeDuty(a.ctx, "sweeping")); got != step.want {
			a.t.Errorf("on duty: %v", got)
		}
	}
	if !must[bool](a.t)(b.TakeDuty(b.ctx, "something else")) {
		a.t.Error("one duty keeps from another")
	}
	b.endLeases()
	if !must[bool](a.t)(b.TakeDuty(b.ctx, "sweeping")) || must[bool](a.t)(a.TakeDuty(a.ctx, "sweeping")) {
		a.t.Error("the duty did not change hands")
	}
	b.close()
	if !must[bool](a.t)(a.TakeDuty(a.ctx, "sweeping")) {
		a.t.Error("a server that ended has a duty")
	}
}

func aPolicyIsAppliedByOne(a, b *fixture) {
	c := a.newCase("a")
	one, two := a.filled(c.ID, "one", kubeletResult("1")), a.filled(c.ID, "two", kubeletResult("2"))
	for _, f := range []*fixture{a, b} {
		f.clock.advance(48 * time.Hour)
	}
	keep := Retention{Uploads: 1}
	if !must[bool](a.t)(a.TakeDuty(a.ctx, retaining)) {
		a.t.Fatal("nobody has the duty")
	}
	done, err := b.Retain(b.ctx, keep)
	wantCode(b.t, err, RetainedElsewhere)
	wantEqual(b.t, 0, len(done))
	_, err = b.dropUpload(b.ctx, must[[]droppable](b.t)(b.uploadsToDrop(b.ctx, must[[]retainedCase](b.t)(b.casesToRetain(b.ctx, keep, ""))[0]))[0].seq)
	if !errors.Is(err, errOffDuty) {
		b.t.Errorf("a server that lost the duty drops: %v", err)
	}
	want := Retained{Bundles: 2, UploadBytes: one.Size + two.Size}
	wantEqual(a.t, want, a.retain(keep))
	wantEqual(b.t, Retained{}, b.retain(keep)) // at once: the duty was given back
}

func aCaseHasEqualUploadsOnce(a, b *fixture) {
	c := a.newCase("a")
	var all sync.WaitGroup
	results := make([]error, 2)
	for i, f := range []*fixture{a, b} {
		file := f.file("x", "the same")
		all.Go(func() { _, _, results[i] = f.AddBundle(f.ctx, c.ID, "x", []File{file}) })
	}
	all.Wait()
	added, there := 0, 0
	for _, err := range results {
		switch {
		case err == nil:
			added++
		case errors.Is(err, ErrThere):
			there++
		}
	}
	if added != 1 || there != 1 || a.rows("bundle") != 1 {
		a.t.Errorf("%v, %d bundles", results, a.rows("bundle"))
	}
}

func anAnswerIsMadeByOne(a, b *fixture) {
	begin := func(f *fixture, key string) bool { return must[bool](a.t)(f.BeginAnswer(f.ctx, key)) }
	if !begin(a, "k") || begin(b, "k") || !begin(b, "other") {
		a.t.Error("a key is that of both, or all keys are one")
	}
	var left int64
	const leftSQL = `SELECT until - clock_micros() FROM duty WHERE name = ?`
	if a.ok(a.reader.QueryRowContext(a.ctx, leftSQL, answering("k")).Scan(&left)); left > leaseTime.Microseconds() {
		a.t.Errorf("a dead server keeps the key for another %v", time.Duration(left)*time.Microsecond)
	}
	a.endLeases()
	a.ok(b.RenewAnswer(b.ctx, "k"))
	a.ok(a.RenewAnswer(a.ctx, "k"))
	if begin(b, "k") {
		a.t.Error("the key was not renewed")
	}
	a.endLeases()
	if !begin(b, "k") || begin(a, "k") {
		a.t.Error("nobody inherits the key of a dead server")
	}
	a.ok(a.RenewAnswer(a.ctx, "k"))
	a.ok(a.EndAnswer(a.ctx, "k"))
	if begin(a, "k") {
		a.t.Error("a server that woke took the key of another one")
	}
	a.ok(b.EndAnswer(b.ctx, "k"))
	if !begin(a, "k") || begin(b, "k") {
		a.t.Error("the key did not come back")
	}
	rename := func(query string) {
		_, err := a.writer.ExecContext(a.ctx, query)
		a.ok(err)
	}
	rename(`ALTER TABLE duty RENAME TO elsewhere`)
	_, began := a.BeginAnswer(a.ctx, "k")
	for words, err := range map[string]error{"reserving an": began, "renewing an": a.RenewAnswer(a.ctx, "k"), "giving an": a.EndAnswer(a.ctx, "k")} {
		if err == nil || !strings.Contains(err.Error(), words+" Idempotency-Key") || strings.Contains(err.Error(), "answering") {
			a.t.Errorf("%q is told as %v", words, err)
		}
	}
	rename(`ALTER TABLE elsewhere RENAME TO duty`)
	a.ok(a.Remember(a.ctx, "k", Answer{RequestHash: "h", Status: 201, Body: []byte("x")}))
	a.ok(a.EndAnswer(a.ctx, "k"))
	if !begin(b, "k") {
		a.t.Error("the key was not given back")
	}
	if got, known, err := b.Recall(b.ctx, "k"); err != nil || !known || string(got.Body) != "x" {
		a.t.Errorf("got %+v, %v, %v", got, known, err)
	}
	a.endLeases()
	a.clock.advance(2 * answerLife)
	a.ok(a.sweep(a.ctx))
	if n := a.rows("duty"); n != 1 {
		a.t.Errorf("%d duties are left besides that of the sweep", n-1)
	}
}

func wordsThatAnotherOneWritesStay(a, b *fixture) {
	gone := b.withOwnWords("alice", 3)
	c := a.newCase("a")
	a.upload(c.ID, "1")
	job := a.claim()
	a.ok(a.addSnapshot(job.ID, ownWords("alice", 4)))
	b.ok(b.DeleteCase(b.ctx, gone.ID, WithdrawPermalinks))
	b.ok(b.reapAll(b.ctx))
	if n := b.rows("family"); n != 4 {
		a.t.Errorf("%d families are left of 4 that are being written", n)
	}
	a.ok(a.Store.FinishJob(a.ctx, job, Result{Snapshots: []analysis.Snapshot{ownWords("alice", 4)}}))
	b.ok(b.reapAll(b.ctx))
	wantEqual(a.t, []analysis.Snapshot{ownWords("alice", 4)}, must[[]analysis.Snapshot](a.t)(b.full(c.ID)))
	b.wantSound()
}

// framesOfAStackThatIsNotCommittedStay has a stack with a lower number than others, which is
// committed after those.
func framesOfAStackThatIsNotCommittedStay(a, b *fixture) {
	gone := b.withOwnWords("alice", 1)
	b.withOwnWords("bob", 1)
	var family, frame int64
	b.ok(b.reader.QueryRowContext(b.ctx, `SELECT max(seq) FROM family`).Scan(&family))
	b.ok(b.reader.QueryRowContext(b.ctx, `SELECT min(seq) FROM frame`).Scan(&frame))
	tx, err := a.writer.BeginTx(a.ctx, nil)
	a.ok(err)
	_, err = tx.ExecContext(a.ctx, addStackSQL, family, []byte("late"), "e1:late", 1, appendSeqs(nil, frame), 0, 0, "")
	a.ok(err)
	b.withOwnWords("carol", 1)
	b.ok(b.DeleteCase(b.ctx, gone.ID, WithdrawPermalinks))
	for b.reaper.marking == nil {
		must[bool](b.t)(b.Reap(b.ctx))
	}
	for range 3 {
		more, m := must[bool](b.t)(b.Reap(b.ctx)), b.reaper.marking
		if !more || m == nil || m.at > 0 || m.done {
			b.t.Fatal("it looks before the stacks are there")
		}
	}
	a.ok(tx.Commit())
	b.ok(b.reapAll(b.ctx))
	var there bool
	b.ok(b.reader.QueryRowContext(b.ctx, `SELECT EXISTS (SELECT 1 FROM frame WHERE seq = ?)`, frame).Scan(&there))
	if !there {
		b.t.Error("the frame of a stack was forgotten")
	}
	if n := b.rows("frame"); n != 5 {
		b.t.Errorf("%d frames, want 2 of bob, 2 of carol, and 1 of the late stack", n)
	}
}

func aMarkingEndsWithItsDuty(a, b *fixture) {
	first := a.withOwnWords("alice", 5)
	a.ok(a.DeleteCase(a.ctx, first.ID, WithdrawPermalinks))
	for a.reaper.marking == nil || !a.reaper.marking.done {
		must[bool](a.t)(a.Reap(a.ctx))
	}
	b.endLeases()
	b.ok(b.reapAll(b.ctx))
	second := b.withOwnWords("alice", 5)
	b.ok(b.DeleteCase(b.ctx, second.ID, WithdrawPermalinks))
	b.ok(b.reapAll(b.ctx))
	b.endLeases()
	a.ok(a.reapAll(a.ctx))
	a.wantEmpty("family", "stack", "frame", "function", "frame_to_forget", "function_to_forget", "family_to_forget")
}

func bothWriteAndForgetTheSameWords(a, b *fixture) {
	const rounds = 6
	var all sync.WaitGroup
	kept := make([]Case, 2)
	for i, f := range []*fixture{a, b} {
		all.Go(func() {
			for n := range rounds {
				c, err := f.written(f.ctx, fmt.Sprint(i, n))
				if err == nil && n+1 < rounds {
					err = f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks)
				}
				_, reaped := f.Reap(f.ctx)
				if err = errors.Join(err, reaped); err != nil {
					a.t.Error(err)
					return
				}
				kept[i] = c
			}
		})
	}
	all.Wait()
	if a.t.Failed() {
		return
	}
	b.endLeases()
	b.ok(b.reapAll(b.ctx))
	for _, c := range kept {
		wantEqual(a.t, []analysis.Snapshot{ownWords("alice", 8)}, must[[]analysis.Snapshot](a.t)(a.full(c.ID)))
	}
	if n := b.rows("family"); n != 8 {
		a.t.Errorf("%d families are left of 8", n)
	}
	b.wantSound()
}

// written is a case of which this server reads the only bundle.
func (f *fixture) written(ctx context.Context, name string) (Case, error) {
	ref, err := f.Blobs().Put(ctx, strings.NewReader(name), 0)
	if err != nil {
		return Case{}, err
	}
	c, b, _, err := f.OpenCase(ctx, name, "", name, []File{{Name: name, SHA256: ref.SHA256, Size: ref.Size}})
	if err != nil {
		return c, err
	}
	job, claimed, err := f.ClaimChosen(ctx, func(queued []QueuedJob) int {
		for i, q := range queued {
			if q.BundleID == b.ID {
				return i
			}
		}
		return -1
	})
	if err != nil || !claimed {
		return c, errors.Join(err, fmt.Errorf("claimed %v", claimed))
	}
	return c, f.Store.FinishJob(ctx, job, Result{Snapshots: []analysis.Snapshot{ownWords("alice", 8)}})
}

func aSummaryDoesNotReplaceALaterOne(a, b *fixture) {
	c := a.newCase("a")
	a.filled(c.ID, "1", kubeletResult("2"))
	before := must[Case](a.t)(a.Case(a.ctx, c.ID)).Revision
	b.filled(c.ID, "2", kubeletResult("3"))
	after := must[Case](a.t)(a.Case(a.ctx, c.ID)).Revision
	a.ok(a.Store.SetCaseSummary(a.ctx, c.ID, before, Summary{Headline: "before"}))
	if ids := must[[]string](a.t)(b.CasesToSummarise(b.ctx, "")); len(ids) != 1 {
		a.t.Errorf("%d cases are to be summarised", len(ids))
	}
	b.ok(b.Store.SetCaseSummary(b.ctx, c.ID, after, Summary{Headline: "after"}))
	a.ok(a.Store.SetCaseSummary(a.ctx, c.ID, before, Summary{Headline: "before"}))
	if got := must[Case](a.t)(a.Case(a.ctx, c.ID)).Headline; got != "after" {
		a.t.Errorf("the headline is %q", got)
	}
	wantCode(a.t, a.Store.SetCaseSummary(a.ctx, "cnone", 1, Summary{}), "not_found")
}

func anUploadComesAfterAPostponedJob(a, b *fixture) {
	c := a.newCase("a")
	postponed, _ := a.upload(c.ID, "1")
	a.ok(a.Store.PostponeJob(a.ctx, a.claim(), nil))
	for i := range 3 {
		b.upload(c.ID, fmt.Sprint("later ", i))
	}
	if first := b.claim(); first.BundleID != postponed.ID {
		a.t.Errorf("claimed %s, want %s", first.BundleID, postponed.ID)
	}
}
