package lsof

import (
	"strconv"
	"strings"
)

// setFD reads an FD cell of a table: number, access and lock, or a word. The man
// page lists more words than any one system prints; all are taken.
//
//	"4uW"     FD 4, Access "u", IsDescriptor
//	"*614u"   FD -1, Star, Access "u", IsDescriptor
//	"cwd"     FD -1
func (r *Row) setFD(cell string) {
	r.FDText, r.FD = cell, -1
	rest, star := strings.CutPrefix(cell, "*")
	digits := rest[:countDigits(rest)]
	rest = rest[len(digits):]
	if digits == "" || len(rest) > 2 {
		return
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return
	}
	r.IsDescriptor, r.Star = true, star
	if !star {
		r.FD = int(n)
	}
	if rest != "" && strings.IndexByte("rwu", rest[0]) >= 0 {
		r.Descriptor.Access = rest[:1]
	}
}

// setPlainFD is setFD for the cells that nearly all rows have, a number of at most
// nine digits with an access mode: false for any other.
func (r *Row) setPlainFD(cell string) bool {
	last := len(cell) - 1
	if last < 1 || last > 9 {
		return false
	}
	switch cell[last] {
	case 'r', 'w', 'u':
	default:
		return false
	}
	n := 0
	for i := range last {
		digit := cell[i] - '0'
		if digit > 9 {
			return false
		}
		n = n*10 + int(digit)
	}
	r.FDText, r.FD, r.IsDescriptor = cell, n, true
	r.Descriptor.Access = cell[last:]
	return true
}

// isFD reports whether a token can stand in the FD column.
//
//	"4uW" "1015r" "4" "*614u" "cwd" "NOFD"   true
//	"root" "0t0" "4ux9"                      false
func isFD(token string) bool {
	if token != "" && token[0] > '9' && isWordFD(token) {
		return true
	}
	token = strings.TrimPrefix(token, "*")
	n := countDigits(token)
	if n == 0 || n > 10 || len(token)-n > 2 {
		return false
	}
	for i, c := range []byte(token[n:]) {
		access := strings.IndexByte("rwu-", c) >= 0
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if i == 0 && !access && !letter || i == 1 && !letter {
			return false
		}
	}
	return token[n:] != "t" // an offset lost its number
}

// isWordFD reports whether lsof prints a word where others have a number; a locked file
// has its lock after the word as well.
//
//	"mem" "mem-W" "NOFD"   true
func isWordFD(token string) bool {
	if i := len(token) - 2; i >= 3 && token[i] == '-' {
		token = token[:i]
	}
	switch token {
	case "cwd", "rtd", "txt", "mem", "DEL", "NOFD", "err", "unk", "mmap", "ltx", "twd", "pd", "tr", "jld", "m86", "v86", "ctty", "fp.":
		return true
	}
	return len(token) == 3 && (token[0] == 'L' || token[0] == 'M') && countDigits(token[1:]) == 2
}

// countDigits counts the decimal digits at the beginning.
func countDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// unescape undoes what lsof's safestrprt does to a command.
//
//	`zoo\x20(a`   "zoo (a"
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		if s[i+1] == 'x' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				out.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		if j := strings.IndexByte(`bfnrt\`, s[i+1]); j >= 0 {
			out.WriteByte("\b\f\n\r\t\\"[j])
			i++
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
