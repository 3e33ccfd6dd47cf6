package main

import (
	"time"

	"github.com/allegro/bigcache"
)

func setup() {}

// trigger makes a cache and closes it, where it can be closed.
func trigger() {
	config := bigcache.Config{Shards: 1, LifeWindow: time.Minute, CleanWindow: time.Second, MaxEntriesInWindow: 10, MaxEntrySize: 10}
	c, err := bigcache.NewBigCache(config)
	if err != nil {
		panic(err)
	}
	_ = c.Set("key", []byte("value"))
	if x, ok := any(c).(interface{ Close() error }); ok {
		_ = x.Close()
	}
}
