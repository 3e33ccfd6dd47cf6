// Package testprogram is for tests alone: it writes programs and scripts that are then started.
package testprogram

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// Write writes a program that everybody may run.
//
// Linux does not start a file that a process has open for writing (ETXTBSY, "text file busy").
// The writer closes its descriptor before anybody starts the file, but a child that another
// goroutine forks meanwhile has a copy of it until the child's exec (golang/go#22315).
// Every fork of a Go program happens under the write lock of syscall.ForkLock. Under the read
// lock no child is forked while the descriptor is open, so none gets a copy.
//
// The kernel maps a file in the pieces in which it was written to the page cache, and counts
// all of a piece as memory of the process: leakdiff has 32 MiB at its start from a file that
// was installed, in pieces of 32 KiB as here, 39 as the linker left it, and 54 from one that was
// written at once.
func Write(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(content, 32<<10) {
		if _, err := f.Write(piece); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
