package main

import (
	"context"
	"net"
	"time"

	"github.com/coredns/coredns/plugin/pkg/proxy"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

func setup() {}

// trigger asks a forward that was stopped.
func trigger() {
	p := proxy.NewProxy("forward", "127.0.0.1:1", "dns")
	p.Start(time.Hour)
	p.Stop()
	time.Sleep(5 * time.Millisecond)
	m := new(dns.Msg)
	m.SetQuestion("a.", dns.TypeA)
	go func() {
		_, _ = p.Connect(context.Background(), request.Request{W: writer{}, Req: m}, proxy.Options{})
	}()
}

type writer struct{ dns.ResponseWriter }

func (writer) RemoteAddr() net.Addr { return &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9} }
func (writer) LocalAddr() net.Addr  { return &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 53} }
