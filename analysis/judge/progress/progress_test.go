package progress

import (
	"testing"
	"time"

	"leakdiff/analysis"
)

// thread is one thread of a dump. The processor time is in milliseconds, -1 for none.
type thread struct {
	id    int64
	name  string
	cpu   int64
	frame string // the exact stack
	sort  analysis.ThreadSort
	loose []string
}

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// dump is a dump some seconds after start.
func dump(after float64, threads ...thread) *analysis.Snapshot {
	s := &analysis.Snapshot{CapturedAt: start.Add(time.Duration(after * float64(time.Second))), CPU: map[string][]int64{}}
	for _, t := range threads {
		print := t.name + t.frame + string(t.sort)
		if len(t.loose) > 0 {
			print += t.loose[0]
		}
		at := -1
		for i := range s.Groups {
			if s.Groups[i].Family.Fingerprint == print {
				at = i
			}
		}
		if at < 0 {
			at = len(s.Groups)
			s.Groups = append(s.Groups, analysis.Group{
				Family:   &analysis.Family{Fingerprint: print, Kind: analysis.KindThread, Loose: t.loose, Attributes: map[string]string{"name": t.name, "sort": string(t.sort)}},
				Variants: []analysis.Variant{{Fingerprint: t.frame}},
			})
		}
		g := &s.Groups[at]
		g.Count++
		m := g.Members.Fill()
		m.ID, m.Hash, m.Variant, m.Offset = append(m.ID, t.id), append(m.Hash, 1), append(m.Variant, 0), append(m.Offset, 0)
		m.Age, m.Detail = append(m.Age, -1), append(m.Detail, t.name)
		s.CPU[print] = append(s.CPU[print], t.cpu)
	}
	return s
}

func measure(snapshots ...*analysis.Snapshot) ([]Busy, []Still) {
	return Measure(snapshots, make([]int, len(snapshots)))
}

func TestThreadsAreBusyFromHalfACoreOn(t *testing.T) {
	one := func(cpu int64) thread { return thread{id: 1, name: "pricing-N", cpu: cpu} }
	for _, c := range []struct {
		name           string
		dumps          []*analysis.Snapshot
		threads        int // 0 for none busy
		from, to       int
		cpuMS, seconds int64
	}{
		{"half a core in a minute", []*analysis.Snapshot{dump(0, one(1000)), dump(60, one(31000))}, 1, 0, 1, 30000, 60},
		{"a little less", []*analysis.Snapshot{dump(0, one(1000)), dump(60, one(30999))}, 0, 0, 0, 0, 0},
		{"two of one name add up", []*analysis.Snapshot{
			dump(0, thread{id: 1, name: "w-N", cpu: 0}, thread{id: 2, name: "w-N", cpu: 0}),
			dump(10, thread{id: 1, name: "w-N", cpu: 2500}, thread{id: 2, name: "w-N", cpu: 2500}),
		}, 2, 0, 1, 5000, 10},
		{"one of the two used nothing", []*analysis.Snapshot{
			dump(0, thread{id: 1, name: "w-N", cpu: 0}, thread{id: 2, name: "w-N", cpu: 0}),
			dump(10, thread{id: 1, name: "w-N", cpu: 9000}, thread{id: 2, name: "w-N", cpu: 99}),
		}, 1, 0, 1, 9099, 10},
		{"one that moves to another stack", []*analysis.Snapshot{
			dump(0, thread{id: 1, name: "w-N", cpu: 0, frame: "a"}), dump(10, thread{id: 1, name: "w-N", cpu: 8000, frame: "b"}),
		}, 1, 0, 1, 8000, 10},
		{"busy in the last of two intervals only", []*analysis.Snapshot{dump(0, one(0)), dump(10, one(100)), dump(20, one(9100))}, 1, 1, 2, 9000, 10},
		{"busy in both", []*analysis.Snapshot{dump(0, one(0)), dump(10, one(9000)), dump(20, one(18000))}, 1, 0, 2, 18000, 20},
		{"busy at first and no more", []*analysis.Snapshot{dump(0, one(0)), dump(10, one(9000)), dump(20, one(9100))}, 0, 0, 0, 0, 0},
		{"a later thread of the same number used less", []*analysis.Snapshot{dump(0, one(9000)), dump(10, one(100))}, 0, 0, 0, 0, 0},
		{"it was not there before", []*analysis.Snapshot{dump(0, thread{id: 2, name: "w-N"}), dump(10, one(9000))}, 0, 0, 0, 0, 0},
		{"the form prints no processor time", []*analysis.Snapshot{dump(0, one(-1)), dump(10, one(-1))}, 0, 0, 0, 0, 0},
		{"one dump", []*analysis.Snapshot{dump(0, one(9000))}, 0, 0, 0, 0, 0},
		{"the time between the dumps is not known", []*analysis.Snapshot{dump(0, one(0)), dump(0, one(9000))}, 0, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			busy, _ := measure(c.dumps...)
			if c.threads == 0 {
				if len(busy) > 0 {
					t.Fatalf("got %+v", busy)
				}
				return
			}
			if len(busy) != 1 {
				t.Fatalf("%d are busy", len(busy))
			}
			b := busy[0]
			if b.Threads != c.threads || b.From != c.from || b.To != c.to || b.CPU != time.Duration(c.cpuMS)*time.Millisecond || b.Wall != time.Duration(c.seconds)*time.Second {
				t.Errorf("got %+v", b)
			}
		})
	}
}

func TestAnotherProcessStartIsNotCompared(t *testing.T) {
	one := func(cpu int64) thread { return thread{id: 1, name: "w-N", cpu: cpu} }
	snapshots := []*analysis.Snapshot{dump(0, one(0)), dump(10, one(9000))}
	if busy, _ := Measure(snapshots, []int{0, 1}); len(busy) > 0 {
		t.Errorf("got %+v", busy)
	}
	if busy, _ := Measure(append(snapshots, &analysis.Snapshot{}), []int{0, 0, 0}); len(busy) > 0 {
		t.Errorf("the last snapshot shows no threads: %+v", busy)
	}
}

func TestTheAgeOfTheProcessIsTheClockBetweenDumps(t *testing.T) {
	one := func(cpu int64, age int32) *analysis.Snapshot {
		s := dump(0, thread{id: 1, name: "w-N", cpu: cpu}) // both files have one time
		s.Groups[0].Members.Age[0] = age
		return s
	}
	if busy, _ := measure(one(0, 100), one(9000, 110)); len(busy) != 1 || busy[0].Wall != 10*time.Second {
		t.Errorf("by the age of the thread: %+v", busy)
	}
	before, after := one(0, 100), one(9000, 110)
	before.Figures, after.Figures = map[string]float64{"jvm_uptime_seconds": 100.5}, map[string]float64{"jvm_uptime_seconds": 109.5}
	if busy, _ := measure(before, after); len(busy) != 1 || busy[0].Wall != 9*time.Second {
		t.Errorf("by the age of main: %+v", busy)
	}
}

func TestThreadsStandStillInThreeDumpsWithoutUsingTheProcessor(t *testing.T) {
	read := []string{"socket read", "java.net.Socket$SocketInputStream.read", "com.acme.Reader.run", "java.lang.Thread.run"}
	one := func(cpu int64, frame string) thread {
		return thread{id: 1, name: "reader-N", cpu: cpu, frame: frame, loose: read}
	}
	for _, c := range []struct {
		name    string
		dumps   []*analysis.Snapshot
		threads int
		from    int
		seconds float64
	}{
		{"three dumps in ten seconds", []*analysis.Snapshot{dump(0, one(1, "a")), dump(5, one(1, "a")), dump(10, one(2, "a"))}, 1, 0, 10},
		{"three dumps in less", []*analysis.Snapshot{dump(0, one(1, "a")), dump(5, one(1, "a")), dump(9.9, one(1, "a"))}, 0, 0, 0},
		{"two dumps", []*analysis.Snapshot{dump(0, one(1, "a")), dump(60, one(1, "a"))}, 0, 0, 0},
		{"other frames in one of three", []*analysis.Snapshot{dump(0, one(1, "a")), dump(30, one(1, "b")), dump(60, one(1, "a"))}, 0, 0, 0},
		{"other frames before three", []*analysis.Snapshot{dump(0, one(1, "b")), dump(30, one(1, "a")), dump(60, one(1, "a")), dump(90, one(1, "a"))}, 1, 1, 60},
		{"a millisecond from each dump to the next", []*analysis.Snapshot{dump(0, one(0, "a")), dump(50, one(0, "a")), dump(100, one(2, "a"))}, 1, 0, 100},
		{"more, as of a thread that answers small requests", []*analysis.Snapshot{dump(0, one(0, "a")), dump(50, one(0, "a")), dump(100, one(3, "a"))}, 0, 0, 0},
		{"the form prints no processor time", []*analysis.Snapshot{dump(0, one(-1, "a")), dump(30, one(-1, "a")), dump(60, one(-1, "a"))}, 0, 0, 0},
		{"another thread of the same frames", []*analysis.Snapshot{dump(0, thread{id: 2, name: "reader-N", frame: "a", loose: read}), dump(30, one(1, "a")), dump(60, one(1, "a"))}, 0, 0, 0},
		{"a second one came later: both stand since then", []*analysis.Snapshot{
			dump(0, one(1, "a")),
			dump(30, one(1, "a"), thread{id: 2, name: "reader-N", frame: "a", loose: read}),
			dump(60, one(1, "a"), thread{id: 2, name: "reader-N", frame: "a", loose: read}),
			dump(90, one(1, "a"), thread{id: 2, name: "reader-N", frame: "a", loose: read}),
		}, 2, 1, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, still := measure(c.dumps...)
			if c.threads == 0 {
				if len(still) > 0 {
					t.Fatalf("got %+v", still)
				}
				return
			}
			if len(still) != 1 || still[0].Threads != c.threads || still[0].From != c.from || still[0].Wall.Seconds() != c.seconds || still[0].At != ForSocket {
				t.Errorf("got %+v", still)
			}
		})
	}
}

func TestWhoWaitsForWorkIsIdle(t *testing.T) {
	const park = "jdk.internal.misc.Unsafe.park"
	for _, c := range []struct {
		name  string
		sort  analysis.ThreadSort
		state string
		loose []string
		want  Wait
	}{
		{"a worker of a pool", analysis.JavaThread, "waiting", []string{park, "java.util.concurrent.LinkedBlockingQueue.take", "java.util.concurrent.ThreadPoolExecutor.getTask", "java.lang.Thread.run"}, Idle},
		{"an own loop that takes from a queue", analysis.JavaThread, "waiting", []string{park, "java.util.concurrent.LinkedBlockingQueue.take", "com.acme.Mailer.run", "java.lang.Thread.run"}, Idle},
		{"an acceptor", analysis.JavaThread, "running", []string{"socket accept", "java.net.ServerSocket.accept", "com.acme.Server.run"}, Idle},
		{"a selector", analysis.JavaThread, "running", []string{"selector wait", "com.acme.Loop.run"}, Idle},
		{"a timer", analysis.JavaThread, "waiting", []string{"java.lang.Object.wait", "java.util.TimerThread.mainLoop", "java.util.TimerThread.run"}, Idle},
		{"one that sleeps", analysis.JavaThread, "waiting", []string{"java.lang.Thread.sleep", "com.acme.Poller.run"}, Idle},
		{"a reference handler", analysis.JavaThread, "running", []string{"java.lang.ref.Reference.waitForReferencePendingList", "java.lang.ref.Reference$ReferenceHandler.run"}, Idle},
		{"the library reads for itself", analysis.JavaThread, "running", []string{"socket read", "sun.rmi.transport.tcp.TCPTransport.handleMessages", "java.lang.Thread.run"}, Idle},
		{"a thread of the virtual machine", analysis.VMThread, "", []string{"com.acme.Server.run"}, Idle},
		{"main waits for the end of the program", analysis.JavaThread, "waiting", []string{park, "java.util.concurrent.CountDownLatch.await", "com.acme.Server.main"}, Idle},
		{"it runs", analysis.JavaThread, "running", []string{"com.acme.Server.run"}, Idle},
		{"no stack", analysis.JavaThread, "waiting", nil, Idle},
		{"main reads from a socket", analysis.JavaThread, "running", []string{"socket read", "com.acme.Client.main"}, ForSocket},
		{"a task waits for another", analysis.JavaThread, "waiting", []string{park, "java.util.concurrent.CountDownLatch.await", "com.acme.Task.run", "java.util.concurrent.ThreadPoolExecutor.runWorker"}, ForAnother},
		{"a future", analysis.JavaThread, "waiting", []string{park, "java.util.concurrent.FutureTask.awaitDone", "java.util.concurrent.FutureTask.get", "com.acme.Task.run"}, ForAnother},
		{"a lock", analysis.JavaThread, "waiting", []string{park, "java.util.concurrent.locks.ReentrantLock.lock", "com.acme.Task.run"}, ForLock},
		{"a monitor", analysis.JavaThread, "blocked", []string{"com.acme.Task.run"}, ForLock},
		{"a monitor below a call of the library", analysis.JavaThread, "blocked", []string{"java.io.PrintStream.println", "com.acme.Task.run"}, ForLock},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &analysis.Family{Kind: analysis.KindThread, Loose: c.loose, Attributes: map[string]string{"sort": string(c.sort), "state": c.state}}
			if got := waitOf(f); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
