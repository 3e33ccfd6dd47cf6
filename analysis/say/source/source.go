// Package source finds the source of a frame: its page on a public host, by the version in
// the path of its file, and the statement that started a goroutine, in directories of the
// reader. What a dump prints is hostile: a page has one of a few fixed hosts, and a file
// lies below the directories and ends in .go. The package sends no request.
package source

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/family"
)

const (
	// mostElements bounds the elements of a path, mostBytes its length.
	mostElements = 64
	mostBytes    = 1024
	// mostLine is the highest line that the compiler knows.
	mostLine = 1<<24 - 1
)

var (
	moduleElement = expression.Lazy(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$`)
	fileElement   = expression.Lazy(`^[A-Za-z0-9_][A-Za-z0-9._~+=@ -]*$`)
	moduleVersion = expression.Lazy(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+incompatible)?$`)
	pseudoVersion = expression.Lazy(`^v\d+\.(?:0\.0-|\d+\.\d+-(?:[^+]*\.)?0\.)\d{14}-([0-9a-f]{12})(?:\+incompatible)?$`)
	majorElement  = expression.Lazy(`^v(?:[2-9]|[1-9]\d+)$`)
	// release is a version of Go, bare without the word.
	release = expression.Lazy(`^go1\.\d{1,3}(?:\.\d{1,3})?(?:rc\d{1,2}|beta\d{1,2})?$`)
	bare    = expression.Lazy(`^1\.\d{1,3}(?:\.\d{1,3})?$`)
	// toolchain is the version of a module with the source of Go itself.
	toolchain = expression.Lazy(`^v0\.0\.1-(go1\.[0-9a-z.]+)\.[a-z0-9]+-[a-z0-9]+$`)
)

// Link is the address of a frame's line on a public host, "" if the path of its file does
// not name a version or its host is none of the known ones. version is what is known of
// the process ("v1.34.4, go1.26.8"); the standard library takes its release from there
// unless the path names it. A repository that keeps a later major version in a directory
// v2 has its files elsewhere than the address says.
//
//	/root/go/pkg/mod/github.com/x/y@v1.2.3/z.go, 7  ->  https://github.com/x/y/blob/v1.2.3/z.go#L7
//	/usr/local/go/src/net/http/server.go, 3301, go1.26.8
//	  ->  https://go.googlesource.com/go/+/refs/tags/go1.26.8/src/net/http/server.go#3301
func Link(f analysis.Frame, version string) string {
	file, ok := clean(f.File)
	if !ok || f.Line < 1 || f.Line > mostLine {
		return ""
	}
	if pkg := family.StandardPackage(f.Func); pkg != "" {
		return standard(pkg, file, f.Line, version)
	}
	m, ok := moduleOf(file)
	if !ok {
		return ""
	}
	r, ok := m.repository()
	if !ok {
		return ""
	}
	return r.address(m, f.Line)
}

// clean is the path of a Go or assembly file with slashes, false for anything else.
func clean(file string) (string, bool) {
	if file == "" || len(file) > mostBytes {
		return "", false
	}
	file = strings.ReplaceAll(file, `\`, "/")
	if len(file) > 1 && file[1] == ':' {
		file = file[2:] // a drive
	}
	if !strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, ".s") {
		return "", false
	}
	elements := strings.Split(strings.TrimPrefix(file, "/"), "/")
	if len(elements) > mostElements {
		return "", false
	}
	for _, e := range elements {
		if e == "" || e == "." || e == ".." {
			return "", false
		}
	}
	return file, true
}

// standard is the address of a file of Go's own source.
func standard(pkg, file string, line int, version string) string {
	dir, base := path.Split(file)
	dir = strings.TrimSuffix(dir, "/")
	root, found := strings.CutSuffix("/"+strings.TrimPrefix(dir, "/"), "/src/"+pkg)
	if !found {
		if dir != pkg {
			return "" // neither below src nor the path of a build with -trimpath
		}
		root = ""
	}
	tag := releaseOf(root, version)
	if tag == "" || !allMatch(fileElement, strings.Split(pkg+"/"+base, "/")) {
		return ""
	}
	return "https://go.googlesource.com/go/+/refs/tags/" + escaped(tag, "src", pkg, base) + "#" + strconv.Itoa(line)
}

// releaseOf is the release of Go that a root of its source is of, "" if unknown.
//
//	"/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64" = "go1.25.5"
//	"/usr/local/Cellar/go/1.15.6/libexec" = "go1.15.6"; "/usr/local/go", "v2.1, go1.26.8" = "go1.26.8"
func releaseOf(root, version string) string {
	elements := strings.Split(root, "/")
	for i, e := range elements {
		if _, v, ok := strings.Cut(e, "toolchain@"); ok {
			if found := toolchain.FindStringSubmatch(v); found != nil && release.MatchString(found[1]) {
				return found[1]
			}
			return ""
		}
		switch {
		case release.MatchString(e):
			return e
		case i > 0 && elements[i-1] == "go" && bare.MatchString(e):
			return "go" + e
		}
	}
	for word := range strings.FieldsFuncSeq(version, func(c rune) bool { return c == ',' || c == ' ' }) {
		if release.MatchString(word) {
			return word
		}
	}
	return ""
}

// module is a file of a module in a version, by the elements of its paths.
type module struct {
	path, file []string
	version    string
}

// moduleOf reads the module and its version from the path of a file in a module cache, or
// as a build with -trimpath prints it.
//
//	"/go/pkg/mod/github.com/!x/y/v2@v2.1.0/z.go", "github.com/X/y/v2@v2.1.0/z.go"
//	  = github.com/X/y/v2, z.go, v2.1.0
func moduleOf(file string) (m module, ok bool) {
	const cache = "/pkg/mod/"
	cached := strings.LastIndex(file, cache)
	if cached >= 0 {
		file = file[cached+len(cache):]
	}
	name, rest, found := strings.Cut(file, "@")
	version, inner, below := strings.Cut(rest, "/")
	if !found || !below {
		return module{}, false
	}
	if cached >= 0 {
		if name, ok = unescaped(name); !ok {
			return module{}, false
		}
		if version, ok = unescaped(version); !ok {
			return module{}, false
		}
	}
	m = module{path: strings.Split(name, "/"), file: strings.Split(inner, "/"), version: version}
	ok = moduleVersion.MatchString(version) && version != "v0.0.0" && allMatch(moduleElement, m.path) && allMatch(fileElement, m.file) && strings.Contains(m.path[0], ".")
	return m, ok
}

// unescaped undoes how a module cache writes upper case: "!azure" = "Azure".
func unescaped(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '!':
			i++
			if i == len(s) || s[i] < 'a' || s[i] > 'z' {
				return "", false
			}
			b.WriteByte(s[i] - 'a' + 'A')
		case c >= 'A' && c <= 'Z':
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

func allMatch(re *expression.Expression, elements []string) bool {
	return !slices.ContainsFunc(elements, func(e string) bool { return !re.MatchString(e) })
}

// escaped joins paths, each element escaped for an address.
func escaped(paths ...string) string {
	elements := strings.Split(strings.Join(paths, "/"), "/")
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return strings.Join(elements, "/")
}
