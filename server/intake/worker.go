package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/ingest"
	"leakdiff/server/memory"
	"leakdiff/server/response"
	"leakdiff/store"
)

// Worker works off ingest jobs: some at a time, each in bounded memory, and beside them small
// uploads alone, which so overtake large ones.
type Worker struct {
	*Queue
	cfg WorkerConfig
	// worked is true if a bundle was read since memory was given back.
	worked atomic.Bool
	// found wakes a reader that rests: another server has recorded a job, or left one behind.
	found chan struct{}
	// claiming is held while a reader takes a job and begins it.
	claiming sync.Mutex
}

type WorkerConfig struct {
	Queue   *Queue
	Store   JobStore
	Raw     RawBytes
	Log     *slog.Logger
	Respond *response.Responder
	// Summaries sums up cases that were read.
	Summaries Summaries
	// Ingest configures the reading.
	Ingest ingest.Config
	// Readers is how many bundles are read at once, besides a small one; 1 for 0.
	Readers int
	// Gate admits each of them.
	Gate *memory.Gate
}

// Summaries stores the rows of the list of cases.
type Summaries interface {
	Summarise(ctx context.Context, caseID string) error
	// Outdated returns the cases whose summary is older than its input, or of an older
	// version.
	Outdated(ctx context.Context) (caseIDs []string, err error)
}

// NewWorker makes a worker. Run starts it.
func NewWorker(cfg WorkerConfig) *Worker {
	return &Worker{Queue: cfg.Queue, cfg: cfg, found: make(chan struct{})}
}

// Run works off jobs until ctx ends. One of the readers also does what is to be done while
// nothing is read.
func (w *Worker) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { w.run(ctx, lane{housekeeps: true}) })
	for range w.cfg.Readers - 1 {
		all.Go(func() { w.run(ctx, lane{}) })
	}
	all.Go(func() { w.run(ctx, lane{quick: true}) })
	if w.cfg.Store.Shared() {
		all.Go(func() { w.tend(ctx) })
	}
	all.Wait()
}

// lane is what one of the goroutines of a worker does.
type lane struct {
	// quick reads small uploads alone, each for quickTime at most.
	quick      bool
	housekeeps bool
}

func (w *Worker) run(ctx context.Context, l lane) {
	var retry time.Duration
	for ctx.Err() == nil {
		recorded := w.next()
		c, ok, err := w.claim(ctx, l)
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.Error("claiming a job failed", "error", err)
		}
		full := store.IsFull(err)
		if ok && err == nil {
			full = w.work(ctx, c, l)
			w.worked.Store(true)
		}
		switch {
		case full:
			retry = min(max(2*retry, firstRetry), lastRetry)
			sleep(ctx, retry, w.next())
			continue
		case ok && err == nil:
		case l.housekeeps && !w.Busy():
			w.housekeep(ctx, recorded)
		case l.housekeeps:
			// What another reader reads changes its case once more at its end.
			w.waitForReaders(ctx, recorded)
		default:
			select {
			case <-ctx.Done():
			case <-recorded:
			case <-w.found:
			case <-time.After(time.Minute):
			}
		}
		retry = 0
	}
}

const (
	// tendEvery is how often a server renews its leases and looks for jobs of others.
	tendEvery = 2 * time.Second
	// backAgain is how long it has to have done so without a break before it inherits jobs:
	// after an outage of the database all servers first renew their own.
	backAgain = 5 * tendEvery
)

// tend keeps the leases of the jobs that are being read, stops those which are lost or were
// cancelled on another server, and wakes the readers for jobs that other servers recorded or
// left behind.
func (w *Worker) tend(ctx context.Context) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	// A server that begins has no lease to renew, and inherits at once.
	last, since := time.Now(), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.Sub(last) > 2*tendEvery {
			since = now // it was paused
		}
		last = now
		err := w.tendOnce(ctx, now.Sub(since) >= backAgain)
		if err != nil && ctx.Err() == nil {
			since = time.Now()
			w.cfg.Log.Warn("the leases of jobs were not renewed", "error", err)
		}
	}
}

func (w *Worker) tendOnce(ctx context.Context, inherits bool) error {
	lost, err := w.cfg.Store.Renew(ctx, w.leases())
	if err != nil {
		return err
	}
	for _, job := range lost {
		w.lose(job)
	}
	if inherits {
		if err := w.cfg.Store.Inherit(ctx); err != nil {
			return err
		}
	}
	queued, err := w.cfg.Store.Queued(ctx)
	if err != nil || queued == 0 {
		return err
	}
	for range w.cfg.Readers + 1 {
		select {
		case w.found <- struct{}{}:
		default:
		}
	}
	return nil
}

// claimed is a job that a reader has begun. stop ends it.
type claimed struct {
	store.Job
	reading *reading
	ctx     context.Context
	stop    context.CancelCauseFunc
}

// claim takes a job and begins it in one step, so that a reader which finds no job sees
// whether another one reads.
func (w *Worker) claim(ctx context.Context, l lane) (c claimed, ok bool, err error) {
	w.claiming.Lock()
	defer w.claiming.Unlock()
	c.Job, ok, err = w.cfg.Store.ClaimChosen(ctx, func(queued []store.QueuedJob) int { return w.choose(l.quick, queued) })
	if ok && err == nil {
		c.ctx, c.stop = context.WithCancelCause(ctx)
		c.reading = w.begin(c.Job, c.stop)
	}
	return c, ok, err
}

// waitForReaders waits until nothing is read any more, or until a job is recorded.
func (w *Worker) waitForReaders(ctx context.Context, recorded <-chan struct{}) {
	for ctx.Err() == nil {
		ended := w.nextEnd()
		if !w.Busy() {
			return
		}
		select {
		case <-ctx.Done():
		case <-ended:
		case <-recorded:
			return
		case <-w.found:
			return
		}
	}
}

// housekeep does what waits for a time when nothing is read, then waits for a job.
func (w *Worker) housekeep(ctx context.Context, recorded <-chan struct{}) {
	w.catchUp(ctx, recorded)
	w.reap(ctx, recorded)
	idle := time.Minute
	if w.worked.Load() {
		idle = pause
	}
	select {
	case <-ctx.Done():
	case <-recorded:
	case <-w.found:
	case work := <-w.idle:
		work(ctx)
	case <-time.After(idle):
		if !w.Busy() && w.worked.Swap(false) {
			// The memory of the last bundle is of no use to the next.
			debug.FreeOSMemory()
		}
	}
}

// A result that did not fit on the volume is written again after firstRetry, then after
// twice as long each time up to lastRetry, and after every deletion.
const firstRetry, lastRetry = time.Second, 30 * time.Second

// pause is how long after the last bundle its memory goes back to the system.
const pause = time.Second

// quickTime is how long the quick worker reads a bundle before it leaves it to the others: a
// small upload may unpack to a large one.
const quickTime = 2 * time.Second

// errTookLong ends the reading of a bundle by the quick worker.
var errTookLong = errors.New("the bundle takes longer than a small one")

// work reads one bundle. It reports whether the volume had no room for the result, or the
// database or the place of the uploads did not answer: the job then goes behind the others. A
// job interrupted by the server's end stays recorded and
// runs again at the next start.
func (w *Worker) work(ctx context.Context, c claimed, l lane) (full bool) {
	job, jobCtx, r := c.Job, c.ctx, c.reading
	defer c.stop(nil)
	defer w.end(job.BundleID)
	if l.quick {
		r.limit = time.AfterFunc(quickTime, func() { c.stop(errTookLong) })
		defer r.limit.Stop()
	}
	err := w.admitted(jobCtx, job, r, l)
	switch {
	case err == nil:
		// The job is done and does not run again, so its summary is finished even if the
		// server ends.
		w.summarise(context.WithoutCancel(ctx), job.BundleID)
	case ctx.Err() != nil:
		w.cfg.Log.Info("ingest interrupted by the end of the server, will be run again", "bundle", job.BundleID)
	case context.Cause(jobCtx) == errTookLong:
		w.tookLong(job.BundleID)
		w.recordEnd(ctx, "postponing a job", job, func() error { return w.cfg.Store.PostponeJob(ctx, job, nil) })
		w.Notify()
	case jobCtx.Err() != nil || errors.Is(err, context.Canceled):
		// A cancelled write may return another error. If the case was deleted meanwhile,
		// the job is gone with it.
		w.recordEnd(ctx, "cancelling", job, func() error { return w.cfg.Store.CancelJob(ctx, job) })
	case store.IsFull(err) || store.IsUnreachable(err):
		fault, _ := w.cfg.Respond.Fault(err)
		w.cfg.Log.Warn("a reading is put off and begins again when it can: "+fault.Why, "bundle", job.BundleID)
		w.recordEnd(ctx, "postponing a job", job, func() error { return w.cfg.Store.PostponeJob(ctx, job, fault) })
		return true
	case isBusy(err):
		w.cfg.Log.Warn("the database is busy: a result is read again and saved later", "bundle", job.BundleID, "error", err)
		w.recordEnd(ctx, "postponing a job", job, func() error { return w.cfg.Store.PostponeJob(ctx, job, nil) })
		return true
	default:
		fault, _ := w.cfg.Respond.Fault(err)
		w.recordEnd(ctx, "recording a failed job", job, func() error { return w.cfg.Store.FailJob(ctx, job, fault) })
	}
	return false
}

// isBusy reports whether an error says nothing of the bundle: the database does not answer.
func isBusy(err error) bool {
	var fault *analysis.Fault
	return errors.As(err, &fault) && fault.Code == "busy"
}

// recordEnd records the end of a job, and retries until it succeeds: nothing else ends a
// running job. A job that was deleted, ended or inherited meanwhile has ended here.
func (w *Worker) recordEnd(ctx context.Context, what string, job store.Job, end func() error) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := end()
		var fault *analysis.Fault
		if errors.As(err, &fault) && slices.Contains([]string{"not_found", "conflict", "cancelled", "lost"}, fault.Code) {
			return
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		w.cfg.Log.Error(what+" failed", "bundle", job.BundleID, "error", err)
		sleep(ctx, wait, w.next())
	}
}

// largeBundle is the size in bytes from which no answer waits for the summary.
const largeBundle = 64 << 20

// admitted reads a bundle inside the gate. One that is read quickly stays small.
func (w *Worker) admitted(ctx context.Context, job store.Job, r *reading, l lane) error {
	if !l.quick {
		leave, err := w.cfg.Gate.Enter(ctx, memory.Reading)
		if err != nil {
			return err
		}
		defer leave()
	}
	return w.ingest(ctx, job, r)
}

func (w *Worker) ingest(ctx context.Context, job store.Job, r *reading) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reading bundle %s panicked: %v", job.BundleID, v)
		}
	}()
	b, err := w.cfg.Store.Bundle(ctx, job.BundleID)
	if err != nil {
		return err
	}
	cfg := w.cfg.Ingest
	cfg.Deferred = true
	cfg.Progress = func(p ingest.Progress) {
		if p.Stage != "unpacking" && r.limit != nil {
			r.limit.Stop() // what is read is worth saving
		}
		w.report(r, p)
	}
	if cfg.Kinds, err = w.cfg.Store.Kinds(ctx, b.ID); err != nil {
		return err
	}
	result, err := w.read(ctx, b, r, cfg)
	if err != nil {
		return err
	}
	w.report(r, ingest.Progress{Stage: "saving", Files: len(result.Artifacts), Snapshots: len(result.Snapshots)})
	err = w.cfg.Store.FinishJob(ctx, job, store.Result{
		Artifacts: result.Artifacts, Problems: result.Problems, Snapshots: result.Snapshots, Groups: result.GroupsOf,
		Unpacked: result.Unpacked, Engine: ingest.Engine,
	})
	// An answer about a large bundle need not wait for the summary of its case.
	w.report(r, ingest.Progress{Stage: "done", Files: len(result.Artifacts), Snapshots: len(result.Snapshots)})
	if result.Unpacked > largeBundle {
		w.waitForAnswers(ctx, job.BundleID)
	}
	return err
}

// read reads the files of a bundle.
func (w *Worker) read(ctx context.Context, b store.Bundle, r *reading, cfg ingest.Config) (ingest.Result, error) {
	inputs := w.cfg.Raw.inputs(ctx, b.Files)
	r.counted(inputs)
	if len(inputs) == 1 {
		cfg.SHA256 = func() string { return b.Files[0].SHA256 }
	}
	result, err := ingest.Run(ctx, cfg, inputs)
	if ctx.Err() != nil {
		return result, err
	}
	if unreachable := r.unreachable.Load(); unreachable != nil {
		return ingest.Result{}, *unreachable
	}
	// The parsers accept damaged bytes. A result of damaged bytes must neither be shown
	// nor replace an older one. Bytes that were hashed during the reading are not hashed
	// again.
	if damage := w.cfg.Raw.verifyAll(ctx, b.Files); damage != nil {
		return ingest.Result{}, damage
	}
	return result, err
}

// summarise judges the case of a bundle and stores its row in the list of cases. Bundles
// queued for one case are judged together, with the last one. If that fails, the idle
// worker finds the case without a summary.
func (w *Worker) summarise(ctx context.Context, bundleID string) {
	b, err := w.cfg.Store.Bundle(ctx, bundleID)
	if err != nil {
		return
	}
	if waits, err := w.cfg.Store.Waits(ctx, b.CaseID); err == nil && waits {
		return
	}
	if err := w.summariseCase(ctx, b.CaseID); err != nil && !response.IsNotFound(err) {
		w.cfg.Log.Error("summing up a case failed", "case", b.CaseID, "error", err)
	}
}

// CatchUp writes the outdated summaries: after a crash, after triage in another case, and
// of another version.
func (w *Worker) CatchUp(ctx context.Context) { w.catchUp(ctx, nil) }

// summingUp is the duty to catch up.
const summingUp = "summing up"

// catchUp stops when recorded is closed: a queued bundle comes first. Of several servers one
// does it.
func (w *Worker) catchUp(ctx context.Context, recorded <-chan struct{}) {
	ids, err := w.cfg.Summaries.Outdated(ctx)
	if err != nil && ctx.Err() == nil {
		w.cfg.Log.Error("looking for cases without a summary failed", "error", err)
	}
	for _, id := range ids {
		mine, err := w.cfg.Store.TakeDuty(ctx, summingUp)
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.Error("taking the duty to sum up cases failed", "error", err)
		}
		if !mine {
			return
		}
		if err := w.summariseCase(ctx, id); err != nil && ctx.Err() == nil {
			w.cfg.Log.Error("summing up a case failed", "case", id, "error", err)
		}
		select {
		case <-recorded:
			return
		default:
		}
	}
}

// reap deletes from the store what nothing uses any more, until a bundle is queued.
func (w *Worker) reap(ctx context.Context, recorded <-chan struct{}) {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = w.cfg.Store.Reap(ctx); err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("forgetting what was deleted is put off", "error", err)
		}
		select {
		case <-recorded:
			return
		default:
		}
	}
}

// summariseCase sums up a case. A panic costs this case alone.
func (w *Worker) summariseCase(ctx context.Context, caseID string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("summing up case %s panicked: %v", caseID, v)
		}
	}()
	return w.cfg.Summaries.Summarise(ctx, caseID)
}

// summaryWait bounds how long an answer about a small bundle waits for the summary of its
// case, so that the list of cases shows the upload.
const summaryWait = 50 * time.Millisecond

// Settled waits until the bundle is no longer queued or running, or ctx ends.
func (w *Worker) Settled(ctx context.Context, bundleID string) (store.Bundle, error) {
	for {
		_, ended := w.reads(bundleID)
		b, err := w.cfg.Store.Bundle(ctx, bundleID)
		if err != nil {
			return b, err
		}
		if b.Status != store.Queued && b.Status != store.Running {
			if b.Unpacked <= largeBundle {
				w.summarised(ctx, bundleID)
			}
			return b, nil
		}
		select {
		case <-ctx.Done():
			return b, ctx.Err()
		case <-ended:
		case <-time.After(time.Second): // a cancelled job that never ran closes no channel
		}
	}
}

// summarised waits until the worker has summed up a bundle, for summaryWait at most.
func (w *Worker) summarised(ctx context.Context, bundleID string) {
	within(ctx, summaryWait, func() (bool, <-chan struct{}) {
		running, ended := w.reads(bundleID)
		return !running, ended
	})
}
