package goroutine

import "strings"

// slab hands out pieces of larger allocations: a dump has some thousand small
// things that live as long as its stacks do.
type slab[T any] struct {
	free []T
	last int // length of the last allocation
}

const firstSlab, largestSlab = 4, 8 << 10

// take returns n zero values. Appending to them does not reach others.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		s.last = min(max(2*s.last, firstSlab), largestSlab)
		s.free = make([]T, max(n, s.last))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// one returns a place for one value.
func (s *slab[T]) one() *T { return &s.take(1)[0] }

// keep returns a copy.
func (s *slab[T]) keep(b []T) []T {
	out := s.take(len(b))
	copy(out, b)
	return out
}

// textSlab is a slab for strings.
type textSlab struct {
	chunk strings.Builder
	last  int // length of the last chunk
}

const firstChunk, largestChunk = 256, 8 << 10

// keep returns b as a string.
func (t *textSlab) keep(b []byte) string {
	if t.chunk.Cap()-t.chunk.Len() < len(b) {
		t.chunk = strings.Builder{}
		t.last = min(max(2*t.last, firstChunk), largestChunk)
		t.chunk.Grow(max(len(b), t.last))
	}
	at := t.chunk.Len()
	t.chunk.Write(b)
	return t.chunk.String()[at:]
}
