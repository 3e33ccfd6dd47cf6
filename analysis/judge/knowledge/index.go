package knowledge

import (
	"slices"
	"strings"

	"leakdiff/analysis"
)

// index finds the items of a catalogue whose patterns a frame matches, without
// trying all of them.
type index struct {
	patterns []pattern
	number   map[patternKey]int
	// whole has patterns by their whole text, method has those without leading path
	// elements by the text after their last dot, begin has open ones by their first
	// bytes. open are the few other open patterns, which are tried one by one.
	whole, method, begin map[string][]int
	open                 []int

	entries []entryIndex
	normals []normalIndex
	classes []classIndex
	// The items that contain a pattern.
	entriesOf, normalsOf, classesOf [][]int
	// byCreator are entries with only a creator, byPrint those with a fingerprint,
	// byKind those with a resource.
	byCreator []int
	byPrint   map[string][]int
	byKind    map[analysis.Kind][]int
	// classByKind are class patterns without frames, by the kind of family.
	classByKind map[analysis.Kind][]int
	statements  []int
}

// beginning is the number of bytes of open patterns that are looked up.
const beginning = 16

type patternKey struct {
	text string
	java bool
}

type entryIndex struct {
	entry *Entry
	// frames are the numbers of the patterns in order. java are those that follow the
	// rules of Java names.
	frames, java []int
	creators     []pattern
	states       []string
}

type normalIndex struct {
	normal   *Normal
	frames   map[int]bool
	creators []pattern
	states   []string
}

type classIndex struct {
	class    *Class
	pattern  *ClassPattern
	creators []pattern
	rest     []pattern
}

func newIndex(doc *Document) *index {
	x := &index{number: map[patternKey]int{}, whole: map[string][]int{}, method: map[string][]int{}, begin: map[string][]int{}, byPrint: map[string][]int{},
		byKind: map[analysis.Kind][]int{}, classByKind: map[analysis.Kind][]int{}}
	for i := range doc.Known {
		x.addEntry(&doc.Known[i])
	}
	for i := range doc.Normal {
		x.addNormal(&doc.Normal[i])
	}
	for i := range doc.Classes {
		for k := range doc.Classes[i].Patterns {
			x.addClass(&doc.Classes[i], &doc.Classes[i].Patterns[k])
		}
	}
	return x
}

func (x *index) add(text string, java bool) int {
	key := patternKey{text, java}
	if n, ok := x.number[key]; ok {
		return n
	}
	p := newPattern(text)
	if java {
		p = javaPattern(text)
	}
	n := len(x.patterns)
	x.number[key] = n
	x.patterns = append(x.patterns, p)
	x.entriesOf, x.normalsOf, x.classesOf = append(x.entriesOf, nil), append(x.normalsOf, nil), append(x.classesOf, nil)
	switch {
	case p.open && !p.short && len(p.text) >= beginning:
		x.begin[p.text[:beginning]] = append(x.begin[p.text[:beginning]], n)
	case p.open:
		x.open = append(x.open, n)
	case p.short:
		method := p.text[strings.LastIndexByte(p.text, '.')+1:]
		x.method[method] = append(x.method[method], n)
	default:
		x.whole[p.text] = append(x.whole[p.text], n)
	}
	return n
}

// sequence numbers patterns in order. Neighbours that the rules make equal become one,
// like recursion in families.
func (x *index) sequence(frames []string, java bool) []int {
	var out []int
	for _, f := range frames {
		n := x.add(f, java)
		if len(out) > 0 && x.patterns[out[len(out)-1]] == x.patterns[n] {
			continue
		}
		out = append(out, n)
	}
	return out
}

func creators(texts []string) []pattern {
	var out []pattern
	for _, t := range texts {
		out = append(out, newPattern(t))
	}
	return out
}

func (x *index) addEntry(e *Entry) {
	s := e.Signature
	in := entryIndex{entry: e, frames: x.sequence(s.Frames, false), creators: creators(s.CreatedBy), states: stateClasses(s.WaitStates)}
	if slices.Contains(e.Kinds, string(analysis.KindThread)) {
		in.java = x.sequence(s.Frames, true)
	}
	at := len(x.entries)
	x.entries = append(x.entries, in)
	for _, n := range slices.Concat(in.frames, in.java) {
		if !slices.Contains(x.entriesOf[n], at) {
			x.entriesOf[n] = append(x.entriesOf[n], at)
		}
	}
	if len(s.Frames) == 0 && len(s.CreatedBy) > 0 {
		x.byCreator = append(x.byCreator, at)
	}
	for _, print := range s.Fingerprints {
		x.byPrint[print] = append(x.byPrint[print], at)
	}
	for _, r := range s.Resources {
		if !slices.Contains(x.byKind[r.Kind], at) {
			x.byKind[r.Kind] = append(x.byKind[r.Kind], at)
		}
	}
}

func (x *index) addNormal(n *Normal) {
	in := normalIndex{normal: n, frames: map[int]bool{}, creators: creators(n.CreatedBy), states: stateClasses(n.WaitStates)}
	at := len(x.normals)
	for _, f := range n.Frames {
		p := x.add(f, false)
		in.frames[p] = true
		if !slices.Contains(x.normalsOf[p], at) {
			x.normalsOf[p] = append(x.normalsOf[p], at)
		}
	}
	x.normals = append(x.normals, in)
}

func (x *index) addClass(c *Class, p *ClassPattern) {
	at := len(x.classes)
	x.classes = append(x.classes, classIndex{class: c, pattern: p, creators: creators(p.CreatedBy), rest: creators(p.Rest)})
	for _, f := range p.Frames {
		n := x.add(f, p.Kind == analysis.KindThread)
		if !slices.Contains(x.classesOf[n], at) {
			x.classesOf[n] = append(x.classesOf[n], at)
		}
	}
	if len(p.Statements) > 0 {
		x.statements = append(x.statements, at)
	}
	if p.Kind != "" && (len(p.Frames) == 0 || len(p.CreatedBy) > 0) {
		x.classByKind[p.Kind] = append(x.classByKind[p.Kind], at)
	}
}

// hits are the numbers of the patterns that a frame matches.
func (x *index) hits(name string) []int {
	out := slices.Clip(x.whole[name]) // appending must not change the index
	try := func(numbers []int) {
		for _, n := range numbers {
			if x.patterns[n].matches(name) {
				out = append(out, n)
			}
		}
	}
	try(x.method[name[strings.LastIndexByte(name, '.')+1:]])
	if len(name) >= beginning {
		try(x.begin[name[:beginning]])
	}
	try(x.open)
	return out
}

// inOrder reports whether the patterns occur in the frames as a subsequence.
func inOrder(wanted []int, found [][]int) bool {
	if len(wanted) == 0 {
		return false
	}
	next := 0
	for _, hits := range found {
		if slices.Contains(hits, wanted[next]) {
			if next++; next == len(wanted) {
				return true
			}
		}
	}
	return false
}

// created reports whether a creator begins with one of the patterns. A form that prints
// no creators is no contradiction.
func created(patterns []pattern, creator string) bool {
	if len(patterns) == 0 || creator == "" {
		return true
	}
	method := inlined(creator)
	return slices.ContainsFunc(patterns, func(p pattern) bool { return p.leads(creator) || method != "" && p.leads(method) })
}

// inlined is the method that was inlined into a function of its package, by the name of its closure;
// "" for other names.
//
//	"a/b.New.(*T).start.func1" = "a/b.(*T).start.func1"
func inlined(name string) string {
	base := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[base:], '.')
	receiver := strings.LastIndex(name, ".(*")
	if dot < 0 || receiver <= base+dot {
		return ""
	}
	return name[:base+dot] + name[receiver:]
}
