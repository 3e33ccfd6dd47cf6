package ingest_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"testing"
	"time"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
)

func TestTmpMeasure(t *testing.T) {
	path := os.Getenv("MEASURE")
	if path == "" {
		t.Skip()
	}
	debug.SetGCPercent(40)
	for range 3 {
		os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
		start := time.Now()
		res, err := ingest.Run(context.Background(), ingest.Config{Packed: true, Deferred: true, Objects: os.Getenv("OBJECTS") != ""}, []bundle.Input{{Name: path, Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }}})
		if err != nil {
			t.Fatal(err)
		}
		d := time.Since(start)
		st, _ := os.ReadFile("/proc/self/status")
		fmt.Println(d, string(regexp.MustCompile(`VmHWM:.*`).Find(st)))
		for _, s := range res.Snapshots {
			if s.Joined != nil {
				fmt.Println("kinds", len(s.Joined.Kinds), s.Joined.LeftOut)
				for _, k := range s.Joined.Kinds[:min(8, len(s.Joined.Kinds))] {
					fmt.Println("   ", k.Count, k.Name, k.Parts, k.Level, k.Holders)
				}
			}
			fmt.Println(*s.Totals.Goroutines)
		}
	}
}
