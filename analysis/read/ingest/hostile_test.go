package ingest

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/hostile"
)

// worked is what the reading of an input allocates, in bytes.
func worked(t *testing.T, in hostile.Input, n int) uint64 {
	t.Helper()
	var upload bytes.Buffer
	if err := in.Write(&upload, n); err != nil {
		t.Fatal(err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(upload.Bytes())), nil }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	result, err := Run(t.Context(), Config{Packed: true, Objects: true, Deferred: true}, []bundle.Input{{Name: in.File, Size: int64(upload.Len()), Open: open}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Snapshots {
		result.GroupsOf(i)
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if os.Getenv("H_V") != "" {
		t.Logf("n=%d %.1f MB: %d MiB allocated, %d mallocs, %v, %d snapshots, %d artifacts", n, float64(upload.Len())/1e6, (after.TotalAlloc-before.TotalAlloc)>>20, after.Mallocs-before.Mallocs, took, len(result.Snapshots), len(result.Artifacts))
	}
	return after.TotalAlloc - before.TotalAlloc
}

func TestTwiceTheHostileInputIsTwiceTheWork(t *testing.T) {
	for _, in := range hostile.All() {
		t.Run(in.Name, func(t *testing.T) {
			n := in.N / 50
			worked(t, in, 10) // what is made once
			once, twice := worked(t, in, n), worked(t, in, 2*n)
			if ratio := float64(twice) / float64(once); ratio > 2.3 {
				t.Errorf("%d members take %d bytes, %d take %.2f times as much", n, once, 2*n, ratio)
			}
		})
	}
}
