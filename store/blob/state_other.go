//go:build !(linux || darwin || freebsd)

package blob

import "time"

// fileState changes with a write to a file.
type fileState struct {
	size     int64
	modified time.Time
}

func stateOf(file File) (fileState, error) {
	info, err := file.Stat()
	if err != nil {
		return fileState{}, err
	}
	return fileState{info.Size(), info.ModTime()}, nil
}
