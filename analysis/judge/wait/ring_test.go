package wait

import (
	"testing"

	"leakdiff/analysis"
)

// goroutine is one of its own family. It waits for a lock, if any, in main.move, and was given
// addresses there.
type goroutine struct {
	lock  uint64
	given []uint64
	// state and in are "sync.Mutex.Lock" and "main.move" if they are empty. line is that in it.
	state, in string
	line      int
}

func snapshotOf(all []goroutine) *analysis.Snapshot {
	s := &analysis.Snapshot{Objects: map[string][]analysis.Object{}, Passed: map[string][]analysis.Object{}}
	for i, g := range all {
		fingerprint, members := string(rune('a'+i)), []int64{int64(i + 1)}
		if g.in == "" {
			g.in = "main.move"
		}
		if g.state == "" {
			g.state = "sync.Mutex.Lock"
		}
		stack := &analysis.Stack{Frames: []analysis.Frame{{Func: g.in, Line: g.line}}}
		if g.lock > 0 {
			const lockSlow = "sync.(*Mutex).lockSlow"
			stack.Frames = append([]analysis.Frame{{Func: lockSlow}}, stack.Frames...)
			s.Objects[fingerprint] = []analysis.Object{{Address: g.lock, Func: lockSlow, Lock: true, Count: 1, Members: members}}
		}
		for _, a := range g.given {
			s.Passed[fingerprint] = append(s.Passed[fingerprint], analysis.Object{Address: a, Func: g.in, Count: 1, Members: members})
		}
		group := analysis.Group{Family: &analysis.Family{Kind: analysis.KindGoroutine, Fingerprint: fingerprint}, Count: 1, Variants: []analysis.Variant{{Stack: stack, Count: 1}}}
		group.Members.Fill().ID = members
		group.Members.States, group.Members.Fill().State = []string{g.state}, []uint16{0}
		s.Groups = append(s.Groups, group)
	}
	return s
}

func TestARingOfArgumentsIsAPossibleDeadlock(t *testing.T) {
	const a, b, c = 0xc000010000, 0xc000020000, 0xc000030000
	ring := func(more ...goroutine) []goroutine {
		return append([]goroutine{{lock: b, given: []uint64{a, b}}, {lock: a, given: []uint64{b, a}}}, more...)
	}
	for name, test := range map[string]struct {
		all  []goroutine
		want int
	}{
		"each was given the object that the other waits for": {ring(), 1},
		"the lock is a field of the object":                  {[]goroutine{{lock: b + 8, given: []uint64{a, b}}, {lock: a + 8, given: []uint64{b, a}}}, 1},
		"the lock is 4096 bytes above the argument":          {[]goroutine{{lock: b + 4096, given: []uint64{a, b}}, {lock: a, given: []uint64{b, a}}}, 1},
		"the lock is 4097 bytes above the argument":          {[]goroutine{{lock: b + 4097, given: []uint64{a, b}}, {lock: a, given: []uint64{b, a}}}, 0},
		"three in a ring":                                      {[]goroutine{{lock: b, given: []uint64{a}}, {lock: c, given: []uint64{b}}, {lock: a, given: []uint64{c}}}, 1},
		"a third waits for one of them":                        {ring(goroutine{lock: b, given: []uint64{c, b}}), 1},
		"a third that waits for no lock was given one of them": {ring(goroutine{given: []uint64{a}, state: "IO wait", in: "main.audit"}), 0},
		"a third that waits elsewhere was given one of them":   {ring(goroutine{lock: c, given: []uint64{a, c}}), 0},
		"a third waits for the first lock of the function":     {[]goroutine{{lock: b, given: []uint64{a, b}, line: 28}, {lock: a, given: []uint64{b, a}, line: 28}, {lock: a, given: []uint64{a, b}, line: 27}}, 1},
		"a third waits on the same line":                       {[]goroutine{{lock: b, given: []uint64{a, b}, line: 28}, {lock: a, given: []uint64{b, a}, line: 28}, {lock: a, given: []uint64{a, b}, line: 28}}, 0},
		"a third waits in another function":                    {[]goroutine{{lock: b, given: []uint64{a, b}, line: 28}, {lock: a, given: []uint64{b, a}, line: 28}, {lock: a, given: []uint64{a, b}, line: 27, in: "main.audit"}}, 0},
		"a third that waits for no lock is elsewhere":          {ring(goroutine{state: "running", in: "main.audit"}), 1},
		"a third that waits for no lock is in the function":    {ring(goroutine{state: "running"}), 0},
		"one of them was just woken":                           {[]goroutine{{lock: b, given: []uint64{a, b}, state: "runnable"}, {lock: a, given: []uint64{b, a}}}, 0},
		"the chain ends at one that was given no awaited lock": {[]goroutine{{lock: b, given: []uint64{a}}, {lock: c, given: []uint64{b}}}, 0},
		"each was given only its own":                          {[]goroutine{{lock: b, given: []uint64{b}}, {lock: a, given: []uint64{a}}}, 0},
	} {
		got := 0
		if g := Of(snapshotOf(test.all)); g != nil {
			got = len(g.Cycles)
			for _, cycle := range g.Cycles {
				if g.Sure(cycle) != Possible {
					t.Errorf("%s: it is %s, want possible", name, g.Sure(cycle))
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: %d rings, want %d", name, got, test.want)
		}
	}
}

// One of whom the dump has no stack may hold anything.
func TestARingOfArgumentsIsNotNamedBesideAHiddenStack(t *testing.T) {
	s := snapshotOf([]goroutine{{lock: 0xc000020000, given: []uint64{0xc000010000}}, {lock: 0xc000010000, given: []uint64{0xc000020000}}, {state: "running", in: "main.audit"}})
	for unavailable, want := range map[string]int{"": 1, "goroutine running on other thread; stack unavailable": 0} {
		s.Groups[2].Variants[0].Stack.Unavailable = unavailable
		if got := len(Of(s).Cycles); got != want {
			t.Errorf("%q: %d rings, want %d", unavailable, got, want)
		}
	}
}
