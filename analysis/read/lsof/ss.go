package lsof

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// maxOwners bounds the descriptors that one row of ss may name.
const maxOwners = 1 << 10

// ssRow reads a row of ss (misc/ss.c of iproute2). Columns have no fixed places;
// address and port of an IP socket are one token, of others two.
//
//	`ESTAB 0 0 127.0.0.1:39308 127.0.0.1:42635 users:(("node",pid=28156,fd=163)) ino:226850 sk:1`
//	`u_str LISTEN 0 5 zoo.sock 314880 * 0 users:(("zoo (a b",pid=14406,fd=44))`
//
// A table of one state has no column for it: the command above the table may name it. Rows
// without a header show the lack by the number in its place.
func (t *socketReader) ssRow(text string, s *analysis.Socket) bool {
	ends, details := cutDetails(text)
	fields := strings.Fields(ends)
	word := ""
	if len(fields) > 0 && isNetid(fields[0]) {
		word, fields = fields[0], fields[1:]
	}
	if (t.stateless || word != "" && strings.Contains(details, "users:((")) && len(fields) > 0 && isPlainNumber(fields[0]) {
		fields = slices.Insert(fields, 0, t.selected)
	} else if len(fields) == 0 || !isSocketState(fields[0]) {
		return false
	}
	if len(fields) < 4 || !isPlainNumber(fields[1]) || !isPlainNumber(fields[2]) {
		return false
	}
	s.Protocol = socketProtocol(orElse(word, t.protocol))
	state := fields[0]
	switch fields = fields[3:]; {
	case s.Protocol == "unix":
		ssUnix(fields, s)
	case s.Protocol == "netlink" || s.Protocol == "packet":
		s.Local = fields[0]
	case len(fields) < 2:
		return false
	default:
		ssEnds(fields, s)
	}
	s.State = socketState(s.Protocol, state)
	s.Owners = ssOwners(details)
	if s.Inode == 0 {
		s.Inode = ssInode(details)
	}
	return true
}

// stateOfCommand is the state that a command of ss selects, "" if it names none.
//
//	"$ ss -tnp state close-wait" = "close-wait"   "ss -tnp" = ""
func stateOfCommand(command string) string {
	_, rest, _ := strings.Cut(command, " state ")
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if word = strings.Trim(word, `;)'"`); isSocketState(strings.ToUpper(word)) {
		return word
	}
	return ""
}

// loopOfStates is a loop that runs ss for each of several states.
var loopOfStates = expression.Lazy(`\bfor \w+ in ([^;]+);.* state ["']?\$`)

// statesOfLoop are the states that a loop goes through.
//
//	"$ for s in established close-wait; do ss -tan state $s; done" = "established", "close-wait"
func statesOfLoop(command string) []string {
	m := loopOfStates.FindStringSubmatch(command)
	if m == nil || slices.ContainsFunc(strings.Fields(m[1]), func(word string) bool { return !isSocketState(strings.ToUpper(word)) }) {
		return nil
	}
	return strings.Fields(m[1])
}

// protocolOfCommand is the protocol that a command of ss asks for, "" if it is not one.
//
//	"$ ss -uanp" = "udp"   "ss -t -a" = "tcp"   "ss -tunap" = ""
func protocolOfCommand(command string) string {
	_, flags, found := strings.Cut(" "+command+" ", " ss ")
	asked := ""
	for _, word := range strings.Fields(flags) {
		short := strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--")
		for _, p := range []struct{ flag, long, name string }{{"t", "--tcp", "tcp"}, {"u", "--udp", "udp"}, {"w", "--raw", "raw"}} {
			if word != p.long && !(short && strings.Contains(word, p.flag)) {
				continue
			}
			if asked != "" && asked != p.name {
				return ""
			}
			asked = p.name
		}
	}
	if !found {
		return ""
	}
	return asked
}

// protocolOfRows guesses the protocol of rows without a column for it: unconnected sockets beside
// none in a state that TCP alone has are of UDP.
func protocolOfRows(head []byte) string {
	unconnected := false
	for text := range bytes.Lines(head) {
		word, _, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 100)])), " ")
		if word == "State" || word == "Recv-Q" || word == "Netid" {
			break // of the next table
		}
		switch {
		case word == "UNCONN":
			unconnected = true
		case isSocketState(word) && word != "ESTAB":
			return "tcp"
		}
	}
	if unconnected {
		return "udp"
	}
	return "tcp"
}

// isNetid recognises the first column of a table of several protocols. A state is
// in capitals.
func isNetid(word string) bool {
	switch word {
	case "tcp", "udp", "raw", "sctp", "dccp", "mptcp", "icmp", "icmp6", "u_str", "u_dgr", "u_seq", "nl", "p_raw", "p_dgr", "v_str", "v_dgr", "tipc", "xdp", "???":
		return true
	}
	return false
}

// cutDetails splits off what follows the ends: the processes and details of -e.
func cutDetails(text string) (ends, details string) {
	at := len(text)
	for _, mark := range []string{" users:((", " timer:(", " uid:", " ino:", " sk:", " cgroup:", " <->", " -->", " <--", " ---", " v6only:", " inode:"} {
		if i := strings.Index(text, mark); i >= 0 {
			at = min(at, i)
		}
	}
	return text[:at], text[at:]
}

// ssUnix reads the ends of a unix socket: path and inode of either.
//
//	"zoo.sock" "314880" "*" "0"   Local "zoo.sock", Inode 314880
//	"*" "314878" "*" "314879"     Local "", Inode 314878
func ssUnix(fields []string, s *analysis.Socket) {
	n := len(fields)
	if n < 4 {
		return
	}
	s.Inode = unixInode(fields[n-3])
	if s.Local = strings.Join(fields[:n-3], " "); s.Local == "*" {
		s.Local = ""
	}
	if s.Remote = fields[n-2]; s.Remote == "*" {
		s.Remote = ""
	}
}

// unixInode reads the inode of a unix socket, which old releases print as a signed number.
//
//	"314880" = 314880   "-1445160328" = 2849806968
func unixInode(digits string) uint64 {
	if n, err := strconv.ParseInt(digits, 10, 32); err == nil {
		return uint64(uint32(n))
	}
	n, _ := strconv.ParseUint(digits, 10, 64)
	return n
}

// ssEnds reads the ends of an IP socket; an address in brackets makes it one of
// version 6.
func ssEnds(fields []string, s *analysis.Socket) {
	s.Local, s.Remote = bracketed(fields[0]), bracketed(fields[1])
	six := strings.HasPrefix(s.Local, "[")
	if six && (s.Protocol == "tcp" || s.Protocol == "udp") {
		s.Protocol += "6"
	}
	if nobody(s.Remote) {
		s.Remote = ""
	}
}

// bracketed puts an IPv6 address into brackets, where netstat and old releases of ss
// print none.
//
//	"::1:46779" = "[::1]:46779"   "127.0.0.1:80" = "127.0.0.1:80"   "[fe80::1]%eth0:22" = "[fe80::1%eth0]:22"
func bracketed(address string) string {
	host, port, _ := cutLast(address, ':')
	if bare, zone, ok := strings.Cut(host, "]%"); ok {
		return bare + "%" + zone + "]:" + port
	}
	if strings.HasPrefix(host, "[") || !strings.Contains(host, ":") {
		return strings.Clone(address)
	}
	return "[" + host + "]:" + port
}

// ssOwners reads the descriptors that share a socket. Program names hold what they
// like; quotes in them are not escaped.
//
//	`users:(("zoo (a b",pid=14406,fd=47),("zoo",pid=14409,fd=47))`
//	`users:(("java",46695,4494))`, of old releases
func ssOwners(details string) []analysis.Owner {
	_, list, ok := strings.Cut(details, `users:((`)
	if !ok {
		return nil
	}
	var owners []analysis.Owner
	for len(owners) < maxOwners {
		name, rest, ok := strings.Cut(strings.TrimPrefix(list, `"`), `",`)
		if !ok {
			return owners
		}
		ids, after, ok := strings.Cut(rest, ")")
		if !ok {
			return owners
		}
		if owner, ok := ssOwner(name, ids); ok {
			owners = append(owners, owner)
		}
		if list, ok = strings.CutPrefix(after, ",("); !ok {
			return owners
		}
	}
	return owners
}

// ssOwner reads pid and descriptor.
//
//	"pid=14406,fd=47"   "46695,4494"   "pid=1,proc_ctx=x,fd=3"
func ssOwner(name, ids string) (analysis.Owner, bool) {
	owner := analysis.Owner{Program: strings.Clone(name), FD: -1}
	for i, id := range strings.Split(ids, ",") {
		key, value, named := strings.Cut(id, "=")
		if !named {
			key, value = []string{"pid", "fd"}[min(i, 1)], key
		}
		n, ok := number(value)
		switch {
		case !ok:
		case key == "pid":
			owner.PID = n
		case key == "fd":
			owner.FD = n
		}
	}
	return owner, owner.PID > 0
}

// ssInode finds the inode that -e prints.
//
//	"ino:314882 sk:160d cgroup:/ <->" = 314882
func ssInode(details string) uint64 {
	for field := range strings.FieldsSeq(details) {
		if digits, ok := strings.CutPrefix(field, "ino:"); ok {
			v, _ := strconv.ParseUint(digits, 10, 64)
			return v
		}
	}
	return 0
}
