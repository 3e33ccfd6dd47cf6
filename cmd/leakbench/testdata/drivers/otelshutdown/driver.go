package main

import (
	"context"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"time"
)

type slow struct{}

func (slow) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (slow) Shutdown(ctx context.Context) error                         { time.Sleep(20 * time.Millisecond); return nil }
func setup()                                                            {}
func trigger() {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(slow{}))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
	defer cancel()
	_ = tp.Shutdown(ctx)
}
