package main

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// frame is a function as a signature names it. An empty path stands for every package, an empty
// function for every function of the package. Open ones are beginnings of names.
type frame struct {
	path, function string
	open           bool
}

var (
	closures      = regexp.MustCompile(`(\.(func|gowrap|deferwrap)?\d+|\.func|-fm)+$`)
	typeArguments = regexp.MustCompile(`\[[^\]]*\]`)
	// hidden are the elements of an import path that are not compared.
	hidden = regexp.MustCompile(`^(internal|v\d+)$`)
)

// parseFrame reads a function of a signature. Closures stand for the function around them.
//
//	"k8s.io/x/vendor/example.org/a/v2.(*T[...]).run.func1.2" = example.org/a/v2, (*T).run
func parseFrame(text string) frame {
	if at := strings.LastIndex(text, "/vendor/"); at >= 0 {
		text = text[at+len("/vendor/"):]
	}
	text, open := strings.CutSuffix(text, "*")
	text = typeArguments.ReplaceAllString(closures.ReplaceAllString(text, ""), "")
	f := frame{function: text, open: open || strings.HasSuffix(text, ".") || strings.HasSuffix(text, ")")}
	if strings.HasPrefix(text, "(") {
		return f
	}
	name := strings.LastIndex(text, "/") + 1
	dot := strings.Index(text[name:], ".")
	if dot < 0 {
		return frame{path: unescape(text), open: open}
	}
	f.path, f.function = unescape(text[:name+dot]), text[name+dot+1:]
	return f
}

// unescape undoes what the linker writes for a dot in the last element of an import path.
func unescape(path string) string { return strings.ReplaceAll(path, "%2e", ".") }

// plain is an import path without "internal" and "vN".
//
//	"github.com/jackc/pgx/v5/pgconn/internal/ctxwatch" = "github.com/jackc/pgx/pgconn/ctxwatch"
func plain(path string) string {
	var kept []string
	for element := range strings.SplitSeq(path, "/") {
		if !hidden.MatchString(element) {
			kept = append(kept, element)
		}
	}
	return strings.Join(kept, "/")
}

// short reports whether a path lacks its leading elements.
func (f frame) short() bool {
	host, _, _ := strings.Cut(f.path, "/")
	return !strings.Contains(host, ".")
}

// in reports whether the frame may be of a package with this import path.
func (f frame) in(path string) bool {
	have, want := plain(path), plain(f.path)
	return f.path == "" || have == want || f.short() && strings.HasSuffix(have, "/"+want) || f.function == "" && f.open && strings.HasPrefix(have, want)
}

// under reports whether a module may hold the frame.
func (f frame) under(module string) bool {
	return f.short() || strings.HasPrefix(plain(f.path)+"/", plain(module)+"/")
}

// is compares the frame with a declared function.
func (f frame) is(declared string) bool {
	return f.function == declared || f.function == "" || f.open && strings.HasPrefix(declared, f.function)
}

// declared is a function as a stack names it after its package.
//
//	"func (t *T[K]) run()" = "(*T).run", "func (t T) Run()" = "T.Run"
func declared(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	of := d.Recv.List[0].Type
	star, pointer := of.(*ast.StarExpr)
	if pointer {
		of = star.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	name, ok := of.(*ast.Ident)
	switch {
	case !ok:
		return d.Name.Name
	case pointer:
		return "(*" + name.Name + ")." + d.Name.Name
	}
	return name.Name + "." + d.Name.Name
}

// release is a version in numbers.
type release [3]int

var released = regexp.MustCompile(`^v?(\d+)\.(\d+)(?:\.(\d+))?(?:\+incompatible)?$`)

// parseRelease reads a release, and no pre-release. Major replaces a 0, and then only a 0 is one
// of the component: v0.34.4 of k8s.io/client-go is Kubernetes 1.34.4.
func parseRelease(version string, major int) (r release, ok bool) {
	m := released.FindStringSubmatch(version)
	if m == nil {
		return r, false
	}
	for i := range r {
		r[i], _ = strconv.Atoi(m[i+1])
	}
	if major > 0 {
		ok, r[0] = r[0] == 0, major
		return r, ok
	}
	return r, true
}

func (r release) before(o release) bool {
	for i := range r {
		if r[i] != o[i] {
			return r[i] < o[i]
		}
	}
	return false
}

// near reports whether two releases are of the same line or of adjacent ones, so that what one
// declares can be expected of the other.
func (r release) near(o release) bool {
	return r[0] == o[0] && o[1]-r[1] <= 1 && r[1]-o[1] <= 1 || r[0]+1 == o[0] && o[1] == 0
}

// lastAffected is the greatest release below a fix that has none of the other fixes, "" where
// none is listed.
//
//	v1.6.0 v1.6.35 v1.6.36 v1.7.0 v1.7.20 v1.7.21 with 1.6.36 of 1.6.36 and 1.7.21 = v1.6.35
func lastAffected(versions []string, major int, fix string, fixes []string) (last string) {
	limit, _ := parseRelease(fix, 0)
	var best release
	for _, version := range versions {
		r, ok := parseRelease(version, major)
		mended := slices.ContainsFunc(fixes, func(other string) bool {
			o, ok := parseRelease(other, 0)
			return ok && o[0] == r[0] && o[1] == r[1] && !r.before(o)
		})
		if ok && !mended && r.before(limit) && (last == "" || best.before(r)) {
			best, last = r, version
		}
	}
	return last
}

// firstFrom is the least release from a fix on, "" where none is listed.
func firstFrom(versions []string, major int, fix string) (first string) {
	limit, _ := parseRelease(fix, 0)
	var best release
	for _, version := range versions {
		if r, ok := parseRelease(version, major); ok && !r.before(limit) && (first == "" || r.before(best)) {
			best, first = r, version
		}
	}
	return first
}
