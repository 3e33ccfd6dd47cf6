package main

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var address string

func setup() {
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	address = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)).URL
}

// trigger posts a first request that initialises no session.
func trigger() {
	post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
}

func post(body string) {
	r, _ := http.NewRequest("POST", address, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if answer, err := http.DefaultClient.Do(r); err == nil {
		answer.Body.Close()
	}
}
