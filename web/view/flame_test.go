package view

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/web/chart"
)

// stackedFamily is a family of n goroutines: "k8s.io/a/b.start > k8s.io/a/b.run > net/http.wait"
// is a leaf net/http.wait that b.run calls, which b.start created.
func stackedFamily(n int, stack string) analysis.Group {
	parts := strings.Split(stack, " > ")
	f := &analysis.Family{Fingerprint: "g1:" + stack, Kind: analysis.KindGoroutine, Title: parts[len(parts)-1], LooseCreator: parts[0]}
	for i := len(parts) - 1; i > 0; i-- {
		f.Loose = append(f.Loose, parts[i])
	}
	return analysis.Group{Family: f, Count: n, OldestWait: -1}
}

func stackedSnapshot(label string, groups ...analysis.Group) *analysis.Snapshot {
	total := 0
	for _, g := range groups {
		total += g.Count
	}
	s := &analysis.Snapshot{ID: "s" + label, Label: label, Groups: groups, Totals: analysis.Totals{Goroutines: &total}}
	s.Process.Name.Value = "app"
	return s
}

func flameInput(a, b *analysis.Snapshot, query string) FlameInput {
	q, err := url.ParseQuery(query)
	if err != nil {
		panic(err)
	}
	in := FlameInput{CaseID: "c1", CaseTitle: "case", B: b, A: a, Query: q, Kinds: FlameKinds(b), Tree: flame.Of(b.Groups, analysis.KindGoroutine)}
	if a != nil {
		in.Tree = flame.Between(a.Groups, b.Groups, analysis.KindGoroutine)
	}
	return in
}

// tells lists what the boxes tell, callers first.
func tells(b chart.FlameBox, depth int) []string {
	out := []string{strings.Repeat(" ", depth) + b.Told}
	for _, c := range b.Children {
		out = append(out, tells(c, depth+1)...)
	}
	return out
}

func TestWhoseCodeAFunctionIs(t *testing.T) {
	for function, want := range map[string]string{
		"k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod": "k8s.io/kubernetes",
		"k8s.io/klog.flush":                           "k8s.io/klog",
		"github.com/google/cadvisor/manager.New":      "github.com/google/cadvisor",
		"google.golang.org/grpc.(*ClientConn).Invoke": "google.golang.org/grpc",
		"net/http.(*conn).serve":                      "",
		"golang.org/x/net/http2.readFrameHeader":      "golang.org/x/net",
		"runtime.gopark":                              "",
		"main.(*Pool).run":                            "main",
		"java.lang.Thread.run":                        "",
		"jdk.internal.misc.Unsafe.park":               "",
		"okhttp3.internal.ws.WebSocketReader.read":    "okhttp3.internal",
		"clone": "",
		"":      "",
	} {
		if got := module(function); got != want {
			t.Errorf("%q is of %q, want %q", function, got, want)
		}
	}
}

func TestTheWidestModulesHaveATintWhateverThePageShows(t *testing.T) {
	s := stackedSnapshot("t0", stackedFamily(5, "k8s.io/a/b.start > k8s.io/a/b.run > net/http.wait"), stackedFamily(9, "github.com/x/y.start > github.com/x/y.run"))
	whole := NewFlame(flameInput(nil, s, ""))
	want := []FlameKey{{"f1", "github.com/x/y"}, {"f2", "k8s.io/a"}, {"f0", "standard library and others"}}
	if d := cmp.Diff(want, whole.Legend); d != "" {
		t.Error(d)
	}
	zoomed := NewFlame(flameInput(nil, s, whole.Chart.Root.Children[1].URL[strings.Index(whole.Chart.Root.Children[1].URL, "?")+1:]))
	if d := cmp.Diff(want, zoomed.Legend); d != "" {
		t.Errorf("zoomed: %s", d)
	}
	if got := zoomed.Chart.Root.Look; got != "f2" {
		t.Errorf("the box of k8s.io/a is %s when zoomed to, want f2", got)
	}
}

func TestWhatTheDumpLeavesOutIsSaid(t *testing.T) {
	s := stackedSnapshot("t0", stackedFamily(5, "m.start > m.run"), stackedFamily(2, "m.start"))
	*s.Totals.Goroutines = 8
	f := NewFlame(flameInput(nil, s, ""))
	for _, want := range []string{"2 goroutines have no stack in the dump and are not drawn.", "1 goroutine of the total belongs to no family"} {
		if !strings.Contains(f.Lead, want) {
			t.Errorf("%q lacks %q", f.Lead, want)
		}
	}
	if f.Headline != "app at t0: 5 goroutines, by what they call." {
		t.Errorf("headline is %q", f.Headline)
	}
}

func TestCallsAreOrderedBySizeByChangeOrByName(t *testing.T) {
	a := stackedSnapshot("t0", stackedFamily(9, "m.s > m.a"), stackedFamily(9, "m.s > m.b"), stackedFamily(1, "m.s > m.c"))
	b := stackedSnapshot("t1", stackedFamily(2, "m.s > m.a"), stackedFamily(10, "m.s > m.b"), stackedFamily(9, "m.s > m.c"))
	for _, tt := range []struct {
		name, query string
		a           *analysis.Snapshot
		want        string
	}{
		{"the largest first", "", nil, "m.b m.c m.a"},
		{"by name", "order=name", nil, "m.a m.b m.c"},
		{"what rose first, what fell last", "", a, "m.c m.b m.a"},
		{"a pair by name", "order=name", a, "m.a m.b m.c"},
		{"a pair as wide as its members, still by change", "width=members", a, "m.c m.b m.a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var names []string
			for _, c := range NewFlame(flameInput(tt.a, b, tt.query)).Chart.Root.Children[0].Children {
				names = append(names, c.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAPairWithALowerBoundHasNoChangeToTell(t *testing.T) {
	a, b := stackedSnapshot("t0", stackedFamily(9, "m.s > m.a")), stackedSnapshot("t1", stackedFamily(2, "m.s > m.a"))
	for _, cut := range []*analysis.Snapshot{a, b} {
		cut.LowerBound = true
		f := NewFlame(flameInput(a, b, ""))
		text := strings.Join(tells(f.Chart.Root, 0), "\n") + f.Headline + f.Lead
		if strings.ContainsAny(text, "▲▼→") || f.Widths != nil {
			t.Errorf("it tells a change: %s", text)
		}
		cut.LowerBound = false
	}
}

func TestAHugeTreeIsDrawnInBounds(t *testing.T) {
	var groups []analysis.Group
	for i := range 3000 {
		groups = append(groups, stackedFamily(1+3000/(i+1), fmt.Sprintf("m.s%d > m.a%d > m.b%d", i%40, i%300, i)))
	}
	deep := "m.s"
	for i := range 200 {
		deep += fmt.Sprint(" > m.d", i)
	}
	groups = append(groups, stackedFamily(5000, deep))
	f := NewFlame(flameInput(nil, stackedSnapshot("t0", groups...), ""))
	boxes := tells(f.Chart.Root, 0)
	deepest := 0
	for _, b := range boxes {
		deepest = max(deepest, len(b)-len(strings.TrimLeft(b, " ")))
	}
	if len(boxes) > maxFlameBoxes || deepest != maxFlameRows-1 {
		t.Errorf("%d boxes in %d rows, want at most %d in %d", len(boxes), deepest+1, maxFlameBoxes, maxFlameRows)
	}
	if len(f.Chart.Twin.Rows) > maxFlameTwin || len(f.Ends) != maxFlameEnds || !strings.Contains(f.Note, "below row 60 are left out") {
		t.Errorf("%d rows of the twin, %d families, note %q", len(f.Chart.Twin.Rows), len(f.Ends), f.Note)
	}
	var check func(b chart.FlameBox)
	check = func(b chart.FlameBox) {
		sum := b.LeftWeight
		for _, c := range b.Children {
			sum += c.Weight
			check(c)
		}
		if sum > b.Weight {
			t.Fatalf("%s is %d wide and holds %d", b.Name, b.Weight, sum)
		}
	}
	check(f.Chart.Root)
}

func TestASnapshotWithoutStacksSaysSo(t *testing.T) {
	s := &analysis.Snapshot{ID: "s", Label: "t0"}
	in := FlameInput{B: s, Kinds: FlameKinds(s), Tree: flame.Of(nil, FlameKind("", FlameKinds(s)))}
	if f := NewFlame(in); f.Chart != nil || !strings.Contains(f.Empty, "No stack was captured at t0") {
		t.Errorf("chart %v, %q", f.Chart, f.Empty)
	}
}

func TestAKindIsComparedOnlyWhereBothListIt(t *testing.T) {
	with, without := stackedSnapshot("t0", stackedFamily(9, "m.s > m.a")), stackedSnapshot("t1")
	if got := FlameKinds(with, without); got != nil {
		t.Errorf("%v can be compared", got)
	}
	if d := cmp.Diff([]analysis.Kind{analysis.KindGoroutine}, FlameKinds(with, with)); d != "" {
		t.Error(d)
	}
	if got := FlameKind("thread", FlameKinds(with)); got != analysis.KindGoroutine {
		t.Errorf("the page of a kind that has no stacks shows %q", got)
	}
}

func TestHostileNamesAreMadeVisible(t *testing.T) {
	s := stackedSnapshot("t0", stackedFamily(3, "m.s > m.\u202egpj\x00"))
	f := NewFlame(flameInput(nil, s, "q=\u202e"))
	text := strings.Join(tells(f.Chart.Root, 0), "") + f.Filter + f.FilterFound + fmt.Sprint(f.Chart.Twin.Rows)
	if strings.ContainsAny(text, "\u202e\x00") {
		t.Errorf("control characters reach the page: %q", text)
	}
}

func TestAStateIsChosenBesideAFunction(t *testing.T) {
	g := stackedFamily(9, "m.start > m.run > m.send")
	g.States = map[string]int{"chan send": 7, "select": 2}
	in := flameInput(nil, stackedSnapshot("t1", g), "state=chan+send&function=m.run")
	in.States = flame.States(in.B.Groups, analysis.KindGoroutine)
	in.Tree = flame.Of(flame.InState(in.B.Groups, "chan send"), analysis.KindGoroutine)
	f := NewFlame(in)
	if want := "app at t1: 7 goroutines in m.run in state “chan send”."; f.Headline != want {
		t.Errorf("the headline is %q, want %q", f.Headline, want)
	}
	var tabs []string
	for _, tab := range f.States {
		tabs = append(tabs, fmt.Sprintf("%s %t %s", tab.Text, tab.Current, strings.TrimPrefix(tab.URL, "/snapshots/st1/flame?")))
	}
	want := []string{
		"any false case=c1&function=m.run", "chan send 7 true case=c1&function=m.run&state=chan+send", "select 2 false case=c1&function=m.run&state=select",
	}
	if d := cmp.Diff(want, tabs); d != "" {
		t.Error(d)
	}
	if !slices.Contains(f.Hidden, Pair{"state", "chan send"}) {
		t.Errorf("a search forgets the state: %v", f.Hidden)
	}
}
