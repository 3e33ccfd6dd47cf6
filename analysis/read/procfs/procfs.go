// Package procfs reads the Linux kernel's files about one process and its descriptors:
// files copied out of /proc/PID (fdinfo, mountinfo, limits, status, stat, cmdline,
// cgroup), the targets of its fd links, listings that grep made of them, and sysctls.
// It takes readers and returns values with the place each was read at, plus problems
// for what it did not understand; one odd line never costs the file. It does not know
// where the bytes come from, which process they belong to unless they name it, or what
// any of it means for a leak.
package procfs

import "strings"

// keyValue splits a line of the form that most files of /proc use.
//
//	"VmRSS:\t    2904 kB"   "VmRSS", "2904 kB", true
//	"PollList:"             "PollList", "", true
//	"no colon"              "", "", false
func keyValue(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, ":")
	if !ok {
		return "", "", false
	}
	key = strings.TrimSpace(key)
	return key, strings.TrimSpace(value), key != ""
}
