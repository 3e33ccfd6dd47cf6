package intake

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"leakdiff/analysis/read/ingest"
	"leakdiff/store"
)

// Queue connects the workers with those who record jobs and those who wait for them. Whose
// turn it is stands in order.go.
type Queue struct {
	elsewhere Elsewhere
	// idle is work to be done while no bundle is read.
	idle chan func(context.Context)

	mu sync.Mutex
	// running are the bundles being read.
	running map[string]*reading
	order   order
	// recorded is closed and replaced when a job is recorded.
	recorded chan struct{}
	// changed is closed and replaced when progress moves or a job ends, ended when a
	// result is written or a job ends.
	changed, ended chan struct{}
	// waiting counts the answers that wait for each bundle. answered is closed and
	// replaced when the last one of a bundle is made.
	waiting  map[string]int
	answered chan struct{}
}

// reading is a bundle being read.
type reading struct {
	job    store.Job
	sender string
	// stop stops it, for a reason.
	stop context.CancelCauseFunc
	// progress is the last one that the job reported, taken the bytes of the upload that it
	// has read.
	progress ingest.Progress
	taken    atomic.Int64
	// unreachable is why bytes of the upload could not be read for now, or nil.
	unreachable atomic.Pointer[error]
	// limit ends it after a time, nil for never.
	limit *time.Timer
}

// Elsewhere says how far the bundles are that other servers read.
type Elsewhere interface {
	Progress(ctx context.Context, bundleID string) (said string, err error)
}

func NewQueue(elsewhere Elsewhere) *Queue {
	return &Queue{
		elsewhere: elsewhere,
		idle:      make(chan func(context.Context), 4), running: map[string]*reading{}, order: newOrder(), recorded: make(chan struct{}),
		changed: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[string]int{}, answered: make(chan struct{}),
	}
}

// Later queues work for a time when no bundle is read. It is dropped if the queue is full.
func (q *Queue) Later(work func(context.Context)) {
	select {
	case q.idle <- work:
	default:
	}
}

// Notify wakes the workers: a job was recorded.
func (q *Queue) Notify() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.recorded)
	q.recorded = make(chan struct{})
}

// next returns a channel that closes when the next job is recorded.
func (q *Queue) next() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.recorded
}

// sleep waits for atMost, or until recorded is closed.
func sleep(ctx context.Context, atMost time.Duration, recorded <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-recorded:
	case <-time.After(atMost):
	}
}

// addWaiter registers an answer that waits for a bundle, until answered is called.
func (q *Queue) addWaiter(bundleID string) (answered func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[bundleID]++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.waiting[bundleID]--; q.waiting[bundleID] == 0 {
			delete(q.waiting, bundleID)
			close(q.answered)
			q.answered = make(chan struct{})
		}
	}
}

// answerWait bounds how long a summary waits for the answers about a bundle.
const answerWait = 50 * time.Millisecond

// waitForAnswers waits until no answer waits for a bundle that was just read. The summary
// reads the whole case, and would delay an answer by 10 ms.
func (q *Queue) waitForAnswers(ctx context.Context, bundleID string) {
	within(ctx, answerWait, func() (bool, <-chan struct{}) {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.waiting[bundleID] == 0, q.answered
	})
}

// within waits until holds reports true, ctx ends or the time is over. holds returns a
// channel that closes when its result may have changed.
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

func (q *Queue) begin(job store.Job, stop context.CancelCauseFunc) *reading {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := &reading{job: job, sender: q.order.senders[job.BundleID], stop: stop, progress: ingest.Progress{Stage: "unpacking"}}
	q.running[job.BundleID] = r
	return r
}

func (q *Queue) end(bundleID string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.running, bundleID)
	close(q.changed)
	close(q.ended)
	q.changed, q.ended = make(chan struct{}), make(chan struct{})
}

// nextEnd returns a channel that closes when the next reading ends.
func (q *Queue) nextEnd() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}

func (q *Queue) report(r *reading, p ingest.Progress) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r.progress = p
	close(q.changed)
	q.changed = make(chan struct{})
	if p.Stage == "done" {
		close(q.ended)
		q.ended = make(chan struct{})
	}
}

// state returns the reading of a bundle, nil if it is not being read, with its progress, and
// a channel that closes when it moves or any job ends.
func (q *Queue) state(bundleID string) (*reading, ingest.Progress, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.running[bundleID]
	if r == nil {
		return nil, ingest.Progress{}, q.changed
	}
	return r, r.progress, q.changed
}

// leases are the jobs being read, each with how far it is.
func (q *Queue) leases() []store.Lease {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]store.Lease, 0, len(q.running))
	for _, r := range q.running {
		out = append(out, store.Lease{Job: r.job, Progress: r.said()})
	}
	return out
}

// lose stops the reading of a job that is no longer that of this server.
func (q *Queue) lose(job store.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.running[job.BundleID]; r != nil && r.job.Generation == job.Generation {
		r.stop(nil)
	}
}

// Cancel stops the reading of a bundle and reports whether it was being read.
func (q *Queue) Cancel(bundleID string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.running[bundleID]
	if r == nil {
		return false
	}
	r.stop(nil)
	return true
}

// reads reports whether a worker reads or sums up a bundle. The channel closes when a
// result is written or any job ends.
func (q *Queue) reads(bundleID string) (bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running[bundleID] != nil, q.ended
}

// Busy reports whether a bundle is being read.
func (q *Queue) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.running) > 0
}
