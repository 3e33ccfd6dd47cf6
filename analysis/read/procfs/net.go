package procfs

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// NetTable sums up what was read of the tables of /proc/PID/net.
type NetTable struct {
	// Tables are the tables that the file holds: tcp, tcp6, udp, udp6, raw, raw6,
	// unix, netlink, packet, sockstat.
	Tables []string
	// Rows counts sockets, by protocol and TCP sockets by state. NoDescriptor counts
	// those without an inode: no descriptor refers to them (TIME_WAIT, and sockets
	// that were closed and still talk to their peer).
	Rows         int
	Protocols    map[string]int
	States       map[string]int
	NoDescriptor int
	// Figures are those of sockstat: sockets_used, tcp_inuse, tcp_orphan, tcp_tw,
	// tcp_alloc, tcp_mem (pages), udp_inuse, tcp6_inuse, ...
	Figures map[string]int64
	// Begins has the offset of the first row of each capture: one begins with a table that
	// came before, or below a line of date.
	Begins    []int64
	Bytes     int64
	Truncated bool
}

// maxFigures bounds the figures of sockstat; kernels print about 15.
const maxFigures = 128

// ParseNet reads the socket tables of /proc/PID/net: tcp, tcp6, udp, udp6, udplite,
// raw, unix, netlink, packet (get_tcp4_sock in net/ipv4/tcp_ipv4.c and its relatives)
// and the figures of sockstat. The header names the table; if it does not, the file's
// name decides. Headers, or those of tail, separate several tables in one file.
// Addresses are as lsof -nP prints them, in brackets for IPv6 and without the mapping
// of IPv4; a missing peer becomes "". The table is that of one network namespace: a
// socket that is not in it may be in that of another. visit receives every row, also
// those without an inode; the row is reused: copy what is kept. part counts the captures of
// the file from 0. The error is that of visit or of r.
func ParseNet(r io.Reader, path string, visit func(part int, s *analysis.Socket) error) (NetTable, []analysis.Problem, error) {
	in := line.NewReader(r)
	t := netReader{probs: &line.Problems{Path: path}, name: path}
	t.Protocols, t.States = map[string]int{}, map[string]int{}
	t.table = netTableOf("", path)
	var err error
	for l := range in.All() {
		if err = t.line(l, visit); err != nil {
			break
		}
	}
	if err == nil {
		err = in.Failure(path)
		t.Truncated = t.Truncated || err != nil
	}
	t.Bytes = in.Offset()
	return t.NetTable, t.probs.All(), err
}

// netReader knows the table that the rows below a header belong to.
type netReader struct {
	NetTable
	probs *line.Problems
	// name is the path of the file, or of the part of it below a heading of tail.
	name, table string
	// border sees the next capture begin, whose first row is not read yet while fresh is true.
	border line.Border
	fresh  bool
}

// title takes the line above a table.
func (t *netReader) title(text string) {
	h := fnv.New64a()
	_, _ = io.WriteString(h, t.name+text)
	number := int64(h.Sum64() >> 1)
	if t.border.Begins(number) {
		t.border.Begin()
		t.fresh = true
	}
	t.border.Add(number)
}

func (t *netReader) line(l line.Line, visit func(int, *analysis.Socket) error) error {
	text := strings.TrimSpace(l.Text)
	if text == "" {
		return nil
	}
	if name, ok := strings.CutPrefix(text, "==> "); ok {
		t.name = strings.TrimSuffix(name, " <==")
		t.table = netTableOf("", t.name)
		t.title("")
		return nil
	}
	if isNetHeader(text) {
		t.table = netTableOf(text, t.name)
		t.note(t.table)
		t.title(text)
		return nil
	}
	if line.IsPrompt(text) || line.IsDate(text) {
		t.border.Pass(text)
		return nil
	}
	if t.figures(text) {
		return nil
	}
	s, ok := t.row(text)
	if !ok {
		t.odd(l, text)
		return nil
	}
	s.Place = l.Place()
	t.count(&s)
	if t.border.Begins(-1) {
		t.border.Begin()
		t.fresh = true
	}
	if t.border.Add(-1); t.fresh || len(t.Begins) == 0 {
		t.Begins, t.fresh = append(t.Begins, l.Offset), false
	}
	return visit(len(t.Begins)-1, &s)
}

// odd reports a line that is no row; a row that lost its end is a cut file.
func (t *netReader) odd(l line.Line, text string) {
	if !l.Ended && t.Rows > 0 {
		t.Truncated = true
		t.probs.Add(analysis.Warning, l, "the last row is cut off", "the file ends inside "+line.Quote(text),
			"take the file again; the figures are lower bounds")
		return
	}
	t.probs.Add(analysis.Warning, l, "a line of the socket table is not understood", line.Quote(text)+" is no row of /proc/net",
		"nothing if it is no part of the table; if it is a row, the figures are lower bounds")
}

func (t *netReader) note(table string) {
	for _, have := range t.Tables {
		if have == table {
			return
		}
	}
	if table != "" && len(t.Tables) < 32 {
		t.Tables = append(t.Tables, table)
	}
}

func (t *netReader) count(s *analysis.Socket) {
	t.note(t.table)
	t.Rows++
	t.Protocols[s.Protocol]++
	if strings.HasPrefix(s.Protocol, "tcp") {
		t.States[s.State]++
	}
	if s.Inode == 0 {
		t.NoDescriptor++
	}
}

// isNetHeader recognises the titles of any of the tables.
func isNetHeader(text string) bool {
	for _, head := range []string{"sl  local_address", "sl local_address", "Num       RefCount", "Num RefCount", "sk               Eth", "sk       Eth", "sk               RefCnt", "sk       RefCnt"} {
		if strings.HasPrefix(text, head) {
			return true
		}
	}
	return false
}

// netTableOf names a table by its header. If several tables share the header, as udp
// and raw do, the file's name decides.
func netTableOf(header, name string) string {
	base := strings.ToLower(path.Base(name))
	switch {
	case strings.HasPrefix(header, "Num"):
		return "unix"
	case strings.HasPrefix(header, "sk") && strings.Contains(header, " Groups "):
		return "netlink"
	case strings.HasPrefix(header, "sk"):
		return "packet"
	case strings.HasPrefix(header, "sl") && !strings.Contains(header, "drops"):
		return "tcp"
	}
	for _, table := range []string{"udplite", "udp", "raw", "icmp", "unix", "netlink", "packet", "sockstat", "tcp"} {
		if strings.Contains(base, table) {
			return table
		}
	}
	if header != "" {
		return "udp"
	}
	return ""
}

// row reads a row of any table.
func (t *netReader) row(text string) (analysis.Socket, bool) {
	fields := strings.Fields(text)
	first := strings.TrimSuffix(fields[0], ":")
	switch {
	case len(fields) >= 10 && len(first) < len(fields[0]) && strings.Contains(fields[1], ":"):
		return t.ipRow(fields)
	case t.table == "unix" || len(fields) >= 7 && len(first) < len(fields[0]):
		return unixRow(text, fields)
	case t.table == "netlink" && len(fields) == 10:
		return inodeRow("netlink", fields[9])
	case t.table == "packet" && len(fields) == 9:
		return inodeRow("packet", fields[8])
	}
	return analysis.Socket{}, false
}

// ipRow reads a row of tcp, udp or raw.
//
//	"0: 0100007F:E45D 0100007F:B304 01 0:0 00:00 00 0 0 314884 1 .."
//	tcp, Local "127.0.0.1:58461", Remote "127.0.0.1:45828", ESTABLISHED, Inode 314884
func (t *netReader) ipRow(fields []string) (analysis.Socket, bool) {
	local, six, ok := netAddress(fields[1])
	if !ok {
		return analysis.Socket{}, false
	}
	remote, _, ok := netAddress(fields[2])
	state, err := strconv.ParseUint(fields[3], 16, 8)
	inode, err2 := strconv.ParseUint(fields[9], 10, 64)
	if !ok || err != nil || err2 != nil {
		return analysis.Socket{}, false
	}
	protocol := t.table
	if protocol == "" || protocol == "unix" || protocol == "netlink" || protocol == "packet" || protocol == "sockstat" {
		protocol = "tcp"
	}
	s := analysis.Socket{Protocol: protocol, Local: local, Inode: inode}
	switch {
	case protocol == "raw" || protocol == "icmp": // the port is the number of the protocol
		s.Protocol = "raw"
	case six:
		s.Protocol += "6"
	}
	if !strings.HasSuffix(remote, ":0") {
		s.Remote = remote
	}
	if s.State = netState(state); protocol != "tcp" && s.State == "CLOSE" {
		s.State = ""
	}
	return s, true
}

// netAddress reads an address: words of four bytes in the order of the machine,
// taken to be little-endian, and a port in hex.
//
//	"0100007F:E45D"                           = "127.0.0.1:58461"
//	"0000000000000000FFFF00000100007F:91C8"   = "127.0.0.1:37320", six
//	"00000000:0050"                           = "*:80"
func netAddress(text string) (address string, six, ok bool) {
	host, port, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || len(host) != 8 && len(host) != 32 {
		return "", false, false
	}
	raw := make([]byte, 0, 16)
	for i := 0; i < len(host); i += 8 {
		word, err := strconv.ParseUint(host[i:i+8], 16, 32)
		if err != nil {
			return "", false, false
		}
		raw = binary.LittleEndian.AppendUint32(raw, uint32(word))
	}
	ip, _ := netip.AddrFromSlice(raw)
	six, ip = ip.Is6(), ip.Unmap()
	digits := strconv.FormatUint(n, 10)
	switch {
	case ip.IsUnspecified():
		return "*:" + digits, six, true
	case ip.Is6():
		return "[" + ip.String() + "]:" + digits, six, true
	}
	return ip.String() + ":" + digits, six, true
}

// netState names a state (include/net/tcp_states.h).
func netState(n uint64) string {
	names := []string{
		"", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
		"CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "SYN_RECV",
	}
	if n < uint64(len(names)) {
		return names[n]
	}
	return "UNKNOWN"
}

// unixRow reads a row of unix. The flags mark a socket that listens (unix_seq_show in
// net/unix/af_unix.c).
//
//	"000000005e04c278: 00000002 00000000 00010000 0001 01 314880 zoo.sock"
func unixRow(text string, fields []string) (analysis.Socket, bool) {
	if len(fields) < 7 || !strings.HasSuffix(fields[0], ":") {
		return analysis.Socket{}, false
	}
	flags, err1 := strconv.ParseUint(fields[3], 16, 32)
	state, err2 := strconv.ParseUint(fields[5], 16, 8)
	inode, err3 := strconv.ParseUint(fields[6], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return analysis.Socket{}, false
	}
	s := analysis.Socket{Protocol: "unix", Inode: inode}
	switch {
	case flags&0x10000 != 0: // __SO_ACCEPTCON
		s.State = "LISTEN"
	case state == 3:
		s.State = "CONNECTED"
	case state == 2:
		s.State = "CONNECTING"
	case state == 4:
		s.State = "DISCONNECTING"
	default:
		s.State = "UNCONNECTED"
	}
	if len(fields) > 7 { // paths may hold blanks
		s.Local = pathBehind(text, 7)
	}
	return s, true
}

// pathBehind is the text after so many fields.
func pathBehind(text string, fields int) string {
	for range fields {
		text = strings.TrimLeft(text, " ")
		_, text, _ = strings.Cut(text, " ")
	}
	return clip(strings.TrimLeft(text, " "))
}

// inodeRow reads a socket whose row has nothing else that matters.
func inodeRow(protocol, inode string) (analysis.Socket, bool) {
	n, err := strconv.ParseUint(inode, 10, 64)
	return analysis.Socket{Protocol: protocol, Inode: n}, err == nil
}

// figures reads a line of sockstat or sockstat6.
//
//	"TCP: inuse 1266 orphan 0 tw 47 alloc 1279 mem 94"   tcp_inuse = 1266, ...
func (t *netReader) figures(text string) bool {
	head, rest, ok := strings.Cut(text, ": ")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 || len(fields)%2 != 0 || strings.ContainsRune(head, ' ') {
		return false
	}
	values := map[string]int64{}
	for i := 0; i < len(fields); i += 2 {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil || strings.Trim(fields[i], "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
		values[strings.ToLower(head)+"_"+fields[i]] = n
	}
	if t.Figures == nil {
		t.Figures = map[string]int64{}
	}
	for name, n := range values {
		if len(t.Figures) < maxFigures {
			t.Figures[clip(name)] = n
		}
	}
	t.note("sockstat")
	return true
}
