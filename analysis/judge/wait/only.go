package wait

import (
	"slices"
	"strings"

	"leakdiff/analysis"
)

// only reports whether a goroutine is the only one that may hold the lock of a queue: nobody else is in
// the package that has its methods, except those who wait for the lock, and functions that stand at the
// root of a stack and wait for a message or a time.
//
//	time.Sleep(0x8bb2c97000)
//	main.main()
//
// A lock that is held has its holder in the dump, and most locks are fields that only their own package
// can lock. One that a function of that package took and a root function like the one above has is the
// exception, so this proves nothing.
func (d *lockSearch) only(q *queue, id int64) bool {
	if len(q.types) == 0 {
		return false
	}
	given := map[int64]bool{} // an address that may be that of the object
	for address, all := range d.addresses {
		for _, g := range all {
			given[g.id] = given[g.id] || near(address, q.lock)
		}
	}
	for g := range d.groups {
		group := &d.groups[g]
		if group.Family.Kind != analysis.KindGoroutine || d.allWait(q, g) {
			continue
		}
		within := make([]bool, len(group.Variants))
		for v := range group.Variants {
			stack := group.Variants[v].Stack
			if hidden(stack) {
				return false
			}
			within[v] = q.within(stack)
		}
		if !slices.Contains(within, true) {
			continue
		}
		if !group.Members.Identified() {
			return false
		}
		for m := range group.Members.InVariants(func(variant int) bool { return variant < 0 || variant < len(within) && within[variant] }) {
			if _, waits := slices.BinarySearch(q.ids, m.Identity.ID); !waits && m.Identity.ID != id && !(atRest(stackOf(group, m.Variant), m.State) && !given[m.Identity.ID]) {
				return false
			}
		}
	}
	return true
}

// allWait reports whether all members of a family wait for one lock.
func (d *lockSearch) allWait(q *queue, g int) bool {
	n := 0
	for _, w := range q.waiting {
		if w.group == g {
			n += w.count
		}
	}
	return n > 0 && n == d.groups[g].Count
}

// within reports whether a stack has a function of the packages of the methods in which waiters of a
// queue wait.
func (q *queue) within(stack *analysis.Stack) bool {
	return slices.ContainsFunc(stack.Frames, func(f analysis.Frame) bool {
		return slices.ContainsFunc(q.types, func(kind string) bool {
			return strings.HasPrefix(f.Func, kind[:strings.LastIndexByte(kind, '.')+1])
		})
	})
}

// atRest reports a stack of the standard library below a plain function, that sleeps or receives.
func atRest(stack *analysis.Stack, state string) bool {
	if state != "sleep" && !strings.HasPrefix(state, "chan receive") && !strings.HasPrefix(state, "select") || stack == nil || len(stack.Frames) == 0 {
		return false
	}
	root := stack.Frames[len(stack.Frames)-1].Func
	if strings.Count(root[strings.LastIndexByte(root, '/')+1:], ".") != 1 {
		return false // a method or a closure
	}
	return !slices.ContainsFunc(stack.Frames[:len(stack.Frames)-1], func(f analysis.Frame) bool {
		return !strings.HasPrefix(f.Func, "time.") && !strings.HasPrefix(f.Func, "runtime.")
	})
}

// startedOnlyWaiters reports whether the goroutines that an id started all wait for one lock. One
// that was just woken does not.
func (d *lockSearch) startedOnlyWaiters(q *queue, id int64) bool {
	for g := range d.children[id] {
		at := slices.IndexFunc(q.waiting, func(w waiting) bool { return w.group == g })
		if at < 0 {
			return false
		}
		whole := q.waiting[at].count == d.groups[g].Count
		for m := range d.groups[g].Members.All() {
			if m.Parent != id {
				continue
			}
			if _, named := slices.BinarySearch(q.ids, m.Identity.ID); !named && !whole || runs(m.State) {
				return false
			}
		}
	}
	return len(d.children[id]) > 0
}
