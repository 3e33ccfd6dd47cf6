package capture

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openHandle opens a file handle on the file system of on (open_by_handle_at(2)). It
// returns the path of the file there and its number of links.
func openHandle(on *os.File, kind int32, handle []byte) (name string, links uint64, err error) {
	fd, err := unix.OpenByHandleAt(int(on.Fd()), unix.NewFileHandle(kind, handle), unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return "", 0, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return "", 0, err
	}
	name, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	links = uint64(stat.Nlink)
	if strings.HasSuffix(name, " (deleted)") {
		links = 0
	}
	return name, links, err
}

func isStale(err error) bool { return errors.Is(err, unix.ESTALE) }

func isDenied(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) }

// openDirectory never blocks, as on a pipe or a dead network file system's device.
func openDirectory(name string) (*os.File, error) {
	return os.OpenFile(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_DIRECTORY, 0)
}

func inodeOf(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// deviceOf is the number in mountinfo and sdev: major << 20
// minor.
func deviceOf(info os.FileInfo) uint32 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return unix.Major(uint64(s.Dev))<<20 | unix.Minor(uint64(s.Dev))
}

// ownerOf is the user and group of a file.
func ownerOf(info os.FileInfo) (uid, gid uint32) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Uid, s.Gid
	}
	return 0, 0
}

// inside calls f in another network namespace. A socket stays in the namespace in which it
// was made.
func inside(namespace string, f func() (net.Conn, error)) (net.Conn, error) {
	theirs, err := os.Open(namespace)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	runtime.LockOSThread()
	ours, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer ours.Close()
	if err := unix.Setns(int(theirs.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, errors.New("the endpoint is in the process' own network namespace, which needs CAP_SYS_ADMIN: " + err.Error())
	}
	conn, err := f()
	if unix.Setns(int(ours.Fd()), unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	// Otherwise the thread stays locked and ends with its goroutine.
	return conn, err
}
