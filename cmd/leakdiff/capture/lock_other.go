//go:build !unix

package capture

import (
	"errors"
	"os"
)

// LockDirectory fails: without flock(2) two programs could write the same directory.
func LockDirectory(string) (*os.File, error) {
	return nil, errors.New("directories cannot be locked here")
}
