package procfs

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// maxEntries bounds how many descriptors one listing may name.
const maxEntries = 1 << 17

// ParseGrep reads what "grep -H inotify /proc/PID/fdinfo/*" or "grep -H ." over the
// same files prints: every line after the file it came from. It returns one FDInfo per
// (PID, FD) in the order of their first line, and the pid if all agree (0 otherwise;
// see FDInfo.PID). Line numbers of "grep -n" are skipped; the counts of "grep -c"
// become Rare.Counted. The error is that of r only.
func ParseGrep(r io.Reader, path string) ([]FDInfo, int, []analysis.Problem, error) {
	type key struct{ pid, fd int }
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var order []*fdinfoReader
	byKey := map[key]*fdinfoReader{}
	full, watches := false, 0
	for l := range in.All() {
		pid, fd, text, ok := splitGrep(l.Text)
		if !ok {
			noteNoGrep(probs, l)
			continue
		}
		k := key{pid, fd}
		b := byKey[k]
		if b == nil && len(order) >= maxEntries {
			if !full {
				probs.Add(analysis.Warning, l, "too many descriptors", "only the first "+strconv.Itoa(maxEntries)+" are read",
					"split the listing by process")
			}
			full = true
			continue
		}
		if b == nil {
			b = newFDInfoReader(fd, probs, &watches)
			b.info.PID = pid
			byKey[k] = b
			order = append(order, b)
		}
		b.grepLine(l, text)
	}
	infos := make([]FDInfo, 0, len(order))
	pid := 0
	for i, b := range order {
		infos = append(infos, b.finish())
		if i == 0 {
			pid = b.info.PID
		}
		if b.info.PID != pid {
			pid = 0
		}
	}
	return infos, pid, probs.All(), in.Failure(path)
}

// grepLine reads the part after the file name: a line of fdinfo, one with the
// number that "grep -n" puts before it, or the count of "grep -c".
//
//	"inotify wd:1 .."     a watch
//	"5:inotify wd:1 .."   a watch
//	"48"                  Counted = 48
func (b *fdinfoReader) grepLine(l line.Line, text string) {
	digits, rest := leadingDigits(text)
	if digits != "" && strings.HasPrefix(rest, ":") {
		b.read(l, rest[1:])
		return
	}
	if digits == "" || strings.TrimSpace(rest) != "" {
		b.read(l, text)
		return
	}
	if n, err := strconv.Atoi(digits); err == nil {
		b.rare().Counted += n
	}
}

// noteNoGrep reports a line without a file name, unless it is one of grep's own.
func noteNoGrep(probs *line.Problems, l line.Line) {
	text := strings.TrimSpace(l.Text)
	if text == "" || text == "--" {
		return
	}
	if strings.HasPrefix(text, "grep:") {
		probs.Add(analysis.Warning, l, "grep could not read a file", line.Quote(text), "run it as root, while the process lives")
		return
	}
	probs.Add(analysis.Note, l, "a line names no fdinfo file", line.Quote(text)+" does not begin with .../fdinfo/N:",
		"nothing: the other lines were read")
}

// splitGrep cuts the file name off a line and reads pid and descriptor from it; pid is
// 0 if the path has none.
//
//	"/proc/2706/fdinfo/25:inotify wd:1 .."   2706, 25, "inotify wd:1 .."
//	"25:pos:\t0"                             0, 25, "pos:\t0"
func splitGrep(text string) (pid, fd int, rest string, ok bool) {
	text = strings.TrimLeft(text, " \t")
	dir := ""
	name := strings.TrimPrefix(text, "./")
	if i := strings.Index(text, "fdinfo/"); i >= 0 {
		dir, name = text[:i], text[i+len("fdinfo/"):]
	}
	digits, rest := leadingDigits(name)
	fd, err := strconv.Atoi(digits)
	if err != nil || !strings.HasPrefix(rest, ":") {
		return 0, 0, "", false
	}
	return pidOfPath(dir), fd, rest[1:], true
}

// pidOfPath reads the process of a directory below /proc.
//
//	"/proc/2706/task/2710/"   2706
//	"bundle/2706/"            2706
//	"kubelet/"                0
func pidOfPath(dir string) int {
	if _, after, ok := strings.Cut(dir, "proc/"); ok {
		digits, _ := leadingDigits(after)
		if pid, err := strconv.Atoi(digits); err == nil {
			return pid
		}
	}
	dir = strings.TrimSuffix(dir, "/")
	pid, err := strconv.Atoi(dir[strings.LastIndexByte(dir, '/')+1:])
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// leadingDigits splits decimal digits off the beginning.
//
//	"25:pos"   "25", ":pos"
func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
