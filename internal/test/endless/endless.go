// Package endless is for tests alone: it makes JSON of megabytes without keeping it,
// and measures how much memory its parser holds meanwhile.
package endless

import (
	"io"
	"runtime"
	"strings"

	"leakdiff/samples/corpus"
)

// Reader reads a beginning and then one chunk again and again.
type Reader struct {
	io.Reader
	chunks chunks
	before uint64
}

// New returns a Reader of begin and 40,000 times chunk, or 4,000 times under the race
// detector, which makes parsers ten times slower.
func New(begin, chunk string) *Reader {
	r := &Reader{chunks: chunks{text: chunk, left: 40_000}, before: alive()}
	if corpus.Race {
		r.chunks.left = 4_000
	}
	r.Reader = io.MultiReader(strings.NewReader(begin), &r.chunks)
	return r
}

// Grown returns by how many MiB the heap grew at most since New, measured every 4 MiB.
func (r *Reader) Grown() int64 { return (int64(r.chunks.most) - int64(r.before)) >> 20 }

type chunks struct {
	text string
	// left counts the chunks to come, at is the position in the current one.
	left, at   int
	read, next int
	most       uint64
}

func (c *chunks) Read(p []byte) (int, error) {
	filled := 0
	for filled < len(p) && c.left > 0 {
		n := copy(p[filled:], c.text[c.at:])
		filled += n
		if c.at += n; c.at == len(c.text) {
			c.at = 0
			c.left--
		}
	}
	if filled == 0 {
		return 0, io.EOF
	}
	if c.read += filled; c.read >= c.next {
		c.next = c.read + 4<<20
		c.most = max(c.most, alive())
	}
	return filled, nil
}

// alive returns how much of the heap is in use, without garbage.
func alive() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
