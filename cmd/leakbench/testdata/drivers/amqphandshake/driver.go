package main

import (
	"fmt"
	"net"

	amqp "github.com/rabbitmq/amqp091-go"
)

var address string

// setup starts a broker that ends each connection before it said a word.
func setup() {
	address = fmt.Sprintf("amqp://127.0.0.1:%d/", peer(func(l net.Listener) {
		for {
			if c, err := l.Accept(); err == nil {
				c.Close()
			}
		}
	}))
}

// trigger dials with recovery on; the handshake fails.
func trigger() {
	if c, err := amqp.DialConfig(address, amqp.Config{Recovery: &amqp.Recovery{}}); err == nil {
		c.Close()
	}
}
