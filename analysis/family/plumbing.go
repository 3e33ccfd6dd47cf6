package family

import (
	_ "embed"
	"path"
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
	files, funcs    []string
}

var shippedPlumbing = sync.OnceValue(func() *plumbing { return parsePlumbing(plumbingText) })

func parsePlumbing(text string) *plumbing {
	p := &plumbing{packages: map[string]bool{}, trees: map[string]bool{}}
	for _, fields := range records(text) {
		rule := fields[0]
		switch {
		case rule == "file":
			p.files = append(p.files, fields[1])
		case rule == "func":
			p.funcs = append(p.funcs, fields[1])
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

// carries reports whether a function is plumbing.
func (p *plumbing) carries(f function) bool {
	pkg := importPath(f.loose)
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
	return matches(p.files, base(f.file)) || matches(p.funcs, lastPart(f.loose))
}

func matches(globs []string, name string) bool {
	for _, glob := range globs {
		if ok, _ := path.Match(glob, name); ok {
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
