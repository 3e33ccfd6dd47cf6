package main

import (
	"context"

	"github.com/mark3labs/mcp-go/client/transport"
)

func setup() {}

// trigger is a client that is closed before it was initialised.
func trigger() {
	t, err := transport.NewStreamableHTTP("http://127.0.0.1:1", transport.WithContinuousListening())
	if err != nil {
		panic(err)
	}
	if err := t.Start(context.Background()); err != nil {
		panic(err)
	}
	_ = t.Close()
}
