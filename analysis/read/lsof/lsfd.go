package lsof

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// The forms of lsfd's output.
const (
	formLsfd     = "lsfd"
	formLsfdJSON = "lsfd-json"
)

// ParseLsfd reads what lsfd of util-linux prints, with any choice of columns that names
// PID and ASSOC or FD: the table, also without its header, and -J. ASSOC is a number
// for descriptors and a word for everything else that a process holds (exe, cwd, mem,
// net). Up to 2.38 a socket is named by protocol and inode alone ("TCP:[314882]"): its
// ends stay empty until a socket table is joined. Later releases print them in NAME
// (lsfd(1), tcp_get_name in lsfd-sock-xinfo.c). visit, part and error are as for
// ParseTable.
func ParseLsfd(r io.Reader, path string, visit func(part int, row *Row) error) (Listing, []analysis.Problem, error) {
	head := bufio.NewReaderSize(r, 4<<10)
	if isJSON(head) {
		t := objectReader{listingState: newListingState(path), in: newObjects(head), visit: visit, form: formLsfdJSON, fill: (*Row).fillLsfd}
		return t.run(path)
	}
	in := line.NewReader(head)
	t := lsfdReader{listingState: newListingState(path)}
	return t.readLines(in, path, func(l line.Line) error { return t.line(l, visit) })
}

// isJSON reports whether a brace stands first on one of the first lines; a table
// may have a prompt above it as well.
func isJSON(r *bufio.Reader) bool {
	head, _ := r.Peek(2 << 10) // what is there
	for text := range bytes.Lines(bytes.TrimPrefix(head, []byte("\ufeff"))) {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return text[0] == '{'
		}
	}
	return false
}

// lsfdReader holds the titles of the table.
type lsfdReader struct {
	*listingState
	columns columns
	row     Row
}

func (t *lsfdReader) line(l line.Line, visit func(int, *Row) error) error {
	text := strings.TrimSpace(l.Text)
	if text == "" {
		return nil
	}
	if c, ok := lsfdHeader(l.Text); ok {
		if t.part.Rows > 0 {
			t.next()
		}
		t.begin(l)
		t.Form, t.columns, t.Columns = formLsfd, c, c.titles()
		return nil
	}
	if !t.parse(l) {
		t.noise(l, text)
		return nil
	}
	if !l.Ended && t.row.NameText == "" {
		t.Truncated = true
		t.probs.Add(analysis.Warning, l, "the last row is cut off", "the file ends inside "+line.Quote(l.Text),
			"take the listing again; the figures are lower bounds")
		return nil
	}
	t.Form = formLsfd
	if !t.count(l, &t.row) {
		return nil
	}
	return visit(t.Parts, &t.row)
}

func (t *lsfdReader) noise(l line.Line, text string) {
	kind := noiseKind(text)
	if strings.HasPrefix(text, "lsfd: ") {
		kind = "message of lsfd"
		t.probs.Add(analysis.Warning, l, "lsfd printed a message instead of rows", line.Quote(text), "correct the command and take the listing again")
	}
	if kind == "command line" && t.Command == "" {
		t.Command = text[:min(len(text), maxExample)]
	}
	t.refuse(l, kind, "has no descriptor below ASSOC")
}

// parse reads a row into t.row, by the titles or else by the look of its tokens.
func (t *lsfdReader) parse(l line.Line) bool {
	var cells record
	if !t.columns.lsfdCells(l.Text, &cells) {
		cells = record{}
		if len(t.columns) > 0 && !t.columns.usual() || !lsfdTokens(l.Text, &cells) {
			return false
		}
	}
	t.row = Row{}
	t.row.fillLsfd(&cells)
	t.row.Descriptor.Place = l.Place()
	return t.row.PID > 0 && isAssoc(t.row.FDText)
}

// lsfdHeader recognises the titles. COMMAND, if present, is the first and is
// left-aligned, as NAME is. The others end under the right edge of their title.
//
//	"COMMAND   PID USER ASSOC MODE TYPE SOURCE MNTID INODE NAME"
func lsfdHeader(text string) (columns, bool) {
	var c columns
	for _, tok := range tokens(text, 64) {
		title := text[tok.start:tok.end]
		if strings.Trim(title, "ABCDEFGHIJKLMNOPQRSTUVWXYZ:.-_46") != "" {
			return nil, false
		}
		c = append(c, column{title: title, start: tok.start, end: tok.end})
	}
	return c, len(c) >= 3 && c.has("PID") && (c.has("ASSOC") || c.has("FD") && !c.has("SIZE/OFF") && !c.has("NODE"))
}

func (c columns) has(title string) bool {
	return slices.ContainsFunc(c, func(col column) bool { return col.title == title })
}

// usual reports whether the titles are those of a table without -o, whose rows can be
// read by their tokens alone.
func (c columns) usual() bool {
	var names []string
	for _, col := range c {
		if col.title == "XMODE" {
			names = append(names, "MODE")
			continue
		}
		names = append(names, col.title)
	}
	return strings.Join(names, " ") == "COMMAND PID USER ASSOC MODE TYPE SOURCE MNTID INODE NAME"
}

// lsfdCells cuts a row by the titles; false if it does not fit below them.
func (c columns) lsfdCells(text string, to *record) bool {
	if len(c) == 0 || strings.ContainsRune(text, '\t') {
		return false
	}
	from := 0
	for i, col := range c {
		switch {
		case col.title == "COMMAND" && i+1 < len(c):
			continue
		case i == len(c)-1 && col.title == "NAME":
			if from > len(text) || col.start <= len(text) && strings.TrimSpace(text[from:col.start]) != "" {
				return false
			}
			to.set("name", unhex(text[min(col.start, len(text)):]))
			continue
		}
		cell, _, ok := cellBetween(text, from, col.end)
		if !ok {
			return false
		}
		from = col.end
		if i > 0 && c[i-1].title == "COMMAND" { // they share the width up to this edge
			var wide string
			wide, cell = lastToken(cell)
			to.set("command", wide)
		}
		if strings.ContainsRune(cell, ' ') {
			return false
		}
		to.set(strings.ToLower(col.title), cell)
	}
	return true
}

// lsfdTokens reads a row of the usual columns. MODE identifies them: the association
// comes before it and five more cells after it.
//
//	"systemd 1437 jet 4 rw- eventpoll anon_inodefs 15 1060 tfds=5,6"
func lsfdTokens(text string, to *record) bool {
	toks := tokens(text, 40)
	word := func(i int) string { return text[toks[i].start:toks[i].end] }
	mode := 4
	for mode+4 < len(toks) && !(isLsfdMode(word(mode)) && isAssoc(word(mode-1)) && isPID(word(mode-3))) {
		mode++
	}
	if mode+4 >= len(toks) || !isPID(word(mode+4)) {
		return false
	}
	to.set("command", strings.TrimSpace(text[:toks[mode-3].start]))
	for i, key := range []string{"pid", "user", "assoc", "mode", "type", "source", "mntid", "inode"} {
		to.set(key, word(mode-3+i))
	}
	to.set("name", unhex(strings.TrimLeft(text[toks[mode+4].end:], " ")))
	return true
}

// unhex undoes what libsmartcols does to control bytes; a backslash of the name
// itself is printed as it is.
//
//	`a\x0ab\c` = "a", line feed, `b\c`
func unhex(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], `\x`) && i+4 <= len(s) {
			if v, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				out.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// isLsfdHeader recognises the titles of lsfd, which has ASSOC where lsof has FD.
//
//	"COMMAND   PID USER ASSOC MODE TYPE SOURCE MNTID INODE NAME"   true
func isLsfdHeader(text string) bool {
	return strings.HasPrefix(text, "COMMAND ") && strings.Contains(text, " ASSOC ")
}

// lsfdTable files a table of lsfd inside one of lsof. Only a file that is lsfd's from
// its beginning is read as such.
func (t *tableReader) lsfdTable(l line.Line) {
	t.skip(l, "header of lsfd")
	t.probs.Add(analysis.Warning, l, "this is a table of lsfd", "its columns are others than those of lsof",
		"save the output of lsof -nP as well")
}

// isLsfdMode recognises MODE and the longer XMODE.
//
//	"rw-" "---" "rw---m" "r--D-"   true
func isLsfdMode(s string) bool {
	return len(s) >= 3 && len(s) <= 6 && strings.IndexByte("r-", s[0]) >= 0 && strings.IndexByte("w-", s[1]) >= 0 &&
		strings.Trim(s[2:], "x-LlDdm") == ""
}

// fillLsfd reads the cells of one row, by their titles in lower case.
func (r *Row) fillLsfd(o *record) {
	r.identify(o)
	r.TaskCommand = ""
	fd := o.value("assoc", "fd")
	if strings.HasPrefix(fd, "-") {
		fd = "mem" // FD of what is no descriptor
	}
	r.setFD(fd)
	if !isPlainNumber(fd) {
		r.FD, r.Star, r.IsDescriptor = -1, false, false
	}
	r.Type = o.value("type")
	r.Flags = o.value("flags")
	r.Device = orElse(o.value("maj:min"), o.value("dev", "source"))
	r.Size = orElse(o.value("size"), o.value("pos"))
	r.Links = o.value("nlink")
	r.Node = o.value("inode")
	r.NameText = o.value("name", "kname")
	d := &r.Descriptor
	d.FD, d.Name = r.FD, r.NameText
	d.Access = lsfdAccess(o.value("mode", "xmode"))
	d.Inode, _ = strconv.ParseUint(r.Node, 10, 64)
	if major, minor, ok := strings.Cut(r.Device, ":"); ok && isPlainNumber(major) && isPlainNumber(minor) {
		d.Device = r.Device
	}
	r.describeLsfd(o)
}

// lsfdAccess reads MODE; O_PATH descriptors have none.
//
//	"rw-" = "u"   "-w-" = "w"   "---" = ""
func lsfdAccess(mode string) string {
	switch {
	case strings.HasPrefix(mode, "rw"):
		return "u"
	case strings.HasPrefix(mode, "r-"):
		return "r"
	case strings.HasPrefix(mode, "-w"):
		return "w"
	}
	return ""
}

// describeLsfd sets the canonical type of the descriptor.
func (r *Row) describeLsfd(o *record) {
	d := &r.Descriptor
	if protocol, ok := lsfdProtocol(o, r); ok {
		r.describeLsfdSocket(protocol)
		return
	}
	d.Deleted = strings.HasSuffix(d.Name, " (deleted)") || o.value("deleted") == "1" || o.value("deleted") == "true"
	switch r.Type {
	case "REG", "DIR", "CHR", "BLK", "LINK":
		row := Row{Type: r.Type, NameText: r.NameText}
		d.Type = row.fileType()
	case "FIFO":
		if d.Type = "fifo"; strings.HasPrefix(d.Name, "pipe:[") || strings.HasPrefix(d.Name, "/proc/") {
			d.Type = "pipe"
		}
	default:
		if r.Type == "UNKN" && strings.HasPrefix(d.Name, "/") {
			d.Type = "regular"
			return
		}
		r.describeLsfdAnon()
	}
	d.Deleted = d.Deleted && strings.HasPrefix(d.Name, "/")
}

// describeLsfdAnon names a kernel object as fd links do; later releases have its
// sort in TYPE and details in NAME.
//
//	UNKN, "anon_inode:[eventpoll]"     = anon_inode:[eventpoll]
//	eventpoll, "tfds=5,6,9"            = [eventpoll:5,6,9]
//	pidfd, "pid=14409 comm=zoo nspid=" = [pidfd:14409]
func (r *Row) describeLsfdAnon() {
	d := &r.Descriptor
	d.Type = "anon"
	if strings.HasPrefix(d.Name, "anon_inode:") {
		if !ownInode(anonType(d.Name)) {
			d.Inode = 0
		}
		return
	}
	sort, detail := strings.ToLower(r.Type), ""
	switch sort {
	case "eventpoll":
		detail = nameField(d.Name, "tfds")
	case "pidfd":
		detail = nameField(d.Name, "pid")
	case "eventfd":
		detail = nameField(d.Name, "id")
	}
	if !ownInode("[" + sort + "]") {
		d.Inode = 0
	}
	if sort == "inotify" || strings.HasPrefix(sort, "bpf") {
		d.Name = sort
		return
	}
	if detail != "" {
		sort += ":" + detail
	}
	d.Name = "[" + sort + "]"
}

// nameField finds a field of a NAME.
//
//	"pid=14409 comm=zoo", "pid" = "14409"
func nameField(name, key string) string {
	for field := range strings.FieldsSeq(name) {
		if v, ok := strings.CutPrefix(field, key+"="); ok {
			return v
		}
	}
	return ""
}

// lsfdProtocol is the protocol of a socket, from PROTONAME or SOCK.PROTONAME, the
// name "TCP:[314882]", or TYPE of later releases.
func lsfdProtocol(o *record, r *Row) (string, bool) {
	if name := o.value("sock.protoname", "protoname"); name != "" {
		return name, true
	}
	before, after, bracket := strings.Cut(r.NameText, ":[")
	socket := r.Type == "SOCK" || o.value("sttype") == "SOCK" || o.value("source") == "sockfs"
	switch {
	case socket && bracket && isPlainNumber(strings.TrimSuffix(after, "]")):
		return before, true
	case socket && r.Type != "SOCK":
		return r.Type, true
	case socket:
		return "", true
	}
	return "", false
}

// describeLsfdSocket sets the type and protocol of a socket, as lsof has them.
//
//	TCPv6, "state=listen laddr=[::]:46779"   tcp6, TCP, LISTEN
//	UNIX-STREAM, "UNIX-STREAM:[314880]"      unix
func (r *Row) describeLsfdSocket(protocol string) {
	d := &r.Descriptor
	base, v6 := strings.CutSuffix(strings.ToUpper(protocol), "V6")
	six := ""
	if v6 {
		six = "6"
	}
	switch {
	case base == "TCP", base == "UDP", base == "UDPLITE", base == "SCTP":
		d.Type, d.Protocol = strings.ToLower(base)+six, base
	case base == "RAW", base == "PING":
		d.Type = "raw"
	case strings.HasPrefix(base, "UNIX"):
		d.Type, d.Protocol = "unix", "unix"
	case base == "NETLINK", base == "PACKET":
		d.Type, d.Protocol = strings.ToLower(base), base
	default:
		d.Type, d.Protocol = "socket", base
	}
	if d.State = canonicalState(strings.ToUpper(strings.ReplaceAll(nameField(d.Name, "state"), "-", "_"))); d.State == "" {
		return
	}
	if d.Type == "unix" {
		_, path, _ := strings.Cut(d.Name, "path=")
		d.Name = path
		return
	}
	d.Local, d.Remote = nameField(d.Name, "laddr"), nameField(d.Name, "raddr")
}

// lsfdWords are the associations that are no descriptors; they separate tables without
// a header from other text.
func lsfdWords() []string {
	return []string{"exe", "cwd", "rtd", "mem", "shm", "cgroup", "ipc", "mnt", "net", "pid", "pid4c", "time", "time4c", "user", "uts"}
}

// isAssoc recognises ASSOC.
func isAssoc(s string) bool { return isPlainNumber(s) || slices.Contains(lsfdWords(), s) }
