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
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"leakdiff/analysis"
)

// Put stores what r gives, at most limit bytes (no limit where it is 0 or less),
// in one pass: hash, compress, sync, rename. The content is durable when Put
// returns. Errors leave nothing behind: *analysis.Fault with Code "too_large"
// when r holds more than limit, "disk_full" when the volume does; the context's
// error when it ends; the reader's error as it is.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (Ref, error) {
	file, err := s.create(filepath.Join(s.dir, scratch))
	if err != nil {
		return Ref{}, fault(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()

	ref, suffix, err := fill(ctx, file, r, limit)
	if err != nil {
		return Ref{}, err
	}
	if err := file.Sync(); err != nil {
		return Ref{}, fault(err)
	}
	ref.Stored, err = s.keep(file, ref.SHA256, suffix)
	return ref, err
}

// keep gives the finished temporary file its name, unless the same content is
// there already, and returns its stored size.
func (s *Store) keep(file *os.File, sha, suffix string) (stored int64, err error) {
	if path, info, err := s.find(sha); err == nil {
		// A fresh time protects the blob from being collected before the new
		// upload's rows refer to it.
		now := time.Now()
		if err := os.Chtimes(path, now, now); err == nil {
			return info.Size(), nil
		}
	}
	info, err := file.Stat()
	if err != nil {
		return 0, fault(err)
	}
	path := s.path(sha, suffix)
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err == nil {
		err = syncDir(s.dir)
		if err != nil {
			return 0, err
		}
	} else if !errors.Is(err, os.ErrExist) {
		return 0, fault(err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return 0, fault(err)
	}
	return info.Size(), syncDir(dir)
}

// fill copies r into file, while another goroutine hashes it, and returns what it
// read and the suffix that says how it was written.
func fill(ctx context.Context, file *os.File, r io.Reader, limit int64) (ref Ref, suffix string, err error) {
	src := &source{ctx: ctx, r: r, limit: limit}
	h := newHasher()
	defer h.end()
	first := <-h.free
	n, done := readFull(src, first)
	out, suffix, err := writer(file, first[:n])
	if err != nil {
		return Ref{}, "", fault(err)
	}
	for buf := first; ; n, done = readFull(src, buf) {
		h.full <- buf[:n]
		if _, err = out.Write(buf[:n]); err != nil || done {
			break
		}
		buf = <-h.free
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if src.err != nil {
		return Ref{}, "", src.err
	}
	if err != nil {
		return Ref{}, "", fault(err)
	}
	return Ref{SHA256: h.end(), Size: src.size}, suffix, nil
}

// readFull reads until buf is full or src has no more.
func readFull(src *source, buf []byte) (n int, done bool) {
	for n < len(buf) {
		m, err := src.Read(buf[n:])
		n += m
		if err != nil {
			return n, true
		}
	}
	return n, false
}

// A hasher hashes buffers in a goroutine: whoever takes one from free, fills it and
// sends it to full may go on reading it until he takes the next.
type hasher struct {
	full, free chan []byte
	sum        chan string
	once       sync.Once
	hex        string
}

const (
	hashBuffers = 3
	hashBuffer  = 256 << 10
)

func newHasher() *hasher {
	h := &hasher{full: make(chan []byte, hashBuffers), free: make(chan []byte, hashBuffers), sum: make(chan string, 1)}
	for range hashBuffers {
		h.free <- make([]byte, hashBuffer)
	}
	go func() {
		sum := sha256.New()
		for buf := range h.full {
			sum.Write(buf)
			h.free <- buf[:cap(buf)]
		}
		h.sum <- hex.EncodeToString(sum.Sum(nil))
	}()
	return h
}

// end returns the hash of all that was sent; nothing may be sent after it.
func (h *hasher) end() string {
	h.once.Do(func() {
		close(h.full)
		h.hex = <-h.sum
	})
	return h.hex
}

// writer writes to file as content that begins with head is to be stored.
func writer(file *os.File, head []byte) (out io.WriteCloser, suffix string, err error) {
	if compressed(head) {
		return unclosed{file}, verbatim, nil
	}
	enc, err := zstd.NewWriter(file,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(window))
	return enc, packed, err
}

// unclosed leaves the file open, which is still to be synced.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

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
