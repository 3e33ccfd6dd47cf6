package thread

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// Targets is file-descriptors.txt of Jenkins support-core, or a bare list of the
// targets of /proc/PID/fd.
type Targets struct {
	// Limits are the lines of ulimit -a by their words ("open files"), verbatim
	// ("1024", "unlimited").
	Limits map[string]string
	// Count is the declared number of descriptors, -1 if none is declared.
	Count int
	// Descriptors have FD -1: the numbers were not printed.
	Descriptors []analysis.Descriptor
}

const (
	maxTargets = 1 << 21
	maxLimits  = 100
)

var (
	limitOfShell = expression.Lazy(`^([a-zA-Z][a-zA-Z \-]*?)\s+\((?:[\w\-]+(?: [\w\-]+)?, )?-\w\)\s+(\S+)$`)
	declared     = expression.Lazy(`^(?:Current )?Open File Descriptor Count:? (\d+)$`)
)

// ParseTargets reads link targets without descriptor numbers, one a line, with
// the limits and the count that support-core prints above them. A target that
// holds a line feed counts as several. The error is that of r.
func ParseTargets(r io.Reader, path string) (Targets, []analysis.Problem, error) {
	out := Targets{Count: -1, Limits: map[string]string{}}
	problems := &line.Problems{Path: path}
	lines := line.NewReader(r)
	dropped := 0
	for l := range lines.All() {
		s := strings.TrimRight(l.Text, " \t\r")
		if m := declared.FindStringSubmatch(s); m != nil {
			out.Count, _ = strconv.Atoi(m[1])
			continue
		}
		if m := limitOfShell.FindStringSubmatch(s); m != nil && len(out.Limits) < maxLimits {
			out.Limits[text(m[1])] = text(m[2])
			continue
		}
		d, ok := target(s)
		if !ok {
			continue
		}
		if len(out.Descriptors) >= maxTargets {
			dropped++
			continue
		}
		d.Place = l.Place()
		out.Descriptors = append(out.Descriptors, d)
	}
	if dropped > 0 {
		problems.Add(analysis.Warning, line.Line{}, wording.Plural(dropped, "target was", "targets were")+" left out", "memory is bounded", "the figures are lower bounds")
	}
	if n := len(out.Descriptors); out.Count >= 0 && n != out.Count {
		problems.Add(analysis.Note, line.Line{}, "the file declares "+strconv.Itoa(out.Count)+" descriptors and lists "+strconv.Itoa(n),
			"descriptors come and go while the list is made, and its own is one of them", "the listed ones are used")
	}
	if len(out.Descriptors) > 0 {
		problems.Add(analysis.Note, line.Line{}, "the list has no descriptor numbers", "it names link targets only",
			"descriptors can be counted; to follow single ones upload ls -l /proc/PID/fd or lsof -nP -p PID")
	}
	return out, problems.All(), lines.Failure(path)
}

// target reads one target of /proc/PID/fd, false if s is none.
//
//	"socket:[340613]" -> socket, inode 340613
//	"/dev/null"       -> char
func target(s string) (analysis.Descriptor, bool) {
	d := analysis.Descriptor{FD: -1, Name: text(s)}
	kind, rest, _ := strings.Cut(s, ":[")
	digits, closed := strings.CutSuffix(rest, "]")
	inode, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case strings.HasPrefix(s, "anon_inode:"):
		d.Type = "anon"
	case strings.HasPrefix(s, "/"):
		d.Deleted = strings.HasSuffix(s, " (deleted)")
		d.Type = pathType(strings.TrimSuffix(s, " (deleted)"))
	case closed && err == nil && (kind == "socket" || kind == "pipe"):
		d.Type, d.Inode = kind, inode
	case closed && err == nil && isWord(kind):
		d.Type, d.Inode = "namespace", inode
	default:
		return d, false
	}
	return d, true
}

// pathType guesses from a path what a target does not show.
//
//	"/memfd:x" memfd   "/dev/random" char   "/dev/shm/x" regular
func pathType(path string) string {
	device, dev := strings.CutPrefix(path, "/dev/")
	switch {
	case strings.HasPrefix(path, "/memfd:"):
		return "memfd"
	case path == "/", strings.HasPrefix(path, "/proc/") && strings.HasSuffix(path, "/fd"):
		return "directory"
	case dev && !strings.HasPrefix(device, "shm/") && !strings.HasPrefix(device, "mqueue/") && !strings.HasPrefix(device, "hugepages/"):
		return "char"
	}
	return "regular"
}

func isWord(s string) bool { return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == "" }
