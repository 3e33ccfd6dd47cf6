package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"sync"
	"sync/atomic"

	"leakdiff/analysis/read/bundle"
)

// content is what a member's reader reads. It counts and hashes the bytes that pass.
// After the first Read a large member is unpacked in a goroutine and hashed in another;
// until the content ends or is closed, the member must not be used.
type content struct {
	body io.Reader
	// large members are read ahead.
	large bool
	n     int64
	// hash is nil if known is set, which returns the hash of an upload that is its only
	// file.
	hash       hash.Hash
	known      func() string
	prefetcher *prefetcher
	// spare are buffers of earlier members.
	spare *[][]byte
	// digest and text are the hash and how it is written.
	digest [sha256.Size]byte
	text   [2 * sha256.Size]byte
}

// open begins to read a member; known, if set, returns its hash. Only one member is
// open at a time: they share their state.
func (r *reader) open(m *bundle.Member, known func() string) *content {
	c := &r.content
	*c = content{body: m.Body, large: !m.Whole(), known: known, spare: &r.buffers}
	if known == nil {
		r.hash.Reset()
		c.hash = r.hash
	}
	return c
}

func (c *content) Read(p []byte) (int, error) {
	if c.large && c.prefetcher == nil {
		c.prefetcher = prefetch(c.body, c.hash, *c.spare)
		*c.spare = nil
		c.body = c.prefetcher
	}
	n, err := c.body.Read(p)
	c.n += int64(n)
	if !c.large && c.hash != nil {
		c.hash.Write(p[:n])
	}
	return n, err
}

// rest reads to the end.
func (c *content) rest() error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// sum is the hash of all that was read, in lower-case hex. Nothing can be read after
// it.
func (c *content) sum() string {
	c.close()
	if c.hash == nil {
		return c.known()
	}
	hex.Encode(c.text[:], c.hash.Sum(c.digest[:0]))
	return string(c.text[:])
}

func (c *content) close() {
	if c.prefetcher != nil {
		c.prefetcher.close()
		if buffers := c.prefetcher.buffers(); buffers != nil {
			*c.spare = buffers
		}
	}
}

// At most prefetchBlocks blocks of prefetchSize bytes are read ahead.
const (
	prefetchBlocks = 4
	prefetchSize   = 256 << 10
)

// prefetcher reads a body in a goroutine of its own, and hashes it in another.
type prefetcher struct {
	free   chan []byte
	read   chan *block
	hashed chan *block
	stop   chan struct{}
	once   sync.Once
	wait   sync.WaitGroup
	// now is the block being read, unread what is left of it.
	now    *block
	unread []byte
}

// block is a part of a body that users goroutines still need.
type block struct {
	buf   []byte
	n     int
	err   error
	users atomic.Int32
}

// prefetch hashes nothing if sum is nil. It reads into the spare buffers first, which are
// then its own.
func prefetch(body io.Reader, sum hash.Hash, spare [][]byte) *prefetcher {
	a := &prefetcher{free: make(chan []byte, prefetchBlocks), read: make(chan *block, prefetchBlocks), stop: make(chan struct{})}
	for i := range prefetchBlocks {
		if i < len(spare) {
			a.free <- spare[i]
		} else {
			a.free <- nil
		}
	}
	if sum != nil {
		a.hashed = make(chan *block, prefetchBlocks)
		a.wait.Go(func() {
			for b := range a.hashed {
				sum.Write(b.buf[:b.n])
				a.release(b)
			}
		})
	}
	a.wait.Go(func() { a.fill(body) })
	return a
}

// fill reads until the end, an error or close.
func (a *prefetcher) fill(body io.Reader) {
	defer close(a.read)
	if a.hashed != nil {
		defer close(a.hashed)
	}
	for {
		select {
		case <-a.stop:
			return
		case buf := <-a.free:
			if buf == nil {
				buf = make([]byte, prefetchSize)
			}
			b := &block{buf: buf}
			b.n, b.err = readFull(body, buf)
			b.users.Store(1)
			if a.hashed != nil {
				b.users.Store(2)
				a.hashed <- b
			}
			a.read <- b
			if b.err != nil {
				return
			}
		}
	}
}

// readFull fills buf until the body ends. A decoder that panics must not end the
// program: the panic is handed to the goroutine that can recover.
func readFull(body io.Reader, buf []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	for n < len(buf) && err == nil {
		var m int
		m, err = body.Read(buf[n:])
		n += m
	}
	return n, err
}

type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprint(p.value) }

func (a *prefetcher) release(b *block) {
	if b.users.Add(-1) == 0 {
		a.free <- b.buf
	}
}

func (a *prefetcher) Read(p []byte) (int, error) {
	for len(a.unread) == 0 {
		if a.now != nil && a.now.err != nil {
			if v, ok := a.now.err.(*panicked); ok {
				panic(v.value)
			}
			return 0, a.now.err
		}
		if a.now != nil {
			a.release(a.now)
			a.now = nil
		}
		b, more := <-a.read
		if !more {
			return 0, io.ErrClosedPipe
		}
		a.now, a.unread = b, b.buf[:b.n]
	}
	n := copy(p, a.unread)
	a.unread = a.unread[n:]
	return n, nil
}

// close stops reading ahead; what was read is hashed when it returns.
func (a *prefetcher) close() {
	a.once.Do(func() {
		close(a.stop)
		a.wait.Wait()
	})
}

// buffers returns the buffers of a closed prefetcher, once.
func (a *prefetcher) buffers() [][]byte {
	var out [][]byte
	take := func(buf []byte) {
		if buf != nil {
			out = append(out, buf)
		}
	}
	for b := range a.read {
		take(b.buf)
	}
	if a.now != nil {
		take(a.now.buf)
		a.now, a.unread = &block{err: a.now.err}, nil
	}
	for {
		select {
		case buf := <-a.free:
			take(buf)
		default:
			return out
		}
	}
}
