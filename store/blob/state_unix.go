//go:build linux || darwin || freebsd

package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileState differs after every write to a file: the time of its last change cannot be
// set back, as the time of its content can.
type fileState struct {
	device, inode, size int64
	modified, changed   unix.Timespec
}

func stateOf(file *os.File) (fileState, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return fileState{}, &os.PathError{Op: "stat", Path: file.Name(), Err: err}
	}
	return fileState{int64(st.Dev), int64(st.Ino), st.Size, st.Mtim, st.Ctim}, nil
}
