package procfs

import (
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// maxEntries bounds how many descriptors one listing may name.
const maxEntries = 1 << 17

// Capture is what a text shows of the fdinfo files of one process at one time.
type Capture struct {
	// PID is 0 if the paths have none. Part counts the points in time of the text from 0.
	PID, Part int
	// Infos has one FDInfo for each descriptor, in the order of their first line.
	Infos []FDInfo
}

// ParseGrep reads what "grep -H inotify /proc/PID/fdinfo/*" or "grep -H ." over the
// same files prints, every line after the file it came from, and what tail prints of
// several files, each below its path. The files of a thread repeat those of its process
// and count once. begins has the offset of each point in time: one begins with a line
// of a file that came before, or below a line of date. Line numbers of "grep -n" are skipped; the
// counts of "grep -c" become Rare.Counted. The error is that of r only.
func ParseGrep(r io.Reader, path string) (captures []Capture, begins []int64, problems []analysis.Problem, err error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	t := grepReader{probs: probs}
	var below grepFile // the file that the heading names
	dir := ""
	for l := range in.All() {
		if name, ok := fileHeading(l.Text); ok {
			t.file, t.headed = nil, false
			if pid, fd, _, ok := splitGrep(name + ":"); ok {
				below, dir, t.headed = grepFile{pid, fd}, name[:strings.LastIndexByte(name, '/')+1], true
				if strings.HasPrefix(l.Text, "==>") { // a command may print nothing, or the time first
					t.visit(l, below, dir, "==>")
				}
			}
			continue
		}
		pid, fd, text, ok := splitGrep(l.Text)
		switch date := line.IsDate(l.Text); {
		case ok && !date:
			t.headed = false
			if t.visit(l, grepFile{pid, fd}, l.Text[:max(strings.Index(l.Text, "fdinfo/"), 0)], text); t.file != nil {
				t.file.grepLine(l, text)
			}
		case t.headed && !date:
			if t.visit(l, below, dir, l.Text); t.file != nil {
				t.file.grepLine(l, l.Text)
			}
		default:
			t.border.Pass(strings.TrimSpace(l.Text))
			t.beside(l)
		}
	}
	t.next()
	if t.unread > 0 {
		probs.Add(analysis.Warning, t.firstUnread, wording.Plural(t.unread, "file was", "files were")+" not readable for the command", line.Quote(strings.TrimSpace(t.firstUnread.Text)),
			"run it as root, while the process lives")
	}
	return t.captures, t.begins, probs.All(), in.Failure(path)
}

// grepFile is one file of a process.
type grepFile struct{ pid, fd int }

// grepReader gathers the files of the present point in time.
type grepReader struct {
	captures []Capture
	begins   []int64
	probs    *line.Problems
	border   line.Border
	// order are the files of the point, byFile their place in it; dirs is where each was
	// read from.
	order  []*fdinfoReader
	byFile map[grepFile]int
	dirs   []string
	begin  int64
	// file reads the file of the line, nil
	// if it is left out; headed is true if it stands below a heading.
	file         *fdinfoReader
	headed       bool
	all, watches int
	// unread counts the messages about files that could not be read.
	unread      int
	firstUnread line.Line
}

// visit moves on to the file of a line.
func (t *grepReader) visit(l line.Line, file grepFile, dir, text string) {
	at, seen := t.byFile[file]
	if seen && dir != t.dirs[at] {
		t.file = nil // a thread shows the files of its process
		return
	}
	number := file.line(text)
	if t.border.Begins(number) {
		t.next()
		seen = false
	}
	t.border.Add(number)
	if seen {
		t.file = t.order[at]
		return
	}
	t.file = nil
	if t.all >= maxEntries {
		if t.all == maxEntries {
			t.probs.Add(analysis.Warning, l, "too many descriptors", "only the first "+strconv.Itoa(maxEntries)+" are read", "split the listing by process")
		}
		t.all = maxEntries + 1
		return
	}
	if len(t.order) == 0 {
		t.byFile, t.begin = map[grepFile]int{}, l.Offset
	}
	t.all++
	t.file = newFDInfoReader(file.fd, t.probs, &t.watches)
	t.file.info.PID = file.pid
	t.byFile[file] = len(t.order)
	t.order, t.dirs = append(t.order, t.file), append(t.dirs, strings.Clone(dir))
}

// line numbers the lines that a file has once, -1 for others.
//
//	"pos:\t0"   "inotify wd:1 ino:1 sdev:16 .."   "48"
func (f grepFile) line(text string) int64 {
	key, rest, _ := strings.Cut(text, " ino:")
	if digits, after := leadingDigits(text); after == "" && digits != "" {
		key = ""
	} else if !strings.HasPrefix(key, "pos:") && !strings.HasPrefix(key, "==>") && rest == "" {
		return -1
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, strconv.Itoa(f.pid)+"/"+strconv.Itoa(f.fd)+"/"+key)
	return int64(h.Sum64() >> 1)
}

// next ends the point in time.
func (t *grepReader) next() {
	if len(t.order) == 0 {
		return
	}
	byPID := map[int]int{}
	for _, file := range t.order {
		at, seen := byPID[file.info.PID]
		if !seen {
			at = len(t.captures)
			byPID[file.info.PID] = at
			t.captures = append(t.captures, Capture{PID: file.info.PID, Part: len(t.begins)})
		}
		t.captures[at].Infos = append(t.captures[at].Infos, file.finish())
	}
	t.begins = append(t.begins, t.begin)
	t.order, t.dirs, t.byFile, t.file = nil, nil, nil, nil
	t.border.Begin()
}

// fileHeading is the path in a heading of tail, or the one file that a command prints.
//
//	"==> /proc/50/fdinfo/5 <=="  "$ cat /proc/50/fdinfo/5"  "$ while sleep 5; do grep -c x /proc/50/fdinfo/5; done"   "/proc/50/fdinfo/5"
func fileHeading(text string) (string, bool) {
	if name, ok := strings.CutPrefix(text, "==> "); ok {
		return strings.CutSuffix(strings.TrimRight(name, " "), " <==")
	}
	if !line.IsPrompt(text) {
		return "", false
	}
	var name string
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, `;)'"`)
		_, number, ok := strings.Cut(word, "/fdinfo/")
		if digits, rest := leadingDigits(number); !ok || digits == "" || rest != "" {
			continue
		}
		if name != "" {
			return "", false // grep prints the names of several
		}
		name = word
	}
	return name, name != ""
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
	if n, err := strconv.Atoi(digits); err == nil && n > 0 {
		b.info.Type = "inotify"
		b.rare().Counted += n
	}
}

// beside takes a line without a file name.
func (t *grepReader) beside(l line.Line) {
	text := strings.TrimSpace(l.Text)
	if _, command := line.ReadCommand(text); command || text == "" || text == "--" || line.IsDate(text) || line.IsCommand(text) || line.IsFence(text) {
		return
	}
	if line.IsMessage(text) {
		if t.unread++; t.unread == 1 {
			t.firstUnread = l
		}
		return
	}
	t.probs.Add(analysis.Note, l, "a line names no fdinfo file", line.Quote(text)+" does not begin with .../fdinfo/N:",
		"nothing: the other lines were read")
}

// splitGrep cuts the file name off a line and reads pid and descriptor from it; pid is
// 0 if the path has none.
//
//	"/proc/2706/fdinfo/25:inotify wd:1 .."   2706, 25, "inotify wd:1 .."
//	"25:pos:\t0"                             0, 25, "pos:\t0"
func splitGrep(text string) (pid, fd int, rest string, ok bool) {
	text = strings.TrimLeft(text, " \t")
	if line.IsMessage(text) {
		return 0, 0, "", false
	}
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
	if pid := line.PathPID(dir); pid > 0 {
		return pid
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
