package bundle

import (
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FromFS lists the regular files and symbolic links below fsys in natural order
// (t2 before t10), as inputs named prefix + "/" + path. Links are not followed;
// devices, pipes and sockets are left out, for opening them may never return. A
// directory that cannot be listed becomes an input that cannot be opened.
func FromFS(fsys fs.FS, prefix string) ([]Input, error) {
	var out []Input
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil && name == "." {
			return err
		}
		in := Input{Name: path.Join(prefix, name), Size: -1, Open: func() (io.ReadCloser, error) { return fsys.Open(name) }}
		switch {
		case err != nil:
			in.Open = func() (io.ReadCloser, error) { return nil, err }
		case d.Type()&fs.ModeSymlink != 0:
			target, err := fs.ReadLink(fsys, name)
			if err != nil {
				in.Open = func() (io.ReadCloser, error) { return nil, err }
			}
			in.Link = target
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err == nil {
			in.Size, in.ModTime = info.Size(), info.ModTime()
		}
		out = append(out, in)
		return nil
	})
	slices.SortStableFunc(out, func(a, b Input) int { return compareNatural(a.Name, b.Name) })
	return out, err
}

// compareNatural orders paths as people do: directory by directory, runs of
// digits by their value ("t2/x" before "t10/a").
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		partA, restA, _ := strings.Cut(a, "/")
		partB, restB, _ := strings.Cut(b, "/")
		if c := compareParts(partA, partB); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

func compareParts(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		runA, restA := run(a)
		runB, restB := run(b)
		if c := compareRuns(runA, runB); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	if a != b {
		return cmp.Compare(len(a), len(b))
	}
	return whole
}

// run splits off the leading digits, or the text before the next digits: "t10-x"
// becomes "t" and "10-x".
func run(s string) (string, string) {
	i := 1
	for i < len(s) && isDigit(s[i]) == isDigit(s[0]) {
		i++
	}
	return s[:i], s[i:]
}

func compareRuns(a, b string) int {
	if isDigit(a[0]) && isDigit(b[0]) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		if c := cmp.Compare(len(a), len(b)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
