package lsof

import (
	"bytes"
	"testing"
)

// BenchmarkTable reads a large listing: a real one, repeated for many processes.
func BenchmarkTable(b *testing.B) {
	head, rows, _ := bytes.Cut(sample(b, "nP.txt"), []byte("\n"))
	raw := append(bytes.Clone(head), '\n')
	for pid := 10000; pid < 11000; pid++ {
		raw = append(raw, bytes.ReplaceAll(rows, []byte(" 14406 "), []byte{' ', '1', byte('0' + pid/1000%10), byte('0' + pid/100%10), byte('0' + pid/10%10), byte('0' + pid%10), ' '})...)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		l, _, err := ParseTable(bytes.NewReader(raw), "bench", func(int, *Row) error { return nil })
		if err != nil || l.Rows != 88000 || l.Descriptors != 82000 {
			b.Fatal(err, l.Rows, l.Descriptors)
		}
	}
}
