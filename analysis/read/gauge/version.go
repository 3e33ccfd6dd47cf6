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

// mostVersions bounds the versions that are kept of a list.
const mostVersions = 1000

// Versions are those of a list.
type Versions struct {
	// Kept are the packages that were wanted, each with its version once.
	Kept []analysis.Package
	// Rows is the number of all packages, Left that of those beyond mostVersions.
	Rows, Left int
	name       string
	wanted     func(name string) bool
	seen       map[[2]string]bool
}

func newVersions(name string, wanted func(string) bool) *Versions {
	return &Versions{name: name, wanted: wanted, seen: map[[2]string]bool{}}
}

func (v *Versions) add(pkg, version string) {
	v.Rows++
	switch key := [2]string{pkg, version}; {
	case !v.wanted(pkg) || v.seen[key]:
	case len(v.Kept) == mostVersions:
		v.Left++
	default:
		v.seen[key] = true
		v.Kept = append(v.Kept, analysis.Package{Name: pkg, Version: version, Path: v.name})
	}
}

// ParseVersions reads a list of versions, by name. wanted says which names are kept. The error is
// that of r.
func ParseVersions(r io.Reader, name string, wanted func(name string) bool) (*Versions, []analysis.Problem, error) {
	found, out := &line.Problems{Path: name}, newVersions(name, wanted)
	in := line.NewReader(r)
	refused := 0
	pkg, version := "", "" // of the row above, which a row "=>" takes back
	end := func() {
		if pkg != "" {
			out.add(pkg, version)
		}
	}
	for l := range in.All() {
		text := strings.TrimRight(l.Text, " \t")
		if strings.HasPrefix(strings.TrimSpace(text), "=>") {
			pkg = "" // another module stands in its place
			continue
		}
		end()
		if pkg, version = versionOf(text); pkg == "" && text != "" && !listHead.MatchString(text) {
			if refused++; refused == 1 {
				found.Add(analysis.Note, l, "a line is no package with a version", line.Quote(text), "nothing: the other lines were read")
			}
		}
	}
	end()
	return out, found.All(), in.Failure(name)
}

// ParsePackageJSON reads package.json and the lock file of npm. Of package.json only exact versions
// count.
func ParsePackageJSON(r io.Reader, name string, wanted func(name string) bool) (*Versions, []analysis.Problem, error) {
	type locked struct {
		Version string `json:"version"`
	}
	var file struct {
		Dependencies    map[string]json.RawMessage `json:"dependencies"`
		DevDependencies map[string]json.RawMessage `json:"devDependencies"`
		Packages        map[string]locked          `json:"packages"`
	}
	found, out := &line.Problems{Path: name}, newVersions(name, wanted)
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		found.Add(analysis.Error, line.Line{}, "the list of packages is not whole", err.Error(), "save the whole file")
		return out, found.All(), nil
	}
	add := func(pkg, version string) {
		if exactVersion.MatchString(version) {
			out.add("npm:"+pkg, version)
		} else {
			out.Rows++
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
		if i := strings.LastIndex(at, nodeModules); i >= 0 {
			add(at[i+len(nodeModules):], file.Packages[at].Version)
		}
	}
	return out, found.All(), nil
}

const nodeModules = "node_modules/"

var exactVersion = expression.Lazy(`^\d+\.\d+\.\d+[\w.+-]*$`)

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
