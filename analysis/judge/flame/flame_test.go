package flame_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/samples/corpus"
)

// group is a family of goroutines: in "main.start > main.run > main.wait" the leaf is
// main.wait, called by main.run, which main.start created.
func group(count int, stack string) analysis.Group {
	parts := strings.Split(stack, " > ")
	f := &analysis.Family{Fingerprint: "g1:" + stack, Kind: analysis.KindGoroutine, LooseCreator: parts[0]}
	for i := len(parts) - 1; i > 0; i-- {
		f.Loose = append(f.Loose, parts[i])
	}
	return analysis.Group{Family: f, Count: count}
}

// printed draws a tree with two spaces for each level: "main.run 3 [2+1]".
func printed(n *flame.Node, depth int) string {
	name := n.Func
	switch {
	case depth == 0:
		name = "all"
	case n.Creator:
		name = "created by " + name
	}
	line := fmt.Sprintf("%s%s %d", strings.Repeat("  ", depth), name, n.Count)
	if n.Before > 0 || n.Rise > 0 || n.Fall > 0 {
		line += fmt.Sprintf(" (was %d, +%d -%d)", n.Before, n.Rise, n.Fall)
	}
	if len(n.Families) > 0 {
		line += " *"
	}
	line += "\n"
	for _, c := range n.Children {
		line += printed(c, depth+1)
	}
	return line
}

func tree(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestStacksMergeFromTheRoot(t *testing.T) {
	for _, tt := range []struct {
		name   string
		groups []analysis.Group
		want   string
	}{
		{"no members, no calls", nil, tree("all 0")},
		{"what two families share is one node", []analysis.Group{group(3, "m.start > m.run > m.wait"), group(2, "m.start > m.run > m.read")}, tree(
			"all 5", "  created by m.start 5", "    m.run 5", "      m.read 2 *", "      m.wait 3 *")},
		{"a stack that ends where another goes on", []analysis.Group{group(3, "m.start > m.run"), group(2, "m.start > m.run > m.read")}, tree(
			"all 5", "  created by m.start 5", "    m.run 5 *", "      m.read 2 *")},
		{"equal functions of two creators stay apart", []analysis.Group{group(1, "a.start > m.run"), group(1, "b.start > m.run")}, tree(
			"all 2", "  created by a.start 1", "    m.run 1 *", "  created by b.start 1", "    m.run 1 *")},
		{"no creator was printed", []analysis.Group{group(1, " > main.main > m.wait")}, tree("all 1", "  main.main 1", "    m.wait 1 *")},
		{"the wrapper of the go statement is drawn once", []analysis.Group{group(4, "m.start > m.start > m.wait")}, tree(
			"all 4", "  created by m.start 4", "    m.wait 4 *")},
		{"a function that called itself through another", []analysis.Group{group(1, " > m.a > m.b > m.a")}, tree("all 1", "  m.a 1", "    m.b 1", "      m.a 1 *")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, printed(flame.Of(tt.groups, analysis.KindGoroutine).Root, 0)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMembersWithoutAStackAreCountedBeside(t *testing.T) {
	other := group(7, "m.start > m.run")
	other.Family.Kind = analysis.KindThread
	got := flame.Of([]analysis.Group{group(3, "m.start > m.run"), group(2, "m.start"), other}, analysis.KindGoroutine)
	if got.Root.Count != 3 || got.Bare != 2 {
		t.Errorf("%d in the tree and %d without a stack, want 3 and 2", got.Root.Count, got.Bare)
	}
}

func TestTwoSnapshotsGiveWhatRoseAndWhatFell(t *testing.T) {
	a := []analysis.Group{group(10, "m.start > m.run > m.wait"), group(4, "m.start > m.run > m.read"), group(1, "m.start > m.old")}
	b := []analysis.Group{group(50, "m.start > m.run > m.wait"), group(1, "m.start > m.run > m.read"), group(2, "m.start > m.fresh")}
	want := tree(
		"all 53 (was 15, +42 -4)",
		"  created by m.start 53 (was 15, +42 -4)",
		"    m.fresh 2 (was 0, +2 -0) *",
		"    m.old 0 (was 1, +0 -1) *",
		"    m.run 51 (was 14, +40 -3)",
		"      m.read 1 (was 4, +0 -3) *",
		"      m.wait 50 (was 10, +40 -0) *",
	)
	if d := cmp.Diff(want, printed(flame.Between(a, b, analysis.KindGoroutine).Root, 0)); d != "" {
		t.Error(d)
	}
}

func TestAPathLeadsToItsNodeInEveryTree(t *testing.T) {
	one := flame.Of([]analysis.Group{group(3, "m.start > m.run > m.wait")}, analysis.KindGoroutine)
	two := flame.Of([]analysis.Group{group(9, "m.start > m.run > m.wait"), group(2, "m.start > m.run > m.read")}, analysis.KindGoroutine)
	key := one.Root.Children[0].Children[0].Children[0].Key
	var names []string
	for _, n := range two.Path(key) {
		names = append(names, n.Func)
	}
	if d := cmp.Diff([]string{"", "m.start", "m.run", "m.wait"}, names); d != "" {
		t.Error(d)
	}
	if got := two.Path("ffffffffffffffff"); got != nil {
		t.Errorf("a path that is not in the tree leads to %v", got)
	}
}

// Each node counts its children and the members that end at it. Its change is its rise
// minus its fall.
func TestANodeIsTheSumOfWhatIsBelowIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string) []analysis.Group {
			var out []analysis.Group
			for _, stack := range rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]?( > [abc]){1,6}`), 0, 30, rapid.ID[string]).Draw(t, label) {
				out = append(out, group(rapid.IntRange(0, 50).Draw(t, "count"), stack))
			}
			return out
		}
		a, b := some("a"), some("b")
		total := 0
		for _, g := range b {
			total += g.Count
		}
		tree := flame.Between(a, b, analysis.KindGoroutine)
		if tree.Root.Count+tree.Bare != total {
			t.Fatalf("%d in the tree and %d beside it, want %d", tree.Root.Count, tree.Bare, total)
		}
		seen := map[string]bool{}
		var check func(n *flame.Node)
		check = func(n *flame.Node) {
			if seen[n.Key] {
				t.Fatalf("two nodes have the key %s", n.Key)
			}
			seen[n.Key] = true
			if n.Own() < 0 || n.Own() > 0 && len(n.Families) == 0 {
				t.Fatalf("%q has %d of its own and %d families", n.Func, n.Own(), len(n.Families))
			}
			if n.Change() != n.Count-n.Before {
				t.Fatalf("%q changed by %d, from %d to %d", n.Func, n.Change(), n.Before, n.Count)
			}
			for _, c := range n.Children {
				check(c)
			}
		}
		check(tree.Root)
	})
}

func TestAHostileNumberOfFramesIsCutOffAndSaid(t *testing.T) {
	var groups []analysis.Group
	for i := range 300 {
		f := &analysis.Family{Fingerprint: fmt.Sprint("g1:", i), Kind: analysis.KindGoroutine}
		for k := range 1000 {
			f.Loose = append(f.Loose, fmt.Sprintf("m.f%d_%d", i, k))
		}
		groups = append(groups, analysis.Group{Family: f, Count: 1 + i%3})
	}
	tree := flame.Of(groups, analysis.KindGoroutine)
	if tree.Root.Count != 600 || tree.Cut != 200 {
		t.Errorf("%d members, %d families cut off, want 600 and 200", tree.Root.Count, tree.Cut)
	}
}

func seriesOf(t *testing.T, name string) (dir string, snapshots map[string]*analysis.Snapshot) {
	t.Helper()
	dir = corpus.Path(t, "series", name)
	inputs, err := bundle.FromFS(os.DirFS(dir), "")
	if err != nil {
		t.Fatal(err)
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	snapshots = map[string]*analysis.Snapshot{}
	for i := range result.Snapshots {
		s := &result.Snapshots[i]
		snapshots[s.Process.Name.Value+" "+s.Label] = s
	}
	return dir, snapshots
}

// truth is the corpus file of a series: totals of each snapshot, and families by what
// their stacks contain.
type truth struct {
	Snapshots []string
	Totals    struct{ Goroutines, Threads []int }
	Growing   []struct {
		Kind      string
		Contains  []string
		CreatedBy string `json:"created_by"`
		Counts    []int
	}
}

func readTruth(t *testing.T, dir, file string) truth {
	t.Helper()
	data, err := fs.ReadFile(os.DirFS(dir), file)
	if err != nil {
		t.Fatal(err)
	}
	var out truth
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheRootHoldsEveryGoroutineOfTheKubeletThatHasAStack(t *testing.T) {
	dir, snapshots := seriesOf(t, "kubelet-probe-leak")
	want := readTruth(t, dir, "expected.kubelet.json")
	for i, name := range want.Snapshots {
		label, _, _ := strings.Cut(name, "-")
		s := snapshots["kubelet "+label]
		if s == nil {
			t.Fatalf("there is no snapshot %s among %d", label, len(snapshots))
		}
		tree := flame.Of(s.Groups, analysis.KindGoroutine)
		// The goroutine that prints the dump belongs to no family.
		if got := tree.Root.Count + tree.Bare; got != want.Totals.Goroutines[i]-1 {
			t.Errorf("%s: %d goroutines in the tree, want %d", label, got, want.Totals.Goroutines[i]-1)
		}
		if tree.Bare != 0 {
			t.Errorf("%s: %d goroutines have no stack; every one of the dump has", label, tree.Bare)
		}
		for _, f := range want.Growing {
			// Its creator started only this one function and no closure.
			if f.Kind == "goroutine" && len(f.Contains) == 1 && !strings.Contains(f.Contains[0], ".func") {
				if got := below(tree.Root, f.CreatedBy, f.Contains[0]); got != f.Counts[i] {
					t.Errorf("%s: %d goroutines in %s of %s, want %d", label, got, f.Contains[0], f.CreatedBy, f.Counts[i])
				}
			}
		}
	}
}

// below counts the members under a function that the creator started.
func below(root *flame.Node, creator, function string) int {
	n := 0
	for _, c := range root.Children {
		if !c.Creator || c.Func != creator {
			continue
		}
		for _, f := range c.Children {
			if f.Func == function {
				n += f.Count
			}
		}
	}
	return n
}

func TestThePairOfTheKubeletChangesAsItsTotalsDo(t *testing.T) {
	dir, snapshots := seriesOf(t, "kubelet-probe-leak")
	want := readTruth(t, dir, "expected.kubelet.json")
	tree := flame.Between(snapshots["kubelet t1"].Groups, snapshots["kubelet t6"].Groups, analysis.KindGoroutine)
	if got := tree.Root.Change(); got != want.Totals.Goroutines[6]-want.Totals.Goroutines[1] {
		t.Errorf("the root changes by %d, want %d", got, want.Totals.Goroutines[6]-want.Totals.Goroutines[1])
	}
	for _, f := range want.Growing {
		if f.Kind != "goroutine" || len(f.Contains) != 1 || strings.Contains(f.Contains[0], ".func") {
			continue
		}
		for _, c := range tree.Root.Children {
			for _, n := range c.Children {
				if c.Func == f.CreatedBy && n.Func == f.Contains[0] && n.Change() != f.Counts[6]-f.Counts[1] {
					t.Errorf("%s changes by %d, want %d", n.Func, n.Change(), f.Counts[6]-f.Counts[1])
				}
			}
		}
	}
}

func TestTheThreadsOfAJVMMergeAsGoroutinesDo(t *testing.T) {
	dir, snapshots := seriesOf(t, "okhttp-leak")
	want := readTruth(t, dir, "expected.json")
	for i, label := range want.Snapshots {
		s := snapshots["java "+label]
		if s == nil {
			t.Fatalf("there is no snapshot %s among %d", label, len(snapshots))
		}
		tree := flame.Of(s.Groups, analysis.KindThread)
		if got := tree.Root.Count + tree.Bare; got != want.Totals.Threads[i] {
			t.Errorf("%s: %d threads, want %d", label, got, want.Totals.Threads[i])
		}
		if tree.Root.Count == 0 || tree.Bare == 0 {
			t.Errorf("%s: %d threads with a stack and %d of the virtual machine without, want some of both", label, tree.Root.Count, tree.Bare)
		}
	}
}
