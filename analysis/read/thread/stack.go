package thread

import (
	"encoding/binary"
	"hash/maphash"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
)

const (
	// maxStackBytes bounds all kept stacks of one parse together.
	maxStackBytes = 8 << 20
	// frameBytes is about what an analysis.Frame costs.
	frameBytes = 48
)

// stackTable returns one pointer for equal stacks. A stack is looked up by 128 bits of
// hash with seeds that are random for each table, so nobody can construct two stacks
// that merge.
type stackTable struct {
	hash   [2]maphash.Hash
	kept   map[[2]uint64]*analysis.Stack
	names  map[string]string
	max    int
	bytes  int
	others int // threads that came with a new stack after the table was full
	full   *analysis.Stack
}

func newStackTable(maxStacks int) *stackTable {
	t := &stackTable{
		kept:  map[[2]uint64]*analysis.Stack{},
		names: map[string]string{},
		max:   maxStacks,
		full:  &analysis.Stack{Unavailable: analysis.TooManyStacks},
	}
	for i := range t.hash {
		t.hash[i].SetSeed(maphash.MakeSeed())
	}
	return t
}

// get returns the stack of frames. elided counts further frames that were left out, -1
// for an unknown number. Frames and their strings may be reused by the caller.
func (t *stackTable) get(frames []analysis.Frame, elided int) *analysis.Stack {
	sum := t.sum(frames, elided)
	if found := t.kept[sum]; found != nil {
		return found
	}
	if len(t.kept) >= t.max || t.bytes >= maxStackBytes {
		t.others++
		return t.full
	}
	added := &analysis.Stack{Frames: make([]analysis.Frame, len(frames)), Elided: elided}
	for i, f := range frames {
		added.Frames[i] = analysis.Frame{Func: t.name(f.Func), File: t.name(f.File), Line: f.Line}
	}
	t.bytes += frameBytes * (len(frames) + 1)
	t.kept[sum] = added
	return added
}

func (t *stackTable) sum(frames []analysis.Frame, elided int) [2]uint64 {
	var sum [2]uint64
	var number [24]byte
	for i := range t.hash {
		h := &t.hash[i]
		h.Reset()
		for _, f := range frames {
			binary.LittleEndian.PutUint64(number[:], uint64(len(f.Func)))
			binary.LittleEndian.PutUint64(number[8:], uint64(len(f.File)))
			binary.LittleEndian.PutUint64(number[16:], uint64(f.Line))
			h.Write(number[:])
			h.WriteString(f.Func)
			h.WriteString(f.File)
		}
		binary.LittleEndian.PutUint64(number[:], uint64(elided))
		h.Write(number[:8])
		sum[i] = h.Sum64()
	}
	return sum
}

// name interns s without keeping the line that it was cut from.
func (t *stackTable) name(s string) string {
	if known, ok := t.names[s]; ok {
		return known
	}
	kept := text(s)
	t.bytes += len(kept)
	t.names[kept] = kept
	return kept
}

// text is s on its own, with bytes that are no UTF-8 replaced, so that it reads
// the same after JSON.
func text(s string) string {
	if utf8.ValidString(s) {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
