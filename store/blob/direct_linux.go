package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// cached is a file that can be written past the page cache where its file system knows
// O_DIRECT, which older kernels refuse on tmpfs.
type cached struct{ *os.File }

func (f cached) bypass(yes bool) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err != nil {
			failed = err
			return
		}
		flags &^= unix.O_DIRECT
		if yes {
			flags |= unix.O_DIRECT
		}
		_, failed = unix.FcntlInt(fd, unix.F_SETFL, flags)
	})
	if err == nil {
		err = failed
	}
	return err
}
