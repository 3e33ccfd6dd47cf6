package family

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed plumbing.txt
var plumbingText string

//go:embed renames.txt
var renamesText string

// plumbing is the parsed list of plumbing.txt.
type plumbing struct {
	packages, trees map[string]bool
	suffixes        []string
	files, funcs    []glob
}

// glob is a pattern with one star, which matches anything but slashes.
type glob struct{ before, after string }

func globOf(text string) glob {
	before, after, _ := strings.Cut(text, "*")
	return glob{before, after}
}

func (g glob) matches(name string) bool {
	rest, ok := strings.CutPrefix(name, g.before)
	if !ok || !strings.HasSuffix(rest, g.after) {
		return false
	}
	return strings.IndexByte(rest[:len(rest)-len(g.after)], '/') < 0
}

var shippedPlumbing = sync.OnceValue(func() *plumbing { return parsePlumbing(plumbingText) })

func parsePlumbing(text string) *plumbing {
	p := &plumbing{packages: map[string]bool{}, trees: map[string]bool{}}
	for _, fields := range records(text) {
		rule := fields[0]
		switch {
		case rule == "file":
			p.files = append(p.files, globOf(fields[1]))
		case rule == "func":
			p.funcs = append(p.funcs, globOf(fields[1]))
		case strings.HasPrefix(rule, ".../"):
			p.suffixes = append(p.suffixes, strings.TrimPrefix(rule, "..."))
		case strings.HasSuffix(rule, "/..."):
			p.trees[strings.TrimSuffix(rule, "/...")] = true
		default:
			p.packages[rule] = true
		}
	}
	return p
}

// records cuts an embedded list into fields, leaving out comments.
func records(text string) [][]string {
	var out [][]string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 0 && fields[0] != "#" {
			out = append(out, fields)
		}
	}
	return out
}

// owner is the owner of a function's code.
type owner uint8

const (
	program owner = iota
	standardLibrary
	plumbed // plumbing, by its name; see generated for that by its file
)

func ownerOf(loose string) owner {
	switch {
	case standard(loose):
		return standardLibrary
	case shippedPlumbing().carries(loose):
		return plumbed
	}
	return program
}

// carries reports whether a function is plumbing by its name.
func (p *plumbing) carries(loose string) bool {
	pkg := importPath(loose)
	if p.packages[pkg] {
		return true
	}
	for tree := pkg; tree != ""; tree = parent(tree) {
		if p.trees[tree] {
			return true
		}
	}
	for _, suffix := range p.suffixes {
		if strings.HasSuffix("/"+pkg, suffix) {
			return true
		}
	}
	return matches(p.funcs, lastPart(loose))
}

// generated reports whether the functions of a file are plumbing.
func (p *plumbing) generated(file string) bool { return matches(p.files, base(file)) }

func matches(globs []glob, name string) bool {
	for _, g := range globs {
		if g.matches(name) {
			return true
		}
	}
	return false
}

// lastPart is the method or function alone.
//
//	"net/http.(*conn).serve" = "serve"
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// standard reports whether a loose name is one of the standard library: its
// first path element has no dot and is not main.
func standard(name string) bool {
	pkg := importPath(name)
	first, _, _ := strings.Cut(pkg, "/")
	return first != "main" && !strings.Contains(first, ".")
}

// machinery reports whether a function of the standard library is one of those
// that every goroutine waits in.
func machinery(name string) bool {
	switch pkg := importPath(name); pkg {
	case "runtime", "sync", "syscall", "time", "":
		return true
	default:
		return strings.HasPrefix(pkg, "internal/") || strings.HasPrefix(pkg, "runtime/internal/")
	}
}

var shippedRenames = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, fields := range records(renamesText) {
		out[fields[0]] = fields[1]
	}
	return out
})

// rename follows the catalogue of known renames.
//
//	"github.com/docker/spdystream.(*Connection).Serve" = "github.com/moby/spdystream.(*Connection).Serve"
func rename(name string) string {
	known := shippedRenames()
	if to, ok := known[name]; ok {
		return to
	}
	pkg := importPath(name)
	for old := pkg; strings.Contains(old, "/"); old = parent(old) {
		if to, ok := known[old]; ok {
			return to + name[len(old):]
		}
	}
	return name
}

// parent is the import path above.
//
//	"net/http/pprof" = "net/http"
func parent(pkg string) string { return pkg[:max(strings.LastIndexByte(pkg, '/'), 0)] }
