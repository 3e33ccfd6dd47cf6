package intake

import (
	"context"
	"errors"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/response"
	"leakdiff/store"
)

// keyLocks admits one request at a time of this server with an Idempotency-Key: a repetition
// waits for the answer that it repeats.
type keyLocks struct {
	mu     sync.Mutex
	locked map[string]chan struct{}
}

// lock waits until the key is free, or ctx ends.
func (k *keyLocks) lock(ctx context.Context, key string) error {
	for {
		k.mu.Lock()
		free, locked := k.locked[key]
		if !locked {
			if k.locked == nil {
				k.locked = map[string]chan struct{}{}
			}
			k.locked[key] = make(chan struct{})
			k.mu.Unlock()
			return nil
		}
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-free:
		}
	}
}

func (k *keyLocks) unlock(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.locked[key])
	delete(k.locked, key)
}

// renewKeyEvery is how often a server says that it still answers a request with a key. One that
// gives no sign for 20 s is taken for dead.
const renewKeyEvery = 5 * time.Second

// ownKey makes this server the one that answers requests with a key, until done is called.
func (s *Service) ownKey(ctx context.Context, key string) (done func(), err error) {
	if err := s.keys.lock(ctx, key); err != nil {
		return nil, err
	}
	mine, err := s.store.BeginAnswer(ctx, key)
	if err == nil && !mine {
		err = response.Refuse("busy", "another server answers a request with this Idempotency-Key", "", "this one repeats its answer when it is there", "send it again in a moment; nothing more was kept")
	}
	if err != nil {
		s.keys.unlock(key)
		return nil, err
	}
	renewing, stop := context.WithCancel(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() { s.renewKey(renewing, key) })
	return func() {
		stop()
		renewal.Wait()
		if err := s.store.EndAnswer(context.WithoutCancel(ctx), key); err != nil {
			s.log.Warn("an idempotency key was not given back, and is for 20 s that of this server", "error", err)
		}
		s.keys.unlock(key)
	}, nil
}

// renewKey keeps a key that of this server until ctx ends.
func (s *Service) renewKey(ctx context.Context, key string) {
	tick := time.NewTicker(renewKeyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.store.RenewAnswer(ctx, key); err != nil && ctx.Err() == nil {
				s.log.Warn("an idempotency key could not be renewed: another server may answer the same request", "error", err)
			}
		}
	}
}

// recall returns the answer to the first request with a key. hash is that of its upload.
func (s *Service) recall(ctx context.Context, key, hash string) (store.Answer, bool, error) {
	known, ok, err := s.store.Recall(ctx, key)
	if ok && err == nil && known.RequestHash != hash {
		err = response.Refuse("mismatched_body", "the Idempotency-Key was used for another upload", "", "the bytes or the case differ from those of the first request", "use a new key for a new upload")
	}
	return known, ok, err
}

// isAnswered reports whether another server recorded the same request meanwhile.
func isAnswered(err error) bool {
	var fault *analysis.Fault
	return errors.As(err, &fault) && fault.Code == store.Answered
}

// remember stores an answer for repetitions of its request. Unless the upload was there again, it
// was answered when it was recorded.
func (s *Service) remember(ctx context.Context, key string, a store.Answer, again bool) {
	keep := s.store.Reword
	if again {
		keep = s.store.Remember
	}
	if err := keep(ctx, key, a); err != nil {
		s.log.Error("remembering an idempotency key failed", "error", err)
	}
}
