package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// readOfKernel are the files of procfs that a capture copies: each is short and has an end.
var readOfKernel = []string{
	"stat", "status", "cmdline", "cgroup", "limits", "mountinfo", "file-nr", "max_user_instances", "max_user_watches", "max_queued_events",
	"net/tcp", "net/tcp6", "net/udp", "net/udp6", "net/unix", "net/netlink", "net/packet",
}

// checkKernelFile refuses files and directories that the kernel makes when they are read, but those
// that a capture copies: others hang, as kmsg does, are as long as the address space, as mem is, or
// do something. It follows links.
func checkKernelFile(name string, isDir bool) error {
	if !ofKernel(name) {
		return nil
	}
	whole := name
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		whole = resolved
	}
	if absolute, err := filepath.Abs(whole); err == nil {
		whole = absolute
	}
	base, parent := filepath.Base(whole), filepath.Base(filepath.Dir(whole))
	switch {
	case isDir && (base == "fd" || base == "fdinfo"):
		return nil
	case !isDir && (parent == "fdinfo" || slices.Contains(readOfKernel, base) || slices.Contains(readOfKernel, parent+"/"+base)):
		return nil
	}
	pid := ""
	for part := range strings.SplitSeq(whole, "/") {
		if n, err := strconv.Atoi(part); err == nil && n > 0 {
			pid = part
			break
		}
	}
	return &analysis.Fault{Code: "bad_request", What: "cannot be read", Where: name, Why: "the kernel makes it, and what is read there may have no end",
		Hint: "capture a process with leakdiff collect --pid " + cmp.Or(pid, "PID") + ", or name its fdinfo or fd directory"}
}
