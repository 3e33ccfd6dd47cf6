package ingest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/goroutine"
)

// Bounds of what is kept of addresses. Waiters of locks are noted one by one, so
// that a queue is counted right; of the others only some, since those of them that
// hold a lock are few.
const (
	mostArguments  = 50_000
	otherMembers   = 64
	otherFrames    = 16
	objectMembers  = 32
	familyObjects  = 256
	lockFrameDepth = 3
)

// arguments say of one stack which first arguments of its frames are noted.
type arguments struct {
	// frames index the frames that are noted: the lock, and methods.
	frames []int
	lock   int // index of the frame that waits for a lock, -1 without
	seen   int
	// found says that an address was.
	found bool
}

// argument is an address that goroutines of a stack name in one of its frames.
type argument struct {
	stack, frame int32 // indexes of textDump.order, and of the stack's frames
	address      uint64
}

// namers are the goroutines that name an argument. Of most there is one, and a dump
// has many thousands of them.
type namers struct {
	first  int64
	others *otherNamers
}

type otherNamers struct {
	count   int
	members []int64
}

// lockFuncs wait for the lock that is their receiver.
var lockFuncs = []string{"sync.(*Mutex).lockSlow", "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock", "sync.(*RWMutex).rlockSlow",
	"internal/sync.(*Mutex).lockSlow"}

// argumentsOf chooses the frames of a stack whose receiver is worth keeping.
func argumentsOf(s *analysis.Stack) *arguments {
	a := arguments{lock: -1}
	for i, f := range s.Frames {
		switch {
		case i < lockFrameDepth && slices.Contains(lockFuncs, f.Func):
			a.lock = i
			a.frames = append(a.frames, i)
		case len(a.frames) < otherFrames && receiver(f.Func) != "" && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/"):
			a.frames = append(a.frames, i)
		}
	}
	if len(a.frames) == 0 {
		return noArguments
	}
	return &a
}

// namesAddress reports whether frames of a stack name addresses that are noted.
func namesAddress(s *analysis.Stack) bool { return len(argumentsOf(s).frames) > 0 }

// noArguments are those of all stacks of which no frame is noted: nothing is added.
var noArguments = &arguments{lock: -1}

// receiver is the package and type of a method.
//
//	"example.org/pool.(*Pool).Get" = "example.org/pool.(*Pool)", "main.run" = ""
func receiver(function string) string {
	dot := strings.LastIndexByte(function, '.')
	if dot <= 0 || function[dot-1] != ')' {
		return ""
	}
	return function[:dot]
}

// note keeps the addresses that a goroutine's frames name, as long as more of its stack
// are wanted.
func (t *textDump) note(c *goroutines, g *goroutine.Goroutine) {
	if g.Body == nil || g.ID <= 0 {
		return
	}
	if c.arguments == nil {
		c.arguments = argumentsOf(g.Stack)
	}
	a := c.arguments
	if len(a.frames) == 0 || len(t.noted) >= mostArguments || a.lock < 0 && a.seen >= otherMembers {
		c.noted = true
		return
	}
	a.seen++
	next, frame := 0, 0
	for line := range bytes.Lines(g.Body) {
		line = bytes.TrimSpace(line) // a whole dump may be indented, or its tabs lost
		if next == len(a.frames) || bytes.HasPrefix(line, []byte("created by ")) {
			return
		}
		if !bytes.HasSuffix(line, []byte(")")) {
			continue
		}
		if frame == a.frames[next] {
			if address, ok := firstArgument(line); ok {
				t.keep(argument{c.index, int32(frame), address}, g.ID)
				a.found = true
			}
			next++
		}
		frame++
	}
}

// firstArgument reads the first argument of a call; one with a question mark may
// be stale and is none.
//
//	"sync.(*Mutex).lockSlow(0xc000012345)" = 0xc000012345
func firstArgument(line []byte) (uint64, bool) {
	for i := 1; i < len(line); i++ {
		if line[i] != '(' || line[i-1] == '.' {
			continue
		}
		digits, ok := bytes.CutPrefix(line[i+1:], []byte("0x"))
		if !ok {
			return 0, false
		}
		address := uint64(0)
		for _, c := range digits {
			switch letter := c | 0x20; {
			case c == ',' || c == ')':
				return address, address >= 4096
			case address >= 1<<60:
				return 0, false // too long
			case c-'0' < 10:
				address = address<<4 | uint64(c-'0')
			case letter-'a' < 6:
				address = address<<4 | uint64(letter-'a'+10)
			default:
				return 0, false
			}
		}
		return 0, false
	}
	return 0, false
}

func (t *textDump) keep(a argument, id int64) {
	n, again := t.noted[a]
	switch {
	case !again:
		if t.noted == nil {
			t.noted = map[argument]namers{}
		}
		t.noted[a] = namers{first: id}
		return
	case n.others == nil:
		n.others = &otherNamers{}
		t.noted[a] = n
	}
	n.others.count++
	if len(n.others.members) < objectMembers-1 {
		n.others.members = append(n.others.members, id)
	}
}

// object is what a stack's goroutines name.
func (n namers) object(a argument, stack *analysis.Stack, lock int) analysis.Object {
	o := analysis.Object{Address: a.address, Func: stack.Frames[a.frame].Func, Lock: int(a.frame) == lock, Count: 1, Members: []int64{n.first}}
	if n.others != nil {
		o.Count += n.others.count
		o.Members = append(o.Members, n.others.members...)
	}
	return o
}

// objects keeps of all addresses those that can say who holds what others wait
// for: the locks, and the receivers of the types through which the waiters came.
func (b *builder) objects(t *textDump) {
	defer func() { t.noted = nil }()
	types := map[string]bool{}
	for s, c := range t.stacks {
		a := c.arguments
		if a == nil || a.lock < 0 || !a.found {
			continue
		}
		for _, f := range s.Frames[a.lock+1:] {
			if kind := receiver(f.Func); kind != "" && !strings.HasPrefix(kind, "sync.") && !strings.HasPrefix(kind, "internal/sync.") {
				types[kind] = true
				break
			}
		}
	}
	if len(types) == 0 {
		return
	}
	found := map[string][]analysis.Object{}
	at := map[site]int{}
	prints := make([]string, len(t.order))
	for a, n := range t.noted {
		s := t.order[a.stack]
		lock := t.stacks[s].arguments.lock
		if int(a.frame) != lock && !types[receiver(s.Frames[a.frame].Func)] {
			continue
		}
		if prints[a.stack] == "" {
			prints[a.stack] = b.r.stacks.OfStack(s).Fingerprint
		}
		print, o := prints[a.stack], n.object(a, s, lock)
		found[print] = addObject(found[print], at, site{print, o.Address, o.Func, o.Lock}, o)
	}
	for print, all := range found {
		slices.SortFunc(all, func(x, y analysis.Object) int {
			return cmp.Or(y.Count-x.Count, cmp.Compare(x.Address, y.Address), strings.Compare(x.Func, y.Func))
		})
		all = all[:min(len(all), familyObjects)]
		for i := range all {
			slices.Sort(all[i].Members)
			all[i].Members = all[i].Members[:min(len(all[i].Members), objectMembers)]
		}
		found[print] = all
	}
	b.s.Objects = found
}

// site is where a family names an object.
type site struct {
	fingerprint string
	address     uint64
	function    string
	lock        bool
}

// addObject joins what two exact stacks of one family name alike; at says where in
// the family's list each place is.
func addObject(all []analysis.Object, at map[site]int, p site, o analysis.Object) []analysis.Object {
	if i, known := at[p]; known {
		all[i].Count += o.Count
		all[i].Members = append(all[i].Members, o.Members...)
		return all
	}
	at[p] = len(all)
	return append(all, o)
}
