package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
)

// cutCase is a process that grows in six snapshots, of which t3 and t5 are cut.
func cutCase() CaseInput {
	r := oneSeries("app", analysis.Leaking, "", 161, 281, 401, 175, 641, 255)
	for _, i := range []int{3, 5} {
		r.Snapshots[i].Truncated, r.Snapshots[i].LowerBound = true, true
	}
	f := &r.Series[0].Families[0]
	r.Series[0].Findings = []report.Finding{{Rank: 1, Verdict: analysis.Leaking, Title: "main.leak", Families: []string{f.Fingerprint}, Counts: f.Counts}}
	return CaseInput{ID: "c", Report: r}
}

func TestACutDumpIsNoRecovery(t *testing.T) {
	c := NewCase(cutCase())
	f := c.Findings[0]
	if d := cmp.Diff([]string{"161", "641", "641"}, []string{f.From, f.Peak, f.To}); d != "" {
		t.Errorf("the course of the finding: %s", d)
	}
	lower := []bool{false, false, false, true, false, true}
	for name, got := range map[string][]bool{"spark": f.Spark.Lower, "timeline": c.Timeline.Lanes[0].Lower, "small chart": c.Minis[0].Chart.Lower} {
		if d := cmp.Diff(lower, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if !slices.ContainsFunc(c.Legend, func(l LegendItem) bool { return strings.HasPrefix(l.Text, "△ ≥") }) {
		t.Errorf("the legend %v does not explain the open marks", c.Legend)
	}
}

func TestACutDumpIsALowerBoundWhereverItsFigureStands(t *testing.T) {
	c := NewCase(cutCase())
	want := []string{"161", "281", "401", "≥\u00a0175", "641", "≥\u00a0255"}
	if d := cmp.Diff(want, c.Groups[0].Rows[0].Cells); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, c.Families[0].Counts); d != "" {
		t.Error(d)
	}
	if got := c.Choices[0].Choices[3].Text; got != "t3, 03:03:00, ≥\u00a0175 goroutines" {
		t.Errorf("the choice is %q", got)
	}
}

func TestTheFigureOfACutDumpIsALowerBoundOnItsOwnPage(t *testing.T) {
	for name, s := range map[string]*analysis.Snapshot{
		"of goroutines": {Totals: analysis.Totals{Goroutines: new(255)}, LowerBound: true},
		"of threads":    {Totals: analysis.Totals{Threads: new(255)}, LowerBound: true, Truncated: true},
	} {
		if got := NewSnapshot(SnapshotInput{Snapshot: s}).Body.Markdown(); !strings.Contains(got, "s: ≥\u00a0255\n") {
			t.Errorf("%s it is %q", name, got)
		}
	}
}

func TestACutDumpWithACompleteTwinIsNoLowerBound(t *testing.T) {
	in := cutCase()
	for i := range in.Report.Snapshots {
		in.Report.Snapshots[i].LowerBound = false
	}
	c := NewCase(in)
	if c.Timeline.Lanes[0].Lower != nil {
		t.Errorf("lower bounds are %v", c.Timeline.Lanes[0].Lower)
	}
}

func cutDiff() DiffInput {
	process := analysis.Process{Name: analysis.Fact{Value: "app"}}
	a := &analysis.Snapshot{ID: "a", Label: "t4", Process: process, Totals: analysis.Totals{Goroutines: new(641)}}
	b := &analysis.Snapshot{ID: "b", Label: "t5", Process: process, Totals: analysis.Totals{Goroutines: new(255)}, LowerBound: true}
	rows := []diff.Row{
		{Family: &analysis.Family{Fingerprint: "g1:1", Kind: analysis.KindGoroutine, Title: "main.small"}, A: 5, B: 5, Survived: 5, Identified: true, Section: diff.Unchanged},
		{Family: &analysis.Family{Fingerprint: "g1:0", Kind: analysis.KindGoroutine, Title: "main.leak"}, A: 600, B: 213, Delta: -387, Gone: 400, New: 13, Survived: 200, Identified: true, Section: diff.Shrunk},
	}
	return DiffInput{
		Labels: []string{"t4", "t5"}, AIndex: 0, BIndex: 1, Counts: only("g1:0", numbers(600, 213)),
		Result: diff.Result{
			Followed: true, A: a, B: b, Rows: rows, TotalA: a.Totals, TotalB: b.Totals,
			Born: map[analysis.Kind]int{analysis.KindGoroutine: 13}, Ended: map[analysis.Kind]int{analysis.KindGoroutine: 400},
		},
	}
}

func TestACutSideIsNotCompared(t *testing.T) {
	d := NewDiff(cutDiff())
	if diff := cmp.Diff("app: t4 and t5 cannot be compared: t5 is cut (at least 255 goroutines).", d.Headline); diff != "" {
		t.Error(diff)
	}
	if d.HasTotal || d.Percent != "" || d.Totals[0].Known || d.Summary != nil || d.B.Count != "≥\u00a0255" {
		t.Errorf("a difference is told: %+v", d)
	}
	if len(d.Sections) != 1 || d.Sections[0].Title != "Not compared" {
		t.Fatalf("sections are %+v", d.Sections)
	}
	row := d.Sections[0].Rows[0]
	got := []string{row.A, row.B, row.Percent, row.New, row.Gone, row.Survived}
	if diff := cmp.Diff([]string{"600", "≥\u00a0213", "n/a", "≥\u00a013", "n/a", "≥\u00a0200"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{false, true}, row.Spark.Lower); diff != "" {
		t.Error(diff)
	}
	for _, no := range []string{"shrank", "387", "386", "60 %"} {
		if strings.Contains(d.Page().Body.Markdown()+d.Shell.Title, no) {
			t.Errorf("the page says %q: %s", no, d.Page().Body.Markdown())
		}
	}
}

func TestACutAHidesWhatIsNew(t *testing.T) {
	in := cutDiff()
	in.Result.A.LowerBound, in.Result.B.LowerBound = true, false
	row := NewDiff(in).Sections[0].Rows[0]
	if d := cmp.Diff([]string{"n/a", "≥\u00a0400"}, []string{row.New, row.Gone}); d != "" {
		t.Error(d)
	}
}

func TestAFamilyPageTellsACutDumpApart(t *testing.T) {
	f := NewFamily(FamilyInput{
		Process: "app", Family: report.Family{Kind: analysis.KindGoroutine, Title: "main.leak"}, Judgement: analysis.Judgement{RecoveredAt: -1, Survivors: -1},
		Labels: []string{"t0", "t1", "t2"}, Counts: numbers(10, 60, 20), Lower: []bool{false, false, true}, SnapshotIndex: 2, Groups: make([]*analysis.Group, 3),
	})
	if d := cmp.Diff("app: 10 goroutines at t0, 60 at t1.", f.Sentence); d != "" {
		t.Error(d)
	}
	if len(f.Figures) == 0 || f.Figures[0].Value != "≥\u00a020" || slices.ContainsFunc(f.Figures, func(k KeyFigure) bool { return k.IsChange }) {
		t.Errorf("figures are %+v", f.Figures)
	}
	if !strings.Contains(f.MembersNote, "△") || !strings.Contains(f.Page().Body.Markdown(), "≥\u00a020") {
		t.Errorf("note is %q", f.MembersNote)
	}
}

func TestOneSnapshotAloneDoesNotGrow(t *testing.T) {
	r := oneSeries("app", analysis.Suspicious, "", 65)
	r.Series[0].Findings = []report.Finding{{Rank: 1, Verdict: analysis.Suspicious, Title: "main.leak", Families: []string{"g1:0"}}}
	c := NewCase(CaseInput{Report: r})
	if d := cmp.Diff("1 of 1\u00a0family looks like a leak by the ages of its members.", c.Rising); d != "" {
		t.Error(d)
	}
	if c.Findings[0].Spark != nil || strings.Contains(c.FindingsNote, "grows") {
		t.Errorf("a course is told: %+v, note %q", c.Findings[0], c.FindingsNote)
	}
	f := NewFamily(FamilyInput{
		Process: "app", Family: r.Series[0].Families[0], Judgement: analysis.Judgement{Verdict: analysis.Suspicious, RecoveredAt: -1, Survivors: -1},
		Labels: []string{"t0"}, Counts: numbers(65), Groups: make([]*analysis.Group, 1),
	})
	if strings.Contains(f.Lead, "rises") || !strings.Contains(f.Lead, "ages") {
		t.Errorf("lead is %q", f.Lead)
	}
}

func TestRisingWordsTellGrowthFromAges(t *testing.T) {
	for _, tt := range []struct {
		name                            string
		growing, rose, aged, aside, all int
		single                          bool
		want                            string
	}{
		{"what grows", 2, 0, 0, 0, 9, false, "2 of 9\u00a0families grow."},
		{"nobody old in one snapshot", 0, 0, 0, 0, 9, true, "None of 9\u00a0families looks like a leak by the ages of its members."},
		{"several in one snapshot", 0, 0, 2, 0, 9, true, "2 of 9\u00a0families look like a leak by the ages of their members."},
		{"what grows and is all benign", 0, 0, 0, 2, 9, false, "2 of 9\u00a0families grow, all of them marked benign by a person."},
		{"one that is", 0, 0, 0, 1, 9, false, "1 of 9\u00a0families grow, which a person marked benign."},
		{"some that are", 1, 0, 0, 2, 9, false, "3 of 9\u00a0families grow, 2 of them marked benign by a person."},
		{"some of one snapshot", 0, 0, 1, 1, 9, true, "2 of 9\u00a0families look like a leak by the ages of their members, 1 of them marked benign by a person."},
		{"both", 1, 0, 1, 0, 9, false, "1 of 9\u00a0families grow. 1 of 9\u00a0families looks like a leak by the ages of its members."},
		{"what rose and accuses nobody", 0, 1, 0, 0, 9, false, "1 of 9\u00a0families rose."},
		{"what rose beside what grows", 2, 1, 0, 0, 9, false, "2 of 9\u00a0families grow, 1 more rose."},
		{"nothing at all", 0, 0, 0, 0, 9, false, "None of 9\u00a0families grew."},
		{"no family", 0, 0, 0, 0, 0, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, risingWords(tt.growing, tt.rose, tt.aged, tt.aside, tt.all, tt.single)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestADayIsNamedWhereItChanges(t *testing.T) {
	r := oneSeries("app", analysis.Leaking, "", 1, 2, 3, 4)
	for i, hours := range []int{0, 5, 24, 29} {
		at := time.Date(2026, 5, 1, 9+hours, 0, 0, 0, time.UTC)
		r.Snapshots[i].CapturedAt = &at
	}
	c := NewCase(CaseInput{Report: r})
	var days []string
	for _, k := range c.Columns {
		days = append(days, k.Day)
	}
	if d := cmp.Diff([]string{"1\u00a0May", "", "2\u00a0May", ""}, days); d != "" {
		t.Error(d)
	}
	if got := c.Choices[0].Choices[3].Text; got != "t3, 2\u00a0May 14:00:00, 4 goroutines" {
		t.Errorf("the choice is %q", got)
	}
	if got := c.Page().Body.Markdown(); !strings.Contains(got, "2\u00a0May 09:00:00") {
		t.Errorf("the text is %s", got)
	}
	same := NewCase(CaseInput{Report: oneSeries("app", analysis.Leaking, "", 1, 2)})
	if same.Columns[0].Day != "" || same.Choices[0].Choices[0].Text != "t0, 03:00:00, 1 goroutine" {
		t.Errorf("one day is named: %+v", same.Columns[0])
	}
}

func TestAnEventAtASnapshotIsAtItsColumn(t *testing.T) {
	// Another process was captured a moment before, which is the time of the column.
	r, other := oneSeries("app", analysis.Leaking, "", 1, 2, 3), oneSeries("db", analysis.Stable, "", 1, 1, 1)
	for i := range other.Snapshots {
		at := other.Snapshots[i].CapturedAt.Add(-5 * time.Second)
		other.Snapshots[i].CapturedAt = &at
	}
	event := trend.Event{At: *r.Snapshots[1].CapturedAt, Kind: "version", Text: "1.0 to 1.1"}
	r.Series, r.Snapshots = append(r.Series, other.Series...), append(r.Snapshots, other.Snapshots...)
	c := NewCase(CaseInput{Report: r, More: []CaseMore{{Events: []trend.Event{event}}, {}}})
	e := c.Timeline.Lanes[0].Events
	if len(e) != 1 || e[0].When(c.Timeline.Labels) != "at t1" {
		t.Errorf("events are %+v", e)
	}
}

func TestFindingsAreOrderedAcrossTheProcesses(t *testing.T) {
	r, second := oneSeries("kubelet", analysis.Leaking, "", 1, 2, 3), oneSeries("containerd", analysis.Leaking, "", 1, 2, 3)
	r.Series[0].Findings = []report.Finding{
		{Title: "rises with containerd"}, {Title: "its holder", Kind: report.HolderFinding}, {Title: "grows too"},
		{Title: "its own holder", Kind: report.HolderFinding}, {Title: "the capture", Kind: report.ObserverFinding}, {Title: "a limit", Kind: report.LimitFinding},
	}
	second.Series[0].Findings = []report.Finding{{Title: "the other process grows"}, {Title: "what follows", Kind: report.FollowFinding}, {Title: "a fact", Kind: report.FactFinding}}
	r.Series, r.Snapshots = append(r.Series, second.Series...), append(r.Snapshots, second.Snapshots...)
	var got []string
	for _, f := range NewCase(CaseInput{Report: r}).Findings {
		got = append(got, f.Number+" "+f.Title)
	}
	want := []string{
		"1 rises with containerd", "2 its holder", "3 grows too", "4 its own holder", "5 the other process grows", "6 what follows", "7 the capture", "8 a limit", "9 a fact",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
