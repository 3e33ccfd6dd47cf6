package goroutine_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/DataDog/gostackparse"

	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// benchmarkBytes is about the size of a dump of 20,000 goroutines.
const benchmarkBytes = 20 << 20

// BenchmarkText reads the same bytes with this package and with gostackparse:
// compare the MB/s. The dumps are one of each kind: a test program with 81
// goroutines that differ, a database node, the kubelet, and a crash text, which
// gostackparse cannot read.
func BenchmarkText(b *testing.B) {
	for _, dump := range []struct{ name, path string }{
		{"zoo", "testdata/debug2-go1.26.8.txt"},
		{"database", corpus.Path(b, "goroutine", "public", "stackgazer-crdb-stacks.txt")},
		{"kubelet", corpus.Path(b, "series", "kubelet-probe-leak", "t7", "kubelet", "goroutine-debug2.txt")},
		{"crash", corpus.Path(b, "goroutine", "gen", "sigquit-go1.26.8.txt")},
	} {
		text := append(read(b, dump.path), '\n')
		text = bytes.Repeat(text, benchmarkBytes/len(text))
		b.Run(dump.name+"/leakdiff", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := goroutine.ParseText(bytes.NewReader(text), goroutine.Config{}, visitNothing); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(dump.name+"/gostackparse", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				gostackparse.Parse(bytes.NewReader(text))
			}
		})
	}
}

func visitNothing(*goroutine.Goroutine) error { return nil }

// BenchmarkWords reads the dumps of BenchmarkText with and without the addresses of their
// arguments: compare the MB/s.
func BenchmarkWords(b *testing.B) {
	for _, dump := range []struct{ name, path string }{
		{"zoo", "testdata/debug2-go1.26.8.txt"},
		{"database", corpus.Path(b, "goroutine", "public", "stackgazer-crdb-stacks.txt")},
		{"kubelet", corpus.Path(b, "series", "kubelet-probe-leak", "t7", "kubelet", "goroutine-debug2.txt")},
		{"informer", corpus.Path(b, "series", "clientgo-informer-recreate", "t6", "informer", "goroutine-debug2.txt")},
	} {
		text := append(read(b, dump.path), '\n')
		text = bytes.Repeat(text, benchmarkBytes/len(text))
		for _, words := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/words=%t", dump.name, words), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := goroutine.ParseText(bytes.NewReader(text), goroutine.Config{Words: words}, visitNothing); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
