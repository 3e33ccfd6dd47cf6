package knowledge

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

// OfStatement are the classes that a snapshot's own statement belongs to.
func (c *Catalogue) OfStatement(key string) []ClassHit {
	var out []ClassHit
	for _, at := range c.index.statements {
		in := &c.index.classes[at]
		if slices.ContainsFunc(in.pattern.Statements, func(g string) bool { return glob(g, key) }) {
			out = addClass(out, ClassHit{Class: in.class, Sign: in.pattern.Sign, WithGrowth: in.pattern.WithGrowth})
		}
	}
	return out
}

// EntryOf makes an entry that recognises a family again: by its whole normalised
// stack, or by its attributes where it has none. The caller gives id and words.
//
// A resource is that of a program: every program has watches and descriptors alike. So is
// a stack without a package of its own: another program's main.worker, and a connection
// of net/http, are something else.
func EntryOf(f *analysis.Family, states map[string]int, program string) Entry {
	e := Entry{Status: Leak, Kinds: []string{string(f.Kind)}}
	e.Signature.Fingerprints = []string{f.Fingerprint}
	switch f.Kind {
	case analysis.KindGoroutine:
		e.Signature.Frames = slices.Clone(f.Loose)
		if f.LooseCreator != "" {
			e.Signature.CreatedBy = []string{f.LooseCreator}
		}
		e.Signature.WaitStates = mostStates(states)
		if !slices.ContainsFunc(append(slices.Clone(f.Loose), f.LooseCreator), importable) {
			e.Signature.Programs = programs(program)
		}
	case analysis.KindThread:
		e.Signature.Frames = slices.Clone(f.Loose)
	default:
		attributes := map[string]string{}
		for name, value := range f.Attributes {
			if value != "" && !strings.ContainsAny(value, "|*") {
				attributes[name] = value
			}
		}
		e.Signature.Resources = []Resource{{Kind: f.Kind, Attributes: attributes}}
		e.Signature.Programs = programs(program)
	}
	return e
}

// programs are a program's name as a signature holds it, nil where it is not known.
func programs(name string) []string {
	if name == "" || strings.ContainsAny(name, "|*") {
		return nil
	}
	return []string{path.Base(name)}
}

// importable reports a function of a package that several programs can have and that is
// not of the standard library.
func importable(name string) bool {
	pkg := packageOf(name)
	top, _, _ := strings.Cut(pkg, "/")
	return pkg != "" && pkg != "main" && !standardTop[top]
}

// mostStates are the states that most members are in, without those of a moment.
func mostStates(states map[string]int) []string {
	var out []string
	for s := range states {
		if family.StateClass(s, nil) != "running" {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(states[b], states[a]), cmp.Compare(a, b)) })
	return out[:min(len(out), 4)]
}
