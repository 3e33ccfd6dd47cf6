package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/snapshot"
	"go.uber.org/zap"
)

// setup makes the garbage collector rare, as it is where a heap is large: it closes files
// that nobody holds any more.
func setup() { debug.SetGCPercent(-1) }

// trigger saves a snapshot of a server that does not answer.
func trigger() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_ = snapshot.Save(ctx, zap.NewNop(), clientv3.Config{Endpoints: []string{"127.0.0.1:1"}}, os.TempDir()+"/lb-snapshot")
}
