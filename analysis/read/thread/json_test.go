package thread_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
)

const fileJSON = `{"threadDump":{"processId":"12579","time":"2026-11-21T02:54:23.808517752Z","runtimeVersion":"25.0.3","threadContainers":[
{"container":"<root>","parent":null,"owner":null,"threads":[
{"tid":"3","time":"2026-11-21T02:54:23.8Z","name":"main","state":"BLOCKED","blockedOn":"C@1b","stack":["java.base\/java.lang.Thread.run(Thread.java:1474)"],"monitorsOwned":[{"depth":0,"locks":[null,"D@2c"]}]}],"threadCount":"1"},
{"container":"java.util.concurrent.ThreadPerTaskExecutor@47","threads":[{"tid":48,"name":"","virtual":true,"state":"WAITING","parkBlocker":{"object":"E@3d","owner":"3"},"stack":[],"carrier":"22"}]},
{"container":"ForkJoinPool-1\/jdk.internal.vm.SharedThreadContainer@a3","threads":[]},
{"container":"ForkJoinPool-2\/jdk.internal.vm.SharedThreadContainer@a4","threads":[]}]}}`

func TestDumpToFileAsJSON(t *testing.T) {
	p := parse(t, "x.json", fileJSON)
	d := p.dumps[0]
	if d.Form != thread.FormDumpToFileJSON || d.PID != 12579 || d.Version != "25.0.3" || d.Zoneless || d.Time.IsZero() || d.Threads != 2 {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff(map[string]int{"java.util.concurrent.ThreadPerTaskExecutor": 1, "jdk.internal.vm.SharedThreadContainer": 2}, d.Containers); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	want := []analysis.Thread{
		{Name: "main", Sort: analysis.JavaThread, ID: 3, State: "BLOCKED", Carrying: -1, Container: "<root>", Elapsed: -1, CPU: -1,
			Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: "java.lang.Thread.run", File: "java.base/Thread.java", Line: 1474}}},
			Locks: []analysis.Lock{{How: "waiting to lock", Class: "C", Object: "1b"}, {How: "locked", Class: "D", Object: "2c"}}},
		{Name: "", Sort: analysis.VirtualThread, ID: 48, State: "WAITING", Carrying: -1, Carrier: 22, Container: "java.util.concurrent.ThreadPerTaskExecutor@47", Elapsed: -1, CPU: -1,
			Stack: &analysis.Stack{Frames: []analysis.Frame{}}, Locks: []analysis.Lock{{How: "parking to wait for", Class: "E", Object: "3d", OwnerID: 3, Frame: -1}}},
	}
	if diff := cmp.Diff(want, sketch(p)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if lines := []int64{p.all()[0].Line, p.all()[1].Line}; lines[0] != 3 || lines[1] != 4 {
		t.Errorf("lines %v, want 3 and 4", lines)
	}
}

// TestContainersCountTheirThreads cites jdk.internal.vm.ThreadDumper of JDK 21, which takes the
// container's own count where virtual threads are not tracked.
func TestContainersCountTheirThreads(t *testing.T) {
	for _, tc := range []struct {
		name, text, why string
		truncated       bool
	}{
		{"as many as there are", fileJSON, "", false},
		{"one is missing", strings.Replace(fileJSON, `"threadCount":"1"`, `"threadCount":"9"`, 1), "the containers count 9 threads, 1 are in their lists", true},
		{"one is too many", strings.Replace(fileJSON, `"threadCount":"1"`, `"threadCount":"0"`, 1), "the containers count 0 threads, 1 are in their lists", false},
	} {
		p := parse(t, "x.json", tc.text)
		warnings := warned(p)
		if p.dumps[0].Truncated != tc.truncated || (len(warnings) == 1) != (tc.why != "") || len(warnings) == 1 && warnings[0].Why != tc.why {
			t.Errorf("%s: %v, %+v", tc.name, p.dumps[0].Truncated, warnings)
		}
	}
}

const actuatorJSON = `{"threads":[{"threadName":"a","threadId":7,"lockName":"C@1b","lockOwnerId":8,"lockOwnerName":"b","daemon":true,"threadState":"BLOCKED",
"stackTrace":[{"classLoaderName":null,"moduleName":"java.base","moduleVersion":"17","methodName":"wait","fileName":"Object.java","lineNumber":-2,"className":"java.lang.Object","nativeMethod":true},
{"classLoaderName":"app","methodName":"run","fileName":"B.java","lineNumber":4,"className":"a.B"}],
"lockedMonitors":[{"className":"D","identityHashCode":44,"lockedStackDepth":1}],"lockedSynchronizers":[{"className":"E","identityHashCode":61}],"lockInfo":{"className":"C","identityHashCode":27}}]}`

func TestTheActuatorsJSON(t *testing.T) {
	for name, text := range map[string]string{"Boot 2 to 4": actuatorJSON, "Boot 1, a bare list": strings.TrimSuffix(strings.TrimPrefix(actuatorJSON, `{"threads":`), "}")} {
		want := []analysis.Thread{{Name: "a", Sort: analysis.JavaThread, ID: 7, Daemon: true, State: "BLOCKED", Carrying: -1, Elapsed: -1, CPU: -1,
			Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: "java.lang.Object.wait", File: "java.base@17/Native Method"}, {Func: "a.B.run", File: "B.java", Line: 4}}},
			Locks: []analysis.Lock{
				{How: "waiting to lock", Class: "C", Object: "1b", Owner: "b"},
				{How: "locked", Class: "D", Object: "2c", Frame: 1},
				{How: "owns", Class: "E", Object: "3d", Frame: -1},
			}}}
		p := parse(t, "x.json", text)
		if diff := cmp.Diff(want, sketch(p)); diff != "" || p.dumps[0].Form != thread.FormActuator {
			t.Errorf("%s: %+v (-want +got):\n%s", name, p.dumps, diff)
		}
	}
}

func TestSeveralJSONDumpsInOneFile(t *testing.T) {
	p := parse(t, "x.json", actuatorJSON+"\n"+actuatorJSON+"\n"+fileJSON)
	if diff := cmp.Diff([]int{1, 1, 2}, p.counts()); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
}

func TestJSONThatBreaksOffKeepsWhatWasRead(t *testing.T) {
	for _, test := range []struct {
		name, text string
		threads    int
		truncated  bool
	}{
		{"cut", fileJSON[:strings.Index(fileJSON, `"state":"WAITING"`)], 1, true},
		{"no JSON from some place on", strings.Replace(fileJSON, `{"tid":48`, `}{"tid":48`, 1), 1, true},
		{"an element that is no thread", `{"threads":[{"threadName":"a"},17,{"x":1},{"threadName":"b"}]}`, 2, false},
		{"not JSON at all", "hello", 0, false},
		{"nothing", "", 0, false},
		{"another JSON", `{"a":[1,2,{"b":null}]}`, 0, false},
	} {
		p := parse(t, "x.json", test.text)
		if len(p.all()) != test.threads || len(p.dumps) > 0 && p.dumps[0].Truncated != test.truncated {
			t.Errorf("%s: %d threads, %+v", test.name, len(p.all()), p.dumps)
		}
		whole := test.text == "" || test.name == "another JSON"
		if (len(p.problems) == 0) != whole {
			t.Errorf("%s: problems %+v", test.name, p.problems)
		}
	}
}

func TestAHugeValueOfJSONIsRefused(t *testing.T) {
	text := `{"threads":[{"threadName":"a"},{"threadName":"` + strings.Repeat("x", 40<<20) + `"}]}`
	p := parse(t, "x.json", text)
	if len(p.all()) != 1 || !p.dumps[0].Truncated || len(p.problems) != 1 || !strings.Contains(p.problems[0].What, "16 MiB") {
		t.Errorf("%d threads, %+v", len(p.all()), p.problems)
	}
	deep := strings.Repeat(`{"threads":[`, 100_000)
	if p := parse(t, "x.json", deep); len(p.all()) != 0 {
		t.Errorf("deep: %d threads", len(p.all()))
	}
}
