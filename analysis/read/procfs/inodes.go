package procfs

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Bounds of one inode list.
const (
	maxInodes     = 1 << 20
	maxInodeBytes = 64 << 20
)

// Inodes are paths with their inode numbers, as a listing of files gave them. The
// same number may stand for several paths: one per file system, or hard links.
type Inodes struct {
	entries []inodeEntry
	text    []byte
	// Partial is true if the list was cut or is longer than the bound: a number that is
	// not in it proves nothing.
	Partial bool
}

// inodeEntry is a slice of Inodes.text.
type inodeEntry struct {
	inode  uint64
	offset uint32
	length uint32
}

// Len is the number of paths.
func (x *Inodes) Len() int { return len(x.entries) }

// All yields inode numbers with their paths, in the order of the list.
func (x *Inodes) All() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for _, e := range x.entries {
			if !yield(e.inode, string(x.text[e.offset:e.offset+e.length])) {
				return
			}
		}
	}
}

// ParseInodes reads lists of inode numbers and paths: find -printf '%i %p\n',
// ls -di, stat -c '%i %n', find -ls, and "ncheck" of debugfs, whose paths begin at
// the root of its file system. The error is that of r only.
func ParseInodes(r io.Reader, path string) (Inodes, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var list Inodes
	for l := range in.All() {
		text := strings.TrimSpace(l.Text)
		if text == "" || strings.HasPrefix(text, "debugfs ") || text == "Inode\tPathname" {
			continue
		}
		inode, name, ok := inodeLine(l.Text)
		switch {
		case !l.Ended && ok:
			list.Partial = true // the path may have lost its end
			probs.Add(analysis.Note, l, "the last path is cut off", "the file ends without a line end", "take the list again")
			continue
		case strings.HasPrefix(text, "find: "), strings.HasPrefix(text, "ls: "):
			list.Partial = true
			probs.Add(analysis.Note, l, "find could not list everything", line.Quote(text), "nothing: an inode that is not in the list proves nothing")
			continue
		case !ok:
			probs.Add(analysis.Note, l, "a line of the inode list is not understood", line.Quote(text)+" is no inode number with a path",
				"nothing: the other lines were read")
			continue
		}
		if !list.add(inode, name) {
			list.Partial = true
			probs.Add(analysis.Warning, l, "the inode list is too long", "only the first "+strconv.Itoa(list.Len())+" paths are kept",
				"list one file system only (find -xdev)")
			break
		}
	}
	err := in.Failure(path)
	list.Partial = list.Partial || err != nil
	return list, probs.All(), err
}

func (x *Inodes) add(inode uint64, name string) bool {
	if len(x.entries) >= maxInodes || len(x.text)+len(name) > maxInodeBytes {
		return false
	}
	x.entries = append(x.entries, inodeEntry{inode, uint32(len(x.text)), uint32(len(name))})
	x.text = append(x.text, name...)
	return true
}

// inodeLine reads one line. find -ls has nine columns between inode and path.
//
//	"258855\t/etc/srv/ca.crt"                                      258855, "/etc/srv/ca.crt"
//	" 77 4 drwxr-xr-x 3 root root 4096 Nov 21 02:57 /sys/fs/cgroup"  77, "/sys/fs/cgroup"
func inodeLine(text string) (inode uint64, name string, ok bool) {
	digits, rest := leadingDigits(strings.TrimLeft(text, " \t"))
	inode, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return 0, "", false
	}
	name = strings.TrimLeft(rest, " \t")
	if fields := strings.Fields(name); len(fields) >= 10 && len(fields[1]) >= 10 && strings.IndexByte("-dlcbps", fields[1][0]) >= 0 {
		name = pathBehind(name, 9)
		name, _, _ = strings.Cut(name, " -> ")
	}
	return inode, clip(name), strings.HasPrefix(name, "/") || strings.HasPrefix(name, "./") || name == "."
}
