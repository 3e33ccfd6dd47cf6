package ingest

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"leakdiff/analysis/read/bundle"
	"leakdiff/internal/test/hostile"
	"leakdiff/samples/corpus"
)

// mostGrowth is by how much more the reading of twice an input may allocate, beside buffers of
// fixed bytes that grow with the first megabytes.
const mostGrowth, fixed = 2.3, 4 << 20

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
	result, err := Run(t.Context(), Config{Packed: true, Objects: true, Deferred: true}, []bundle.Input{{Name: in.File, Size: int64(upload.Len()), Open: open}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Snapshots {
		result.GroupsOf(i)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestTwiceTheHostileInputIsTwiceTheWork(t *testing.T) {
	corpus.Heavy(t)
	for _, in := range hostile.All() {
		t.Run(in.Name, func(t *testing.T) {
			n := in.N / 100
			worked(t, in, 10) // what is made once
			once, twice := worked(t, in, n), worked(t, in, 2*n)
			if float64(twice) > mostGrowth*float64(once)+fixed {
				t.Errorf("%d members take %d bytes, %d take %.2f times as much", n, once, 2*n, float64(twice)/float64(once))
			}
		})
	}
}
