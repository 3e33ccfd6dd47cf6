package ingest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

func someBytes(n int) []byte {
	out := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(out)
	return out
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestReadingAheadGivesAndHashesEveryByte(t *testing.T) {
	for _, n := range []int{0, 1, prefetchSize - 1, prefetchSize, prefetchSize + 1, 9*prefetchSize + 77} {
		want := someBytes(n)
		for name, body := range map[string]io.Reader{
			"whole":                        bytes.NewReader(want),
			"in halves":                    iotest.HalfReader(bytes.NewReader(want)),
			"with the end beside the last": iotest.DataErrReader(bytes.NewReader(want)),
		} {
			sum := sha256.New()
			a := prefetch(body, sum, nil)
			got, err := io.ReadAll(a)
			a.close()
			if err != nil || !bytes.Equal(got, want) || hex.EncodeToString(sum.Sum(nil)) != hexSum(want) {
				t.Errorf("%s, %d bytes: %d bytes, hash equal %t, %v", name, n, len(got), hex.EncodeToString(sum.Sum(nil)) == hexSum(want), err)
			}
		}
	}
}

func TestReadingAheadHandsOverErrorsBehindTheBytesBeforeThem(t *testing.T) {
	want := errors.New("the disk is gone")
	a := prefetch(io.MultiReader(strings.NewReader("before"), iotest.ErrReader(want)), nil, nil)
	defer a.close()
	got, err := io.ReadAll(a)
	if string(got) != "before" || !errors.Is(err, want) {
		t.Errorf("%q, %v", got, err)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a decoder is broken") }

func TestAPanicOfADecoderReachesTheGoroutineThatReads(t *testing.T) {
	a := prefetch(panicking{}, sha256.New(), nil)
	defer a.close()
	defer func() {
		if v := recover(); v != "a decoder is broken" {
			t.Errorf("recovered %v", v)
		}
	}()
	a.Read(make([]byte, 1))
	t.Error("no panic")
}

func TestReadingAheadStopsWhenItIsClosed(t *testing.T) {
	endless := iotest.OneByteReader(zeros{})
	a := prefetch(zeros{}, sha256.New(), nil)
	if _, err := io.ReadFull(a, make([]byte, 3*prefetchSize)); err != nil {
		t.Fatal(err)
	}
	a.close()
	a.close()
	unread := prefetch(endless, nil, nil)
	unread.close()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// selecting is a dump of n goroutines.
func selecting(n int) []byte {
	var out bytes.Buffer
	for i := range n {
		fmt.Fprintf(&out, "goroutine %d [select, 3 minutes]:\nmain.wait()\n\t/src/main.go:5 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", i+2)
	}
	return out.Bytes()
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarred(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The hash that the store knows of an upload is that of a file only if the file is
// the upload.
func TestTheKnownHashOfAnUploadIsOnlyTakenForTheUploadItself(t *testing.T) {
	dump := selecting(3000)
	const known = "the hash that the store knows"
	for _, tt := range []struct {
		name, want string
		data       []byte
		second     bool
	}{
		{"dump.txt", known, dump, false},
		{"dump.txt.gz", hexSum(dump), gzipped(t, dump), false},
		{"dump.tar", hexSum(dump), tarred(t, "dump.tar", dump), false},
		{"two.txt", hexSum(dump), dump, true},
		{"bom.txt", hexSum(dump), append([]byte("\xef\xbb\xbf"), dump...), false},
	} {
		in := []bundle.Input{{Name: tt.name, Size: int64(len(tt.data)), ModTime: time.Now(), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tt.data)), nil }}}
		if tt.second {
			in = append(in, bundle.Input{Name: "second", Size: 1, ModTime: time.Now(), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }})
		}
		r, err := Run(t.Context(), Config{SHA256: func() string { return known }, Bundle: bundle.Config{TempDir: t.TempDir()}}, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Artifacts[0].SHA256; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if r.Artifacts[0].Status != analysis.Read {
			t.Errorf("%s: %s", tt.name, r.Artifacts[0].Status)
		}
	}
}

func TestPackedSnapshotsHoldTheColumnsOfTheOthers(t *testing.T) {
	dump := selecting(5)
	read := func(packed bool) analysis.Members {
		in := []bundle.Input{{Name: "dump.txt", Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(dump)), nil }}}
		r, err := Run(t.Context(), Config{Packed: packed}, in)
		if err != nil {
			t.Fatal(err)
		}
		return r.Snapshots[0].Groups[0].Members
	}
	columns, packed := read(false), read(true)
	if packed.Columns != nil || len(packed.Packed) == 0 || len(columns.Packed) > 0 {
		t.Fatalf("packed has columns %v, columns have %d packings", packed.Columns, len(columns.Packed))
	}
	packed.Unpack()
	if len(columns.ID) != len(packed.ID) || columns.At(0) != packed.At(0) {
		t.Errorf("%+v, want %+v", packed.At(0), columns.At(0))
	}
}

func TestBuffersOfOneMemberServeTheNext(t *testing.T) {
	var spare [][]byte
	for round := range 20 {
		want := bytes.Repeat([]byte{byte('a' + round)}, round*prefetchSize/3)
		a := prefetch(bytes.NewReader(want), sha256.New(), spare)
		part := io.LimitReader(a, int64(len(want)))
		if round%3 == 0 {
			part = io.LimitReader(a, int64(len(want)/2)) // the rest is left unread
		}
		got, err := io.ReadAll(part)
		a.close()
		if err != nil || !bytes.Equal(got, want[:len(got)]) {
			t.Fatalf("round %d read other bytes than its own, error %v", round, err)
		}
		spare = a.buffers()
		if a.buffers() != nil {
			t.Fatal("buffers were handed out twice")
		}
		distinct := map[*byte]bool{}
		for _, buf := range spare {
			distinct[&buf[0]] = true
		}
		if len(distinct) != len(spare) || len(spare) > prefetchBlocks || len(got) > 0 && len(spare) == 0 {
			t.Fatalf("round %d leaves %d buffers, %d of them distinct", round, len(spare), len(distinct))
		}
	}
}
