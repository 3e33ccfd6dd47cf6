package main

import (
	"net"

	"github.com/elastic/go-lumber/server"
)

var listener net.Listener
var n int

func setup() {
	var err error
	if listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
		_, err = server.NewWithListener(listener, server.V1(true), server.V2(true))
	}
	if err != nil {
		panic(err)
	}
}

// trigger is a client that leaves before its first byte, as a health check does, at every second call.
func trigger() {
	if n++; n%2 != 0 {
		return
	}
	if c, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		c.Close()
	}
}
