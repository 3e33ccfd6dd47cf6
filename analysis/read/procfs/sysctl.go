package procfs

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// maxSysctls bounds the kept values; "sysctl -a" prints about a thousand.
const maxSysctls = 1 << 14

// ParseSysctls reads kernel settings with whole numbers, by their dotted name
// ("fs.inotify.max_user_watches"). It takes the output of sysctl, of grep over
// /proc/sys, and a file of /proc/sys itself. The name of such a file comes from path or
// from the heading that tail puts above it. The three numbers of file-nr become
// fs.file-nr.allocated, .unused and .max (proc_sys_fs(5)). Settings that are no number
// are passed over. The error is that of r only.
//
//	fs.inotify.max_user_watches = 192536
//	/proc/sys/fs/inotify/max_user_watches:192536
//	1440	0	2466177
func ParseSysctls(r io.Reader, path string) (map[string]int64, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	out := map[string]int64{}
	file := path
	for l := range in.All() {
		if heading, ok := strings.CutPrefix(l.Text, "==> "); ok { // tail -n +1 /proc/sys/fs/inotify/*
			file = strings.TrimSuffix(strings.TrimRight(heading, " "), " <==")
			continue
		}
		name, value, ok := sysctlLine(l.Text, file)
		if !ok || len(out) >= maxSysctls {
			continue
		}
		setSysctl(out, name, strings.Fields(value))
	}
	if len(out) == 0 && in.Offset() > 0 {
		probs.Add(analysis.Note, line.Line{}, "no kernel setting was found", "no line is \"name = number\" or \"path:number\"",
			"save the output of: sysctl fs.inotify fs.file-nr")
	}
	return out, probs.All(), in.Failure(path)
}

// sysctlLine splits a line into the setting's dotted name and value.
//
//	"/proc/sys/fs/inotify/max_user_watches:192536"   "fs.inotify.max_user_watches", "192536"
//	"128" in /proc/sys/fs/inotify/max_user_instances  "fs.inotify.max_user_instances", "128"
func sysctlLine(text, path string) (name, value string, ok bool) {
	text = strings.TrimSpace(text)
	if name, value, ok = strings.Cut(text, "="); ok {
		return dotted(name), value, true
	}
	if strings.Contains(text, "/") {
		if name, value, ok = strings.Cut(text, ":"); ok {
			return dotted(name), value, true
		}
	}
	if digits, _ := leadingDigits(text); digits == "" {
		return "", "", false
	}
	name = settingOfPath(path)
	return name, text, name != ""
}

// dotted returns the name of a setting as sysctl prints it.
//
//	"/proc/sys/fs/file-nr "   "fs.file-nr"
func dotted(name string) string {
	name = strings.TrimSpace(name)
	if _, after, ok := strings.Cut(name, "/sys/"); ok {
		name = after
	}
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ".")
}

// settingOfPath names the setting whose file stands at path in a bundle.
//
//	"t0/proc/sys/fs/inotify/max_user_watches"   "fs.inotify.max_user_watches"
//	"t0/leaker/file-nr.txt"                     "fs.file-nr"
func settingOfPath(path string) string {
	if _, after, ok := strings.Cut("/"+path, "/proc/sys/"); ok {
		return strings.ReplaceAll(after, "/", ".")
	}
	base := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".txt")
	switch base {
	case "file-nr", "file-max", "nr_open":
		return "fs." + base
	case "max_user_watches", "max_user_instances", "max_queued_events":
		return "fs.inotify." + base
	}
	return ""
}

// setSysctl stores a value of one number, and the three of file-nr.
func setSysctl(out map[string]int64, name string, values []string) {
	names := []string{name}
	if strings.HasSuffix(name, "fs.file-nr") {
		names = []string{"fs.file-nr.allocated", "fs.file-nr.unused", "fs.file-nr.max"}
	}
	if len(names) != len(values) {
		return
	}
	for i, v := range values {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			out[clip(names[i])] = n
		}
	}
}
