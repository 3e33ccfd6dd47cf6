package wait

import "leakdiff/analysis"

// A sync.Once holds its lock while it runs its function. Both are seen in a stack:
//
//	sync.(*Mutex).Lock(...)                sync.(*Once).doSlow(0x0?, 0xc0000141b0)
//	sync.(*Once).doSlow(0x0?, …)           app.(*Config).Get(...)
//	app.(*Config).Get(...)
//	app.(*Config).load(0xc0000141b0)       runs, and holds the lock
//	sync.(*Once).doSlow(0x0?, 0x0?)
//
// So a goroutine that waits for a Once while it alone runs the function of any waits for itself.

const onceFrame = "sync.(*Once).doSlow"

// inOnce is the function of a Once that a stack runs, "" for none, and whether the stack waits for
// a Once.
func inOnce(stack *analysis.Stack) (function string, waits bool) {
	for i, f := range stack.Frames {
		if f.Func != onceFrame {
			continue
		}
		if i > 0 && stack.Frames[i-1].Func == "sync.(*Mutex).Lock" {
			waits = true
			continue
		}
		return stack.Frames[max(0, i-1)].Func, waits
	}
	return "", waits
}

// once is the only member of a family that waits for the Once of which it runs the function.
func (d *lockSearch) once(w waiting, stack *analysis.Stack) *nested {
	function, waits := inOnce(stack)
	if function == "" || !waits || w.count != 1 || len(w.ids) != 1 || d.running() != 1 {
		return nil
	}
	return &nested{id: w.ids[0], group: w.group, outer: function, once: true}
}

// onces names two goroutines that alone run functions of Onces, where each waits for another Once: only
// who runs such a function holds the lock of its Once, so both wait for ever.
func (d *lockSearch) onces() {
	var two []Holder
	var in []*queue
	for g := range d.groups {
		group := &d.groups[g]
		for v := range group.Variants {
			stack := group.Variants[v].Stack
			function, waits := inOnce(stack)
			if hidden(stack) || function != "" && (!waits || !group.Members.Identified()) {
				return
			}
			if function == "" {
				continue
			}
			for m := range group.Members.InVariants(func(variant int) bool { return variant == v }) {
				h := Holder{ID: m.Identity.ID, Fingerprint: group.Family.Fingerprint, At: EntryOf(stack), Func: function, State: m.State, Wait: m.Wait, For: ForLock, Same: true}
				if q := d.waitsFor(&h); q != nil && !runs(m.State) && len(two) < 2 {
					two, in = append(two, h), append(in, q)
					continue
				}
				return
			}
		}
	}
	if len(two) == 2 && in[0] != in[1] {
		in[0].found, in[0].holders, in[0].recursives = 1, []Holder{two[1]}, nil
		in[1].found, in[1].holders, in[1].recursives = 1, []Holder{two[0]}, nil
	}
}

// hidden reports a stack of which the dump shows no frames, or not all.
func hidden(stack *analysis.Stack) bool { return stack.Unavailable != "" || stack.Elided != 0 }

// running counts the goroutines that run the function of a Once, or of which the dump hides frames.
func (d *lockSearch) running() int {
	if d.runningOnce < 0 {
		d.runningOnce = 0
		for g := range d.groups {
			for _, v := range d.groups[g].Variants {
				if function, _ := inOnce(v.Stack); function != "" || hidden(v.Stack) {
					d.runningOnce += v.Count
				}
			}
		}
	}
	return d.runningOnce
}
