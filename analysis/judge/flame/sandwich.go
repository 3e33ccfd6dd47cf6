package flame

import "slices"

// Sandwich is one function between what called it and what it calls, over all stacks of a
// tree. A stack that has it more than once counts once, where the function was first called.
type Sandwich struct {
	// Callers has the function as its root. The children of a node called it. Callees has
	// the function as its root as well, with what it calls below.
	Callers, Callees *Node
	// Cut is the number of places whose outermost callers were left out because the tree of
	// callers is full.
	Cut int
}

// Sandwich finds a function by the name of its nodes, nil if no stack has it.
func (t *Tree) Sandwich(name string) *Sandwich {
	callers, callees := newTree(t.Kind), newTree(t.Kind)
	var walk func(n *Node, above []*Node)
	walk = func(n *Node, above []*Node) {
		if n.Name() == name {
			callers.ascend(n, above)
			callees.merge(callees.Root, n)
			return
		}
		above = append(above, n)
		for _, c := range n.Children {
			walk(c, above)
		}
	}
	for _, c := range t.Root.Children {
		walk(c, nil)
	}
	if callees.Root.Func == "" {
		return nil
	}
	callers.finish()
	callees.finish()
	callers.Root.Func, callers.Root.Creator = callees.Root.Func, callees.Root.Creator
	return &Sandwich{Callers: callers.Root, Callees: callees.Root, Cut: callers.Cut}
}

// ascend adds the members of n to its callers, the innermost of which is the last above.
func (t *Tree) ascend(n *Node, above []*Node) {
	up := t.Root
	up.add(n.Figures)
	for _, c := range slices.Backward(above) {
		next := t.child(up, c.Func, c.Creator)
		if next == nil {
			t.Cut++
			return
		}
		up = next
		up.add(n.Figures)
	}
}

// merge adds n and what is below it to a node. A tree has room for all that another has.
func (t *Tree) merge(into, n *Node) {
	into.Func, into.Creator = n.Func, n.Creator
	into.add(n.Figures)
	into.Families = append(into.Families, n.Families...)
	for _, c := range n.Children {
		t.merge(t.child(into, c.Func, c.Creator), c)
	}
}

// Function is a function wherever it is called. A stack that has it more than once counts
// once. Own is the number of members whose stack ends in it, in the later snapshot.
type Function struct {
	Func    string
	Creator bool
	Figures
	Own int
}

// Name is that of the function's nodes.
func (f *Function) Name() string { return nameOf(f.Func, f.Creator) }

// Functions are all functions of the tree, in the order of their first place.
func (t *Tree) Functions() []*Function {
	var out []*Function
	known, open := map[string]*Function{}, map[string]int{}
	var walk func(n *Node)
	walk = func(n *Node) {
		name := n.Name()
		f := known[name]
		if f == nil {
			f = &Function{Func: n.Func, Creator: n.Creator}
			known[name] = f
			out = append(out, f)
		}
		if open[name] == 0 {
			f.add(n.Figures)
		}
		f.Own += n.Own()
		open[name]++
		for _, c := range n.Children {
			walk(c)
		}
		open[name]--
	}
	for _, c := range t.Root.Children {
		walk(c)
	}
	return out
}
