package knowledge

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// SeenVersions are the versions in the evidence.
type SeenVersions struct {
	// Program is the name of the process, Release its own version without that of its runtime:
	// "v1.34.4". Source names the artifact.
	Program, Release, Source string
	// Files returns file names in stacks of the process, those of the family first, or
	// nil. Names in module caches contain a version:
	// "k8s.io/client-go@v0.34.4/tools/cache/reflector.go". It is called only for
	// entries with versions.
	Files func() []string
	// Listed are the versions of lists of packages beside the process.
	Listed []analysis.Package
}

// VersionVerdict is the relation of a version to a leak.
type VersionVerdict string

// VersionUnclear is a line of releases between two fixed ones, or a version without a
// release number. VersionBefore is older than the release that introduced the leak.
const (
	VersionAffected VersionVerdict = "affected"
	VersionFixed    VersionVerdict = "fixed"
	VersionBefore   VersionVerdict = "before"
	VersionUnclear  VersionVerdict = "unclear"
)

// Comparison compares the seen version of a component with releases that mended it.
type Comparison struct {
	// Component is empty where nothing can be compared.
	Component string
	// Seen is the version as printed, empty if none was seen. Source names where.
	Seen, Source string
	Verdict      VersionVerdict
	// Fix is the next release with the fix, "" where the seen one is not affected.
	Fix string
}

// release is a version in numbers. pre sorts it before its release.
type release struct {
	numbers [3]int
	pre     bool
	printed string
}

var (
	releaseText = expression.Lazy(`\d+(?:\.\d+){1,2}`)
	preRelease  = expression.Lazy(`^[-.~]?(?:alpha|beta|rc|dev|pre)`)
)

// newRelease reads a version as programs print it.
//
//	"1.6.20~ds1" = 1.6.20, "v1.5.0-alpha.1" = "1.5.0~alpha.1" = before 1.5.0, "Node.js v22.23.3" = 22.23.3
func newRelease(text string) (release, bool) {
	at := releaseText.FindStringIndex(text)
	if at == nil {
		return release{}, false
	}
	r := release{printed: strings.TrimSpace(text)}
	for i, part := range strings.Split(text[at[0]:at[1]], ".") {
		n, err := strconv.Atoi(part)
		if err != nil || i > 2 {
			return release{}, false
		}
		r.numbers[i] = n
	}
	r.pre = preRelease.MatchString(strings.ToLower(text[at[1]:]))
	return r, true
}

func (r release) compare(o release) int {
	if c := slices.Compare(r.numbers[:], o.numbers[:]); c != 0 {
		return c
	}
	switch {
	case r.pre && !o.pre:
		return -1
	case o.pre && !r.pre:
		return 1
	}
	return 0
}

// line is the part of a version that backports share.
func (r release) line() [2]int { return [2]int{r.numbers[0], r.numbers[1]} }

// find looks for a component's version: first in the file names of the stack, which
// show what was compiled in, then in the version that the program reports.
func (c Component) find(seen SeenVersions) (r release, source string, ok bool) {
	if seen.Files == nil {
		seen.Files = func() []string { return nil }
	}
	for _, m := range c.Modules {
		for _, file := range seen.Files() {
			if r, ok = m.in(file); ok {
				return r, "file names of the stack", true
			}
		}
	}
	if len(c.Programs) > 0 && oneOf(c.Programs, seen.Program) {
		if r, ok = newRelease(seen.Release); ok {
			return r, seen.Source, ok
		}
	}
	for i := range seen.Listed {
		if r, ok = c.listed(&seen.Listed[i], seen.Program); ok {
			return r, path.Base(seen.Listed[i].Path), ok
		}
	}
	return release{}, "", false
}

// listed reads the version of a package that is the component, one of its modules or, of the
// operating system, the program itself.
func (c Component) listed(p *analysis.Package, program string) (r release, ok bool) {
	from, name, _ := strings.Cut(p.Name, ":")
	switch from {
	case "go":
		for _, m := range c.Modules {
			if m.Path == name {
				return m.in(name + "@" + p.Version + "/")
			}
		}
	case "deb", "rpm", "program":
		if len(c.Programs) > 0 && oneOf(c.Programs, program) && oneOf(c.Programs, name) {
			return newRelease(p.Version)
		}
	default:
		if slices.Contains(c.Packages, p.Name) {
			return newRelease(p.Version)
		}
	}
	return release{}, false
}

// Affected are the entries whose leak is in a version of a package that is a component by its
// name, newest fix first.
func (c *Catalogue) Affected(p *analysis.Package) (out []*Entry) {
	for i := range c.doc.Known {
		e := &c.doc.Known[i]
		at := slices.IndexFunc(c.doc.Components, func(x Component) bool { return x.Name == e.Versions.Component })
		if at < 0 || !slices.Contains(c.doc.Components[at].Packages, p.Name) {
			continue
		}
		if r, ok := newRelease(p.Version); ok && e.Versions.verdict(r) == VersionAffected {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *Entry) int {
		x, _ := newRelease(a.Versions.Fixed[len(a.Versions.Fixed)-1])
		y, _ := newRelease(b.Versions.Fixed[len(b.Versions.Fixed)-1])
		return y.compare(x)
	})
	return out
}

// in reads the module's version in a file name.
//
//	k8s.io/client-go in "/go/pkg/mod/k8s.io/client-go@v0.34.4/tools/cache/reflector.go" = 1.34.4 with Major 1
func (m Module) in(file string) (release, bool) {
	if strings.Contains(file, "!") {
		file = unescaped(file)
	}
	at := strings.Index(file, m.Path+"@v")
	if at < 0 || at > 0 && file[at-1] != '/' {
		return release{}, false
	}
	version, _, _ := strings.Cut(file[at+len(m.Path)+1:], "/")
	r, ok := newRelease(version)
	if !ok || r.numbers == [3]int{} {
		return release{}, false // v0.0.0 is replaced by a directory
	}
	r.printed = m.Path + " " + version
	if r.numbers[0] == 0 && m.Major > 0 {
		r.numbers[0] = m.Major
	}
	return r, true
}

// escapedCapital is how module caches write a capital letter: "!click!house" is "ClickHouse"
// (golang.org/x/mod/module, EscapePath).
var escapedCapital = expression.Lazy(`![a-z]`)

func unescaped(file string) string {
	return escapedCapital.ReplaceAllStringFunc(file, func(m string) string { return strings.ToUpper(m[1:]) })
}

// compare compares the seen version with the releases of an entry.
func compare(c *Catalogue, e *Entry, seen SeenVersions) Comparison {
	if len(e.Versions.Fixed) == 0 && e.Versions.Introduced == "" {
		return Comparison{}
	}
	return c.compare(e.Versions, seen)
}

func (c *Catalogue) compare(v Versions, seen SeenVersions) Comparison {
	at := slices.IndexFunc(c.doc.Components, func(x Component) bool { return x.Name == v.Component })
	if at < 0 {
		return Comparison{}
	}
	out := Comparison{Component: v.Component}
	if r, source, ok := c.doc.Components[at].find(seen); ok {
		out.Seen, out.Source, out.Verdict = r.printed, source, v.verdict(r)
		if out.Verdict == VersionAffected {
			out.Fix = v.nearest(r)
		}
	}
	return out
}

// verdict compares by lines of releases. A line with its own fix decides. A line newer
// than all is fixed, one older than all is not.
func (v Versions) verdict(r release) VersionVerdict {
	if len(v.Affected) > 0 {
		return v.inRanges(r)
	}
	if from, ok := newRelease(v.Introduced); ok && r.compare(from) < 0 {
		return VersionBefore
	}
	var fixed []release
	for _, text := range v.Fixed {
		if f, ok := newRelease(text); ok {
			fixed = append(fixed, f)
		}
	}
	if len(fixed) == 0 {
		return VersionUnclear
	}
	slices.SortFunc(fixed, release.compare)
	for _, f := range fixed {
		if f.line() == r.line() {
			if r.compare(f) < 0 {
				return VersionAffected
			}
			return VersionFixed
		}
	}
	switch {
	case r.compare(fixed[0]) < 0:
		return VersionAffected
	case r.compare(fixed[len(fixed)-1]) > 0:
		return VersionFixed
	case fixed[len(fixed)-1].numbers[2] == 0:
		return VersionAffected // later lines have the fix from their first release on, this one never got it
	}
	return VersionUnclear
}

// inRanges compares with the ranges of an advisory.
func (v Versions) inRanges(r release) VersionVerdict {
	before := true
	for _, x := range v.Affected {
		from, bounded := newRelease(x.Introduced)
		if bounded && r.compare(from) < 0 && r.numbers != from.numbers { // a pre-release has what its release has
			continue
		}
		before = false
		if to, ok := newRelease(x.Fixed); ok && r.compare(to) < 0 {
			return VersionAffected
		}
	}
	if before {
		return VersionBefore
	}
	return VersionFixed
}

// numbered are releases in a sentence.
var numbered = expression.Lazy(`\bv?\d+(?:\.\d+){1,3}(?:[-+~][\w.+~-]*\w)?`)

// Fix reads the fixed releases from a text about a program, so that the version of that
// program can be compared with them. The component is the catalogue's, or a new one
// with the program's name, which is returned as well. Without a release there is
// nothing to compare.
//
//	"1.6.36 and v1.7.21" of containerd = containerd, 1.6.36, v1.7.21
func (c *Catalogue) Fix(program, words string) (Versions, []Component) {
	releases := numbered.FindAllString(words, -1)
	program = path.Base(strings.TrimSpace(program))
	if len(releases) == 0 || program == "." || strings.ContainsAny(program, "|*") {
		return Versions{}, nil
	}
	for _, x := range c.doc.Components {
		if len(x.Programs) > 0 && oneOf(x.Programs, program) {
			var made []Component
			if x.Origin != "" {
				made = []Component{x}
			}
			return Versions{Component: x.Name, Fixed: releases}, made
		}
	}
	return Versions{Component: program, Fixed: releases}, []Component{{Name: program, Programs: []string{program}}}
}

// Loads are the metrics that readers said are loads, of every program.
func (c *Catalogue) Loads() []Load { return c.doc.Loads }

// Ours are the programs that the readers said are their own.
func (c *Catalogue) Ours() []Ours { return c.doc.Ours }

// Project is the name of the component that a program is of, "" for one that no component names and
// for the readers' own.
func (c *Catalogue) Project(program string) string {
	if slices.ContainsFunc(c.doc.Ours, func(x Ours) bool { return x.Program == program }) {
		return ""
	}
	for i := range c.doc.Components {
		if x := &c.doc.Components[i]; len(x.Programs) > 0 && program != "" && oneOf(x.Programs, program) {
			return x.Name
		}
	}
	return ""
}

// nearest is the release with the fix that is the next one after another, "" where none is.
//
//	1.6.20 with 1.6.36 and 1.7.21 = "1.6.36", with 2.0.12 and 1.7.35 = "1.7.35"
func (v Versions) nearest(r release) string {
	best, text := release{}, ""
	for _, printed := range v.Fixed {
		f, ok := newRelease(printed)
		if ok && f.compare(r) > 0 && (text == "" || f.compare(best) < 0) {
			best, text = f, printed
		}
	}
	return text
}
