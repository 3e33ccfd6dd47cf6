package ingest

import (
	"fmt"
	"testing"

	"leakdiff/analysis"
)

func virtualThread(id int64, state string, carrier int64, functions ...string) *analysis.Thread {
	t := &analysis.Thread{ID: id, Name: fmt.Sprint("request-", id), Sort: analysis.VirtualThread, State: state, Carrier: carrier, Stack: &analysis.Stack{}}
	for _, f := range functions {
		t.Stack.Frames = append(t.Stack.Frames, analysis.Frame{Func: f})
	}
	return t
}

func TestAVirtualThreadThatWaitsOnItsCarrierIsPinned(t *testing.T) {
	platform := virtualThread(1, "WAITING", 7, "com.acme.A.run")
	platform.Sort = analysis.JavaThread
	for _, c := range []struct {
		name   string
		thread *analysis.Thread
		want   int
	}{
		{"it waits and is mounted", virtualThread(1, "TIMED_WAITING", 22, "com.acme.A.run"), 1},
		{"it is blocked and mounted", virtualThread(1, "BLOCKED", 22, "com.acme.A.run"), 1},
		{"it runs", virtualThread(1, "RUNNABLE", 22, "com.acme.A.run"), 0},
		{"it waits and is not mounted", virtualThread(1, "WAITING", -1, "java.lang.VirtualThread.park", "com.acme.A.run"), 0},
		{"a form without states shows where it parks", virtualThread(1, "", -1, "jdk.internal.misc.Unsafe.park", "java.lang.VirtualThread.parkOnCarrierThread", "java.lang.VirtualThread.park", "com.acme.A.run"), 1},
		{"the third frame from the leaf", virtualThread(1, "", -1, "a.B.c", "a.B.d", "java.lang.VirtualThread.parkOnCarrierThread"), 1},
		{"the fourth is called by the program", virtualThread(1, "", -1, "a.B.c", "a.B.d", "a.B.e", "java.lang.VirtualThread.parkOnCarrierThread"), 0},
		{"a platform thread", platform, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v virtualThreads
			v.add(c.thread)
			if v.pinned != c.want {
				t.Errorf("%d pinned", v.pinned)
			}
		})
	}
}

func TestTheContainerOfMostVirtualThreadsIsNamed(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, rest int // in the first container, and alone
		want        string
	}{
		{"half of a hundred", 50, 50, "50 of 100 virtual threads are in one ThreadPerTaskExecutor"},
		{"less than half", 49, 51, ""},
		{"fewer than a hundred", 99, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newThreadDump(&bounds{})
			for i := range c.first + c.rest {
				x := virtualThread(int64(i+1), "WAITING", -1, "com.acme.A.run")
				if x.Container = "<root>"; i < c.first {
					x.Container = "java.util.concurrent.ThreadPerTaskExecutor@5ff5e289"
				}
				d.virtual.add(x)
			}
			b := &builder{}
			b.virtualThreads(&part{path: "dump.json", threads: d})
			got := ""
			for _, s := range b.s.Statements {
				got += s.Title
			}
			if got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A form may print the id of an owner that it lists before or after those who wait.
func TestAnOwnerThatIsKnownByItsIDHoldsTheLock(t *testing.T) {
	waiting := func(id, owner int64) *analysis.Thread {
		x := virtualThread(id, "WAITING", -1, "com.acme.A.settle")
		x.Locks = []analysis.Lock{{How: "parking to wait for", Class: "java.util.concurrent.locks.ReentrantLock$NonfairSync", Object: "2ef7f7ae", OwnerID: owner}}
		return x
	}
	holder := virtualThread(9, "TIMED_WAITING", -1, "java.lang.Thread.sleep", "com.acme.A.hold")
	for _, c := range []struct {
		name    string
		threads []*analysis.Thread
		want    string
	}{
		{"the owner comes before", []*analysis.Thread{holder, waiting(10, 9)}, "request-9 #9 in com.acme.A.hold"},
		{"the owner comes after", []*analysis.Thread{waiting(10, 9), holder}, "request-9 #9 in com.acme.A.hold"},
		{"the owner is not in the dump", []*analysis.Thread{waiting(10, 8), holder}, ""},
		{"no owner is printed", []*analysis.Thread{waiting(10, 0), holder}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w lockWaits
			for _, x := range c.threads {
				w.add(x)
			}
			m := w.monitors(nil)
			if m == nil || len(m.List) != 1 {
				t.Fatalf("got %+v", m)
			}
			got := ""
			if h := m.List[0].Holder; h != nil {
				got = fmt.Sprintf("%s #%d in %s", h.Name, h.ID, h.At)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
