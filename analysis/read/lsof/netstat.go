package lsof

import (
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// netstatSection is a part of netstat's output with titles of its own.
type netstatSection struct {
	// sort is "ip", "unix" or "bsd-unix", "" for the line above the titles.
	sort string
	// inode and owner are true if there are such columns; process is the number of the
	// column of macOS that holds the pid, counted from the first after the state.
	inode, owner bool
	process      int
}

// netstatHeader recognises the titles of net-tools, busybox and macOS, and the line
// above them.
//
//	"Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name"
//	"Proto RefCnt Flags       Type       State         I-Node   PID/Program name     Path"
//	"Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)    rhiwat shiwat    pid"
func netstatHeader(text string) (netstatSection, bool) {
	if strings.HasPrefix(text, "Active ") && (strings.Contains(text, "onnections") || strings.Contains(text, "sockets")) {
		return netstatSection{}, true
	}
	fields := strings.Fields(text)
	if len(fields) < 5 {
		return netstatSection{}, false
	}
	section := netstatSection{
		inode: slices.Contains(fields, "Inode"), owner: slices.Contains(fields, "PID/Program"), process: -1,
	}
	switch {
	case fields[0] == "Proto" && fields[1] == "Recv-Q":
		section.sort = "ip"
		if at := slices.Index(fields, "(state)"); at >= 0 {
			if pid := slices.Index(fields, "pid"); pid > at {
				section.process, section.owner = pid-at-1, true
			}
		}
	case fields[0] == "Proto" && fields[1] == "RefCnt":
		section.sort = "unix"
	case fields[0] == "Address" && fields[1] == "Type":
		section.sort, section.owner = "bsd-unix", false
	default:
		return netstatSection{}, false
	}
	return section, true
}

// netstatRow reads a row; without a header that of net-tools, which field reports
// quote.
func (t *socketReader) netstatRow(text string, s *analysis.Socket) bool {
	if t.section.sort == "bsd-unix" {
		return bsdUnixRow(text, s)
	}
	word, rest, _ := strings.Cut(text, " ")
	if word == "unix" {
		return netstatUnix(rest, s)
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
	if fields = fields[4:]; len(fields) > 0 && (isSocketState(fields[0]) || word == "raw" && isPlainNumber(fields[0])) {
		s.State = fields[0]
		fields = fields[1:]
	}
	s.State = socketState(s.Protocol, s.State)
	if t.section.process >= 0 && t.section.sort != "" {
		bsdOwner(fields, t.section.process, s)
		return true
	}
	t.netstatOwner(rest, fields, s)
	return true
}

func isNetstatProtocol(word string) bool {
	switch word {
	case "tcp", "tcp6", "udp", "udp6", "udplite", "udpl", "raw", "raw6", "sctp", "icmp", "icmp6", "tcp4", "tcp46", "udp4", "udp46", "icm4", "icm6", "icm46":
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

// netstatUnix reads a row of the second part.
//
//	"2      [ ACC ]     STREAM     LISTENING     314880   14406/./zoo          zoo.sock"
func netstatUnix(rest string, s *analysis.Socket) bool {
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
	s.Local = netstatPath(strings.TrimLeft(rest, " "), s)
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

// bsdOwner reads the pid of netstat -v on macOS; later releases print
// "process:pid" in one column.
func bsdOwner(fields []string, column int, s *analysis.Socket) {
	if column >= len(fields) {
		return
	}
	program, digits, ok := cutLast(fields[column], ':')
	if !ok {
		program, digits = "", fields[column]
	}
	if pid, isNumber := number(digits); isNumber && pid > 0 {
		s.Owners = []analysis.Owner{{Program: strings.Clone(program), PID: pid, FD: -1}}
	}
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
