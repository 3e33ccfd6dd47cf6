package bundle

import (
	"hash/maphash"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPath is how long a display path's own part may be, in bytes; tar allows a
// name of 1 MiB.
const maxPath = 1024

// cleanPath makes a display path of a name from an archive or command line. The path is
// for display and keys only; nothing is ever written to it.
//
//	"./proc/1/fd/7"   = "proc/1/fd/7"
//	"../../up.txt"    = "up.txt"
//	"C:\\logs\\a.txt" = "C/logs/a.txt"
//	"a\x00b"          = "a\uFFFDb"
func cleanPath(name string) string {
	if isClean(name) {
		return name
	}
	name = strings.ReplaceAll(name, `\`, "/")
	if len(name) >= 2 && name[1] == ':' && isLetter(name[0]) {
		name = name[:1] + "/" + name[2:]
	}
	var kept []string
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			continue
		}
		kept = append(kept, cleanPart(part))
	}
	for i := 0; i < len(kept)-1; i++ {
		// "!/" marks the members of an archive; a directory must not fake it.
		if bare, ok := strings.CutSuffix(kept[i], "!"); ok {
			kept[i] = bare + "_"
		}
	}
	path := strings.Join(kept, "/")
	if path == "" {
		return "unnamed"
	}
	return shorten(path, maxPath)
}

// isClean reports whether a name of printable ASCII is its own display path, as
// nearly all are.
func isClean(name string) bool {
	if name == "" || len(name) > maxPath {
		return false
	}
	begin := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c >= 0x7f || c == '\\' || c == ':':
			return false
		case c == '/':
			if part := name[begin:i]; part == "" || part[0] == '.' || part[len(part)-1] == '!' {
				return false
			}
			begin = i + 1
		}
	}
	last := name[begin:]
	return last != "" && last[0] != '.'
}

func cleanPart(part string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) || r == '\u2028' || r == '\u2029' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(part, "\uFFFD"))
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// shorten cuts the middle out of a path: the beginning names the owner, the end the
// file.
func shorten(path string, limit int) string {
	if len(path) <= limit {
		return path
	}
	front, back := limit/2, len(path)-limit/2+len("…")
	for !utf8.RuneStart(path[front]) {
		front--
	}
	for !utf8.RuneStart(path[back]) {
		back++
	}
	return path[:front] + "…" + path[back:]
}

// names keeps members of one name apart. It holds hashes: 200,000 names of
// 1 KiB would be too much to keep.
type names struct {
	seed maphash.Seed
	seen map[uint64]int
}

func newNames() names { return names{seed: maphash.MakeSeed(), seen: map[uint64]int{}} }

// take reserves a path: the second "dup.txt" becomes "dup.txt (2)".
func (n names) take(path string) string {
	key := maphash.String(n.seed, path)
	before := len(n.seen)
	n.seen[key]++
	if len(n.seen) > before {
		return path
	}
	for ; ; n.seen[key]++ {
		next := path + " (" + strconv.Itoa(n.seen[key]) + ")"
		if k := maphash.String(n.seed, next); n.seen[k] == 0 {
			n.seen[k] = 1
			return next
		}
	}
}
