package analysis

// Listener is the goroutine with the smallest id of those that wait for clients to connect, and
// the address of what the runtime knows of its socket (internal/poll.runtime_pollWait). The
// address stays as long as the process listens, and is outside the heap, where the system
// puts the memory of each process elsewhere.
type Listener struct {
	Goroutine int64  `json:"goroutine"`
	Address   uint64 `json:"address"`
}

// SameProcess reports whether two dumps are of one process, and whether their listeners tell it:
// one of another goroutine may be another of the same process.
func (l Listener) SameProcess(other Listener) (same, known bool) {
	if l.Address == 0 || other.Address == 0 {
		return false, false
	}
	same = l.Address == other.Address
	return same, same || l.Goroutine == other.Goroutine
}
