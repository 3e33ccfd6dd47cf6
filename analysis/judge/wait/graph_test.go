package wait

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// Whatever a damaged database says of monitors, their graph is finite and its cycles are
// cycles.
func TestEveryCycleOfAGraphLeadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &analysis.Monitors{}
		for i := range rapid.IntRange(0, 12).Draw(t, "locks") {
			x := analysis.Monitor{Class: fmt.Sprint(i), Waiters: 1}
			if rapid.Bool().Draw(t, "held") {
				x.Holder = &analysis.MonitorHolder{Name: fmt.Sprint("t", i), Waits: rapid.IntRange(-1, 14).Draw(t, "waits")}
			}
			m.List = append(m.List, x)
		}
		g := Of(&analysis.Snapshot{Monitors: m})
		if g == nil {
			return
		}
		seen := map[int]bool{}
		for _, cycle := range g.Cycles {
			if g.Sure(cycle) != Proven {
				t.Fatalf("%v is not proven", cycle)
			}
			for k, i := range cycle {
				next := cycle[(k+1)%len(cycle)]
				if seen[i] || !slices.ContainsFunc(g.Locks[i].Holders, func(h Holding) bool { return h.Lock == next }) {
					t.Fatalf("%v: %d does not lead to %d, or stands in two cycles", cycle, i, next)
				}
				seen[i] = true
			}
		}
		// Every lock whose chain of holders leads back to it is in a cycle.
		for i := range g.Locks {
			at := i
			for range g.Locks {
				if len(g.Locks[at].Holders) == 0 || g.Locks[at].Holders[0].Lock < 0 {
					break
				}
				if at = g.Locks[at].Holders[0].Lock; at == i && !seen[i] {
					t.Fatalf("%d leads back to itself and is in no cycle of %v", i, g.Cycles)
				}
			}
		}
	})
}

func TestStatesSayWhatIsWaitedFor(t *testing.T) {
	stack := func(names ...string) *analysis.Stack {
		s := &analysis.Stack{}
		for _, n := range names {
			s.Frames = append(s.Frames, analysis.Frame{Func: n})
		}
		return s
	}
	for _, test := range []struct {
		state string
		stack *analysis.Stack
		want  Reason
	}{
		{"semacquire", stack("sync.runtime_Semacquire", "sync.(*WaitGroup).Wait", "main.f"), ForWaitGroup},
		{"semacquire", stack("sync.runtime_SemacquireMutex", "sync.(*Mutex).lockSlow"), ForLock},
		{"semacquire", stack("internal/sync.runtime_SemacquireMutex", "internal/sync.(*Mutex).lockSlow"), ForLock},
		{"semacquire", stack("main.f"), ForOther},
		{"sync.RWMutex.RLock", nil, ForLock},
		{"chan send (nil chan)", nil, ForChannel},
		{"select (no cases)", nil, ForChannel},
		{"IO wait", nil, ForIO},
		{"runnable", nil, Running},
		{"RUNNABLE", nil, Running},
		{"BLOCKED (on object monitor)", nil, ForLock},
		{"TIMED_WAITING", nil, ForOther},
		{"", nil, ForOther},
	} {
		if got := reason(test.state, test.stack); got != test.want {
			t.Errorf("%q: %s, want %s", test.state, got, test.want)
		}
	}
}
