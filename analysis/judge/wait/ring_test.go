package wait

import (
	"testing"

	"leakdiff/analysis"
)

// mover waits for a lock of its own family and was given addresses.
func mover(fingerprint string, id int64, lock uint64, given ...uint64) (analysis.Group, []analysis.Object) {
	stack := &analysis.Stack{Frames: []analysis.Frame{{Func: "main.move"}}}
	var objects []analysis.Object
	if lock > 0 {
		stack.Frames = []analysis.Frame{{Func: "sync.(*Mutex).lockSlow"}, {Func: "main.move"}}
		objects = append(objects, analysis.Object{Address: lock, Func: "sync.(*Mutex).lockSlow", Lock: true, Count: 1, Members: []int64{id}})
	}
	for _, a := range given {
		objects = append(objects, analysis.Object{Address: a, Func: "main.move", Passed: true, Count: 1, Members: []int64{id}})
	}
	return analysis.Group{Family: &analysis.Family{Kind: analysis.KindGoroutine, Fingerprint: fingerprint}, Count: 1, Variants: []analysis.Variant{{Stack: stack, Count: 1}}}, objects
}

func TestARingOfArgumentsIsAPossibleDeadlock(t *testing.T) {
	const a, b, c = 0xc000010000, 0xc000020000, 0xc000030000
	type goroutine struct {
		lock  uint64
		given []uint64
	}
	for name, test := range map[string]struct {
		all  []goroutine
		want int
	}{
		"each was given the object that the other waits for":   {[]goroutine{{b, []uint64{a, b}}, {a, []uint64{b, a}}}, 1},
		"the lock is a field of the object":                    {[]goroutine{{b + 8, []uint64{a, b}}, {a + 8, []uint64{b, a}}}, 1},
		"three in a ring":                                      {[]goroutine{{b, []uint64{a}}, {c, []uint64{b}}, {a, []uint64{c}}}, 1},
		"a third that runs was given one of them":              {[]goroutine{{b, []uint64{a, b}}, {a, []uint64{b, a}}, {0, []uint64{a}}}, 0},
		"a third that waits elsewhere was given one of them":   {[]goroutine{{b, []uint64{a, b}}, {a, []uint64{b, a}}, {c, []uint64{a, c}}}, 0},
		"the chain ends at one that was given no awaited lock": {[]goroutine{{b, []uint64{a}}, {c, []uint64{b}}}, 0},
		"each was given only its own":                          {[]goroutine{{b, []uint64{b}}, {a, []uint64{a}}}, 0},
	} {
		s := &analysis.Snapshot{Objects: map[string][]analysis.Object{}}
		for i, g := range test.all {
			fingerprint := string(rune('a' + i))
			group, objects := mover(fingerprint, int64(i+1), g.lock, g.given...)
			s.Groups, s.Objects[fingerprint] = append(s.Groups, group), objects
		}
		got := 0
		if g := Of(s); g != nil {
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
