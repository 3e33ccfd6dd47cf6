// Package blob stores the raw bytes of uploads. It maps readers to names and names to
// readers. It does not know what the bytes mean, who uploaded them and whether anything
// refers to them.
//
// A Directory has each content once, under the SHA-256 of the raw bytes. Its layout is
// DIR/ab/abcdef….mz (MinLZ) for content that Put compressed, DIR/ab/abcdef….raw for content
// that was compressed already, DIR/tmp/ for unfinished files and DIR/damaged/ for files whose
// hash differs from their name. A file gets its name by a rename after its bytes are synced, so
// a reader never sees half a blob. Every file is hashed when it is read, and before an upload
// of the same bytes reuses it.
//
// A Bucket has an object for each upload, under a random name.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"leakdiff/analysis"
)

const (
	packed   = ".mz"
	verbatim = ".raw"

	scratch    = "tmp"
	damagedDir = "damaged"
)

// suffixes are the file name suffixes of blobs.
var suffixes = []string{packed, verbatim}

// Store is what callers of this package need of any place of contents. Its methods are safe
// for concurrent use.
type Store interface {
	// Put stores at most limit bytes of r, any number for 0 or less. The content is durable
	// when it returns. An error leaves nothing that anybody reads: *analysis.Fault with Code
	// "too_large" if r is longer than limit, the context's error, or the unchanged error of
	// the reader.
	Put(ctx context.Context, r io.Reader, limit int64) (Ref, error)
	// Open returns the raw bytes; the caller closes the reader. The reader hashes what is read
	// in order, and returns an *analysis.Fault with Code Damaged instead of io.EOF if the hash
	// differs. A caller that stops earlier, or uses bytes before the end, must call Verify.
	Open(ctx context.Context, name Name) (io.ReadCloser, error)
	// Verify reads content to its end, unless it was verified recently and not written since.
	// The error is nil if the hash matches, an *analysis.Fault with Code Damaged if it differs,
	// "not_found" if there is no such content, or ctx's.
	Verify(ctx context.Context, name Name) error
	// Look is Verify without reading: content that is there may be damaged.
	Look(ctx context.Context, name Name) error
	// Delete removes content. Deleting missing content is no error.
	Delete(ctx context.Context, name Name) error
}

// Name names content in a Store.
type Name struct {
	// SHA256 is the hash of the raw bytes, 64 lower-case hexadecimal digits.
	SHA256 string
	// Object is that which a Bucket made for the content, "" in a Directory.
	Object string
}

// Directory is a Store in a directory.
type Directory struct {
	dir      string
	files    Files
	readOnly bool
	now      func() time.Time
	log      *slog.Logger

	mu sync.Mutex
	// durable are the subdirectories whose own names were synced.
	durable map[string]bool
	// trusts are the recent verifications, by hash.
	trusts map[string]trust
	// unclaimed counts the Puts that added a blob and were not claimed yet, by hash.
	unclaimed map[string]int
}

// Ref identifies stored content.
type Ref struct {
	Name
	// Size is the number of raw bytes, Stored the number of bytes on the volume.
	Size   int64
	Stored int64
}

// Entry is one blob of List.
type Entry struct {
	SHA256 string
	// Stored is in bytes on the volume.
	Stored int64
}

// Config configures a Directory. Dir and Log are required.
type Config struct {
	Dir string
	// Log receives damaged blobs.
	Log *slog.Logger
	// Files is nil for those of the operating system.
	Files Files
}

// OpenDirectory opens the directory, creates it if necessary, and removes the temporary files of a
// crash, which were never acknowledged. Only one process may have a directory open; store's
// lock file ensures that.
func OpenDirectory(cfg Config) (*Directory, error) {
	s := newDirectory(cfg)
	for _, d := range []string{cfg.Dir, s.scratch(), filepath.Join(cfg.Dir, damagedDir)} {
		if err := s.files.Mkdir(d); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, s.fault(err)
		}
	}
	// A crash may have come before the names were durable.
	for _, d := range []string{filepath.Dir(cfg.Dir), cfg.Dir} {
		if err := s.files.SyncDir(d); err != nil {
			return nil, s.fault(err)
		}
	}
	// The directory itself stays, because a full volume has no room to create it again.
	left, err := os.ReadDir(s.scratch())
	for _, e := range left {
		err = errors.Join(err, s.files.Remove(filepath.Join(s.scratch(), e.Name())))
	}
	if err != nil {
		return nil, fmt.Errorf("removing stale temporary files: %w", err)
	}
	return s, nil
}

// OpenReadOnly opens a directory, which need not exist, to read and verify. It changes
// nothing, also not about damaged blobs: another process may have the directory open.
func OpenReadOnly(cfg Config) *Directory {
	s := newDirectory(cfg)
	s.readOnly = true
	return s
}

func newDirectory(cfg Config) *Directory {
	if cfg.Files == nil {
		cfg.Files = OnVolume()
	}
	return &Directory{
		dir: cfg.Dir, files: cfg.Files, now: time.Now, log: cfg.Log,
		durable: map[string]bool{}, trusts: map[string]trust{}, unclaimed: map[string]int{},
	}
}

func (s *Directory) scratch() string { return filepath.Join(s.dir, scratch) }

// Open implements Store. The error is that of Verify.
func (s *Directory) Open(_ context.Context, name Name) (io.ReadCloser, error) {
	r, err := s.open(name.SHA256)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(r.path) == verbatim {
		return &seeker{reader: r}, nil
	}
	return r, nil
}

// Answers makes a file and removes it. Its error is that of Put on a volume that is not full.
func (s *Directory) Answers() error {
	file, err := s.files.Create(s.scratch())
	if err == nil {
		err = errors.Join(file.Close(), s.files.Remove(file.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil
	}
	return s.fault(err)
}

// Room writes so many bytes and removes them again. Its error on a full volume is that of
// Put. It detects quotas too, which may be used up on a volume that is not full.
func (s *Directory) Room(size int64) error {
	file, err := s.files.Create(s.scratch())
	if err != nil {
		return s.fault(err)
	}
	_, err = file.Write(make([]byte, size))
	if err == nil {
		err = file.Sync()
	}
	return s.fault(errors.Join(err, file.Close(), s.files.Remove(file.Name())))
}

// Has reports whether the content is stored.
func (s *Directory) Has(sha string) bool {
	_, _, err := s.find(sha)
	return err == nil
}

// Delete removes the content and its damaged files. Deleting missing content is no error;
// open readers can read on to the end.
func (s *Directory) Delete(_ context.Context, name Name) error {
	if !validHash(name.SHA256) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(name.SHA256)
}

// remove is Delete; the caller holds s.mu.
func (s *Directory) remove(sha string) error {
	delete(s.trusts, sha)
	delete(s.unclaimed, sha)
	files := s.setAsideOf(sha)
	// The file has one of the suffixes.
	for _, suffix := range suffixes {
		files = append(files, s.path(sha, suffix))
	}
	removed := map[string]bool{}
	for _, file := range files {
		err := s.files.Remove(file)
		if err == nil {
			removed[filepath.Dir(file)] = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting blob %s: %w", sha, err)
		}
	}
	for dir := range removed {
		if err := s.fault(s.files.SyncDir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// Claim records that something refers to a blob, so that no Release removes it.
func (s *Directory) Claim(sha string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unclaimed, sha)
}

// Release undoes one Put. The last Release removes the blob, unless it was claimed or
// existed before.
func (s *Directory) Release(sha string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, brought := s.unclaimed[sha]
	if n > 1 {
		s.unclaimed[sha] = n - 1
	}
	if !brought || n > 1 {
		return nil
	}
	return s.remove(sha)
}

// List returns every blob, ordered by hash.
func (s *Directory) List() ([]Entry, error) {
	var out []Entry
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == s.dir {
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == scratch || d.Name() == damagedDir {
				return fs.SkipDir
			}
			return nil
		}
		sha, isBlob := hashOf(d.Name())
		if !isBlob {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		out = append(out, Entry{SHA256: sha, Stored: info.Size()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing blobs: %w", err)
	}
	return out, nil
}

// SetAside returns the damaged files; their names begin with the expected hash.
func (s *Directory) SetAside() ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, damagedDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing damaged blobs: %w", err)
	}
	var out []Entry
	for _, f := range files {
		sha, _, _ := strings.Cut(f.Name(), ".")
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) || !validHash(sha) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing damaged blobs: %w", err)
		}
		out = append(out, Entry{SHA256: sha, Stored: info.Size()})
	}
	return out, nil
}

// Damaged returns the number of blobs that were set aside and not put back since.
func (s *Directory) Damaged() (int, error) {
	aside, err := s.SetAside()
	missing := map[string]bool{}
	for _, e := range aside {
		if !s.Has(e.SHA256) {
			missing[e.SHA256] = true
		}
	}
	return len(missing), err
}

// Unfinished returns the paths of the temporary files: uploads that arrive, or that a crash
// left.
func (s *Directory) Unfinished() ([]string, error) {
	files, err := os.ReadDir(s.scratch())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing temporary files: %w", err)
	}
	var out []string
	for _, f := range files {
		out = append(out, filepath.Join(s.scratch(), f.Name()))
	}
	return out, nil
}

// Path returns the file of a blob. Its error is that of Look.
func (s *Directory) Path(sha string) (string, error) {
	path, _, err := s.find(sha)
	return path, err
}

// IsName reports whether a file name is that of a blob.
func IsName(name string) bool {
	_, is := hashOf(name)
	return is
}

// hashOf parses a file name.
//
//	"e3b0…b855.mz"   ->  "e3b0…b855", true
//	"notes.txt"      ->  "", false
func hashOf(name string) (sha string, isBlob bool) {
	for _, suffix := range suffixes {
		if sha, ok := strings.CutSuffix(name, suffix); ok && validHash(sha) {
			return sha, true
		}
	}
	return "", false
}

// find returns the file of a blob.
func (s *Directory) find(sha string) (path string, info fs.FileInfo, err error) {
	if !validHash(sha) {
		return "", nil, notFound(sha)
	}
	for _, suffix := range suffixes {
		path := s.path(sha, suffix)
		info, err := os.Stat(path)
		if err == nil {
			return path, info, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, s.away(fmt.Errorf("looking for blob %s: %w", sha, err))
		}
	}
	return "", nil, s.absent(sha)
}

func (s *Directory) path(sha, suffix string) string {
	return filepath.Join(s.dir, sha[:2], sha+suffix)
}

// validHash rejects anything but 64 lower-case hexadecimal digits, because hashes become
// paths.
func validHash(sha string) bool {
	if len(sha) != 64 {
		return false
	}
	for _, c := range []byte(sha) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func notFound(sha string) error {
	return &analysis.Fault{
		Code:  "not_found",
		What:  "the raw bytes are not stored",
		Where: printable(sha),
		Why:   "they were deleted with the last case that used them, were never uploaded, or somebody removed the file",
		Hint:  "Upload the file again.",
	}
}

// printable shortens a hash for messages and replaces what is no hash.
func printable(sha string) string {
	if !validHash(sha) {
		return "sha256 (not a hash)"
	}
	return "sha256 " + sha[:12]
}
