package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/minio/minlz"

	"leakdiff/analysis"
)

// Damaged is the Code of the fault about a blob whose hash differs from its name.
const Damaged = "damaged_bytes"

// trustTime is how long a verified file is trusted without hashing it again. A write changes
// its state and ends the trust at once; decay on the volume does not, and is found after
// this time.
const trustTime = 10 * time.Minute

// mostTrusted bounds the memory of verifications: an entry takes about 150 bytes, and an
// upload has at most 20,000 files.
const mostTrusted = 32 << 10

// trust is the verified state of a file and the time of the verification.
type trust struct {
	state fileState
	since time.Time
}

// trusted reports whether the blob was verified in this state recently.
func (s *Directory) trusted(sha string, state fileState) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh(sha, state)
}

// standsVerified is trusted for the file at path; the caller holds s.mu.
func (s *Directory) standsVerified(path, sha string) bool {
	file, err := s.files.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	state, err := stateOf(file)
	return err == nil && s.fresh(sha, state)
}

// fresh is trusted; the caller holds s.mu.
func (s *Directory) fresh(sha string, state fileState) bool {
	t, known := s.trusts[sha]
	return known && t.state == state && s.now().Sub(t.since) < trustTime
}

// setTrusted records a verification of this state; the caller holds s.mu.
func (s *Directory) setTrusted(sha string, state fileState) {
	if len(s.trusts) >= mostTrusted {
		clear(s.trusts)
	}
	s.trusts[sha] = trust{state, s.now()}
}

// Verify reads a blob to its end, unless it was verified recently and not written since. The
// error is nil if the hash matches, an *analysis.Fault with Code Damaged if it differs,
// "not_found" without a file, or ctx's. Verify moves a damaged file to DIR/damaged.
func (s *Directory) Verify(ctx context.Context, name Name) error {
	r, err := s.open(name.SHA256)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.sum == nil {
		return nil
	}
	buf := make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if _, err := r.Read(buf); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Matches reads a stored file from a copy, and compares the hash of its content with its name.
func Matches(file string, stored io.Reader) error {
	sha, _ := hashOf(filepath.Base(file))
	if filepath.Ext(file) == packed {
		stored = minlz.NewReader(stored, minlz.ReaderMaxBlockSize(blockSize))
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, stored); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != sha {
		return fmt.Errorf("blob %s: the copy has the SHA-256 %s", sha, got)
	}
	return nil
}

// A reader hashes a blob as it is read. It returns io.EOF only if the hash matches the name.
type reader struct {
	store *Directory
	sha   string
	path  string
	file  File
	// content is file or its decompressor.
	content io.Reader
	// state is the state of the file when it was opened.
	state fileState
	// sum hashes everything read; nil if the file is trusted.
	sum hash.Hash
	// err is the final error.
	err error
}

// open opens a blob and hashes it during reads, unless it is trusted.
func (s *Directory) open(sha string) (*reader, error) {
	path, _, err := s.find(sha)
	if err != nil {
		return nil, err
	}
	file, err := s.files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.absent(sha)
	}
	if err != nil {
		return nil, s.away(fmt.Errorf("opening blob %s: %w", sha, err))
	}
	r := &reader{store: s, sha: sha, path: path, file: file, content: file}
	if r.state, err = stateOf(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("opening blob %s: %w", sha, err)
	}
	if !s.trusted(sha, r.state) {
		r.sum = sha256.New()
	}
	if filepath.Ext(path) == packed {
		r.content = minlz.NewReader(file, minlz.ReaderMaxBlockSize(blockSize))
	}
	return r, nil
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.content.Read(p)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	if err != nil {
		r.err = r.verdict(err)
	}
	return n, r.err
}

// verdict returns the final error of the reader. Errors of opening or reading a file that
// prove no damage pass unchanged.
func (r *reader) verdict(end error) error {
	var system *fs.PathError
	switch {
	case errors.As(end, &system) && errors.Is(end, syscall.EIO):
		return r.store.quarantine(r, "the volume cannot read it: "+system.Err.Error())
	case errors.As(end, &system):
		return fmt.Errorf("reading blob %s: %w", r.sha, end)
	case end != io.EOF:
		return r.store.quarantine(r, "what was compressed cannot be unpacked: "+end.Error())
	case r.sum == nil:
		return io.EOF
	}
	if got := hex.EncodeToString(r.sum.Sum(nil)); got != r.sha {
		return r.store.quarantine(r, "what is stored has the SHA-256 "+got[:12]+"…")
	}
	r.store.mu.Lock()
	r.store.setTrusted(r.sha, r.state)
	r.store.mu.Unlock()
	return io.EOF
}

func (r *reader) Close() error {
	return r.file.Close()
}

// A seeker reads a verbatim file out of order. It cannot hash such reads, so the caller uses
// Verify.
type seeker struct {
	*reader
	// at is the offset of the next read, hashed the number of bytes read in order.
	at, hashed int64
}

func (r *seeker) Read(p []byte) (int, error) {
	if r.at != r.hashed {
		r.sum = nil
	}
	n, err := r.reader.Read(p)
	r.at += int64(n)
	r.hashed = r.at
	return n, err
}

func (r *seeker) ReadAt(p []byte, offset int64) (int, error) { return r.file.ReadAt(p, offset) }

func (r *seeker) Seek(offset int64, whence int) (int64, error) {
	at, err := r.file.Seek(offset, whence)
	if err == nil {
		r.at, r.err = at, nil
	}
	return at, err
}

// quarantine moves the file of the reader to DIR/damaged, unless it was replaced or written
// meanwhile, and returns the fault.
func (s *Directory) quarantine(r *reader, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trusts, r.sha)
	if s.readOnly {
		return s.damaged(r.sha, why)
	}
	now, err := stateOf(r.file)
	if err != nil || now != r.state {
		return s.damaged(r.sha, "it was written to while it was read")
	}
	opened, err := r.file.Stat()
	if err != nil {
		return s.damaged(r.sha, why)
	}
	if there, err := os.Stat(r.path); err != nil || !os.SameFile(opened, there) {
		return s.damaged(r.sha, why)
	}
	kept, err := s.setAside(r.path)
	if err != nil {
		s.log.Error("a stored upload is damaged and could not be set aside", "sha256", r.sha, "file", r.path, "why", why, "error", err)
		return s.damaged(r.sha, why)
	}
	s.log.Error("a stored upload is damaged: the same upload puts it back", "sha256", r.sha, "file", r.path, "why", why, "kept", kept)
	return s.damaged(r.sha, why+"; what is left of it is kept as "+s.shown(kept))
}

// setAside moves a damaged file to a unique name in DIR/damaged; the caller holds s.mu.
func (s *Directory) setAside(path string) (kept string, err error) {
	kept = filepath.Join(s.dir, damagedDir, filepath.Base(path))
	if err := s.files.Mkdir(filepath.Dir(kept)); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	for n := 2; ; n++ {
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
		kept = filepath.Join(s.dir, damagedDir, filepath.Base(path)+"."+strconv.Itoa(n))
	}
	if err := s.files.Rename(path, kept); err != nil {
		return "", err
	}
	return kept, s.fault(errors.Join(s.files.SyncDir(filepath.Dir(kept)), s.files.SyncDir(filepath.Dir(path))))
}

// setAsideOf returns the damaged files of a blob.
func (s *Directory) setAsideOf(sha string) []string {
	files, _ := os.ReadDir(filepath.Join(s.dir, damagedDir))
	var found []string
	for _, f := range files {
		if strings.HasPrefix(f.Name(), sha+".") {
			found = append(found, filepath.Join(s.dir, damagedDir, f.Name()))
		}
	}
	return found
}

// shown shortens a path for messages: it omits the data directory.
func (s *Directory) shown(path string) string {
	below, err := filepath.Rel(filepath.Dir(s.dir), path)
	if err != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(below)
}

// damaged is the fault about a blob that cannot be trusted.
func (s *Directory) damaged(sha, why string) error {
	return &analysis.Fault{
		Code:  Damaged,
		What:  "the stored bytes of this file are damaged",
		Where: printable(sha) + " in " + s.shown(filepath.Join(s.dir, sha[:2])),
		Why:   why,
		Hint:  "Upload the same file again: that puts it back for every case that holds it. Then check the volume of the data directory.",
	}
}

// absent is the fault about a blob without a file: set aside as damaged, never stored, or
// deleted.
func (s *Directory) absent(sha string) error {
	if kept := s.setAsideOf(sha); len(kept) > 0 {
		return s.damaged(sha, "there is no file with that SHA-256; what was found damaged of it is kept as "+s.shown(kept[len(kept)-1]))
	}
	return notFound(sha)
}

// Look checks for a blob without reading it. Its error is that of Verify if the blob was set
// aside as damaged or has no file.
func (s *Directory) Look(_ context.Context, name Name) error {
	_, _, err := s.find(name.SHA256)
	return err
}
