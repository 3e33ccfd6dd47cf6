package lsof

import (
	"strconv"
	"strings"
)

// describe fills the descriptor from the cells of its row. protocol and state are
// separate fields of lsof -F; they are "" in tables, which hold them in NODE and NAME.
func (r *Row) describe(protocol, state string) {
	d := &r.Descriptor
	d.FD, d.Name, d.State = r.FD, r.NameText, canonicalState(state)
	d.Inode = decimal(r.Node)
	switch r.Type {
	case "IPv4", "IPv6":
		r.describeIP(protocol)
	case "unix":
		r.describeUnix()
	case "pack":
		d.Type, d.Protocol, d.Inode = "packet", orNode(protocol, r.Node), r.deviceInode()
	case "sock":
		d.Type = "socket"
		if word, ok := strings.CutPrefix(r.NameText, "protocol: "); ok {
			d.Protocol = strings.ToUpper(strings.TrimSpace(word))
		}
	case "raw", "raw6":
		d.Type = "raw"
	case "netlink":
		d.Type, d.Protocol = "netlink", "NETLINK"
	case "a_inode", "ANON_INODE", "0000":
		d.Type = "anon"
		if !ownInode(anonType(r.NameText)) {
			d.Inode = 0
		}
	default:
		d.Type = r.fileType()
		d.Deleted = strings.HasSuffix(r.NameText, " (deleted)") || r.FDText == "DEL" || r.Links == "0" && d.Type == "regular"
	}
	if d.Inode == 0 && (d.Type == "pipe" || d.Type == "unix") { // macOS prints an address only
		d.Inode = r.deviceInode()
	}
	// A row of its own stands for the directory of descriptors. Rows with a remark in
	// their name, "(stat: Permission denied)", are descriptors of an unknown kind.
	r.Unreadable = r.FDText == "NOFD"
	if r.Type == "unknown" {
		d.Name = withoutRemark(r.NameText)
	}
}

// describeIP splits endpoints and state off NAME. lsof prints the socket's inode
// as DEVICE and the protocol as NODE.
func (r *Row) describeIP(protocol string) {
	d := &r.Descriptor
	d.Name = strings.TrimRight(r.NameText, " ") // UDP ends with a blank
	inNode := false
	if protocol == "" && isPlainNumber(r.Node) {
		var word, ends string
		if word, ends, inNode = toyboxName(r.NameText); inNode {
			protocol, d.Name = word, ends
		}
	}
	if !inNode {
		d.Inode = r.deviceInode()
	}
	d.Protocol = orNode(protocol, r.Node)
	if d.Protocol == "" && (d.State != "" || strings.HasSuffix(d.Name, ")")) {
		d.Protocol = "TCP" // a field listing without P: only TCP has states
	}
	switch {
	case d.Protocol == "TCP" && r.Type == "IPv6":
		d.Type = "tcp6"
	case d.Protocol == "TCP":
		d.Type = "tcp"
	case d.Protocol == "UDP" && r.Type == "IPv6":
		d.Type = "udp6"
	case d.Protocol == "UDP":
		d.Type = "udp"
	case d.Protocol == "":
		d.Type = strings.ToLower(r.Type)
	default:
		d.Type = "raw" // ICMP, 255, ...
	}
	ends, state := splitState(d.Name)
	if d.State == "" {
		d.State = canonicalState(state)
	}
	d.Local, d.Remote = endpoints(ends)
}

// toyboxName splits the protocol off NAME, where toybox prints it; its NODE is the
// inode and its DEVICE empty (scan_ip in toybox's lsof.c).
//
//	"TCP 127.0.0.1:1->127.0.0.1:2 (ESTABLISHED)"   "TCP", "127.0.0.1:1->127.0.0.1:2 (ESTABLISHED)"
func toyboxName(name string) (protocol, ends string, ok bool) {
	protocol, ends, ok = strings.Cut(name, " ")
	return protocol, ends, ok && (protocol == "TCP" || protocol == "UDP" || protocol == "RAW")
}

// describeUnix splits NAME into path and state.
//
//	"zoo.sock type=STREAM (LISTEN)"                     Name "zoo.sock", State "LISTEN"
//	"type=STREAM ->INO=314879 14406,zoo,43u (CONNECTED)"  Name "", State "CONNECTED"
func (r *Row) describeUnix() {
	d := &r.Descriptor
	d.Type, d.Protocol = "unix", "unix"
	rest, state := splitState(r.NameText)
	if d.State == "" {
		d.State = state
	}
	switch i := strings.Index(" "+rest, " type="); {
	case i >= 0:
		d.Name = strings.TrimSuffix(rest[:max(i-1, 0)], " ")
	default:
		d.Name = rest
	}
	if i := strings.Index(" "+d.Name, " ->"); i >= 0 { // the peer: ->INO=1, ->0x9dc6
		d.Name = d.Name[:max(i-1, 0)]
	}
	if d.Name == "socket" { // old releases name unnamed sockets so
		d.Name = ""
	}
	if r.Node == "" {
		d.Inode = r.deviceInode()
	}
}

// fileType is the canonical type of a row that is no socket.
func (r *Row) fileType() string {
	name := r.NameText
	switch r.Type {
	case "REG", "VREG":
		switch {
		case strings.HasPrefix(name, "/memfd:"):
			return "memfd"
		case isNamespace(name):
			return "namespace"
		}
		return "regular"
	case "DIR", "VDIR":
		return "directory"
	case "CHR", "VCHR":
		return "char"
	case "BLK", "VBLK":
		return "block"
	case "PIPE":
		return "pipe"
	case "FIFO", "VFIFO":
		if name == "pipe" || strings.HasPrefix(name, "pipe ") || strings.HasPrefix(name, "pipe:[") { // -E appends the peers
			return "pipe"
		}
		return "fifo"
	case "KQUEUE":
		return "kqueue"
	}
	return strings.ToLower(r.Type)
}

// isNamespace reports whether NAME is that of a namespace link.
//
//	"net" "net:[4026531833]"   true
func isNamespace(name string) bool {
	if strings.HasPrefix(name, "/") {
		return false
	}
	name, _, _ = strings.Cut(name, ":[")
	switch name {
	case "cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts":
		return true
	}
	return false
}

// anonType is the bare type of an anonymous inode. lsof 4.94 and later add a number
// or a list of members, which change at every run.
//
//	"[eventfd:1]"              "[eventfd]"
//	"[eventpoll:16,20,22]"     "[eventpoll]"
//	"[timerfd] 14409,zoo,21u"  "[timerfd]" (peers of lsof -E)
//	"anon_inode:inotify"       "inotify"
func anonType(name string) string {
	name = strings.TrimPrefix(name, "anon_inode:")
	if !strings.HasPrefix(name, "[") {
		return name
	}
	i := strings.IndexAny(name, ":]")
	switch {
	case i < 0:
		return name
	case name[i] == ']':
		return name[:i+1]
	}
	return name[:i] + "]"
}

// ownInode reports whether files of an anonymous type have an inode of their own
// (Linux 6.18); all others share one, which identifies nothing.
func ownInode(bare string) bool {
	return bare == "[userfaultfd]" || bare == "[io_uring]" || bare == "[pidfd]"
}

// deviceInode reads the inode or kernel address that sockets have as DEVICE.
func (r *Row) deviceInode() uint64 {
	if hex, ok := strings.CutPrefix(r.Device, "0x"); ok {
		v, _ := strconv.ParseUint(hex, 16, 64)
		return v
	}
	return decimal(r.Device)
}

// decimal reads a number, 0 if the cell is another word. The errors of strconv
// would cost more than the row.
func decimal(cell string) uint64 {
	v := uint64(0)
	for i := range len(cell) {
		digit := cell[i] - '0'
		if digit > 9 {
			return 0
		}
		v = v*10 + uint64(digit)
	}
	if len(cell) > 19 { // may be more than 64 bits
		v, _ = strconv.ParseUint(cell, 10, 64)
	}
	return v
}

// orNode is the protocol from its own field, or else from the NODE cell.
func orNode(protocol, node string) string {
	if protocol == "" {
		protocol = node
	}
	return strings.ToUpper(protocol)
}

// splitState cuts the parentheses off a socket's NAME and finds the state in them.
//
//	"a:1->b:2 (ESTABLISHED QR=0 QS=0)"   "a:1->b:2", "ESTABLISHED"
//	"127.0.0.1:36140 (QR=0 QS=0)"        "127.0.0.1:36140", ""
func splitState(name string) (rest, state string) {
	name = strings.TrimRight(name, " ")
	i := strings.LastIndexByte(name, '(')
	if i < 0 || !strings.HasSuffix(name, ")") {
		return name, ""
	}
	state = name[i+1 : len(name)-1]
	if isWord(state) {
		return strings.TrimRight(name[:i], " "), state
	}
	inside := state
	state = ""
	for word := range strings.FieldsSeq(inside) {
		if !strings.Contains(word, "=") {
			state = word
			break
		}
	}
	return strings.TrimRight(name[:i], " "), state
}

// isWord reports whether a text is what states are: capitals and underscores.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}

// endpoints splits the addresses of an IP socket; -E appends the peer's process.
//
//	"127.0.0.1:45828->127.0.0.1:58461 14406,zoo (a b),48u"   "127.0.0.1:45828", "127.0.0.1:58461"
//	"*:46779"                                                "*:46779", ""
//	"no PCB"                                                 "", ""
func endpoints(name string) (local, remote string) {
	local, remote, _ = strings.Cut(name, "->")
	if strings.IndexByte(name, ' ') >= 0 {
		local, _, _ = strings.Cut(local, " ")
		remote, _, _ = strings.Cut(remote, " ")
	}
	if strings.IndexByte(local, ':') < 0 {
		return "", ""
	}
	return local, remote
}

// canonicalState maps the names of BSD and macOS to those of Linux.
func canonicalState(state string) string {
	switch state {
	case "CLOSED":
		return "CLOSE"
	case "SYN_RCVD":
		return "SYN_RECV"
	case "FIN_WAIT_1":
		return "FIN_WAIT1"
	case "FIN_WAIT_2":
		return "FIN_WAIT2"
	}
	return state
}

// withoutRemark cuts off why lsof could not look at a file (process_id in dproc.c of
// lsof for Linux).
//
//	"/root/a b (stat: Permission denied)"   "/root/a b"
func withoutRemark(name string) string {
	for _, call := range []string{" (readlink: ", " (lstat: ", " (stat: "} {
		if at := strings.Index(name, call); at >= 0 && strings.HasSuffix(name, ")") {
			name = name[:at]
		}
	}
	return name
}

// colonDevice writes a device of a table as mountinfo does.
//
//	"254,0"    "254:0"
//	"314882"   ""
func colonDevice(cell string) string {
	major, minor, ok := strings.Cut(cell, ",")
	if !ok || countDigits(major) != len(major) || countDigits(minor) != len(minor) || major == "" || minor == "" {
		return ""
	}
	return major + ":" + minor
}

// devices remembers the forms of some device cells: rows name few devices.
type devices [64]struct{ cell, form string }

// of is colonDevice.
func (d *devices) of(cell string) string {
	if len(cell) < 3 || cell[len(cell)-2] != ',' && strings.IndexByte(cell, ',') < 0 {
		return ""
	}
	have := &d[(int(cell[0])+8*int(cell[len(cell)-1])+int(cell[len(cell)-2]))%len(d)]
	if have.cell != cell {
		have.cell = strings.Clone(cell)
		have.form = colonDevice(have.cell)
	}
	return have.form
}
