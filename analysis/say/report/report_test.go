package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// snapshot holds goroutines by function: each name maps to the ids in it.
func snapshot(process, label string, minute int, byFunction map[string][]int64) analysis.Snapshot {
	s := analysis.Snapshot{
		ID: "s" + process + label, Label: label, Order: minute,
		CapturedAt: time.Date(2026, 11, 21, 3, minute, 0, 0, time.UTC),
	}
	s.Process.Name.Value = process
	total := 0
	for name, ids := range byFunction {
		stack := &analysis.Stack{Frames: []analysis.Frame{{Func: name, File: "/src/x.go", Line: 7}}, CreatedBy: analysis.Frame{Func: "main.main", File: "/src/x.go", Line: 3}}
		g := analysis.Group{Family: new(family.Stacks).OfStack(stack), Count: len(ids), OldestWait: -1, States: map[string]int{"select": len(ids)}}
		g.Variants = []analysis.Variant{{Fingerprint: new(family.Stacks).Exact(stack), Stack: stack, Count: len(ids)}}
		for _, id := range ids {
			g.Members.Fill().ID = append(g.Members.Fill().ID, id)
			s.MaxGoroutineID = max(s.MaxGoroutineID, id)
		}
		s.Groups = append(s.Groups, g)
		total += len(ids)
	}
	s.Totals.Goroutines = &total
	return s
}

func upTo(n int64) []int64 {
	var ids []int64
	for i := int64(1); i <= n; i++ {
		ids = append(ids, i*10)
	}
	return ids
}

// leak is a series in which main.leak gains ten members that stay every ten minutes,
// while main.pool does not change.
func leak(process string, n int) []analysis.Snapshot {
	var out []analysis.Snapshot
	for i := range n {
		out = append(out, snapshot(process, fmt.Sprintf("t%d", i), i*10, map[string][]int64{
			process + "/main.leak": upTo(int64(10 * (i + 1))), process + "/main.pool": {1, 2, 3},
		}))
	}
	return out
}

// TestAFamilyWithoutCreatorsIsAdoptedInACopy has one form without creators beside one
// with them. The report merges them into one family and leaves the snapshots unchanged.
func TestAFamilyWithoutCreatorsIsAdoptedInACopy(t *testing.T) {
	named := snapshot("p", "t0", 0, map[string][]int64{"main.leak": upTo(5)})
	bare := snapshot("p", "t1", 10, map[string][]int64{"main.leak": upTo(7)})
	g := &bare.Groups[0]
	stack := *g.Variants[0].Stack
	stack.CreatedBy = analysis.Frame{}
	g.Family, g.Variants[0].Stack, g.Members, bare.MaxGoroutineID = new(family.Stacks).OfStack(&stack), &stack, analysis.Members{}, 0
	given := []analysis.Snapshot{named, bare}
	groups := bare.Groups
	orphan := g.Family
	r := Build(given, nil, Options{}).Report
	if n := len(r.Series[0].Families); n != 1 {
		t.Fatalf("%d families, want one: %+v", n, r.Series[0].Families)
	}
	if f := r.Series[0].Families[0]; f.Fingerprint != named.Groups[0].Family.Fingerprint || f.Counts[0].N != 5 || f.Counts[1].N != 7 {
		t.Errorf("%s has %d and %d", f.Fingerprint, f.Counts[0].N, f.Counts[1].N)
	}
	if groups[0].Family != orphan {
		t.Error("the groups that were given have another family")
	}
}

func TestALeakIsTheFirstFinding(t *testing.T) {
	c := Build(leak("prober", 6), nil, Options{Version: "test"})
	s := c.Report.Series[0]
	if len(s.Findings) != 1 || s.Findings[0].Verdict != analysis.Leaking || s.Findings[0].Rank != 1 {
		t.Fatalf("findings %+v", s.Findings)
	}
	f := s.Families[0]
	var counts []int
	for _, n := range f.Counts {
		counts = append(counts, n.N)
	}
	if d := cmp.Diff([]int{10, 20, 30, 40, 50, 60}, counts); d != "" {
		t.Error(d)
	}
	if f.Frames[0] != "prober/main.leak" || f.CreatedBy != "main.main" || f.Survivors == nil {
		t.Errorf("family %+v", f)
	}
	if s.Families[1].Verdict != analysis.Stable {
		t.Errorf("the pool is %s", s.Families[1].Verdict)
	}
	if want := "prober started 50 goroutines in main.leak and none ended."; c.Report.Diagnosis.Sentence != want {
		t.Errorf("headline %q, want %q", c.Report.Diagnosis.Sentence, want)
	}
}

func TestNothingGrowsIsSaidWithWhatWouldHaveBeenSeen(t *testing.T) {
	var still []analysis.Snapshot
	for i := range 6 {
		still = append(still, snapshot("quiet", fmt.Sprintf("t%d", i), i*10, map[string][]int64{"main.pool": upTo(20)}))
	}
	c := Build(still, nil, Options{})
	if q := c.Report.Series[0].Quiet; !strings.Contains(q, "In 6 snapshots") || !strings.Contains(q, " would have been seen") {
		t.Errorf("quiet: %q", q)
	}
	one := Build(still[:1], nil, Options{})
	if q := one.Report.Series[0].Quiet; !strings.Contains(q, "One snapshot shows what is there, not what grows") {
		t.Errorf("one snapshot: %q", q)
	}
}

func TestSnapshotsAreOrderedByTimeAndUntimedOnesKeepTheirPlace(t *testing.T) {
	all := leak("prober", 5)
	all[2].CapturedAt = time.Time{}
	shuffled := []analysis.Snapshot{all[4], all[2], all[0], all[3], all[1]}
	c := Build(shuffled, nil, Options{})
	var got []string
	for _, s := range c.Report.Snapshots {
		got = append(got, s.Label)
	}
	if d := cmp.Diff([]string{"t0", "t1", "t2", "t3", "t4"}, got); d != "" {
		t.Error(d)
	}
}

func TestTheSameSnapshotInTwoBundlesCountsOnce(t *testing.T) {
	twice := append(leak("prober", 4), leak("prober", 4)...)
	if c := Build(twice, nil, Options{}); len(c.Report.Snapshots) != 4 {
		t.Errorf("%d snapshots, want 4", len(c.Report.Snapshots))
	}
}

func TestTheReportIsTheSameInAnyOrder(t *testing.T) {
	all := append(leak("a", 5), leak("b", 3)...)
	var want bytes.Buffer
	if err := JSON(&want, Build(all, nil, Options{}).Report); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation(all).Draw(t, "order")
		var got bytes.Buffer
		if err := JSON(&got, Build(order, nil, Options{}).Report); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatal("another order gave another report")
		}
	})
}

func TestTheContractHasNoNullLists(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, Build(nil, nil, Options{}).Report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"snapshots":[]`, `"series":[]`, `"problems":[]`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is missing in %s", want, b.String())
		}
	}
	b.Reset()
	if err := JSON(&b, Build(leak("p", 2), nil, Options{}).Report); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	f := doc["series"].([]any)[0].(map[string]any)["families"].([]any)[0].(map[string]any)
	for _, key := range []string{"frames", "attributes", "states", "counts", "evidence", "classes", "known"} {
		if f[key] == nil {
			t.Errorf("%s is null", key)
		}
	}
	for _, key := range []string{"recovered_at", "unit"} {
		if v, there := f[key]; !there || v != nil {
			t.Errorf("%s is %v", key, v)
		}
	}
}

func TestTextNeverDrivesTheTerminal(t *testing.T) {
	evil := "main.\u202eleak\x1b]0;x\x07"
	all := []analysis.Snapshot{snapshot("p\x1b]0;x\x07", "t0\r", 0, map[string][]int64{evil: upTo(30)})}
	var b bytes.Buffer
	if err := Text(&b, Build(all, []analysis.Problem{{Path: "a\x1bb", Offset: -1, Severity: analysis.Error, What: "odd\x9bname"}}, Options{}), Terminal{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r != '\n' && (r < 0x20 || wording.Printable(string(r)) != string(r)) {
			t.Fatalf("the text holds %U: %q", r, b.String())
		}
	}
	for _, want := range []string{`\x1b`, `\xe2\x80\xae`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is missing in %q", want, b.String())
		}
	}
}

func TestEqualProblemsAreSaidOnce(t *testing.T) {
	var many []analysis.Problem
	for i := range 5 {
		many = append(many, analysis.Problem{Path: fmt.Sprint("f", i), Offset: -1, Severity: analysis.Warning, What: fmt.Sprintf("%d lines were lost", i), Hint: "do"})
	}
	many = append(many, analysis.Problem{Path: "bad", Offset: 3, Line: 2, Severity: analysis.Error, What: "broken"})
	got := groupProblems(many)
	if len(got) != 2 || got[0].first.Path != "bad" || got[1].count != 5 {
		t.Errorf("groups %+v", got)
	}
}

func TestAProblemInAFileWithALongNameSaysWhatIsWrong(t *testing.T) {
	for path, want := range map[string]string{
		"a.txt":                           "warning a.txt: the dump is cut",
		strings.Repeat("deep/", 20) + "a": "warning …p/deep/deep/deep/deep/a: the dump is cut",
	} {
		r := &Report{Series: make([]Series, 1), Problems: []analysis.Problem{{Path: path, Offset: -1, Severity: analysis.Warning, What: "the dump is cut"}}}
		if got := newScreen(r, Terminal{}).problems(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestWatchesOfOneKindOnSeveralMountsAreOneFinding(t *testing.T) {
	var all []analysis.Snapshot
	for i := range 6 {
		s := snapshot("p", fmt.Sprintf("t%d", i), i*10, nil)
		total := 0
		for _, mount := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/pids"} {
			f := &analysis.Family{Fingerprint: "w1:" + mount, Kind: analysis.KindWatch, Title: "watch in " + mount, Attributes: map[string]string{"fstype": "cgroup", "mask": "IN_CREATE", "mount": mount}}
			g := analysis.Group{Family: f, Count: 10 * (i + 1), OldestWait: -1}
			for k := range g.Count {
				g.Members.Fill().ID = append(g.Members.Fill().ID, 25)
				g.Members.Fill().Sub = append(g.Members.Fill().Sub, int64(k+1))
			}
			total += g.Count
			s.Groups = append(s.Groups, g)
		}
		s.Totals = analysis.Totals{Watches: &total}
		all = append(all, s)
	}
	s := Build(all, nil, Options{}).Report.Series[0]
	if len(s.Findings) != 1 || len(s.Findings[0].Families) != 2 || !strings.HasPrefix(s.Findings[0].Title, "p added 50 inotify watches ") {
		t.Errorf("findings %+v", s.Findings)
	}
}

func BenchmarkBuild(b *testing.B) {
	all := leak("prober", 50)
	for b.Loop() {
		Build(all, nil, Options{})
	}
}

func TestCutDumpsSayNothingAboutGrowth(t *testing.T) {
	cut := func(snapshots []analysis.Snapshot, which ...int) []analysis.Snapshot {
		for _, i := range which {
			snapshots[i].Truncated, snapshots[i].LowerBound = true, true
		}
		return snapshots
	}
	all := Build(cut(leak("app", 3), 0, 1, 2), nil, Options{})
	for _, text := range []string{all.Report.Diagnosis.Sentence, all.Report.Series[0].Quiet} {
		if !strings.Contains(text, "othing can be said about growth") || strings.Contains(text, "o growing family") {
			t.Errorf("only cut dumps: %s", text)
		}
	}
	some := leak("app", 6)
	last := &some[5]
	for i := range last.Groups { // in the order of a map
		if last.Groups[i].Count > 3 {
			last.Groups[i].Count = 3
		}
	}
	*last.Totals.Goroutines = 6
	c := Build(cut(some, 5), nil, Options{})
	if f := &c.Report.Series[0].Findings[0]; strings.Contains(f.Title+f.Text, "back to") || !strings.Contains(f.Text, "≥3") {
		t.Errorf("a cut dump reads as a fall: %s\n%s", f.Title, f.Text)
	}
}

func TestANameAtTheBeginningOfASentenceStaysAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		"kubelet_running_pods is not known":   "kubelet_running_pods is not known.",
		"prober.(*worker).run rises":          "prober.(*worker).run rises.",
		"rose by 5":                           "Rose by 5.",
		"over 3 h: slower growth is not seen": "Over 3 h: slower growth is not seen.",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheRootOfAFileSystemLeadsNoFinding(t *testing.T) {
	var all []analysis.Snapshot
	for i := range 6 {
		s := snapshot("p", fmt.Sprintf("t%d", i), i*10, nil)
		for _, f := range []*analysis.Family{
			{Fingerprint: "d1:root", Kind: analysis.KindDescriptor, Title: "/", Attributes: map[string]string{"type": "directory"}},
			{Fingerprint: "w1:gone", Kind: analysis.KindWatch, Title: "inotify watch on a removed cgroup", Attributes: map[string]string{"status": "removed cgroup"}},
		} {
			g := analysis.Group{Family: f, Count: 10 * (i + 1), OldestWait: -1}
			for k := range g.Count {
				g.Members.Fill().ID, g.Members.Fill().Sub = append(g.Members.Fill().ID, int64(25+k)), append(g.Members.Fill().Sub, int64(k+1))
			}
			s.Groups = append(s.Groups, g)
		}
		total := 10 * (i + 1)
		s.Totals = analysis.Totals{Watches: &total, Descriptors: &total}
		all = append(all, s)
	}
	s := Build(all, nil, Options{}).Report.Series[0]
	if len(s.Findings) != 1 || !strings.HasPrefix(s.Findings[0].Title, "p added 50 inotify watches on a removed cgroup ") {
		t.Errorf("findings %+v", s.Findings)
	}
}

func TestProcessesOfOneNameAreToldApart(t *testing.T) {
	var all []analysis.Snapshot
	for _, pid := range []string{"41", "42"} {
		for _, s := range leak("worker", 5) {
			s.ID += pid
			s.Process.PID = analysis.Fact{Value: pid, Source: "manifest.json", Confidence: analysis.High}
			s.Process.Host = analysis.Fact{Value: "node-1", Source: "manifest.json", Confidence: analysis.High}
			all = append(all, s)
		}
	}
	c := Build(all, nil, Options{})
	var text strings.Builder
	if err := Text(&text, c, Terminal{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"worker, pid 41", "worker, pid 42"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("lacks %q:\n%s", part, text.String())
		}
	}
}
