//go:build linux || darwin || freebsd

package blob

import (
	"fmt"
	"syscall"
)

// Free returns how many bytes an unprivileged process may still write to the
// volume (statfs(2), f_bavail).
func (s *Directory) Free() (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &st); err != nil {
		return 0, fmt.Errorf("free space of the blob directory: %w", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
