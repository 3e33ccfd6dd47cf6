// Package blob keeps the raw bytes of uploads in a directory, each content once,
// named by the SHA-256 of the raw bytes. It takes readers and gives hashes,
// takes hashes and gives readers. It refuses to know what the bytes mean, who
// uploaded them and whether anything still refers to them.
//
// The layout is DIR/ab/abcdef….mz (MinLZ) for content that was compressed on the way
// in, DIR/ab/abcdef….raw for content that was compressed already, and DIR/tmp/ for
// what is being written. Older versions compressed into ….zst, which is read as well.
// A name appears only by renaming a complete file whose bytes were synced, so a reader
// never sees half a blob.
package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/minlz"

	"leakdiff/analysis"
)

const (
	// maxWindow bounds the memory of every reader of zstd.
	maxWindow = 1 << 20

	packed    = ".mz"
	zstandard = ".zst"
	verbatim  = ".raw"
	scratch   = "tmp"
)

// suffixes are those that a blob may have.
var suffixes = []string{packed, verbatim, zstandard}

// Store is a directory of blobs. Its methods may be called at the same time.
type Store struct {
	dir string
	// create makes the temporary file of a Put; tests replace it by one that
	// cannot be written.
	create func(dir string) (*os.File, error)
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
	// Touched is when the content was last put.
	Touched time.Time
}

// Open opens the directory, creates it where it is missing, and removes the
// temporary files that a crash left behind. Only one process at a time may have
// a directory open; store's lock file sees to that.
func Open(dir string) (*Store, error) {
	tmp := filepath.Join(dir, scratch)
	if err := os.RemoveAll(tmp); err != nil {
		return nil, fmt.Errorf("removing stale temporary files: %w", err)
	}
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, fault(err)
	}
	return &Store{dir: dir, create: createTemp}, nil
}

func createTemp(dir string) (*os.File, error) { return os.CreateTemp(dir, "put-*") }

// Open returns the raw bytes of a blob; the caller closes the reader. The error
// is an *analysis.Fault with Code "not_found" where there is none.
func (s *Store) Open(sha string) (io.ReadCloser, error) {
	path, _, err := s.find(sha)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(sha)
	}
	if err != nil {
		return nil, fmt.Errorf("opening blob %s: %w", sha, err)
	}
	switch filepath.Ext(path) {
	case verbatim:
		return file, nil
	case zstandard:
		return unpackZstandard(file)
	}
	return unpacker{minlz.NewReader(file, minlz.ReaderMaxBlockSize(followedSize)), file.Close}, nil
}

func unpackZstandard(file *os.File) (io.ReadCloser, error) {
	dec, err := zstd.NewReader(file,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("reading blob: %w", err)
	}
	return unpacker{dec, func() error {
		dec.Close()
		return file.Close()
	}}, nil
}

// unpacker closes the file together with the decoder that reads it.
type unpacker struct {
	io.Reader
	close func() error
}

func (u unpacker) Close() error { return u.close() }

// Has reports whether the content is stored.
func (s *Store) Has(sha string) bool {
	_, _, err := s.find(sha)
	return err == nil
}

// Delete removes the content. Removing what is not there is no error; readers
// that have it open read on to the end.
func (s *Store) Delete(sha string) error {
	if !s.Has(sha) {
		return nil
	}
	// Versions that know different suffixes may have kept it twice.
	for _, suffix := range suffixes {
		if err := os.Remove(s.path(sha, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting blob %s: %w", sha, err)
		}
	}
	return syncDir(filepath.Dir(s.path(sha, "")))
}

// List returns every blob, ordered by hash.
func (s *Store) List() ([]Entry, error) {
	var out []Entry
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == scratch {
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
		out = append(out, Entry{SHA256: sha, Stored: info.Size(), Touched: info.ModTime().UTC()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing blobs: %w", err)
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
	return "", nil, notFound(sha)
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
		Why:   "they were deleted with the last case that used them, or were never uploaded",
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
