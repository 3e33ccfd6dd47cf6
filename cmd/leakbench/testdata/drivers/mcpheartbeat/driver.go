package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

var sse *server.SSEServer

// slow is a client that takes the first event and no other until it leaves.
type slow struct {
	*httptest.ResponseRecorder
	left  context.Context
	begun bool
}

func (s *slow) Write(b []byte) (int, error) {
	if s.begun {
		<-s.left.Done()
	}
	s.begun = true
	return len(b), nil
}

func setup() {
	sse = server.NewSSEServer(server.NewMCPServer("x", "1"), server.WithKeepAliveInterval(time.Millisecond))
}

// trigger is such a client; it leaves when 100 heartbeats wait for it.
func trigger() {
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	r := httptest.NewRequest(http.MethodGet, "/sse", nil).WithContext(ctx)
	go func() {
		defer cancel()
		sse.ServeHTTP(&slow{ResponseRecorder: httptest.NewRecorder(), left: ctx}, r)
	}()
}
