package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/report"
)

// recognised is n snapshots of a program; change makes them differ.
func recognised(n int, change func(i int, s *analysis.Snapshot)) []analysis.Snapshot {
	var out []analysis.Snapshot
	for i := range n {
		at := time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)
		s := analysis.Snapshot{
			ID: fmt.Sprintf("s%d", i), Label: fmt.Sprintf("t%d", i), Order: i, CapturedAt: at,
			TimeFact:  analysis.Fact{Value: at.Format(time.RFC3339), Source: "file name", Confidence: analysis.Medium},
			Process:   analysis.Process{Name: analysis.Fact{Value: "kubelet", Source: "stat or status", Confidence: analysis.High}},
			Artifacts: []analysis.Artifact{{Path: fmt.Sprintf("t%d/dump.txt", i), SHA256: fmt.Sprintf("%064d", i), Members: 3}},
		}
		change(i, &s)
		out = append(out, s)
	}
	return out
}

func identityOf(found []analysis.Snapshot, edits ...identity.Edit) IdentityInput {
	for i := range edits {
		edits[i].ID = int64(i + 1)
	}
	in := IdentityInput{CaseID: "c1", CaseTitle: "case", Edits: edits, Said: identity.Resolve(found, edits)}
	in.Series = report.Group(in.Said.Snapshots)
	return in
}

func noTime(s *analysis.Snapshot) {
	s.CapturedAt, s.TimeFact = time.Time{}, analysis.Fact{Source: "no time in the files or their names; order by name"}
}

func TestTheIdentityPageOpensWithWhatIsBelieved(t *testing.T) {
	asFound := func(int, *analysis.Snapshot) {}
	for _, tc := range []struct {
		name   string
		found  []analysis.Snapshot
		edits  []identity.Edit
		want   string
		doubts string
	}{
		{name: "times from names", found: recognised(7, asFound), want: "7\u00a0snapshots of 1\u00a0process; times from the files’ names (medium); nobody has changed anything."},
		{name: "nothing", want: "No snapshot of any process counts in this case."},
		{name: "no time at all", found: recognised(2, func(_ int, s *analysis.Snapshot) { noTime(s) }),
			want:   "2\u00a0snapshots of 1\u00a0process; no time is known, the order is that of the names; nobody has changed anything.",
			doubts: "2\u00a0snapshots have no time: the order is that of the names, and rates are per snapshot."},
		{name: "several sources", found: recognised(4, func(i int, s *analysis.Snapshot) {
			switch i {
			case 0:
				s.TimeFact = analysis.Fact{Value: "x", Source: "case/t0/captured_at", Confidence: analysis.High}
			case 1:
				s.TimeFact = analysis.Fact{Value: "x", Source: "file time in the archive", Confidence: analysis.Low}
			case 3:
				noTime(s)
			}
		}), want: "4\u00a0snapshots of 1\u00a0process; times from captured_at (certain), file times in the archive (low) and the files’ names (medium), 1 without a time; nobody has changed anything.",
			doubts: "1\u00a0snapshot has no time: the order is that of the names, and rates are per snapshot. The 1\u00a0time of low confidence may be those of copying, not of capturing."},
		{name: "times without a zone", found: recognised(2, func(_ int, s *analysis.Snapshot) { s.Zoneless = true }),
			edits:  []identity.Edit{{Kind: identity.Zone, Target: identity.WholeCase, Value: "+02:00"}},
			want:   "2\u00a0snapshots of 1\u00a0process; times from the files’ names (medium); 1\u00a0edit is in force.",
			doubts: "2\u00a0times came without a zone and are taken as +02:00."},
		{name: "names that are guesses", found: recognised(2, func(i int, s *analysis.Snapshot) {
			s.Process.Name.Confidence = analysis.Low
			if i == 1 {
				s.Process.Name = analysis.Fact{}
			}
		}), want: "2\u00a0snapshots of 2\u00a0processes; times from the files’ names (medium); nobody has changed anything.",
			doubts: "The program of 1\u00a0snapshot is a guess. Nothing names the program of 1\u00a0snapshot."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := NewIdentity(identityOf(tc.found, tc.edits...))
			if diff := cmp.Diff([]string{tc.want, tc.doubts}, []string{v.Sentence, v.Mind}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditsAreSaidInWords(t *testing.T) {
	found := recognised(3, func(i int, s *analysis.Snapshot) {
		if i == 2 {
			s.Process.Name.Value = "shim"
		}
	})
	keys := identity.Resolve(found, nil).Keys
	v := NewIdentity(identityOf(found,
		identity.Edit{Kind: identity.Process, Target: "series:" + keys["s0"] + ":/kubelet", Value: "kubelet-7"},
		identity.Edit{Kind: identity.Host, Target: keys["s0"], Value: "node-7"},
		identity.Edit{Kind: identity.Time, Target: keys["s0"], Value: "2026-11-21T04:00:00Z"},
		identity.Edit{Kind: identity.Time, Target: keys["s1"]},
		identity.Edit{Kind: identity.Series, Target: keys["s2"], Value: "into:" + keys["s1"] + ":/kubelet"},
		identity.Edit{Kind: identity.Order, Target: keys["s1"], Value: "after:" + keys["s2"]},
		identity.Edit{Kind: identity.LeaveOut, Target: keys["s2"]},
		identity.Edit{Kind: identity.PID, Target: keys["s2"], Value: "42", Undone: true},
		identity.Edit{Kind: identity.Order, Target: keys["s1"], Value: "before:e1..1.aaaaaaaaaaaaa"},
		identity.Edit{Kind: identity.Zone, Target: identity.WholeCase, Value: "Z"},
	))
	want := []string{
		"times without a zone are of Z [] every time of this case came with its zone",
		"moved before a snapshot that is no longer there [] the snapshot beside which it was put is no longer in the case",
		"pid: 42 [] ",
		"left out [t2] ",
		"moved after t2 [t1] ",
		"series: shim → kubelet-7 [t2] ",
		"time: 2026-11-21 03:01:00 → not known [t1] ",
		"time: 2026-11-21 03:00:00 → 2026-11-21 04:00:00 [t0] ",
		"host: not known → node-7 [t0] ",
		"program: kubelet → kubelet-7 [t0 and t1] ",
	}
	var got []string
	for _, h := range v.History {
		got = append(got, fmt.Sprintf("%s [%s] %s", h.What, h.Applies, h.Unused))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFormOffersWhatItCanHoldFor(t *testing.T) {
	v := NewIdentity(identityOf(recognised(3, func(_ int, s *analysis.Snapshot) { noTime(s) })))
	var got [][]string
	for _, r := range v.Series[0].Rows {
		row := []string{r.Label, r.Up, r.Down}
		for _, s := range r.Process.Scopes {
			row = append(row, s.Value)
		}
		got = append(got, append(row, r.PID.Scopes[0].Value, r.Time.Scopes[0].Value))
	}
	want := [][]string{
		{"t0", "", "after:s1", "series:s0", "s0", "s0", "s0"},
		{"t1", "before:s0", "after:s2", "series:s1", "from:s1", "s1", "s1", "s1"},
		{"t2", "before:s1", "", "series:s2", "s2", "s2", "s2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAListingOfAWholeHostHasItsProcessesOnSeveralPages(t *testing.T) {
	in := identityOf(recognised(200, func(i int, s *analysis.Snapshot) { s.Process.Name.Value = fmt.Sprintf("p%03d", i) }))
	v := NewIdentity(in)
	if len(v.Series) != maxSeries || v.Paging == nil || v.Paging.Text != "Snapshots 1 to 30 of 200" || v.Paging.Next != "/cases/c1/identity?page=2#processes" || len(v.Series[0].Others) != maxSeries-1 {
		t.Errorf("%d series with %d others, then %+v", len(v.Series), len(v.Series[0].Others), v.Paging)
	}
	in.Query = url.Values{"page": {"7"}}
	v = NewIdentity(in)
	if len(v.Series) != 20 || v.Series[0].Name != "p180" || v.Paging.Next != "" || v.Paging.Previous != "/cases/c1/identity?page=6#processes" {
		t.Errorf("%d series from %s on, %+v", len(v.Series), v.Series[0].Name, v.Paging)
	}
}

func TestALongSeriesGoesOnOverPagesAndEverySnapshotIsOnOne(t *testing.T) {
	in := identityOf(recognised(200, func(i int, s *analysis.Snapshot) {
		if i < 50 {
			s.Process.Name.Value = "containerd"
		}
	}))
	seen := map[string]int{}
	for page := 1; page <= 3; page++ {
		in.Query = url.Values{"page": {strconv.Itoa(page)}}
		rows := 0
		for _, s := range NewIdentity(in).Series {
			rows += len(s.Rows)
			for _, r := range s.Rows {
				seen[r.From]++
			}
		}
		if rows > maxIdentityRows {
			t.Errorf("page %d has %d rows", page, rows)
		}
	}
	for _, series := range in.Series {
		for _, s := range series.Snapshots {
			if seen[s.ID] != 1 {
				t.Fatalf("%s is on %d pages", s.ID, seen[s.ID])
			}
		}
	}
	in.Query = nil
	long := in.Series[slices.IndexFunc(in.Series, func(s report.JudgedSeries) bool { return len(s.Snapshots) == 150 })]
	first := NewIdentity(in).Series
	if about := first[len(first)-1].About; !strings.Contains(about, "150\u00a0snapshots, here 1 to ") {
		t.Errorf("the series is cut in silence: %q", about)
	}
	// A form that was refused is shown again, whatever page it was on.
	last := long.Snapshots[100].ID
	in.Refused = &RefusedEdit{Edit: identity.Edit{Kind: identity.Time, Target: last, Value: "soon"}, Fault: &analysis.Fault{Code: "invalid", Where: "value", What: "no time"}}
	refused := 0
	for _, s := range NewIdentity(in).Series {
		for _, r := range s.Rows {
			if r.From == last && r.Time.Error != "" {
				refused++
			}
		}
	}
	if refused != 1 {
		t.Error("the refused field is not on the page")
	}
}

func TestEventsAndLoadsAreSaidInWords(t *testing.T) {
	found := recognised(3, func(int, *analysis.Snapshot) {})
	keys := identity.Resolve(found, nil).Keys
	all := "series:" + keys["s0"] + ":/kubelet"
	numbers := func(values ...string) string {
		text := ""
		for i, v := range values {
			text += keys[fmt.Sprintf("s%d", i)] + "=" + v + " "
		}
		return text
	}
	in := identityOf(found,
		identity.Edit{Kind: identity.Happened, Target: identity.WholeCase, Value: "2026-11-21T03:00:30Z; deploy; 1.4\u202e"},
		identity.Edit{Kind: identity.Happened, Target: identity.WholeCase, Value: "2026-11-21T02:00:00Z; outage; a"},
		identity.Edit{Kind: identity.Happened, Target: identity.WholeCase, Value: "2026-11-21T05:00:00Z; config; b"},
		identity.Edit{Kind: identity.Load, Target: all, Value: "pods; " + numbers("1", "2", "3")},
		identity.Edit{Kind: identity.Load, Target: all, Value: "pods; " + numbers("10", "-", "12.5")},
		identity.Edit{Kind: identity.Version, Target: all, Value: "1.31"},
	)
	in.Done = 1
	v := NewIdentity(in)
	var got []string
	for _, h := range v.History {
		got = append(got, fmt.Sprintf("%s [%s] %s", h.What, h.Applies, h.Unused))
	}
	want := []string{
		"version: not known → 1.31 [t0, t1 and t2] ",
		"load pods: 10 – 12.5 [t0 and t2] ",
		"load pods: 1 2 3 [] a later edit gives this load anew",
		"event: 2026-11-21 05:00:00 config, b [] ",
		"event: 2026-11-21 02:00:00 outage, a [] ",
		"event: 2026-11-21 03:00:30 deploy, 1.4\\xe2\\x80\\xae [] ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rows := []SaidRow{
		{2, "2026-11-21 02:00:00 outage a", "before t0 of kubelet"},
		{1, "2026-11-21 03:00:30 deploy 1.4\\xe2\\x80\\xae", "between t0 and t1 of kubelet"},
		{3, "2026-11-21 05:00:00 config b", "after t2 of kubelet"},
	}
	if diff := cmp.Diff(rows, v.Events.Rows); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]SaidRow{{5, "pods:", "10 – 12.5"}}, v.Series[0].Loads.Rows); diff != "" {
		t.Error(diff)
	}
	if want := "Done. Event: 2026-11-21 03:00:30 deploy, 1.4\\xe2\\x80\\xae; it lies between t0 and t1 of kubelet. Everything was worked out anew."; v.Said != want {
		t.Errorf("%q, want %q", v.Said, want)
	}
}

func TestARefusedEventOrLoadKeepsWhatWasEntered(t *testing.T) {
	found := append(recognised(2, func(int, *analysis.Snapshot) {}), recognised(2, func(_ int, s *analysis.Snapshot) { s.ID, s.Process.Name.Value = "x"+s.ID, "shim" })...)
	fault := func(field string) *analysis.Fault {
		return &analysis.Fault{Code: "invalid", Where: field, What: "it is wrong", Hint: "do it right"}
	}
	in := identityOf(found)
	in.Refused = &RefusedEdit{Edit: identity.Edit{Kind: identity.Happened, Value: identity.EventValue("no;on", "deploy", "a; b")}, Fault: fault("value.time")}
	v := NewIdentity(in)
	got := []string{v.Events.At, v.Events.Kind, v.Events.Text, v.Events.Wrong, v.Events.Error, v.Refused}
	if diff := cmp.Diff([]string{"no,on", "deploy", "a; b", "time", "It is wrong. Do it right.", ""}, got); diff != "" {
		t.Error(diff)
	}
	in.Refused = &RefusedEdit{Edit: identity.Edit{Kind: identity.Load, Target: "series:xs0", Value: identity.LoadValue("pods", "1\n2\r\n3")}, Fault: fault("value")}
	for _, s := range NewIdentity(in).Series {
		want := []string{"", "", "", ""}
		if s.Name == "shim" {
			want = []string{"pods", "1 2 3", "numbers", "It is wrong. Do it right."}
		}
		if diff := cmp.Diff(want, []string{s.Loads.Name, s.Loads.Numbers, s.Loads.Wrong, s.Loads.Error}); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
	}
	in.Refused.Fault = fault("target")
	if v := NewIdentity(in); v.Refused != "It is wrong. Do it right." || v.Series[0].Loads.Error != "" {
		t.Errorf("a fault of no field of the form: %q", v.Refused)
	}
}

func TestALongLoadIsShortened(t *testing.T) {
	found := recognised(40, func(int, *analysis.Snapshot) {})
	v := NewIdentity(identityOf(found))
	if want := "One number for each of t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11 t12 t13 t14 t15 t16 t17 t18 t19 … t38 t39, in this order, a dash where it is not known; or pairs such as t0=12."; v.Series[0].Loads.Hint != want {
		t.Error(cmp.Diff(want, v.Series[0].Loads.Hint))
	}
}

func TestNumbersOfWhichNothingSaysWhatTheyCountAreAskedFor(t *testing.T) {
	n := 7
	for name, c := range map[string]struct {
		totals analysis.Totals
		want   bool
	}{
		"numbers without a name": {analysis.Totals{Numbers: &n}, true},
		"threads":                {analysis.Totals{Threads: &n}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := NewIdentity(identityOf(recognised(2, func(_ int, s *analysis.Snapshot) { s.Totals = c.totals })))
			if got := strings.Contains(fmt.Sprint(v.series(&v.Series[0])), "What do these numbers count?"); got != c.want {
				t.Errorf("asked: %v, want %v", got, c.want)
			}
		})
	}
}
