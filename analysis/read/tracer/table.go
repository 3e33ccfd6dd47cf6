package tracer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// table follows the descriptors of the traced processes.
type table struct {
	processes []*process
	// tasks are the processes of threads, by their ids. root is that of tasks of which nothing
	// says where they belong.
	tasks map[int]*process
	root  *process
	open  int
	// stacks are the distinct ones, known their indexes by their text.
	stacks []analysis.Stack
	known  map[string]int
	// full has what was not kept.
	full struct{ descriptors, stacks, tasks int }
}

// process is a process while it is followed.
type process struct {
	Process
	descriptors map[int]held
	// live are its tasks that were seen and did not end.
	live map[int]bool
	// called says that a line is of it. Else its calls are in another file.
	called bool
	// stacks counts what it opened by the index of the stack.
	stacks map[int]int
}

// held is a descriptor of one process. Closing says that exec closes it, inherited that the
// parent opened it.
type held struct {
	*Opening
	closing, inherited bool
}

func newTable() *table { return &table{tasks: map[int]*process{}, known: map[string]int{}} }

func (t *table) newProcess(pid int) *process {
	p := &process{Process: Process{PID: pid}, descriptors: map[int]held{}, live: map[int]bool{}, stacks: map[int]int{}}
	t.processes = append(t.processes, p)
	return p
}

// of is the process of a task. A task that nothing introduced is taken for a thread of the first
// process: strace -p attaches to all threads of one.
func (t *table) of(task int) *process {
	if p := t.tasks[task]; p != nil {
		p.live[task], p.called = true, true
		return p
	}
	if t.root == nil {
		t.root = t.newProcess(task)
	}
	t.root.called = true
	if !t.root.Certain && task > 0 && (t.root.PID == 0 || task < t.root.PID) {
		t.root.PID = task
	}
	t.join(task, t.root)
	return t.root
}

func (t *table) join(task int, p *process) {
	if len(t.tasks) >= maxTasks {
		t.full.tasks++
		return
	}
	t.tasks[task] = p
	p.live[task] = true
}

// opened notes a descriptor, which closes another one of its number. It returns nil if there is
// no room.
func (t *table) opened(p *process, o Opening, closing bool) *Opening {
	p.Opened++
	t.closed(p, o.FD)
	if t.open >= maxOpen {
		t.full.descriptors++
		return nil
	}
	t.open++
	p.descriptors[o.FD] = held{&o, closing, false}
	return &o
}

func (t *table) closed(p *process, fd int) {
	if _, open := p.descriptors[fd]; open {
		delete(p.descriptors, fd)
		t.open--
	}
}

// closedIf closes the descriptors of which holds is true.
func (t *table) closedIf(p *process, holds func(fd int, d held) bool) {
	for fd, d := range p.descriptors {
		if holds(fd, d) {
			t.closed(p, fd)
		}
	}
}

// forked introduces a task that another one made: a thread, which shares the descriptors, or a
// process, which gets copies.
func (t *table) forked(parent *process, task int, shares bool) {
	if shares {
		t.join(task, parent)
		return
	}
	child := t.newProcess(task)
	child.Certain, child.Program = true, parent.Program
	t.join(task, child)
	for fd, d := range parent.descriptors {
		if t.open >= maxOpen {
			t.full.descriptors++
			return
		}
		t.open++
		child.descriptors[fd] = held{d.Opening, d.closing, true}
	}
}

// stack returns the index of a stack by its text, which parse reads if it is new; -1 without one.
func (t *table) stack(text string, parse func() analysis.Stack) int {
	at, known := t.known[text]
	if known {
		return at
	}
	if len(t.stacks) >= maxStacks {
		t.full.stacks++
		return -1
	}
	at = -1
	if s := parse(); len(s.Frames) > 0 {
		at = len(t.stacks)
		t.stacks = append(t.stacks, s)
	}
	t.known[strings.Clone(text)] = at
	return at
}

// openedAt notes the stack of a descriptor that a process opened.
func (p *process) openedAt(o *Opening, stack int) {
	if o.Stack = stack; stack >= 0 {
		p.stacks[stack]++
	}
}

// left are the processes with what they left open. Left out are those that ended where others
// live on, commands that a program ran, and those without a call.
func (t *table) left() []Process {
	lives := slices.ContainsFunc(t.processes, func(p *process) bool { return p.called && len(p.live) > 0 })
	var out []Process
	for i, p := range t.processes {
		p.Ended = len(p.live) == 0
		if !p.called || p.Opened == 0 && len(p.descriptors) == 0 || p.Ended && (lives || i > 0) {
			continue
		}
		stays := map[int]int{}
		for _, fd := range slices.Sorted(maps.Keys(p.descriptors)) {
			d := p.descriptors[fd]
			o := *d.Opening
			if o.Inherited = d.inherited; !o.Inherited && o.Stack >= 0 {
				stays[o.Stack]++
			}
			p.Left = append(p.Left, o)
		}
		for i := range p.Left {
			if o := &p.Left[i]; !o.Inherited && o.Stack >= 0 {
				o.OfStack, o.LeftOfStack = p.stacks[o.Stack], stays[o.Stack]
			}
		}
		out = append(out, p.Process)
	}
	return out
}

// programs are the files that stacks end in, libraries apart, with how many do.
type programs map[string]int

func (p programs) most() string {
	names := slices.Sorted(maps.Keys(p))
	if len(names) == 0 {
		return ""
	}
	return slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(p[a], p[b]) })
}
