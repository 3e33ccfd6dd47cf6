package main

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

func setup() {}

// trigger asks a server that ends at once; the client is closed afterwards.
func trigger() {
	t := transport.NewStdio("/bin/true", nil)
	if err := t.Start(context.Background()); err != nil {
		panic(err)
	}
	go func() {
		_, _ = t.SendRequest(context.Background(), transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: "ping"})
	}()
	time.AfterFunc(300*time.Millisecond, func() { _ = t.Close() })
}
