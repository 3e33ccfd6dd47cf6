package flame_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
)

// both prints the callers and the callees of a function, "" where no stack has it.
func both(groups []analysis.Group, name string) string {
	s := flame.Of(groups, analysis.KindGoroutine).Sandwich(name)
	if s == nil {
		return ""
	}
	return printed(s.Callers, 0) + "--\n" + printed(s.Callees, 0)
}

func TestAFunctionStandsBetweenItsCallersAndItsCallees(t *testing.T) {
	for _, tt := range []struct {
		name     string
		function string
		groups   []analysis.Group
		want     string
	}{
		{"a function that no stack has", "m.send", []analysis.Group{group(3, "m.start > m.run")}, ""},
		{"its callers are joined over all stacks, as far as they are equal", "m.send", []analysis.Group{group(3, "m.start > m.a > m.send > m.wait"), group(2, "m.other > m.a > m.send"), group(9, "m.other > m.a")}, tree(
			"all 5", "  m.a 5", "    created by m.other 2", "    created by m.start 3", "--", "all 5 *", "  m.wait 3 *")},
		{"a stack that has it twice counts once, where it was first called", "m.f", []analysis.Group{group(4, "m.start > m.f > m.g > m.f > m.h")}, tree(
			"all 4", "  created by m.start 4", "--", "all 4", "  m.g 4", "    m.f 4", "      m.h 4 *")},
		{"who created and who called are told apart", "m.start", []analysis.Group{group(4, "m.start > m.run"), group(1, " > m.main > m.start")}, tree(
			"all 1", "  m.main 1", "--", "all 1 *")},
		{"what a function created", "created by m.start", []analysis.Group{group(4, "m.start > m.run"), group(1, " > m.main > m.start")}, tree(
			"all 4", "--", "all 4", "  m.run 4 *")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, both(tt.groups, tt.function)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestACallerHasWhatRoseAndFellBelowIt(t *testing.T) {
	a := []analysis.Group{group(10, "m.start > m.a > m.send"), group(4, "m.start > m.b > m.send")}
	b := []analysis.Group{group(50, "m.start > m.a > m.send"), group(1, "m.start > m.b > m.send")}
	want := tree("all 51 (was 14, +40 -3)", "  m.a 50 (was 10, +40 -0)", "    created by m.start 50 (was 10, +40 -0)", "  m.b 1 (was 4, +0 -3)", "    created by m.start 1 (was 4, +0 -3)")
	if d := cmp.Diff(want, printed(flame.Between(a, b, analysis.KindGoroutine).Sandwich("m.send").Callers, 0)); d != "" {
		t.Error(d)
	}
}

// frames are the nodes of a stack by name, its outermost first.
func frames(f *analysis.Family) []string {
	out := slices.Clone(f.Loose)
	slices.Reverse(out)
	if f.LooseCreator == "" {
		return out
	}
	if len(out) > 1 && out[0] == f.LooseCreator {
		out = out[1:]
	}
	return append([]string{"created by " + f.LooseCreator}, out...)
}

// A slow reader of the same stacks, one after the other, finds the same callers, callees and figures.
func TestEachFunctionCountsEachStackOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var groups []analysis.Group
		for _, stack := range rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]?( > [abc]){1,6}`), 1, 30, rapid.ID[string]).Draw(t, "stacks") {
			groups = append(groups, group(rapid.IntRange(1, 50).Draw(t, "count"), stack))
		}
		merged := flame.Of(groups, analysis.KindGoroutine)
		for _, f := range merged.Functions() {
			count, own, callers, callees := 0, 0, map[string]int{}, map[string]int{}
			for _, g := range groups {
				stack := frames(g.Family)
				at := slices.Index(stack, f.Name())
				if at < 0 {
					continue
				}
				count += g.Count
				if stack[len(stack)-1] == f.Name() {
					own += g.Count
				}
				if at > 0 {
					callers[stack[at-1]] += g.Count
				}
				if at+1 < len(stack) {
					callees[stack[at+1]] += g.Count
				}
			}
			s := merged.Sandwich(f.Name())
			if f.Count != count || f.Own != own || s.Callers.Count != count || s.Callees.Count != count {
				t.Fatalf("%s has %d, %d of its own, %d below its callers and %d above its callees, want %d and %d", f.Name(), f.Count, f.Own, s.Callers.Count, s.Callees.Count, count, own)
			}
			if d := cmp.Diff(callers, beside(s.Callers)); d != "" {
				t.Fatalf("callers of %s: %s", f.Name(), d)
			}
			if d := cmp.Diff(callees, beside(s.Callees)); d != "" {
				t.Fatalf("callees of %s: %s", f.Name(), d)
			}
		}
	})
}

func beside(n *flame.Node) map[string]int {
	out := map[string]int{}
	for _, c := range n.Children {
		out[c.Name()] = c.Count
	}
	return out
}

// The figures are those that counting the goroutines of t6/containerd/goroutine-debug2.txt by hand
// gives: "grep -c '^sync.(\*Mutex).Lock('" prints 24, and so on.
func TestWhoWaitsForALockInContainerd(t *testing.T) {
	_, snapshots := seriesOf(t, "kubelet-probe-leak")
	merged := flame.Of(snapshots["containerd t6"].Groups, analysis.KindGoroutine)
	for _, tt := range []struct {
		name, function   string
		count, own       int
		callers, callees map[string]int
	}{
		{"a lock that two functions want, where families end its stacks", "sync.(*Mutex).Lock", 24, 24,
			map[string]int{"github.com/docker/go-metrics.(*Namespace).WithConstLabels": 20, "github.com/docker/go-metrics.(*Namespace).Collect": 4}, map[string]int{}},
		{"reads of sockets and of files", "internal/poll.(*FD).Read", 92, 0,
			map[string]int{"net.(*netFD).Read": 55, "os.(*File).read": 37}, map[string]int{"internal/poll.(*pollDesc).waitRead": 92}},
		{"where all calls to the shims end", "github.com/containerd/ttrpc.(*Client).dispatch", 41, 41,
			map[string]int{"github.com/containerd/ttrpc.defaultClientInterceptor": 41}, map[string]int{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := merged.Sandwich(tt.function)
			if s == nil {
				t.Fatalf("no stack has %s", tt.function)
			}
			if s.Callers.Count != tt.count || s.Callees.Own() != tt.own {
				t.Errorf("%d goroutines, %d end here, want %d and %d", s.Callers.Count, s.Callees.Own(), tt.count, tt.own)
			}
			if d := cmp.Diff(tt.callers, beside(s.Callers)); d != "" {
				t.Errorf("callers: %s", d)
			}
			if d := cmp.Diff(tt.callees, beside(s.Callees)); d != "" {
				t.Errorf("callees: %s", d)
			}
		})
	}
}

func TestAHostileNumberOfCallersIsCutOffAndSaid(t *testing.T) {
	f := func(i, deep int) analysis.Group {
		g := analysis.Group{Family: &analysis.Family{Fingerprint: fmt.Sprint("g1:", i, deep), Kind: analysis.KindGoroutine, Loose: []string{"m.f"}}, Count: 1}
		for k := range deep {
			g.Family.Loose = append(g.Family.Loose, fmt.Sprintf("m.f%d_%d", i, deep-k))
		}
		return g
	}
	var groups []analysis.Group
	for i := range 90 {
		for deep := 1; deep <= 500; deep += 5 {
			groups = append(groups, f(i, deep))
		}
	}
	s := flame.Of(groups, analysis.KindGoroutine).Sandwich("m.f")
	if s.Callers.Count != len(groups) || s.Cut == 0 || s.Cut >= len(groups) {
		t.Errorf("%d members, %d places cut off, want all %d members and some cut off", s.Callers.Count, s.Cut, len(groups))
	}
	if strings.Contains(printed(s.Callees, 0), "\n ") {
		t.Error("m.f calls nothing")
	}
}
