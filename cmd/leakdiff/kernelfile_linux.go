package main

import (
	"slices"

	"golang.org/x/sys/unix"
)

// kernelFilesystems hold no files of a disk.
var kernelFilesystems = []int64{unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC}

// ofKernel reports whether a file is on such a file system, links followed.
func ofKernel(name string) bool {
	var st unix.Statfs_t
	return unix.Statfs(name, &st) == nil && slices.Contains(kernelFilesystems, int64(st.Type))
}
