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
}

// held is a descriptor of one process. Closing says that exec closes it.
type held struct {
	*Opening
	closing bool
}

func newTable() *table { return &table{tasks: map[int]*process{}, known: map[string]int{}} }

func (t *table) newProcess(pid int) *process {
	p := &process{Process: Process{PID: pid}, descriptors: map[int]held{}, live: map[int]bool{}}
	t.processes = append(t.processes, p)
	return p
}

// of is the process of a task. A task that nothing introduced is taken for a thread of the first
// process: strace -p attaches to all threads of one.
func (t *table) of(task int) *process {
	if p := t.tasks[task]; p != nil {
		p.live[task] = true
		return p
	}
	if t.root == nil {
		t.root = t.newProcess(task)
	}
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
	p.descriptors[o.FD] = held{&o, closing}
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
		child.descriptors[fd] = d
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

// left are the processes with what they left open. Those that ended are left out where others
// live on: commands that a program ran.
func (t *table) left() []Process {
	lives := slices.ContainsFunc(t.processes, func(p *process) bool { return len(p.live) > 0 })
	var out []Process
	for i, p := range t.processes {
		if p.Opened == 0 && len(p.descriptors) == 0 || len(p.live) == 0 && (lives || i > 0) {
			continue
		}
		for _, fd := range slices.Sorted(maps.Keys(p.descriptors)) {
			p.Left = append(p.Left, *p.descriptors[fd].Opening)
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
