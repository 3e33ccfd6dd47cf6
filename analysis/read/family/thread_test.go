package family_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/thread"
	"leakdiff/samples/corpus"
)

// threadsOf reads the first dump of a file of the corpus; threads are copies.
func threadsOf(t *testing.T, parts ...string) []analysis.Thread {
	t.Helper()
	name := corpus.Path(t, parts...)
	parse := thread.ParseText
	if strings.HasSuffix(name, ".json") {
		parse = thread.ParseJSON
	}
	var out []analysis.Thread
	_, _, err := parse(open(t, name), thread.Config{Path: name}, func(ordinal int, x *analysis.Thread) error {
		if ordinal == 0 {
			out = append(out, *x)
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d threads, %v", name, len(out), err)
	}
	return out
}

// TestTheLeakOfOkHttpGrowsInFiveFamilies counts families: of the threads that carry a
// number, 20 families by name, 17 or 18 by stack, 24 or 25 by both, and the growers of
// each.
func TestTheLeakOfOkHttpGrowsInFiveFamilies(t *testing.T) {
	var all family.Threads
	both, names, stacks := map[string][]int{}, map[string][]int{}, map[string][]int{}
	titles := map[string]string{}
	grow := func(counts map[string][]int, key string, step int) {
		if counts[key] == nil {
			counts[key] = make([]int, 5)
		}
		counts[key][step]++
	}
	for step := range 5 {
		for _, x := range threadsOf(t, "series", "okhttp-leak", "t"+strconv.Itoa(step), "java", "jstack-l.txt") {
			if x.ID < 0 {
				continue
			}
			f := all.OfThread(&x)
			titles[f.Fingerprint] = f.Title
			grow(both, f.Fingerprint, step)
			grow(names, f.Attributes["name"], step)
			grow(stacks, strings.Join(f.Loose, "\n"), step)
		}
	}
	if len(names) != 20 || len(stacks) < 17 || len(stacks) > 18 || len(both) < 24 || len(both) > 25 {
		t.Errorf("%d families by name, %d by stack, %d by both; want 20, 17 or 18, 24 or 25", len(names), len(stacks), len(both))
	}
	grown := func(counts map[string][]int, name func(string) string) map[string][]int {
		out := map[string][]int{}
		for key, c := range counts {
			if c[4] > c[0] {
				out[name(key)] = c
			}
		}
		return out
	}
	want := map[string][]int{
		"OkHttp ConnectionPool · ConnectionPool.lambda$new":                                      {3, 8, 20, 45, 90},
		"OkHttp WebSocket http://<addr>/... · ScheduledThreadPoolExecutor$DelayedWorkQueue.take": {6, 16, 40, 90, 180},
		"OkHttp http://<addr>/... · WebSocketReader.readHeader":                                  {6, 16, 40, 90, 180},
		"fake-apiserver-conn · K8sSim.line":                                                      {3, 8, 20, 45, 90},
		"fake-apiserver-conn · K8sSim.ws":                                                        {6, 16, 40, 90, 180},
	}
	if diff := cmp.Diff(want, grown(both, func(k string) string { return titles[k] })); diff != "" {
		t.Errorf("growers by name and stack (-want +got):\n%s", diff)
	}
	if n := len(grown(names, func(k string) string { return k })); n != 4 {
		t.Errorf("%d growers by name, want 4", n)
	}
	if n := len(grown(stacks, func(k string) string { return k })); n != 5 {
		t.Errorf("%d growers by stack, want 5", n)
	}
	// By stack alone the ping threads merge with a Jenkins timer.
	if c := grown(stacks, func(k string) string { return k }); !slices.ContainsFunc(slices.Collect(maps.Values(c)), func(c []int) bool { return slices.Equal(c, []int{7, 17, 41, 91, 181}) }) {
		t.Errorf("no stack is shared by the ping threads and a timer: %v", slices.Collect(maps.Values(c)))
	}
}

// TestFamiliesAreTheSameInEveryFullForm compares the Java families of one process
// in all forms that print names, states and whole stacks.
func TestFamiliesAreTheSameInEveryFullForm(t *testing.T) {
	for _, jdk := range []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk26"} {
		families := func(file string) map[string]string {
			out := map[string]string{}
			for _, x := range threadsOf(t, "threads", "jdk-matrix", jdk, file) {
				// main writes the dump itself in the forms of MX beans, and the thread
				// that does so for dump_to_file is the Attach Listener.
				if x.Sort == analysis.JavaThread && x.Name != "main" && x.Name != "Attach Listener" {
					f := family.OfThread(&x)
					out[f.Fingerprint] = f.Title
				}
			}
			return out
		}
		want := families("jstack.txt")
		files := []string{"jcmd-Thread.print-l.txt", "support-core-thread-dump.txt", "jenkins-threadDump-page.txt", "getAllStackTraces.txt"}
		if jdk >= "jdk17" && jdk != "jdk8" {
			files = append(files, "actuator-threaddump.json")
		}
		if jdk == "jdk25" || jdk == "jdk26" {
			files = append(files, "dump_to_file.json", "dump_to_file.txt")
		}
		for _, file := range files {
			got := families(file)
			for print, title := range got {
				if strings.HasPrefix(title, "VirtualThread-unblocker") && strings.HasPrefix(file, "dump_to_file") {
					delete(got, print) // it works for the dump
					delete(want, print)
				}
			}
			compared := maps.Clone(want)
			if strings.HasPrefix(file, "dump_to_file") {
				maps.DeleteFunc(compared, func(_, title string) bool { return strings.HasPrefix(title, "VirtualThread-unblocker") })
			}
			if diff := cmp.Diff(compared, got); diff != "" {
				t.Errorf("%s/%s (-jstack +got):\n%s", jdk, file, diff)
			}
		}
	}
}

func TestTheSeriesOfJenkinsGrowsInItsPools(t *testing.T) {
	// expected.json of the series.
	want := map[string][]int{
		"OkHttp ConnectionPool":              {2, 6, 15, 30, 60},
		"OkHttp WebSocket http://<addr>/...": {4, 12, 30, 60, 120},
		"OkHttp http://<addr>/...":           {4, 12, 30, 60, 120},
		"fake-apiserver-conn":                {6, 18, 45, 90, 180},
		"jenkins.util.Timer":                 {10, 10, 10, 10, 10},
	}
	for _, file := range []string{"support-core-thread-dump.txt", "jenkins-threadDump-page.txt", "threadmxbean-tostring.txt", "getAllStackTraces.txt"} {
		got := map[string][]int{}
		for step := range 5 {
			for _, x := range threadsOf(t, "series", "okhttp-leak-supportcore", "t"+strconv.Itoa(step), "java", file) {
				pool := family.OfThread(&x).Entry
				if want[pool] == nil {
					continue
				}
				if got[pool] == nil {
					got[pool] = make([]int, 5)
				}
				got[pool][step]++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: pools (-want +got):\n%s", file, diff)
		}
	}
}

func TestNamesLoseWhatChanges(t *testing.T) {
	for _, test := range []struct{ printed, name, pool string }{
		{"OkHttp WebSocket http://localhost:43177/...", "OkHttp WebSocket http://localhost:N/...", "OkHttp WebSocket http://localhost:N/..."},
		{"OkHttp https://10.0.0.1/...", "OkHttp https://<addr>/...", "OkHttp https://<addr>/..."},
		{"OkHttp kubernetes.default", "OkHttp kubernetes.default", "OkHttp kubernetes.default"},
		{"HttpClient-1234-SelectorManager", "HttpClient-N-SelectorManager", "HttpClient-N-SelectorManager"},
		{"pool-7-thread-1", "pool-N-thread-N", "pool-N"},
		{"-2073792911-pool-734325-thread-1", "N-pool-N-thread-N", "N-pool-N"},
		{"jenkins.util.Timer [#4]", "jenkins.util.Timer [#N]", "jenkins.util.Timer"},
		{"Executor #1 for master : executing job #18", "Executor #N for master", "Executor #N for master"},
		{"Handling GET /job/x/7 from 10.0.0.1 : qtp42-17 Main/index.jelly", "Handling GET /job/x/N", "qtpN"},
		{"Handling POST /job/x/doRename : ajp-127.0.0.1-8009-3", "Handling POST /job/x/doRename : ajp-<addr>-N-N", "ajp-<addr>-N"},
		{"Handling of mail : 7", "Handling of mail : N", "Handling of mail : N"},
		{"Handling GET /job/x", "Handling GET /job/x", "Handling GET /job/x"},
		{"qtp42-17", "qtpN-N", "qtpN"},
		{"poller-7 [waiting for broker 3]", "poller-N [waiting for broker N]", "poller-N [waiting for broker N]"},
		{"kafka-coordinator-heartbeat-thread | group-142b89db-2545-446d-a249-dac01733f131", "kafka-coordinator-heartbeat-thread | group-<uuid>", "kafka-coordinator-heartbeat-thread | group-<uuid>"},
		{"RMI TCP Connection(23)-127.0.1.1", "RMI TCP Connection(N)-<addr>", "RMI TCP Connection(N)-<addr>"},
		{"qtp12-34-acceptor-0@1b2c3d4-ServerConnector@5e6f7a8{HTTP/1.1}{[::1]:8080}", "qtpN-N-acceptor-N@<hex>-ServerConnector@<hex>{HTTP/N.N}{<addr>}", "qtpN-N-acceptor-N@<hex>-ServerConnector@<hex>{HTTP/N.N}{<addr>}"},
		{"GC Thread#0", "GC Thread#N", "GC Thread"},
		{"Thread-12", "Thread-N", "Thread"},
		{"12", "N", "N"},
		{"", "", ""},
		{"two\nlines", "two\nlines", "two\nlines"},
		{"at 0x7f00 done", "at <hex> done", "at <hex> done"},
	} {
		if got := family.ThreadName(test.printed); got != test.name {
			t.Errorf("ThreadName(%q) = %q, want %q", test.printed, got, test.name)
		}
		if got := family.ThreadPool(test.printed); got != test.pool {
			t.Errorf("ThreadPool(%q) = %q, want %q", test.printed, got, test.pool)
		}
	}
}

func javaStack(functions ...string) *analysis.Stack {
	s := &analysis.Stack{}
	for i, f := range functions {
		s.Frames = append(s.Frames, analysis.Frame{Func: f, File: "java.base@17/X.java", Line: i + 1})
	}
	return s
}

func javaThread(name, state string, functions ...string) *analysis.Thread {
	return &analysis.Thread{Name: name, Sort: analysis.JavaThread, ID: 1, State: state, Carrying: -1, Stack: javaStack(functions...)}
}

func TestStacksThatAreOneFamily(t *testing.T) {
	for _, test := range []struct {
		name string
		a, b []string
		want []string
	}{
		{"a read is caught in poll and in read0",
			[]string{"sun.nio.ch.Net.poll", "sun.nio.ch.NioSocketImpl.park", "sun.nio.ch.NioSocketImpl.implRead", "java.net.Socket$SocketInputStream.read", "a.B.run"},
			[]string{"sun.nio.ch.SocketDispatcher.read0", "sun.nio.ch.SocketDispatcher.read", "sun.nio.ch.NioSocketImpl.tryRead", "java.net.Socket$SocketInputStream.read", "a.B.run"},
			[]string{"socket read", "a.B.run"}},
		{"lambdas have other numbers in another run", []string{"a.B.lambda$new$0", "a.B$$Lambda$33/0x00007f335c00ebf8.run", "a.C.run"}, []string{"a.B.lambda$new$1", "a.B$$Lambda/0x00007fc79005a228.run", "a.C.run"}, []string{"a.B.lambda$new", "a.C.run"}},
		{"recursion has no depth", []string{"a.B.rec", "a.B.rec", "a.B.rec", "a.B.run"}, []string{"a.B.rec", "a.B.run"}, []string{"a.B.rec", "a.B.run"}},
		{"proxies and accessors are numbered", []string{"a.$Proxy12.x", "jdk.internal.reflect.GeneratedMethodAccessor616.invoke", "a.B.run"}, []string{"a.$Proxy99.x", "sun.reflect.NativeMethodAccessorImpl.invoke0", "sun.reflect.NativeMethodAccessorImpl.invoke", "a.B.run"}, []string{"a.$Proxy.x", "a.B.run"}},
		{"a selector is another class on another system", []string{"sun.nio.ch.EPoll.wait", "sun.nio.ch.EPollSelectorImpl.doSelect", "sun.nio.ch.SelectorImpl.select", "a.B.run"}, []string{"sun.nio.ch.KQueue.poll", "sun.nio.ch.SelectorImpl.lockAndDoSelect", "a.B.run"}, []string{"selector wait", "a.B.run"}},
		{"releases sleep and wait under other names", []string{"java.lang.Thread.sleepNanos0", "java.lang.Thread.sleepNanos", "java.lang.Thread.sleep", "a.B.run", "java.lang.Thread.runWith", "java.lang.Thread.run"}, []string{"java.lang.Thread.sleep", "a.B.run", "java.lang.Thread.run"}, []string{"java.lang.Thread.sleep", "a.B.run", "java.lang.Thread.run"}},
	} {
		a, b := family.OfThread(javaThread("x", "WAITING", test.a...)), family.OfThread(javaThread("x", "WAITING", test.b...))
		if a.Fingerprint != b.Fingerprint {
			t.Errorf("%s: two families, %v and %v", test.name, a.Loose, b.Loose)
		}
		if diff := cmp.Diff(test.want, a.Loose); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestThreadsThatAreNotOneFamily(t *testing.T) {
	base := func() *analysis.Thread { return javaThread("x", "WAITING", "a.B.wait", "a.B.run") }
	seen := map[string]string{}
	for name, change := range map[string]func(*analysis.Thread){
		"itself":       func(*analysis.Thread) {},
		"its name":     func(x *analysis.Thread) { x.Name = "y" },
		"its state":    func(x *analysis.Thread) { x.State = "BLOCKED" },
		"its sort":     func(x *analysis.Thread) { x.Sort = analysis.VirtualThread },
		"its stack":    func(x *analysis.Thread) { x.Stack = javaStack("a.B.other", "a.B.run") },
		"being cut":    func(x *analysis.Thread) { x.Capped = true },
		"a socket":     func(x *analysis.Thread) { x.Stack = javaStack("sun.nio.ch.Net.accept", "a.B.run") },
		"another call": func(x *analysis.Thread) { x.Stack = javaStack("sun.nio.ch.SocketDispatcher.read0", "a.B.run") },
	} {
		x := base()
		change(x)
		print := family.OfThread(x).Fingerprint
		if other, ok := seen[print]; ok {
			t.Errorf("%s and %s make one family", name, other)
		}
		seen[print] = name
		if !strings.HasPrefix(print, "t1:") || len(print) != 3+32 {
			t.Errorf("fingerprint %q", print)
		}
	}
	timed := base()
	timed.State = "TIMED_WAITING"
	if family.OfThread(timed).Fingerprint != family.OfThread(base()).Fingerprint {
		t.Error("waiting with and without a limit are two families")
	}
}

func TestThreadTitlesTell(t *testing.T) {
	for _, test := range []struct {
		thread *analysis.Thread
		want   string
	}{
		{javaThread("OkHttp ConnectionPool", "TIMED_WAITING", "java.lang.Object.wait", "okhttp3.ConnectionPool$1.run", "java.util.concurrent.ThreadPoolExecutor.runWorker"), "OkHttp ConnectionPool · ConnectionPool$1.run"},
		{javaThread("pool-1-thread-2", "WAITING", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.LockSupport.park", "java.util.concurrent.LinkedBlockingQueue.take", "java.lang.Thread.run"), "pool-N-thread-N · LinkedBlockingQueue.take"},
		{javaThread("OkHttp http://h/...", "RUNNABLE", "sun.nio.ch.Net.poll", "java.net.Socket$SocketInputStream.read", "okio.Okio$2.read", "okhttp3.internal.ws.WebSocketReader.readHeader"), "OkHttp http://h/... · WebSocketReader.readHeader"},
		{javaThread("", "BLOCKED", "a.B.run"), "thread without a name · B.run (blocked)"},
		{javaThread("two\nlines", "RUNNABLE"), "two lines"},
		{&analysis.Thread{Name: "GC Thread#0", Sort: analysis.VMThread, State: "runnable", Carrying: -1}, "GC Thread#N"},
		{&analysis.Thread{Name: "G1 Conc#2", Sort: analysis.VMThread, State: "runnable", Carrying: -1}, "G1 Conc#N"},
		{&analysis.Thread{Name: "C2 CompilerThread0", Sort: analysis.VMThread, State: "RUNNABLE", Carrying: -1}, "C1 or C2 CompilerThreadN"},
		{javaThread("G1 Conc", "RUNNABLE", "a.B.run"), "GN Conc · B.run"},
		{javaThread("JPS thread pool", "TIMED_WAITING", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.LockSupport.parkNanos", "java.util.concurrent.LinkedTransferQueue$DualNode.await", "java.util.concurrent.SynchronousQueue$Transferer.xferLifo", "java.util.concurrent.SynchronousQueue.xfer", "java.util.concurrent.SynchronousQueue.poll"), "JPS thread pool · SynchronousQueue.poll"},
		{javaThread("pool-1-thread-2", "TIMED_WAITING", "sun.misc.Unsafe.park", "java.util.concurrent.locks.LockSupport.parkNanos", "java.util.concurrent.SynchronousQueue$TransferStack.awaitFulfill", "java.util.concurrent.SynchronousQueue$TransferStack.transfer", "java.util.concurrent.SynchronousQueue.poll"), "pool-N-thread-N · SynchronousQueue.poll"},
	} {
		if got := family.OfThread(test.thread).Title; got != test.want {
			t.Errorf("title %q, want %q", got, test.want)
		}
	}
}

func TestAStateThatWasNotPrintedIsToldByTheLeaf(t *testing.T) {
	for _, test := range []struct {
		state, leaf, want string
	}{
		{"", "java.lang.Object.wait0", "waiting"}, {"", "sun.misc.Unsafe.park", "waiting"}, {"", "a.B.run", "running"},
		{"state = BLOCKED", "java.lang.Thread.sleep", "waiting"}, {"state = IN_NATIVE", "sun.nio.ch.Net.poll", "running"},
		{"waiting for monitor entry", "a.B.run", "blocked"}, {"alive, blocked", "a.B.run", "blocked"}, {"WAITING", "jdk.internal.vm.Continuation.run", "running"},
	} {
		if got := family.OfThread(javaThread("x", test.state, test.leaf, "a.C.run")).Attributes["state"]; got != test.want {
			t.Errorf("%q at %s is %s, want %s", test.state, test.leaf, got, test.want)
		}
	}
}

func TestTheCanonicalTextOfAThreadHoldsWhatIsCompared(t *testing.T) {
	x := javaThread("pool-1-thread-2", "TIMED_WAITING", "jdk.internal.misc.Unsafe.park", "a.B$$Lambda$3/0x01.run", "a.B.run")
	if text := family.CanonicalThread(x); text != "t1\njava\n\"pool-N-thread-N\"\nwaiting\na.B.run\njdk.internal.misc.Unsafe.park\n" {
		t.Errorf("canonical text %q", text)
	}
}

func TestExactStacksKeepLinesAndLoseModules(t *testing.T) {
	a, b, c := javaStack("a.B.run"), javaStack("a.B.run"), javaStack("a.B.run")
	b.Frames[0].File, c.Frames[0].Line = "X.java", 9
	if family.ExactThread(a) != family.ExactThread(b) || family.ExactThread(a) == family.ExactThread(c) || !strings.HasPrefix(family.ExactThread(a), "e1:") {
		t.Error("an exact stack is its classes, methods, file bases and lines")
	}
}

// TestANormalNameIsItsOwn: normalising twice changes nothing, and any number in a
// name is the same as any other.
func TestANormalNameIsItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zN @:#\[\]./<>-]{0,6}(-?\d{1,6}[a-z@:. -]{0,3}){0,4}`)).Draw(t, "name")
		once := family.ThreadName(name)
		if twice := family.ThreadName(once); twice != once {
			t.Fatalf("%q becomes %q and then %q", name, once, twice)
		}
		n := rapid.IntRange(0, 99999).Draw(t, "n")
		if a, b := family.ThreadName("worker "+strconv.Itoa(n)+" x"), family.ThreadName("worker 7 x"); a != b {
			t.Fatalf("%q and %q", a, b)
		}
	})
}

func TestRememberingChangesNothing(t *testing.T) {
	var all family.Threads
	for _, name := range []string{"jstack.txt", "support-core-thread-dump.txt"} {
		for _, x := range threadsOf(t, "threads", "jdk-matrix", "jdk17", name) {
			if diff := cmp.Diff(family.OfThread(&x), all.OfThread(&x)); diff != "" {
				t.Fatalf("%q (-alone +remembered):\n%s", x.Name, diff)
			}
		}
	}
}

func BenchmarkOfThread(b *testing.B) {
	stacks := make([]*analysis.Stack, 50)
	for i := range stacks {
		stacks[i] = javaStack("jdk.internal.misc.Unsafe.park", "a.B$$Lambda$3/0x01.run", filepath.Base(strconv.Itoa(i))+".B.run", "java.lang.Thread.run")
	}
	for b.Loop() {
		var all family.Threads
		for i := range 20_000 {
			all.OfThread(&analysis.Thread{Name: "pool-7-thread-" + strconv.Itoa(i), Sort: analysis.JavaThread, State: "WAITING", Carrying: -1, Stack: stacks[i%len(stacks)]})
		}
	}
}
