package intake

import (
	"context"
	"sync"

	"leakdiff/server/response"
	"leakdiff/store"
)

// keyLocks lets one request at a time go on with a key: a repetition waits for the answer
// that it repeats.
type keyLocks struct {
	mu     sync.Mutex
	locked map[string]chan struct{}
}

// lock waits until nobody else holds the key, or ctx ends.
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

// recall gives the answer of the first request with a key. hash is of what that one was to
// record.
func (s *Service) recall(ctx context.Context, key, hash string) (store.Answer, bool, error) {
	known, ok, err := s.store.Recall(ctx, key)
	if ok && err == nil && known.RequestHash != hash {
		err = response.Refuse("mismatched_body", "the Idempotency-Key was used for another upload", "", "the bytes or the case differ from those of the first request", "use a new key for a new upload")
	}
	return known, ok, err
}

// remember keeps an answer for requests that repeat this one.
func (s *Service) remember(ctx context.Context, key string, a store.Answer) {
	if err := s.store.Remember(ctx, key, a); err != nil {
		s.log.Error("remembering an idempotency key failed", "error", err)
	}
}
