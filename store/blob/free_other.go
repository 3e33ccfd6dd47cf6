//go:build !(linux || darwin || freebsd)

package blob

import "errors"

// Free is not supported on this system.
func (s *Directory) Free() (int64, error) {
	return 0, errors.ErrUnsupported
}
