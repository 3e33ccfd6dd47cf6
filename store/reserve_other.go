//go:build !linux

package store

import "os"

// allocate takes space for a part of a file.
func allocate(file *os.File, offset, size int64) error { return fill(file, offset, size) }
