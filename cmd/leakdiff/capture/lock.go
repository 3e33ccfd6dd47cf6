package capture

import "errors"

// ErrLocked means that another process has the lock of a directory.
var ErrLocked = errors.New("another process uses this directory")
