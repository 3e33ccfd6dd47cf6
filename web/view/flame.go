package view

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// FlameInput is the input of the page of a flame graph: the merged stacks of
// snapshot B or, with A, of what changed between both.
type FlameInput struct {
	CaseID, CaseTitle, SeriesKey string
	// OtherID is the case of A where it is another one, else "".
	OtherID string
	// A is nil on the page of one snapshot.
	A, B *analysis.Snapshot
	Tree *flame.Tree
	// Kinds are those that have stacks here, Titles the names of families. States are those of
	// the members at B; the query names the one whose members Tree has.
	Kinds    []analysis.Kind
	States   []flame.State
	Titles   map[string]string
	Warnings []string
	Query    url.Values
	Engine   string
	Frozen   bool
}

// Flame is the page of a flame graph.
type Flame struct {
	Shell    Shell
	Frozen   bool
	Headline string
	Lead     string
	Minds    []string
	// Tabs choose the kind, States that of the members, Widths what a box measures, Orders which
	// comes first.
	Tabs, States, Widths, Orders []DiffTab
	// Path leads from the root to the box that the page is about, which has no URL.
	Path []Link
	// Hidden are the fields that the search keeps, Filter is what was searched for.
	Hidden      []Pair
	Filter      string
	FilterFound string
	Legend      []FlameKey
	// Chart is nil where there is nothing to draw; Empty says why.
	Chart *chart.FlameData
	Empty string
	Note  string
	// Ends are the families whose stacks are below the box, widest first.
	Ends    []FlameEnd
	EndNote string
	// Through leads from a box to its function over all stacks. Called says that the page is
	// about one.
	Through Link
	Called  bool
	// Functions are those with most members on whose stacks they are, as FunctionNote says.
	// Lists choose their order.
	Functions    []document.Item
	FunctionNote string
	Lists        []DiffTab
}

// FlameKey explains one look of boxes.
type FlameKey struct{ Look, Text string }

// FlameEnd is one family below the box of the page.
type FlameEnd struct {
	Name  FamilyName
	Count string
}

// What is drawn at most: boxes over all, rows from the box of the page, rows of the
// twin, families below it, functions in the list, states. narrowestBox is the share of the width below which a box
// is not worth its bytes: 4 of 1216 pixels.
const (
	maxFlameBoxes = 1000
	maxFlameRows  = 60
	maxFlameTwin  = 200
	maxFlameEnds  = 12
	maxFunctions  = 50
	maxStates     = 6
	excerptRows   = 7
	narrowestBox  = 4.0 / 1216
	// In an excerpt only boxes count that can be read.
	narrowestRead = 12.0 / 1216
)

// FlameKind is the kind that a page shows: the one asked for where it has stacks,
// else the first that has; empty where none has.
func FlameKind(asked string, kinds []analysis.Kind) analysis.Kind {
	if slices.Contains(kinds, analysis.Kind(asked)) {
		return analysis.Kind(asked)
	}
	if len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

// FlameKinds are the kinds of which at least one of the snapshots has families with
// a stack, where all of them list families of it.
func FlameKinds(snapshots ...*analysis.Snapshot) []analysis.Kind {
	var out []analysis.Kind
	for _, k := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread} {
		stacks, everywhere := false, true
		for _, s := range snapshots {
			listed := false
			for i := range s.Groups {
				if f := s.Groups[i].Family; f != nil && f.Kind == k {
					listed, stacks = true, stacks || len(f.Loose) > 0
				}
			}
			everywhere = everywhere && listed
		}
		if stacks && everywhere {
			out = append(out, k)
		}
	}
	return out
}

// flameMaker holds what the parts of a flame graph share.
type flameMaker struct {
	in   FlameInput
	base string
	kind analysis.Kind
	// root is the box of the page, path leads to it.
	root *flame.Node
	path []*flame.Node
	// function is the one that the page is about, over all stacks. Its callees are root.
	function *flame.Sandwich
	// members says that boxes of a pair measure the members at B, not the change;
	// unknown that the pair has no change to tell.
	members, unknown bool
	byName           bool
	sought           string
	tints            map[string]string
}

// NewFlame makes the page of a flame graph.
func NewFlame(in FlameInput) Flame {
	m := newFlameMaker(in)
	out := Flame{Frozen: in.Frozen, Filter: Visible(in.Query.Get("q")), Minds: in.Warnings}
	out.Headline, out.Lead = m.headline(), m.lead()
	if !in.Frozen {
		m.controls(&out)
	}
	if in.Query.Get("zoom") != "" && m.root == in.Tree.Root && in.Query.Get("zoom") != "0" {
		out.Minds = append(slices.Clone(out.Minds), "The box that the address names is not in this graph; the whole is shown.")
	}
	if in.Query.Get("function") != "" && m.function == nil {
		out.Minds = append(slices.Clone(out.Minds), "No stack "+m.when()+" has the function that the address names; the whole is shown.")
	}
	for i, n := range m.path {
		link := Link{Text: m.name(n, i == 0)}
		if i < len(m.path)-1 {
			link.URL = m.zoom(n)
		}
		out.Path = append(out.Path, link)
	}
	m.ends(&out)
	out.Called = m.function != nil
	if len(m.path) > 1 && !out.Called {
		out.Through = Link{"Callers and callees of " + m.name(m.root, false) + " in all stacks", m.through(m.root.Name())}
	}
	m.functions(&out)
	if m.weight(m.root) == 0 {
		out.Empty = m.empty()
	} else {
		m.chart(&out)
	}
	out.Shell = m.shell(out.Headline)
	return out
}

func newFlameMaker(in FlameInput) *flameMaker {
	m := &flameMaker{in: in, kind: in.Tree.Kind, root: in.Tree.Root, sought: strings.ToLower(strings.TrimSpace(in.Query.Get("q")))}
	m.base = "/snapshots/" + url.PathEscape(in.B.ID) + "/flame"
	if in.A != nil {
		m.base = "/diff/" + url.PathEscape(in.A.ID) + ".." + url.PathEscape(in.B.ID) + "/flame"
		m.unknown = in.A.Bounded(m.kind) || in.B.Bounded(m.kind)
		m.members = m.unknown || in.Query.Get("width") == "members"
	}
	m.byName = in.Query.Get("order") == "name"
	m.path = in.Tree.Path(in.Query.Get("zoom"))
	if m.path == nil {
		m.path = []*flame.Node{in.Tree.Root}
	}
	if m.function = in.Tree.Sandwich(in.Query.Get("function")); m.function != nil {
		m.path = []*flame.Node{in.Tree.Root, m.function.Callees}
	}
	m.root = m.path[len(m.path)-1]
	m.tints = m.modules()
	return m
}

func (m *flameMaker) pair() bool { return m.in.A != nil }

// changes reports whether the page tells what rose and fell.
func (m *flameMaker) changes() bool { return m.pair() && !m.unknown }

// weight returns what the width of a box measures.
func (m *flameMaker) weight(n *flame.Node) int { return m.measure(n.Figures) }

func (m *flameMaker) measure(f flame.Figures) int {
	if m.pair() && !m.members {
		return f.Rise + f.Fall
	}
	return f.Count
}

func (m *flameMaker) who() string { return printable(m.in.B.Process.Name.Value) }

// when names the snapshots: "at t6", "from t1 to t6".
func (m *flameMaker) when() string {
	if m.pair() {
		return "from " + snapshotName(m.in.A) + " to " + snapshotName(m.in.B)
	}
	return "at " + snapshotName(m.in.B)
}

func snapshotName(s *analysis.Snapshot) string {
	if s.Label != "" {
		return Visible(s.Label)
	}
	return "an unnamed snapshot"
}

// headline is the graph in a sentence: "kubelet from t1 to t6: +131 and −3
// goroutines, by what they call."
func (m *flameMaker) headline() string {
	n := m.root
	text := m.who() + " " + m.when() + ": "
	switch {
	case m.changes() && n.Rise == 0 && n.Fall == 0:
		text += "no change among " + many(m.kind, n.Count)
	case m.changes():
		var parts []string
		if n.Rise > 0 {
			parts = append(parts, wording.Signed(n.Rise))
		}
		if n.Fall > 0 {
			parts = append(parts, wording.Signed(-n.Fall))
		}
		text += strings.Join(parts, " and ") + " " + kindWord(m.kind, n.Rise+n.Fall)
	default:
		text += atLeast(many(m.kind, n.Count), m.in.B.Bounded(m.kind))
	}
	if len(m.path) > 1 {
		verb := " in "
		if n.Creator {
			verb = " created by "
		}
		return text + verb + Visible(ShortFunc(n.Func)) + m.inState() + "."
	}
	return text + m.inState() + ", by what they call."
}

// state is that of the members that the page shows, "" for all.
func (m *flameMaker) state() string { return m.in.Query.Get("state") }

// inState words it behind their number: " in chan send".
func (m *flameMaker) inState() string {
	if m.state() == "" {
		return ""
	}
	return " in state “" + Visible(m.state()) + "”"
}

// lead says how to read the graph and what it leaves out.
func (m *flameMaker) lead() string {
	text := "Stacks merged from their outermost function downwards, as families compare them: without arguments, lines and state. "
	if m.function != nil {
		text = "All stacks with this function: above it who called it, below it what it calls. A stack that has it twice counts once, where it was first called. "
	}
	switch {
	case m.changes() && !m.members:
		text += "A box is as wide as what rose and what fell below it together; its figure is the one less the other."
	case m.pair():
		text += "A box is as wide as its " + kindWord(m.kind, 2) + " at " + snapshotName(m.in.B) + "."
	default:
		text += "A box is as wide as its " + kindWord(m.kind, 2) + "."
	}
	if bare := m.in.Tree.Bare; bare > 0 && len(m.path) == 1 {
		text += " " + capital(many(m.kind, bare)) + " " + plainPlural(bare, "has", "have") + " no stack in the dump and " + plainPlural(bare, "is", "are") + " not drawn."
	}
	if total := m.in.B.Totals.Of(m.kind); !m.pair() && m.state() == "" && total != nil && len(m.path) == 1 && *total > m.root.Count+m.in.Tree.Bare {
		n := *total - m.root.Count - m.in.Tree.Bare
		text += " " + capital(many(m.kind, n)) + " of the total " + plainPlural(n, "belongs", "belong") + " to no family: " + plainPlural(n, "it", "they") + " printed the dump or " + plainPlural(n, "is", "are") + " the runtime's own."
	}
	if m.in.Tree.Cut > 0 {
		text += fmt.Sprintf(" The innermost frames of %s are left out: this graph is full.", wording.PagePlural(int64(m.in.Tree.Cut), "family", "families"))
	}
	return text
}

func (m *flameMaker) empty() string {
	if m.kind == "" {
		return "No stack was captured " + m.when() + ": descriptors and watches have none. Add a goroutine or thread dump."
	}
	if m.changes() && !m.members {
		return "No call rose or fell " + m.when() + ". Choose “members” to see what is there."
	}
	return "No " + kindWord(m.kind, 1) + m.inState() + " has a stack " + m.when() + "."
}

// address is this page with other query values; an empty value drops a name.
func (m *flameMaker) address(change ...string) string {
	if m.in.Frozen {
		return ""
	}
	q := ofCases(m.in.CaseID, m.in.OtherID)
	for _, k := range []string{"kind", "state", "zoom", "function", "q", "order", "width", "list"} {
		if v := m.in.Query.Get(k); v != "" {
			q.Set(k, v)
		}
	}
	for i := 0; i+1 < len(change); i += 2 {
		if change[i+1] == "" {
			q.Del(change[i])
		} else {
			q.Set(change[i], change[i+1])
		}
	}
	return m.base + "?" + q.Encode()
}

// zoom is the page about a node, or about its function where the page is about one.
func (m *flameMaker) zoom(n *flame.Node) string {
	if n == m.in.Tree.Root {
		return m.address("zoom", "", "function", "", "kind", string(m.kind))
	}
	if m.function != nil {
		return m.through(n.Name())
	}
	return m.address("zoom", n.Key, "kind", string(m.kind))
}

// through is the page about a function, over all stacks.
func (m *flameMaker) through(name string) string {
	return m.address("zoom", "", "function", name, "kind", string(m.kind))
}

func (m *flameMaker) controls(out *Flame) {
	for _, k := range m.in.Kinds {
		out.Tabs = append(out.Tabs, DiffTab{Text: kindTitle(k), URL: m.address("kind", string(k), "state", "", "zoom", "", "function", ""), Current: k == m.kind})
	}
	out.States = m.stateTabs()
	if m.changes() {
		out.Widths = []DiffTab{
			{Text: "change", URL: m.address("width", ""), Current: !m.members},
			{Text: "members at " + snapshotName(m.in.B), URL: m.address("width", "members"), Current: m.members},
		}
	}
	first := "largest first"
	if m.changes() {
		first = "by change"
	}
	out.Orders = []DiffTab{{Text: first, URL: m.address("order", ""), Current: !m.byName}, {Text: "by name", URL: m.address("order", "name"), Current: m.byName}}
	cases := ofCases(m.in.CaseID, m.in.OtherID)
	for _, k := range []string{"case", "acase", "kind", "state", "zoom", "function", "order", "width", "list"} {
		if v := cmp.Or(cases.Get(k), m.in.Query.Get(k)); v != "" {
			out.Hidden = append(out.Hidden, Pair{k, v})
		}
	}
}

// name returns what is written on a box.
func (m *flameMaker) name(n *flame.Node, root bool) string {
	if root {
		return "all " + kindWord(m.kind, 2)
	}
	if n.Creator {
		return "← " + Visible(ShortFunc(n.Func))
	}
	return Visible(ShortFunc(n.Func))
}

func (m *flameMaker) shell(headline string) Shell {
	here := "Flame graph"
	s := Shell{Title: here + ", " + m.who() + " " + m.when(), Description: headline, Section: "cases", Engine: m.in.Engine, Here: here}
	s.Crumbs = []Link{{"Cases", "/"}, {Visible(m.in.CaseTitle), caseURL(m.in.CaseID)}}
	if m.pair() {
		s.Crumbs = append(s.Crumbs, Link{m.who() + ", " + snapshotName(m.in.A) + " to " + snapshotName(m.in.B), diffURL(m.in.A.ID, m.in.B.ID, m.in.CaseID, m.in.OtherID)})
	} else {
		s.Crumbs = append(s.Crumbs, Link{m.who() + ", " + snapshotName(m.in.B), snapshotURL(m.in.B.ID, m.in.CaseID)})
	}
	if !m.in.Frozen {
		base, query, _ := strings.Cut(m.address(), "?")
		s.Offer(base, "?"+query, WithoutStacks)
	}
	return s
}

// flameExcerpt is the upper part of a snapshot's graph, for its page; nil where the
// snapshot has no stacks.
func flameExcerpt(in FlameInput) *chart.FlameData {
	if in.Tree == nil || in.Tree.Root.Count == 0 {
		return nil
	}
	m := newFlameMaker(in)
	d := m.data(m.planned(m.root, excerptRows, narrowestRead), nil)
	d.Desc = fmt.Sprintf("The upper %d rows of a tree of calls, root on top.", excerptRows)
	return d
}
