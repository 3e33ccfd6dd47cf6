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

// running counts the goroutines that run the function of a Once, or of which the dump has no
// stack.
func (d *lockSearch) running() int {
	if d.runningOnce < 0 {
		d.runningOnce = 0
		for g := range d.groups {
			for _, v := range d.groups[g].Variants {
				if function, _ := inOnce(v.Stack); function != "" || v.Stack.Unavailable != "" {
					d.runningOnce += v.Count
				}
			}
		}
	}
	return d.runningOnce
}
