package store

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
)

// The reserve for ends of jobs and deletions on a full volume. Saving a result may shrink it
// to reserveForDeleting, which is enough for dozens of deletions of small cases, or for one
// case with a million goroutines.
const (
	reserveFile        = "leakdiff.reserve"
	reserveSize        = 32 << 20
	reserveForDeleting = 8 << 20
	// firstGiven is the first part that a small write takes; the rest stays for later writes.
	firstGiven = 256 << 10
)

// A reserve is a file that occupies space. It shrinks when the volume has no other space
// left.
type reserve struct {
	path string
	mu   sync.Mutex
	// held is the size of the file.
	held int64
}

func openReserve(path string) *reserve {
	r := &reserve{path: path}
	if info, err := os.Stat(path); err == nil {
		r.held = info.Size()
	}
	return r
}

// shrink reduces the reserve to a size and reports whether it freed anything.
func (r *reserve) shrink(to int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut(to)
}

// give frees so many bytes and reports whether it freed anything.
func (r *reserve) give(size int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut(max(0, r.held-size))
}

func (r *reserve) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held == 0
}

func (r *reserve) cut(to int64) bool {
	if r.held <= to {
		return false
	}
	if err := os.Truncate(r.path, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	r.held = to
	return true
}

// restore grows the reserve: to reserveSize if at least as much stays free, else to a
// quarter of the free space.
func (r *reserve) restore(free int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := int64(reserveSize)
	if free+r.held < 2*reserveSize {
		want = (free + r.held) / 4
	}
	missing := want - r.held
	if missing < firstGiven {
		return nil
	}
	file, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := allocate(file, r.held, missing); err != nil {
		return errors.Join(err, file.Truncate(r.held))
	}
	r.held = want
	return nil
}

// fill writes bytes that no file system can compress.
func fill(file *os.File, offset, size int64) error {
	noise := make([]byte, 256<<10)
	random := rand.NewChaCha8([32]byte{})
	for size > 0 {
		random.Read(noise)
		n, err := file.WriteAt(noise[:min(size, int64(len(noise)))], offset)
		if err != nil {
			return err
		}
		offset, size = offset+int64(n), size-int64(n)
	}
	return nil
}

// restoreReserve grows the reserve if the volume has room.
func (s *Store) restoreReserve(ctx context.Context) {
	free, err := s.uploads.Free()
	if err == nil {
		err = s.reserve.restore(free)
	}
	if err == nil && s.reserve.empty() {
		s.log.WarnContext(ctx, "no space is reserved, for the volume has too little: should it become full, deleting has no room and ends of readings wait", "free", free)
	}
	if err != nil {
		s.log.WarnContext(ctx, "no space was reserved for deleting on a full volume", "error", err)
	}
}
