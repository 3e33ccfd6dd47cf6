package main

import (
	"io"
	"math/rand/v2"
	"net"
	"time"
)

var listener net.Listener
var n int

// setup starts a server of sessions that live as long as their client wants.
func setup() {
	listener, _ = net.Listen("tcp", "127.0.0.1:0")
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
}

// trigger opens a session of half a second to eight seconds, at every second call.
func trigger() {
	if n++; n%2 != 0 {
		return
	}
	c, err := net.Dial("tcp", listener.Addr().String())
	if err == nil {
		time.AfterFunc(time.Duration(500+rand.IntN(7500))*time.Millisecond, func() { c.Close() })
	}
}
