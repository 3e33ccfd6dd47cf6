package lsof

import (
	"strconv"
	"strings"
)

// excerpt reads a row without its header. The pid is the first number after the
// command. FD is the first token after a user that looks like one and precedes a type.
// The form of DEVICE, SIZE/OFF and NODE shows which of them are there.
//
//	"kube-prox 23746      root *614u  IPv4 42992070      0t0  TCP 10.132.0.1:34014->.."
//	"container  5747 25760 container  root *040u  a_inode  0,13  0  9259 [eventfd]"
func excerpt(text string, row *Row) bool {
	toks := tokens(text, 24)
	word := func(i int) string { return text[toks[i].start:toks[i].end] }
	pid := 1
	for pid < len(toks) && !isPID(word(pid)) {
		pid++
	}
	if pid >= len(toks) {
		return false
	}
	fd := pid + 2
	for fd < len(toks) && (!isFD(word(fd)) || !typeFollows(text, toks, fd)) {
		fd++
	}
	if fd >= len(toks) || fd-pid > 6 {
		return false
	}
	row.Command = text[toks[0].start:toks[pid-1].end]
	row.PID, _ = strconv.Atoi(word(pid))
	row.User = word(fd - 1)
	if fd-pid > 2 && isPID(word(pid+1)) {
		row.TID, _ = strconv.Atoi(word(pid + 1))
	}
	if fd-pid > 3 {
		row.TaskCommand = text[toks[pid+2].start:toks[fd-2].end]
	}
	row.setFD(word(fd))
	rest := toks[fd+1:]
	if row.FDText != "NOFD" {
		row.Type = word(fd + 1)
		rest = rest[1:]
	}
	row.numbers(text, rest)
	return true
}

// isPID reports whether a token is a plain number that a pid can be.
func isPID(s string) bool {
	return s != "" && len(s) <= 9 && countDigits(s) == len(s)
}

// typeFollows reports whether the token after an FD is a TYPE. That separates "1000
// 436u IPv4" from "436u IPv4", and a row of ps from one of lsof.
func typeFollows(text string, toks []token, fd int) bool {
	if fd+1 >= len(toks) {
		return false
	}
	next := text[toks[fd+1].start:toks[fd+1].end]
	if text[toks[fd].start:toks[fd].end] == "NOFD" {
		return strings.HasPrefix(next, "/")
	}
	return isType(next)
}

// isType recognises TYPE: one of the words that are not in capitals, the mode 0000
// that old releases print for anonymous inodes, or capitals.
//
//	"REG" "a_inode" "0000" "KQUEUE"   true
//	"Nov21" "436u" "DEL"              false
func isType(s string) bool {
	switch s {
	case "unix", "IPv4", "IPv6", "inet", "sock", "raw", "raw6", "pack", "netlink", "a_inode", "unknown", "rte", "x.25", "ax25", "sctp", "0000":
		return true
	}
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return len(s) >= 3 && len(s) <= 10 && s[0] >= 'A' && !isWordFD(s)
}

// numbers reads the cells after TYPE. A lone plain number is NODE, except for pipes of
// macOS, which have a size only.
//
//	"254,0     4096   11053482 /srv"   Device, Size, Node, NAME
//	"0t0     314897 00000000:0001->"   Size, Node, NAME
//	"count=0, state=0xa"               NAME
func (r *Row) numbers(text string, toks []token) {
	word := func() string { return text[toks[0].start:toks[0].end] }
	if len(toks) > 0 && isFileFlag(word()) {
		r.Flags, toks = word(), toks[1:]
	}
	if len(toks) > 0 && r.isDevice(word()) {
		r.Device, toks = word(), toks[1:]
	}
	var cells []string
	for len(toks) > 0 && len(cells) < 3 && (isSize(word()) || r.isProtocol(word())) {
		cells, toks = append(cells, word()), toks[1:]
		if r.isProtocol(cells[len(cells)-1]) {
			break
		}
	}
	switch n := len(cells); {
	case n == 3:
		r.Size, r.Links, r.Node = cells[0], cells[1], cells[2]
	case n == 2:
		r.Size, r.Node = cells[0], cells[1]
	case n == 1 && (r.Type == "PIPE" || strings.HasPrefix(cells[0], "0t") || strings.HasPrefix(cells[0], "0x")):
		r.Size = cells[0]
	case n == 1:
		r.Node = cells[0]
	}
	if len(toks) > 0 {
		r.NameText = text[toks[0].start:]
	}
}

// isFileFlag recognises the cell of +fg.
//
//	"RW,LG" "PATH" "W"   true
func isFileFlag(s string) bool {
	for flag := range strings.SplitSeq(s, ",") {
		switch flag {
		case "R", "W", "RW", "AP", "ASYN", "CX", "DIR", "DTY", "LG", "ND", "NOFO", "PATH", "SYN", "TMPF", "TR":
		default:
			return false
		}
	}
	return true
}

// isDevice recognises DEVICE: major,minor, an address, or the inode of an IP socket.
func (r *Row) isDevice(s string) bool {
	if colonDevice(s) != "" || strings.HasPrefix(s, "0x") {
		return true
	}
	return (r.Type == "IPv4" || r.Type == "IPv6" || r.Type == "pack") && isPlainNumber(s)
}

// isProtocol recognises the NODE of an IP or packet socket.
func (r *Row) isProtocol(s string) bool {
	if r.Type == "pack" {
		return s == "ALL" || s == "IP"
	}
	return (r.Type == "IPv4" || r.Type == "IPv6") && (s == "TCP" || s == "UDP" || strings.HasPrefix(s, "ICMP") || s == "UDPLITE")
}

// isSize recognises SIZE/OFF and numeric NODE cells.
//
//	"4096" "0t0" "0x12a05f200"   true
func isSize(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		_, err := strconv.ParseUint(hex, 16, 64)
		return err == nil
	}
	return isPlainNumber(strings.TrimPrefix(s, "0t"))
}

func isPlainNumber(s string) bool { return s != "" && countDigits(s) == len(s) }
