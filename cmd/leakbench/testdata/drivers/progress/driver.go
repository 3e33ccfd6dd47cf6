package main

import (
	"context"

	"github.com/moby/buildkit/util/progress"
)

func setup() {}

// trigger is a client that follows a build and leaves; the build ends afterwards.
func trigger() {
	r, _, end := progress.NewContext(context.Background())
	defer end(nil)
	ctx, cancel := context.WithCancel(context.Background())
	progress.NewMultiReader(r).Reader(ctx)
	cancel()
}
