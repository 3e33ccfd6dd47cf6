package blob

import (
	"io"
	"io/fs"
	"os"
)

// Files are the operations of a Directory on its directory that may fail, or be lost when the
// power fails. Tests replace them.
type Files interface {
	// Create makes a temporary file with a unique name in dir.
	Create(dir string) (File, error)
	Open(path string) (File, error)
	Mkdir(path string) error
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// File is an open file of Files. Sync makes its bytes durable, not its name.
type File interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Writer
	io.Closer
	Name() string
	Fd() uintptr
	Stat() (fs.FileInfo, error)
	Sync() error
}

// volume is Files of the operating system.
type volume struct{}

// OnVolume is the Files of the operating system.
func OnVolume() Files { return volume{} }

func (volume) Create(dir string) (File, error) {
	f, err := os.CreateTemp(dir, "put-*")
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (volume) Open(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (volume) Mkdir(path string) error      { return os.Mkdir(path, 0o700) }
func (volume) Rename(from, to string) error { return os.Rename(from, to) }
func (volume) Remove(path string) error     { return os.Remove(path) }

func (volume) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
