package intake

import (
	"cmp"
	"context"
	"fmt"

	"leakdiff/server/response"
	"leakdiff/store"
)

const (
	// smallUpload is the size in bytes up to which the quick worker reads an upload.
	smallUpload = 1 << 20
	// queueLimit is how many uploads wait at most, senderLimit how many of one sender.
	queueLimit, senderLimit = 4000, 2000
)

// order decides which queued bundle is read next. Senders take turns. Of one sender the small
// uploads come first, the oldest in front, until a large one was passed by as many bytes as it
// has itself: nobody waits for ever. It is lost when the server ends: what waits then has one
// sender, without a name.
type order struct {
	// senders are those of the bundles that wait or are being read.
	senders map[string]string
	// long are small bundles that took the quick worker too long.
	long map[string]bool
	// passed are the bytes of later uploads of its sender that were read before a large bundle.
	passed map[string]int64
	// served is the number of the last turn of each sender.
	served map[string]int
	turns  int
}

func newOrder() order {
	return order{senders: map[string]string{}, long: map[string]bool{}, passed: map[string]int64{}, served: map[string]int{}}
}

// from notes the sender of a recorded bundle.
func (q *Queue) from(bundleID, sender string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order.senders[bundleID] = sender
}

// tookLong keeps a bundle from the quick worker.
func (q *Queue) tookLong(bundleID string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order.long[bundleID] = true
}

// choose returns the index of the job that a worker takes next, -1 for none.
func (q *Queue) choose(quick bool, queued []store.QueuedJob) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := &q.order
	o.forget(queued, q.running)
	running := map[string]int{}
	for _, r := range q.running {
		running[r.sender]++
	}
	best := -1
	for i := range queued {
		if (!quick || o.small(&queued[i])) && (best < 0 || o.compare(&queued[i], &queued[best], running) < 0) {
			best = i
		}
	}
	if best >= 0 {
		o.turns++
		o.served[o.senders[queued[best].BundleID]] = o.turns
		o.passBy(queued, best)
	}
	return best
}

// leastPassed is the size that an upload counts as at least: reading it has a constant part.
const leastPassed = 4 << 10

// passBy notes that the job at an index is read before older ones of its sender.
func (o *order) passBy(queued []store.QueuedJob, best int) {
	for i := range queued[:best] {
		if older := &queued[i]; o.senders[older.BundleID] == o.senders[queued[best].BundleID] && !o.small(older) {
			o.passed[older.BundleID] += max(queued[best].Size, leastPassed)
		}
	}
}

// compare puts first what the sender with the fewest running bundles sent, then the one
// whose last turn is longest ago; of one sender what has waited enough, then what is small. Of
// equal ones the oldest stays first.
func (o *order) compare(a, b *store.QueuedJob, running map[string]int) int {
	from, other := o.senders[a.BundleID], o.senders[b.BundleID]
	return cmp.Or(running[from]-running[other], o.served[from]-o.served[other], o.rank(a)-o.rank(b))
}

// rank is 0 for a large upload that was passed often enough, 1 for a small one, 2 for others.
func (o *order) rank(j *store.QueuedJob) int {
	switch {
	case o.small(j):
		return 1
	case o.passed[j.BundleID] >= j.Size:
		return 0
	}
	return 2
}

func (o *order) small(j *store.QueuedJob) bool { return j.Size <= smallUpload && !o.long[j.BundleID] }

// forget drops what is known of bundles that neither wait nor are read, and of their senders.
func (o *order) forget(queued []store.QueuedJob, running map[string]*reading) {
	open, senders := make(map[string]bool, len(queued)), map[string]bool{}
	for i := range queued {
		open[queued[i].BundleID] = true
		senders[o.senders[queued[i].BundleID]] = true
	}
	for id, r := range running {
		open[id], senders[r.sender] = true, true
	}
	forgetOthers(o.senders, open)
	forgetOthers(o.long, open)
	forgetOthers(o.passed, open)
	forgetOthers(o.served, senders)
}

func forgetOthers[V any](m map[string]V, keep map[string]bool) {
	for key := range m {
		if !keep[key] {
			delete(m, key)
		}
	}
}

// full refuses an upload before it is received if too many wait to be read.
func (s *Service) full(ctx context.Context, sender string) error {
	queued, err := s.store.Queued(ctx)
	switch own := s.queue.waitingOf(sender); {
	case err != nil:
		return err
	case queued >= queueLimit:
		return response.Refuse("busy", "too many uploads wait to be read", "", fmt.Sprintf("at most %d wait", queueLimit), "send it again later; nothing was kept")
	case own >= senderLimit:
		return response.Refuse("busy", "too many of your uploads wait to be read", "", fmt.Sprintf("at most %d of one sender wait", senderLimit), "send it again when some are read, or send many files as one archive; nothing was kept")
	}
	return nil
}

// waitingOf returns how many bundles of a sender wait or are being read.
func (q *Queue) waitingOf(sender string) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.order.senders {
		if s == sender {
			n++
		}
	}
	return n
}
