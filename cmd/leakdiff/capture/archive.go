package capture

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Archive is a tar.gz being written. Close leaves a complete archive under its name,
// whatever ended the capture. A killed process leaves NAME.partial, which can be read up
// to the last finished round.
type Archive struct {
	mu   sync.Mutex
	tar  *tar.Writer
	gzip *gzip.Writer
	file *os.File
	// name is the final one, "" for a stream.
	name string
	// spools is the directory of spools: a file's size must be known before it is written.
	spools string
	// part ends the tar with endOfTar.
	part bool
	size int64
	err  error
}

// NewArchive creates an archive. Close gives it its name.
func NewArchive(name string) (*Archive, error) {
	file, err := os.OpenFile(name+".partial", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	a := stream(file)
	a.file, a.name, a.spools = file, name, filepath.Dir(name)
	return a, nil
}

// endOfTar is a gzip file of the 1024 zeros that end a tar, as one compressor wrote them: its
// bytes must stay, since PartOf finds them.
const endOfTar = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x63\x60\x18\x05\xa3\x60\x14\x8c\x54\x00\x00\x2e\xaf\xb5\xef\x00\x04\x00\x00"

// NewPart creates an archive of which the end can be cut off by PartOf, so that several can be
// joined.
func NewPart(name string) (*Archive, error) {
	a, err := NewArchive(name)
	if err == nil {
		a.part = true
	}
	return a, err
}

// PartOf returns the archive of a file of NewPart without the end of its tar.
func PartOf(f *os.File) (io.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	end := make([]byte, len(endOfTar))
	if size >= int64(len(end)) {
		if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
			return nil, err
		}
		if string(end) == endOfTar {
			size -= int64(len(end))
		}
	}
	return io.NewSectionReader(f, 0, size), nil
}

// JoinParts returns the archive of several parts in this order: gzip files may follow each
// other (RFC 1952, section 2.2).
func JoinParts(parts ...io.Reader) io.Reader {
	return io.MultiReader(append(slices.Clone(parts), strings.NewReader(endOfTar))...)
}

// StreamArchive writes the archive to w and does not close w.
func StreamArchive(w io.Writer) *Archive {
	a := stream(w)
	a.spools = os.TempDir()
	return a
}

func stream(w io.Writer) *Archive {
	a := &Archive{}
	a.gzip = gzip.NewWriter(&counter{w, &a.size})
	a.tar = tar.NewWriter(a.gzip)
	return a
}

type counter struct {
	w io.Writer
	n *int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.n += int64(n)
	return n, err
}

// Size is how many bytes were written.
func (a *Archive) Size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size
}

// put writes a file. After the first error every call returns it.
func (a *Archive) put(name string, at time.Time, size int64, body io.Reader) error {
	return a.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size, ModTime: at}, body)
}

// link writes a symbolic link. Its target is data.
func (a *Archive) link(name string, at time.Time, target string) error {
	return a.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Mode: 0o700, Linkname: target, ModTime: at}, nil)
}

func (a *Archive) add(h *tar.Header, body io.Reader) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	h.Format = tar.FormatPAX
	h.ModTime = h.ModTime.Truncate(time.Millisecond)
	if a.err = a.tar.WriteHeader(h); a.err != nil {
		return a.err
	}
	if body != nil {
		_, a.err = io.Copy(a.tar, body)
	}
	return a.err
}

// flush makes the archive readable up to here if the process is killed.
func (a *Archive) flush() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = errors.Join(a.tar.Flush(), a.gzip.Flush())
	}
	return a.err
}

// spool is an unnamed file for the output of one step.
func (a *Archive) spool() (*os.File, error) {
	f, err := os.CreateTemp(a.spools, ".leakdiff-spool-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// Close finishes the archive and gives it its name.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	end := a.tar.Close
	if a.part {
		end = a.tar.Flush
	}
	err := errors.Join(a.err, end(), a.gzip.Close())
	if a.part && err == nil {
		_, err = io.WriteString(&counter{a.file, &a.size}, endOfTar)
	}
	if a.file == nil {
		return err
	}
	err = errors.Join(err, a.file.Sync(), a.file.Close())
	if err != nil {
		return fmt.Errorf("%s.partial: %w", a.name, err)
	}
	return os.Rename(a.name+".partial", a.name)
}

// Discard removes an archive without content.
func (a *Archive) Discard() {
	if a.file != nil {
		a.file.Close()
		os.Remove(a.name + ".partial")
	}
}
