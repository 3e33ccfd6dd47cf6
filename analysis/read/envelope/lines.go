package envelope

import (
	"bytes"

	"leakdiff/analysis"
)

// trim takes blanks off both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	return b
}

// header is what a goroutine header reveals about the dump around it.
type header struct {
	id      int64
	running bool
	// waited is true if it says how long the goroutine has waited.
	waited bool
	// system is true if it shows addresses, as only crashes do.
	system bool
}

// readHeader reads a line that is a goroutine header and nothing else.
//
//	"goroutine 171 [running]:"                        {171, true, false}
//	"goroutine 0 gp=0xa6e0e0 m=0 mp=0xa6f2c0 [idle]:" {0, false, true}
func readHeader(t []byte) (h header, ok bool) {
	if !bytes.HasPrefix(t, []byte(headerWord)) || !isMarker(t, 0) || t[len(t)-1] != ':' {
		return h, false
	}
	rest := t[len(headerWord):]
	for rest[0]-'0' < 10 {
		h.id = h.id*10 + int64(rest[0]-'0')
		rest = rest[1:]
	}
	h.system = rest[1] == 'g'
	if i := bytes.IndexByte(rest, '['); i >= 0 {
		h.running = bytes.HasPrefix(rest[i:], []byte("[running"))
		h.waited = bytes.Contains(rest[i:], []byte(" minutes"))
	}
	return h, true
}

// isDumpLine reports whether a line can only be one of a goroutine's block or of what
// the runtime prints around them. It may be false for rare ones (a function of gccgo
// has no parentheses); those are accepted inside a block.
func isDumpLine(t []byte, indented bool) bool {
	switch t[0] {
	case 'c':
		if bytes.HasPrefix(t, []byte("created by ")) {
			return true
		}
	case '.':
		if bytes.HasPrefix(t, []byte("...")) {
			return true
		}
	case '[':
		return bytes.HasPrefix(t, []byte("[originating from goroutine ")) || bytes.HasPrefix(t, []byte("[signal "))
	case 'g':
		if bytes.HasPrefix(t, []byte(headerWord)) && bytes.HasSuffix(t, []byte("stack unavailable")) {
			return true
		}
	case '-':
		return bytes.HasPrefix(t, []byte("-----"))
	case 'P', 'r', 'n', 'e', 'p', 'W':
		for _, word := range []string{"PC=", "WARNING: DATA RACE", "runtime stack:", "non-Go function", "exit status ", "pc=0x"} {
			if bytes.HasPrefix(t, []byte(word)) {
				return true
			}
		}
	}
	return t[len(t)-1] == ')' && isFunction(t) || isPlace(t, indented) || isRegister(t)
}

// isFunction reports whether a line is a call without a blank in its name.
//
//	"main.(*T[...]).run(0xc000010000, {0x1?, 0x2?})" -> true
//	"closing (client went away)"                     -> false
func isFunction(t []byte) bool {
	i := bytes.IndexByte(t, '(')
	for i > 0 && t[i-1] == '.' {
		j := bytes.IndexByte(t[i+1:], '(')
		if j < 0 {
			return false
		}
		i += j + 1
	}
	return i > 0 && bytes.IndexByte(t[:i], ' ') < 0
}

// isPlace reports whether a line is a file and a line number. Without indentation
// a path with blanks is taken for something else.
//
//	"/src/pool.go:42 +0x1d fp=0xc000047790 sp=0xc000047718 pc=0x40841c" -> true
//	"runtime/proc.go:462"                                               -> true
func isPlace(t []byte, indented bool) bool {
	for {
		i := len(t)
		for i > 0 && t[i-1]-'0' < 10 {
			i--
		}
		if i < len(t) && i > 1 && t[i-1] == ':' {
			return indented || bytes.IndexByte(t, ' ') < 0
		}
		i = bytes.LastIndexByte(t, ' ')
		if i < 0 || !isOffset(t[i+1:]) {
			return bytes.HasSuffix(t, []byte(":?")) && i < 0
		}
		t = t[:i]
	}
}

// isOffset knows "+0x1d", "fp=0x1", "sp=0x1" and "pc=0x1".
func isOffset(b []byte) bool {
	i := bytes.Index(b, []byte("0x"))
	return i == 1 && b[0] == '+' || i == 3 && b[2] == '='
}

// isRegister knows a line of the register block at the end of a crash.
//
//	"rax    0xca" -> true
func isRegister(t []byte) bool {
	if len(t) > 32 {
		return false
	}
	name, value, ok := bytes.Cut(t, []byte(" "))
	return ok && len(name) <= 8 && bytes.HasPrefix(bytes.TrimLeft(value, " "), []byte("0x"))
}

// isOpener knows the first line of a crash (runtime/panic.go, runtime/signal_unix.go).
// A signal shows all goroutines, a panic perhaps one.
//
//	"SIGQUIT: quit"                        opener, signal
//	"panic: boom"                          opener
//	"fatal error: all goroutines asleep"   opener
//	"SIGTERM: draining connections"        neither
func isOpener(t []byte) (opener, signal bool) {
	if len(t) == 0 {
		return false, false
	}
	switch t[0] {
	case 'p':
		return bytes.HasPrefix(t, []byte("panic: ")), false
	case 'f':
		return bytes.HasPrefix(t, []byte("fatal error: ")), false
	case 'S':
		name, _, ok := bytes.Cut(t[:min(len(t), 16)], []byte(": "))
		signal = ok && len(name) >= 5 && string(name[:3]) == "SIG" && len(bytes.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")) == 0 && analysis.ShowsGoroutines(string(name))
		return signal, signal
	}
	return false, false
}

// isLogLine reports whether a line begins as those of a log do, and no line of a
// dump.
//
//	"I1121 02:58:36.123456       1 kubelet.go:12] \"text\""
//	"time=\"2026-11-21T03:02:56Z\" level=info msg=text"
//	"{\"level\":\"info\"}"
func isLogLine(t []byte) bool {
	switch c := t[0]; {
	case c == 't' || c == 'l':
		return bytes.HasPrefix(t, []byte("time=")) || bytes.HasPrefix(t, []byte("ts=")) || bytes.HasPrefix(t, []byte("level="))
	case c == '{':
		return len(t) > 1 && t[1] == '"'
	case c == 'I' || c == 'W' || c == 'E' || c == 'F':
		if _, _, ok := klogStamp(t); ok {
			return true
		}
	case c == '[':
		if end := bytes.IndexByte(t[:min(len(t), 12)], ']'); end > 0 && isLevel(t[:end+1]) {
			return true
		}
	}
	return cutStamp(t) > 0
}

// inner is the prefix that the program's own logger put before a dump: at its
// first line only (klog, which prints a text of many lines raw) or at each.
type inner struct {
	template []byte
	stamp    int // length of the one that the template begins with
	mode     innerMode
}

// newInner takes the prefix of the first line.
func newInner(prefix []byte, mode innerMode) inner {
	return inner{template: bytes.Clone(prefix), stamp: cutStamp(prefix), mode: mode}
}

type innerMode int

const (
	innerNone innerMode = iota
	innerUndecided
	innerFirst
	innerEach
)

// cut takes the prefix off a line. Numbers and runs of blanks may differ from
// those of the first line, and so may its stamp.
func (in *inner) cut(b []byte) ([]byte, bool) {
	t := in.template
	if in.stamp > 0 {
		m := cutStamp(b)
		if m == 0 {
			return nil, false
		}
		t, b = t[in.stamp:], b[m:]
	}
	// The last blanks are as they were: what follows may be indented.
	end := len(t)
	for end > 0 && t[end-1] <= ' ' {
		end--
	}
	i := 0
	for j := 0; j < end; {
		if i == len(b) {
			return nil, false
		}
		switch c := t[j]; {
		case c-'0' < 10 && b[i]-'0' < 10:
			j, i = j+run(t[j:end], isDigit), i+run(b[i:], isDigit)
		case c <= ' ' && b[i] <= ' ':
			j, i = j+run(t[j:end], isBlank), i+run(b[i:], isBlank)
		case c == b[i]:
			i++
			j++
		default:
			return nil, false
		}
	}
	if i == len(b) && end > 0 {
		return b[i:], true // the blank at its end was lost
	}
	if !bytes.HasPrefix(b[i:], t[end:]) {
		return nil, false
	}
	return b[i+len(t)-end:], true
}

func isDigit(c byte) bool { return c-'0' < 10 }
func isBlank(c byte) bool { return c <= ' ' }

func run(b []byte, test func(byte) bool) int {
	n := 0
	for n < len(b) && test(b[n]) {
		n++
	}
	return n
}

// name is the prefix in words for a reason.
func (in *inner) name() string {
	t := in.template
	_, _, klog := klogStamp(bytes.TrimLeft(t, " \t"))
	switch {
	case len(t) == 0:
		return ""
	case len(trim(t)) == 0:
		return "indented"
	case klog:
		return "klog"
	case in.stamp > 0 && len(trim(t)) == in.stamp:
		return "time stamps"
	case in.stamp > 0 || isLogLine(t):
		return "log prefix"
	}
	return "constant prefix"
}
