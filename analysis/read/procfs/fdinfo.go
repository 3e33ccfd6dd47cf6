package procfs

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Bounds of one fdinfo file, or of a file that joins many.
const (
	maxWatches = 100_000
	maxMarks   = 1 << 16
	maxTargets = 1 << 16
	maxLocks   = 1 << 12
	maxExtra   = 128
	maxValue   = 4 << 10
	// maxHandle is the kernel's MAX_HANDLE_SZ of 128 bytes as hex digits.
	maxHandle = 256
)

// FDInfo is one file of /proc/PID/fdinfo (fs/proc/fd.c and the show_fdinfo operations
// of each file type).
type FDInfo struct {
	// FD is the number from the file's name, -1 if that is unknown. PID is
	// known only to ParseGrep, which reads it from the path, 0 otherwise.
	FD, PID int
	// Pos may be negative. Flags are the open flags, printed in octal; they hold
	// O_CLOEXEC. MountID is field 1 of a mountinfo line.
	Pos     int64
	Flags   uint64
	MountID int
	// Inode is printed since Linux 5.14; HasInode separates 0 from absent. Plain
	// anon_inode files share one number, which identifies nothing.
	Inode uint64
	// Type follows from the extra lines: inotify, fanotify, epoll, eventfd, timerfd,
	// signalfd, userfaultfd, io_uring, pidfd, bpf-map, bpf-prog, bpf-link, tun, ptmx,
	// unix, dma-buf, drm, gpio. Most types print no extra line, so "" means unknown; an
	// inotify instance without watches is "" too.
	Type string
	// Watches are in the file's order: newest first. More is how many further ones were
	// counted and not kept.
	Watches []analysis.Watch
	More    int
	// Rare is nil if the file holds none of it, as most of the tens of thousands
	// of a capture.
	Rare *Rare
	// Bodies is how many fdinfo files the input holds: 0 for a file of inotify lines
	// alone, above 1 for a concatenation, whose watches cannot be assigned to
	// descriptors.
	Bodies int
	// Empty is true if there was not one byte: an archiver trusted the size that procfs
	// reports. It never means "no watches".
	Empty bool
	// Cut is true if the text stops within a line: more may have followed.
	Cut      bool
	HasInode bool
}

// Rare is what the files of few types hold, files with locks, and counts.
type Rare struct {
	// Counted is the number of watches that "grep -c" reported without their
	// lines; see ParseGrep.
	Counted int
	Marks   []Mark
	Targets []Target
	// Locks are the values of the lock lines, verbatim.
	Locks []string
	// Extra holds every other key with its value, verbatim; indented lines below a
	// key follow its value after a line feed. Bounded in number and length.
	Extra map[string]string
	// DeadPid is true if a pidfd's process is gone (Pid: -1).
	DeadPid bool
	// SCMFds is the number of descriptors in flight on a unix socket.
	SCMFds int
}

// Mark is one fanotify mark. Kernel source prints every number in hex, mnt_id
// included (fs/notify/fdinfo.c).
type Mark struct {
	Inode             uint64
	Device            uint32
	MountID           int
	Flags             uint32
	Mask, IgnoredMask uint32
	HandleType        uint32
	Handle            string
	Place             analysis.Place
}

// Target is one descriptor that an epoll instance waits for (fs/eventpoll.c):
// FD decimal, the rest hex.
type Target struct {
	FD     int
	Events uint32
	Data   uint64
	Inode  uint64
	Device uint32
}

// Watched returns how many watches the file shows, kept or not.
func (f FDInfo) Watched() int { return len(f.Watches) + f.More + f.Counted() }

// Counted returns how many watches "grep -c" counted without their lines.
func (f FDInfo) Counted() int {
	if f.Rare == nil {
		return 0
	}
	return f.Rare.Counted
}

// access is r, w or u from the open flags; empty for O_PATH descriptors.
func (f FDInfo) access() string {
	const oPath = 0o10000000
	if f.Flags&oPath != 0 {
		return ""
	}
	switch f.Flags & 3 {
	case 0:
		return "r"
	case 1:
		return "w"
	case 2:
		return "u"
	}
	return ""
}

// ParseFDInfo reads one fdinfo file. fd is the number in the file's name, -1 if the
// name has none; every watch carries it. Excerpts count as well: indented ones, inotify
// lines alone, several bodies in one file. The error is that of r only; what was read
// until then is returned with it.
func ParseFDInfo(r io.Reader, path string, fd int) (FDInfo, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewBlocks(r)
	body := newFDInfoReader(fd, probs, new(int))
	for l := range in.All() {
		body.read(l, l.Text)
	}
	info := body.finish()
	info.Empty = in.Offset() == 0
	if info.Bodies > 1 {
		probs.Add(analysis.Note, line.Line{}, fmt.Sprintf("the file holds %d fdinfo bodies", info.Bodies),
			"they were concatenated, so that watches cannot be told apart by descriptor",
			"copy the directory with cp -r, or use grep -H . to keep the names")
	}
	return info, probs.All(), in.Failure(path)
}

// fdinfoReader gathers the lines of one descriptor.
type fdinfoReader struct {
	info  FDInfo
	probs *line.Problems
	// watches is how many were kept of the whole file.
	watches *int
	// indent is that of the first line; deeper lines continue the value of key.
	indent int
	key    string
	// over holds the bounds that were already reported.
	over map[string]bool
}

func newFDInfoReader(fd int, probs *line.Problems, watches *int) *fdinfoReader {
	return &fdinfoReader{info: FDInfo{FD: fd}, probs: probs, watches: watches, indent: -1}
}

func (b *fdinfoReader) finish() FDInfo { return b.info }

// rare is for what is about to be kept.
func (b *fdinfoReader) rare() *Rare {
	if b.info.Rare == nil {
		b.info.Rare = &Rare{}
	}
	return b.info.Rare
}

// read takes one line; text is l.Text without a file name that grep put before it.
func (b *fdinfoReader) read(l line.Line, text string) {
	body := strings.TrimLeft(text, " \t")
	if strings.TrimRight(body, " ") == "" {
		return
	}
	indent := len(text) - len(body)
	if b.indent < 0 {
		b.indent = indent
	}
	switch {
	case strings.HasPrefix(body, "inotify "):
		b.watch(l, body)
	case strings.HasPrefix(body, "fanotify "):
		b.mark(l, body)
	case strings.HasPrefix(body, "tfd:"):
		b.target(l, body)
	case strings.Contains(body, " ino:") && strings.Contains(body, " mask:"):
		b.probs.Add(analysis.Warning, l, "a watch was not understood: there are more than are counted", line.Quote(body)+" does not begin with inotify",
			"look at the raw line, where something cut in, and read the file again")
	case indent > b.indent && b.key != "" && !isHeaderKey(body):
		b.extend(body)
	default:
		b.pair(l, body)
	}
}

// isHeaderKey reports whether a line begins with a key that every fdinfo file has.
//
//	"flags:    00"   true
//	"0: /path"       false
func isHeaderKey(body string) bool {
	switch key, _, _ := keyValue(body); key {
	case "pos", "flags", "mnt_id", "ino":
		return true
	}
	return false
}

// pair reads a "key: value" line.
//
//	"flags:\t02004000"        Flags = 02004000
//	"settime flags: 00"       Extra["settime flags"] = "00"
//	"scm_fds: 3"              SCMFds = 3
func (b *fdinfoReader) pair(l line.Line, body string) {
	key, value, ok := keyValue(body)
	if !ok && !l.Ended {
		b.cut(l, "line", body)
		return
	}
	if !ok {
		b.probs.Add(analysis.Warning, l, "a line of fdinfo has no key", line.Quote(body)+" holds no colon",
			"nothing: the other lines were read")
		return
	}
	b.key = ""
	switch key {
	case "pos":
		b.info.Bodies++
		number(b, l, key, value, 10, &b.info.Pos, strconv.ParseInt)
	case "flags":
		number(b, l, key, value, 8, &b.info.Flags, strconv.ParseUint)
	case "mnt_id":
		var id int64
		number(b, l, key, value, 10, &id, strconv.ParseInt)
		if b.info.Bodies <= 1 {
			b.info.MountID = int(id)
		}
	case "ino":
		b.info.HasInode = number(b, l, key, value, 10, &b.info.Inode, strconv.ParseUint) || b.info.HasInode
	case "lock":
		if rare := b.rare(); b.mayGrow(len(rare.Locks), maxLocks, l, "locks") {
			rare.Locks = append(rare.Locks, kept(value))
		}
	default:
		b.other(l, key, value)
	}
}

// cut notes the last line of a file that stops within it.
func (b *fdinfoReader) cut(l line.Line, what, body string) {
	b.info.Cut = true
	b.probs.Add(analysis.Warning, l, "the last "+what+" is cut off", "the file ends inside "+line.Quote(body),
		"take the file again; watches after this one are missing")
}

// number parses a header value; of several bodies the first one counts.
func number[T int64 | uint64](b *fdinfoReader, l line.Line, key, value string, base int, to *T,
	parse func(string, int, int) (T, error),
) bool {
	v, err := parse(value, base, 64)
	if err != nil {
		b.probs.Add(analysis.Warning, l, "the value of "+key+" is no number",
			line.Quote(value)+" is not a number of base "+strconv.Itoa(base), "nothing: the other lines were read")
		return false
	}
	if b.info.Bodies <= 1 {
		*to = v
	}
	return true
}

// other keeps an extra line and the type that it proves.
func (b *fdinfoReader) other(l line.Line, key, value string) {
	if t := typeOfKey(key); t != "" && b.info.Type == "" {
		b.info.Type = t
	}
	rare := b.rare()
	switch key {
	case "Pid":
		rare.DeadPid = value == "-1"
	case "scm_fds":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 {
			rare.SCMFds = n
		}
	}
	if _, seen := rare.Extra[key]; !seen && !b.mayGrow(len(rare.Extra), maxExtra, l, "extra keys") {
		return
	}
	if rare.Extra == nil {
		rare.Extra = map[string]string{}
	}
	b.key = kept(key)
	rare.Extra[b.key] = kept(value)
}

// extend adds an indented line to the value above it (io_uring's UserFiles).
func (b *fdinfoReader) extend(body string) {
	extra := b.rare().Extra
	extra[b.key] = clip(extra[b.key] + "\n" + strings.TrimRight(body, " \t"))
}

// typeOfKey names the file type whose show_fdinfo prints a key.
func typeOfKey(key string) string {
	switch key {
	case "eventfd-count", "eventfd-id", "eventfd-semaphore":
		return "eventfd"
	case "clockid", "ticks", "settime flags", "it_value", "it_interval":
		return "timerfd"
	case "sigmask":
		return "signalfd"
	case "API", "pending":
		return "userfaultfd"
	case "SqMask", "SqHead", "UserFiles":
		return "io_uring"
	case "Pid":
		return "pidfd"
	case "map_type":
		return "bpf-map"
	case "prog_type":
		return "bpf-prog"
	case "link_type":
		return "bpf-link"
	case "iff":
		return "tun"
	case "tty-index":
		return "ptmx"
	case "scm_fds":
		return "unix"
	case "exp_name":
		return "dma-buf"
	case "gpio-chip":
		return "gpio"
	case "drm-driver":
		return "drm"
	}
	return ""
}

// watch reads one inotify line (fs/notify/fdinfo.c). Every number is hex, wd too;
// proc.rst and the manual page are wrong there.
//
//	"inotify wd:1e ino:1 sdev:16 mask:20 ignored_mask:0 fhandle-bytes:c fhandle-type:81 f_handle:0100.."
//	WD 30, Inode 1, Device 22, Mask 0x20, HandleType 0x81, Handle "0100.."
func (b *fdinfoReader) watch(l line.Line, body string) {
	b.info.Type = "inotify"
	w := analysis.Watch{FD: b.info.FD, Place: l.Place()}
	fields := hexFields{text: body}
	w.WD = int64(fields.hex("wd", 32))
	w.Inode = fields.hex("ino", 64)
	w.Device = uint32(fields.hex("sdev", 32))
	w.Mask = uint32(fields.hex("mask", 32))
	w.HandleType, w.Handle = fields.handle()
	if !l.Ended && !fields.whole("ignored_mask") {
		b.cut(l, "watch", body)
		return
	}
	if fields.bad != "" {
		b.probs.Add(analysis.Warning, l, "a watch is not understood in full", fields.bad,
			"nothing: the watch is counted with what could be read")
	}
	if *b.watches >= maxWatches {
		b.info.More++
		return
	}
	*b.watches++
	b.info.Watches = append(b.info.Watches, w)
}

// mark reads one fanotify line; the first one holds the flags of the group.
//
//	"fanotify mnt_id:1e mflags:0 mask:1000 ignored_mask:0"   MountID 30, Mask 0x1000
//	"fanotify flags:0 event-flags:8000"                      Extra["fanotify"]
func (b *fdinfoReader) mark(l line.Line, body string) {
	b.info.Type = "fanotify"
	if strings.HasPrefix(body, "fanotify flags:") {
		b.other(l, "fanotify", strings.TrimSpace(strings.TrimPrefix(body, "fanotify")))
		return
	}
	fields := hexFields{text: body}
	m := Mark{Place: l.Place(), Flags: uint32(fields.hex("mflags", 32)), Mask: uint32(fields.hex("mask", 32))}
	m.IgnoredMask = uint32(fields.hex("ignored_mask", 32))
	if _, ok := fields.find("ino"); ok {
		m.Inode = fields.hex("ino", 64)
	}
	if _, ok := fields.find("sdev"); ok {
		m.Device = uint32(fields.hex("sdev", 32))
	}
	if _, ok := fields.find("mnt_id"); ok {
		m.MountID = int(fields.hex("mnt_id", 32))
	}
	m.HandleType, m.Handle = fields.handle()
	if fields.bad != "" {
		b.probs.Add(analysis.Warning, l, "a fanotify mark is not understood in full", fields.bad,
			"nothing: the mark is kept with what could be read")
	}
	if rare := b.rare(); b.mayGrow(len(rare.Marks), maxMarks, l, "fanotify marks") {
		rare.Marks = append(rare.Marks, m)
	}
}

// target reads one line of an epoll instance.
//
//	"tfd:       16 events:       19 data: ffffffff00000016  pos:0 ino:1a2f4 sdev:f"
//	FD 16, Events 0x19, Inode 0x1a2f4, Device 15
func (b *fdinfoReader) target(l line.Line, body string) {
	b.info.Type = "epoll"
	fields := hexFields{text: body}
	value, _ := fields.find("tfd")
	fd, err := strconv.Atoi(value)
	if err != nil {
		b.probs.Add(analysis.Warning, l, "an epoll target has no descriptor", line.Quote(value)+" is no number",
			"nothing: the other lines were read")
		return
	}
	t := Target{FD: fd, Events: uint32(fields.hex("events", 32)), Data: fields.hex("data", 64)}
	if _, ok := fields.find("ino"); ok { // printed since 4.13
		t.Inode, t.Device = fields.hex("ino", 64), uint32(fields.hex("sdev", 32))
	}
	if rare := b.rare(); b.mayGrow(len(rare.Targets), maxTargets, l, "epoll targets") {
		rare.Targets = append(rare.Targets, t)
	}
}

// mayGrow reports whether a list may grow. Once, it adds a problem that it may not.
func (b *fdinfoReader) mayGrow(have, most int, l line.Line, what string) bool {
	if have < most {
		return true
	}
	if !b.over[what] {
		if b.over == nil {
			b.over = map[string]bool{}
		}
		b.over[what] = true
		b.probs.Add(analysis.Warning, l, "more than "+strconv.Itoa(most)+" "+what+" in one fdinfo file",
			"the rest is not kept, to bound memory", "no kernel prints that many: the file was made up or joined")
	}
	return false
}

func clip(s string) string {
	if len(s) > maxValue {
		return strings.Clone(s[:maxValue])
	}
	return s
}

// kept is clip for what outlives its line.
func kept(s string) string { return strings.Clone(clip(s)) }

// hexFields finds the fields of one inotify, fanotify or epoll line and remembers
// the first that could not be read.
type hexFields struct {
	text string
	bad  string
}

// find returns the value of a field; blanks may stand after its colon.
//
//	"tfd:   16 events: 19 pos:0", "events"   "19", true
func (f *hexFields) find(key string) (string, bool) {
	rest := f.text
	for {
		i := strings.Index(rest, key)
		if i < 0 {
			return "", false
		}
		before := i == 0 || rest[i-1] == ' ' || rest[i-1] == '\t'
		rest = rest[i+len(key):]
		if !before || !strings.HasPrefix(rest, ":") {
			continue
		}
		value := strings.TrimLeft(rest[1:], " \t")
		if end := strings.IndexAny(value, " \t"); end >= 0 {
			value = value[:end]
		}
		return value, true
	}
}

// hex returns the value of a hex field, 0 and a problem if it has none.
func (f *hexFields) hex(key string, bits int) uint64 {
	value, ok := f.find(key)
	if !ok {
		f.complain("it has no " + key)
		return 0
	}
	v, err := strconv.ParseUint(value, 16, bits)
	if err != nil {
		f.complain("its " + key + " " + line.Quote(value) + " is no hex number of " + strconv.Itoa(bits) + " bits")
		return 0
	}
	return v
}

// handle returns type and digits of the file handle, "" on kernels that print none.
func (f *hexFields) handle() (uint32, string) {
	digits, ok := f.find("f_handle")
	if !ok {
		return 0, ""
	}
	if len(digits) > maxHandle {
		f.complain("its file handle is longer than any")
		digits = digits[:maxHandle]
	}
	return uint32(f.hex("fhandle-type", 32)), strings.Clone(digits)
}

// whole reports whether a line that lost its end still has the last field that every
// kernel prints, and a complete handle if it has any part of one.
func (f *hexFields) whole(last string) bool {
	if v, ok := f.find(last); !ok || v == "" {
		return false
	}
	_, tail, _ := strings.Cut(f.text, last+":")
	_, tail, _ = strings.Cut(tail, " ")
	if strings.TrimSpace(tail) == "" {
		return true
	}
	digits, ok := f.find("f_handle")
	return ok && uint64(len(digits)) == 2*f.hex("fhandle-bytes", 32)
}

func (f *hexFields) complain(why string) {
	if f.bad == "" {
		f.bad = why
	}
}
