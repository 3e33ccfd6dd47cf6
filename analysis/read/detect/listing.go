package detect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// lsofHeader may follow warnings, prompts or blanks, far down.
var lsofHeader = expression.Lazy(`(?m)^[^\n]{0,400}?\bCOMMAND +PID\b[^\n]*\bNAME\b`)

// lsofRow is a row without a header: a command, a pid, perhaps thread, task and
// group columns, a user, the descriptor and its type.
var lsofRow = expression.Lazy(`^\s*\S.*?\s\d+\s+(?:\S+\s+){1,5}(?:cwd|rtd|txt|mem|mmap|DEL|NOFD|err|unk|ltx|\*\d{3}[rwu]?|\d+[rwu]?[A-Za-z-]?)\s+` +
	`(?:REG|DIR|CHR|BLK|FIFO|LINK|unix|IPv4|IPv6|sock|raw|raw6|pack|a_inode|netlink|KQUEUE|PIPE|PSXSHM|PSXSEM|VREG|VDIR|unknown)\b`)

// busyboxRow is "pid exe fd path" between tabs, of older ones "pid exe path".
var busyboxRow = expression.Lazy(`^\d+\t/\S*\t(\d+\t)?\S`)

func (v *view) lsof() (Result, bool) {
	if bytes.Contains(v.text, []byte("COMMAND ")) {
		if header := lsofHeader.Find(v.text); header != nil {
			if bytes.Contains(header, []byte(" ASSOC ")) {
				return high(Lsfd, "the header of a table of lsfd, with ASSOC where lsof has FD")
			}
			if bytes.Contains(header, []byte(" FD ")) {
				return high(LsofTable, "the header \"COMMAND PID ... NAME\" of lsof")
			}
		}
	}
	if n := v.half(lsofRow.MatchString); n > 0 {
		if r, ok := v.blocks(); ok {
			return r, true
		}
		return medium(LsofTable, v.more(n)+" rows of lsof without its header")
	}
	if v.most(1, busyboxRow.MatchString) {
		return medium(LsofTable, "rows \"pid, program, descriptor, target\" between tabs, as busybox lsof prints them")
	}
	return v.lsofNoise()
}

// lsofNoise takes a file of warnings alone as a listing without rows: it must
// not look like a file that was not understood.
func (v *view) lsofNoise() (Result, bool) {
	if len(v.lines) == 0 || strings.HasSuffix(v.base, ".err") || !v.most(len(v.lines), lsofWarning) {
		return no()
	}
	return medium(LsofTable, "nothing but warnings of lsof")
}

func lsofWarning(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "lsof: ") || line == "Output information may be incomplete."
}

// fields finds lsof -F and -F0: a process set, "p" and a pid, then a file set,
// which begins with "f". -F0 ends fields with NULs, so this comes before binary.
func (v *view) fields() (Result, bool) {
	files, zero := 0, false
	for i, text := range v.lines {
		if line.IsDate(text) {
			continue
		}
		field, _, cut := strings.Cut(text, "\x00")
		zero = zero || cut
		switch {
		case i == 0 && (field == "" || field[0] != 'p' || !isNumber(field[1:])):
			return no()
		case field == "" || strings.IndexByte("pgRcuLKMfaltGDdosikPnTFN", field[0]) < 0:
			if i < 20 {
				return no()
			}
		case field[0] == 'f':
			files++
		}
	}
	if files == 0 {
		return no()
	}
	if zero {
		return high(LsofFields, "fields of lsof -F0: a process, then "+v.more(files)+" files")
	}
	return high(LsofFields, "fields of lsof -F: a process, then "+v.more(files)+" files")
}

var (
	fdinfoPos = expression.Lazy(`^\s*pos:\s*-?\d+$`)
	// fdinfoGrep is a line of grep over fdinfo files, with -n and -c forms.
	fdinfoGrep = expression.Lazy(`^(\S*/)?fdinfo[^/\s]*/\d+:(\d+:)?(inotify|fanotify|pos|flags|mnt_id|ino|tfd|eventfd|sigmask|\d+$)`)
	// fdinfoHeading joins fdinfo files: "== 25 -> anon_inode:inotify" of a loop,
	// "==> /proc/7/fdinfo/25 <==" of tail.
	fdinfoHeading = expression.Lazy(`^==>? (\d+ -> |\S*\d+ <==$)`)
	// fdinfoFile is the one file that a command prints.
	fdinfoFile  = expression.Lazy(`/fdinfo/\d+(?:[\s;)'"]|$)`)
	fdinfoPath  = expression.Lazy(`^==> \S*/\d+/fdinfo/\d+ <==$`)
	inotifyLine = expression.Lazy(`^\s*(inotify wd:[0-9a-f]+ ino:|fanotify (flags|ino|mnt_id|sdev):)`)
)

func (v *view) fdinfo() (Result, bool) {
	if n := v.rows(fdinfoGrep.MatchString); n > 0 {
		return high(FDInfoGrep, "lines of grep over fdinfo files: "+quote(v.first()))
	}
	if len(v.lines) >= 2 && fdinfoPos.MatchString(v.lines[0]) && isFlags(v.lines[1]) {
		watches := v.count(inotifyLine.MatchString)
		if watches > 0 {
			return high(FDInfo, "it begins with pos and flags; "+v.more(watches)+" inotify or fanotify lines follow")
		}
		return high(FDInfo, "it begins with pos and flags")
	}
	if fdinfoPath.MatchString(v.first()) || v.oneFile() {
		return high(FDInfoGrep, "several fdinfo files, each below its path: "+quote(v.first()))
	}
	if len(v.lines) >= 2 && fdinfoHeading.MatchString(v.lines[0]) && fdinfoPos.MatchString(v.lines[1]) {
		return high(FDInfo, "several fdinfo files joined below headings: "+quote(v.first()))
	}
	if v.most(1, inotifyLine.MatchString) {
		return medium(FDInfo, "inotify lines of fdinfo without the lines above them")
	}
	return no()
}

// oneFile reports the text of one fdinfo file below the command that prints it, or how many lines
// of it grep counts.
func (v *view) oneFile() bool {
	if len(v.lines) < 2 || !line.IsPrompt(v.first()) || !fdinfoFile.MatchString(v.first()) {
		return false
	}
	text := v.lines[1]
	if line.IsDate(text) && len(v.lines) > 2 {
		text = v.lines[2]
	}
	return fdinfoPos.MatchString(text) || inotifyLine.MatchString(text) || isNumber(strings.TrimSpace(text)) && strings.Contains(v.first(), "grep")
}

// isFlags accepts "flags:\t02004000": octal with a leading 0.
func isFlags(line string) bool {
	value, ok := strings.CutPrefix(strings.TrimSpace(line), "flags:")
	value = strings.TrimSpace(value)
	return ok && strings.HasPrefix(value, "0") && isNumber(value)
}

var (
	// lsLink is ls -l of a link named by a number, quoted by -Q, or by its path, or find -ls
	// of it, which begins with inode and blocks.
	lsLink = expression.Lazy(`^\s*(\d+\s+\d+\s+)?l[r-][w-][x-][-rwxsStT]{6}[.+@]?\s+\d+\s.*\s"?(\S*/fd/|\./|fd/)?\d+"?( -> |$)`)
	// findLink is "4 -> target" of find -printf '%f -> %l\n', or the path of a link with
	// and without its target, of find or stat -c %N; statLink the first line of stat's block.
	findLink = expression.Lazy(`^(\d+ -> \S|['"‘]?\S*/proc/\d+(/task/\d+)?/fd([/ \t]\d+['"’]?( -> \S|[ \t]\S|$)|[ \t](anon_inode:|\w+:\[|/)\S))`)
	bareLink = expression.Lazy(`^\d+[ \t](/|\[|\w+:)`)
	statLink = expression.Lazy(`^\s*File: ['"‘]?(\S*/)?\d+['"’]? -> `)
)

func (v *view) fdListing() (Result, bool) {
	if n := v.rows(lsLink.MatchString); n > 0 {
		return high(FDListing, v.more(n)+" links named by numbers in the form of ls -l")
	}
	if n := v.rows(findLink.MatchString); n > 1 || n == 1 && slices.ContainsFunc(v.lines, func(l string) bool { return strings.HasPrefix(l, "/proc/") }) {
		return high(FDListing, v.more(n)+" lines \"number -> target\"")
	}
	if n := v.count(bareLink.MatchString); n > 0 && v.Below && strings.Contains(v.first(), "%f %l") {
		return high(FDListing, v.more(n)+" lines \"number target\" of find -printf")
	}
	if n := v.count(statLink.MatchString); n > 0 && statLink.MatchString(v.first()) {
		return medium(FDListing, v.more(n)+" blocks of stat about links named by numbers")
	}
	return no()
}

// rows is half for the rows of loops and commands, of which each output may have but one.
func (v *view) rows(test func(string) bool) int {
	n := v.count(test)
	if n == 0 || !v.Below && 2*n+v.count(besideRows) < len(v.lines) {
		return 0
	}
	return n
}

// besideRows reports a line that a loop or ls prints beside rows.
//
//	"/proc/50/fd:"   "total 0"   "dr-x------ 2 root root 82 Nov 21 03:02 ."   "03:00:00"   true
func besideRows(l string) bool {
	return strings.HasPrefix(l, "total ") || strings.HasPrefix(l, "d") && (strings.HasSuffix(l, " .") || strings.HasSuffix(l, " ..")) ||
		strings.HasPrefix(l, "/proc/") && strings.HasSuffix(l, ":") || line.IsCommand(l) || line.IsDate(l) || line.IsMessage(l) || line.IsFence(l)
}

// lsofJSON finds lsof -J below warnings, and -j: an object per file in a line of its
// own, with the process in each. The order of the members does not matter, nor do
// the lines they stand on.
func (v *view) lsofJSON() (Result, bool) {
	rows := 0
	for i, line := range v.lines {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, `{"lsof_version"`):
			return high(LsofJSON, "JSON of lsof -J")
		case strings.HasPrefix(line, "{") && isLsofFile([]byte(line)):
			rows++
		case strings.HasPrefix(line, "{") || strings.HasPrefix(line, "["):
			if at := strings.Index(string(v.text), line); rows == 0 && isLsofFile(v.text[max(at, 0):]) {
				return high(LsofJSON, "JSON with the files of processes, as lsof -J and -j give them")
			}
			return no()
		case !lsofWarning(line) && i-rows > 20:
			return no()
		}
	}
	if rows > 0 && 2*rows >= len(v.lines) {
		return high(LsofJSON, v.more(rows)+" files of lsof -j, an object on each line")
	}
	return no()
}

// lsofMembers are members of a file in the JSON of lsof (print.c of 4.99.7).
var lsofMembers = map[string]bool{"access": true, "lock": true, "type": true, "device": true, "device_number": true, "inode": true,
	"protocol": true, "name": true, "tcp_info": true, "size": true, "offset": true, "nlink": true, "link_count": true, "file_flags": true}

// isLsofFile reports whether the first object with "fd" has a process in it or
// around it, and members of lsof.
//
//	{"fd":"3","name":"/dev/null","pid":1}                 -> true
//	{"command":"a","files":[{"fd":"3","type":"CHR",       -> true
//	{"level":"info","pid":1,"msg":"fd","fd":3}            -> false
func isLsofFile(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	var open []jsonObject
	for range 500 {
		token, err := d.Token()
		top := len(open) - 1
		if err != nil {
			return slices.ContainsFunc(open, jsonObject.file) && slices.ContainsFunc(open, jsonObject.process)
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				open = append(open, jsonObject{list: token == '['})
				continue
			}
			if top < 0 || open[top].file() {
				return top >= 0 && slices.ContainsFunc(open, jsonObject.process)
			}
			if open = open[:top]; top > 0 {
				open[top-1].value = false
			}
		case string:
			if top >= 0 && !open[top].list && !open[top].value {
				open[top].key(token)
				continue
			}
			if top >= 0 {
				open[top].value = false
			}
		default:
			if top >= 0 {
				open[top].value = false
			}
		}
	}
	return false
}

// jsonObject is what was seen of an object, or a list.
type jsonObject struct {
	list, value       bool // value is true if a value comes next
	fd, owner, member bool
	known, unknown    int
}

func (o *jsonObject) key(name string) {
	o.value = true
	switch {
	case name == "fd":
		o.fd = true
	case name == "pid", name == "command", name == "files":
		o.owner = true
		o.known++
	case name == "ppid", name == "pgid", name == "tid", name == "uid", name == "login", strings.HasPrefix(name, "task"):
		o.known++
	case lsofMembers[name]:
		o.member = true
		o.known++
	default:
		o.unknown++
	}
}

// file and process report what the object can be.
func (o jsonObject) file() bool    { return o.fd && o.member && o.known > 2*o.unknown }
func (o jsonObject) process() bool { return o.owner }

// socketHeaders are first lines of socket tables.
var socketHeaders = []struct {
	pattern *expression.Expression
	kind    Kind
	what    string
}{
	{expression.Lazy(`^(Netid\s+)?(State\s+)?Recv-Q\s+Send-Q\s+Local`), SocketTable, "the header of ss"},
	{expression.Lazy(`^Proto\s+(RefCnt|Recv-Q)\s`), SocketTable, "the header of netstat"},
	{expression.Lazy(`^\s*Proto\s+Local Address\s+Foreign Address\s`), SocketTable, "the header of netstat of Windows"},
	{expression.Lazy(`^Active (Internet connections|UNIX domain sockets|LOCAL \(UNIX\) domain sockets)`), SocketTable, "the first line of netstat"},
	{expression.Lazy(`^\s*sl\s+local_address\s`), NetTable, "the header of /proc/net/tcp or udp"},
	{expression.Lazy(`^Num\s+RefCount\s+Protocol\s`), NetTable, "the header of /proc/net/unix"},
	{expression.Lazy(`^sk\s+(Eth|RefCnt)\s`), NetTable, "the header of /proc/net/netlink or packet"},
	{expression.Lazy(`^(sockets: used|TCP6?: inuse) \d`), SocketSummary, "the first line of /proc/net/sockstat"},
	{expression.Lazy(`^Total: \d+`), SocketSummary, "counts of ss -s, which lists no socket"},
}

var (
	netstatRow = expression.Lazy(`^(tcp|udp)(4|6|46)?\s+\d+\s+\d+\s+\S+[:.]\S+\s+\S+[:.]\S+`)
	ssRow      = expression.Lazy(`^((tcp|udp|u_str|u_dgr|u_seq|nl|p_raw|p_dgr|raw|sctp)\s+)?(ESTAB|LISTEN|UNCONN|CLOSE-WAIT|TIME-WAIT|SYN-SENT|SYN-RECV|FIN-WAIT-[12]|LAST-ACK|CLOSING)\s+\d+\s+\d+\s|^(tcp|udp|u_str|u_dgr|u_seq)\s+\d+\s+\d+\s.*\susers:\(\(`)
	// netRow is a row of /proc/net/tcp: addresses and a state in hex.
	netRow = expression.Lazy(`^\s*\d+: [0-9A-F]{8,32}:[0-9A-F]{4} [0-9A-F]{8,32}:[0-9A-F]{4} [0-9A-F]{2} `)
)

func (v *view) sockets() (Result, bool) {
	above := 3 // what other commands printed that is no listing
	for i, text := range v.lines[:min(len(v.lines), 20)] {
		if i >= above {
			break
		}
		if line.IsCommand(text) || line.IsDate(text) || isNumber(strings.TrimSpace(text)) {
			above = max(above, i+2)
		}
		for _, h := range socketHeaders {
			if h.pattern.MatchString(text) && (!strings.HasPrefix(text, "Total: ") || v.has("\nTCP: ")) {
				r, ok := high(h.kind, h.what)
				if h.kind == SocketSummary {
					r.Help = helpSockets
				}
				return r, ok
			}
		}
	}
	switch {
	case v.most(1, netstatRow.MatchString):
		return medium(SocketTable, "rows of netstat without its header")
	case v.most(1, ssRow.MatchString):
		return medium(SocketTable, "rows of ss without its header")
	case v.most(1, netRow.MatchString):
		return medium(NetTable, "rows of /proc/net/tcp or udp without their header")
	}
	return v.inotify()
}

var (
	// inotifyHeader is what scripts print above their counts.
	inotifyHeader = expression.Lazy(`^\s*(COUNT\s+(PROCESS\s+)?PID\s+USER\s+COMMAND|INUM\s+DEV\s+COUNT\s+TARGET|Pid\s+Uid\s+App\s+Watches\s+Instances|EXE\s+PID\s+FD-INFO\s+INOTIFY-WATCHES)\s*$`)
	inotifyPerFD  = expression.Lazy(`^PID \d+, FD \d+ has \d+ watch`)
	// inotifyTarget is an inode in hex and decimal, a count, and what debugfs printed.
	inotifyTarget = expression.Lazy(`^[0-9a-f]+\s+\d+\s+\d+\s+(\d+\s+/\S|Inode\s+Pathname)`)
	uniqRow       = expression.Lazy(`^\s*\d{1,8}\s+(\d{1,8}(\s+\S.*)?|[A-Za-z(][\w.():-]*)$`)
	// uniqPath is a count of links to inotify instances, or of lines of fdinfo files.
	uniqPath = expression.Lazy(`^\s*\d{1,8}\s+/proc/\d+/fd(/anon_inode:\[?inotify\]?|info/\d+)$`)
	// uniqDir is a count of what a command selected in a directory of descriptors.
	uniqDir   = expression.Lazy(`^\s*\d{1,8}\s+/proc/\d+/fd$`)
	unmounted = expression.Lazy(`^Can't find mount info for \d+:\d+$`)
)

// inotify finds tables that count inotify instances or watches. Those of uniq -c
// look like any other: the word must stand in the file or its name.
func (v *view) inotify() (Result, bool) {
	for _, l := range v.lines[:min(len(v.lines), 20)] {
		if inotifyHeader.MatchString(l) {
			return high(InotifyTable, "the header of a table of inotify counts: "+quote(l))
		}
		if _, ok := line.ThreadColumns(strings.Fields(l)); ok {
			return high(ThreadTable, "the header of a table of threads by ps: "+quote(l))
		}
	}
	paths := v.rows(uniqPath.MatchString)
	if paths == 0 && slices.ContainsFunc(v.lines, func(l string) bool { return line.IsCommand(l) && strings.Contains(l, "inotify") }) {
		paths = v.rows(uniqDir.MatchString)
	}
	counts := ""
	if v.rows(uniqRow.MatchString) > 0 {
		counts = v.counted()
	}
	switch {
	case v.most(1, inotifyPerFD.MatchString):
		return high(InotifyTable, v.more(v.count(inotifyPerFD.MatchString))+" lines \"PID n, FD n has n watches\"")
	case v.most(1, inotifyTarget.MatchString):
		return medium(InotifyTable, "rows \"inode in hex, in decimal, count, path\" of a script over inotify watches")
	case paths > 0:
		return high(InotifyTable, v.more(paths)+" rows \"count, path\" of inotify instances or their watches")
	case v.most(1, unmounted.MatchString):
		return high(InotifyTable, v.more(v.count(unmounted.MatchString))+" targets of inotify watches whose mount a script did not find")
	case counts == "inotify":
		return medium(InotifyTable, v.more(v.count(uniqRow.MatchString))+" rows \"count, pid, ...\" as uniq -c prints them, about inotify")
	case counts == "threads":
		return medium(ThreadTable, v.more(v.count(uniqRow.MatchString))+" rows \"count, pid, ...\" as uniq -c prints them, about threads of ps")
	}
	return v.inodes()
}

// counted is what the rows of uniq -c count by the command nearest above them, else by the
// name of the file: "inotify", "threads", or "".
func (v *view) counted() string {
	counts := ""
	if strings.Contains(strings.ToLower(v.base), "inotify") {
		counts = "inotify"
	}
	for _, l := range v.lines {
		if uniqRow.MatchString(l) {
			break
		}
		if command, ok := line.ReadCommand(l); ok && command.Text != "" || strings.Contains(l, "|") {
			switch counts = ""; {
			case line.CountsThreads(l):
				counts = "threads"
			case strings.Contains(l, "inotify"):
				counts = "inotify"
			}
		}
	}
	return counts
}

var (
	inodePath = expression.Lazy(`^\s*\d+\s+/\S*`)
	findLS    = expression.Lazy(`^\s*\d+\s+\d+\s+[-dlcbps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s.*\s/`)
	inodeName = expression.Lazy(`(?i)inode|ncheck|(^|[^a-z])inum|cgroup`)
	// pseudoTarget is the target of a link that is no path.
	pseudoTarget = expression.Lazy(`^((socket|pipe|net|mnt|pid|uts|ipc|user|cgroup|time):\[\d+\]|anon_inode:\S+)$`)
)

// inodes finds lists of inode numbers with paths. Numbers before paths may be sizes, so
// the file's name or the paths must decide.
func (v *view) inodes() (Result, bool) {
	switch {
	case v.has("Inode\tPathname") && slices.ContainsFunc(v.lines, inodePath.MatchString):
		return high(InodeList, "the header of ncheck of debugfs, Inode and Pathname")
	case v.most(1, findLS.MatchString):
		return high(InodeList, v.more(v.count(findLS.MatchString))+" rows of find -ls, which begin with the inode")
	case v.most(1, inodePath.MatchString) && (inodeName.MatchString(v.base) || v.has(" /sys/fs/cgroup") || v.has("\t/sys/fs/cgroup")):
		return medium(InodeList, v.more(v.count(inodePath.MatchString))+" lines \"inode path\"")
	}
	return v.targets()
}

// targets finds the targets of fd links without the numbers of their descriptors.
func (v *view) targets() (Result, bool) {
	pseudo := v.count(pseudoTarget.MatchString)
	paths := v.count(func(l string) bool { return strings.HasPrefix(l, "/") })
	if pseudo < 2 || pseudo+paths < len(v.lines) || 10*pseudo < len(v.lines) {
		return v.ceiling()
	}
	return medium(FDTargets, v.more(pseudo)+" of "+v.more(len(v.lines))+" lines are targets of fd links that are no paths")
}

// sysctlHeading is what tail puts above a file of /proc/sys.
var sysctlHeading = expression.Lazy(`^==> \S*/sys/(fs|user|kernel|net)/\S+ <==$`)

// ceiling finds limits of inotify in files of their own, outside of a copy of
// /proc/sys, and below the headings of tail.
func (v *view) ceiling() (Result, bool) {
	name := strings.TrimSuffix(v.base, ".txt")
	named := name == "max_user_watches" || name == "max_user_instances" || name == "max_queued_events"
	switch {
	case v.most(1, sysctlHeading.MatchString):
		return high(Sysctls, "kernel settings below the headings of tail: "+quote(v.first()))
	case named && len(v.lines) == 1 && isNumber(strings.TrimSpace(v.first())):
		return medium(Sysctls, "one number in a file named "+v.base)
	}
	return no()
}
