package gauge

import (
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// The forms of lists of versions. Each has its prefix of names: "npm:undici".
var versionForms = []struct {
	prefix string
	line   *expression.Expression
}{
	{"deb:", expression.Lazy(`^[ih][iU]\s+([a-z0-9][\w.+-]+)(?::\w+)?\s+(\d\S*)\s`)},                     // dpkg -l
	{"rpm:", expression.Lazy(`^([A-Za-z][\w.+-]*?)-(\d[\w.~^]*)-[\w.~^+]+\.(?:x86_64|aarch64|noarch)$`)}, // rpm -qa
	{"npm:", expression.Lazy(`^[├└│─┬+|\x60\s-]*((?:@[\w.-]+/)?[\w.-]+)@(\d[\w.+-]*)(?:\s.*)?$`)},        // npm ls
	{"go:", expression.Lazy(`^\s*(?:dep|mod|=>)\s+(\S+)\s+(v\d\S*)`)},                                    // go version -m
	{"program:", expression.Lazy(`^(Client|Server|Kubernetes) (?:[Vv]ersion: )?(?:version\.Info\{.*GitVersion:")?(v\d[\w.+-]*)`)},
	{"jenkins:", expression.Lazy(`^([a-z][a-z0-9-]*):(\d+\.[\w.-]*)(?::[\w-]+)*$`)}, // plugins/active.txt of support-core
}

// versionOf reads a line of a list of versions.
func versionOf(text string) (name, version string) {
	for _, form := range versionForms {
		if m := form.line.FindStringSubmatch(text); m != nil {
			return form.prefix + m[1], m[2]
		}
	}
	return "", ""
}

// IsVersions reports whether lines, at least half of them, are of a list of versions.
func IsVersions(lines []string) bool {
	n, others := 0, 0
	for _, l := range lines {
		if name, _ := versionOf(l); name != "" {
			n++
		} else if !listHead.MatchString(l) {
			others++
		}
	}
	return n > 0 && n >= others
}

// listHead are the head of dpkg -l, its rows of packages that are gone, and prompts.
var listHead = expression.Lazy(`^(?:Desired=|\| Status=|\|/ Err|\|\|/ Name|\+\+\+-|[rup][cn] |\$ |# )`)

// IsPackageJSON reports whether a JSON file is package.json or a lock file of npm.
func IsPackageJSON(name string, text []byte) bool {
	switch path.Base(name) {
	case "package.json", "package-lock.json", "npm-shrinkwrap.json":
		return packageJSON.Match(text)
	}
	return false
}

var packageJSON = expression.Lazy(`"(?:dependencies|packages|devDependencies)"\s*:\s*\{`)

// mostVersions bounds the versions of a list.
const mostVersions = 20_000

// ParseVersions reads a list of versions, by name. wanted says which names are kept. The error is
// that of r.
func ParseVersions(r io.Reader, name string, wanted func(name string) bool) (out []analysis.Package, rows int, err error) {
	in := line.NewReader(r)
	dep := "" // the package of the row above
	for l := range in.All() {
		pkg, version := versionOf(strings.TrimRight(l.Text, " \t"))
		if pkg == "" {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(l.Text), "=>") {
			if n := len(out); n > 0 && dep == out[n-1].Name {
				out = out[:n-1] // another module stands in its place
			}
			continue
		}
		dep = pkg
		if rows++; wanted(pkg) && rows <= mostVersions {
			out = append(out, analysis.Package{Name: pkg, Version: version, Path: name})
		}
	}
	return unique(out), rows, in.Failure(name)
}

// ParsePackageJSON reads package.json and the lock file of npm. Of package.json only exact versions
// count.
func ParsePackageJSON(r io.Reader, name string, wanted func(name string) bool) (out []analysis.Package, rows int, err error) {
	type locked struct {
		Version      string                     `json:"version"`
		Dependencies map[string]json.RawMessage `json:"dependencies"`
	}
	var file struct {
		Dependencies    map[string]json.RawMessage `json:"dependencies"`
		DevDependencies map[string]json.RawMessage `json:"devDependencies"`
		Packages        map[string]locked          `json:"packages"`
	}
	if json.NewDecoder(r).Decode(&file) != nil {
		return nil, 0, nil
	}
	add := func(pkg, version string) {
		if rows++; exactVersion.MatchString(version) && wanted("npm:"+pkg) {
			out = append(out, analysis.Package{Name: "npm:" + pkg, Version: version, Path: name})
		}
	}
	for _, list := range []map[string]json.RawMessage{file.Dependencies, file.DevDependencies} {
		for _, pkg := range slices.Sorted(maps.Keys(list)) {
			var version string
			var of locked
			if json.Unmarshal(list[pkg], &version) != nil && json.Unmarshal(list[pkg], &of) == nil {
				version = of.Version
			}
			add(pkg, version)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(file.Packages)) {
		if _, pkg, ok := cutLast(at, "node_modules/"); ok {
			add(pkg, file.Packages[at].Version)
		}
	}
	return unique(out), rows, nil
}

var exactVersion = expression.Lazy(`^\d+\.\d+\.\d+[\w.+-]*$`)

func cutLast(text, at string) (before, after string, ok bool) {
	i := strings.LastIndex(text, at)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(at):], true
}

// unique keeps each package with its version once.
func unique(all []analysis.Package) (out []analysis.Package) {
	for _, p := range all {
		if !slices.ContainsFunc(out, func(x analysis.Package) bool { return x.Name == p.Name && x.Version == p.Version }) {
			out = append(out, p)
		}
	}
	return out
}

//go:embed package.txt
var packageText string

var packages = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for row := range strings.Lines(packageText) {
		words := strings.Fields(row)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		prefixes := []string{words[0] + ":"}
		if words[0] == "os" {
			prefixes = []string{"deb:", "rpm:", "program:"}
		}
		for _, prefix := range prefixes {
			for _, name := range words[1:] {
				out[prefix+name] = true
			}
		}
	}
	return out
})

// Wanted reports a package whose version is kept, by its name with the prefix of its list.
func Wanted(name string) bool { return packages()[name] }
