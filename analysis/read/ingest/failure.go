package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/say/wording"
)

// failure is why a process died, as its runtime printed it before the stacks.
type failure struct {
	// line is the reason: "panic: boom", "fatal error: concurrent map writes".
	line      string
	goroutine int64
	state     string
	stack     *analysis.Stack
	// wait is in whole minutes, -1 if none is printed.
	wait int
	// at is the frame that failed, see locate.
	at analysis.Frame
	// limit is "10m0s" of a test binary that ran into its time limit, which goroutine alarm found.
	// The goroutine is then that of the running test that waits longest, and tests are those that ran.
	limit string
	alarm int64
	tests []string
}

// fails notes the reason before a goroutine and the goroutine that failed: the first one of the
// program. A handler that recovers from a panic and logs its stack ends nothing.
func (t *textDump) fails(g *goroutine.Goroutine) {
	t.signal = cmp.Or(t.signal, g.Ended)
	if g.Cause != "" && t.failure == nil && !g.Dumper {
		if f := (&failure{line: g.Cause}); f.ofCompiler() || !recovered(g.Stack) {
			t.failure = f
		}
	}
	if t.failure == nil && mainPanics(g) {
		t.failure = &failure{line: "panic: " + g.Logged}
	}
	if f := t.failure; f != nil && f.stack == nil && g.ID > 0 {
		f.goroutine, f.state, f.stack = g.ID, g.State, g.Stack
		if calls(g.Stack, testAlarm) {
			f.limit, f.alarm = alarmed(f.line), g.ID
		}
	} else if f != nil && f.limit != "" {
		f.tested(g)
	}
}

// ofCompiler reports a failure of the compiler of Go, which writes its stack itself.
func (f *failure) ofCompiler() bool { return strings.Contains(f.line, analysis.CompilerError) }

// mainPanics reports that a handler of the program logged a panic of main and its stacks: with main
// the process ends.
func mainPanics(g *goroutine.Goroutine) bool {
	return g.Logged != "" && g.ID == 1 && g.State == "running" && calls(g.Stack, "panic") && calls(g.Stack, "main.main")
}

// What a test binary has on its stacks (testing/testing.go): the timer of its time limit, and what
// calls the function of each test.
const (
	testAlarm  = "testing.(*M).startAlarm.func1"
	testRunner = "testing.tRunner"
)

func calls(s *analysis.Stack, function string) bool {
	return slices.ContainsFunc(s.Frames, func(f analysis.Frame) bool { return f.Func == function })
}

// alarmed is the time limit of a test binary, "" for another panic.
//
//	"panic: test timed out after 10m0s" = "10m0s"
func alarmed(line string) string {
	_, limit, _ := strings.Cut(line, "test timed out after ")
	return strings.TrimSpace(limit)
}

// tested notes a test that ran when the time was up. What the timer interrupted is no cause: the
// test that waits longest is. Tests that wait for others, their own or parallel ones, do not run.
func (f *failure) tested(g *goroutine.Goroutine) {
	frames := g.Stack.Frames
	at := slices.IndexFunc(frames, func(f analysis.Frame) bool { return f.Func == testRunner })
	switch {
	case at < 0 && f.alarm == f.goroutine && len(f.tests) == 0 && strings.HasPrefix(g.State, "sync."):
		f.take(g, analysis.Frame{}) // it may be a test with a stack that is cut
	case at < 1 || strings.HasPrefix(frames[at-1].Func, testRunner+".") || calls(g.Stack, "testing.(*T).Run") || calls(g.Stack, "testing.(*T).Parallel") || calls(g.Stack, "testing.runTests"):
	default:
		if name := functionOf(frames[at-1].Func); !slices.Contains(f.tests, name) {
			f.tests = append(f.tests, name)
		}
		if f.at.Func == "" || g.Wait > f.wait {
			f.take(g, frames[at-1])
		}
	}
}

// take makes g the goroutine that is told of.
func (f *failure) take(g *goroutine.Goroutine, at analysis.Frame) {
	f.goroutine, f.state, f.stack, f.wait, f.at = g.ID, g.State, g.Stack, g.Wait, at
}

// recovered reports a stack that the goroutine wrote itself.
func recovered(s *analysis.Stack) bool {
	return slices.ContainsFunc(s.Frames, func(f analysis.Frame) bool {
		return strings.HasPrefix(f.Func, "runtime/debug.") || f.Func == "runtime.Stack"
	})
}

// locate finds the frame that failed: the first of own code below the first panic, else the
// first that is not of the standard library, else the first.
func (f *failure) locate(stacks []*analysis.Stack) {
	if f == nil || f.stack == nil || len(f.stack.Frames) == 0 || f.at.Func != "" {
		return
	}
	frames := f.stack.Frames
	marks := family.OwnOf(slices.Values(stacks)).Mark(f.stack)
	from := 0
	for i := range frames {
		if frames[i].Func == "panic" && i+1 < len(frames) {
			from = i + 1 // a deferred call failed again: the frames before are its own
		}
	}
	if !strings.HasPrefix(frames[from].Func, "runtime.") || f.line == asleep {
		f.at = frames[from] // the runtime only says that it failed
	}
	for _, wanted := range []func(i int) bool{
		func(i int) bool { return marks.Frames[i] },
		func(i int) bool { return !family.OfStandardLibrary(frames[i].Func) },
	} {
		for i := from; i < len(frames); i++ {
			if wanted(i) {
				f.at = frames[i]
				return
			}
		}
	}
}

// function is the name without the import path: "connections.(*service).Serve".
func (f *failure) function() string { return functionOf(f.at.Func) }

func functionOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// place is "service.go:689", or empty.
func (f *failure) place() string {
	file := f.at.File[strings.LastIndexAny(f.at.File, `/\`)+1:]
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, f.at.Line)
}

// asleep is the reason of the deadlock that the scheduler finds (runtime/proc.go, checkdead).
const asleep = "fatal error: all goroutines are asleep - deadlock!"

// mostReason bounds the words of a panic.
const mostReason = 80

var (
	// outcome is what the runtime prints after the value of a panic that a deferred call
	// recovered (runtime/panic.go, printpanics).
	outcome = expression.Lazy(` \[(recovered|recovered, repanicked|reraised)\]$`)
	// valueAddress is the value of a type without a text.
	valueAddress = expression.Lazy(` ?\((0x[0-9a-f]+(, ?)?)+\)$| 0x[0-9a-f]+$`)
	// spoken are reasons that have a shorter name.
	spoken = map[string]string{
		"invalid memory address or nil pointer dereference": "nil pointer dereference",
	}
)

// reason words why a process died.
//
//	"panic: runtime error: invalid memory address or nil pointer dereference" = "nil pointer dereference"
//	"fatal error: sync: unlock of unlocked mutex" = "unlock of unlocked mutex"
//	"panic: boom [recovered]" = "panic “boom”"
//	"SIGSEGV: segmentation violation" = "segmentation violation"
func reason(line string) string {
	word, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
	text = outcome.ReplaceAllString(text, "")
	value := word == "panic"
	for _, prefix := range []string{"runtime error: ", "runtime: ", "sync: "} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			text, value = rest, false
		}
	}
	if short, ok := spoken[text]; ok {
		text = short
	}
	text = valueAddress.ReplaceAllString(text, "")
	if runes := []rune(text); len(runes) > mostReason {
		text = string(runes[:mostReason]) + "…"
	}
	if value {
		return "panic “" + text + "”"
	}
	return text
}

// corrupt is what to do where the collector or the unwinder of the runtime finds memory that no program
// in Go alone can make; who finds it is not who wrote it.
const corrupt = "Its memory is corrupt, and who found it did not write it: run it with -race, look at its unsafe and cgo code, and try another release of Go."

// corruptions are how the reasons of such crashes begin (runtime/mgcsweep.go, mbitmap.go, traceback.go).
var corruptions = []string{
	"found pointer to free object", "found bad pointer in Go heap", "invalid pointer found on stack", "sweep increased allocation count",
	"unexpected return pc", "unknown caller pc",
}

// remedies are what to do about reasons, at a place.
var remedies = map[string]string{
	"nil pointer dereference":                "Find what is nil%s.",
	"concurrent map writes":                  "Guard the map with a lock%s and wherever else it is used.",
	"concurrent map read and map write":      "Guard the map with a lock%s and wherever else it is used.",
	"concurrent map iteration and map write": "Guard the map with a lock%s and wherever else it is used.",
	"stack overflow":                         "Find the recursion that does not end%s.",
	"unlock of unlocked mutex":               "Unlock once for each Lock%s.",
	"out of memory":                          "Compare two heap profiles (/debug/pprof/heap) of a running process: what asked last%s need not be what keeps the memory.",
}

// died states why the process of a dump died.
func (b *builder) died(text *part) {
	f := text.text.failure
	if f == nil || f.stack == nil {
		return
	}
	function, at := f.function(), ""
	if place := f.place(); place != "" {
		at = " at " + place
	}
	s := analysis.Statement{Key: analysis.CrashStatement, Path: text.path, Goroutine: f.goroutine, Stack: f.stack}
	if f.line == asleep {
		s.Key, s.Title = analysis.AsleepStatement, "all goroutines are asleep"
		if blocked := wording.Blocked(f.state); blocked != "" && function != "" {
			s.Title += ", " + function + " is " + blocked
		}
		s.Text = "Find who should have sent, closed or unlocked what " + function + " waits for" + at + ": nobody is left to do it."
		b.s.Statements = append(b.s.Statements, s)
		return
	}
	if f.limit != "" {
		s.Key = analysis.TestLimitStatement
		s.Title, s.Text = f.timedOut(at)
		b.s.Statements = append(b.s.Statements, s)
		return
	}
	why := reason(f.line)
	if _, of, ok := strings.Cut(f.line, analysis.CompilerError); ok {
		s.Title = "internal compiler error: " + reason("panic: runtime error: "+strings.TrimRight(of, ": "))
		s.Text = "This is a fault of the Go compiler: report it with this stack, and build with another release until then."
		b.s.Statements = append(b.s.Statements, s)
		return
	}
	s.Title = why
	if function != "" {
		s.Title += " in " + function
	}
	remedy := remedies[why]
	switch {
	case slices.ContainsFunc(corruptions, func(begin string) bool { return strings.HasPrefix(why, begin) }):
		s.Title, s.Text = why, corrupt
	case remedy != "":
		s.Text = fmt.Sprintf(remedy, at)
	default:
		s.Text = fmt.Sprintf("Look at the stack of goroutine %d, which failed%s.", f.goroutine, at)
	}
	if text.text.dump.Headers == 1 {
		s.Text += " To see all goroutines of the next crash, set GOTRACEBACK=all."
	}
	b.s.Statements = append(b.s.Statements, s)
}

// timedOut words a test binary that ran into its time limit, and what to do.
func (f *failure) timedOut(at string) (title, text string) {
	waits := cmp.Or(wording.Blocked(f.state), f.state)
	if f.wait > 0 {
		waits += " for " + wording.Duration(time.Duration(f.wait)*time.Minute)
	}
	switch n := len(f.tests); {
	case f.goroutine == f.alarm:
		return "test timed out after " + f.limit, "Run the tests with -v: the last one that started and did not end is the one that hangs."
	case n == 0:
		return fmt.Sprintf("test timed out after %s, goroutine %d is %s", f.limit, f.goroutine, waits), fmt.Sprintf("Look at the stack of goroutine %d, and at who holds what it waits for.", f.goroutine)
	case n > 1:
		title = fmt.Sprintf("%d tests timed out after %s, %s ", n, f.limit, f.function())
	default:
		title = fmt.Sprintf("test %s timed out after %s, ", f.function(), f.limit)
	}
	return title + waits, fmt.Sprintf("Find what goroutine %d waits for%s: give that wait a deadline shorter than the limit of the test.", f.goroutine, at)
}
