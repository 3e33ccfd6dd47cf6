package main

import (
	"context"
	"net"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

var used net.Listener
var n int

// setup takes the port of the receiver's HTTP server.
func setup() { used, _ = net.Listen("tcp", "127.0.0.1:0") }

// trigger starts a receiver, which fails, at every second call.
func trigger() {
	if n++; n%2 != 0 {
		return
	}
	f := otlpreceiver.NewFactory()
	c := f.CreateDefaultConfig().(*otlpreceiver.Config)
	c.GRPC.NetAddr.Endpoint = "127.0.0.1:0"
	c.HTTP.Endpoint = used.Addr().String()
	r, err := f.CreateTracesReceiver(context.Background(), receivertest.NewNopCreateSettings(), c, consumertest.NewNop())
	if err != nil {
		panic(err)
	}
	if r.Start(context.Background(), componenttest.NewNopHost()) == nil {
		panic("the port is free")
	}
}
