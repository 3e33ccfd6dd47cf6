package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// DiffWhy explains why members are one family, or where two families part.
type DiffWhy struct {
	Title, Lead string
	// Steps are the rules that made the key of one family from a stack.
	Steps   []NormStep
	KeyNote string
	// Lines are what is compared of two families, leaf on top.
	First, Second FamilyName
	Lines         []StackLine
	// Attributes are compared where the families have no stacks, or have both.
	Attributes []WhyAttribute
	// Others are the families of the page that this one can be set against.
	Fingerprint string
	Others      []Choice
	// SecondPrint is the family that it is set against.
	SecondPrint string
	Hidden      []Pair
	Close       string
}

// WhyAttribute is one attribute of two families.
type WhyAttribute struct {
	Name, First, Second string
	Other               bool
}

// maxWhyOthers bounds the select box of families.
const maxWhyOthers = 200

// whyURL is this page with the explanation of one family, or of two.
func (m *diffMaker) whyURL(fingerprints ...string) string {
	address := m.here.with("why", strings.Join(fingerprints, ","))
	if address == "" {
		return ""
	}
	return address + "#why"
}

// why explains the families that the address names: why=fp, or why=fp1,fp2, or
// why=fp1&why=fp2 as a form sends it.
func (m *diffMaker) why() *DiffWhy {
	asked := strings.Split(strings.Join(m.in.Query["why"], ","), ",")
	asked = slices.DeleteFunc(asked, func(s string) bool { return s == "" })
	if len(asked) == 0 {
		return nil
	}
	var rows []*diff.Row
	for _, fingerprint := range asked[:min(len(asked), 2)] {
		row := m.rowOf(fingerprint)
		if row == nil {
			return &DiffWhy{Title: "Why one family?", Lead: "A family that is asked about has no member at A or B.", Close: m.withoutWhy()}
		}
		rows = append(rows, row)
	}
	out := m.oneFamily(rows[0])
	if len(rows) == 2 && rows[0].Family.Fingerprint != rows[1].Family.Fingerprint {
		out = m.twoFamilies(rows[0], rows[1])
	}
	out.Close = m.withoutWhy()
	m.others(out, rows[0])
	if len(rows) == 2 {
		out.SecondPrint = rows[1].Family.Fingerprint
	}
	return out
}

func (m *diffMaker) withoutWhy() string { return m.here.with("why", "") }

func (m *diffMaker) rowOf(fingerprint string) *diff.Row {
	for i := range m.in.Result.Rows {
		if r := &m.in.Result.Rows[i]; r.Family != nil && r.Family.Fingerprint == fingerprint {
			return r
		}
	}
	return nil
}

func (m *diffMaker) nameOf(f *analysis.Family) FamilyName {
	n := newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes)
	n.URL = m.familyURL(f.Fingerprint)
	return n
}

// oneFamily shows what the most frequent stack becomes before it is compared.
func (m *diffMaker) oneFamily(r *diff.Row) *DiffWhy {
	f := r.Family
	out := &DiffWhy{First: m.nameOf(f), Title: "Why these are one family: " + m.nameOf(f).Text()}
	stack := r.VariantB
	if stack == nil {
		stack = r.VariantA
	}
	if stack == nil {
		out.Lead = "All of these have the same attributes; nothing else of them is compared."
		for _, p := range attributePairs(f.Attributes) {
			out.Attributes = append(out.Attributes, WhyAttribute{Name: p.Name, First: p.Value})
		}
		return out
	}
	n := 0
	out.Steps, n = normSteps(family.Explain(stack))
	out.KeyNote = fmt.Sprintf("The key is made of %s and the creator. State and line numbers are not in it.", wording.PagePlural(int64(n), "compared frame", "compared frames"))
	variants := map[string]bool{}
	for _, s := range []*analysis.Snapshot{m.in.Result.A, m.in.Result.B} {
		if g := report.GroupOf(s, f.Fingerprint); g != nil {
			for _, v := range g.Variants {
				variants[v.Fingerprint] = true
			}
		}
	}
	out.Lead = fmt.Sprintf("%s of A and B become the same on the right.", wording.PagePlural(int64(len(variants)), "exact stack", "exact stacks"))
	if len(variants) == 1 {
		out.Lead = "All members of A and B have the same stack; this is what is compared of it."
	}
	return out
}

// twoFamilies sets what is compared of two families side by side and names where
// they part.
func (m *diffMaker) twoFamilies(a, b *diff.Row) *DiffWhy {
	x, y := a.Family, b.Family
	out := &DiffWhy{First: m.nameOf(x), Second: m.nameOf(y), Title: "Why these are two families"}
	if x.Kind != y.Kind {
		out.Lead = fmt.Sprintf("One is of %s, the other of %s: these never make one family.", kindWord(x.Kind, 2), kindWord(y.Kind, 2))
		return out
	}
	out.Attributes = bothAttributes(x, y)
	if x.Loose == nil && y.Loose == nil {
		out.Lead = attributesPart(out.Attributes)
		return out
	}
	first, second := looseStack(x), looseStack(y)
	pairs := diff.Align(first, second)
	for _, p := range pairs {
		out.Lines = append(out.Lines, StackLine{Mark: markWord(p.Mark), A: frameLine(p.A), B: frameLine(p.B), Creator: isCreator(p, first, second)})
	}
	out.Lead = parting(x, y)
	if out.Lead == "" {
		out.Lead = attributesPart(out.Attributes)
	}
	return out
}

// looseStack returns what is compared of a family, as a stack.
func looseStack(f *analysis.Family) *analysis.Stack {
	s := &analysis.Stack{CreatedBy: analysis.Frame{Func: f.LooseCreator}}
	for _, name := range f.Loose {
		s.Frames = append(s.Frames, analysis.Frame{Func: name})
	}
	return s
}

// parting names the first frame, from the outermost inwards, at which two families go
// different ways; "" where their stacks are equal.
func parting(x, y *analysis.Family) string {
	equal := 0
	for equal < len(x.Loose) && equal < len(y.Loose) && x.Loose[len(x.Loose)-1-equal] == y.Loose[len(y.Loose)-1-equal] {
		equal++
	}
	at := func(f *analysis.Family) string {
		switch {
		case equal >= len(f.Loose):
			return "ends there"
		case equal == 0:
			return "begins with " + Visible(f.Loose[len(f.Loose)-1])
		}
		return "goes on with " + Visible(f.Loose[len(f.Loose)-1-equal])
	}
	creators := ""
	if x.LooseCreator != y.LooseCreator {
		creators = fmt.Sprintf("They were started by different functions: the first by %s, the second by %s. ", orUnknown(x.LooseCreator), orUnknown(y.LooseCreator))
	}
	if equal == len(x.Loose) && equal == len(y.Loose) {
		return strings.TrimSpace(creators)
	}
	if equal == 0 {
		return creators + fmt.Sprintf("Their outermost frames differ: the first %s, the second %s.", at(x), at(y))
	}
	return creators + fmt.Sprintf("From the outermost frame inwards %s equal; then the first %s, and the second %s.", wording.PagePlural(int64(equal), "frame is", "frames are"), at(x), at(y))
}

func orUnknown(creator string) string {
	if creator == "" {
		return "nobody that was printed"
	}
	return Visible(creator)
}

func bothAttributes(x, y *analysis.Family) []WhyAttribute {
	all := maps.Clone(x.Attributes)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, y.Attributes)
	var out []WhyAttribute
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first, second := x.Attributes[name], y.Attributes[name]
		if first != "" || second != "" {
			out = append(out, WhyAttribute{Name: Visible(name), First: Visible(first), Second: Visible(second), Other: first != second})
		}
	}
	return out
}

func attributesPart(all []WhyAttribute) string {
	var other []string
	for _, a := range all {
		if a.Other {
			other = append(other, a.Name)
		}
	}
	if len(other) == 0 {
		return "What is shown of them is equal; they differ in what their key holds beside it."
	}
	return "They differ in " + wording.List(other, len(other)) + "."
}

// others are the families that can be chosen beside the first.
func (m *diffMaker) others(out *DiffWhy, r *diff.Row) {
	if m.in.Frozen {
		return
	}
	out.Fingerprint = r.Family.Fingerprint
	for i := range m.in.Result.Rows {
		f := m.in.Result.Rows[i].Family
		if f != nil && f.Kind == r.Family.Kind && f.Fingerprint != out.Fingerprint && len(out.Others) < maxWhyOthers {
			out.Others = append(out.Others, Choice{Value: f.Fingerprint, Text: Visible(arrow(m.title(f)))})
		}
	}
	for k, values := range m.here.query {
		for _, v := range values {
			if k != "why" {
				out.Hidden = append(out.Hidden, Pair{k, v})
			}
		}
	}
	slices.SortFunc(out.Hidden, func(a, b Pair) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
}
