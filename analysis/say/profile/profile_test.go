package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/samples"
	"leakdiff/samples/corpus"
)

func read(t *testing.T, inputs []bundle.Input) []analysis.Snapshot {
	t.Helper()
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return result.Snapshots
}

func ofBytes(name string, content []byte) []bundle.Input {
	return []bundle.Input{{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}}
}

// kubelets are the nine snapshots of the kubelet in the sample, in order.
func kubelets(t *testing.T) []*analysis.Snapshot {
	t.Helper()
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "kubelet-probe-leak" {
			return named(read(t, ofBytes("k.tar.gz", s.Archive)), "kubelet")
		}
	}
	t.Fatal("there is no sample kubelet-probe-leak")
	return nil
}

func named(all []analysis.Snapshot, process string) []*analysis.Snapshot {
	var out []*analysis.Snapshot
	for i := range all {
		if all[i].Process.Name.Value == process {
			out = append(out, &all[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *analysis.Snapshot) int { return a.CapturedAt.Compare(b.CapturedAt) })
	return out
}

// The truth of the sample (found.json), by functions in every stack of the family, from
// the first snapshot to the last.
var kubeletTruth = map[string][]int64{
	"github.com/google/cadvisor/manager.(*containerData).housekeeping":        {4, 16, 24, 32, 40, 48, 56, 64, 4},
	"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run":                      {0, 8, 15, 23, 31, 36, 42, 48, 0},
	"github.com/prometheus/client_golang/prometheus.(*Registry).Gather.func1": {0, 0, 2, 4, 6, 8, 10, 12, 0},
	"k8s.io/component-base/metrics.(*BaseStableCollector).Collect.func1":      {0, 0, 2, 4, 6, 8, 10, 12, 0},
}

var kubeletTotals = []int64{87, 115, 140, 166, 192, 219, 243, 263, 87}

// tool is the binary of `go tool pprof`. Run directly it has a home of its own, while
// the go command keeps its cache.
var tool = func() func(*testing.T) string {
	path := sync.OnceValues(func() (string, error) {
		out, err := exec.Command("go", "tool", "-n", "pprof").Output()
		return strings.TrimSpace(string(out)), err
	})
	return func(t *testing.T) string {
		t.Helper()
		found, err := path()
		if err != nil {
			t.Fatalf("go tool pprof: %v", err)
		}
		return found
	}
}()

// top is the output of `go tool pprof -top -cum` for a file: the total, and members by
// function, flat and cumulative.
func top(t *testing.T, content []byte) (total int64, cum map[string]int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.pb.gz")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(tool(t), "-top", "-cum", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0", file)
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, out)
	}
	head := regexp.MustCompile(`of (\d+) total`).FindSubmatch(out)
	if head == nil {
		t.Fatalf("go tool pprof names no total:\n%s", out)
	}
	total, _ = strconv.ParseInt(string(head[1]), 10, 64)
	cum = map[string]int64{}
	for _, l := range strings.Split(string(out), "\n") {
		f := strings.Fields(l)
		if len(f) < 6 || !strings.HasSuffix(f[4], "%") {
			continue
		}
		n, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			t.Fatalf("a row of go tool pprof is %q", l)
		}
		cum[strings.Join(f[5:], " ")] += n
	}
	return total, cum
}

func TestGoToolPprofCountsWhatTheDumpsHold(t *testing.T) {
	snapshots := kubelets(t)
	if len(snapshots) != len(kubeletTotals) {
		t.Fatalf("the sample has %d snapshots of the kubelet", len(snapshots))
	}
	for i, s := range snapshots {
		t.Run(s.Label, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, s, analysis.KindGoroutine); err != nil {
				t.Fatal(err)
			}
			total, cum := top(t, b.Bytes())
			if total != kubeletTotals[i] {
				t.Errorf("pprof counts %d goroutines, the dump holds %d", total, kubeletTotals[i])
			}
			for name, counts := range kubeletTruth {
				if cum[name] != counts[i] {
					t.Errorf("pprof counts %d in %s, the dump holds %d", cum[name], name, counts[i])
				}
			}
		})
	}
}

func TestThePairIsWhatPprofBaseWouldShow(t *testing.T) {
	all := kubelets(t)
	for _, pair := range [][2]int{{0, 7}, {7, 8}, {3, 3}} {
		a, b := all[pair[0]], all[pair[1]]
		t.Run(a.Label+" to "+b.Label, func(t *testing.T) {
			own := NewPair(a, b, analysis.KindGoroutine)
			if err := own.CheckValid(); err != nil {
				t.Fatal(err)
			}
			// pprof itself subtracts one file from the other; labels are dropped, as
			// documented.
			bare := func(s *analysis.Snapshot) *pprof.Profile {
				p := New(s, analysis.KindGoroutine)
				for _, x := range p.Sample {
					x.Label, x.NumLabel, x.NumUnit = nil, nil, nil
				}
				return p
			}
			base := bare(a)
			base.Scale(-1)
			merged, err := pprof.Merge([]*pprof.Profile{bare(b), base})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(byStack(merged), byStack(own)); d != "" {
				t.Errorf("pprof -base shows other counts (-pprof +ours):\n%s", d)
			}
			for name, counts := range kubeletTruth {
				want := counts[pair[1]] - counts[pair[0]]
				if got := inFunction(own, name); got != want {
					t.Errorf("%s changes by %d, want %d", name, got, want)
				}
			}
		})
	}
}

func byStack(p *pprof.Profile) map[string]int64 {
	out := map[string]int64{}
	for _, s := range p.Sample {
		key := ""
		for _, l := range s.Location {
			key += fmt.Sprintf("%s:%d;", l.Line[0].Function.Name, l.Line[0].Line)
		}
		if out[key] += s.Value[0]; out[key] == 0 {
			delete(out, key)
		}
	}
	return out
}

func inFunction(p *pprof.Profile, name string) int64 {
	var n int64
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, func(l *pprof.Location) bool { return l.Line[0].Function.Name == name }) {
			n += s.Value[0]
		}
	}
	return n
}

func TestTheProfileSaysWhenWhoAndInWhichState(t *testing.T) {
	s := kubelets(t)[7]
	p := New(s, analysis.KindGoroutine)
	if got, want := time.Unix(0, p.TimeNanos).UTC(), s.CapturedAt.UTC(); !got.Equal(want) {
		t.Errorf("the profile's time is %s, want %s", got, want)
	}
	if p.PeriodType.Type != "" || p.Period != 0 || p.DurationNanos != 0 {
		t.Errorf("the profile has a period %v %d or a duration %d", p.PeriodType, p.Period, p.DurationNanos)
	}
	if d := cmp.Diff([]*pprof.ValueType{{Type: "goroutine", Unit: "count"}}, p.SampleType, cmp.AllowUnexported(pprof.ValueType{})); d != "" {
		t.Error(d)
	}
	states, waits := map[string]int64{}, map[int64]int64{}
	for _, x := range p.Sample {
		for _, state := range x.Label["state"] {
			states[state] += x.Value[0]
		}
		for _, wait := range x.NumLabel["wait"] {
			waits[wait] += x.Value[0]
		}
	}
	wantStates, wantWaits := map[string]int64{}, map[int64]int64{}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindGoroutine {
			continue
		}
		for state, n := range g.States {
			wantStates[state] += int64(n)
		}
		for w := range g.Members.Waits() {
			if w >= 0 {
				wantWaits[int64(w)]++
			}
		}
	}
	if d := cmp.Diff(wantStates, states); d != "" {
		t.Errorf("states (-snapshot +profile):\n%s", d)
	}
	if d := cmp.Diff(wantWaits, waits); d != "" || len(waits) == 0 {
		t.Errorf("%d waits (-snapshot +profile):\n%s", len(waits), d)
	}
}

func TestFoldedStacksAddUpToTheTotals(t *testing.T) {
	for i, s := range kubelets(t) {
		var b bytes.Buffer
		if err := Folded(&b, s, analysis.KindGoroutine); err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		inside := map[string]int64{}
		for _, l := range lineList(t, b.String()) {
			total += l.counts[0]
			for _, f := range slices.Compact(slices.Sorted(slices.Values(l.frames))) {
				inside[f] += l.counts[0]
			}
		}
		if total != kubeletTotals[i] {
			t.Errorf("%s: the lines add up to %d goroutines, want %d", s.Label, total, kubeletTotals[i])
		}
		for name, counts := range kubeletTruth {
			if inside[name] != counts[i] {
				t.Errorf("%s: %d in %s, want %d", s.Label, inside[name], name, counts[i])
			}
		}
	}
}

func TestAFoldedStackRunsFromTheRootToTheLeaf(t *testing.T) {
	var b bytes.Buffer
	if err := Folded(&b, kubelets(t)[7], analysis.KindGoroutine); err != nil {
		t.Fatal(err)
	}
	for _, l := range lineList(t, b.String()) {
		if i := slices.Index(l.frames, "sync.(*Mutex).lockSlow"); i >= 0 && l.frames[i-1] != "sync.(*Mutex).Lock" && l.frames[i-1] != "sync.(*RWMutex).Lock" {
			t.Errorf("before lockSlow stands %s: %v", l.frames[i-1], l.frames)
		}
		if leaf := l.frames[len(l.frames)-1]; strings.HasPrefix(leaf, "main.main") && len(l.frames) > 1 {
			t.Errorf("the leaf is %s", leaf)
		}
	}
}

func TestAPairOfFoldedStacksHasBothCounts(t *testing.T) {
	all := kubelets(t)
	var b bytes.Buffer
	if err := FoldedPair(&b, all[0], all[7], analysis.KindGoroutine); err != nil {
		t.Fatal(err)
	}
	var a, z int64
	for _, l := range lineList(t, b.String()) {
		if len(l.counts) != 2 {
			t.Fatalf("a line has the counts %v", l.counts)
		}
		a, z = a+l.counts[0], z+l.counts[1]
	}
	if a != 87 || z != 263 {
		t.Errorf("the counts add up to %d and %d, want 87 and 263", a, z)
	}
}

type foldedLine struct {
	frames []string
	counts []int64
}

var countsAtEnd = regexp.MustCompile(`( \d+)+$`)

func lineList(t *testing.T, text string) []foldedLine {
	t.Helper()
	var out []foldedLine
	for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		tail := countsAtEnd.FindString(l)
		if tail == "" {
			t.Fatalf("the line %q ends without a count", l)
		}
		line := foldedLine{frames: strings.Split(strings.TrimSuffix(l, tail), ";")}
		for _, n := range strings.Fields(tail) {
			v, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			line.counts = append(line.counts, v)
		}
		out = append(out, line)
	}
	return out
}

// Our own parser reads the written file back as the same stacks.
func TestOurOwnReaderFindsTheSameStacks(t *testing.T) {
	s := kubelets(t)[6]
	var b bytes.Buffer
	if err := Write(&b, s, analysis.KindGoroutine); err != nil {
		t.Fatal(err)
	}
	again := read(t, ofBytes("goroutine.pb.gz", b.Bytes()))
	if len(again) != 1 {
		t.Fatalf("%d snapshots were read", len(again))
	}
	if d := cmp.Diff(folded(s, analysis.KindGoroutine), folded(&again[0], analysis.KindGoroutine)); d != "" {
		t.Errorf("stacks (-written +read):\n%s", d)
	}
	if !again[0].CapturedAt.Equal(s.CapturedAt) {
		t.Errorf("the time is %s, want %s", again[0].CapturedAt, s.CapturedAt)
	}
}

func TestThreadsHaveAProfileToo(t *testing.T) {
	dir := corpus.Path(t, "series", "okhttp-leak")
	raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth struct {
		Totals struct{ Threads []int64 }
	}
	if err := json.Unmarshal(raw, &truth); err != nil || len(truth.Totals.Threads) == 0 {
		t.Fatalf("the truth names no threads: %v", err)
	}
	inputs, err := bundle.FromFS(os.DirFS(dir), "")
	if err != nil {
		t.Fatal(err)
	}
	all := read(t, inputs)
	var got []int64
	for i := range all {
		s := &all[i]
		if !slices.Contains(Kinds(s), analysis.KindThread) {
			continue
		}
		var b bytes.Buffer
		if err := Write(&b, s, analysis.KindThread); err != nil {
			t.Fatal(err)
		}
		total, cum := top(t, b.Bytes())
		got = append(got, total)
		if len(cum) < 5 {
			t.Errorf("%s: pprof lists %d functions", s.Label, len(cum))
		}
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(truth.Totals.Threads))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("threads (-truth +pprof):\n%s", d)
	}
}

func TestEveryFamilyKeepsItsCount(t *testing.T) {
	stack := &analysis.Stack{Frames: []analysis.Frame{{Func: "a;b\nc"}, {Func: "main.main"}}}
	for name, c := range map[string]struct {
		group analysis.Group
		want  string
	}{
		"a twin counts more than the text": {analysis.Group{Count: 9, Variants: []analysis.Variant{{Stack: stack, Count: 4}}}, "main.main;a:b c 9\n"},
		"no stack was printed":             {analysis.Group{Count: 3}, "a family;[no stack] 3\n"},
		"the stack was not available":      {analysis.Group{Count: 2, Variants: []analysis.Variant{{Count: 2, Stack: &analysis.Stack{Unavailable: "goroutine running on other thread", CreatedBy: analysis.Frame{Func: "main.start"}}}}}, "main.start;[goroutine running on other thread] 2\n"},
		"frames were elided":               {analysis.Group{Count: 1, Variants: []analysis.Variant{{Count: 1, Stack: &analysis.Stack{Frames: stack.Frames, Elided: 51}}}}, "[51 frames elided];main.main;a:b c 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c.group.Family = &analysis.Family{Kind: analysis.KindGoroutine, Title: "a family"}
			s := &analysis.Snapshot{Totals: analysis.Totals{Goroutines: &c.group.Count}, Groups: []analysis.Group{c.group}}
			var b bytes.Buffer
			if err := Folded(&b, s, analysis.KindGoroutine); err != nil {
				t.Fatal(err)
			}
			if b.String() != c.want {
				t.Errorf("folded as %q, want %q", b.String(), c.want)
			}
			if err := New(s, analysis.KindGoroutine).CheckValid(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAProfileIsTheSameEachTime(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "goroutine %d [select]:\nmain.run(0x1)\n\t/src/main.go:%d +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1\n\n", 10+i, 20+i%12)
	}
	var first []byte
	for range 8 {
		s := read(t, ofBytes("goroutine.txt", []byte(text.String())))
		var b bytes.Buffer
		if err := Write(&b, &s[0], analysis.KindGoroutine); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		}
		if !bytes.Equal(first, b.Bytes()) {
			t.Fatal("the bytes differ")
		}
	}
}
