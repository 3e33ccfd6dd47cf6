package main

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var address string
var n int

// setup makes the garbage collector rare, as it is where a heap is large: it closes sockets
// that nobody holds any more. It starts a broker that resets each connection at its first
// request.
func setup() {
	debug.SetGCPercent(-1)
	address = fmt.Sprintf("127.0.0.1:%d", peer(func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}))
}

// trigger is a client of one ping, at every second call.
func trigger() {
	if n++; n%2 != 0 {
		return
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RequestRetries(0))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.Ping(ctx)
}
