package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// worker works off ingest jobs one after the other: the store has one writer,
// and one dump at a time keeps memory flat.
type worker struct {
	s    *Server
	wake chan struct{}
	// fronts are pages to be kept when there is time.
	fronts chan caseFront

	mu sync.Mutex
	// running is the bundle being read, with how to stop it.
	running string
	stop    context.CancelFunc
	// progress is what the running job said last.
	progress ingest.Progress
	// changed is closed and replaced whenever progress moved or a job ended, ended when a
	// result was written or a job ended.
	changed, ended chan struct{}
	// waiting are the bundles that answers wait for, and how many; answered is closed and
	// replaced when none waits for one any more.
	waiting  map[string]int
	answered chan struct{}
}

func newWorker(s *Server) *worker {
	return &worker{
		s: s, wake: make(chan struct{}, 1), fronts: make(chan caseFront, 4),
		changed: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[string]int{}, answered: make(chan struct{}),
	}
}

// caseFront is the front of a case.
type caseFront struct {
	id   string
	page store.CasePage
}

// keepFront has a front kept, or not where many wait: then the next one who makes it does.
func (w *worker) keepFront(id string, p store.CasePage) {
	select {
	case w.fronts <- caseFront{id, p}:
	default:
	}
}

// nudge says that a job was recorded.
func (w *worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) run(ctx context.Context) {
	worked := false
	var retry time.Duration
	for ctx.Err() == nil {
		job, ok, err := w.s.store.ClaimJob(ctx)
		if err != nil && ctx.Err() == nil {
			w.s.log.Error("claiming a job failed", "error", err)
		}
		full := store.IsFull(err)
		if ok && err == nil {
			full = w.work(ctx, job)
			worked = true
		}
		if !full {
			retry = 0
		} else {
			retry = min(max(2*retry, firstRetry), lastRetry)
			w.rest(ctx, retry)
			continue
		}
		if !ok || err != nil {
			w.catchUp(ctx)
			rest := time.Minute
			if worked {
				rest = pause
			}
			select {
			case <-ctx.Done():
			case <-w.wake:
			case f := <-w.fronts:
				w.s.keepFront(ctx, f.id, f.page)
			case <-time.After(rest):
				if worked {
					// What reading left behind is of no use to what comes next.
					debug.FreeOSMemory()
					worked = false
				}
			}
		}
	}
}

// What did not fit on the volume is tried again after firstRetry, then after twice as long
// each time up to lastRetry, and whenever something was deleted.
const firstRetry, lastRetry = time.Second, 30 * time.Second

// rest waits so long, or until somebody nudges.
func (w *worker) rest(ctx context.Context, atMost time.Duration) {
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-time.After(atMost):
	}
}

// pause is how long after the last bundle its memory goes back to the system.
const pause = time.Second

// work reads one bundle, and reports whether the volume had no room for the result: then the
// job waits behind the others. A job that the server's end interrupts stays recorded and is
// run again at the next start.
func (w *worker) work(ctx context.Context, job store.Job) (full bool) {
	jobCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.begin(job.BundleID, cancel)
	defer w.end()
	err := w.ingest(jobCtx, job)
	switch {
	case err == nil:
		// The job is done and is not run again: its summary is finished even where the
		// server ends.
		w.summarise(context.WithoutCancel(ctx), job.BundleID)
	case ctx.Err() != nil:
		w.s.log.Info("ingest interrupted by the end of the server, will be run again", "bundle", job.BundleID)
	case jobCtx.Err() != nil || errors.Is(err, context.Canceled):
		// What a cancelled write says is not always that. A case that was deleted while it was read took the job with it.
		w.insist(ctx, "cancelling", job, func() error { return w.s.store.CancelJob(ctx, job.ID) })
	case store.IsFull(err):
		fault, _ := w.s.fault(err)
		w.s.log.Warn("the volume is full: a result is read again and saved when there is room", "bundle", job.BundleID)
		w.insist(ctx, "postponing a job", job, func() error { return w.s.store.PostponeJob(ctx, job.ID, fault) })
		return true
	default:
		fault, _ := w.s.fault(err)
		w.insist(ctx, "recording a failed job", job, func() error { return w.s.store.FailJob(ctx, job.ID, fault) })
	}
	return false
}

// insist ends a job, however long that fails: nothing else ends one that is running. A job
// that went with its case, or was ended by others, has ended.
func (w *worker) insist(ctx context.Context, what string, job store.Job, end func() error) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := end()
		var fault *analysis.Fault
		if errors.As(err, &fault) && slices.Contains([]string{"not_found", "conflict", "cancelled"}, fault.Code) {
			return
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		w.s.log.Error(what+" failed", "bundle", job.BundleID, "error", err)
		w.rest(ctx, wait)
	}
}

// largeBundle is from how many bytes on a bundle takes so long to sum up that no answer waits for it.
const largeBundle = 64 << 20

func (w *worker) ingest(ctx context.Context, job store.Job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reading bundle %s panicked: %v", job.BundleID, v)
		}
	}()
	b, err := w.s.store.Bundle(ctx, job.BundleID)
	if err != nil {
		return err
	}
	cfg := w.s.ingestConfig()
	cfg.Progress, cfg.Deferred = w.report, true
	if cfg.Kinds, err = w.s.store.Kinds(ctx, b.ID); err != nil {
		return err
	}
	result, err := w.read(ctx, b, cfg)
	if err != nil {
		return err
	}
	w.report(ingest.Progress{Stage: "saving", Files: len(result.Artifacts), Snapshots: len(result.Snapshots)})
	err = w.s.store.FinishJob(ctx, job.ID, store.Result{
		Artifacts: result.Artifacts, Problems: result.Problems, Snapshots: result.Snapshots, Groups: result.GroupsOf,
		Unpacked: result.Unpacked, Engine: ingest.Engine,
	})
	// Whoever waits for a large bundle need not wait for the summary of its case.
	w.report(ingest.Progress{Stage: "done", Files: len(result.Artifacts), Snapshots: len(result.Snapshots)})
	if result.Unpacked > largeBundle {
		w.letAnswer(ctx, job.BundleID)
	}
	return err
}

// attend says that an answer waits for a bundle, until answered is called.
func (w *worker) attend(bundleID string) (answered func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[bundleID]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.waiting[bundleID]--; w.waiting[bundleID] == 0 {
			delete(w.waiting, bundleID)
			close(w.answered)
			w.answered = make(chan struct{})
		}
	}
}

// answerWait bounds how long a summary waits for the answers about a bundle.
const answerWait = 50 * time.Millisecond

// letAnswer waits until nothing waits for a bundle that was just read. What is done for its
// case next reads all of it, and an answer beside that takes 10 ms longer.
func (w *worker) letAnswer(ctx context.Context, bundleID string) {
	within(ctx, answerWait, func() (bool, <-chan struct{}) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.waiting[bundleID] == 0, w.answered
	})
}

// within waits until something holds, which tells as well what closes when that may have
// changed, or ctx ends, or the time is over.
func within(ctx context.Context, atMost time.Duration, holds func() (bool, <-chan struct{})) {
	enough := time.After(atMost)
	for {
		done, changed := holds()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-enough:
			return
		case <-changed:
		}
	}
}

// read reads the files of a bundle.
func (w *worker) read(ctx context.Context, b store.Bundle, cfg ingest.Config) (ingest.Result, error) {
	inputs := w.s.inputs(b.Files)
	if len(inputs) == 1 {
		cfg.SHA256, inputs[0].ModTime = func() string { return b.Files[0].SHA256 }, b.Created
	}
	result, err := ingest.Run(ctx, cfg, inputs)
	if ctx.Err() != nil {
		return result, err
	}
	// Reading takes what it understands of any bytes. A result of damaged ones must neither
	// be shown nor take the place of an older one; what was hashed while it was read is not
	// hashed again.
	if damage := w.s.verifyAll(ctx, b.Files); damage != nil {
		return ingest.Result{}, damage
	}
	return result, err
}

// summarise keeps the sentence and figures that the list of cases shows.
func (w *worker) summarise(ctx context.Context, bundleID string) {
	b, err := w.s.store.Bundle(ctx, bundleID)
	if err != nil {
		return
	}
	if err := w.safely(ctx, b.CaseID); err != nil && !isNotFound(err) {
		w.s.log.Error("summing up a case failed", "case", b.CaseID, "error", err)
	}
}

// summaryVersion is what a stored summary depends on beside its case: the catalogue and
// the rules that make sentence and verdict. Summaries of another version are made anew.
func summaryVersion(known *knowledge.Catalogue) string {
	return known.Version() + "/" + report.SentenceVersion
}

// catchUp writes the summaries that are older than what they sum up: after a crash in
// between, where triage in one case speaks of others, and where more is known of leaks or
// the sentence is made in another way than then.
func (w *worker) catchUp(ctx context.Context) {
	known, _ := w.s.knowledge()
	ids, err := w.s.store.CasesToSummarise(ctx, summaryVersion(known))
	if err != nil {
		w.s.log.Error("looking for cases without a summary failed", "error", err)
	}
	for _, id := range ids {
		if err := w.safely(ctx, id); err != nil && ctx.Err() == nil {
			w.s.log.Error("summing up a case failed", "case", id, "error", err)
		}
		select {
		case <-w.wake:
			// Somebody waits for a bundle: it comes first.
			w.nudge()
			return
		default:
		}
	}
}

// safely sums up a case; a panic costs this case alone.
func (w *worker) safely(ctx context.Context, caseID string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("summing up case %s panicked: %v", caseID, v)
		}
	}()
	return w.s.summarise(ctx, caseID)
}

// summarise writes what the list of cases shows of a case. Where all of the case was
// read for that, its front is made of it and kept as well.
func (s *Server) summarise(ctx context.Context, caseID string) error {
	ctx, cases := onShelf(ctx)
	built, err := s.briefly(ctx, caseID, true)
	if err != nil {
		return err
	}
	sum := report.Summary(built)
	known, _ := s.knowledge()
	err = s.store.SetCaseSummary(ctx, caseID, store.Summary{
		Headline: sum.Headline, Verdict: string(sum.Verdict), Lowest: sum.Lowest, Highest: sum.Highest, Spark: sum.Spark, Lower: sum.Lower, Aside: sum.Aside,
		Endings: endings(built.Report.Series), Knowledge: summaryVersion(known),
	})
	if err == nil && cases.has(caseID) {
		s.renewFront(ctx, caseID)
	}
	return err
}

// renewFront makes and keeps the page of a case that was loaded, unless it is there.
func (s *Server) renewFront(ctx context.Context, caseID string) {
	err := func() error {
		state, err := s.frontState(ctx, caseID)
		if err != nil || state.hash == "" {
			return err
		}
		if _, found, err := s.store.CasePage(ctx, caseID, "html", state.hash); found || err != nil {
			return err
		}
		p, err := s.makeFront(ctx, caseID, "html", state)
		if err == nil {
			s.keepFront(ctx, caseID, p)
		}
		return err
	}()
	if err != nil && !isNotFound(err) {
		s.log.Error("making the page of a case failed", "case", caseID, "error", err)
	}
}

// endings are the families that did something else than stay as they were.
func endings(series []report.Series) []store.Ending {
	var out []store.Ending
	for _, s := range series {
		for _, f := range s.Families {
			if f.Verdict != analysis.Stable && f.Verdict != analysis.TooFewPoints {
				out = append(out, store.Ending{Process: s.Process, Fingerprint: f.Fingerprint, Verdict: string(f.Verdict), Recovered: f.RecoveredAt != nil})
			}
		}
	}
	return out
}

func (w *worker) begin(bundleID string, stop context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.stop, w.progress = bundleID, stop, ingest.Progress{Stage: "unpacking"}
}

func (w *worker) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.stop = "", nil
	close(w.changed)
	close(w.ended)
	w.changed, w.ended = make(chan struct{}), make(chan struct{})
}

func (w *worker) report(p ingest.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress = p
	close(w.changed)
	w.changed = make(chan struct{})
	if p.Stage == "done" {
		close(w.ended)
		w.ended = make(chan struct{})
	}
}

// state is the progress of a bundle that is being read now, and a channel that
// closes when it moves or any job ends.
func (w *worker) state(bundleID string) (ingest.Progress, bool, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.progress, w.running == bundleID, w.changed
}

// cancel stops the ingest of a bundle if it is the running one.
func (w *worker) cancel(bundleID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != bundleID || w.stop == nil {
		return false
	}
	w.stop()
	return true
}

// summaryWait bounds how long whoever waits for a small bundle waits for the summary of its
// case as well, so that the list of cases tells of what was just uploaded.
const summaryWait = 50 * time.Millisecond

// settled waits until the bundle is no longer queued or running, or ctx ends.
func (w *worker) settled(ctx context.Context, bundleID string) (store.Bundle, error) {
	for {
		_, ended := w.reads(bundleID)
		b, err := w.s.store.Bundle(ctx, bundleID)
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
		case <-time.After(time.Second): // a job that was cancelled before its turn says nothing
		}
	}
}

// summarised waits until the worker has done with a bundle, for summaryWait at most.
func (w *worker) summarised(ctx context.Context, bundleID string) {
	within(ctx, summaryWait, func() (bool, <-chan struct{}) {
		running, ended := w.reads(bundleID)
		return !running, ended
	})
}

// reads reports whether the worker reads or sums up a bundle, and gives a channel that
// closes when a result is written or any job ends.
func (w *worker) reads(bundleID string) (bool, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running == bundleID, w.ended
}

// busy reports whether a bundle is being read.
func (w *worker) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running != ""
}
