package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// A sealed blob contains compact values:
//
//	byte     form: sealedPlain or sealedZstd
//	4 bytes  CRC-32C of the rest of the blob, little-endian
//	values   as they are or as one zstd frame
//
// The forms differ from those of pack.
const (
	sealedPlain = 2
	sealedZstd  = 3

	sealedHeader = 1 + 4
)

// seal compresses values if that saves an eighth of them: to a reader, opening a frame costs
// as much as decoding some hundred values.
func (p *packer) seal(values []byte) ([]byte, error) {
	out := append(make([]byte, 0, sealedHeader+len(values)), sealedZstd, 0, 0, 0, 0)
	if len(values) >= zstdWorth {
		enc, err := p.encoder()
		if err != nil {
			return nil, err
		}
		out = enc.EncodeAll(values, out)
	}
	if packed := len(out) - sealedHeader; packed == 0 || packed > len(values)-len(values)/8 {
		out = append(out[:sealedHeader], values...)
		out[0] = sealedPlain
	}
	binary.LittleEndian.PutUint32(out[1:], checksum(out[sealedHeader:]))
	return out, nil
}

// unseal undoes seal. It decompresses into room if room is large enough; otherwise the
// values are new, or a part of an uncompressed blob.
func (p *packer) unseal(blob, room []byte) ([]byte, error) {
	if len(blob) < sealedHeader {
		return nil, fmt.Errorf("%d bytes are too few", len(blob))
	}
	body := blob[sealedHeader:]
	if checksum(body) != binary.LittleEndian.Uint32(blob[1:]) {
		return nil, errors.New("the checksum does not fit")
	}
	switch blob[0] {
	case sealedPlain:
		return body, nil
	case sealedZstd:
		dec, err := p.decoder()
		if err != nil {
			return nil, err
		}
		return dec.DecodeAll(body, room[:0])
	}
	return nil, fmt.Errorf("unknown form %d", blob[0])
}

// compactWriter appends values: numbers as varints, texts after their length.
type compactWriter struct{ b []byte }

func (w *compactWriter) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *compactWriter) varint(v int64)   { w.b = binary.AppendVarint(w.b, v) }
func (w *compactWriter) number(v int)     { w.varint(int64(v)) }
func (w *compactWriter) length(n int)     { w.uvarint(uint64(n)) }

// text encodes like JSON: a byte that is not UTF-8 becomes U+FFFD.
func (w *compactWriter) text(s string) {
	s = validText(s)
	w.length(len(s))
	w.b = append(w.b, s...)
}

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// flags writes up to 63 flags, the first in the lowest bit.
func (w *compactWriter) flags(set ...bool) {
	var bits uint64
	for i, on := range set {
		if on {
			bits |= 1 << i
		}
	}
	w.uvarint(bits)
}

// time writes nanoseconds; the zero time is 0.
func (w *compactWriter) time(t time.Time) {
	if t = utc(t); t.IsZero() {
		w.uvarint(0)
		return
	}
	nanos := uint64(t.Nanosecond())
	w.uvarint(1 + zigzag(t.Unix()))
	w.uvarint(nanos)
}

// real writes whole numbers, the most frequent ones, as varints.
func (w *compactWriter) real(v float64) {
	if whole := int64(v); math.Abs(v) < 1<<52 && float64(whole) == v && !(v == 0 && math.Signbit(v)) {
		w.uvarint(1 + zigzag(whole))
		return
	}
	w.uvarint(0)
	w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v))
}

// writeMap writes a map in the order of its keys; nil and empty maps are equal.
func writeMap[K ~string, V any](w *compactWriter, m map[K]V, value func(V)) {
	w.length(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(string(k))
		value(m[k])
	}
}

// compactReader reads the output of compactWriter. It stores the first error and returns
// zero values after it. It allocates no more than the bytes present justify.
type compactReader struct {
	b     []byte
	err   error
	texts *textTable
}

var errShort = errors.New("values end too early")

func (r *compactReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *compactReader) uvarint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *compactReader) varint() int64 { return unzigzag(r.uvarint()) }
func (r *compactReader) number() int   { return int(r.varint()) }

// length reads a number of elements that each take at least so many bytes.
func (r *compactReader) length(each int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/each) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

func (r *compactReader) bytes(n int) []byte {
	if n > len(r.b) {
		r.fail(errShort)
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *compactReader) text() string { return r.texts.of(r.bytes(r.length(1))) }

func (r *compactReader) flags() func(i int) bool {
	bits := r.uvarint()
	return func(i int) bool { return bits&(1<<i) != 0 }
}

func (r *compactReader) time() time.Time {
	seconds := r.uvarint()
	if seconds == 0 {
		return time.Time{}
	}
	nanos := r.uvarint()
	if nanos >= 1e9 {
		r.fail(fmt.Errorf("%d nanoseconds in a second", nanos))
		return time.Time{}
	}
	return time.Unix(unzigzag(seconds-1), int64(nanos)).UTC()
}

func (r *compactReader) real() float64 {
	if v := r.uvarint(); v > 0 {
		return float64(unzigzag(v - 1))
	}
	b := r.bytes(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func readMap[K ~string, V any](r *compactReader, value func() V) map[K]V {
	n := r.length(2)
	if n == 0 {
		return nil
	}
	m := make(map[K]V, n)
	for range n {
		k := K(r.text())
		m[k] = value()
	}
	return m
}

// end fails if more values follow.
func (r *compactReader) end() error {
	if r.err == nil && len(r.b) > 0 {
		return fmt.Errorf("%d bytes after the last value", len(r.b))
	}
	return r.err
}

// textTable stores equal texts once in memory.
type textTable struct{ known map[string]string }

// mostTexts bounds the number of stored texts.
const mostTexts = 1 << 14

func (t *textTable) of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, known := t.known[string(b)]; known {
		return s
	}
	s := string(b)
	if t.known == nil {
		t.known = map[string]string{}
	}
	if len(t.known) < mostTexts {
		t.known[s] = s
	}
	return s
}
