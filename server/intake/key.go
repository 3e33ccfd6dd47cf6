package intake

import (
	"context"
	"sync"
)

// keyLocks lets one request at a time go on with a key: a repetition waits for the answer
// that it repeats.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits until nobody else holds the key, or ctx ends.
func (k *keyLocks) lock(ctx context.Context, key string) error {
	for {
		k.mu.Lock()
		free, held := k.held[key]
		if !held {
			if k.held == nil {
				k.held = map[string]chan struct{}{}
			}
			k.held[key] = make(chan struct{})
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
	close(k.held[key])
	delete(k.held, key)
}
