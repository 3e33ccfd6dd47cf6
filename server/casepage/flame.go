package casepage

import (
	"net/http"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/say/evidence"
	"leakdiff/server/loader"
	"leakdiff/web/view"
)

// flamePath is the last element of the addresses of flame graphs, without the suffix of a
// twin.
const flamePath = "flame"

// graph is a flame graph with its case.
type graph struct {
	l  *loader.Loaded
	in view.FlameInput
}

func (s *Service) flameOf(r *http.Request, id string) (graph, error) {
	l, series, i, err := s.snapshot(r, id)
	if err != nil {
		return graph{}, err
	}
	b := series.Snapshots[i]
	g := graph{l, view.FlameInput{CaseID: l.ID, CaseTitle: l.Title, SeriesKey: seriesKey(series), B: b, Kinds: view.FlameKinds(b), Titles: series.Titles, Query: r.URL.Query(), Engine: s.respond.Engine()}}
	kind := view.FlameKind(g.in.Query.Get("kind"), g.in.Kinds)
	g.in.States = flame.States(b.Groups, kind)
	g.in.Tree = flame.Of(flame.InState(b.Groups, g.in.Query.Get("state")), kind)
	if b.Bounded(g.in.Tree.Kind) {
		g.in.Warnings = []string{"The dump is cut and nothing complete stands beside it: every figure is a lower bound."}
	}
	return g, nil
}

func (s *Service) flameBetween(r *http.Request, pair string) (graph, error) {
	c, err := s.compare(r, pair)
	if err != nil {
		return graph{}, err
	}
	a, b := c.seriesA.Snapshots[c.a], c.seriesB.Snapshots[c.b]
	g := graph{c.l, view.FlameInput{
		CaseID: c.l.ID, CaseTitle: c.l.Title, SeriesKey: seriesKey(c.seriesB), A: a, B: b, Kinds: view.FlameKinds(a, b),
		Titles: c.seriesB.Titles, Warnings: evidence.Warnings(c.result.Warnings), Query: r.URL.Query(), Engine: s.respond.Engine(),
	}}
	if c.la != c.l {
		g.in.OtherID = c.la.ID
	}
	kind, state := view.FlameKind(g.in.Query.Get("kind"), g.in.Kinds), g.in.Query.Get("state")
	g.in.States = flame.States(b.Groups, kind)
	g.in.Tree = flame.Between(flame.InState(a.Groups, state), flame.InState(b.Groups, state), kind)
	return g, nil
}

func (s *Service) loadFlame(r *http.Request, id string, _ purpose) (*loaded, error) {
	return loadedFlame(s.flameOf(r, id))
}

func (s *Service) loadFlameBetween(r *http.Request, id string, _ purpose) (*loaded, error) {
	return loadedFlame(s.flameBetween(r, id))
}

func loadedFlame(g graph, err error) (*loaded, error) {
	if err != nil {
		return nil, err
	}
	data := flameJSON(g)
	return &loaded{l: g.l, caseID: g.l.ID, data: known(&data), name: func(shell view.Shell) string { return shell.Description }, make: func(why purpose) (view.Page, error) {
		in := g.in
		in.Frozen = bool(why)
		return view.NewFlame(in).Page(), nil
	}}, nil
}

type flameNode struct {
	Function string       `json:"function"`
	Creator  bool         `json:"creator,omitempty"`
	Key      string       `json:"key"`
	Before   *int         `json:"before,omitempty"`
	Count    int          `json:"count"`
	Rise     *int         `json:"rise,omitempty"`
	Fall     *int         `json:"fall,omitempty"`
	Families []string     `json:"families,omitempty"`
	Children []*flameNode `json:"children,omitempty"`
}

// FlameGraph is a flame graph as data.
type FlameGraph struct {
	Schema string        `json:"schema"`
	A      string        `json:"a,omitempty"`
	B      string        `json:"b"`
	Kind   analysis.Kind `json:"kind"`
	// State is that of the members, "" for all.
	State    string     `json:"state,omitempty"`
	NoStack  int        `json:"no_stack"`
	Lower    bool       `json:"lower_bound"`
	Warnings []string   `json:"warnings"`
	Root     *flameNode `json:"root"`
	// Callers and Callees are those of the function that the address names.
	Callers *flameNode `json:"callers,omitempty"`
	Callees *flameNode `json:"callees,omitempty"`
}

// flameJSON returns the whole tree as data. The tree of a pair has the figures of both.
func flameJSON(g graph) FlameGraph {
	out := FlameGraph{
		Schema: "leakdiff.flame/1", B: g.in.B.ID, Kind: g.in.Tree.Kind, State: g.in.Query.Get("state"), NoStack: g.in.Tree.Bare, Lower: g.in.B.Bounded(g.in.Tree.Kind),
		Warnings: append([]string{}, g.in.Warnings...),
	}
	if g.in.A != nil {
		out.A, out.Lower = g.in.A.ID, out.Lower || g.in.A.Bounded(g.in.Tree.Kind)
	}
	var node func(n *flame.Node) *flameNode
	node = func(n *flame.Node) *flameNode {
		x := &flameNode{Function: n.Func, Creator: n.Creator, Key: n.Key, Count: n.Count}
		if g.in.A != nil {
			x.Before, x.Rise, x.Fall = &n.Before, &n.Rise, &n.Fall
		}
		for _, f := range n.Families {
			x.Families = append(x.Families, f.Fingerprint)
		}
		for _, c := range n.Children {
			x.Children = append(x.Children, node(c))
		}
		return x
	}
	out.Root = node(g.in.Tree.Root)
	if s := g.in.Tree.Sandwich(g.in.Query.Get("function")); s != nil {
		out.Callers, out.Callees = node(s.Callers), node(s.Callees)
	}
	return out
}
