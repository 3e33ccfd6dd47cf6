package main

import (
	"bufio"
	"fmt"
	"net"
	"os"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.uber.org/zap"
)

var control, address string
var n int

// setup starts a listener with TLS and, in a process of its own, the clients that say nothing:
// twelve at once, as many as the good version has after its time limit of ten seconds.
func setup() {
	control = fmt.Sprintf("127.0.0.1:%d", peer(func(l net.Listener) {
		var silent []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			to, _ := bufio.NewReader(c).ReadString('\n')
			c.Close()
			if c, err = net.Dial("tcp", to[:len(to)-1]); err == nil {
				silent = append(silent, c)
			}
		}
	}))
	dir, _ := os.MkdirTemp("", "etcd")
	info, err := transport.SelfCert(zap.NewNop(), dir, []string{"127.0.0.1"}, 1)
	if err != nil {
		panic(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	address = plain.Addr().String()
	listener, err := transport.NewTLSListener(plain, &info)
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
		}
	}()
	for range 12 {
		connect()
	}
}

// trigger brings such a client at every eighth call.
func trigger() {
	if n++; n%8 == 0 {
		connect()
	}
}

func connect() {
	if c, err := net.Dial("tcp", control); err == nil {
		fmt.Fprintln(c, address)
		c.Close()
	}
}
