package ingest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// Bounds of what is kept of addresses. Waiters of locks are noted one by one, so
// that a queue is counted right; of the others only some, since those of them that
// hold a lock are few.
const (
	mostArguments = 50_000
	otherMembers  = 64
	otherFrames   = 16
	objectMembers = 32
	familyObjects = 256
)

// arguments are the frames of one stack whose first arguments are noted.
type arguments struct {
	// frames are those that are noted: the lock, and methods.
	frames []notedFrame
	lock   int // index of the frame that waits for a lock, -1 without
	seen   int
	// found is true if an address was found.
	found bool
}

type notedFrame struct {
	index int
	// place is that of textDump.places plus 1; 0 while no address was found in it.
	place int32
}

// namingPlace is a frame of a stack that names addresses.
type namingPlace struct {
	stack, frame int32 // indexes of textDump.order, and of the stack's frames
}

// argumentsOf chooses the frames of a stack whose receiver is worth keeping.
func argumentsOf(s *analysis.Stack) *arguments {
	a := arguments{lock: -1}
	for i, f := range s.Frames {
		switch {
		case s.WaitsForLock(i):
			a.lock = i
			a.frames = append(a.frames, notedFrame{index: i})
		case len(a.frames) < otherFrames && receiver(f.Func) != "" && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/"):
			a.frames = append(a.frames, notedFrame{index: i})
		}
	}
	if len(a.frames) == 0 {
		return noArguments
	}
	return &a
}

// noArguments are those of all stacks without a noted frame: nothing is added.
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
	t.notePassed(c, g)
	a := c.arguments
	if len(a.frames) == 0 || len(t.notes.list) >= mostArguments || a.lock < 0 && a.seen >= otherMembers {
		_, wanted := t.passedOf(c)
		c.noted = !wanted
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
		if noted := &a.frames[next]; frame == noted.index {
			if address, ok := firstArgument(line); ok {
				if noted.place == 0 {
					t.places = append(t.places, namingPlace{c.index, int32(frame)})
					noted.place = int32(len(t.places))
				}
				t.notes.add(argument{noted.place - 1, address}, g.ID)
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
		address, end := pointer(digits)
		return address, end == ',' || end == ')'
	}
	return 0, false
}

// pointer reads the digits of an argument and the byte that ends them, 0 if it is no pointer:
// one below the first page is none.
func pointer(digits []byte) (address uint64, end byte) {
	for _, c := range digits {
		switch letter := c | 0x20; {
		case c == ',' || c == ')' || c == '}' || c == '?':
			if address < 4096 {
				return 0, 0
			}
			return address, c
		case address >= 1<<60:
			return 0, 0 // too long
		case c-'0' < 10:
			address = address<<4 | uint64(c-'0')
		case letter-'a' < 6:
			address = address<<4 | uint64(letter-'a'+10)
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// objects keeps of all addresses those that can prove who holds what others wait for:
// the locks, and the receivers of the types through which the waiters came.
func (b *builder) objects(t *textDump) map[string][]analysis.Object {
	types, waits := map[string]bool{}, false
	for s, c := range t.stacks {
		a := c.arguments
		if a == nil || a.lock < 0 || !a.found {
			continue
		}
		waits = true
		for _, f := range s.Frames[a.lock+1:] {
			if kind := receiver(f.Func); kind != "" && !strings.HasPrefix(kind, "sync.") && !strings.HasPrefix(kind, "internal/sync.") {
				types[kind] = true
				break
			}
		}
	}
	if !waits {
		return nil
	}
	c := collected{families: map[string]int32{}, functions: map[string]int32{}, at: map[site]int32{}}
	frames := make([]namingFrame, len(t.places))
	// alike counts the places whose addresses are those of one family's function.
	alike, kept := map[namingFrame]int{}, 0
	for i, p := range t.places {
		stack, frame := t.order[p.stack], &frames[i]
		function := stack.Frames[p.frame].Func
		frame.lock = int(p.frame) == t.stacks[stack].arguments.lock
		frame.left = !frame.lock && !types[receiver(function)]
		if !frame.left {
			frame.family, frame.function = c.numbers(b.familyOf(t, stack).Fingerprint, function)
			alike[*frame]++
		}
	}
	for i := range t.notes.list {
		if !frames[t.notes.list[i].place].left {
			kept++
		}
	}
	c.all = make([]named, 0, kept)
	for i := range t.notes.list {
		known := &t.notes.list[i]
		frame := frames[known.place]
		if frame.left {
			continue
		}
		c.add(named{site{frame, known.address}, t.notes.namers(known)}, alike[frame] > 1)
	}
	return c.objects()
}

// namingFrame is the frame of a place that names addresses.
type namingFrame struct {
	// left is true if the addresses are not kept; the rest is then not passed on
	// either.
	left, lock bool
	// family and function are numbers of what was collected, from 1.
	family, function int32
}

// site is an address as the frames of a family with one function name it.
type site struct {
	namingFrame
	address uint64
}

// collected are the goroutines that name the sites of all families.
type collected struct {
	families, functions map[string]int32
	// at maps a site to its index in all.
	at  map[site]int32
	all []named
}

type named struct {
	site
	namers
}

func (c *collected) numbers(fingerprint, function string) (int32, int32) {
	number := func(of map[string]int32, text string) int32 {
		n := of[text]
		if n == 0 {
			n = int32(len(of) + 1)
			of[text] = n
		}
		return n
	}
	return number(c.families, fingerprint), number(c.functions, function)
}

// add joins the addresses that two exact stacks of one family share, or two frames of a
// stack; shared is true if there are any.
func (c *collected) add(n named, shared bool) {
	if shared {
		i, known := c.at[n.site]
		if known {
			c.all[i].join(n.namers)
			return
		}
		c.at[n.site] = int32(len(c.all))
	}
	c.all = append(c.all, n)
}

// join adds other goroutines.
func (n *namers) join(more namers) {
	if n.others == nil {
		n.others = &otherNamers{}
	}
	n.others.count += more.count()
	n.others.members = more.appendTo(n.others.members)
}

func (n namers) count() int {
	if n.others == nil {
		return 1
	}
	return 1 + n.others.count
}

func (n namers) appendTo(members []int64) []int64 {
	members = append(members, n.first)
	if n.others != nil {
		members = append(members, n.others.members...)
	}
	return members
}

// objects are those of each family, by its fingerprint, that most goroutines name.
func (c *collected) objects() map[string][]analysis.Object {
	names := make([]string, len(c.functions)+1)
	for name, i := range c.functions {
		names[i] = name
	}
	slices.SortFunc(c.all, func(x, y named) int {
		if x.family != y.family || x.count() != y.count() || x.address != y.address {
			return cmp.Or(cmp.Compare(x.family, y.family), y.count()-x.count(), cmp.Compare(x.address, y.address))
		}
		if order := strings.Compare(names[x.function], names[y.function]); order != 0 || x.lock == y.lock {
			return order
		}
		if x.lock {
			return -1
		}
		return 1
	})
	found := map[string][]analysis.Object{}
	for fingerprint, family := range c.families {
		from, _ := slices.BinarySearchFunc(c.all, family, func(n named, family int32) int { return cmp.Compare(n.family, family) })
		var all []analysis.Object
		for _, n := range c.all[from:] {
			if n.family != family || len(all) == familyObjects {
				break
			}
			o := analysis.Object{Address: n.address, Func: names[n.function], Lock: n.lock, Count: n.count(), Members: n.appendTo(make([]int64, 0, min(n.count(), objectMembers)))}
			slices.Sort(o.Members)
			o.Members = o.Members[:min(len(o.Members), objectMembers)]
			all = append(all, o)
		}
		found[fingerprint] = all
	}
	return found
}
