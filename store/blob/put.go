package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/minio/minlz"

	"leakdiff/analysis"
)

// Put stores what r gives, at most limit bytes (no limit where it is 0 or less),
// in one pass: hash, compress, sync, rename. The content is durable when Put
// returns. Errors leave nothing behind: *analysis.Fault with Code "too_large"
// when r holds more than limit, "disk_full" when the volume does; the context's
// error when it ends; the reader's error as it is.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (Ref, error) {
	return s.PutFollowed(ctx, r, limit, nil)
}

// PutFollowed is Put that gives f the content while it is stored, where f is not nil
// and the content is compressed on the way in.
func (s *Store) PutFollowed(ctx context.Context, r io.Reader, limit int64, f *Follower) (Ref, error) {
	defer f.Leave()
	file, err := s.create(filepath.Join(s.dir, scratch))
	if err != nil {
		return Ref{}, fault(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()

	ref, suffix, err := fill(ctx, file, r, limit, f)
	if err != nil {
		return Ref{}, err
	}
	if err := file.Sync(); err != nil {
		return Ref{}, fault(err)
	}
	ref.Stored, err = s.keep(ctx, file, ref.SHA256, suffix)
	return ref, err
}

// keep gives the finished temporary file its name, unless the same content is there
// already and has its hash, and returns its stored size. What is there and damaged was
// set aside by then: this puts it back.
func (s *Store) keep(ctx context.Context, file *os.File, sha, suffix string) (stored int64, err error) {
	before := s.Verify(ctx, sha)
	var known *analysis.Fault
	if before != nil && !errors.As(before, &known) {
		return 0, before
	}
	path := s.path(sha, suffix)
	dir := filepath.Dir(path)
	made := os.Mkdir(dir, 0o700)
	if made != nil && !errors.Is(made, os.ErrExist) {
		return 0, fault(made)
	}
	if stored, err = s.place(file, path, sha, known); err != nil {
		return 0, err
	}
	if known != nil && known.Code == Damaged {
		s.log.Info("a damaged upload was put back by the same upload", "sha256", sha)
	}
	if made == nil {
		err = syncDir(s.dir)
	}
	// Whoever finds the file of another Put must not be acknowledged before its name is
	// durable either.
	return stored, errors.Join(err, syncDir(dir))
}

// place renames the temporary file, unless a verified one is there. known is what was wrong
// before, nil where nothing was.
func (s *Store) place(file *os.File, path, sha string, known *analysis.Fault) (stored int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there, info, err := s.find(sha)
	if err == nil && (known == nil || s.standsVerified(there, sha)) {
		if s.unclaimed[sha] > 0 {
			s.unclaimed[sha]++
		}
		return info.Size(), nil
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return 0, fault(err)
	}
	// What was stored just now was hashed on the way.
	if state, err := stateOf(file); err == nil {
		s.setTrusted(sha, state)
	}
	if known == nil || known.Code != Damaged {
		s.unclaimed[sha]++
	}
	info, err = file.Stat()
	if err != nil {
		return 0, fault(err)
	}
	return info.Size(), nil
}

// fill copies r into file, while another goroutine hashes it and f, if there is one,
// reads it, and returns what it read and the suffix that says how it was written.
func fill(ctx context.Context, file *os.File, r io.Reader, limit int64, f *Follower) (ref Ref, suffix string, err error) {
	src := &source{ctx: ctx, r: r, limit: limit}
	h := newHasher()
	defer h.end()
	p := newPieces(h, f)
	first := p.next()
	done := first.fill(src)
	var sink io.WriteCloser = &early{File: file}
	packs := !compressed(first.bytes)
	if packs && f != nil && !done {
		sink = newDirect(cached{file})
	}
	defer sink.Close()
	var out io.WriteCloser = sink
	suffix = verbatim
	if packs {
		out, suffix = packer(sink, cap(first.bytes)), packed
	} else {
		f.Leave()
	}
	for piece := first; ; done = piece.fill(src) {
		piece.users.Store(3)
		h.pieces <- piece
		f.give(piece)
		_, err = out.Write(piece.bytes)
		piece.release()
		if err != nil || done {
			break
		}
		piece = p.next()
	}
	if src.err != nil {
		return Ref{}, "", src.err
	}
	ref = Ref{SHA256: h.end(), Size: src.size}
	if err == nil {
		f.end(ref.SHA256)
	}
	for _, c := range []io.Closer{out, sink} {
		if closed := c.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		return Ref{}, "", fault(err)
	}
	return ref, suffix, nil
}

// What is hashed, compressed and read at once is a piece, and there are as many of them
// as let each go on while another one waits. A Put that is followed is the only one of
// its kind; of others there may be many, which take less memory.
const (
	pieceSize, pieceCount       = 256 << 10, 3
	followedSize, followedCount = 512 << 10, 4
)

// piece is a part of the content on its way to its users: the goroutine that
// compresses, the one that hashes and the follower.
type piece struct {
	bytes []byte
	users atomic.Int32
	free  chan<- *piece
}

// fill reads until the piece is full or src has no more.
func (p *piece) fill(src *source) (done bool) {
	p.bytes = p.bytes[:cap(p.bytes)]
	n := 0
	var err error
	for n < len(p.bytes) && err == nil {
		var m int
		m, err = src.Read(p.bytes[n:])
		n += m
	}
	p.bytes = p.bytes[:n]
	return err != nil
}

func (p *piece) release() {
	if p.users.Add(-1) == 0 {
		p.free <- p
	}
}

// pieces are those of one Put.
type pieces struct {
	hasher   *hasher
	follower *Follower
	free     chan *piece
	// made of them there are so far; size is in bytes.
	made, size int
	began      time.Time
	// waited is how long the follower alone was waited for since it began.
	waited time.Duration
}

func newPieces(h *hasher, f *Follower) *pieces {
	size, count := pieceSize, pieceCount
	if f != nil {
		size, count = followedSize, followedCount
	}
	return &pieces{hasher: h, follower: f, free: make(chan *piece, count), size: size, began: time.Now()}
}

// next is a piece that nobody uses any more. A follower that is waited for too long
// is left behind.
func (p *pieces) next() *piece {
	select {
	case piece := <-p.free:
		return piece
	default:
	}
	if p.made < cap(p.free) {
		p.made++
		return &piece{bytes: make([]byte, p.size), free: p.free}
	}
	for {
		began := time.Now()
		var piece *piece
		select {
		case piece = <-p.free:
		case <-time.After(patience / 10):
		}
		if p.follower.slowest(p.hasher) {
			p.waited += time.Since(began)
		}
		if p.waited > max(patience, time.Since(p.began)/2) {
			p.follower.Leave()
		}
		if piece != nil {
			return piece
		}
	}
}

// A hasher hashes the pieces sent to it in a goroutine.
type hasher struct {
	pieces chan *piece
	sum    chan string
	once   sync.Once
	hex    string
}

func newHasher() *hasher {
	h := &hasher{pieces: make(chan *piece, followedCount), sum: make(chan string, 1)}
	go func() {
		sum := sha256.New()
		for p := range h.pieces {
			sum.Write(p.bytes)
			p.release()
		}
		h.sum <- hex.EncodeToString(sum.Sum(nil))
	}()
	return h
}

// end returns the hash of all that was sent; nothing may be sent after it.
func (h *hasher) end() string {
	h.once.Do(func() {
		close(h.pieces)
		h.hex = <-h.sum
	})
	return h.hex
}

// packer compresses to w, in blocks of so many bytes at most.
func packer(w io.Writer, block int) io.WriteCloser {
	return pieceWriter{minlz.NewWriter(w, minlz.WriterLevel(minlz.LevelSuperFast), minlz.WriterConcurrency(1), minlz.WriterBlockSize(block), minlz.WriterCreateIndex(false))}
}

// early has the system write to the volume what was written so far, every earlySize
// bytes, or all of it would be waited for at the end.
type early struct {
	*os.File
	written, begun int64
}

const earlySize = 8 << 20

func (e *early) Write(p []byte) (int, error) {
	n, err := e.File.Write(p)
	e.written += int64(n)
	if e.written-e.begun >= earlySize {
		beginWriting(e.File, e.begun, e.written-e.begun)
		e.begun = e.written
	}
	return n, err
}

// Close leaves the file open, which is still to be synced.
func (*early) Close() error { return nil }

// pieceWriter compresses each piece as a block, where it lies.
type pieceWriter struct{ *minlz.Writer }

func (w pieceWriter) Write(p []byte) (int, error) { return len(p), w.EncodeBuffer(p) }

// compressed recognises content that compressing again would only cost time:
// gzip (RFC 1952), zstd (RFC 8878), zip and xz by their first bytes.
func compressed(head []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "PK\x03\x04", "\xfd7zXZ\x00"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// source reads the upload: it counts what passes, stops at the limit and at the end
// of the context, and remembers why, so that a failing reader can be told from a
// failing disk.
type source struct {
	ctx   context.Context
	r     io.Reader
	limit int64
	size  int64
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if err := s.ctx.Err(); err != nil {
		s.err = context.Cause(s.ctx)
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.size += int64(n)
	if s.limit > 0 && s.size > s.limit {
		s.err = tooLarge(s.limit)
		return 0, s.err
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func tooLarge(limit int64) error {
	return &analysis.Fault{
		Code: "too_large",
		What: "the upload is too large",
		Why:  fmt.Sprintf("it has more than %d bytes", limit),
		Hint: "Send only the dumps (goroutines, fdinfo, lsof), compress them, or have the limit of the server raised.",
	}
}

// fault turns the errors of a full volume into something to act on.
func fault(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &analysis.Fault{
			Code: "disk_full",
			What: "the upload was not kept",
			Why:  "the volume of the data directory is full",
			Hint: "Delete cases that are no longer needed or give the data directory more space, then upload again.",
			Err:  err,
		}
	}
	return fmt.Errorf("storing blob: %w", err)
}

// syncDir makes a rename or a removal in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fault(err)
	}
	defer d.Close()
	return fault(d.Sync())
}
