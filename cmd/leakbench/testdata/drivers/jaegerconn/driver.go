package main

import (
	"context"

	reporter "github.com/jaegertracing/jaeger/cmd/agent/app/reporter/grpc"
	"github.com/jaegertracing/jaeger/pkg/metrics"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

type (
	before interface {
		CreateConnection(*zap.Logger, metrics.Factory) (*grpc.ClientConn, error)
	}
	since interface {
		CreateConnection(context.Context, *zap.Logger, metrics.Factory) (*grpc.ClientConn, error)
	}
)

func setup() {}

// trigger is a reporter that is made and ends. From v1.53.0 on the connection takes a context.
func trigger() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	builder := reporter.NewConnBuilder()
	builder.CollectorHostPorts = []string{"127.0.0.1:1"}
	var conn *grpc.ClientConn
	var err error
	switch b := any(builder).(type) {
	case before:
		conn, err = b.CreateConnection(zap.NewNop(), metrics.NullFactory)
	case since:
		conn, err = b.CreateConnection(ctx, zap.NewNop(), metrics.NullFactory)
	}
	if err != nil {
		panic(err)
	}
	conn.Close()
}
