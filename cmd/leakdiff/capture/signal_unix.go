//go:build unix

package capture

import (
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup runs a program in its own process group, as another user if as is set.
func ownGroup(cmd *exec.Cmd, as *syscall.Credential) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// signalNamed returns 0 for an unknown name.
func signalNamed(name string) syscall.Signal {
	name = strings.ToUpper(name)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	return unix.SignalNum(name)
}
