package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate takes space for a part of a file.
func allocate(file *os.File, offset, size int64) error {
	err := unix.Fallocate(int(file.Fd()), 0, offset, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return fill(file, offset, size)
	}
	return err
}
