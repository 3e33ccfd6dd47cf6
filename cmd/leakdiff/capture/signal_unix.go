//go:build unix

package capture

import (
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup gives a program a process group of its own, and another user where as is
// set.
func ownGroup(cmd *exec.Cmd, as *syscall.Credential) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// signalNamed is 0 for a name that is no signal.
func signalNamed(name string) syscall.Signal {
	name = strings.ToUpper(name)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	return unix.SignalNum(name)
}
