package lsof

import (
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// netstatSection is a part of netstat's output with titles of its own.
type netstatSection struct {
	// sort is one of the constants, "" for the line above the titles.
	sort string
	// inode and owner are true if there are such columns; process is the number of the
	// column of macOS that holds the pid, counted from the first after the state.
	inode, owner bool
	process      int
	// before counts the columns before the protocol: the addresses in the kernel.
	before int
}

// The sorts of sections. Those of the kernel hold sockets without addresses; others hold
// no sockets, or those of the first section once more.
const (
	sectionIP      = "ip"
	sectionUnix    = "unix"
	sectionBSDUnix = "bsd-unix"
	sectionVSock   = "vsock"
	sectionKernel  = "kernel"
	sectionWindows = "windows"
	sectionOther   = "other"
)

// netstatHeader recognises the titles of net-tools, busybox, the BSDs, macOS and Windows, and
// the line above them (protopr in inet.c, unixpr in unix.c and kctl and kevt in systm.c
// of the netstat of macOS).
//
//	"Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name"
//	"Proto RefCnt Flags       Type       State         I-Node   PID/Program name     Path"
//	"Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)    rhiwat shiwat    pid"
//	"Socket           Flowhash Proto Recv-Q Send-Q  Local Address      Foreign Address    (state)"
//	"Proto Recv-Q Send-Q   unit     id name"
//	"Proto  Local Address          Foreign Address        State           PID"
func netstatHeader(text string) (netstatSection, bool) {
	if strings.HasPrefix(text, "Active ") && (strings.Contains(text, "onnections") || strings.Contains(text, "sockets")) {
		return netstatSection{}, true
	}
	if text == "Registered kernel control modules" {
		return netstatSection{sort: sectionOther, process: -1}, true
	}
	fields := strings.Fields(text)
	if len(fields) < 5 {
		return netstatSection{}, false
	}
	section := netstatSection{
		inode: slices.Contains(fields, "Inode"), owner: slices.Contains(fields, "PID/Program"), process: -1,
	}
	if at := slices.Index(fields, "Proto"); at > 0 && at < 3 && fields[at+1] == "Recv-Q" {
		section.before, fields = at, fields[at:]
	}
	switch {
	case fields[0] == "Proto" && fields[1] == "Recv-Q" && (slices.Contains(fields, "unit") || slices.Contains(fields, "vendor")):
		section.sort = sectionKernel
	case fields[0] == "Proto" && fields[1] == "Recv-Q":
		section.sort = sectionIP
		section.findProcess(fields)
	case fields[0] == "Proto" && fields[1] == "Local":
		section.sort, section.owner = sectionWindows, slices.Contains(fields, "PID")
	case fields[0] == "Proto" && fields[1] == "Type":
		section.sort = sectionVSock
	case fields[0] == "Proto" && fields[1] == "RefCnt":
		section.sort = sectionUnix
	case fields[0] == "Address" && fields[1] == "Type":
		section.sort, section.inode = sectionBSDUnix, false
	case fields[0] == "Proto/ID", fields[0] == "kctlref", fields[0] == "id" && fields[1] == "flags":
		section.sort = sectionOther
	default:
		return netstatSection{}, false
	}
	return section, true
}

// findProcess finds the column of netstat -v on macOS with the pid, and since macOS 15
// the program before it.
func (s *netstatSection) findProcess(titles []string) {
	state := slices.Index(titles, "(state)")
	for i := state + 1; state >= 0 && i < len(titles); i++ {
		if titles[i] == "pid" || titles[i] == "process:pid" {
			s.process, s.owner = i-state-1, true
			return
		}
	}
}

// netstatRow reads a row; without a header that of net-tools, which field reports
// quote.
func (t *socketReader) netstatRow(text string, s *analysis.Socket) bool {
	for range t.section.before {
		_, text, _ = strings.Cut(text, " ")
		text = strings.TrimLeft(text, " ")
	}
	switch t.section.sort {
	case sectionBSDUnix:
		return bsdUnixRow(text, s)
	case sectionKernel, sectionVSock:
		return kernelRow(text, s)
	case sectionWindows:
		return windowsRow(strings.Fields(text), s)
	}
	word, rest, _ := strings.Cut(text, " ")
	if word == "unix" {
		return netstatUnix(rest, t.section.owner && t.section.sort == sectionUnix, s)
	}
	if !isNetstatProtocol(word) {
		return false
	}
	fields := strings.Fields(rest)
	if len(fields) < 4 || !isPlainNumber(fields[0]) || !isPlainNumber(fields[1]) {
		return false
	}
	s.Protocol = socketProtocol(word)
	bsd := isBSDAddress(fields[2]) && isBSDAddress(fields[3])
	s.Local, s.Remote = bracketed(fields[2]), bracketed(fields[3])
	if bsd {
		s.Local, s.Remote = bsdAddress(fields[2]), bsdAddress(fields[3])
	}
	if nobody(s.Remote) {
		s.Remote = ""
	}
	if fields = fields[4:]; len(fields) > 0 && (isSocketState(fields[0]) || strings.HasPrefix(word, "raw") && isPlainNumber(fields[0])) {
		s.State = fields[0]
		fields = fields[1:]
	}
	s.State = socketState(s.Protocol, s.State)
	if t.section.process >= 0 && t.section.sort != "" {
		bsdOwner(fields, t.section.process, s)
		return true
	}
	if !bsd {
		t.netstatOwner(rest, fields, s)
	}
	return true
}

// windowsRow reads a row of Windows; -o adds the pid.
//
//	"TCP" "[::1]:4001" "[::1]:80" "CLOSE_WAIT" "4321"   PID 4321
//	"UDP" "0.0.0.0:123" "*:*" "1020"                    PID 1020
func windowsRow(fields []string, s *analysis.Socket) bool {
	if len(fields) < 3 || fields[0] != "TCP" && fields[0] != "UDP" || !strings.Contains(fields[1], ":") {
		return false
	}
	s.Protocol, s.Local, s.Remote = strings.ToLower(fields[0]), strings.Clone(fields[1]), strings.Clone(fields[2])
	if strings.HasPrefix(s.Local, "[") {
		s.Protocol += "6"
	}
	rest := fields[3:]
	if len(rest) > 0 && isSocketState(rest[0]) {
		s.State, rest = socketState(s.Protocol, rest[0]), rest[1:]
	}
	if nobody(s.Remote) || s.State == "LISTEN" {
		s.Remote = ""
	}
	if len(rest) > 0 {
		if pid, ok := number(rest[0]); ok && pid > 0 {
			s.Owners = []analysis.Owner{{PID: pid, FD: -1}}
		}
	}
	return true
}

// isNetstatProtocol knows the column Proto. net-tools cuts udplite to "udpl" and "udpl6".
func isNetstatProtocol(word string) bool {
	switch word {
	case "tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "udpl", "udpl6", "raw", "raw6", "sctp", "icmp", "icmp6", "tcp4", "tcp46", "udp4", "udp46", "icm4", "icm6", "icm46":
		return true
	}
	return false
}

// netstatOwner reads the cells after the state: user and inode of -e, pid and program
// of -p, timers of -o.
//
//	"14406/./zoo"                                           PID 14406, Program "./zoo"
//	"0 12345 999/sshd: /usr/sb off (0.00/0/0)"               Inode 12345, PID 999
//	"-"                                                     no owner
func (t *socketReader) netstatOwner(rest string, fields []string, s *analysis.Socket) {
	if len(fields) > 1 && isPlainNumber(fields[1]) && (t.section.inode || isPlainNumber(fields[0])) {
		s.Inode, _ = strconv.ParseUint(fields[1], 10, 64)
		fields = fields[2:]
	}
	if len(fields) == 0 {
		return
	}
	pid, _, ok := strings.Cut(fields[0], "/")
	n, isNumber := number(pid)
	if !ok || !isNumber {
		return
	}
	_, program, _ := strings.Cut(rest, pid+"/")
	for _, timer := range []string{" off (", " on (", " keepalive (", " timewait (", " probe ("} {
		program, _, _ = strings.Cut(program, timer)
	}
	s.Owners = []analysis.Owner{{Program: strings.Clone(strings.TrimSpace(program)), PID: n, FD: -1}}
}

// netstatUnix reads a row of the second part; owned is true if it has a column for owners.
//
//	"2      [ ACC ]     STREAM     LISTENING     314880   14406/./zoo          zoo.sock"
func netstatUnix(rest string, owned bool, s *analysis.Socket) bool {
	_, rest, ok := strings.Cut(rest, "[")
	if !ok {
		return false
	}
	flags, rest, ok := strings.Cut(rest, "]")
	if !ok {
		return false
	}
	s.Protocol = "unix"
	state := ""
	for {
		rest = strings.TrimLeft(rest, " ")
		word, after, _ := strings.Cut(rest, " ")
		if word == "" {
			return false
		}
		rest = after
		if isPlainNumber(word) {
			s.Inode, _ = strconv.ParseUint(word, 10, 64)
			break
		}
		if isSocketState(word) {
			state = word
		}
	}
	if s.State = socketState("unix", state); strings.Contains(flags, "ACC") {
		s.State = "LISTEN"
	}
	if rest = strings.TrimLeft(rest, " "); rest == "" && owned {
		s.Protocol = "" // cut at its inode: -p prints "-" for no owner
		return false
	}
	s.Local = netstatPath(rest, s)
	return true
}

// netstatPath reads the path, and the owner before it if there is one: it takes
// 20 columns, and program names may hold blanks.
//
//	"14406/./zoo          zoo.sock" = "zoo.sock"
//	"-                    /run/x"   = "/run/x"
func netstatPath(rest string, s *analysis.Socket) string {
	const width = 20
	pid, _, ok := strings.Cut(rest, "/")
	n, isNumber := number(pid)
	owner := rest[:min(width, len(rest))]
	switch {
	case strings.TrimSpace(owner) == "-":
	case ok && isNumber:
		_, program, _ := strings.Cut(owner, "/")
		s.Owners = []analysis.Owner{{Program: strings.Clone(strings.TrimSpace(program)), PID: n, FD: -1}}
	default:
		return strings.Clone(strings.TrimSpace(rest))
	}
	return strings.Clone(strings.TrimSpace(rest[len(owner):]))
}

// isBSDAddress recognises an address of BSD and macOS, with a dot before its port.
//
//	"192.168.1.5.52345" "*.80" "fe80::1%lo0.123" "*.*"   true
//	"127.0.0.1:80" "0.0.0.0:*"                           false
func isBSDAddress(s string) bool {
	host, port, ok := cutLast(s, '.')
	if !ok || port != "*" && !isPort(port) {
		return false
	}
	return host == "*" || strings.Count(host, ".") == 3 || strings.Contains(host, "::") || strings.Count(host, ":") > 1 || !strings.Contains(host, ":")
}

// isPort accepts a number or the name of a service.
func isPort(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// bsdAddress writes an address as all other listings do.
//
//	"192.168.1.5.52345" = "192.168.1.5:52345"   "fe80::1%lo0.123" = "[fe80::1%lo0]:123"
func bsdAddress(s string) string {
	host, port, _ := cutLast(s, '.')
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

func cutLast(s string, c byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, c)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// bsdOwner reads the pid of netstat -v on macOS, or the program and the pid, which
// later releases print in one column. Names of programs may hold blanks.
//
//	"4321"                          PID 4321
//	"Some", "Program", "He:7187"    Program "Some Program He", PID 7187
func bsdOwner(fields []string, column int, s *analysis.Socket) {
	if column >= len(fields) {
		return
	}
	end, digits := column, fields[column]
	program := ""
	for !isPlainNumber(fields[column]) {
		last, after, ok := cutLast(fields[end], ':')
		if ok && isPlainNumber(after) {
			program, digits = strings.Join(append(slices.Clone(fields[column:end]), last), " "), after
			break
		}
		if end++; end == len(fields) {
			return
		}
	}
	if pid, isNumber := number(digits); isNumber && pid > 0 {
		s.Owners = []analysis.Owner{{Program: strings.Clone(program), PID: pid, FD: -1}}
	}
}

// kernelRow reads a socket of macOS that leads into its kernel or to a virtual machine.
//
//	"kctl       0      0      1      4 com.example.control"
//	"vsock  stream      0      0 2:1024             *:*                LISTEN"
func kernelRow(text string, s *analysis.Socket) bool {
	fields := strings.Fields(text)
	if len(fields) > 1 && fields[0] == "vsock" {
		fields = fields[1:]
		s.Protocol = "vsock"
	} else if len(fields) > 0 && (fields[0] == "kctl" || fields[0] == "kevt") {
		s.Protocol = fields[0]
	}
	if s.Protocol == "" || len(fields) < 5 || !isPlainNumber(fields[1]) || !isPlainNumber(fields[2]) {
		s.Protocol = ""
		return false
	}
	switch s.Protocol {
	case "vsock":
		s.Local, s.Remote = strings.Clone(fields[3]), strings.Clone(fields[4])
		if s.Remote == "*:*" {
			s.Remote = ""
		}
		if len(fields) > 5 && isSocketState(fields[5]) {
			s.State = canonicalState(fields[5])
		}
	case "kctl":
		s.Local = strings.Clone(fields[len(fields)-1])
	}
	return true
}

// bsdUnixRow reads a unix socket of macOS; its address in the kernel is what lsof
// shows as DEVICE.
//
//	"9dc6c98761018007 stream      0      0 0 9dc6c98761019687 0 0 /var/run/mDNSResponder"
func bsdUnixRow(text string, s *analysis.Socket) bool {
	fields := strings.Fields(text)
	if len(fields) < 8 || socketProtocol(fields[1]) != "unix" {
		return false
	}
	address, err := strconv.ParseUint(strings.TrimPrefix(fields[0], "0x"), 16, 64)
	if err != nil {
		return false
	}
	s.Protocol, s.Inode, s.State = "unix", address, "UNCONNECTED"
	if strings.Trim(fields[5], "0") != "" {
		s.State = "CONNECTED"
	}
	if len(fields) > 8 {
		s.Local = strings.Join(fields[8:], " ")
	}
	return true
}
