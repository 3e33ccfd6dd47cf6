// Package blob keeps the raw bytes of uploads in a directory, each content once,
// named by the SHA-256 of the raw bytes. It takes readers and gives hashes,
// takes hashes and gives readers. It refuses to know what the bytes mean, who
// uploaded them and whether anything still refers to them.
//
// The layout is DIR/ab/abcdef….mz (MinLZ) for content that was compressed on the way
// in, DIR/ab/abcdef….raw for content that was compressed already, DIR/tmp/ for what is
// being written and DIR/damaged/ for files that did not have the hash of their name.
// Older versions compressed into ….zst, which is read as well. A name appears only by
// renaming a complete file whose bytes were synced, so a reader never sees half a blob.
// No file is believed: it is hashed when it is read, and before an upload of the same
// bytes is stored in it.
package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
)

const (
	// maxWindow bounds the memory of every reader of zstd.
	maxWindow = 1 << 20

	packed    = ".mz"
	zstandard = ".zst"
	verbatim  = ".raw"

	scratch    = "tmp"
	damagedDir = "damaged"
)

// suffixes are those that a blob may have.
var suffixes = []string{packed, verbatim, zstandard}

// Store is a directory of blobs. Its methods may be called at the same time.
type Store struct {
	dir string
	// create makes the temporary file of a Put; tests replace it by one that
	// cannot be written.
	create func(dir string) (*os.File, error)
	now    func() time.Time
	log    *slog.Logger

	mu sync.Mutex
	// trusts are the blobs that were verified lately, by hash.
	trusts map[string]trust
	// unclaimed counts the Puts that brought a blob which nobody claimed yet, by hash.
	unclaimed map[string]int
}

// Ref names stored content.
type Ref struct {
	// SHA256 is of the raw bytes, 64 lower-case hexadecimal digits.
	SHA256 string
	// Size is the number of raw bytes, Stored what they take on the volume.
	Size   int64
	Stored int64
}

// Entry is one blob of List.
type Entry struct {
	SHA256 string
	// Stored is in bytes on the volume.
	Stored int64
}

// Open opens the directory, creates it where it is missing, and removes the
// temporary files that a crash left behind: none of them was acknowledged. Only one
// process at a time may have a directory open; store's lock file sees to that. The log
// takes what is found damaged.
func Open(dir string, log *slog.Logger) (*Store, error) {
	tmp := filepath.Join(dir, scratch)
	for _, d := range []string{tmp, filepath.Join(dir, damagedDir)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fault(err)
		}
	}
	// The directory itself stays: on a full volume it could not be made again.
	left, err := os.ReadDir(tmp)
	for _, e := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(tmp, e.Name())))
	}
	if err != nil {
		return nil, fmt.Errorf("removing stale temporary files: %w", err)
	}
	return &Store{dir: dir, create: createTemp, now: time.Now, log: log, trusts: map[string]trust{}, unclaimed: map[string]int{}}, nil
}

func createTemp(dir string) (*os.File, error) { return os.CreateTemp(dir, "put-*") }

// Open returns the raw bytes of a blob; the caller closes the reader. They are hashed
// while they are read in order: instead of io.EOF comes an *analysis.Fault with Code
// Damaged where they are not those of the hash. Whoever stops before the end, or uses
// what is given before it, asks Verify. The error is that of Verify.
func (s *Store) Open(sha string) (io.ReadCloser, error) {
	r, err := s.open(sha)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(r.path) == verbatim {
		return &seeker{reader: r}, nil
	}
	return r, nil
}

// Room writes so many bytes and removes them again. The error is that of Put on a full
// volume; a quota may leave nothing of a volume that is not full.
func (s *Store) Room(size int64) error {
	file, err := s.create(filepath.Join(s.dir, scratch))
	if err != nil {
		return fault(err)
	}
	_, err = file.Write(make([]byte, size))
	if err == nil {
		err = file.Sync()
	}
	return fault(errors.Join(err, file.Close(), os.Remove(file.Name())))
}

// Has reports whether the content is stored.
func (s *Store) Has(sha string) bool {
	_, _, err := s.find(sha)
	return err == nil
}

// Delete removes the content, and what was set aside of it as damaged. Removing what is
// not there is no error; readers that have it open read on to the end.
func (s *Store) Delete(sha string) error {
	if !validHash(sha) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(sha)
}

// remove is Delete with s.mu held.
func (s *Store) remove(sha string) error {
	delete(s.trusts, sha)
	delete(s.unclaimed, sha)
	files := s.setAsideOf(sha)
	// Versions that know different suffixes may have kept it twice.
	for _, suffix := range suffixes {
		files = append(files, s.path(sha, suffix))
	}
	removed := map[string]bool{}
	for _, file := range files {
		err := os.Remove(file)
		if err == nil {
			removed[filepath.Dir(file)] = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting blob %s: %w", sha, err)
		}
	}
	for dir := range removed {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Claim says that something refers to a blob from now on, so that no Release removes it.
func (s *Store) Claim(sha string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unclaimed, sha)
}

// Release gives up what one Put brought. The blob goes with the last Put that brought it,
// unless it was claimed or was there before them.
func (s *Store) Release(sha string) error {
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
func (s *Store) List() ([]Entry, error) {
	var out []Entry
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
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

// SetAside returns the files that were found damaged and kept; their names begin with
// the hash that they should have.
func (s *Store) SetAside() ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, damagedDir))
	if err != nil {
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

// hashOf takes the hash from a file name.
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

// find returns the file that holds a blob.
func (s *Store) find(sha string) (path string, info fs.FileInfo, err error) {
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
			return "", nil, fmt.Errorf("looking for blob %s: %w", sha, err)
		}
	}
	return "", nil, s.absent(sha)
}

func (s *Store) path(sha, suffix string) string {
	return filepath.Join(s.dir, sha[:2], sha+suffix)
}

// validHash keeps anything but 64 lower-case hexadecimal digits out of paths.
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

// printable shortens a hash for messages and keeps foreign text out of them.
func printable(sha string) string {
	if !validHash(sha) {
		return "sha256 (not a hash)"
	}
	return "sha256 " + sha[:12]
}
