package goroutine_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// The figures are those of "go tool pprof -top -unit=B" with -sample_index=inuse_space and
// inuse_objects, of a program whose cache grows.
func TestHeapProfilesHoldWhatPprofSays(t *testing.T) {
	for name, want := range map[string]struct {
		bytes, objects, put int64
		at                  string
	}{
		"heap-1-go1.26.8.pb.gz":   {11004396, 791, 6340735, "14:51:42"},
		"heap-2-go1.26.8.pb.gz":   {20513444, 2015, 15323445, "14:51:44"},
		"heap-3-go1.26.8.pb.gz":   {26856236, 2726, 22192575, "14:51:47"},
		"allocs-3-go1.26.8.pb.gz": {26856236, 2726, 22192575, "14:51:47"},
	} {
		h, problems, err := goroutine.ParseHeapProto(open(t, "testdata/"+name), goroutine.Config{})
		if err != nil || len(problems) > 0 {
			t.Fatal(name, err, problems)
		}
		if h.By != analysis.HeapByStack || h.Bytes != want.bytes || h.Objects != want.objects || h.More != 0 || h.LowerBound || h.Executable != "/opt/cachegrow" || h.Time.Format(time.TimeOnly) != want.at {
			t.Errorf("%s: %d bytes, %d objects, %s at %s", name, h.Bytes, h.Objects, h.Executable, h.Time)
		}
		if f := h.Rows[0].Frames; h.Rows[0].Bytes != want.put || f[0].Func != "internal/bytealg.MakeNoZero" || f[2].Func != "main.(*Cache).Put" || f[2].Line != 19 {
			t.Errorf("%s: %+v", name, h.Rows[0])
		}
	}
}

// The text of the same moment holds samples: pprof scales them to what the proto states.
func TestTheTextOfAHeapIsScaledToWhatTheProtoSays(t *testing.T) {
	h, problems, err := goroutine.ParseHeapText(open(t, "testdata/heap-3-go1.26.8.txt"), goroutine.Config{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if h.Rows[0].Bytes != 22192575 || h.Rows[0].Objects != 2709 || h.Rows[0].Frames[2].Func != "main.(*Cache).Put" || h.LowerBound || h.Truncated {
		t.Errorf("%+v", h.Rows[0])
	}
}

func TestRecordsOfAHeap(t *testing.T) {
	const head, tail = "heap profile: 1: 524288 [9: 900000] @ heap/", "\n\n# runtime.MemStats\n# Alloc = 5\n"
	const record = "\n1: 524288 [9: 900000] @ 0x1 0x2\n#\t0x1\tmain.put+0x4\t/src/main.go:9\n"
	for name, c := range map[string]struct {
		text                    string
		bytes, objects, refused int64
		truncated               bool
	}{
		// Of objects as large as the rate 1 - 1/e are sampled: 524288 / 0.632121 = 829411.
		"objects of the rate are scaled by 1.58": {head + "1048576" + record + tail, 829411, 1, 0, false},
		"all are sampled at a rate of one byte":  {head + "2" + record + tail, 524288, 1, 0, false},
		"a rate that is not stated":              {"heap profile: 1: 524288 [9: 900000] @ heapprofile" + record + tail, 524288, 1, 0, false},
		"what was freed is no row":               {"heap profile: 0: 0 [9: 900000] @ heap/2\n0: 0 [9: 900000] @ 0x1\n#\t0x1\tmain.put+0x4\t/src/main.go:9\n" + tail, 0, 0, 0, false},
		"a cut text with all records":            {head + "2" + record, 524288, 1, 0, false},
		"a cut text":                             {head + "2\n", 0, 0, 0, true},
		"a damaged record":                       {head + "2" + record + "\n7: x [1: 2] @ 0x1\n" + tail, 524288, 1, 1, false},
		"below the head of an answer":            {"HTTP/1.1 200 OK\nContent-Type: text/plain\n\n" + head + "2" + record + tail, 524288, 1, 0, false},
		"the last one of two":                    {head + "2" + record + tail + head + "1048576" + record + tail, 829411, 1, 0, false},
		"a profile of another kind behind it":    {head + "2" + record + "\n--- mutex:\ncycles/second=5\n7 5 @ 0x1\n", 524288, 1, 0, false},
	} {
		h, _, err := goroutine.ParseHeapText(strings.NewReader(c.text), goroutine.Config{})
		if err != nil || h.Bytes != c.bytes || h.Objects != c.objects || int64(h.Refused) != c.refused || h.Truncated != c.truncated {
			t.Errorf("%s: %d bytes, %d objects, %d refused, cut %v, %v", name, h.Bytes, h.Objects, h.Refused, h.Truncated, err)
		}
	}
}

func TestTheLargestStacksOfAHeapAreKept(t *testing.T) {
	var text strings.Builder
	text.WriteString("heap profile: 101: 5151 [0: 0] @ heap/2\n")
	for i := 1; i <= 101; i++ {
		fmt.Fprintf(&text, "1: %d [0: 0] @ 0x1\n#\t0x1\tmain.f%d+0x4\t/src/main.go:9\n\n", i, i)
	}
	h, _, err := goroutine.ParseHeapText(strings.NewReader(text.String()), goroutine.Config{})
	if err != nil || len(h.Rows) != 100 || h.More != 1 || h.Bytes != 5151 || h.Rows[0].Frames[0].Func != "main.f101" || h.Rows[99].Bytes != 2 {
		t.Errorf("%d rows, %d more, %d bytes, %v", len(h.Rows), h.More, h.Bytes, err)
	}
}

func TestOtherFilesAreNoHeap(t *testing.T) {
	_, _, proto := goroutine.ParseHeapProto(open(t, "testdata/debug0-go1.26.8.pb.gz"), goroutine.Config{})
	_, _, text := goroutine.ParseHeapText(strings.NewReader("goroutine profile: total 3\n"), goroutine.Config{})
	for _, err := range []error{proto, text} {
		var fault *analysis.Fault
		if !errors.As(err, &fault) || fault.Code != "other_profile" || fault.Hint != "fetch /debug/pprof/heap" {
			t.Error(err)
		}
	}
}

func checkHeap(t *testing.T, h goroutine.Heap, problems []analysis.Problem, err error) {
	var fault *analysis.Fault
	if err != nil && !errors.As(err, &fault) {
		t.Fatal(err)
	}
	if len(problems) > 105 || len(h.Rows) > 100 || len(h.Rows)+h.More > h.Records || h.Bytes < 0 || h.Objects < 0 {
		t.Errorf("%d problems, %+v", len(problems), h)
	}
	for _, r := range h.Rows {
		if r.Bytes < 0 || r.Objects < 0 || r.Bytes > h.Bytes || len(r.Frames) > 32 {
			t.Errorf("%+v", r)
		}
	}
}

func FuzzHeapText(f *testing.F) {
	f.Add(read(f, "testdata/heap-3-go1.26.8.txt"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, problems, err := goroutine.ParseHeapText(bytes.NewReader(data), goroutine.Config{})
		checkHeap(t, h, problems, err)
	})
}

func FuzzHeapProto(f *testing.F) {
	packed := read(f, "testdata/heap-1-go1.26.8.pb.gz")
	f.Add(packed)
	f.Fuzz(func(t *testing.T, data []byte) {
		h, problems, err := goroutine.ParseHeapProto(io.LimitReader(bytes.NewReader(data), 1<<20), goroutine.Config{MaxProtoBytes: 1 << 20})
		checkHeap(t, h, problems, err)
	})
}
