package goroutine

import "strings"

// arena cuts small values from larger allocations: a dump has some thousand of them,
// which live as long as its stacks do.
type arena[T any] struct {
	free []T
	last int // length of the last allocation
}

const firstAllocation, largestAllocation = 4, 8 << 10

// take returns n zero values. Appending to them does not reach others.
func (s *arena[T]) take(n int) []T {
	if n > len(s.free) {
		s.last = min(max(2*s.last, firstAllocation), largestAllocation)
		s.free = make([]T, max(n, s.last))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// one returns a place for one value.
func (s *arena[T]) one() *T { return &s.take(1)[0] }

// keep returns a copy.
func (s *arena[T]) keep(b []T) []T {
	out := s.take(len(b))
	copy(out, b)
	return out
}

// textArena is an arena for strings.
type textArena struct {
	chunk strings.Builder
	last  int // length of the last chunk
}

const firstChunk, largestChunk = 256, 8 << 10

// keep returns b as a string.
func (t *textArena) keep(b []byte) string {
	if t.chunk.Cap()-t.chunk.Len() < len(b) {
		t.chunk = strings.Builder{}
		t.last = min(max(2*t.last, firstChunk), largestChunk)
		t.chunk.Grow(max(len(b), t.last))
	}
	at := t.chunk.Len()
	t.chunk.Write(b)
	return t.chunk.String()[at:]
}
