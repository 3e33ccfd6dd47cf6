package intake

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"leakdiff/analysis/read/ingest"
)

// Queue connects the worker with those who record jobs and those who wait for them.
type Queue struct {
	notified chan struct{}
	// idle is work to be done while no bundle is read.
	idle chan func(context.Context)

	mu sync.Mutex
	// running is the bundle being read. stop stops that.
	running string
	stop    context.CancelFunc
	// progress is the last one that the running job reported, taken the bytes of the
	// upload that it has read.
	progress ingest.Progress
	taken    atomic.Int64
	// changed is closed and replaced when progress moves or a job ends, ended when a
	// result is written or a job ends.
	changed, ended chan struct{}
	// waiting counts the answers that wait for each bundle. answered is closed and
	// replaced when the last one of a bundle is made.
	waiting  map[string]int
	answered chan struct{}
}

func NewQueue() *Queue {
	return &Queue{
		notified: make(chan struct{}, 1), idle: make(chan func(context.Context), 4),
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

// Notify wakes the worker: a job was recorded.
func (q *Queue) Notify() {
	select {
	case q.notified <- struct{}{}:
	default:
	}
}

// sleep waits for atMost, or until a job is recorded.
func (q *Queue) sleep(ctx context.Context, atMost time.Duration) {
	select {
	case <-ctx.Done():
	case <-q.notified:
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

func (q *Queue) begin(bundleID string, stop context.CancelFunc) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running, q.stop, q.progress = bundleID, stop, ingest.Progress{Stage: "unpacking"}
	q.taken.Store(0)
}

func (q *Queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running, q.stop = "", nil
	close(q.changed)
	close(q.ended)
	q.changed, q.ended = make(chan struct{}), make(chan struct{})
}

func (q *Queue) report(p ingest.Progress) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.progress = p
	close(q.changed)
	q.changed = make(chan struct{})
	if p.Stage == "done" {
		close(q.ended)
		q.ended = make(chan struct{})
	}
}

// state returns the progress of a bundle that is being read, and a channel that closes
// when it moves or any job ends.
func (q *Queue) state(bundleID string) (ingest.Progress, bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.progress, q.running == bundleID, q.changed
}

// Cancel stops the ingest of a bundle if it is the running one.
func (q *Queue) Cancel(bundleID string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running != bundleID || q.stop == nil {
		return false
	}
	q.stop()
	return true
}

// reads reports whether the worker reads or sums up a bundle. The channel closes when a
// result is written or any job ends.
func (q *Queue) reads(bundleID string) (bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running == bundleID, q.ended
}

// Busy reports whether a bundle is being read.
func (q *Queue) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running != ""
}
