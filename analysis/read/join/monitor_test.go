package join_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/join"
)

func TestThreadsAreJoinedByTheObjectsTheyLockAndWaitFor(t *testing.T) {
	lock := func(how, class string, n int) analysis.Lock {
		return analysis.Lock{How: how, Class: class, Object: fmt.Sprintf("0x%08x", 0xf0000000+n*16)}
	}
	tests := []struct {
		name string
		add  func(add func(role string, locks ...analysis.Lock))
		want []shape
	}{
		{"one thread waits on each pool", func(add func(string, ...analysis.Lock)) {
			for i := range 4 {
				add("cleanup", lock("waiting on", "okhttp3.ConnectionPool", i))
			}
		}, []shape{{"okhttp3.ConnectionPool", 4, []string{"1 cleanup waits"}, nil}}},
		{"two objects of one thing are one object", func(add func(string, ...analysis.Lock)) {
			for i := range 4 {
				add("select", lock("locked", "org.example.nio.Selector", i), lock("locked", "java.util.TaskQueue", 100+i))
				add("wait", lock("waiting on", "java.util.TaskQueue", 100+i))
			}
		}, []shape{{"nio.Selector", 4, []string{"1 select", "1 wait"}, nil}}},
		{"locks of the library, streams and plain objects are none", func(add func(string, ...analysis.Lock)) {
			for _, class := range []string{
				"java.lang.Object", "java.lang.Class for a.B", "java.lang.ref.ReferenceQueue$Lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync",
				"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "java.util.concurrent.CountDownLatch$Sync", "java.util.concurrent.ThreadPoolExecutor$Worker", "java.io.BufferedInputStream", "[I", "",
			} {
				for i := range 4 {
					add("work", lock("waiting on", class, i))
				}
			}
		}, nil},
		{"a pool that many workers wait on holds them", func(add func(string, ...analysis.Lock)) {
			for i := range 40 {
				add("worker", lock("waiting on", "org.example.Pool", i/10*(i%3)))
			}
		}, nil},
		{"the only object of a class is counted if one thread shows it", func(add func(string, ...analysis.Lock)) {
			add("cleanup", lock("waiting on", "org.example.Pool", 1))
			add("worker", lock("waiting on", "org.example.Queue", 2))
			add("worker", lock("waiting on", "org.example.Queue", 2))
		}, []shape{{"example.Pool", 1, []string{"1 cleanup waits"}, nil}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var m join.Monitors
			id := int64(0)
			test.add(func(role string, locks ...analysis.Lock) {
				id++
				m.Add(id, role, locks)
			})
			o := m.Objects()
			if !o.Threads {
				t.Error("the parts are no threads")
			}
			if diff := cmp.Diff(test.want, shapesOf(o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a form without objects shows none", func(t *testing.T) {
		var m join.Monitors
		m.Add(1, "work", []analysis.Lock{{How: "waiting on", Class: "org.example.Pool"}})
		if o := m.Objects(); o != nil {
			t.Errorf("got %v", o)
		}
	})
}
