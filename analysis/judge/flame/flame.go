// Package flame merges the stacks of one or two snapshots into one call tree: the
// common frames of many members are one node with their number. It takes the families
// of snapshots with their normalised frames and returns counts. For two snapshots it
// also returns what rose and fell below each node. The package is pure. It does not
// know widths, colours or which change is good. Members without a stack are only
// counted.
package flame

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// maxNodes bounds a tree, because stacks come from uploads. The largest families are
// entered first, so that only the smallest are cut off.
const maxNodes = 100_000

// Node is one call with all calls made from it.
type Node struct {
	// Func is the normalised name of the function; empty at the root.
	Func string
	// Creator reports that Func did not call but started the nodes below: "created by".
	Creator bool
	// Key identifies the path from the root to the node. It is equal in every tree with
	// that path: 16 lower-case hex digits, "0" at the root.
	Key string
	// Figures are those of the members at or below the node.
	Figures
	// Families end here: the function is their leaf, or their stack is cut off here.
	Families []*analysis.Family
	// Children are ordered by name.
	Children []*Node

	byName map[string]*Node
}

// Name is the function as its siblings are told apart: "m.run", "created by m.run".
func (n *Node) Name() string { return nameOf(n.Func, n.Creator) }

func nameOf(function string, creator bool) string {
	if creator {
		return "created by " + function
	}
	return function
}

// Figures count members. In a tree of two snapshots Count is of the later one and Before of
// the earlier one.
type Figures struct {
	Before, Count int
	// Rise is the sum of the rises of families, Fall the sum of the falls of others: Count -
	// Before is Rise - Fall. Both are 0 in the tree of one snapshot.
	Rise, Fall int
}

// Change is the rise minus the fall.
func (f *Figures) Change() int { return f.Rise - f.Fall }

func (f *Figures) add(more Figures) {
	f.Before += more.Before
	f.Count += more.Count
	f.Rise += more.Rise
	f.Fall += more.Fall
}

// Tree is the merged stacks of one kind.
type Tree struct {
	Kind analysis.Kind
	Root *Node
	// Bare counts members whose family has no stack ("stack unavailable"). They are not
	// in the tree.
	Bare int
	// Cut is the number of families whose innermost frames were left out because the
	// tree is full.
	Cut int

	nodes int
}

// Of merges the stacks of the groups of one snapshot.
func Of(groups []analysis.Group, kind analysis.Kind) *Tree {
	t := newTree(kind)
	for _, p := range paired(nil, groups, kind) {
		t.enter(p.family, p.Figures)
	}
	t.finish()
	return t
}

// Between merges the stacks of two snapshots, a before b. A family that only one of
// them lists has 0 members in the other. The caller must know whether that is true.
func Between(a, b []analysis.Group, kind analysis.Kind) *Tree {
	t := newTree(kind)
	for _, p := range paired(a, b, kind) {
		p.Rise, p.Fall = max(p.Count-p.Before, 0), max(p.Before-p.Count, 0)
		t.enter(p.family, p.Figures)
	}
	t.finish()
	return t
}

func newTree(kind analysis.Kind) *Tree {
	return &Tree{Kind: kind, Root: &Node{Key: "0"}}
}

// pair is one family with its members in both snapshots.
type pair struct {
	family *analysis.Family
	Figures
}

// paired joins the groups of a kind by fingerprint, largest first.
func paired(a, b []analysis.Group, kind analysis.Kind) []pair {
	at := map[string]int{}
	var out []pair
	of := func(g *analysis.Group) *pair {
		i, known := at[g.Family.Fingerprint]
		if !known {
			i = len(out)
			at[g.Family.Fingerprint] = i
			out = append(out, pair{family: g.Family})
		}
		return &out[i]
	}
	for i := range a {
		if g := &a[i]; g.Family != nil && g.Family.Kind == kind {
			of(g).Before += g.Count
		}
	}
	for i := range b {
		if g := &b[i]; g.Family != nil && g.Family.Kind == kind {
			of(g).Count += g.Count
		}
	}
	slices.SortFunc(out, func(x, y pair) int {
		return cmp.Or(cmp.Compare(max(y.Before, y.Count), max(x.Before, x.Count)), strings.Compare(x.family.Fingerprint, y.family.Fingerprint))
	})
	return out
}

// enter adds a family along its path from the root. Where the tree is full, the family ends
// at its last node.
func (t *Tree) enter(f *analysis.Family, members Figures) {
	if len(f.Loose) == 0 {
		t.Bare += members.Count
		return
	}
	n := t.Root
	n.add(members)
	defer func() { n.Families = append(n.Families, f) }()
	step := func(name string, creator bool) bool {
		child := t.child(n, name, creator)
		if child == nil {
			t.Cut++
			return false
		}
		n = child
		n.add(members)
		return true
	}
	outer := len(f.Loose) - 1
	if f.LooseCreator != "" {
		if !step(f.LooseCreator, true) {
			return
		}
		if f.Loose[outer] == f.LooseCreator && outer > 0 {
			// Some forms of a dump print the wrapper of the go statement as a frame. It
			// is compared once (family.canonicalText), so it is drawn once.
			outer--
		}
	}
	for i := outer; i >= 0 && step(f.Loose[i], false); i-- {
	}
}

// child is the child of n of that name, made where it is missing; nil if the tree is full.
func (t *Tree) child(n *Node, function string, creator bool) *Node {
	name := nameOf(function, creator)
	child := n.byName[name]
	if child == nil {
		if t.nodes >= maxNodes {
			return nil
		}
		t.nodes++
		child = &Node{Func: function, Creator: creator, Key: keyBelow(n.Key, name)}
		if n.byName == nil {
			n.byName = map[string]*Node{}
		}
		n.byName[name] = child
		n.Children = append(n.Children, child)
	}
	return child
}

// keyBelow is the key of the child of that name.
func keyBelow(parent, name string) string {
	h := fnv.New64a()
	h.Write([]byte(parent))
	h.Write([]byte{0})
	h.Write([]byte(name))
	s := strconv.FormatUint(h.Sum64(), 16)
	return strings.Repeat("0", 16-len(s)) + s
}

// finish sorts the nodes and frees what only entering needs.
func (t *Tree) finish() {
	open := []*Node{t.Root}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		n.byName = nil
		slices.SortFunc(n.Children, func(a, b *Node) int {
			return cmp.Or(strings.Compare(a.Func, b.Func), strings.Compare(a.Key, b.Key))
		})
		open = append(open, n.Children...)
	}
}

// Path leads from the root to the node with the key, both included. It is nil if the
// tree has no such node.
func (t *Tree) Path(key string) []*Node {
	return t.Root.path(key, nil)
}

func (n *Node) path(key string, above []*Node) []*Node {
	above = append(above, n)
	if n.Key == key {
		return slices.Clone(above)
	}
	for _, c := range n.Children {
		if found := c.path(key, above); found != nil {
			return found
		}
	}
	return nil
}

// Own is the number of members whose stack ends at the node, in the later snapshot.
func (n *Node) Own() int {
	own := n.Count
	for _, c := range n.Children {
		own -= c.Count
	}
	return own
}
