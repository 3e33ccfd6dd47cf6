package lsof

import (
	"io"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// The forms of a socket table.
const (
	formSS      = "ss"
	formNetstat = "netstat"
	// formSSSummary is ss -s, which has figures and no row.
	formSSSummary = "ss-summary"
)

// Sockets sums up what was read of a socket table.
type Sockets struct {
	// Form is one of the constants, "" if nothing was recognised.
	Form string
	// Rows counts sockets, by protocol and TCP sockets by state. NoDescriptor counts
	// those that no descriptor refers to: TIME_WAIT, and others that lost their
	// process (inode 0). They must not be added to the descriptors of any process.
	Rows         int
	Protocols    map[string]int
	States       map[string]int
	NoDescriptor int
	// Unowned counts rows whose owner the table should name and does not: it was
	// taken without the rights to see it, or the socket is the kernel's.
	Unowned int
	// Figures are those of ss -s: sockets_used, tcp_established, tcp_closed,
	// tcp_orphaned, tcp_time_wait, and tcp_sockets, udp_sockets, raw_sockets.
	Figures map[string]int64
	Skipped []Skipped
	// PerPart are the tables in time of the file, bounded in number.
	PerPart []Part
	// Command is the command line found above the rows, if it was copied along.
	Command   string
	Bytes     int64
	Truncated bool
}

// ParseSockets reads the tables of ss (-tanp, -anp, -e and -i with their continuation
// lines, -s) and of netstat (net-tools, busybox, macOS), with or without their headers.
// Host and service names stay as printed. Names of states and protocols become
// canonical; a missing peer ("*:*", "0.0.0.0:*") becomes "". visit receives every row,
// also those without a descriptor; the row is reused: copy what is kept. part counts the
// tables in time of the file from 0. The error is that of visit or of r.
func ParseSockets(r io.Reader, path string, visit func(part int, s *analysis.Socket) error) (Sockets, []analysis.Problem, error) {
	in := line.NewReader(r)
	t := socketReader{probs: &line.Problems{Path: path}, words: words{}, visit: visit, in: in}
	t.protocol = protocolOfRows(t.rows())
	t.Protocols, t.States = map[string]int{}, map[string]int{}
	for l := range in.All() {
		if t.line(l); t.err != nil {
			break
		}
	}
	t.flush()
	t.next()
	if t.err == nil {
		t.err = in.Failure(path)
		t.Truncated = t.Truncated || t.err != nil
	}
	t.Bytes = in.Offset()
	return t.Sockets, t.probs.All(), t.err
}

// socketReader holds one row back: a continuation line of ss belongs to it.
type socketReader struct {
	Sockets
	in      *line.Reader
	probs   *line.Problems
	words   words
	visit   func(int, *analysis.Socket) error
	err     error
	held    analysis.Socket
	holding bool
	// stateless is true if the table of ss has no column State; selected is the state that the
	// command above it selects, states those that a loop goes through.
	stateless bool
	selected  string
	states    []string
	// protocol is that of the rows of ss without a column for it, wanted what the command asks for.
	protocol, wanted string
	// command is the last one, from the name of the tool on; begun is true once a table of it came.
	command string
	begun   bool
	// section is the header of netstat above the rows.
	section netstatSection
	// owners is true if the table has a column for them.
	owners bool
	// named is true if a row named its owners.
	named bool
	// title is the first header of the present table: it comes again above the next one.
	title  string
	dated  bool
	border line.Border
	part   Part
	parts  int
}

// next ends the present table.
func (t *socketReader) next() {
	if t.part.Rows == 0 {
		return
	}
	if t.parts++; len(t.PerPart) < maxParts {
		t.PerPart = append(t.PerPart, t.part)
	}
	t.part, t.title, t.dated, t.owners, t.named = Part{}, "", false, false, false
	t.border.Begin()
}

// rows are the lines ahead of the present table.
func (t *socketReader) rows() []byte { return t.in.Peek(32 << 10) }

// begin takes the header of a table; was is the form of the one above. Each run of ss prints one
// header, netstat one for each section.
func (t *socketReader) begin(title, was string) {
	dated := t.border.Begins(-1)
	if title == t.title || dated || t.Form == formSS || t.Form != was || !t.begun || strings.HasPrefix(title, "Active Internet connections") {
		t.next()
		t.title, t.begun, t.dated = title, true, t.dated || dated
		t.protocol = orElse(t.wanted, protocolOfRows(t.rows()))
		if len(t.states) > 0 {
			t.selected, t.states = t.states[0], append(t.states[1:], t.states[0])
		}
	}
	t.title = orElse(t.title, title)
}

func (t *socketReader) line(l line.Line) {
	text := l.Text
	if l.Number == 1 {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return
	case t.section.sort == sectionWindows && t.holding && trimmed[0] == '[' && strings.HasSuffix(trimmed, "]"): // -b
		for i := range t.held.Owners {
			t.held.Owners[i].Program = trimmed[1 : len(trimmed)-1]
		}
		return
	case text[0] == '\t' && t.holding && t.Form == formSS: // -i
		t.held.Place.Length = l.Offset + l.Length - t.held.Place.Offset
		if t.held.Inode == 0 {
			t.held.Inode = ssInode(trimmed)
		}
		return
	}
	t.flush()
	was := t.Form
	if owners, ok := t.header(trimmed); ok {
		t.begin(trimmed, was)
		t.owners = t.owners || owners
		return
	}
	if t.figures(trimmed) {
		return
	}
	var s analysis.Socket
	form, ok := formSS, t.ssRow(trimmed, &s)
	if !ok {
		form, ok = formNetstat, t.netstatRow(trimmed, &s)
	}
	if !ok {
		t.noise(l, trimmed)
		return
	}
	if !l.Ended && t.cutShort(form, trimmed, &s) {
		t.Truncated = true
		t.probs.Add(analysis.Warning, l, "the last row is cut off", "the file ends inside "+line.Quote(text),
			"take the table again; the figures are lower bounds")
		return
	}
	if joined(trimmed) {
		t.probs.Add(analysis.Warning, l, "a line holds two rows of the socket table", "only the first row of "+line.Quote(text)+" is read",
			"put each row on a line of its own; the figures are lower bounds")
	}
	t.Form = form
	t.named = t.named || len(s.Owners) > 0
	s.Place = l.Place()
	t.held, t.holding = s, true
}

// joined reports whether a second row follows on the line of the first, as where a line end
// was lost.
//
//	"ESTAB 0 0 10.0.0.1:80 10.0.0.2:9 ino:1 LISTEN 0 5 *:80 *:*"   true
//	"tcp 0 0 0.0.0.0:80 0.0.0.0:* LISTEN 7/atcp 0 0 :::80 :::*"    true
//	"unix 2 [ ACC ] STREAM LISTENING 17 1/a /run/aunix 2 [ ]"      true
func joined(text string) bool {
	fields := strings.Fields(text)
	for i := 4; i+2 < len(fields); i++ {
		if !isPlainNumber(fields[i]) {
			continue
		}
		before := fields[i-1]
		switch {
		case strings.HasSuffix(before, "unix") && strings.HasPrefix(fields[i+1], "["):
			return true
		case !isPlainNumber(fields[i+1]):
		case strings.Contains(before, "tcp"), strings.Contains(before, "udp"), strings.Contains(before, "raw"):
			if i+3 < len(fields) && strings.ContainsAny(fields[i+2], ":.") && strings.ContainsAny(fields[i+3], ":.") {
				return true
			}
		case isSocketState(before) && i+3 < len(fields) && !isPlainNumber(fields[i+2]) && !strings.Contains(fields[i+2], "/") &&
			!isPlainNumber(fields[i+3]):
			return true // the lengths of queues and two ends, where netstat -e has user and inode
		}
	}
	return false
}

// cutShort reports whether a row without a line end lost an end of its addresses, or the
// owners that rows above it have.
func (t *socketReader) cutShort(form, text string, s *analysis.Socket) bool {
	if form == formSS {
		lacks := t.named && len(s.Owners) == 0 && !holdsNothing(s)
		return lacks || strings.Count(text, "(") != strings.Count(text, ")")
	}
	return s.Protocol == "tcp" && s.State == ""
}

// flush counts and visits the row held back.
func (t *socketReader) flush() {
	if !t.holding || t.err != nil {
		return
	}
	t.holding = false
	s := &t.held
	if t.border.Begins(-1) {
		t.next()
		t.dated = true
	}
	if t.border.Add(-1); t.part.Rows == 0 {
		t.part.Offset, t.part.Dated = s.Place.Offset, t.dated
		t.part.Asked = strings.Join([]string{t.command, t.title, t.selected, t.protocol}, "\n")
	}
	t.part.Rows++
	t.Rows++
	t.Protocols[s.Protocol]++
	if strings.HasPrefix(s.Protocol, "tcp") && (len(t.States) < 64 || t.States[s.State] > 0) {
		t.States[s.State]++
	}
	switch {
	case holdsNothing(s):
		t.NoDescriptor++
	case t.owners && len(s.Owners) == 0:
		t.Unowned++
	}
	t.words.socket(s)
	t.err = t.visit(t.parts, s)
}

// holdsNothing reports whether no descriptor can refer to a TCP socket: one in
// TIME_WAIT has none, nor has one whose process closed it and is gone (FIN_WAIT and
// later states without inode and owner). macOS names the process that had it last.
func holdsNothing(s *analysis.Socket) bool {
	if !strings.HasPrefix(s.Protocol, "tcp") {
		return false
	}
	switch s.State {
	case "TIME_WAIT":
		return true
	case "FIN_WAIT1", "FIN_WAIT2", "LAST_ACK", "CLOSING", "SYN_RECV":
		return s.Inode == 0 && len(s.Owners) == 0
	}
	return false
}

// header takes a line of titles; owners is true if one is that of a column for them.
func (t *socketReader) header(text string) (owners, ok bool) {
	fields := strings.Fields(text)
	switch {
	case len(fields) > 3 && (fields[0] == "State" && fields[1] == "Recv-Q" || fields[0] == "Netid" && (fields[1] == "State" || fields[1] == "Recv-Q")),
		len(fields) > 3 && fields[0] == "Recv-Q" && fields[1] == "Send-Q": // ss with one state alone
		t.Form, t.stateless = formSS, !slices.Contains(fields, "State")
		return fields[len(fields)-1] == "Process", true
	}
	section, ok := netstatHeader(text)
	if ok {
		t.Form = formNetstat
		if section.sort != "" {
			t.section = section
		}
	}
	return section.owner, ok
}

// socketCommand is a command that prints a table of sockets.
var socketCommand = expression.Lazy(`\b((?:ss|netstat) -.*)$`)

// noise files a line that is no row.
func (t *socketReader) noise(l line.Line, text string) {
	t.border.Pass(text)
	kind := noiseKind(text)
	for _, tool := range []string{"ss: ", "netstat: ", "(Not all processes", "(No info could", " will not be shown", "you would have to be root"} {
		if strings.Contains(text+" ", tool) {
			kind = "message"
		}
	}
	command := socketCommand.FindStringSubmatch(text)
	if kind == "command line" {
		t.selected, t.states, t.wanted = stateOfCommand(text), statesOfLoop(text), protocolOfCommand(text)
		t.protocol, t.command, t.begun = orElse(t.wanted, t.protocol), "", false
		if command != nil {
			t.command = command[1]
		}
		t.Command = orElse(t.Command, text[:min(len(text), maxExample)])
	}
	if kind == "other" && t.section.sort == sectionOther {
		kind = "row of another section"
	}
	if kind == "other" && (t.Form != "" || likeSocket(text)) {
		t.probs.Add(analysis.Warning, l, "a line of the socket table is not understood", line.Quote(text)+" does not begin with a protocol or a state",
			"nothing if it is no part of the table; if it is a row, the figures are lower bounds")
	}
	addSkipped(&t.Skipped, l, kind)
}

// likeSocket reports whether a line has the two lengths of queues near its beginning
// that rows of ss and netstat have, and cells after them.
func likeSocket(text string) bool {
	fields := strings.Fields(text)
	for i := 1; i < 4 && i+3 < len(fields); i++ {
		if isPlainNumber(fields[i]) && isPlainNumber(fields[i+1]) {
			return true
		}
	}
	return false
}

// figures reads a line of ss -s.
//
//	"TCP:   70 (estab 7, closed 60, orphaned 0, timewait 50)"
//	"TCP\t  10        6         4"
func (t *socketReader) figures(text string) bool {
	head, rest, colon := strings.Cut(text, ":")
	fields := strings.Fields(strings.NewReplacer("(", " ", ")", " ", ",", " ", "/", " ").Replace(rest))
	switch {
	case colon && head == "Total" && len(fields) > 0 && isPlainNumber(fields[0]):
		t.figure("sockets_used", fields[0])
	case colon && head == "TCP" && len(fields) > 2 && isPlainNumber(fields[0]):
		for i := 1; i+1 < len(fields); i++ {
			if name, ok := summaryName(fields[i]); ok {
				t.figure(name, fields[i+1])
			}
		}
	case t.Form == formSSSummary && strings.HasPrefix(text, "Transport "):
	case t.Form == formSSSummary:
		row := strings.Fields(text)
		if len(row) != 4 || !isPlainNumber(row[1]) || !isPlainNumber(row[2]) || !isPlainNumber(row[3]) {
			return false
		}
		switch row[0] {
		case "TCP", "UDP", "RAW":
			t.figure(strings.ToLower(row[0])+"_sockets", row[1])
		}
	default:
		return false
	}
	t.Form = formSSSummary
	return true
}

func summaryName(word string) (string, bool) {
	switch word {
	case "estab":
		return "tcp_established", true
	case "closed", "orphaned":
		return "tcp_" + word, true
	case "timewait":
		return "tcp_time_wait", true
	}
	return "", false
}

func (t *socketReader) figure(name, digits string) {
	n, ok := number(digits)
	if !ok {
		return
	}
	if t.Figures == nil {
		t.Figures = map[string]int64{}
	}
	t.Figures[name] = int64(n)
}

// socketProtocol is the canonical name of a socket's protocol. The address family
// shows in the name (netstat) or in the address (ss).
//
//	"tcp46" = "tcp6"   "u_str" = "unix"   "p_raw" = "packet"   "nl" = "netlink"
func socketProtocol(word string) string {
	switch word = strings.ToLower(word); word {
	case "tcp4", "udp4":
		return word[:3]
	case "tcp46", "udp46":
		return word[:3] + "6"
	case "u_str", "u_dgr", "u_seq", "stream", "dgram", "seqpacket", "seqpac":
		return "unix"
	case "p_raw", "p_dgr":
		return "packet"
	case "nl":
		return "netlink"
	case "udpl", "udpl6", "udplite6":
		return "udplite"
	case "raw6", "icm4", "icm6", "icm46", "icmp6", "icmp":
		return "raw"
	case "v_str", "v_dgr":
		return "vsock"
	}
	return word
}

// socketState is the canonical name of a state; "" for one that only means that there
// is no peer.
//
//	"CLOSE-WAIT" = "CLOSE_WAIT"   "udp", "UNCONN" = ""   "unix", "ESTAB" = "CONNECTED"
func socketState(protocol, word string) string {
	state := canonicalState(strings.ReplaceAll(strings.ToUpper(word), "-", "_"))
	tcp := strings.HasPrefix(protocol, "tcp") || protocol == "sctp" || protocol == "mptcp"
	switch {
	case state == "ESTAB":
		state = "ESTABLISHED"
	case state == "LISTENING":
		state = "LISTEN"
	case state == "SYN_RECEIVED":
		state = "SYN_RECV"
	case state == "UNCONN" && tcp:
		state = "CLOSE"
	}
	if protocol == "unix" {
		switch state {
		case "ESTABLISHED":
			return "CONNECTED"
		case "UNCONN", "":
			return "UNCONNECTED"
		}
		return state
	}
	if !tcp && (state == "UNCONN" || state == "CLOSE" || state == "7") {
		return ""
	}
	return state
}

// isSocketState recognises a word of the column State.
func isSocketState(word string) bool {
	switch canonicalState(strings.ReplaceAll(word, "-", "_")) {
	case "ESTAB", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "SYN_RECEIVED", "NEW_SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT",
		"LAST_ACK", "LISTEN", "LISTENING", "CLOSING", "UNCONN", "CONNECTED", "CONNECTING", "DISCONNECTING", "FREE", "UNKNOWN", "BOUND", "BOUND_INACTIVE":
		return true
	}
	return false
}

// nobody reports whether an address stands for no peer.
//
//	"0.0.0.0:*" "[::]:*" ":::*" "*:*" "*.*" "*"   true
func nobody(address string) bool {
	host, ok := strings.CutSuffix(strings.TrimSuffix(address, "0"), "*")
	if !ok && !strings.HasSuffix(address, ":0") {
		return false
	}
	host = strings.Trim(host, ":.[]*")
	return host == "" || strings.Trim(host, "0.:") == ""
}

// addSkipped counts a line that is no row under its kind.
func addSkipped(all *[]Skipped, l line.Line, kind string) {
	for i := range *all {
		if (*all)[i].Kind == kind {
			(*all)[i].Count++
			return
		}
	}
	*all = append(*all, Skipped{Kind: kind, Count: 1, First: l.Place(), Example: l.Text[:min(len(l.Text), maxExample)]})
}
