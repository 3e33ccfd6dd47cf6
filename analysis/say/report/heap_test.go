package report_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// heapFiles are files of readers' testdata under names of captures; a value with a line break is the
// content itself.
func heapFiles(files map[string]string) (inputs []bundle.Input) {
	for name, from := range files {
		open := func() (io.ReadCloser, error) { return os.Open("../../read/" + from) }
		if strings.Contains(from, "\n") {
			open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(from)), nil }
		}
		inputs = append(inputs, bundle.Input{Name: name, Size: -1, Open: open})
	}
	return inputs
}

const parked = "goroutine 1 [select]:\nmain.main()\n\t/src/cachegrow/main.go:9 +0x1d\n\n"

func status(kB int) string {
	return fmt.Sprintf("Name:\tcachegrow\nPid:\t41\nUid:\t0\t0\t0\t0\nVmRSS:\t%d kB\nThreads:\t5\n", kB)
}

// histogramOf is a class histogram of sessions and arrays of bytes.
func histogramOf(sessions, arrays, size int) string {
	return fmt.Sprintf("41:\n num     #instances         #bytes  class name (module)\n-----\n   1:  %d  %d  [B (java.base@17)\n   2:  %d  %d  com.acme.Session\nTotal  %d  %d\n",
		arrays, size, sessions, 24*sessions, sessions+arrays, size+24*sessions)
}

func TestWhatHoldsMemoryThatRoseIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		files    map[string]string
		sentence string
		do       string
	}{
		"profiles of a heap alone": {map[string]string{
			"heap-1.pb.gz": "goroutine/testdata/heap-1-go1.26.8.pb.gz", "heap-2.pb.gz": "goroutine/testdata/heap-2-go1.26.8.pb.gz", "heap-3.pb.gz": "goroutine/testdata/heap-3-go1.26.8.pb.gz",
		}, "cachegrow: the heap grew from 10 to 26 MiB: 15 of the 16 MiB are held by what main.(*Cache).Put allocates (main.go:19); nothing else was captured.", "Find what keeps what main.(*Cache).Put allocates"},
		"beside dumps, and memory": {map[string]string{
			"t1/heap.pb.gz": "goroutine/testdata/heap-1-go1.26.8.pb.gz", "t1/goroutine.txt": parked, "t1/status": status(18376),
			"t3/heap.pb.gz": "goroutine/testdata/heap-3-go1.26.8.pb.gz", "t3/goroutine.txt": parked, "t3/status": status(37100),
		}, "memory grew from 18 to 36 MiB: 15 of the 18 MiB are held by what main.(*Cache).Put allocates", "Find what keeps"},
		"memory that rose less than the heap": {map[string]string{
			"t1/heap.pb.gz": "goroutine/testdata/heap-1-go1.26.8.pb.gz", "t1/goroutine.txt": parked, "t1/status": status(30000),
			"t3/heap.pb.gz": "goroutine/testdata/heap-3-go1.26.8.pb.gz", "t3/goroutine.txt": parked, "t3/status": status(37100),
		}, "but the heap grew from 10 to 26 MiB: 15 of the 16 MiB are held by", "Find what keeps"},
		"memory outside of the heap": {map[string]string{
			"t1/heap.pb.gz": "goroutine/testdata/heap-3-go1.26.8.pb.gz", "t1/goroutine.txt": parked, "t1/status": status(37100),
			"t3/heap.pb.gz": "goroutine/testdata/allocs-3-go1.26.8.pb.gz", "t3/goroutine.txt": parked, "t3/status": status(90000),
		}, "memory grew from 36 to 88 MiB, and the heap did not: 26 MiB to 26 MiB", "Look outside of the heap"},
		"class histograms of a JVM": {map[string]string{
			"histo-1.txt": "histogram/testdata/jcmd-1-jdk17.txt", "histo-2.txt": "histogram/testdata/jcmd-2-jdk17.txt", "histo-3.txt": "histogram/testdata/jcmd-3-jdk17.txt",
		}, "the heap grew from 7 to 20 MiB: 9 of the 13 MiB are byte[]; com.acme.shop.Shop$Session grew from 20\u202f000 to 60\u202f000 objects", "See who holds these objects in a heap dump"},
		"several histograms in one file": {map[string]string{"loop.txt": "histogram/testdata/loop-jdk17.txt"}, "the heap grew from 7 to 20 MiB: 9 of the 13 MiB are byte[]; com.acme.shop.Shop$Session", "heap dump"},
		"a heap that a collector empties": {map[string]string{
			"histo-1.txt": histogramOf(500, 1000, 40e6), "histo-2.txt": histogramOf(500, 1000, 90e6), "histo-3.txt": histogramOf(500, 1000, 45e6), "histo-4.txt": histogramOf(500, 1000, 95e6),
		}, "38 to 91 MiB in use in the heap; nothing else was captured.", "Take five captures"},
		"a cache that is full: nothing came in the last two intervals": {map[string]string{
			"histo-1.txt": histogramOf(500, 1000, 10e6), "histo-2.txt": histogramOf(500, 1000, 30e6), "histo-3.txt": histogramOf(500, 1000, 50e6), "histo-4.txt": histogramOf(500, 1000, 52e6), "histo-5.txt": histogramOf(500, 1000, 53e6),
		}, "the heap grew from 10 to 51 MiB, little of it in the last 2 intervals: ", "Take more captures over a longer time"},
		"a heap that goes on after a pause": {map[string]string{
			"histo-1.txt": histogramOf(500, 1000, 10e6), "histo-2.txt": histogramOf(500, 1000, 30e6), "histo-3.txt": histogramOf(500, 1000, 31e6), "histo-4.txt": histogramOf(500, 1000, 50e6),
		}, "the heap grew from 10 to 48 MiB: ", "See who holds these objects"},
		"a heap that rises by less than a fifth": {map[string]string{"histo-1.txt": histogramOf(500, 1000, 60e6), "histo-2.txt": histogramOf(500, 1000, 70e6)}, "57 to 67 MiB in use in the heap; nothing else was captured.", "Take five captures"},
		"one profile": {map[string]string{"heap.pb.gz": "goroutine/testdata/heap-3-go1.26.8.pb.gz"},
			"cachegrow: 26 MiB in use in the heap, the most of it, 21 MiB, by what main.(*Cache).Put allocates (main.go:19); nothing else was captured.", "Take five captures"},
	} {
		t.Run(name, func(t *testing.T) {
			r := built(t, heapFiles(c.files)).Report
			d := r.Diagnosis
			if !strings.Contains(strings.ReplaceAll(d.Sentence, "\u00a0", "\u202f"), c.sentence) || d.Next == nil || !strings.Contains(d.Next.Text, c.do) {
				t.Errorf("%q, do %+v", d.Sentence, d.Next)
			}
			if len(r.Series[0].Findings) > 0 {
				t.Error("memory alone is a finding")
			}
		})
	}
}

func TestRowsOfAHeapComeInTheOrderOfTheirGrowth(t *testing.T) {
	c := built(t, heapFiles(map[string]string{
		"heap-1.pb.gz": "goroutine/testdata/heap-1-go1.26.8.pb.gz", "heap-3.pb.gz": "goroutine/testdata/heap-3-go1.26.8.pb.gz",
	}))
	h := c.Report.Series[0].Heap
	if h == nil || h.First == nil || h.First.Bytes != 11004396 || h.Last.Bytes != 26856236 || h.Last.Objects != 2726 || !h.Grew {
		t.Fatalf("%+v", h)
	}
	put, main := h.Rows[0], h.Rows[1]
	if put.Name != "main.(*Cache).Put" || put.Place != "main.go:19" || !put.Own || *put.FirstBytes != 6340735 || put.Rise != 22192575-6340735 || !put.Grew || len(put.Stack) < 4 {
		t.Errorf("%+v", put)
	}
	if main.Name != "main.main" || main.Grew || *main.FirstBytes != 4663661 || main.Bytes != 4663661 || main.Rise != 0 {
		t.Errorf("%+v", main)
	}
}

func TestACutHistogramStatesLowerBounds(t *testing.T) {
	cut := func(rows string) string { return " num     #instances         #bytes  class name\n" + rows }
	c := built(t, heapFiles(map[string]string{
		"histo-1.txt": cut("   1:  10  20000000  [B\n   2:  5  1000000  com.acme.Other\n"),
		"histo-2.txt": cut("   1:  10  20000000  [B\n   2:  90000  9000000  com.acme.Session\n"),
	}))
	h := c.Report.Series[0].Heap
	r := h.Rows[0]
	if r.Name != "com.acme.Session" || r.FirstBytes != nil || r.Rise != 8000000 || !h.Last.LowerBound || !strings.HasPrefix(h.Note(), "At least ") {
		t.Errorf("%+v, %s", r, h.Note())
	}
	if d := c.Report.Diagnosis; !strings.Contains(d.Sentence, "com.acme.Session, which grew to") {
		t.Errorf("%s", d.Sentence)
	}
}
