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
			group.Members.ID = numbers(t, ids)
			group.Count = len(group.Members.ID)
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
		{"the same snapshot", func(s sides) { s.b.ID = s.a.ID }, Options{}, []string{"A and B are the same snapshot."}},
		{"another program", func(s sides) { s.a.Process.Name.Value, s.b.Process.Name.Value = "kubelet", "containerd" }, Options{},
			[]string{"Two programs: kubelet at t1, containerd at t6. Members are not followed."}},
		{"another host", func(s sides) { s.a.Process.Host.Value, s.b.Process.Host.Value = "node-a", "node-b" }, Options{},
			[]string{"Two hosts: node-a at t1, node-b at t6. Members are not followed."}},
		{"another pid", func(s sides) { s.a.Process.PID.Value, s.b.Process.PID.Value = "7", "8" }, Options{},
			[]string{"Two processes: pid 7 at t1, 8 at t6. Members are not followed."}},
		{"another start of the same pid", func(s sides) { s.a.Process.Start.Value, s.b.Process.Start.Value = "100", "200" }, Options{},
			[]string{"The process was restarted between t1 and t6. Members are not followed, and counts start again."}},
		{"another epoch of the series", func(sides) {}, Options{Relation: OtherEpoch},
			[]string{"The process was restarted between t1 and t6. Members are not followed, and counts start again."}},
		{"another version", func(s sides) { s.a.Process.Version.Value, s.b.Process.Version.Value = "1.34.4", "1.35.0" }, Options{},
			[]string{"Two versions: 1.34.4 at t1, 1.35.0 at t6. A family may be new only because a function was renamed."}},
		{"a cut dump", func(s sides) { s.b.Truncated, s.b.LowerBound = true, true }, Options{},
			[]string{"The dump of t6 is cut: its counts are lower bounds and prove neither growth nor shrinking."}},
		{"a cut dump with a complete twin", func(s sides) { s.a.Truncated = true }, Options{},
			[]string{"The dump of t1 is cut: counts are from its complete twin, members only from what was read."}},
		{"a kind of one side", func(s sides) { s.a.Totals.Watches = number(4) }, Options{},
			[]string{"Watches were captured only at t1 and are not compared."}},
		{"a kind of the other side", func(s sides) { s.b.Totals.Descriptors = number(4) }, Options{},
			[]string{"Descriptors were captured only at t6 and are not compared."}},
		{"descriptors that were counted and not listed", func(s sides) {
			s.a.Totals.Descriptors, s.b.Totals.Descriptors = number(31), number(0)
		}, Options{}, []string{"Descriptors of t1 were counted and not listed: their families are not compared."}},
		{"evidence of other times", func(s sides) {
			s.a.Totals.Descriptors, s.b.Totals.Descriptors = number(0), number(0)
			s.a.Times = map[analysis.Kind]time.Time{analysis.KindDescriptor: testStart.Add(218 * time.Second)}
		}, Options{}, []string{"Descriptors were read from 03:02:14 to 03:05:56, over 3 min 42 s and not over 7 min 20 s."}},
		{"evidence a moment later", func(s sides) {
			s.b.Times = map[analysis.Kind]time.Time{analysis.KindGoroutine: s.b.CapturedAt.Add(2 * time.Second)}
		}, Options{}, nil},
		{"B before A", func(s sides) { s.b.CapturedAt = testStart.Add(-time.Minute) }, Options{}, []string{"B was captured before A, by 1 min 0 s."}},
		{"no times", func(s sides) { s.a.CapturedAt = time.Time{} }, Options{}, []string{"No capture time of t1: the length of the interval is unknown."}},
		{"another limit", func(s sides) {
			s.a.Figures = map[string]float64{"limit_open_files": 1024, "process_open_fds": 9}
			s.b.Figures = map[string]float64{"limit_open_files": 65536, "process_open_fds": 12}
		}, Options{}, []string{"Another limit: open files (RLIMIT_NOFILE) is 1024 at t1 and 65536 at t6."}},
		{"two captures that nobody filed under one process", func(s sides) {}, Options{Relation: Unproven},
			[]string{"Nothing says that t1 and t6 are of one process. Members are not followed."}},
		{"two captures that name one process", func(s sides) {
			for _, p := range []*analysis.Process{&s.a.Process, &s.b.Process} {
				p.PID.Value, p.Start.Value = "7", "100"
			}
		}, Options{Relation: Unproven}, nil},
		{"a limit known from metrics", func(s sides) {
			s.a.Figures, s.b.Figures = map[string]float64{"process_max_fds": 1024}, map[string]float64{"process_max_fds": 2048}
		}, Options{}, []string{"Another limit: open files (RLIMIT_NOFILE) is 1024 at t1 and 2048 at t6."}},
		{"another sysctl", func(s sides) {
			s.a.Figures, s.b.Figures = map[string]float64{"inotify_max_user_watches": 8192}, map[string]float64{"inotify_max_user_watches": 1048576}
		}, Options{}, []string{"Another limit: fs.inotify.max_user_watches is 8192 at t1 and 1048576 at t6."}},
		{"sockets whose ends one side does not show", func(s sides) {
			s.a.Forms = map[analysis.Kind]string{analysis.KindDescriptor: analysis.FormBare}
			s.b.Forms = map[analysis.Kind]string{analysis.KindDescriptor: analysis.FormEnds}
		}, Options{}, []string{"Descriptors were captured in two forms: t1 knows sockets by their inodes alone, t6 says where sockets lead. A family may be new or gone only because of that."}},
		{"evidence that shows less than others", func(s sides) { s.b.Inexact = analysis.Inexact{analysis.KindGoroutine: analysis.NotComparable} }, Options{},
			[]string{"The evidence of goroutines at t6 shows less than that of others: counts of its families are lower bounds."}},
		{"a time without a zone", func(s sides) { s.b.Zoneless = true }, Options{},
			[]string{"The time of t6 was read without a zone and taken as UTC: the length of the interval may be off by hours."}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := plain()
			tc.change(s)
			if diff := cmp.Diff(tc.want, Compare(s.a, s.b, tc.opts).Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
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
		reason string
	}{
		{"the same creator and the longest common way", family("g1:pods", "UpdatePod", "RunPodSandbox", "podWorkerLoop", "UpdatePod.func1"),
			"g1:kill", "the same creator, 2 outer frames in common, then another way"},
		{"the same creator alone", family("g1:other", "AddPod", "worker.run"), "g1:probe", "the same creator, no frame in common"},
		{"no creator", family("g1:start", "", "main.init", "main.main"), "g1:main", "also without a creator, 1 outer frame in common, then another way"},
		{"nothing near", family("g1:far", "Serve", "conn.serve"), "", "no goroutine of t1 has its creator or its outer frames"},
		{"the family itself", family("g1:idle", "UpdatePod"), "g1:idle", "the same family"},
		{"a socket in another state", socket("d1:wait", "protocol", "TCP", "remote", "10.0.0.1:443", "state", "CLOSE_WAIT"),
			"d1:established", "same protocol, remote; other state"},
		{"a socket to somebody else", socket("d1:far", "protocol", "TCP", "remote", "10.9.9.9:80", "state", "CLOSE_WAIT"),
			"", "no descriptor of t1 shares half of its attributes"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			group, reason := Nearest(a, tc.of)
			got := ""
			if group != nil {
				got = group.Family.Fingerprint
			}
			if got != tc.want || reason != tc.reason {
				t.Errorf("nearest = %q, %q; want %q, %q", got, reason, tc.want, tc.reason)
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
