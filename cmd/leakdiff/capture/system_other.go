//go:build !linux

package capture

import (
	"errors"
	"net"
	"os"
)

// Without procfs there are no handles, mounts or namespaces: only endpoints are captured.
var errNotLinux = errors.New("only Linux has this")

func openHandle(*os.File, int32, []byte) (string, uint64, error) { return "", 0, errNotLinux }

func isStale(error) bool { return false }

func isDenied(error) bool { return false }

func openDirectory(name string) (*os.File, error) { return os.Open(name) }

func inodeOf(os.FileInfo) uint64 { return 0 }

func deviceOf(os.FileInfo) uint32 { return 0 }

func ownerOf(os.FileInfo) (uid, gid uint32) { return 0, 0 }

func inside(string, func() (net.Conn, error)) (net.Conn, error) { return nil, errNotLinux }
