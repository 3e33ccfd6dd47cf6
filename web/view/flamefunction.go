package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// functions lists those of the capture, of which one is chosen: by the members on whose stacks
// they are, or whose stacks end in them. A search leaves out the others.
func (m *flameMaker) functions(out *Flame) {
	byOwn := m.in.Query.Get("list") == "own"
	if !m.in.Frozen {
		out.Lists = []DiffTab{{Text: "anywhere on the stack", URL: m.address("list", ""), Current: !byOwn}, {Text: "at its end", URL: m.address("list", "own"), Current: byOwn}}
	}
	all := slices.DeleteFunc(m.in.Tree.Functions(), func(f *flame.Function) bool {
		return m.measure(f.Figures) == 0 || byOwn && f.Own == 0 || !strings.Contains(strings.ToLower(f.Func), m.sought)
	})
	slices.SortStableFunc(all, func(a, b *flame.Function) int {
		total, own := cmp.Compare(m.measure(b.Figures), m.measure(a.Figures)), cmp.Compare(b.Own, a.Own)
		if byOwn {
			total, own = own, total
		}
		return cmp.Or(total, own, strings.Compare(a.Func, b.Func), strings.Compare(a.Name(), b.Name()))
	})
	out.FunctionNote = wording.PagePlural(int64(len(all)), "function", "functions")
	if m.sought != "" {
		out.FunctionNote += fmt.Sprintf(" with “%s”", Visible(m.in.Query.Get("q")))
	}
	if len(all) > maxFunctions {
		out.FunctionNote = fmt.Sprintf("%d of %s, the most frequent first", maxFunctions, out.FunctionNote)
	}
	if len(all) > 0 {
		out.FunctionNote += ", each with the " + kindWord(m.kind, 2) + " that have it on their stack"
	}
	out.FunctionNote += "."
	if !m.in.Frozen && len(all) > 0 {
		out.FunctionNote += " One opens its callers and callees."
	}
	for _, f := range all[:min(len(all), maxFunctions)] {
		out.Functions = append(out.Functions, m.functionItem(f))
	}
}

// stateTabs choose a state, of which the page then has the members alone.
func (m *flameMaker) stateTabs() []DiffTab {
	tab := func(text, state string) DiffTab {
		return DiffTab{Text: text, URL: m.address("state", state, "zoom", ""), Current: state == m.state()}
	}
	out := []DiffTab{tab("any", "")}
	for i, s := range m.in.States {
		if i < maxStates || s.Name == m.state() {
			out = append(out, tab(Visible(s.Name)+" "+wording.Number(int64(s.Count)), s.Name))
		}
	}
	return out
}

// functionItem is the count of a function, its name, its share and how many stacks end in it.
func (m *flameMaker) functionItem(f *flame.Function) document.Item {
	name := document.Span{Look: document.Function, Text: Visible(f.Func), URL: m.through(f.Name())}
	text := document.Text{name}
	if f.Creator {
		text = document.Text{document.Plain("created by "), name}
	}
	figure, more := atLeast(wording.Number(int64(f.Count)), m.in.B.Bounded(m.kind)), share(f.Count, max(m.in.Tree.Root.Count, 1))
	if m.changes() {
		figure, more = changeWords(f.Change(), "= 0"), wording.Number(int64(f.Before))+" → "+wording.Number(int64(f.Count))
	}
	if f.Own > 0 {
		more += ", " + wording.Number(int64(f.Own)) + " end in it"
	}
	text = append(text, document.Plain(" "), document.Marked(document.Muted, more))
	return document.Item{Blocks: document.Blocks{document.Text{document.Marked(document.Figured, figure)}, document.Group{Blocks: document.Blocks{text}}}}
}

// functionSection is the list of functions, nothing where the capture has none.
func (f *Flame) functionSection() document.Blocks {
	if len(f.Functions) == 0 && f.Filter == "" {
		return nil
	}
	out := document.NewSection("h-functions", "Functions", f.FunctionNote)
	if len(f.Lists) > 0 {
		out.Add(document.Group{Look: "tools", Blocks: tabBlocks("Where functions stand on the stack", f.Lists)})
	}
	if len(f.Functions) > 0 {
		out.Add(document.List{Look: "seen ends", Items: f.Functions})
	}
	return document.Blocks{out}
}
