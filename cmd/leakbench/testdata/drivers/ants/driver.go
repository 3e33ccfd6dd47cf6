package main

import (
	"time"

	"github.com/panjf2000/ants/v2"
)

func setup() {}

// trigger makes a pool that is released after its one task.
func trigger() {
	p, err := ants.NewPool(4, ants.WithExpiryDuration(time.Hour))
	if err != nil {
		panic(err)
	}
	_ = p.Submit(func() {})
	time.Sleep(time.Millisecond)
	p.Release()
}
