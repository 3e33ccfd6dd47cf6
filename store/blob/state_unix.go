//go:build linux || darwin || freebsd

package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileState changes with every write to a file. It uses ctime, because a program can reset
// mtime.
type fileState struct {
	device, inode, size int64
	modified, changed   unix.Timespec
}

func stateOf(file File) (fileState, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return fileState{}, &os.PathError{Op: "stat", Path: file.Name(), Err: err}
	}
	return fileState{int64(st.Dev), int64(st.Ino), st.Size, st.Mtim, st.Ctim}, nil
}
