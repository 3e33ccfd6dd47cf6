package analysis

// HeapOwner is by what the memory of a heap was counted.
type HeapOwner string

// A heap profile of Go counts by the stack that allocated, a class histogram of a JVM by class, a
// report of Node.js by the space of the heap.
const (
	HeapByStack HeapOwner = "stack"
	HeapByClass HeapOwner = "class"
	HeapBySpace HeapOwner = "space"
)

// Heap is what the heap of a process holds at one moment. Its rows have no identity: an object
// that was freed and one that came look like one that stayed.
type Heap struct {
	By HeapOwner
	// Bytes and Objects are those of all rows, also of those left out. Each saturates. Objects is 0
	// where they are not counted.
	Bytes, Objects int64
	// Rows are those with most bytes, most first. More counts those left out.
	Rows []HeapRow
	More int
	// LowerBound reports that a part of the evidence was not understood or is missing.
	LowerBound bool
}

// HeapRow is what is held of one stack, class or space. It has a Name or Frames, leaf first; one
// with neither is of all stacks that a parser does not tell apart. Elided counts frames left out.
type HeapRow struct {
	Name           string
	Frames         []Frame
	Elided         int
	Bytes, Objects int64
}

// HeapRows are those of the heap of a snapshot, nil where nothing shows it.
func (s *Snapshot) HeapRows() []HeapRow {
	if s.Heap == nil {
		return nil
	}
	return s.Heap.Rows
}

// HeapBytes is the figure with the bytes in use of a heap.
const HeapBytes = "heap_in_use_bytes"
