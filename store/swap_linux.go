package store

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// swap exchanges two directories in one step (renameat2(2)).
func swap(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
