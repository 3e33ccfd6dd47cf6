package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// traits are the catalogue items that a family's stack and attributes match, regardless
// of its counts.
type traits struct {
	entries []candidate
	classes []int
	normals []int
}

// candidate is an entry whose signature a family has. listed reports a match by a
// resource alone.
type candidate struct {
	entry, frames int
	listed        bool
}

func (m *Matcher) of(f *analysis.Family) *traits {
	if t := m.traits[f.Fingerprint]; t != nil {
		return t
	}
	t := m.newTraits(f)
	m.traits[f.Fingerprint] = t
	return t
}

func (m *Matcher) newTraits(f *analysis.Family) *traits {
	x, t := m.c.index, &traits{}
	found := make([][]int, len(f.Loose))
	entries, classes, normals := set{}, set{}, set{}
	for i, name := range f.Loose {
		found[i] = x.hits(name)
		for _, n := range found[i] {
			entries.add(x.entriesOf[n])
			classes.add(x.classesOf[n])
			normals.add(x.normalsOf[n])
		}
	}
	entries.add(x.byCreator)
	entries.add(x.byPrint[f.Fingerprint])
	entries.add(x.byKind[f.Kind])
	classes.add(x.classByKind[f.Kind])
	for at := range entries {
		if n, ok := m.entryFits(at, f, found); ok {
			t.entries = append(t.entries, candidate{at, n, n == 0})
		}
	}
	for at := range classes {
		if m.classFits(at, f, found) {
			t.classes = append(t.classes, at)
		}
	}
	slices.Sort(t.classes)
	if f.Kind == analysis.KindGoroutine {
		t.normals = m.normalsFor(normals, f, found)
	}
	return t
}

// set holds the indexes of a few items.
type set map[int]bool

func (s set) add(numbers []int) {
	for _, n := range numbers {
		s[n] = true
	}
}

// entryFits returns how many frames of an entry's signature a family has, 0 for a match
// by a resource. A fingerprint counts as a frame.
func (m *Matcher) entryFits(at int, f *analysis.Family, found [][]int) (int, bool) {
	in := &m.c.index.entries[at]
	s := in.entry.Signature
	if slices.Contains(s.Fingerprints, f.Fingerprint) {
		return max(1, len(f.Loose)), true
	}
	switch {
	case f.Kind == analysis.KindThread && inOrder(in.java, found):
		return len(in.java), true
	case f.Kind == analysis.KindGoroutine && inOrder(in.frames, found) && created(in.creators, f.LooseCreator):
		return len(in.frames), true
	case f.Kind == analysis.KindGoroutine && len(s.Frames) == 0 && len(in.creators) > 0 && f.LooseCreator != "" && created(in.creators, f.LooseCreator):
		return 1, true
	}
	return 0, slices.ContainsFunc(s.Resources, func(r Resource) bool { return r.Kind == f.Kind && fits(r.Attributes, f.Attributes) })
}

func (m *Matcher) classFits(at int, f *analysis.Family, found [][]int) bool {
	in := &m.c.index.classes[at]
	p := in.pattern
	if p.Kind != f.Kind {
		return false
	}
	if len(p.Frames) == 0 && len(p.CreatedBy) == 0 {
		return fits(p.Attributes, f.Attributes)
	}
	if len(p.CreatedBy) > 0 && f.LooseCreator != "" && created(in.creators, f.LooseCreator) {
		return true
	}
	return slices.ContainsFunc(found, func(hits []int) bool {
		return slices.ContainsFunc(hits, func(n int) bool { return slices.Contains(m.c.index.classesOf[n], at) })
	})
}

// atRest reports whether the first function of a stack that does not wait is one in
// which members of the class are at rest.
func (c *classIndex) atRest(f *analysis.Family) bool {
	at := slices.IndexFunc(f.Loose, func(name string) bool { return !waitsIn(name) })
	return at >= 0 && slices.ContainsFunc(c.rest, func(p pattern) bool { return p.matches(f.Loose[at]) })
}

// normalsFor returns the normal stacks that match a family: the first frame that is not
// common waiting code of the library must be a listed one. The match nearest to the
// leaf comes first.
func (m *Matcher) normalsFor(likely set, f *analysis.Family, found [][]int) []int {
	type place struct{ at, depth int }
	var places []place
	for at := range likely {
		in := &m.c.index.normals[at]
		if !created(in.creators, f.LooseCreator) {
			continue
		}
		depth := slices.IndexFunc(found, func(hits []int) bool {
			return slices.ContainsFunc(hits, func(n int) bool { return in.frames[n] })
		})
		if depth >= 0 && restsOn(in.normal, f.Loose[:depth]) {
			places = append(places, place{at, depth})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.at, b.at)) })
	var out []int
	for _, p := range places {
		out = append(out, p.at)
	}
	return out
}

// restsOn reports whether the frames above a listed one only wait. Frames of the
// standard library, of the same package and of packages named by the entry count as
// waiting.
func restsOn(n *Normal, above []string) bool {
	if n.Anywhere {
		return true
	}
	for _, name := range above {
		own := slices.ContainsFunc(n.Frames, func(f string) bool { return samePackage(packageOf(name), packageOf(f)) })
		if own || waitsIn(name) || slices.ContainsFunc(n.Above, func(a string) bool { return strings.HasPrefix(name, a) }) {
			continue
		}
		return false
	}
	return true
}

// samePackage compares an import path with one of a catalogue, which may lack leading
// elements.
func samePackage(whole, listed string) bool {
	return whole == listed || strings.HasSuffix(whole, "/"+listed)
}

// waitsIn reports whether goroutines wait in this function of the standard library:
// locks, network, pipes, timers. A running handler is not waiting.
func waitsIn(name string) bool {
	switch pkg := packageOf(name); pkg {
	case "runtime", "sync", "syscall", "time", "net", "bufio", "io", "os", "crypto/tls", "context", "reflect", "bytes", "encoding/json":
		return true
	default:
		return strings.HasPrefix(pkg, "internal/") || strings.HasPrefix(pkg, "runtime/internal/") || strings.HasPrefix(name, "net/http.(*persistConn)") || strings.HasPrefix(name, "net/http.(*conn)") ||
			strings.HasPrefix(name, "net/http.(*body") || strings.HasPrefix(pkg, "net/http/internal") || strings.HasPrefix(name, "net/http.(*connReader)") || strings.HasPrefix(name, "net/http.http2") || strings.HasPrefix(name, "net/http.(*http2")
	}
}

// packageOf is a function's import path.
//
//	"net/http.(*conn).serve" = "net/http", "github.com/a/b/v3.init" = "github.com/a/b/v3"
func packageOf(name string) string {
	from := strings.LastIndexByte(name, '/') + 1
	if paren := strings.IndexByte(name, '('); paren >= 0 && from > paren {
		from = strings.LastIndexByte(name[:paren], '/') + 1
	}
	if dot := strings.IndexByte(name[from:], '.'); dot >= 0 {
		return name[:from+dot]
	}
	return name
}
