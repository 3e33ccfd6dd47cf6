package detect

import (
	"bytes"
	"strconv"
	"strings"
)

// usualFDInfo recognises the files of which a capture has tens of thousands, with the
// result of all other tests, in one walk over their bytes: a number for a name, the
// lines that the kernel prints and nothing else. Any other file is left to the tests.
//
//	"pos:\t0\nflags:\t02004000\nmnt_id:\t15\nino:\t1060\n"
func usualFDInfo(h Head) (Result, bool) {
	if !h.Whole || h.Link != "" || !isNumber(h.Path[strings.LastIndexByte(h.Path, '/')+1:]) {
		return no()
	}
	pos, rest, _ := bytes.Cut(h.Bytes, []byte("\n"))
	flags, rest, _ := bytes.Cut(rest, []byte("\n"))
	if !decimalBehind(pos, "pos:\t") || !decimalBehind(flags, "flags:\t0") {
		return no()
	}
	watches := 0
	for n := 2; len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		fields, isWatch := bytes.CutPrefix(line, []byte("inotify wd:"))
		switch {
		case n == maxLines || len(line) > maxLine:
			return no()
		case isWatch && isWatchLine(fields):
			watches++
		case !decimalBehind(line, "mnt_id:\t") && !decimalBehind(line, "ino:\t"):
			return no()
		}
	}
	if watches > 0 {
		return high(FDInfo, "it begins with pos and flags; "+strconv.Itoa(watches)+" inotify or fanotify lines follow")
	}
	return high(FDInfo, "it begins with pos and flags")
}

// decimalBehind reports whether a line is a word and digits. The line of flags may have
// none after the leading 0.
func decimalBehind(line []byte, word string) bool {
	if len(line) < len(word) || string(line[:len(word)]) != word {
		return false
	}
	digits := line[len(word):]
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(digits) > 0 || word[len(word)-1] == '0'
}

// isWatchLine accepts what follows "inotify wd:": hex, then fields of a key and hex.
//
//	"1e ino:1 sdev:16 mask:20 ignored_mask:0 fhandle-bytes:c fhandle-type:81 f_handle:0100"
func isWatchLine(fields []byte) bool {
	hex := 0
	for hex < len(fields) && isHexDigit(fields[hex]) {
		hex++
	}
	fields, ok := bytes.CutPrefix(fields[hex:], []byte(" ino:"))
	if hex == 0 || !ok {
		return false
	}
	inValue := true
	for _, c := range fields {
		switch {
		case c == ' ' && inValue:
			inValue = false
		case c == ':' && !inValue:
			inValue = true
		case inValue && isHexDigit(c):
		case !inValue && (c >= 'a' && c <= 'z' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

func isHexDigit(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
