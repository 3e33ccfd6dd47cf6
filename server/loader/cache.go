package loader

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// maxCases and maxReports bound the number of values in a cache: a loaded case of a hundred
// thousand members holds some 5 MiB. maxCachedBytes bounds their total weight. A case of a
// million members exceeds it and is read again.
const (
	maxCases       = 2
	maxReports     = 8
	maxCachedBytes = 32 << 20
)

// A cache contains the most recent values by case and revision, and computes a value once
// for concurrent requests. Values are never stale: another revision is another key.
type cache[T any] struct {
	weigh func(*T) int
	// most is the largest number of values.
	most int

	mu sync.Mutex
	// computing are the computations in progress, by key.
	computing map[string]*computation[T]
	size      int
	order     []string
	kept      map[string]weighed[T]
}

type weighed[T any] struct {
	value  *T
	weight int
}

// newCache takes the largest number of values and a function that estimates the bytes of a
// value.
func newCache[T any](most int, weigh func(*T) int) *cache[T] {
	return &cache[T]{weigh: weigh, most: most, kept: map[string]weighed[T]{}, computing: map[string]*computation[T]{}}
}

func (c *cache[T]) get(key string) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.kept[key]
	if ok {
		c.order = append(slices.DeleteFunc(c.order, func(k string) bool { return k == key }), key)
	}
	return found.value
}

// computation is a value in progress. done closes at the end; made is nil after an error.
type computation[T any] struct {
	done chan struct{}
	made *T
	// moved is set when the case gets another revision during the computation.
	moved bool
}

// once returns the value of a key from the cache, from a computation in progress, or from
// make. Concurrent requests for a large case need the memory and time of one.
func (c *cache[T]) once(ctx context.Context, key string, make func() (*T, error)) (*T, error) {
	for {
		if found := c.get(key); found != nil {
			return found, nil
		}
		c.mu.Lock()
		busy := c.computing[key]
		if busy == nil {
			busy = newComputation[T]()
			c.computing[key] = busy
			c.mu.Unlock()
			return c.compute(key, busy, make)
		}
		c.mu.Unlock()
		select {
		case <-busy.done:
			if busy.made != nil {
				return busy.made, nil
			}
			if busy.moved {
				return nil, errMoved
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func newComputation[T any]() *computation[T] { return &computation[T]{done: make(chan struct{})} }

func (c *cache[T]) compute(key string, mine *computation[T], make func() (*T, error)) (*T, error) {
	defer func() {
		c.mu.Lock()
		delete(c.computing, key)
		c.mu.Unlock()
		close(mine.done)
	}()
	made, err := make()
	if err == nil {
		c.put(key, made)
		mine.made = made
	}
	mine.moved = errors.Is(err, errMoved)
	return made, err
}

func (c *cache[T]) put(key string, value *T) {
	weight := c.weigh(value)
	if weight > maxCachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	c.order, c.kept[key] = append(c.order, key), weighed[T]{value, weight}
	c.size += weight
	for len(c.order) > c.most || c.size > maxCachedBytes {
		c.drop(c.order[0])
	}
}

func (c *cache[T]) drop(key string) {
	if found, ok := c.kept[key]; ok {
		c.size -= found.weight
		delete(c.kept, key)
		c.order = slices.DeleteFunc(c.order, func(k string) bool { return k == key })
	}
}
