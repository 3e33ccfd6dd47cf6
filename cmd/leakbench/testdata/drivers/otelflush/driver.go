package main

import (
	"context"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"time"
)

type slow struct{}

func (slow) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	time.Sleep(30 * time.Millisecond)
	return nil
}
func (slow) Shutdown(ctx context.Context) error { return nil }

var tp *sdktrace.TracerProvider

func setup() {
	tp = sdktrace.NewTracerProvider(sdktrace.WithBatcher(slow{}, sdktrace.WithBatchTimeout(time.Hour)))
}
func trigger() {
	_, s := tp.Tracer("x").Start(context.Background(), "a")
	s.End()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
	defer cancel()
	_ = tp.ForceFlush(ctx)
}
