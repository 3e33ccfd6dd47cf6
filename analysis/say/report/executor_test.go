package report

import (
	"fmt"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/noun"
)

func TestThreadsOfPoolsOfOneEachAreCalledSo(t *testing.T) {
	family := func(name string, threads ...string) *analysis.Group {
		g := &analysis.Group{Family: &analysis.Family{Kind: analysis.KindThread, Attributes: map[string]string{"name": name}}, Count: len(threads)}
		m := g.Members.Fill()
		for range threads {
			m.Offset = append(m.Offset, 0)
		}
		m.Detail = threads
		return g
	}
	pools := func(n, threads int) (out []string) {
		for i := range n {
			for k := range threads {
				out = append(out, fmt.Sprintf("pool-%d-thread-%d", i+1, k+1))
			}
		}
		return out
	}
	cut := family("pool-N-thread-N", pools(10, 1)...)
	cut.Count = 11
	for _, c := range []struct {
		name  string
		group *analysis.Group
		want  string
	}{
		{"ten of one thread", family("pool-N-thread-N", pools(10, 1)...), "10 threads in pools of 1 each"},
		{"nine of one thread", family("pool-N-thread-N", pools(9, 1)...), "9 threads of executors without a name"},
		{"ten of two threads", family("pool-N-thread-N", pools(10, 2)...), "20 threads of executors without a name"},
		{"one of ten threads", family("pool-N-thread-N", pools(1, 10)...), "10 threads of executors without a name"},
		{"not all members are known", cut, "11 threads of executors without a name"},
		{"own names", family("orders-pool-N-thread-N", "orders-pool-1-thread-1"), "1 thread “orders-pool-N-thread-N · Queue.take”"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := c.group.Family.Attributes["name"]
			f := &Family{Kind: analysis.KindThread, Title: n + " · Queue.take", Attributes: c.group.Family.Attributes, Counts: analysis.Counts{analysis.Counted(c.group.Count)}, Executors: executorsOf(c.group)}
			x := (&Series{}).nameOf(noun.Builtin(), f, nil)
			if got := x.words(c.group.Count); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAPoolThatGrewIsNoExecutorPerCall(t *testing.T) {
	group := func(pools map[int]int) *analysis.Group {
		if pools == nil {
			return nil
		}
		g := &analysis.Group{Family: &analysis.Family{Kind: analysis.KindThread, Attributes: map[string]string{"name": "pool-N-thread-N"}}}
		m := g.Members.Fill()
		for pool, n := range pools {
			for i := range n {
				m.Offset, m.Detail = append(m.Offset, 0), append(m.Detail, fmt.Sprintf("pool-%d-thread-%d", pool, i+1))
			}
			g.Count += n
		}
		return g
	}
	type pools = map[int]int
	const perCall = "Find where an ExecutorService is made per call; make one and share it, or shut down each. Name its threads."
	for name, tt := range map[string]struct {
		captures []pools
		want     string
	}{
		"one pool grew":                              {[]pools{{1: 2}, {1: 47}}, boundExecutor},
		"one pool came":                              {[]pools{nil, {1: 45}}, boundExecutor},
		"one pool of two grew":                       {[]pools{{1: 2, 2: 5}, {1: 2, 2: 50}}, boundExecutor},
		"both pools grew":                            {[]pools{{1: 2, 2: 5}, {1: 3, 2: 50}}, perCall},
		"a pool came beside others":                  {[]pools{{1: 10, 2: 10}, {1: 10, 2: 10, 3: 10}}, perCall},
		"a pool of each call":                        {[]pools{{1: 1}, {1: 1, 2: 1, 3: 1}}, perCall},
		"the last capture has none of the name":      {[]pools{{1: 2}, {1: 47}, nil}, boundExecutor},
		"one capture does not show how its pool was": {[]pools{{1: 47}}, perCall},
	} {
		var groups []*analysis.Group
		for _, c := range tt.captures {
			groups = append(groups, group(c))
		}
		f := &Family{Kind: analysis.KindThread, Title: "pool-N-thread-N · Queue.take", Attributes: map[string]string{"name": "pool-N-thread-N"}, OneExecutor: oneExecutor(groups)}
		if got := (&Series{}).nameOf(noun.Builtin(), f, nil).remedy; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	cut := group(pools{1: 2})
	cut.Count++
	if oneExecutor([]*analysis.Group{cut, group(pools{1: 47})}) || oneExecutor([]*analysis.Group{group(pools{1: 2}), cut}) {
		t.Error("threads that are not all named are said to be of one executor")
	}
}

func TestThreadsThatNothingEndsAreToldByTheirOwnWait(t *testing.T) {
	const jdk = "java.util.concurrent.CompletableFuture.get"
	for _, c := range []struct {
		name  string
		stack []StackFrame
		want  string
	}{
		{"code of a program", []StackFrame{{Function: jdk, File: "CompletableFuture.java", Line: 2072}, {Function: "com.acme.Notifier.await", File: "Notifier.java", Line: 88}},
			"Give what waits in Notifier.await Notifier.java:88 a time limit, or a way to end; if that code is not yours, report it with this stack."},
		{"the JDK alone", []StackFrame{{Function: jdk, File: "CompletableFuture.java", Line: 2072}}, ""},
		{"no stack", nil, ""},
	} {
		if got := endThread(c.stack); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBuffersOutsideOfTheHeapAreToldWhereTheyGrow(t *testing.T) {
	mib := func(n float64) *float64 { return &n }
	for last, want := range map[float64]string{
		10 + leastExternal:     "Find who keeps buffers (Buffer, ArrayBuffer): what they hold outside of the heap grew from 10 to 26 MiB.",
		10 + leastExternal - 1: "Look outside of the heap, which did not grow: at buffers (process.memoryUsage().external and arrayBuffers) and at native modules.",
	} {
		s := Series{Heap: &Heap{By: analysis.HeapBySpace, First: &HeapTotal{}}, Gauges: []Gauge{{Name: analysis.ExternalBytes, Unit: "MiB", Values: []*float64{mib(10), mib(last)}}}}
		if got := s.afterMemory(); got != want {
			t.Errorf("%v MiB: %q, want %q", last, got, want)
		}
	}
}
