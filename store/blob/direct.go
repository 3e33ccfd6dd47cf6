package blob

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Direct writes are of directSize bytes from directCount buffers; their addresses, lengths
// and places in the file are multiples of directAlign (open(2), O_DIRECT).
const (
	directSize, directCount = 512 << 10, 2
	directAlign             = 4096
)

// uncached is a file that can be written past the page cache of the system.
type uncached interface {
	io.Writer
	// bypass says whether to do so. The error is not nil where that cannot be.
	bypass(bool) error
}

// direct writes a large file past the page cache, in a goroutine. Nobody reads such a blob
// soon, and to copy it into the cache, page by page, takes a twentieth of all the time that
// an upload takes.
type direct struct {
	file uncached
	// now is being filled; full are on their way to the file, free came back.
	now        []byte
	full, free chan []byte
	failed     atomic.Pointer[error]
	once       sync.Once
	ended      chan struct{}
}

func newDirect(file uncached) *direct {
	d := &direct{file: file, full: make(chan []byte, directCount), free: make(chan []byte, directCount), ended: make(chan struct{})}
	for range directCount {
		d.free <- aligned(directSize)
	}
	d.now = <-d.free
	go d.run(file.bypass(true) == nil)
	return d
}

// aligned is an empty slice with room for size bytes at an address that is a multiple of
// directAlign.
func aligned(size int) []byte {
	b := make([]byte, size+directAlign)
	from := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (directAlign - 1)
	return b[from : from : from+size]
}

// Write hands over what fills a buffer. The error may be that of an earlier one.
func (d *direct) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(d.now[len(d.now):cap(d.now)], rest)
		d.now, rest = d.now[:len(d.now)+n], rest[n:]
		if len(d.now) == cap(d.now) {
			d.full <- d.now
			d.now = <-d.free
		}
	}
	return len(p), d.err()
}

// Close writes what is left and waits for all of it; nothing may be written after it.
func (d *direct) Close() error {
	d.once.Do(func() {
		d.full <- d.now
		close(d.full)
		<-d.ended
	})
	return d.err()
}

func (d *direct) err() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *direct) run(bypassing bool) {
	defer close(d.ended)
	for b := range d.full {
		if d.err() == nil {
			if err := d.flush(b, &bypassing); err != nil {
				d.failed.Store(&err)
			}
		}
		d.free <- b[:0]
	}
}

// flush writes a buffer; the last one, whose length is any, and all after one that the file
// system did not take, through the page cache.
func (d *direct) flush(b []byte, bypassing *bool) error {
	if *bypassing && len(b)%directAlign == 0 {
		n, err := d.file.Write(b)
		if !errors.Is(err, syscall.EINVAL) {
			return err
		}
		b = b[n:]
	}
	if *bypassing {
		*bypassing = false
		if err := d.file.bypass(false); err != nil {
			return err
		}
	}
	_, err := d.file.Write(b)
	return err
}
