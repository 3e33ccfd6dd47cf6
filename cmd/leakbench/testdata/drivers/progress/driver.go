package main

import (
	"context"

	"github.com/moby/buildkit/util/progress"
)

func setup() {}

// trigger is a client that follows a build and leaves.
func trigger() {
	r, _, _ := progress.NewContext(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	progress.NewMultiReader(r).Reader(ctx)
	cancel()
}
