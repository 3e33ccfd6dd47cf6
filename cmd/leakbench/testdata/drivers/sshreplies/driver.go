package main

import (
	"crypto/ed25519"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
)

var address string

// setup starts a server that answers each request of a connection four times.
func setup() {
	_, key, _ := ed25519.GenerateKey(nil)
	signer, _ := ssh.NewSignerFromKey(key)
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	address = fmt.Sprintf("127.0.0.1:%d", peer(func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _, requests, err := ssh.NewServerConn(c, config)
				if err != nil {
					return
				}
				for r := range requests {
					for range 4 {
						_ = r.Reply(true, nil)
					}
				}
			}()
		}
	}))
}

// trigger is a client that asks once and ends.
func trigger() {
	c, err := ssh.Dial("tcp", address, &ssh.ClientConfig{HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		panic(err)
	}
	_, _, _ = c.SendRequest("keepalive", true, nil)
	_, _, _ = c.SendRequest("keepalive", true, nil)
	_ = c.Close()
}
