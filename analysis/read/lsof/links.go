package lsof

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// ParseListing reads ls -l of /proc/PID/fd by GNU or busybox, with -a, -Q or
// --time-style, under SELinux, indented, or without rights to read the targets; "4 ->
// target" as find and stat print it; and the paths /proc/PID/fd/4 of ls -l, find -ls and
// find -printf. visit receives each descriptor once, in the lexical order of the listing;
// a target with a line feed is joined again. part counts the listings in time of the
// file from 0, pid is that of the path, or of a heading like "/proc/2706/fd:", 0 without
// both. The error is that of visit or of r.
func ParseListing(r io.Reader, path string, visit func(part, pid int, d *analysis.Descriptor) error) (Listing, []analysis.Problem, error) {
	in := line.NewReader(r)
	t := linkReader{listingState: newListingState(path), words: words{}, visit: visit}
	for l := range in.All() {
		if t.line(l); t.err != nil {
			break
		}
	}
	t.flush()
	if t.err == nil {
		t.err = in.Failure(path)
		t.Truncated = t.Truncated || t.err != nil
	}
	if n := t.Size - int64(max(t.part.Descriptors, t.Descriptors)); t.Parts == 0 && n > 0 {
		t.probs.Add(analysis.Warning, line.Line{}, "the directory holds "+strconv.FormatInt(n, 10)+" more descriptors than are listed",
			"its own entry states "+strconv.FormatInt(t.Size, 10)+" as its size, which newer kernels set to their number", "take the listing again; the figures are lower bounds")
	}
	listing, probs := t.close(in.Offset())
	return listing, probs, t.err
}

// linkReader holds one entry back: the next line may continue its target.
type linkReader struct {
	*listingState
	words words
	visit func(part, pid int, d *analysis.Descriptor) error
	err   error
	// tid is the thread whose directory the heading names, which shows the table of its process.
	pid, tid int
	// held is the entry not yet visited, more the lines after it.
	held    analysis.Descriptor
	heldPID int
	heldTID int
	heldRow line.Line
	holding bool
	more    []line.Line
	// long is true if entries have modes, so that "4 -> x" is not one.
	long bool
	// targets reports that entries have them: without rights none has.
	targets bool
	// elsewhere is true below the heading of a directory other than fd.
	elsewhere bool
	// pairs is true if the command above prints numbers and targets without an arrow.
	pairs bool
	// pattern is what the command above selects by -lname: find prints no target then.
	pattern string
}

func (t *linkReader) line(l line.Line) {
	l.Text = plain(l.Text)
	text := strings.TrimSpace(l.Text)
	if dir, ok := directory(text); ok {
		t.flush()
		t.pid, t.tid, t.elsewhere = dir, threadOf(text), !strings.HasSuffix(strings.TrimSuffix(text, ":"), "/fd")
		return
	}
	if n, ok := strings.CutPrefix(text, "total "); ok && isPlainNumber(n) {
		t.flush()
		t.begin(l)
		return
	}
	if size, ok := own(text); ok {
		t.flush()
		t.begin(l)
		t.Size = size
		return
	}
	d, pid, ok := t.entry(l, text)
	if !ok {
		t.other(l, text)
		return
	}
	if !l.Ended && (d.Name == "" && t.targets || openBracket(d.Name)) {
		t.flush()
		t.cut(l)
		return
	}
	t.flush()
	t.targets = t.targets || d.Name != ""
	d.Place = l.Place()
	t.held, t.heldPID, t.heldTID, t.heldRow, t.holding = d, cmp.Or(pid, t.pid), t.tid, l, true
	if pid > 0 {
		t.heldTID = threadOf(text)
	}
}

// openBracket reports a target of the kernel without its end.
//
//	"socket:[12" "anon_inode:[event"   true
func openBracket(target string) bool {
	_, inside, opened := strings.Cut(target, ":[")
	return opened && !strings.HasPrefix(target, "/") && !strings.Contains(inside, "]")
}

func (t *linkReader) cut(l line.Line) {
	t.Truncated = true
	t.probs.Add(analysis.Warning, l, "the last entry is cut off", "the file ends inside "+line.Quote(l.Text),
		"take the listing again; the figures are lower bounds")
}

// other takes a line that is no entry: maybe the rest of a target.
func (t *linkReader) other(l line.Line, text string) {
	const most = 3
	if text == "" && len(t.more) == 0 {
		return
	}
	if t.holding && strings.HasPrefix(t.held.Name, "/") && len(t.more) < most && noiseKind(text) == "other" && !likeEntry(text) {
		t.more = append(t.more, l)
		return
	}
	t.noise(l, text)
}

func (t *linkReader) noise(l line.Line, text string) {
	kind := noiseKind(text)
	switch {
	case text == "":
		return
	case !t.long && isStat(text):
		kind = "line of stat"
	case kind == "date":
		t.flush() // it stands behind the entry held back
	case isEntryOfLs(text):
		if text[0] != 'l' || t.elsewhere || isProcessLink(text) {
			kind = "entry that is no descriptor"
		}
	case strings.HasPrefix(text, "ls: "), strings.HasPrefix(text, "find: "), line.IsMessage(text):
		kind = "message of ls"
		t.probs.Add(analysis.Warning, l, text[:strings.IndexByte(text, ':')]+" could not read a link", line.Quote(text), "run it as root, while the process lives")
	}
	if kind == "command line" {
		t.Command = cmp.Or(t.Command, text[:min(len(text), maxExample)])
		t.pattern, t.pairs = linkPattern(text), strings.Contains(text, "%f %l")
	}
	if t.holding || kind != "date" && kind != "heading" && likeEntry(text) {
		t.begin(l)
	}
	t.refuse(l, kind, "is no link of a descriptor")
}

// isStat reports whether a line is one that stat prints below the name of a link.
//
//	"Size: 64        	Blocks: 0          IO Block: 1024   symbolic link"   true
func isStat(text string) bool {
	key, _, _ := strings.Cut(text, ":")
	return slices.Contains([]string{"Size", "Device", "Access", "Modify", "Change", "Birth", "Context"}, key)
}

// isProcessLink reports whether an entry is one of the links of /proc/PID itself.
//
//	"lrwxrwxrwx 1 root root 0 Nov 21 03:02 cwd -> /srv"   true
func isProcessLink(text string) bool {
	left, _, arrow := strings.Cut(text, " -> ")
	_, name := lastToken(left)
	return arrow && (name == "cwd" || name == "exe" || name == "root")
}

// likeEntry reports whether a line begins as entries do, whole or cut, or has the arrow
// of one.
//
//	"lrwx------ 1 root" "lr-" "rwx------ 1 root root 64 Nov 21 03:02 7 -> /x"   true
func likeEntry(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return strings.Contains(text, " -> ") || isEntryOfLs(text) || strings.Trim(first, "lrwx-") == ""
}

// flush visits the entry held back. Few lines between two entries, or after the
// last, are the rest of its target; more of them are something else.
func (t *linkReader) flush() {
	if !t.holding || t.err != nil {
		return
	}
	t.holding = false
	more := t.more
	t.more = nil
	if len(more) > 0 && len(more) <= 2 {
		name := t.held.Name
		for _, l := range more {
			name += "\n" + l.Text
			t.held.Place.Length = l.Offset + l.Length - t.held.Place.Offset
		}
		access, place, fd := t.held.Access, t.held.Place, t.held.FD
		t.held = link(fd, name)
		t.held.Access, t.held.Place = access, place
		more = nil
	}
	for _, l := range more {
		t.noise(l, strings.TrimSpace(l.Text))
	}
	t.Form = formLinks
	row := Row{PID: t.heldPID, TID: t.heldTID, FD: t.held.FD, Star: t.held.FD < 0, IsDescriptor: true}
	if t.count(t.heldRow, &row) {
		t.words.descriptor(&t.held)
		t.err = t.visit(t.Parts, t.heldPID, &t.held)
	}
}

// entry reads one descriptor of the listing, and the process that its path names.
//
//	"lr-x------. 1 root root 64 Jun 20 12:56 10 -> /dev/null"           FD 10, Access "r"
//	`lrwx------ 1 root root 64 Nov 21 03:02 "12" -> "/a\\b"`             FD 12, Access "u"
//	"4711 0 lr-x------ 1 root root 64 Feb 2 02:02 /proc/50/fd/4 -> x"   FD 4, pid 50
//	"4 -> socket:[1]"   "/proc/50/fd/4 socket:[1]"   "/proc/50/fd 4 socket:[1]"   FD 4
func (t *linkReader) entry(l line.Line, text string) (d analysis.Descriptor, pid int, ok bool) {
	left, target, arrow := strings.Cut(text, " -> ")
	if arrow { // blanks at the end belong to the target
		_, target, _ = strings.Cut(l.Text, " -> ")
	}
	if !arrow && strings.HasPrefix(text, "/proc/") {
		name, after := cutWord(text)
		if strings.HasSuffix(name, "/fd") && after != "" { // of find -printf '%h %f %l\n'
			fd, rest := cutWord(after)
			if !isPlainNumber(fd) { // '%h %l\n' tells no number
				d, pid = link(-1, after), line.PathPID(name)
				return d, pid, pid > 0
			}
			name, after = name+"/"+fd, rest
		}
		left, target, arrow = name, after, true
	}
	if fd, after := cutWord(text); t.pairs && isPlainNumber(fd) && after != "" {
		left, target, arrow = fd, after, true
	}
	mode := linkMode(left)
	_, name := lastToken(left)
	name, pid, ok = linkName(unquote(name))
	fd, isNumber := number(name)
	switch {
	case !ok, !isNumber, mode != "" && !arrow && !behindTime(left):
		return d, 0, false
	case mode != "":
		t.long = true
	case t.long || !arrow || pid == 0 && !isBare(left):
		return d, 0, false
	}
	if target == "" && pid > 0 {
		target = t.pattern
	}
	d = link(fd, unquote(target))
	d.Access = linkAccess(mode)
	return d, pid, true
}

// threadOf is the thread that the path of a row or heading names, 0 if it names none.
//
//	"/proc/50/task/51/fd:" = 51   "/proc/50/task/51/fd/4 -> /dev/null" = 51   "/proc/50/fd/4 -> /srv/task/1/fd" = 0
func threadOf(text string) int {
	name, _, _ := strings.Cut(text, " -> ")
	_, after, _ := strings.Cut(name, "/task/")
	digits, _, _ := strings.Cut(after, "/")
	tid, _ := number(digits)
	return tid
}

// cutWord splits off the first word.
func cutWord(text string) (word, rest string) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimLeft(text[at:], " \t")
}

// linkName splits the path of a link of a descriptor; a bare name is one of the directory
// that is listed.
//
//	"/proc/50/fd/4" = "4", 50   "./fd/4" = "4", 0   "4" = "4", 0   "/dev/dri/4" fails
func linkName(name string) (fd string, pid int, ok bool) {
	dir, fd, found := cutLast(name, '/')
	if !found {
		return name, 0, true
	}
	return fd, line.PathPID(dir), dir == "." || dir == "fd" || strings.HasSuffix(dir, "/fd")
}

// linkPattern is the target that a command of find selects, "" if it may be one of several.
//
//	"$ find /proc/*/fd -lname '*inotify'" = "anon_inode:inotify"
func linkPattern(command string) string {
	_, after, _ := strings.Cut(command, "-lname ")
	word, _, _ := strings.Cut(after, " ")
	switch word = strings.Trim(word, `'"*`); {
	case word == "inotify":
		return "anon_inode:inotify"
	case strings.HasPrefix(word, "anon_inode:") && !strings.ContainsAny(word, "*?[]"):
		return word
	}
	return ""
}

// behindTime reports whether the last word of an entry without a target stands behind its
// time or year: else it is part of an entry that breaks off.
//
//	"lrwx------ 1 root root 64 Nov 21 03:02 7"   true
//	"lrwx------ 1 root root 64 Nov 21"           false
func behindTime(left string) bool {
	head, _ := lastToken(left)
	_, before := lastToken(head)
	return strings.Contains(before, ":") || strings.HasPrefix(before, "+") || strings.HasPrefix(before, "-") || len(before) == 4 && strings.HasPrefix(before, "20")
}

// isBare reports whether nothing but the number stands before the arrow.
//
//	"4" "File: 4"   true
func isBare(left string) bool {
	left = strings.TrimSpace(strings.TrimPrefix(left, "File:"))
	return isPlainNumber(unquote(left))
}

// linkMode finds the mode of a symbolic link among the first tokens; inode and
// blocks may stand before it (ls -lis).
//
//	"lrwx------. 1 root .."   "lrwx------"
func linkMode(left string) string {
	for _, tok := range tokens(left, 3) {
		word := left[tok.start:tok.end]
		if isMode(word) && word[0] == 'l' {
			return word[:10]
		}
		if !isPlainNumber(word) {
			return ""
		}
	}
	return ""
}

// isMode recognises the mode string of ls; a last character marks SELinux or ACLs.
func isMode(s string) bool {
	if len(s) != 10 && (len(s) != 11 || strings.IndexByte(".+@", s[10]) < 0) {
		return false
	}
	return strings.IndexByte("-dlcbps", s[0]) >= 0 && strings.Trim(s[1:10], "rwxsStT-") == ""
}

// isEntryOfLs reports whether a line is an entry of ls, whatever it lists.
func isEntryOfLs(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return isMode(first)
}

// linkAccess reads the owner's bits; O_PATH descriptors have none.
//
//	"l-wx------"   "w"
func linkAccess(mode string) string {
	if mode == "" {
		return ""
	}
	switch mode[1:3] {
	case "r-":
		return "r"
	case "-w":
		return "w"
	case "rw":
		return "u"
	}
	return ""
}

// directory reads the heading of a listing of several directories.
//
//	"/proc/2706/fd:"   2706, true
func directory(text string) (pid int, ok bool) {
	dir, ok := strings.CutSuffix(text, ":")
	if !ok || !strings.HasPrefix(dir, "/") || strings.Contains(dir, " -> ") {
		return 0, false
	}
	return line.PathPID(dir), true
}

// own reads the entry of the directory itself, whose size newer kernels set to the
// number of descriptors.
//
//	"dr-x------ 2 root root 82 2026-11-21 03:02:06.560000566 +0000 ."   82, true
func own(text string) (size int64, ok bool) {
	if !strings.HasPrefix(text, "dr-x------") || !strings.HasSuffix(text, " .") { // as of /proc/PID/fd
		return 0, false
	}
	fields := strings.Fields(text)
	if len(fields) < 6 || !isMode(fields[0]) {
		return 0, false
	}
	size, err := strconv.ParseInt(fields[4], 10, 64)
	return size, err == nil
}

func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// unquote undoes ls -Q and the shell quotes that ls puts on terminals.
//
//	`"/a\\b"`   `/a\b`
func unquote(s string) string {
	if len(s) < 2 {
		return s
	}
	if s[0] == '"' && s[len(s)-1] == '"' {
		if out, err := strconv.Unquote(s); err == nil {
			return out
		}
		return s[1 : len(s)-1]
	}
	if inner := s[1 : len(s)-1]; s[0] == '\'' && s[len(s)-1] == '\'' && !strings.Contains(inner, "'") {
		return inner
	}
	return s
}

// plain drops the colours of ls --color=always.
//
//	"\x1b[01;36m10\x1b[0m -> x"   "10 -> x"
func plain(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		s = after
		if i := strings.IndexByte(after, 'm'); i >= 0 && strings.Trim(after[:i], "0123456789;") == "" {
			s = after[i+1:]
		}
	}
}

// link classifies a target of /proc/PID/fd (fs/proc/base.c, d_path of the pseudo file
// systems). Parsers do not import each other, so the rules stand here for listings and
// in procfs for links.
func link(fd int, target string) analysis.Descriptor {
	d := analysis.Descriptor{FD: fd, Name: target}
	kind, rest, _ := strings.Cut(target, ":[")
	digits, closed := strings.CutSuffix(rest, "]")
	inode, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case strings.HasPrefix(target, "anon_inode:"), strings.HasPrefix(target, "["), target == "inotify":
		d.Type = "anon"
	case strings.HasPrefix(target, "/"):
		d.Deleted = strings.HasSuffix(target, " (deleted)")
		d.Type = pathType(strings.TrimSuffix(target, " (deleted)"))
	case closed && err == nil && isNamespace(kind):
		d.Type, d.Inode = "namespace", inode
	case closed && err == nil && kind != "":
		d.Type, d.Inode = kind, inode
	}
	return d
}

// pathType guesses from a path what a link does not show: paths are regular and devices
// char unless their name proves otherwise.
//
//	"/memfd:x" "memfd"   "/dev/null" "char"   "/dev/shm/x" "regular"
func pathType(path string) string {
	name, dev := strings.CutPrefix(path, "/dev/")
	switch {
	case strings.HasPrefix(path, "/memfd:"):
		return "memfd"
	case path == "/", strings.HasPrefix(path, "/proc/") && (strings.HasSuffix(path, "/fd") || strings.HasSuffix(path, "/fdinfo")):
		return "directory"
	case !dev, strings.HasPrefix(name, "shm/"), strings.HasPrefix(name, "mqueue/"), strings.HasPrefix(name, "hugepages/"):
		return "regular"
	}
	for _, disk := range []string{"dm-", "loop", "md", "mapper/", "nbd", "nvme", "ram", "rbd", "sd", "vd", "xvd", "zram"} {
		if rest, ok := strings.CutPrefix(name, disk); ok && rest != "-control" && rest != "control" {
			return "block"
		}
	}
	return "char"
}
