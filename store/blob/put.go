package blob

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/minio/minlz"

	"leakdiff/analysis"
)

// Put stores at most limit bytes of r (any number if limit is 0 or less) in one pass: hash,
// compress, sync, rename. The content is durable when Put returns. An error leaves nothing
// behind: *analysis.Fault with Code "too_large" if r is longer than limit, "disk_full" on a
// full volume, the context's error, or the unchanged error of the reader.
func (s *Directory) Put(ctx context.Context, r io.Reader, limit int64) (Ref, error) {
	file, err := s.files.Create(s.scratch())
	if err != nil {
		return Ref{}, s.fault(err)
	}
	defer s.files.Remove(file.Name())
	defer file.Close()

	c := contentOf(ctx, r, limit)
	if err := c.writeTo(file); err != nil {
		if c.src.err == nil {
			err = s.fault(err)
		}
		return Ref{}, err
	}
	if err := file.Sync(); err != nil {
		return Ref{}, s.fault(err)
	}
	ref := Ref{Name: Name{SHA256: c.sha256()}, Size: c.src.size}
	ref.Stored, err = s.keep(ctx, file, ref.SHA256, c.suffix)
	return ref, err
}

// keep renames the finished temporary file, unless the same content is stored already and
// has its hash, and returns its stored size. A damaged file was set aside before, and keep
// replaces it.
func (s *Directory) keep(ctx context.Context, file File, sha, suffix string) (stored int64, err error) {
	before := s.Verify(ctx, Name{SHA256: sha})
	var known *analysis.Fault
	if before != nil && (!errors.As(before, &known) || known.Code == Away) {
		return 0, before
	}
	path := s.path(sha, suffix)
	dir := filepath.Dir(path)
	if err := s.files.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return 0, s.fault(err)
	}
	if stored, err = s.place(file, path, sha, known); err != nil {
		return 0, err
	}
	if known != nil && known.Code == Damaged {
		s.log.Info("a damaged upload was put back by the same upload", "sha256", sha)
	}
	// A Put that finds the file of another Put must not be acknowledged before the name is
	// durable either.
	return stored, errors.Join(s.makeDurable(dir), s.fault(s.files.SyncDir(dir)))
}

// makeDurable syncs the name of a subdirectory once. Another Put, or another process, may
// have made it without coming so far.
func (s *Directory) makeDurable(dir string) error {
	s.mu.Lock()
	done := s.durable[dir]
	s.mu.Unlock()
	if done {
		return nil
	}
	if err := s.files.SyncDir(s.dir); err != nil {
		return s.fault(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.durable[dir] = true
	return nil
}

// place renames the temporary file, unless a verified one exists. known is the earlier
// damage, or nil.
func (s *Directory) place(file File, path, sha string, known *analysis.Fault) (stored int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there, info, err := s.find(sha)
	if err == nil && (known == nil || s.standsVerified(there, sha)) {
		if s.unclaimed[sha] > 0 {
			s.unclaimed[sha]++
		}
		return info.Size(), nil
	}
	if err := s.files.Rename(file.Name(), path); err != nil {
		return 0, s.fault(err)
	}
	// Put hashed the bytes while it wrote them.
	if state, err := stateOf(file); err == nil {
		s.setTrusted(sha, state)
	}
	if known == nil || known.Code != Damaged {
		s.unclaimed[sha]++
	}
	info, err = file.Stat()
	if err != nil {
		return 0, s.fault(err)
	}
	return info.Size(), nil
}

// blockSize is the largest block that is compressed at once, in bytes.
const blockSize = 512 << 10

// content is an upload that is read once.
type content struct {
	src *source
	in  *bufio.Reader
	sum hash.Hash
	// suffix is that of the encoding in which it is stored.
	suffix string
}

// contentOf reads the beginning of r, of which at most limit bytes are taken.
func contentOf(ctx context.Context, r io.Reader, limit int64) *content {
	c := &content{src: &source{ctx: ctx, r: r, limit: limit}, sum: sha256.New(), suffix: packed}
	c.in = bufio.NewReaderSize(c.src, 128<<10)
	head, _ := c.in.Peek(magicSize) // the next Read returns the error again
	if compressed(head) {
		c.suffix = verbatim
	}
	return c
}

// writeTo copies the upload to w, hashes it, and compresses what is not compressed yet. It
// returns the unchanged error of the reader or of w.
func (c *content) writeTo(w io.Writer) (err error) {
	if c.suffix == verbatim {
		_, err = c.in.WriteTo(io.MultiWriter(c.sum, w))
	} else {
		err = pack(w, c.in, c.sum)
	}
	if c.src.err != nil {
		return c.src.err
	}
	return err
}

// sha256 is the hash of what writeTo copied.
func (c *content) sha256() string { return hex.EncodeToString(c.sum.Sum(nil)) }

// pack compresses in to w. One goroutine compresses a block while another reads and hashes
// the next one.
func pack(w io.Writer, in *bufio.Reader, sum hash.Hash) error {
	out := minlz.NewWriter(w, minlz.WriterLevel(minlz.LevelSuperFast), minlz.WriterConcurrency(2), minlz.WriterBlockSize(blockSize), minlz.WriterCreateIndex(false))
	_, err := in.WriteTo(io.MultiWriter(sum, out))
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

// magicSize is the length of the longest magic number in compressed.
const magicSize = 5

// compressed recognises formats that do not shrink further by their first bytes: gzip (RFC
// 1952), zstd (RFC 8878), zip and xz.
func compressed(head []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "PK\x03\x04", "\xfd7zXZ\x00"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// source reads the upload. It counts the bytes, stops at the limit and at the end of the
// context, and stores its error, so that the caller can distinguish a failing reader from a
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

// fault replaces the errors of a full volume by a fault with a hint.
func (s *Directory) fault(err error) error {
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
	return s.away(fmt.Errorf("storing blob: %w", err))
}

// Away is the Code of the fault about a directory that cannot be used.
const Away = "uploads_unreachable"

// away makes a fault of an error by which the directory of the uploads cannot be used: its volume is
// not there, or its rights have changed. Nothing is wrong with what is kept in it.
func (s *Directory) away(err error) error {
	for _, no := range []error{fs.ErrPermission, syscall.ENOTDIR, syscall.EROFS, syscall.ESTALE, syscall.ENOTCONN, syscall.EIO} {
		if errors.Is(err, no) {
			s.log.Error("the directory of the uploads cannot be used", "dir", s.dir, "error", no)
			return &analysis.Fault{
				Code: Away, What: "uploads can neither be kept nor read at the moment", Why: "the directory where they are kept cannot be used; the log of the server says more",
				Hint: "Try again in a moment. What was acknowledged is not lost.", Err: err,
			}
		}
	}
	return err
}
