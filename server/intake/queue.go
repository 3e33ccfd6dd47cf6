package intake

import (
	"context"
	"sync"
	"time"

	"leakdiff/analysis/read/ingest"
)

// Queue is what those who record jobs, and those who wait for them, share with the worker.
type Queue struct {
	notified chan struct{}
	// idle is work that is done when no bundle is read.
	idle chan func(context.Context)

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

// NewQueue makes an empty queue.
func NewQueue() *Queue {
	return &Queue{
		notified: make(chan struct{}, 1), idle: make(chan func(context.Context), 4),
		changed: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[string]int{}, answered: make(chan struct{}),
	}
}

// Later has work done when no bundle is read. Where much waits already it is not done.
func (q *Queue) Later(work func(context.Context)) {
	select {
	case q.idle <- work:
	default:
	}
}

// Notify says that a job was recorded.
func (q *Queue) Notify() {
	select {
	case q.notified <- struct{}{}:
	default:
	}
}

// sleep waits so long, or until a job is recorded.
func (q *Queue) sleep(ctx context.Context, atMost time.Duration) {
	select {
	case <-ctx.Done():
	case <-q.notified:
	case <-time.After(atMost):
	}
}

// addWaiter says that an answer waits for a bundle, until answered is called.
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

// waitForAnswers waits until nothing waits for a bundle that was just read. What is done for its
// case next reads all of it, and an answer beside that takes 10 ms longer.
func (q *Queue) waitForAnswers(ctx context.Context, bundleID string) {
	within(ctx, answerWait, func() (bool, <-chan struct{}) {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.waiting[bundleID] == 0, q.answered
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

func (q *Queue) begin(bundleID string, stop context.CancelFunc) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running, q.stop, q.progress = bundleID, stop, ingest.Progress{Stage: "unpacking"}
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

// state is the progress of a bundle that is being read now, and a channel that
// closes when it moves or any job ends.
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

// reads reports whether the worker reads or sums up a bundle, and gives a channel that
// closes when a result is written or any job ends.
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
