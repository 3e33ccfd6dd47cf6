package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// setup starts five clients of a server that has forgotten their session. They listen again
// each second, which is once in two calls of trigger.
func setup() {
	handler := server.NewStreamableHTTPServer(server.NewMCPServer("x", "1"))
	address := fmt.Sprintf("http://127.0.0.1:%d/mcp", peer(func(l net.Listener) {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				http.Error(w, "no such session", http.StatusNotFound)
				return
			}
			handler.ServeHTTP(w, r)
		}))
	}))
	for range 5 {
		c, err := client.NewStreamableHttpClient(address, transport.WithContinuousListening())
		if err == nil {
			err = c.Start(context.Background())
		}
		if err == nil {
			_, err = c.Initialize(context.Background(), mcp.InitializeRequest{})
		}
		if err != nil {
			panic(err)
		}
	}
}

func trigger() {}
