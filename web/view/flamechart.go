package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// plan is which nodes get a box.
type plan map[*flame.Node]bool

// planned are the widest nodes below a root, at most maxFlameBoxes in rows and none below
// narrowest: a node's parent is wider and stands before it, so that it has a box as well.
func (m *flameMaker) planned(root *flame.Node, rows int, narrowest float64) plan {
	type entry struct {
		node  *flame.Node
		depth int
	}
	least := float64(m.weight(root)) * narrowest
	var all []entry
	level := []*flame.Node{root}
	for depth := 0; depth < rows && len(level) > 0; depth++ {
		var next []*flame.Node
		for _, n := range level {
			all = append(all, entry{n, depth})
			for _, c := range n.Children {
				if w := m.weight(c); w > 0 && float64(w) >= least {
					next = append(next, c)
				}
			}
		}
		level = next
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(m.weight(b.node), m.weight(a.node)), cmp.Compare(a.depth, b.depth))
	})
	out := plan{}
	for _, e := range all[:min(len(all), maxFlameBoxes)] {
		out[e.node] = true
	}
	return out
}

func (m *flameMaker) chart(out *Flame) {
	drawn := m.planned(m.root, maxFlameRows, narrowestBox)
	var above plan
	if m.function != nil {
		above = m.planned(m.function.Callers, maxFlameRows, narrowestBox)
	}
	out.Legend = m.legend()
	data := m.data(drawn, above)
	data.Twin = m.twin(drawn, above)
	out.Chart = data
	all, found, members := m.count()
	if m.sought != "" {
		switch found {
		case 0:
			out.FilterFound = fmt.Sprintf("No function here has “%s” in its name.", Visible(m.in.Query.Get("q")))
		default:
			out.FilterFound = fmt.Sprintf("%s with “%s”", wording.PagePlural(int64(found), "call", "calls"), Visible(m.in.Query.Get("q")))
			if m.function == nil {
				out.FilterFound += fmt.Sprintf(", on the stacks of %s of %s", wording.Number(int64(members)), many(m.kind, m.root.Count))
			}
			out.FilterFound += "."
		}
	}
	out.Note = wording.PagePlural(int64(all), "call", "calls") + "; what is too narrow to see stands together as “n more”."
	if deeper(m.root) {
		out.Note += fmt.Sprintf(" Calls below row %d are left out.", maxFlameRows)
	}
	if m.function != nil && (m.function.Cut > 0 || deeper(m.function.Callers)) {
		out.Note += fmt.Sprintf(" Callers above row %d are left out.", maxFlameRows)
	}
	switch {
	case m.in.Frozen:
	case m.function != nil:
		out.Note += " A box opens the callers and callees of its function."
	default:
		out.Note += " A box opens the graph of what is below it."
	}
}

// deeper reports whether a stack goes on beyond the last row from a root.
func deeper(root *flame.Node) bool {
	level := []*flame.Node{root}
	for depth := 0; depth < maxFlameRows && len(level) > 0; depth++ {
		var next []*flame.Node
		for _, n := range level {
			next = append(next, n.Children...)
		}
		level = next
	}
	return len(level) > 0
}

// data is the drawing; above are the boxes of callers, nil for none.
func (m *flameMaker) data(drawn, above plan) *chart.FlameData {
	d := &chart.FlameData{ID: "flame", Title: m.headline(), Root: m.box(m.root, drawn, len(m.path) == 1, "")}
	where, boxes := "root on top", len(drawn)
	if above != nil {
		callers := m.box(m.function.Callers, above, false, "")
		d.Callers, boxes, where = &callers, boxes+len(above)-1, "one function between its callers above and its callees below"
	}
	d.Desc = fmt.Sprintf("A tree of calls, %s, with %s; the table below has its widest.", where, wording.PagePlural(int64(boxes), "box", "boxes"))
	return d
}

// box is one node with those below it that are drawn; above is the figure of the box
// over it, which need not be said again where there is little room.
func (m *flameMaker) box(n *flame.Node, drawn plan, root bool, above string) chart.FlameBox {
	b := chart.FlameBox{Name: m.name(n, root), Told: m.told(n, root), Weight: m.weight(n), Look: m.look(n, root), Figure: m.figure(n)}
	b.FigureFirst = m.changes() && b.Figure != above
	if !root {
		_, bare := document.FunctionName(n.Func)
		mark := ""
		if n.Creator {
			mark = "← "
		}
		b.Bare, b.Last = mark+Visible(bare), mark+Visible(bare[strings.LastIndexByte(bare, '.')+1:])
	}
	b.Found = m.sought != "" && !root && strings.Contains(strings.ToLower(n.Func), m.sought) || m.function != nil && n == m.root
	b.URL = m.zoom(n)
	for _, c := range m.ordered(n.Children) {
		switch w := m.weight(c); {
		case drawn[c]:
			b.Children = append(b.Children, m.box(c, drawn, false, b.Figure))
		case w > 0:
			b.Left++
			b.LeftWeight += w
		}
	}
	return b
}

// ordered are calls as they stand side by side: with most members, or most change,
// first.
func (m *flameMaker) ordered(nodes []*flame.Node) []*flame.Node {
	if m.byName {
		return nodes
	}
	out := slices.Clone(nodes)
	slices.SortStableFunc(out, func(a, b *flame.Node) int {
		if m.changes() {
			return cmp.Or(cmp.Compare(b.Change(), a.Change()), cmp.Compare(m.weight(b), m.weight(a)))
		}
		return cmp.Compare(m.weight(b), m.weight(a))
	})
	return out
}

// figure is written at the edge of a box: "56", "▲+40", "▼−3", "=".
func (m *flameMaker) figure(n *flame.Node) string {
	if m.changes() {
		return changeWords(n.Change(), "=")
	}
	return wording.Number(int64(n.Count))
}

func changeWords(change int, none string) string {
	switch {
	case change > 0:
		return "▲" + wording.Signed(change)
	case change < 0:
		return "▼" + wording.Signed(change)
	}
	return none
}

// told returns what is shown when the reader points at a box.
func (m *flameMaker) told(n *flame.Node, root bool) string {
	name := "all"
	switch {
	case !root && n.Creator:
		name = "created by " + Visible(n.Func)
	case !root:
		name = Visible(n.Func)
	}
	if m.changes() {
		text := fmt.Sprintf("%s: %s → %s, %s", name, wording.Number(int64(n.Before)), many(m.kind, n.Count), changeWords(n.Change(), "= 0"))
		if n.Rise > 0 && n.Fall > 0 {
			text += fmt.Sprintf(" (%s and %s)", wording.Signed(n.Rise), wording.Signed(-n.Fall))
		}
		return text
	}
	text := fmt.Sprintf("%s: %s", name, atLeast(many(m.kind, n.Count), m.in.B.Bounded(m.kind)))
	if m.whole() > 0 {
		text += ", " + share(n.Count, m.whole())
	}
	if own := n.Own(); own > 0 && own < n.Count && m.function == nil {
		text += ", " + wording.Number(int64(own)) + " end here"
	}
	return text
}

// whole is what shares are of: all members that are drawn, or those with the function of the page.
func (m *flameMaker) whole() int {
	if m.function != nil {
		return m.root.Count
	}
	return m.in.Tree.Root.Count
}

func share(n, of int) string {
	return wording.PageShare(float64(n), float64(of), 1)
}

// look is the tint of a box: that of its module, or of its change.
func (m *flameMaker) look(n *flame.Node, root bool) string {
	if m.changes() {
		switch c := n.Change(); {
		case c > 0:
			return "up"
		case c < 0:
			return "down"
		}
		return "same"
	}
	if root {
		return "f0"
	}
	if tint := m.tints[module(n.Func)]; tint != "" {
		return tint
	}
	return "f0"
}

// module returns whose code a function is: the first path elements of its package.
//
//	k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod → k8s.io/kubernetes
//	github.com/google/cadvisor/manager.New                → github.com/google/cadvisor
//	net/http.(*conn).serve, runtime.gopark                → ""
//	okhttp3.internal.concurrent.TaskRunner.run            → okhttp3.internal
//	java.lang.Thread.run                                  → ""
func module(function string) string {
	path, _ := document.FunctionName(function)
	path = strings.TrimSuffix(path, ".")
	parts := strings.Split(path, "/")
	switch {
	case len(parts) == 1 && !strings.Contains(path, "."):
		if path == "main" {
			return path
		}
		return ""
	case len(parts) == 1:
		return javaModule(path)
	case !strings.Contains(parts[0], "."):
		return "" // the standard library
	case parts[0] == "github.com" || parts[0] == "gitlab.com" || parts[0] == "bitbucket.org" || parts[1] == "x":
		return strings.Join(parts[:min(len(parts), 3)], "/")
	}
	return parts[0] + "/" + strings.Split(parts[1], ".")[0]
}

func javaModule(path string) string {
	parts := strings.Split(path, ".")
	switch parts[0] {
	case "java", "javax", "jdk", "sun":
		return ""
	}
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// maxTints bounds the modules that have a tint of their own.
const maxTints = 5

// modules gives the modules with most members on their stacks a tint each, f1 to f5,
// whatever the page is zoomed to.
func (m *flameMaker) modules() map[string]string {
	out := map[string]string{}
	for i, name := range m.widestModules() {
		out[name] = "f" + strconv.Itoa(i+1)
	}
	return out
}

// widestModules counts a module once on each stack.
func (m *flameMaker) widestModules() []string {
	weights := map[string]int{}
	var walk func(n *flame.Node, above string)
	walk = func(n *flame.Node, above string) {
		for _, c := range n.Children {
			name := module(c.Func)
			if name != "" && name != above {
				weights[name] += m.weight(c)
			}
			walk(c, name)
		}
	}
	walk(m.in.Tree.Root, "")
	var names []string
	for name, w := range weights {
		if w > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), maxTints)]
}

func (m *flameMaker) legend() []FlameKey {
	if m.changes() {
		return []FlameKey{{"up", "▲ more at " + snapshotName(m.in.B)}, {"down", "▼ fewer at " + snapshotName(m.in.B)}, {"same", "= no net change"}}
	}
	var out []FlameKey
	for i, name := range m.widestModules() {
		out = append(out, FlameKey{"f" + strconv.Itoa(i+1), Visible(name)})
	}
	return append(out, FlameKey{"f0", "standard library and others"})
}

// count says how many calls are below the box of the page, how many of them were
// searched for, and how many members have such a call on their stack.
func (m *flameMaker) count() (all, found, members int) {
	var walk func(n *flame.Node, inside bool)
	walk = func(n *flame.Node, inside bool) {
		all++
		if m.sought != "" && n.Func != "" && strings.Contains(strings.ToLower(n.Func), m.sought) {
			found++
			if !inside {
				members += n.Count
			}
			inside = true
		}
		for _, c := range n.Children {
			if m.weight(c) > 0 {
				walk(c, inside)
			}
		}
	}
	walk(m.root, false)
	if m.function != nil {
		for _, c := range m.function.Callers.Children {
			walk(c, true)
		}
	}
	return all, found, members
}

// twin lists the widest boxes in the order of the graph, callers of a function with levels
// below 0.
func (m *flameMaker) twin(drawn, above plan) chart.Table {
	t := chart.Table{Caption: "Calls by their place in the graph, the widest " + strconv.Itoa(maxFlameTwin), Head: []string{"Function", "Level", "Members", "Share"}}
	if m.changes() {
		t.Head = []string{"Function", "Level", snapshotName(m.in.A), snapshotName(m.in.B), "Rose", "Fell", "Change"}
	}
	widest := slices.AppendSeq(slices.Collect(maps.Keys(drawn)), maps.Keys(above))
	slices.SortFunc(widest, func(a, b *flame.Node) int {
		return cmp.Or(cmp.Compare(m.weight(b), m.weight(a)), strings.Compare(a.Key, b.Key))
	})
	listed := plan{}
	for _, n := range widest[:min(len(widest), maxFlameTwin)] {
		listed[n] = true
	}
	var walk func(n *flame.Node, level, step int)
	walk = func(n *flame.Node, level, step int) {
		if listed[n] && (step > 0 || level < 0) {
			t.Rows = append(t.Rows, m.row(n, level))
			t.URLs = append(t.URLs, m.zoom(n))
		}
		for _, c := range m.ordered(n.Children) {
			walk(c, level+step, step)
		}
	}
	if m.function == nil {
		walk(m.root, len(m.path)-1, 1)
	} else {
		walk(m.function.Callers, 0, -1)
		walk(m.root, 0, 1)
		t.Caption = "Callers, which have levels below 0, and callees"
	}
	if len(drawn)+len(above) <= maxFlameTwin && m.function == nil {
		t.Caption = "Calls by their place in the graph"
	}
	return t
}

func (m *flameMaker) row(n *flame.Node, level int) []string {
	name := m.name(n, true)
	if n.Func != "" {
		name = Visible(n.Func)
		if n.Creator {
			name = "created by " + name
		}
	}
	if m.changes() {
		return []string{name, strconv.Itoa(level), wording.Number(int64(n.Before)), wording.Number(int64(n.Count)), wording.Signed(n.Rise), wording.Signed(-n.Fall), changeWords(n.Change(), "= 0")}
	}
	return []string{name, strconv.Itoa(level), atLeast(wording.Number(int64(n.Count)), m.in.B.Bounded(m.kind)), share(n.Count, max(m.whole(), 1))}
}

// ends lists the families whose stacks are below the box of the page.
func (m *flameMaker) ends(out *Flame) {
	var families []*analysis.Family
	var walk func(n *flame.Node)
	walk = func(n *flame.Node) {
		families = append(families, n.Families...)
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(m.root)
	of := func(s *analysis.Snapshot) map[string]int {
		out := map[string]int{}
		if s != nil {
			for i := range s.Groups {
				if f := s.Groups[i].Family; f != nil {
					out[f.Fingerprint] += s.Groups[i].Count
				}
			}
		}
		return out
	}
	before, after := of(m.in.A), of(m.in.B)
	size := func(f *analysis.Family) int {
		if m.changes() {
			return max(after[f.Fingerprint]-before[f.Fingerprint], before[f.Fingerprint]-after[f.Fingerprint])
		}
		return after[f.Fingerprint]
	}
	families = slices.DeleteFunc(families, func(f *analysis.Family) bool { return size(f) == 0 })
	slices.SortFunc(families, func(a, b *analysis.Family) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	for _, f := range families[:min(len(families), maxFlameEnds)] {
		title := m.in.Titles[f.Fingerprint]
		if title == "" {
			title = f.Title
		}
		end := FlameEnd{Name: newFamilyName(title, f.Kind, f.Loose, f.LooseCreator, f.Attributes), Count: atLeast(wording.Number(int64(after[f.Fingerprint])), m.in.B.Bounded(m.kind))}
		if m.changes() {
			end.Count = fmt.Sprintf("%s → %s", wording.Number(int64(before[f.Fingerprint])), wording.Number(int64(after[f.Fingerprint])))
		}
		if !m.in.Frozen {
			end.Name.URL = familyURL(f.Fingerprint, m.in.CaseID, m.in.SeriesKey)
			if m.in.OtherID != "" && after[f.Fingerprint] == 0 {
				end.Name.URL = familyURL(f.Fingerprint, m.in.OtherID, "")
			}
		}
		out.Ends = append(out.Ends, end)
	}
	if len(families) > maxFlameEnds {
		out.EndNote = fmt.Sprintf("%d of %s, the largest.", maxFlameEnds, wording.PagePlural(int64(len(families)), "family", "families"))
	}
}
