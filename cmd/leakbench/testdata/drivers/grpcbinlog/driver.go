package main

import (
	"google.golang.org/grpc/binarylog"
	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
)

func setup() {}

// trigger logs one call to a file of its own, and closes it.
func trigger() {
	s, err := binarylog.NewTempFileSink()
	if err != nil {
		panic(err)
	}
	_ = s.Write(&pb.GrpcLogEntry{CallId: 1})
	_ = s.Close()
}
