package tracer

import (
	"path"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// parseStack reads the frames of a stack, leaf first. Those without a name are counted as left
// out.
func parseStack(lines []string) (s analysis.Stack) {
	for _, l := range lines {
		if f, _ := parseFrame(l); f.Func != "" {
			s.Frames = append(s.Frames, f)
		} else {
			s.Elided++
		}
	}
	return s
}

// parseFrame reads a frame of strace, and the file that it is of. A frame of a library without its
// source gets the library as its file.
//
//	"/srv/confd(main.leak+0x92) [0xead12]"               main.leak of /srv/confd
//	"/srv/confd(main.leak+0x92) [0xead12] leak.go:21"    with its line (-kk)
//	"/srv/confd() [0xead12]"                             no name
func parseFrame(text string) (f analysis.Frame, module string) {
	end := strings.LastIndex(text, ") [0x")
	begin := strings.IndexByte(text, '(')
	if end < 0 || begin < 0 || begin > end {
		return f, ""
	}
	module = text[:begin]
	name := text[begin+1 : end]
	if at := strings.LastIndex(name, "+0x"); at >= 0 {
		name = name[:at]
	}
	f.Func = strings.Clone(strings.TrimSuffix(name, ".abi0"))
	_, place, _ := strings.Cut(text[end:], "] ")
	if at := strings.LastIndexByte(place, ':'); at > 0 {
		if n, err := strconv.Atoi(place[at+1:]); err == nil && n > 0 {
			f.File, f.Line = strings.Clone(place[:at]), n
			return f, module
		}
	}
	if isLibrary(module) {
		f.File = strings.Clone(module)
	}
	return f, module
}

// programOf is the name of the program that a stack is of: that of its outermost frame that is no
// library's.
func programOf(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if _, module := parseFrame(lines[i]); module != "" && !isLibrary(module) {
			return strings.Clone(path.Base(strings.TrimSuffix(module, " (deleted)")))
		}
	}
	return ""
}

// isLibrary reports the file of a shared library.
//
//	"/usr/lib/x86_64-linux-gnu/libc.so.6" "/lib/ld-linux.so.2" "/srv/x.node"    true
func isLibrary(module string) bool {
	base := path.Base(module)
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.") || strings.HasSuffix(base, ".node") || strings.HasPrefix(base, "[")
}
