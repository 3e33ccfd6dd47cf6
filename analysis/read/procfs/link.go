package procfs

import (
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// Link classifies the target of /proc/PID/fd/N (fs/proc/base.c, d_path of the pseudo
// file systems). A link does not show whether a path is a directory, or whether a
// device is a character or block device: paths are regular and devices char unless
// their name proves otherwise. "(deleted)" at the end of a real file's name looks like
// the kernel's suffix and is taken for it. Access and Place are not in a target and
// stay empty.
//
//	"socket:[60463]"            socket, Inode 60463
//	"anon_inode:[eventpoll]"    anon
//	"/tmp/x (deleted)"          regular, Deleted
func Link(fd int, target string) analysis.Descriptor {
	d := analysis.Descriptor{FD: fd, Name: target}
	kind, inode, ok := bracketed(target)
	switch {
	case strings.HasPrefix(target, "anon_inode:"):
		d.Type = "anon"
	case strings.HasPrefix(target, "/"):
		d.Deleted = strings.HasSuffix(target, " (deleted)")
		d.Type = typeOfPath(strings.TrimSuffix(target, " (deleted)"))
	case ok && isNamespace(kind):
		d.Type, d.Inode = "namespace", inode
	case ok:
		d.Type, d.Inode = kind, inode
	case target == "inotify", strings.HasPrefix(target, "["):
		d.Type = "anon"
	}
	return d
}

// bracketed splits the name that a pseudo file system makes of an inode.
//
//	"pipe:[314757]"   "pipe", 314757, true
func bracketed(target string) (kind string, inode uint64, ok bool) {
	kind, rest, _ := strings.Cut(target, ":[")
	digits, ok := strings.CutSuffix(rest, "]")
	inode, err := strconv.ParseUint(digits, 10, 64)
	return kind, inode, ok && err == nil && kind != "" && !strings.Contains(kind, "/")
}

// isNamespace reports whether nsfs names its files so.
func isNamespace(kind string) bool {
	switch kind {
	case "cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts":
		return true
	}
	return false
}

// typeOfPath guesses the type from a path without its deleted mark.
//
//	"/memfd:my memfd"   "memfd"
//	"/dev/pts/0"        "char"
//	"/dev/shm/x"        "regular"
func typeOfPath(path string) string {
	if strings.HasPrefix(path, "/memfd:") {
		return "memfd"
	}
	if path == "/" || strings.HasPrefix(path, "/proc/") && (strings.HasSuffix(path, "/fd") || strings.HasSuffix(path, "/fdinfo")) {
		return "directory"
	}
	name, ok := strings.CutPrefix(path, "/dev/")
	if !ok {
		return "regular"
	}
	for _, dir := range []string{"shm/", "mqueue/", "hugepages/"} {
		if strings.HasPrefix(name, dir) {
			return "regular"
		}
	}
	for _, disk := range []string{"dm-", "loop", "md", "mapper/", "nbd", "nvme", "ram", "rbd", "sd", "vd", "xvd", "zram"} {
		if rest, ok := strings.CutPrefix(name, disk); ok && rest != "-control" && rest != "control" {
			return "block"
		}
	}
	return "char"
}
