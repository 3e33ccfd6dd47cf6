package main

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/processor/processortest"
)

func setup() {}

// trigger is a collector that loads its configuration: the processor begins and ends.
func trigger() {
	f := memorylimiterprocessor.NewFactory()
	c := f.CreateDefaultConfig().(*memorylimiterprocessor.Config)
	c.CheckInterval, c.MemoryLimitMiB = time.Second, 1000
	p, err := f.CreateTracesProcessor(context.Background(), processortest.NewNopCreateSettings(), c, consumertest.NewNop())
	if err != nil {
		panic(err)
	}
	if err := p.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		panic(err)
	}
	_ = p.Shutdown(context.Background())
}
