package lsof

import (
	"path"
	"strconv"
	"strings"
)

// setBusybox reads a row of busybox lsof, which lists the links of /proc/PID/fd and
// nothing else (miscutils/lsof.c); older releases print no descriptor number. The
// command is the last part of the program's path.
//
//	"1\t/usr/local/bin/x\t692\tanon_inode:[pidfd]"   PID 1, FD 692
//	"1\t/sbin/init\t/dev/null"                       PID 1, FD -1, Star
func (r *Row) setBusybox(text string) bool {
	pid, rest, ok := strings.Cut(strings.TrimLeft(text, " "), "\t")
	if !ok || !isPID(pid) {
		return false
	}
	program, target, ok := strings.Cut(rest, "\t")
	if !ok || program != "" && program[0] != '/' || target == "" {
		return false
	}
	r.PID, _ = strconv.Atoi(pid)
	r.Command = path.Base(strings.TrimSuffix(program, " (deleted)"))
	if program == "" {
		r.Command = ""
	}
	r.FD, r.Star, r.IsDescriptor = -1, true, true
	if fd, name, ok := strings.Cut(target, "\t"); ok {
		if n, isNumber := number(fd); isNumber {
			r.FDText, r.FD, r.Star, target = fd, n, false, name
		}
	}
	r.NameText = target
	r.Descriptor = link(r.FD, target)
	return true
}
