package main

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"github.com/containerd/ttrpc"
)

var path string

func setup() {
	dir, _ := os.MkdirTemp("", "ttrpc")
	path = filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	s, err := ttrpc.NewServer()
	if err != nil {
		panic(err)
	}
	go func() { panic(s.Serve(context.Background(), l)) }()
}

// trigger is a client that connects and leaves.
func trigger() {
	c, err := net.Dial("unix", path)
	if err != nil {
		panic(err)
	}
	_ = ttrpc.NewClient(c).Close()
}
