package knowledge

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

// OfStatement returns the classes of a snapshot's own statement.
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

// EntryOf makes an entry that recognises a family again: by its whole normalised stack,
// or by its attributes if it has no stack. The caller sets id and words.
//
// A resource belongs to one program, because watches and descriptors look alike in
// every program. The same holds for a stack without a package of its own: main.worker
// of another program, and a connection of net/http, are something else.
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

// programs is a program's name as a signature holds it, nil if it is unknown.
func programs(name string) []string {
	if name == "" || strings.ContainsAny(name, "|*") {
		return nil
	}
	return []string{path.Base(name)}
}

// importable reports a function of a package that several programs can import and that
// is not in the standard library.
func importable(name string) bool {
	pkg := packageOf(name)
	top, _, _ := strings.Cut(pkg, "/")
	return pkg != "" && pkg != "main" && !standardTop[top]
}

// mostStates returns the states of most members, without short-lived states.
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
