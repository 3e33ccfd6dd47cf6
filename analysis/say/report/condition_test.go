package report

import (
	"slices"
	"testing"

	"leakdiff/analysis"
)

// jvmThreads are a family of threads of a JVM.
func jvmThreads(n int, state string, frames ...string) Family {
	sort := "java"
	if len(frames) == 0 {
		sort = string(analysis.VMThread)
	}
	return Family{Kind: analysis.KindThread, Frames: frames, Counts: analysis.CountsOf(n), Attributes: map[string]string{"sort": sort, "state": state}}
}

func TestTheStateOfASingleDump(t *testing.T) {
	const park = "jdk.internal.misc.Unsafe.park"
	worker := []string{"java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.ThreadPoolExecutor.runWorker", "java.lang.Thread.run"}
	pool := func(frames ...string) []string { return slices.Concat([]string{park}, frames, worker) }
	connections := func(n int, state string) Family {
		return Family{Kind: analysis.KindDescriptor, Counts: analysis.CountsOf(n), Attributes: map[string]string{"state": state}}
	}
	goroutines := func(s *Series) string { return s.goroutinesNow(2) }
	for _, c := range []struct {
		name, want string
		says       func(*Series) string
		families   []Family
	}{
		{"workers that wait for a task are idle, on every release of the JDK", "21 threads of the program: all idle; none blocked on a lock, no deadlock.", (*Series).threadsNow, []Family{
			jvmThreads(4, "waiting", pool("java.util.concurrent.locks.LockSupport.parkNanos", "java.util.concurrent.LinkedTransferQueue$DualNode.await", "java.util.concurrent.SynchronousQueue$Transferer.xferLifo", "java.util.concurrent.SynchronousQueue.xfer", "java.util.concurrent.SynchronousQueue.poll")...),
			jvmThreads(6, "waiting", pool("java.util.concurrent.SynchronousQueue$TransferStack.awaitFulfill", "java.util.concurrent.SynchronousQueue.poll")...),
			jvmThreads(10, "waiting", pool("java.util.concurrent.LinkedBlockingQueue.take", "org.apache.tomcat.util.threads.TaskQueue.take")...),
			jvmThreads(1, "waiting", pool("java.util.concurrent.locks.ReentrantLock.lockInterruptibly", "java.util.concurrent.LinkedBlockingQueue.poll")...),
		}},
		{"selectors and acceptors wait for work although they are runnable", "2 threads of the program: all idle; none blocked on a lock, no deadlock; 13 more of the JVM itself.", (*Series).threadsNow, []Family{
			jvmThreads(1, "running", "sun.nio.ch.EPoll.wait", "sun.nio.ch.EPollSelectorImpl.doSelect", "io.netty.channel.nio.NioIoHandler.select"),
			jvmThreads(1, "running", "sun.nio.ch.Net.accept", "sun.nio.ch.NioSocketImpl.accept", "java.net.ServerSocket.accept"),
			jvmThreads(13, ""),
		}},
		{"a wait in the code of a program is not idle", "100 threads of the program: all in other waits; none blocked on a lock, no deadlock.", (*Series).threadsNow, []Family{
			jvmThreads(100, "waiting", park, "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await", "org.hornetq.core.protocol.core.impl.ChannelImpl.sendBlocking", "java.util.concurrent.ThreadPoolExecutor.runWorker"),
		}},
		{"a queue further out than the code of a program says nothing", "2 threads of the program: all sleeping; none blocked on a lock, no deadlock.", (*Series).threadsNow, []Family{
			jvmThreads(2, "waiting", "java.lang.Thread.sleep", "app.Job.pause", "app.JobQueue.take"),
		}},
		{"locks, reads and what runs are counted", "7 threads of the program: 3 blocked on a lock, 1 in a socket read, 1 connecting, 2 running; no cycle of locks.", (*Series).threadsNow, []Family{
			jvmThreads(2, "blocked", "app.Bank.transfer"),
			jvmThreads(1, "waiting", park, "java.util.concurrent.locks.ReentrantLock.lock", "app.Bank.audit"),
			jvmThreads(1, "running", "java.net.SocketInputStream.socketRead0", "java.net.SocketInputStream.read", "app.Client.ask"),
			jvmThreads(1, "running", "sun.nio.ch.Net.connect0", "app.Client.dial"),
			jvmThreads(2, "running", "app.Sum.add"),
		}},
		{"a number of threads alone shows no state", "", (*Series).threadsNow, []Family{{Kind: analysis.KindThread, Counts: analysis.CountsOf(9)}}},
		{"goroutines are told by their states", "3 blocked in select, 1 running; none waits for a lock.", goroutines, []Family{
			{Kind: analysis.KindGoroutine, States: map[string]int{"select": 2}}, {Kind: analysis.KindGoroutine, States: map[string]int{"select (leaked)": 1, "running": 1}},
		}},
		{"a goroutine that waits for a mutex is told", "2 waiting for a mutex, none runnable.", goroutines, []Family{{Kind: analysis.KindGoroutine, States: map[string]int{"sync.Mutex.Lock": 2}}}},
		{"the goroutine that wrote the dump runs", "1 blocked in select; none waits for a lock.", goroutines, []Family{{Kind: analysis.KindGoroutine, States: map[string]int{"select": 1}}}},
		{"a profile has no states", "", goroutines, []Family{{Kind: analysis.KindGoroutine}}},
		{"connections are told by their states", "123 TCP connections, all ESTABLISHED, none in CLOSE_WAIT; 1 listener.", (*Series).connectionsNow, []Family{connections(64, "ESTABLISHED"), connections(59, "ESTABLISHED"), connections(1, "LISTEN"), connections(14, "")}},
		{"connections in CLOSE_WAIT are told", "5 TCP connections, 3 ESTABLISHED, 2 in CLOSE_WAIT.", (*Series).connectionsNow, []Family{connections(3, "ESTABLISHED"), connections(2, "CLOSE_WAIT")}},
		{"files have no state", "", (*Series).connectionsNow, []Family{connections(14, "")}},
	} {
		if got := c.says(&Series{Families: c.families}); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestTheLsofThatWroteAListingLeadsNoCase(t *testing.T) {
	capture := func(name string, descriptors int) analysis.Snapshot {
		x := analysis.Snapshot{ID: name, Totals: analysis.Totals{Descriptors: &descriptors}}
		x.Process.Name.Value = name
		return x
	}
	if first := Group([]analysis.Snapshot{capture("lsof", 7), capture("bash", 4)})[0].Snapshots[0].ID; first != "bash" {
		t.Errorf("%s leads", first)
	}
}

func TestTheThreadsOfTheProgramComeFirst(t *testing.T) {
	s := Series{Families: []Family{jvmThreads(13, ""), jvmThreads(2, "running", "app.Sum.add"), jvmThreads(4, "waiting", "app.Job.run"), jvmThreads(2, "blocked", "app.Bank.audit")}}
	var got []int
	var states []string
	for _, f := range s.Largest() {
		got = append(got, f.Counts[0].N)
		states = append(states, f.Attributes["state"])
	}
	if want := []int{4, 2, 2, 13}; !slices.Equal(got, want) || states[1] != "blocked" {
		t.Errorf("groups of %v threads in %q, want %v and the blocked ones before equal ones", got, states, want)
	}
}
