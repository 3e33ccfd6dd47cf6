package bundle

import (
	"bytes"
	"io"
	"os"
)

// random is content for random access.
type random struct {
	io.ReaderAt
	size int64
}

// randomAccess uses an input in place if the input allows it.
func randomAccess(rc io.ReadCloser) *random {
	f, ok := rc.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	return &random{f, size}
}

// spoolMemory is how much of an archive is kept in memory before it goes to a
// temporary file.
const spoolMemory = 1 << 20

// spool is a copy of an archive that zip can jump around in.
type spool struct {
	random
	// cut is the error at which the content ended, nil at its true end.
	cut  error
	file *os.File
}

// spool copies r until it ends or breaks; a cut archive may still be salvaged.
// The error is that of the temporary file.
func (w *walk) spool(r io.Reader) (*spool, error) {
	var small bytes.Buffer
	n, err := io.Copy(&small, io.LimitReader(r, spoolMemory))
	if n < spoolMemory || err != nil {
		return &spool{random: random{bytes.NewReader(small.Bytes()), n}, cut: err}, nil
	}
	f, err := os.CreateTemp(w.tempDir, "leakdiff-unpack-*")
	if err != nil {
		return nil, err
	}
	s := &spool{file: f}
	if _, err := f.Write(small.Bytes()); err != nil {
		s.close()
		return nil, err
	}
	into := &writes{w: f}
	rest, err := io.Copy(into, r)
	if into.err != nil {
		s.close()
		return nil, into.err
	}
	s.random, s.cut = random{f, n + rest}, err
	return s, nil
}

func (s *spool) close() {
	if s.file == nil {
		return
	}
	s.file.Close()
	os.Remove(s.file.Name())
}

// writes separates errors of the temporary file from errors of the archive.
type writes struct {
	w   io.Writer
	err error
}

func (t *writes) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if err != nil {
		t.err = err
	}
	return n, err
}
