//go:build linux || darwin || freebsd

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"leakdiff/analysis"
)

// lock locks the data directory until the file is closed. The kernel releases the lock when
// the process dies; the file stays.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer file.Close()
		return nil, locked(file)
	}
	if err == nil {
		// The process id is only for users, so a full volume is no error.
		if err = writePID(file); errors.Is(err, syscall.ENOSPC) {
			err = nil
		}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", lockFile, err)
	}
	return file, nil
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func locked(file *os.File) error {
	holder := "another process"
	content, err := io.ReadAll(io.LimitReader(file, 32))
	if pid, bad := strconv.Atoi(string(bytes.TrimSpace(content))); err == nil && bad == nil {
		holder = fmt.Sprintf("process %d", pid)
	}
	return &analysis.Fault{
		Code: "locked",
		What: "the data directory is in use",
		Why:  holder + " has it open",
		Hint: "Stop that process, or give this one another directory with --data.",
	}
}
