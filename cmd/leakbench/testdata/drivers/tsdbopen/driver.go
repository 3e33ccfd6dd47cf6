package main

import (
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/tsdb"
)

var n int

func setup() {}

// trigger opens a database whose head is corrupt, at every third call.
func trigger() {
	if n++; n%3 != 0 {
		return
	}
	dir, err := os.MkdirTemp("", "tsdb")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	head := filepath.Join(dir, "chunks_head")
	_ = os.Mkdir(head, 0o755)
	_ = os.WriteFile(filepath.Join(head, "000001"), []byte("not a file of chunks"), 0o644)
	_ = os.WriteFile(filepath.Join(head, "000002"), []byte("not a file of chunks"), 0o644)
	options := tsdb.DefaultOptions()
	options.HeadChunksWriteQueueSize = 10
	if db, err := tsdb.Open(dir, nil, nil, options, nil); err == nil {
		db.Close()
	}
}
