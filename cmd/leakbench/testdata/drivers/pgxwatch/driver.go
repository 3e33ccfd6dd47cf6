package main

import (
	"context"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

type h struct{}

func (h) HandleCancel(context.Context) {}
func (h) HandleUnwatchAfterCancel()    {}
func setup()                           {}
func trigger() {
	ctx, cancel := context.WithCancel(context.Background())
	cw := ctxwatch.NewContextWatcher(h{})
	cw.Watch(ctx)
	cancel() // the operation was given up and nobody unwatches
}
