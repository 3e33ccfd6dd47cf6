package goroutine_test

import (
	"bytes"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// waiters are goroutines of the test in each state that a program can hold for long.
type waiters struct {
	stop chan struct{}
	done sync.WaitGroup
	lock sync.Mutex
	full chan int
}

func (w *waiters) receive() { defer w.done.Done(); <-w.stop }
func (w *waiters) choose() {
	defer w.done.Done()
	select {
	case <-w.stop:
	case <-w.full:
	}
}
func (w *waiters) acquire() {
	defer w.done.Done()
	w.lock.Lock()
	defer w.lock.Unlock()
}

// start starts n goroutines.
func (w *waiters) start(n int, f func()) {
	w.done.Add(n)
	for range n {
		go f()
	}
}

// traced runs a program under the tracer of the runtime that runs the test: 7 goroutines
// receive and 2 wait for a lock since before the trace, 5 more start to receive, 3 to
// choose, and 11 come and go in it.
func traced(t *testing.T) []byte {
	t.Helper()
	w := &waiters{stop: make(chan struct{}), full: make(chan int)}
	w.lock.Lock()
	w.start(7, w.receive)
	w.start(2, w.acquire)
	settle(t, ").receive(", 7, ").acquire(", 2)
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal("the trace did not begin; is the test itself traced? ", err)
	}
	w.start(5, w.receive)
	w.start(3, w.choose)
	for range 11 {
		var one sync.WaitGroup
		one.Add(1)
		go func() { one.Done() }()
		one.Wait()
	}
	settle(t, ").receive(", 12, ").choose(", 3)
	time.Sleep(50 * time.Millisecond) // the least window that the test asks for
	trace.Stop()
	close(w.stop)
	w.lock.Unlock()
	w.done.Wait()
	return out.Bytes()
}

// settle waits until so many goroutines of methods wait, as a dump shows.
func settle(t *testing.T, method string, n int, other string, m int) {
	t.Helper()
	for range 3000 {
		var dump bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&dump, 2); err != nil {
			t.Fatal(err)
		}
		waiting := map[string]int{}
		for block := range strings.SplitSeq(dump.String(), "\n\n") {
			header, body, _ := strings.Cut(block, "\n")
			for _, name := range []string{method, other} {
				if strings.Contains(body, "waiters"+name) && !strings.Contains(header, "[run") {
					waiting[name]++
				}
			}
		}
		if waiting[method] == n && waiting[other] == m {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the goroutines do not come to wait")
}

// inMethod counts the goroutines whose stack has a method of waiters, by state.
func inMethod(all []goroutine.Goroutine, method string) map[string]int {
	out := map[string]int{}
	for _, g := range all {
		if slices.ContainsFunc(g.Stack.Frames, func(f analysis.Frame) bool { return strings.HasSuffix(f.Func, "(*waiters)."+method) }) {
			out[g.State]++
		}
	}
	return out
}

func parseTrace(t *testing.T, data []byte) (goroutine.Trace, []goroutine.Goroutine, []analysis.Problem, error) {
	t.Helper()
	var all []goroutine.Goroutine
	found, problems, err := goroutine.ParseTrace(bytes.NewReader(data), goroutine.Config{Path: "trace.out"}, func(g *goroutine.Goroutine) error {
		all = append(all, *g)
		return nil
	})
	return found, all, problems, err
}

func TestATraceShowsWhoLivesAtItsEndAndWhoCameAndWent(t *testing.T) {
	before := time.Now()
	data := traced(t)
	found, all, problems, err := parseTrace(t, data)
	// A goroutine of the runtime or of another test may do nothing meanwhile; those of this
	// test have stacks, see below.
	problems = slices.DeleteFunc(problems, func(p analysis.Problem) bool { return strings.HasPrefix(p.What, "the trace has no stack of 1 of ") })
	if err != nil || len(problems) > 0 {
		t.Fatalf("error %v, problems %v", err, problems)
	}
	for method, want := range map[string]map[string]int{
		"receive": {"chan receive": 12}, "choose": {"select": 3}, "acquire": {"sync.Mutex.Lock": 2},
	} {
		if got := inMethod(all, method); len(got) != 1 || got[firstKey(want)] != want[firstKey(want)] {
			t.Errorf("%s: %v, want %v", method, got, want)
		}
	}
	// The runtime and the test's own start some beside those counted by hand.
	if found.Started < 5+3+11 || found.Ended < 11 || found.Started > 5+3+11+10 || found.Stayed < 8 {
		t.Errorf("%d started, %d stayed, %d ended; want at least 19, 8 and 11", found.Started, found.Stayed, found.Ended)
	}
	if found.Truncated || found.Headers != len(all) || found.Goroutines+found.System != len(all) || found.MaxID != all[len(all)-1].ID {
		t.Errorf("the trace is described as %+v, with %d goroutines", found, len(all))
	}
	if found.Window < 50*time.Millisecond || found.Window > time.Minute {
		t.Errorf("the window is %v", found.Window)
	}
	if found.Time.Before(before) || found.Time.After(time.Now()) {
		t.Errorf("the time is %v, not between %v and now", found.Time, before)
	}
	for i, g := range all {
		if i > 0 && all[i-1].ID >= g.ID {
			t.Fatalf("ids do not rise: %d, %d", all[i-1].ID, g.ID)
		}
		if g.State == "waiting" {
			t.Errorf("a state without a word: %v", g.Stack.Frames)
		}
	}
}

func firstKey(m map[string]int) string {
	for key := range m {
		return key
	}
	return ""
}

func TestACutTraceIsReadUpToItsCut(t *testing.T) {
	data := traced(t)
	whole, _, _, _ := parseTrace(t, data)
	for at := 0; at < len(data); at += max(1, len(data)/97) {
		found, all, problems, err := parseTrace(t, data[:at])
		if err != nil {
			continue // nothing was read, and that is said
		}
		if len(all) < whole.Headers && !lowerBound(problems) {
			t.Errorf("cut at %d of %d: %d of %d goroutines without a warning: %+v", at, len(data), len(all), whole.Headers, found)
		}
	}
}

func lowerBound(problems []analysis.Problem) bool {
	return slices.ContainsFunc(problems, func(p analysis.Problem) bool { return p.Severity == analysis.Warning })
}

func TestWhatIsNoTraceIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a header alone":       "go 1.26 trace\x00\x00\x00",
		"an unknown version":   "go 1.99 trace\x00\x00\x00\x01\x02",
		"bytes after a header": "go 1.26 trace\x00\x00\x00" + strings.Repeat("\xff", 100),
		"nothing":              "",
	} {
		if found, all, _, err := parseTrace(t, []byte(text)); err == nil && len(all) == 0 {
			t.Errorf("%s: no error for %+v", name, found)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add([]byte("go 1.26 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		found, _, err := goroutine.ParseTrace(bytes.NewReader(data), goroutine.Config{}, func(*goroutine.Goroutine) error { n++; return nil })
		if err == nil && n != found.Headers {
			t.Errorf("%d of %d goroutines were handed over", n, found.Headers)
		}
	})
}
