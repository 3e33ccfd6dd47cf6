package trend

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// accused is a dump before and one after some goroutines came: a group that the runtime marks
// as leaked and that waits, and others.
func accused(states map[string]int, late ...analysis.Group) Input {
	waiters := cameLate("waiters", "example.org/app.start", "example.org/app.(*Pool).Get")
	waiters.Count, waiters.Leaked, waiters.States = 4, 4, states
	none, total := 0, waiters.Count
	first := &analysis.Snapshot{Label: "t0", Totals: analysis.Totals{Goroutines: &none}}
	then := &analysis.Snapshot{Label: "t1", Groups: append([]analysis.Group{waiters}, late...)}
	for _, group := range late {
		total += group.Count
	}
	then.Totals.Goroutines = &total
	return Input{Snapshots: []*analysis.Snapshot{first, then}}
}

// cameLate is a group of two goroutines.
func cameLate(print, creator string, functions ...string) analysis.Group {
	stack := &analysis.Stack{CreatedBy: analysis.Frame{Func: creator}}
	for _, name := range functions {
		stack.Frames = append(stack.Frames, analysis.Frame{Func: name})
	}
	return analysis.Group{
		Family: &analysis.Family{Fingerprint: print, Kind: analysis.KindGoroutine}, Count: 2,
		States: map[string]int{"IO wait": 2}, Variants: []analysis.Variant{{Stack: stack, Count: 2}},
	}
}

func suspectsOf(in Input) string {
	var names []string
	for _, f := range NewSeries(in).Suspects("waiters") {
		names = append(names, f.Fingerprint)
	}
	return strings.Join(names, " ")
}

func TestSuspectsByTheirStacks(t *testing.T) {
	both := cameLate("both", "example.org/app.start", "example.org/app.(*Pool).Put")
	kind := cameLate("kind", "example.org/app.other", "example.org/app.(*Pool).Put")
	creator := cameLate("creator", "example.org/app.start", "example.org/app.run")
	neither := cameLate("neither", "example.org/app.other", "example.org/app.run")
	waiting := map[string]int{"chan receive": 4}
	if got := suspectsOf(accused(waiting, both, creator, kind, neither)); got != "both kind creator" {
		t.Errorf("%q, want what shares type and creator, then the type, then the creator", got)
	}
	var six []analysis.Group
	for k := range 6 {
		six = append(six, cameLate(fmt.Sprintf("s%d", k), "example.org/app.start", "example.org/app.run"))
	}
	if got := suspectsOf(accused(waiting, six...)); got != "s0 s1 s2 s3" {
		t.Errorf("%q, want four of six", got)
	}
	for n, want := range map[int]string{2: "", 3: "both"} {
		if got := suspectsOf(accused(map[string]int{"chan receive": n, "running": 4 - n}, both)); got != want {
			t.Errorf("%d of four wait: %q, want %q", n, got, want)
		}
	}
	if got := suspectsOf(accused(map[string]int{"sync.Mutex.Lock": 3, "running": 1}, both)); got != "both" {
		t.Errorf("three of four wait for a lock: %q", got)
	}

	in := accused(waiting, cameLate("three", "example.org/app.other", "example.org/app.(*Pool).Put", "example.org/app.(*Line).Run", "example.org/app.(*Job).Run"))
	stack := in.Snapshots[1].Groups[0].Variants[0].Stack
	for _, name := range []string{"example.org/app.(*Line).Wait", "example.org/app.(*Job).Wait"} {
		stack.Frames = append(stack.Frames, analysis.Frame{Func: name})
	}
	var why []string
	for _, e := range NewSeries(in).Suspects("waiters")[0].Why {
		why = append(why, figuresOf(e))
	}
	if want := "same_type 3 (example.org/app.Pool, example.org/app.Line)"; !slices.Contains(why, want) {
		t.Errorf("%q, want %q", why, want)
	}
}

// Six goroutines are inside the object whose lock is waited for: too many to name one. Another
// family shares the type and the creator alone.
func TestAnAddressNamesSuspectsBeforeAStackDoes(t *testing.T) {
	snap, objects := convoy()
	inside := analysis.Group{
		Family: &analysis.Family{Fingerprint: "inside", Kind: analysis.KindGoroutine}, Count: 6, States: map[string]int{"IO wait": 6},
		Variants: []analysis.Variant{{Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: "main.(*Pool).Put"}}}, Count: 6}},
		Members:  analysis.Members{Columns: &analysis.Columns{ID: []int64{11, 12, 13, 14, 15, 16}, Wait: []int32{9, 9, 9, 9, 9, 9}}},
	}
	snap.Groups = append(snap.Groups[:1:1], inside, snap.Groups[2])
	objects["inside"] = []Object{{Address: 0xc0100, Func: "main.(*Pool).Put", Count: 6, Members: inside.Members.Fill().ID}}
	delete(objects, "holder")
	delete(objects, "young")
	snap.Groups[0].Leaked = 3
	none, total := 0, 10
	snap.Totals.Goroutines = &total
	in := Input{Snapshots: []*analysis.Snapshot{{Label: "t0", Totals: analysis.Totals{Goroutines: &none}}, snap}, Objects: []map[string][]Object{nil, objects}}
	if got := suspectsOf(in); got != "inside" {
		t.Errorf("%q, want those inside the object alone", got)
	}
}

func TestAHolderComesBeforeItsChildren(t *testing.T) {
	in := growingConvoy()
	for i, snap := range in.Snapshots {
		snap.Groups = append(snap.Groups, analysis.Group{
			Family: &analysis.Family{Fingerprint: "child", Kind: analysis.KindGoroutine}, Count: 2, States: map[string]int{"IO wait": 2},
			Variants: []analysis.Variant{{Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: "main.read"}}, CreatedBy: analysis.Frame{Func: "main.(*Pool).Put"}}, Count: 2}},
			Members:  analysis.Members{Columns: &analysis.Columns{ID: []int64{50_000, 50_001}, Wait: []int32{1, 1}}},
		})
		total := *snap.Totals.Goroutines + 2
		in.Snapshots[i].Totals.Goroutines = &total
	}
	if got := suspectsOf(in); got != "holder child" {
		t.Errorf("%q, want the holder and then what it started", got)
	}
}
