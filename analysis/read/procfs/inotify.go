package procfs

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// What a table counts.
const (
	Instances = "instances" // of inotify
	Watches   = "watches"
	Threads   = "threads" // by ps
	// nothing is what the output of another command counts.
	nothing = "-"
)

// InotifyCount is one row of a table that a script made of fdinfo or of the fd
// links: so many instances or watches of a process, of one descriptor, or on one
// target. What the table does not name is 0 or ""; FD is then -1.
type InotifyCount struct {
	Count int
	// What is Instances, Watches or Threads.
	What string
	// Instances is set if a table has both figures: Count is then of watches.
	Instances     int
	PID, FD       int
	User, Command string
	// Inode and Device are the target's. Device is the kernel's number as in
	// analysis.Watch, DeviceText as printed, Target its path if one was found.
	Inode      uint64
	Device     uint32
	DeviceText string
	Target     string
	// Gone is true if the script found no mount of the device.
	Gone bool
	// Part counts the tables in time of the text from 0.
	Part  int
	Place analysis.Place
}

// ParseInotifyTable reads the output of the scripts that people run against "too many
// open files" and "no space left on device". It is one of these: a header with COUNT,
// PID, USER and COMMAND (or WATCHES, INSTANCES, APP, EXE); the rows of uniq -c without
// a header; "PID 1, FD 4 has 311 watches"; the targets of one process, INUM DEV COUNT
// TARGET or "10b 267 1 267 /etc/systemd". what is Instances or Watches, the unit of
// Count of the last table. The header or the command line copied along decides it. Otherwise
// the form decides, with a problem. Tables of threads by ps are read as well, those of other
// commands are not. The DEV column of that script splits sdev by 256, which is
// wrong for disks and above 255 anonymous devices; it is put right. begins has the offset
// of the first row of each table in time. The error is that of r only.
func ParseInotifyTable(r io.Reader, path string) (rows []InotifyCount, what string, begins []int64, problems []analysis.Problem, err error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	t := inotifyTable{}
	for l := range in.All() {
		if len(t.rows) >= maxEntries {
			probs.Add(analysis.Warning, l, "too many rows", "only the first "+strconv.Itoa(maxEntries)+" are read", "split the table by process")
			break
		}
		t.line(l)
	}
	t.rest()
	if len(t.rows) == 0 && in.Offset() > 0 {
		probs.Add(analysis.Note, line.Line{}, "no count of inotify instances or watches was found", "no line has the form of a known script's",
			"save the files of /proc/PID/fdinfo themselves: they name every watch")
	}
	stated := t.what == Instances || t.what == Watches // below the rows
	if !stated && slices.ContainsFunc(t.rows, func(c InotifyCount) bool { return c.What == "" }) {
		t.what = Instances
		probs.Add(analysis.Note, line.Line{}, "the table does not say what it counts",
			"rows of uniq -c without a header are inotify instances in most scripts, which says nothing of watches",
			"save the files of /proc/PID/fdinfo themselves: they name every watch")
	}
	for i := range t.rows {
		t.rows[i].What = cmp.Or(t.rows[i].What, t.what)
	}
	return t.rows, t.what, t.begins, probs.All(), in.Failure(path)
}

// inotifyTable holds what the lines above mean for the rows below.
type inotifyTable struct {
	rows []InotifyCount
	what string
	// titles are those of the header, "" for columns that are not needed.
	titles []string
	pid    int
	// targets is true if the rows are targets of the process pid.
	targets bool
	// begins are the offsets of the tables, border sees the next one begin.
	begins []int64
	border line.Border
	// stated is the sum that a script prints above its targets, 0 if it does not; summed is
	// true until they come.
	stated int
	summed bool
}

func (t *inotifyTable) line(l line.Line) {
	text := strings.TrimSpace(l.Text)
	fields := strings.Fields(text)
	if len(fields) == 0 || strings.Trim(text, "-=") == "" {
		return
	}
	if t.above(text, fields) || t.what == nothing {
		return
	}
	row := InotifyCount{FD: -1, PID: t.pid, Place: l.Place()}
	ok := t.perFD(text, &row)
	switch {
	case ok:
	case t.gone(text, &row):
		ok = true
	case t.targets:
		ok = t.target(text, fields, &row)
	case len(t.titles) > 0:
		ok = t.titled(fields, &row)
	default:
		ok = t.hexTarget(fields, &row) || t.uniq(fields, &row)
	}
	if !ok {
		t.border.Pass(text)
		return
	}
	row.What = t.what
	number := row.number()
	if len(t.begins) == 0 || t.summed || t.border.Begins(number) {
		if !t.summed {
			t.rest()
		}
		t.summed = false
		t.border.Begin()
		t.begins = append(t.begins, l.Offset)
	}
	t.border.Add(number)
	row.Part = len(t.begins) - 1
	t.rows = append(t.rows, row)
}

// number tells the rows of one table apart.
func (c *InotifyCount) number() int64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, c.What, c.PID, "/", c.FD, "/", c.Inode, "/", c.Device, "/", c.Command)
	return int64(h.Sum64() >> 1)
}

// gone reads the complaint of a script about a target whose device is not mounted. It prints
// one for each target, however many watches are on it.
//
//	"Can't find mount info for 0:100"
func (t *inotifyTable) gone(text string, row *InotifyCount) bool {
	device, ok := strings.CutPrefix(text, "Can't find mount info for ")
	if !ok {
		return false
	}
	row.Device, _ = scriptDevice(device)
	row.Count, row.Gone, row.DeviceText = 1, true, clip(device)
	t.what = Watches
	return true
}

// complained reports that the present table has nothing yet but targets whose mount is gone.
func (t *inotifyTable) complained() bool {
	for i := len(t.rows) - 1; i >= 0 && t.rows[i].Part == len(t.begins)-1; i-- {
		if !t.rows[i].Gone {
			return false
		}
	}
	return t.stated == 0 && !t.border.Begins(-1)
}

// rest adds what a script counted and its rows do not show: the watches on targets whose
// mount is gone, else on targets that were cut off.
func (t *inotifyTable) rest() {
	left, gone := t.stated, -1
	t.stated = 0
	for i := len(t.rows) - 1; i >= 0 && t.rows[i].Part == len(t.begins)-1; i-- {
		left -= t.rows[i].Count
		if t.rows[i].Gone && gone < 0 {
			gone = i
		}
	}
	switch {
	case left <= 0 || len(t.begins) == 0:
	case gone >= 0:
		t.rows[gone].Count += left
	default:
		t.rows = append(t.rows, InotifyCount{Count: left, FD: -1, PID: t.pid, Part: len(t.begins) - 1})
	}
}

// above takes a line that explains the rows below it.
//
//	"COUNT\tPID\tUSER\tCOMMAND"   "INUM  DEV  COUNT  TARGET"   "kubelet pid=2430"
//	"# find /proc/*/fd -lname anon_inode:inotify | .. | uniq -c"
func (t *inotifyTable) above(text string, fields []string) bool {
	if fields[0] == "INUM" && slices.Contains(fields, "TARGET") {
		t.targets, t.what = true, Watches
		return true
	}
	if titles, ok := inotifyTitles(fields); ok {
		t.titles = titles
		if t.what == "" {
			t.what = Watches // counted with grep ^inotify in every script with a header
		}
		if slices.Contains(titles, "instances") && !slices.Contains(titles, "count") {
			t.what = Instances
		}
		return true
	}
	if rows, ok := line.ThreadColumns(fields); ok {
		t.titles, t.what = threadTitles(fields, rows), Threads
		return true
	}
	if line.CountsThreads(text) {
		t.titles, t.targets, t.what = nil, false, Threads
		return true
	}
	switch {
	case strings.Contains(text, "/proc/") && (strings.Contains(text, "-lname") || strings.Contains(text, "readlink") || line.IsPrompt(text) && strings.Contains(text, "inotify")) && !strings.Contains(text, "fdinfo"):
		t.what = Instances
		return true
	case strings.Contains(text, "fdinfo") && strings.Contains(text, "grep"):
		t.what = Watches
		return true
	case line.IsPrompt(text) && strings.Contains(text, "|"):
		t.titles, t.targets, t.what = nil, false, nothing
		return true
	case fields[0] == "Count:" && len(fields) == 2: // of grep over the same files
		if len(t.begins) > 0 && t.complained() { // they came before it
			return setCount(&t.stated, fields[1])
		}
		t.rest()
		t.summed = setCount(&t.stated, fields[1])
		return t.summed
	}
	if c, ok := line.ReadCommand(text); ok && c.Owner.PID > 0 && !line.IsPrompt(text) {
		t.pid, t.what = c.Owner.PID, Watches
		return true
	}
	return false
}

// inotifyTitles maps the titles of a header to fields.
//
//	"COUNT PID USER COMMAND"                     "COUNT PROCESS PID USER COMMAND"
//	"Pid Uid App Watches Instances"              "EXE PID FD-INFO INOTIFY-WATCHES"
func inotifyTitles(fields []string) ([]string, bool) {
	out := make([]string, len(fields))
	known := 0
	for i, f := range fields {
		switch strings.ToUpper(f) {
		case "COUNT", "WATCHES", "INOTIFY-WATCHES", "#WATCHES":
			out[i] = "count"
		case "INSTANCES", "PROCESS": // "INSTANCES PER PROCESS", over three lines
			out[i] = "instances"
		case "PID":
			out[i] = "pid"
		case "FD", "FD-INFO", "FDINFO":
			out[i] = "fd"
		case "USER", "UID":
			out[i] = "user"
		case "COMMAND", "APP", "CMD", "EXE", "COMM":
			out[i] = "command"
		default:
			continue
		}
		known++
	}
	counts := slices.Contains(out, "count") || slices.Contains(out, "instances")
	return out, known == len(fields) && known >= 3 && counts && slices.Contains(out, "pid")
}

// threadTitles maps the titles of a table of ps to fields. A row of one thread has its number
// as that of a descriptor would be.
func threadTitles(fields []string, rows bool) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		switch f {
		case "PID":
			out[i] = "pid"
		case "LWP", "SPID", "TID":
			out[i] = "fd"
		case "NLWP", "THCNT":
			if !rows {
				out[i] = "count"
			}
		case "CMD", "COMMAND":
			out[i] = "command"
		case "USER", "UID":
			out[i] = "user"
		}
	}
	return out
}

// titled reads a row below a header; a command that is the last column keeps its
// blanks.
func (t *inotifyTable) titled(fields []string, row *InotifyCount) bool {
	if len(fields) < len(t.titles)-1 || len(fields) < 2 {
		return false
	}
	seen, ok := 0, true
	for i, title := range t.titles {
		if i >= len(fields) {
			break
		}
		switch title {
		case "count":
			ok = ok && setCount(&row.Count, fields[i])
			seen++
		case "instances":
			ok = ok && setCount(&row.Instances, fields[i])
		case "pid":
			ok = ok && setCount(&row.PID, fields[i])
		case "fd":
			digits := fields[i][strings.LastIndexByte(fields[i], '/')+1:]
			ok = ok && setCount(&row.FD, digits)
		case "user":
			row.User = clip(fields[i])
		case "command":
			row.Command = clip(fields[i])
			if i == len(t.titles)-1 {
				row.Command = clip(strings.Join(fields[i:], " "))
			}
		}
	}
	switch {
	case seen == 0 && t.what == Threads:
		row.Count = 1
	case seen == 0:
		row.Count, row.Instances = row.Instances, 0
	}
	return ok
}

func setCount(to *int, digits string) bool {
	n, err := strconv.ParseUint(strings.ReplaceAll(digits, ",", ""), 10, 31)
	if err == nil {
		*to = int(n)
	}
	return err == nil
}

// uniq reads a row of uniq -c over pids or lines of ps.
//
//	"5  6795 root     kubelet"   Count 5, PID 6795
//	"7491 8412"                  Count 7491, PID 8412
//	"5 kubelet"                  Count 5, Command "kubelet"
//	"5 /proc/50/fd/anon_inode:inotify"  "12 /proc/50/fdinfo/7"   PID 50
func (t *inotifyTable) uniq(fields []string, row *InotifyCount) bool {
	if len(fields) < 2 || !setCount(&row.Count, fields[0]) || row.Count == 0 {
		return false
	}
	if dir, name, ok := strings.Cut(fields[1], "/fd"); ok && len(fields) == 2 && line.PathPID(dir) > 0 {
		row.PID = line.PathPID(dir)
		digits, watches := strings.CutPrefix(name, "info/")
		if watches {
			t.what = Watches
			return setCount(&row.FD, digits)
		}
		t.what = Instances
		return name == "" || strings.HasPrefix(name, "/anon_inode:")
	}
	if !setCount(&row.PID, fields[1]) {
		row.Command = clip(fields[1])
		return len(fields) == 2 && isProgram(fields[1])
	}
	switch {
	case len(fields) == 3:
		row.Command = clip(fields[2])
	case len(fields) > 3:
		row.User, row.Command = clip(fields[2]), clip(strings.Join(fields[3:], " "))
	}
	return true
}

// isProgram reports whether a word may be the name of a program.
func isProgram(word string) bool {
	letter := word[0] >= 'a' && word[0] <= 'z' || word[0] >= 'A' && word[0] <= 'Z' || word[0] == '('
	return letter && !strings.ContainsAny(word, "=:/|,")
}

// perFD reads a sentence about one descriptor.
//
//	"PID 1, FD 4 has 311 watches"
func (t *inotifyTable) perFD(text string, row *InotifyCount) bool {
	words := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if len(words) < 7 || words[0] != "PID" || words[2] != "FD" || words[4] != "has" || !strings.HasPrefix(words[6], "watch") {
		return false
	}
	if !setCount(&row.PID, words[1]) || !setCount(&row.FD, words[3]) || !setCount(&row.Count, words[5]) {
		return false
	}
	t.what = Watches
	return true
}

// target reads a row below INUM DEV COUNT TARGET; a target that was not found is
// empty.
//
//	"1          0:231      6649   "
func (t *inotifyTable) target(text string, fields []string, row *InotifyCount) bool {
	if len(fields) < 3 || !setCount(&row.Count, fields[2]) {
		return false
	}
	inode, err := strconv.ParseUint(fields[0], 10, 64)
	device, ok := scriptDevice(fields[1])
	if err != nil || !ok {
		return false
	}
	row.Inode, row.Device, row.DeviceText = inode, device, clip(fields[1])
	if len(fields) > 3 {
		row.Target = pathBehind(text, 3)
	}
	return true
}

// scriptDevice puts right what the script does to sdev: it prints sdev/256 and
// sdev%256. A major that disks have is taken to come from a corrected script.
//
//	"1:44" = 0x12c, which is 0:300   "1040384:0" = 0xfe00000, which is 254:0
//	"254:0" = 0xfe00000
func scriptDevice(text string) (uint32, bool) {
	a, b, ok := strings.Cut(text, ":")
	major, err1 := strconv.ParseUint(a, 10, 24)
	minor, err2 := strconv.ParseUint(b, 10, 20)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return 0, false
	case major < 1<<12 && (minor > 255 || isDisk(major)):
		return uint32(major<<20 | minor), true
	}
	return uint32(major<<8 | minor), minor < 256
}

// isDisk reports whether a major number is one of disks (admin-guide/devices.txt);
// split by 256 it would stand for an anonymous device far above 2,000.
func isDisk(major uint64) bool { return major == 8 || major == 9 || major == 179 || major >= 200 }

// hexTarget reads a row of the older script: inode in hex and decimal, count, and
// what debugfs printed, which is its own header where it found nothing.
//
//	"10b 267 1   267 /etc/systemd/system/"   "1   1   72  Inode   Pathname"
func (t *inotifyTable) hexTarget(fields []string, row *InotifyCount) bool {
	if len(fields) != 5 || !setCount(&row.Count, fields[2]) {
		return false
	}
	hex, err1 := strconv.ParseUint(fields[0], 16, 64)
	inode, err2 := strconv.ParseUint(fields[1], 10, 64)
	found := fields[3] == fields[1] && strings.HasPrefix(fields[4], "/")
	if err1 != nil || err2 != nil || hex != inode || !found && (fields[3] != "Inode" || fields[4] != "Pathname") {
		return false
	}
	t.what, row.Inode = Watches, inode
	if found {
		row.Target = clip(fields[4])
	}
	return true
}
