package envelope

import (
	"encoding/binary"
	"sort"
)

// markStride is the number of checkpoints that one look-up may have to decode.
const markStride = 128

// checkpoints map the beginnings of goroutines in a plain text to their places in
// the artifact: the differences from one to the next as varints, some 8 bytes
// for a goroutine.
type checkpoints struct {
	data  []byte
	index []markAt
	n     int
	last  mark
}

type mark struct{ plain, line, raw int64 }

// markAt is where in data a checkpoint ends, and its value.
type markAt struct {
	at   int
	mark mark
}

// add appends a checkpoint and returns how many bytes it takes.
func (c *checkpoints) add(m mark) int {
	before := len(c.data)
	c.data = binary.AppendUvarint(c.data, uint64(m.plain-c.last.plain))
	c.data = binary.AppendVarint(c.data, m.line-c.last.line)
	c.data = binary.AppendVarint(c.data, m.raw-c.last.raw)
	c.last = m
	if c.n%markStride == 0 {
		c.index = append(c.index, markAt{len(c.data), m})
	}
	c.n++
	return len(c.data) - before
}

// cursor looks checkpoints up. From one look-up to the next further on it decodes
// only what lies between.
type cursor struct {
	in    *checkpoints
	chunk int // of the index
	at    int // where the next checkpoint begins in data
	mark  mark
	valid bool
}

// find returns the last checkpoint at or before a plain offset, false if there is none.
func (c *cursor) find(plain int64) (mark, bool) {
	index := c.in.index
	if next := c.chunk + 1; !c.valid || plain < c.mark.plain || next < len(index) && index[next].mark.plain <= plain {
		n := sort.Search(len(index), func(i int) bool { return index[i].mark.plain > plain })
		if c.valid = n > 0; !c.valid {
			return mark{}, false
		}
		c.chunk, c.at, c.mark = n-1, index[n-1].at, index[n-1].mark
	}
	for c.at < len(c.in.data) {
		data := c.in.data[c.at:]
		step, n := binary.Uvarint(data)
		if c.mark.plain+int64(step) > plain {
			break
		}
		lines, m := binary.Varint(data[n:])
		raw, k := binary.Varint(data[n+m:])
		c.at += n + m + k
		c.mark = mark{c.mark.plain + int64(step), c.mark.line + lines, c.mark.raw + raw}
	}
	return c.mark, true
}
