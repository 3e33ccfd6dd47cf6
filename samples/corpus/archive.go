package corpus

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// window is that of the archive's compression: all captures, so that a series is compressed by
// those before it.
const window = 64 << 20

// unpacked is the folder of the captures of corpus.tar.zst. The first test process unpacks them
// into the build directory of the checkout, in a folder with the archive's hash in its name.
var unpacked = sync.OnceValues(func() (string, error) {
	archive, err := os.ReadFile(filepath.Join(checkout(), "samples", "corpus", "corpus.tar.zst"))
	if err != nil {
		return "", err
	}
	build := filepath.Join(checkout(), ".build")
	to := filepath.Join(build, fmt.Sprintf("corpus-%.4x", sha256.Sum256(archive)))
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	if err := os.MkdirAll(build, 0o755); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(build, "unpacking-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	whole := filepath.Join(scratch, "corpus")
	if err := unpack(archive, whole); err != nil {
		return "", err
	}
	if err := os.Rename(whole, to); err != nil {
		if _, missing := os.Stat(to); missing != nil { // else another process was first
			return "", err
		}
	}
	return to, nil
})

// unpack writes the files of an archive below a folder, with their times: they are evidence.
func unpack(archive []byte, dir string) error {
	plain, err := zstd.NewReader(bytes.NewReader(archive), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return err
	}
	defer plain.Close()
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(files)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644), os.Chtimes(path, h.ModTime, h.ModTime))
		if err != nil {
			return err
		}
	}
}
