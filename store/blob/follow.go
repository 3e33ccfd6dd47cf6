package blob

import (
	"errors"
	"io"
	"sync"
	"time"
)

// patience is how long one Put waits in all for a follower that is slower than
// everything else, or half of the time that it takes where that is more.
const patience = 500 * time.Millisecond

// ErrLeft is what a Follower reads when the content does not go on for it: it was too
// slow, the content is stored as it came, or storing failed.
var ErrLeft = errors.New("the content is not followed any further")

// A Follower reads content while PutFollowed stores it. One goroutine at a time may
// Read and Close it. Whoever is too slow is left behind: storing comes first.
type Follower struct {
	pieces chan *piece
	// now is the piece being read, unread what is left of it.
	now    *piece
	unread []byte

	// over is what Read says from now on: io.EOF, or ErrLeft.
	over error

	mu sync.Mutex
	// closed says that pieces is, ended that the whole content was given, whose hash
	// is sha; read that Read gave all of it.
	closed, ended, read bool
	sha                 string
}

// NewFollower is a follower of one PutFollowed, which must be called.
func NewFollower() *Follower { return &Follower{pieces: make(chan *piece, followedCount)} }

// Read gives what was stored so far and waits for more. The error is io.EOF at the end
// of content that was hashed whole, and ErrLeft where it does not go on.
func (f *Follower) Read(p []byte) (int, error) {
	for len(f.unread) == 0 {
		if f.over != nil {
			return 0, f.over
		}
		f.drop()
		piece, more := <-f.pieces
		if !more {
			f.over = ErrLeft
			f.mu.Lock()
			if f.ended {
				f.over, f.read = io.EOF, true
			}
			f.mu.Unlock()
			continue
		}
		f.now, f.unread = piece, piece.bytes
	}
	n := copy(p, f.unread)
	f.unread = f.unread[n:]
	return n, nil
}

// SHA256 is the hash of the content, 64 lower-case hexadecimal digits, once Read has given
// all of it and said io.EOF; "" before that and where it never does.
func (f *Follower) SHA256() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.read {
		return ""
	}
	return f.sha
}

// Given is the hash of the content once all of it waits to be read, "" before that.
func (f *Follower) Given() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sha
}

// Close leaves, and gives back what was not read: Read says ErrLeft from now on, unless
// it said io.EOF.
func (f *Follower) Close() error {
	f.Leave()
	f.drop()
	if f.over == nil {
		f.over = ErrLeft
	}
	for piece := range f.pieces { // what was given before the end
		piece.release()
	}
	return nil
}

// drop gives back the piece that is being read.
func (f *Follower) drop() {
	f.unread = nil
	if f.now != nil {
		f.now.release()
		f.now = nil
	}
}

// give hands the follower a piece that it releases.
func (f *Follower) give(p *piece) {
	if f == nil {
		p.release()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		p.release()
		return
	}
	f.pieces <- p // has room for all pieces that there are
}

// slowest reports whether more waits for the follower than for the hash.
func (f *Follower) slowest(h *hasher) bool { return f != nil && len(f.pieces) > len(h.pieces)+1 }

// end says that the content is complete.
func (f *Follower) end(sha string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed, f.ended, f.sha = true, true, sha
		close(f.pieces)
	}
}

// Leave makes Read say ErrLeft from now on, unless it said io.EOF; the Put goes on
// alone. Any goroutine may call it.
func (f *Follower) Leave() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	close(f.pieces)
	for piece := range f.pieces {
		piece.release()
	}
}
