package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var address string

// setup starts a server that speaks a version that no client knows.
func setup() {
	address = fmt.Sprintf("http://127.0.0.1:%d", peer(func(l net.Listener) {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&request)
			w.Header().Set("Content-Type", "application/json")
			switch {
			case request.Method == "initialize":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, request.ID)
			case request.ID != nil:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, request.ID)
			default:
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		}))
	}))
}

// trigger is a client that connects, which fails.
func trigger() {
	c := mcp.NewClient(&mcp.Implementation{Name: "y", Version: "1"}, nil)
	if s, err := c.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: address}, nil); err == nil {
		_ = s.Close()
	}
}
