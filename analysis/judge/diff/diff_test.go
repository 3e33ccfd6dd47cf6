package diff

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

var testStart = time.Date(2026, 11, 21, 2, 58, 36, 0, time.UTC)

// snapshot builds a snapshot from lines "name ids": "g1:probe 1-8,12" for
// goroutines, "d1:sock .." for descriptors, "#7" for a count without identities.
// The first letter of the name is the kind's.
func snapshot(t testing.TB, label string, lines ...string) *analysis.Snapshot {
	t.Helper()
	snap := &analysis.Snapshot{Label: label, ID: "s" + label, CapturedAt: testStart}
	totals := make(map[analysis.Kind]*int)
	for _, line := range lines {
		name, ids, _ := strings.Cut(line, " ")
		kind := kindOf(t, name)
		group := analysis.Group{Family: &analysis.Family{Fingerprint: name, Kind: kind}, OldestWait: -1}
		if count, plain := strings.CutPrefix(ids, "#"); plain {
			group.Count = atoi(t, count)
		} else {
			group.Members.Fill().ID = numbers(t, ids)
			group.Count = len(group.Members.Fill().ID)
		}
		if totals[kind] == nil {
			totals[kind] = new(int)
		}
		*totals[kind] += group.Count
		if group.Count > 0 {
			snap.Groups = append(snap.Groups, group)
		}
	}
	snap.Totals = analysis.Totals{
		Goroutines: totals[analysis.KindGoroutine], Threads: totals[analysis.KindThread],
		Descriptors: totals[analysis.KindDescriptor], Watches: totals[analysis.KindWatch],
	}
	return snap
}

func kindOf(t testing.TB, name string) analysis.Kind {
	t.Helper()
	for _, kind := range analysis.Kinds() {
		if strings.HasPrefix(string(kind), name[:1]) {
			return kind
		}
	}
	t.Fatalf("no kind of %q", name)
	return ""
}

// numbers reads "1-3,9" as 1, 2, 3, 9.
func numbers(t testing.TB, text string) []int64 {
	t.Helper()
	var out []int64
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		low, high, isRange := strings.Cut(piece, "-")
		if !isRange {
			high = low
		}
		for n := atoi(t, low); n <= atoi(t, high); n++ {
			out = append(out, int64(n))
		}
	}
	return out
}

func atoi(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// line is a row in the form of the test.
type line struct {
	Section             Section
	Fingerprint         string
	A, B, Delta         int
	New, Gone, Survived int
	Identified          bool
}

func linesOf(rows []Row) []line {
	var out []line
	for _, r := range rows {
		out = append(out, line{r.Section, r.Family.Fingerprint, r.A, r.B, r.Delta, r.New, r.Gone, r.Survived, r.Identified})
	}
	return out
}

func TestRowsComeInTheOrderOfThePage(t *testing.T) {
	a := snapshot(t, "t1", "g1:housekeeping 1-16", "g1:steady 101-120", "g1:small 121-122", "g1:falls 201-230", "g1:falls-less 241-250", "g1:left 301-304", "g1:churn 401-410", "g1:grows-less 501-503")
	b := snapshot(t, "t6", "g1:housekeeping 1-56", "g1:steady 101-120", "g1:small 121-122", "g1:falls 201-205", "g1:falls-less 241-249", "g1:pods 601-620", "g1:late 701-704", "g1:churn 411-420", "g1:grows-less 501-504")
	got := Compare(a, b, Options{Judgements: map[string]analysis.Judgement{"g1:pods": {Verdict: analysis.Leaking}, "g1:late": {Verdict: analysis.New}}})
	want := []line{
		{Growing, "g1:housekeeping", 16, 56, 40, 40, 0, 16, true},
		{Growing, "g1:pods", 0, 20, 20, 20, 0, 0, true},
		{Growing, "g1:grows-less", 3, 4, 1, 1, 0, 3, true},
		{New, "g1:late", 0, 4, 4, 4, 0, 0, true},
		{Unchanged, "g1:steady", 20, 20, 0, 0, 0, 20, true},
		{Unchanged, "g1:churn", 10, 10, 0, 10, 10, 0, true},
		{Unchanged, "g1:small", 2, 2, 0, 0, 0, 2, true},
		{Shrunk, "g1:falls", 30, 5, -25, 0, 25, 5, true},
		{Shrunk, "g1:falls-less", 10, 9, -1, 0, 1, 9, true},
		{Gone, "g1:left", 4, 0, -4, 0, 4, 0, true},
	}
	if diff := cmp.Diff(want, linesOf(got.Rows)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	kind := analysis.KindGoroutine
	if got.Born[kind] != 75 || got.Ended[kind] != 40 || got.Survived[kind] != 55 {
		t.Errorf("born %d, ended %d, survived %d; want 75, 40, 55", got.Born[kind], got.Ended[kind], got.Survived[kind])
	}
}

func TestWithoutJudgementsWhatWasAbsentIsNew(t *testing.T) {
	got := Compare(snapshot(t, "t0", "g1:old 1-4"), snapshot(t, "t1", "g1:old 1-4", "g1:pods 5-6"), Options{})
	want := []line{{New, "g1:pods", 0, 2, 2, 2, 0, 0, true}, {Unchanged, "g1:old", 4, 4, 0, 0, 0, 4, true}}
	if diff := cmp.Diff(want, linesOf(got.Rows)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestMembersAreNotFollowedWhereTheyCannotBe(t *testing.T) {
	pid := func(snap *analysis.Snapshot, value string) *analysis.Snapshot {
		snap.Process.PID.Value = value
		return snap
	}
	tests := []struct {
		name    string
		a, b    *analysis.Snapshot
		options Options
		want    bool
	}{
		{"one process by default", snapshot(t, "a", "g1:x 1-9"), snapshot(t, "b", "g1:x 1-9"), Options{}, true},
		{"another epoch", snapshot(t, "a", "g1:x 1-9"), snapshot(t, "b", "g1:x 1-9"), Options{Relation: OtherEpoch}, false},
		{"another pid", pid(snapshot(t, "a", "g1:x 1-9"), "7"), pid(snapshot(t, "b", "g1:x 1-9"), "8"), Options{}, false},
		{"another pid in one epoch by the word of the series", pid(snapshot(t, "a", "g1:x 1-9"), "7"), pid(snapshot(t, "b", "g1:x 1-9"), "8"), Options{Relation: SameEpoch}, true},
		{"counts", snapshot(t, "a", "g1:x #9"), snapshot(t, "b", "g1:x 1-9"), Options{}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := Compare(tc.a, tc.b, tc.options)
			if got.Rows[0].Identified != tc.want {
				t.Errorf("identified = %v, want %v", got.Rows[0].Identified, tc.want)
			}
			if _, followed := got.Born[analysis.KindGoroutine]; followed != tc.want {
				t.Errorf("births known = %v, want %v", followed, tc.want)
			}
		})
	}
}

func TestAMemberThatMovesToAnotherFamilySurvives(t *testing.T) {
	got := Compare(snapshot(t, "a", "g1:idle 1-5"), snapshot(t, "b", "g1:idle 1-4", "g1:busy 5"), Options{})
	kind := analysis.KindGoroutine
	if got.Born[kind] != 0 || got.Ended[kind] != 0 || got.Survived[kind] != 5 {
		t.Errorf("born %d, ended %d, survived %d; want 0, 0, 5", got.Born[kind], got.Ended[kind], got.Survived[kind])
	}
}

func TestARowCarriesStatesWaitsAndTheMostFrequentStack(t *testing.T) {
	a, b := snapshot(t, "a", "g1:x 1-4"), snapshot(t, "b", "g1:x 1-9")
	common, rare := &analysis.Stack{}, &analysis.Stack{}
	a.Groups[0].States = map[string]int{"select": 4}
	b.Groups[0].States = map[string]int{"select": 8, "running": 1}
	b.Groups[0].OldestWait = 12
	b.Groups[0].Variants = []analysis.Variant{{Fingerprint: "e1:9", Count: 4, Stack: rare}, {Fingerprint: "e1:1", Count: 4, Stack: common}, {Fingerprint: "e1:0", Count: 1, Stack: rare}}
	row := Compare(a, b, Options{}).Rows[0]
	if row.VariantB != common || row.VariantA != nil {
		t.Errorf("variants %p and %p, want nil and %p", row.VariantA, row.VariantB, common)
	}
	if row.OldestWait != 12 || row.StatesA["select"] != 4 || row.StatesB["running"] != 1 {
		t.Errorf("%+v", row)
	}
}

func TestWarnings(t *testing.T) {
	type sides struct{ a, b *analysis.Snapshot }
	plain := func() sides {
		s := sides{snapshot(t, "t1", "g1:x 1-9"), snapshot(t, "t6", "g1:x 1-9")}
		s.b.CapturedAt = testStart.Add(440 * time.Second)
		return s
	}
	number := func(n int) *int { return &n }
	tests := []struct {
		name   string
		change func(sides)
		opts   Options
		want   []string
	}{
		{"nothing to warn of", func(sides) {}, Options{}, nil},
		{"the same snapshot", func(s sides) { s.b.ID = s.a.ID }, Options{}, []string{"same_snapshot"}},
		{"another program", func(s sides) { s.a.Process.Name.Value, s.b.Process.Name.Value = "kubelet", "containerd" }, Options{},
			[]string{"programs kubelet containerd"}},
		{"another host", func(s sides) { s.a.Process.Host.Value, s.b.Process.Host.Value = "node-a", "node-b" }, Options{},
			[]string{"hosts node-a node-b"}},
		{"another pid", func(s sides) { s.a.Process.PID.Value, s.b.Process.PID.Value = "7", "8" }, Options{},
			[]string{"processes 7 8"}},
		{"another start of the same pid", func(s sides) { s.a.Process.Start.Value, s.b.Process.Start.Value = "100", "200" }, Options{},
			[]string{"restarted"}},
		{"another epoch of the series", func(sides) {}, Options{Relation: OtherEpoch},
			[]string{"restarted"}},
		{"another version", func(s sides) { s.a.Process.Version.Value, s.b.Process.Version.Value = "1.34.4", "1.35.0" }, Options{},
			[]string{"versions 1.34.4 1.35.0"}},
		{"a cut dump", func(s sides) { s.b.Truncated, s.b.LowerBound = true, true }, Options{},
			[]string{"cut at=t6"}},
		{"a cut dump with a complete twin", func(s sides) { s.a.Truncated = true }, Options{},
			[]string{"cut_with_twin at=t1"}},
		{"a kind of one side", func(s sides) { s.a.Totals.Watches = number(4) }, Options{},
			[]string{"captured_once watch at=t1"}},
		{"a kind of the other side", func(s sides) { s.b.Totals.Descriptors = number(4) }, Options{},
			[]string{"captured_once descriptor at=t6"}},
		{"descriptors that were counted and not listed", func(s sides) {
			s.a.Totals.Descriptors, s.b.Totals.Descriptors = number(31), number(0)
		}, Options{}, []string{"not_listed descriptor at=t1"}},
		{"evidence of other times", func(s sides) {
			s.a.Totals.Descriptors, s.b.Totals.Descriptors = number(0), number(0)
			s.a.Times = map[analysis.Kind]time.Time{analysis.KindDescriptor: testStart.Add(218 * time.Second)}
		}, Options{}, []string{"other_span descriptor 3m42s of 7m20s"}},
		{"evidence a moment later", func(s sides) {
			s.b.Times = map[analysis.Kind]time.Time{analysis.KindGoroutine: s.b.CapturedAt.Add(2 * time.Second)}
		}, Options{}, nil},
		{"B before A", func(s sides) { s.b.CapturedAt = testStart.Add(-time.Minute) }, Options{}, []string{"reversed of -1m0s"}},
		{"no times", func(s sides) { s.a.CapturedAt = time.Time{} }, Options{}, []string{"untimed at=t1"}},
		{"another limit", func(s sides) {
			s.a.Figures = map[string]float64{"limit_open_files": 1024, "process_open_fds": 9}
			s.b.Figures = map[string]float64{"limit_open_files": 65536, "process_open_fds": 12}
		}, Options{}, []string{"other_limit limit_open_files 1024 65536"}},
		{"two captures that nobody filed under one process", func(s sides) {}, Options{Relation: Unproven},
			[]string{"perhaps_other_process"}},
		{"two captures that name one process", func(s sides) {
			for _, p := range []*analysis.Process{&s.a.Process, &s.b.Process} {
				p.PID.Value, p.Start.Value = "7", "100"
			}
		}, Options{Relation: Unproven}, nil},
		{"a limit known from metrics", func(s sides) {
			s.a.Figures, s.b.Figures = map[string]float64{"process_max_fds": 1024}, map[string]float64{"process_max_fds": 2048}
		}, Options{}, []string{"other_limit process_max_fds 1024 2048"}},
		{"another sysctl", func(s sides) {
			s.a.Figures, s.b.Figures = map[string]float64{"inotify_max_user_watches": 8192}, map[string]float64{"inotify_max_user_watches": 1048576}
		}, Options{}, []string{"other_limit inotify_max_user_watches 8192 1048576"}},
		{"sockets whose ends one side does not show", func(s sides) {
			s.a.Forms = map[analysis.Kind]string{analysis.KindDescriptor: analysis.FormBare}
			s.b.Forms = map[analysis.Kind]string{analysis.KindDescriptor: analysis.FormEnds}
		}, Options{}, []string{"two_forms descriptor " + analysis.FormBare + " " + analysis.FormEnds}},
		{"evidence that shows less than others", func(s sides) { s.b.Inexact = analysis.Inexact{analysis.KindGoroutine: analysis.NotComparable} }, Options{},
			[]string{"shows_less goroutine at=t6"}},
		{"a time without a zone", func(s sides) { s.b.Zoneless = true }, Options{},
			[]string{"zoneless at=t6"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := plain()
			tc.change(s)
			var got []string
			for _, w := range Compare(s.a, s.b, tc.opts).Warnings {
				if got = append(got, warningOf(w)); w.A != "t1" || w.B != "t6" {
					t.Errorf("%s is of %s and %s", w.Form, w.A, w.B)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// warningOf writes a warning in a line: its form, kind, name, values, snapshot and lengths of
// time.
func warningOf(w Warning) string {
	words := []string{string(w.Form)}
	for _, word := range []string{string(w.Kind), w.Name, w.Was, w.Is} {
		if word != "" {
			words = append(words, word)
		}
	}
	if w.At != "" {
		words = append(words, "at="+w.At)
	}
	if !w.From.IsZero() {
		words = append(words, w.To.Sub(w.From).String())
	}
	if !w.Captured[0].IsZero() {
		words = append(words, "of", w.Captured[1].Sub(w.Captured[0]).String())
	}
	return strings.Join(words, " ")
}

func TestKindsOfOneSideHaveNoRows(t *testing.T) {
	got := Compare(snapshot(t, "t0", "g1:x 1-4", "w1:y 1-9"), snapshot(t, "t1", "g1:x 1-4"), Options{})
	want := []line{{Unchanged, "g1:x", 4, 4, 0, 0, 0, 4, true}}
	if diff := cmp.Diff(want, linesOf(got.Rows)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	family := func(name, creator string, loose ...string) *analysis.Family {
		return &analysis.Family{Fingerprint: name, Kind: analysis.KindGoroutine, Loose: loose, LooseCreator: creator}
	}
	socket := func(name string, attributes ...string) *analysis.Family {
		f := &analysis.Family{Fingerprint: name, Kind: analysis.KindDescriptor, Attributes: map[string]string{}}
		for i := 0; i < len(attributes); i += 2 {
			f.Attributes[attributes[i]] = attributes[i+1]
		}
		return f
	}
	a := &analysis.Snapshot{Label: "t1", Groups: []analysis.Group{
		{Family: family("g1:kill", "UpdatePod", "WaitGroup.Wait", "killPod", "podWorkerLoop", "UpdatePod.func1"), Count: 4},
		{Family: family("g1:idle", "UpdatePod", "podWorkerLoop.recv", "UpdatePod.func1"), Count: 90},
		{Family: family("g1:probe", "AddPod", "waitOnHeader", "podWorkerLoop", "UpdatePod.func1"), Count: 8},
		{Family: family("g1:main", "", "main.run", "main.main"), Count: 1},
		{Family: socket("d1:established", "protocol", "TCP", "remote", "10.0.0.1:443", "state", "ESTABLISHED"), Count: 3},
	}}
	tests := []struct {
		name   string
		of     *analysis.Family
		want   string
		reason Likeness
	}{
		{"the same creator and the longest common way", family("g1:pods", "UpdatePod", "RunPodSandbox", "podWorkerLoop", "UpdatePod.func1"),
			"g1:kill", Likeness{Form: "creator", Outer: 2}},
		{"the same creator alone", family("g1:other", "AddPod", "worker.run"), "g1:probe", Likeness{Form: "creator"}},
		{"no creator", family("g1:start", "", "main.init", "main.main"), "g1:main", Likeness{Form: "no_creator", Outer: 1}},
		{"nothing near", family("g1:far", "Serve", "conn.serve"), "", Likeness{Form: "no_frames", Kind: analysis.KindGoroutine, At: "t1"}},
		{"the family itself", family("g1:idle", "UpdatePod"), "g1:idle", Likeness{Form: "same_family"}},
		{"a socket in another state", socket("d1:wait", "protocol", "TCP", "remote", "10.0.0.1:443", "state", "CLOSE_WAIT"),
			"d1:established", Likeness{Form: "attributes", Equal: []string{"protocol", "remote"}, Other: []string{"state"}}},
		{"a socket to somebody else", socket("d1:far", "protocol", "TCP", "remote", "10.9.9.9:80", "state", "CLOSE_WAIT"),
			"", Likeness{Form: "no_attributes", Kind: analysis.KindDescriptor, At: "t1"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			group, reason := Nearest(a, tc.of)
			got := ""
			if group != nil {
				got = group.Family.Fingerprint
			}
			if diff := cmp.Diff(tc.reason, reason); got != tc.want || diff != "" {
				t.Errorf("nearest = %q, want %q (-want +got):\n%s", got, tc.want, diff)
			}
		})
	}
}

func TestSwappingTheSidesMirrorsTheRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var a, b []string
		for f := range rapid.IntRange(0, 5).Draw(rt, "families") {
			from := rapid.IntRange(1, 20).Draw(rt, "from")
			for _, side := range []*[]string{&a, &b} {
				if n := rapid.IntRange(0, 20).Draw(rt, "members"); n > 0 {
					low := f*1000 + from + rapid.IntRange(0, 5).Draw(rt, "shift")
					*side = append(*side, "g1:"+strconv.Itoa(f)+" "+strconv.Itoa(low)+"-"+strconv.Itoa(low+n-1))
				}
			}
		}
		x, y := snapshot(t, "a", append(a, "g1:main 999999")...), snapshot(t, "b", append(b, "g1:main 999999")...)
		there, back := Compare(x, y, Options{}), Compare(y, x, Options{})
		mirrored := make(map[string]line)
		for _, l := range linesOf(back.Rows) {
			l.A, l.B, l.Delta, l.New, l.Gone = l.B, l.A, -l.Delta, l.Gone, l.New
			mirrored[l.Fingerprint] = l
		}
		if len(there.Rows) != len(back.Rows) {
			rt.Fatalf("%d rows there, %d back", len(there.Rows), len(back.Rows))
		}
		for _, l := range linesOf(there.Rows) {
			other := mirrored[l.Fingerprint]
			other.Section = l.Section
			if diff := cmp.Diff(l, other); diff != "" {
				rt.Fatalf("row (-there +back):\n%s", diff)
			}
			if l.Survived+l.New != l.B || l.Survived+l.Gone != l.A {
				rt.Fatalf("members do not add up: %+v", l)
			}
		}
		kind := analysis.KindGoroutine
		if there.Born[kind] != back.Ended[kind] || there.Survived[kind] != back.Survived[kind] {
			rt.Fatalf("born %d, ended back %d", there.Born[kind], back.Ended[kind])
		}
	})
}
