package blob

import (
	"os"
	"syscall"
)

// writeRange is SYNC_FILE_RANGE_WRITE of sync_file_range(2).
const writeRange = 2

// beginWriting begins to write a range of a file to the volume and does not wait. It is
// no promise: where it is not possible, the sync at the end does it all.
func beginWriting(file *os.File, offset, size int64) {
	syscall.SyncFileRange(int(file.Fd()), offset, size, writeRange)
}
