//go:build !linux

package blob

import (
	"errors"
	"os"
)

// cached is a file that is written through the page cache.
type cached struct{ *os.File }

func (cached) bypass(bool) error { return errors.ErrUnsupported }
