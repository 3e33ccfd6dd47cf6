package source

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

const (
	// Around is the number of lines before and after a statement.
	Around = 5
	// mostSize is the size of a file that is read, mostWidth the characters of a line that
	// are shown.
	mostSize  = 4 << 20
	mostWidth = 300
)

// Tree finds files of Go source in directories of the reader: module caches and checkouts.
// The file systems must not leave their directories, as those of an os.Root do not. A nil
// tree has no directory.
type Tree struct{ roots []fs.FS }

func NewTree(roots ...fs.FS) *Tree { return &Tree{roots} }

// Excerpt is a statement with the lines around it.
type Excerpt struct {
	// Path is that of the file below its directory.
	Path string
	// First is the number of the first line, Line that of the statement.
	First, Line int
	Lines       []string
}

// Start returns the go statement of a creator of goroutines with the lines around it. Where
// the tree has none, missing says why in one sentence. Both are empty without directories
// and for frames without a Go file.
func (t *Tree) Start(creator analysis.Frame) (e *Excerpt, missing string) {
	if t == nil || len(t.roots) == 0 || creator.Line < 1 {
		return nil, ""
	}
	file, ok := clean(creator.File)
	if !ok || !strings.HasSuffix(file, ".go") {
		return nil, ""
	}
	base := path.Base(file)
	root, name := t.find(file)
	if root == nil {
		return nil, fmt.Sprintf("The source directories have no %s.", base)
	}
	text, err := read(root, name)
	if err != nil {
		return nil, fmt.Sprintf("%s could not be read in the source directories.", base)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if creator.Line > len(lines) {
		return nil, fmt.Sprintf("%s ends before line %d in the source directories.", base, creator.Line)
	}
	if !startsGoroutine(lines, creator.Line) || guessed(file, name) && !declares(text, creator.Func) {
		return nil, fmt.Sprintf("Line %d of %s starts no goroutine in the source directories: that is another version.", creator.Line, base)
	}
	e = &Excerpt{Path: name, First: max(creator.Line-Around, 1), Line: creator.Line}
	for _, line := range lines[e.First-1 : min(creator.Line+Around, len(lines))] {
		e.Lines = append(e.Lines, cut(strings.TrimSuffix(line, "\r")))
	}
	return e, ""
}

// Find returns the directory that has the file of a path, by its number, and the path there;
// -1 if none has.
func (t *Tree) Find(file string) (root int, name string) {
	if t == nil {
		return -1, ""
	}
	file, ok := clean(file)
	if !ok {
		return -1, ""
	}
	found, name := t.find(file)
	for i := range t.roots {
		if found != nil && t.roots[i] == found {
			return i, name
		}
	}
	return -1, ""
}

// find chooses the file of a path. In a module cache it is the path there; in a checkout the
// longest end of the path that exists. An end that several directories have is passed over.
func (t *Tree) find(file string) (fs.FS, string) {
	for _, name := range candidates(file) {
		var found fs.FS
		several := false
		for _, root := range t.roots {
			if info, err := fs.Stat(root, name); err == nil && info.Mode().IsRegular() {
				several = found != nil
				found = root
			}
		}
		if found != nil && !several {
			return found, name
		}
	}
	return nil, ""
}

// candidates are the paths below a source directory that may be those of a file, the
// likeliest first. A file of a versioned module is either in a module cache, or vendored,
// or a file of the checkout of that module.
//
//	"/go/pkg/mod/github.com/x/y@v1.2.3/z/w.go" = "github.com/x/y@v1.2.3/z/w.go",
//	  "vendor/github.com/x/y/z/w.go", "z/w.go"
//	"/srv/app/cmd/main.go" = "srv/app/cmd/main.go", "app/cmd/main.go", "cmd/main.go", "main.go"
func candidates(file string) (out []string) {
	if m, ok := moduleOf(file); ok {
		name, inner := strings.Join(m.path, "/"), strings.Join(m.file, "/")
		return valid(cachedName(name)+"@"+cachedName(m.version)+"/"+inner, "vendor/"+name+"/"+inner, inner)
	}
	const cache = "/pkg/mod/"
	if at := strings.LastIndex(file, cache); at >= 0 {
		// Go itself, and modules with names that no address has.
		return valid(file[at+len(cache):])
	}
	elements := strings.Split(strings.TrimPrefix(file, "/"), "/")
	if !strings.HasPrefix(file, "/") && strings.Contains(elements[0], ".") && len(elements) > 1 {
		out = valid("vendor/" + file) // a build with -trimpath prints import paths
	}
	for i := range elements {
		out = append(out, valid(strings.Join(elements[i:], "/"))...)
	}
	return out
}

func valid(names ...string) (out []string) {
	for _, name := range names {
		// A file or folder with a dot in front is hidden from a listing, and from a dump.
		hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
		if fs.ValidPath(name) && strings.HasSuffix(name, ".go") && !hidden && !strings.ContainsAny(name, "\x00\\:") {
			out = append(out, name)
		}
	}
	return out
}

// cachedName is how a module cache writes a name: "Azure" = "!azure".
func cachedName(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('!')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// read reads a regular file of at most mostSize bytes.
func read(root fs.FS, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > mostSize {
		return "", fs.ErrInvalid
	}
	text, err := io.ReadAll(io.LimitReader(f, mostSize+1))
	if err != nil {
		return "", err
	}
	if len(text) > mostSize || bytes.IndexByte(text, 0) >= 0 {
		return "", fs.ErrInvalid
	}
	return string(text), nil
}

var goStatement = expression.Lazy(`(?:^|[\s;{:])go\s`)

// startsGoroutine reports a go statement in a line, or in those next to it: a statement of
// several lines has one number. Libraries also hide it, as errgroup and WaitGroup.Go do,
// but their creator is the library.
func startsGoroutine(lines []string, line int) bool {
	for _, text := range lines[max(line-3, 0):min(line+2, len(lines))] {
		code, _, _ := strings.Cut(text, "//")
		if goStatement.MatchString(code) {
			return true
		}
	}
	return false
}

// guessed reports a file that was found by its path inside a module of a version, without
// the name of the module: it may be that of any checkout.
func guessed(file, name string) bool {
	m, ok := moduleOf(file)
	return ok && name == strings.Join(m.file, "/")
}

// declares reports that a file declares the function that a name is of or within.
//
//	"example.com/app/pool.(*Pool[...]).Start.func1" = func (p *Pool[T]) Start(
func declares(text, function string) bool {
	function = strings.ReplaceAll(function, "[...]", "")
	name := function[strings.LastIndexByte(function, '/')+1:]
	if receiver := strings.LastIndex(name, ")."); receiver >= 0 {
		name = name[receiver+2:]
	} else if _, name, _ = strings.Cut(name, "."); name == "" {
		return false
	}
	name, _, _ = strings.Cut(name, ".func")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:] // of a receiver that is no pointer
	}
	return name != "" && regexp.MustCompile(`(?m)^func (?:\([^()]*\) )?`+regexp.QuoteMeta(name)+`[(\[]`).MatchString(text)
}

// cut shortens a long line.
func cut(line string) string {
	if utf8.RuneCountInString(line) <= mostWidth {
		return line
	}
	return string([]rune(line)[:mostWidth-1]) + "…"
}
