package view

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/web/chart"
)

func numbers(values ...int) analysis.Counts { return analysis.CountsOf(values...) }

func TestACourseNamesPeakAndRestart(t *testing.T) {
	for _, tt := range []struct {
		name   string
		counts analysis.Counts
		epochs []int
		want   string
	}{
		{"a rise", numbers(4, 16, 64), nil, "4 → 64"},
		{"a rise that went back", numbers(4, 64, 4), nil, "4 → 64 → 4"},
		{"a restart is no way back", numbers(3, 162, 16), []int{2}, "3 → 162, restarted with 16"},
		{"a rise after a restart", numbers(30, 31, 2, 90), []int{2}, "2 → 90"},
		{"a gap is skipped", numbers(-1, 5, -1, 9), nil, "5 → 9"},
		{"nothing captured", numbers(-1, -1), nil, "not captured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, course(tt.counts, tt.epochs)); d != "" {
				t.Error(d)
			}
		})
	}
}

// unitCase is one process with two families that rise as one unit, a holder and a
// limit.
func unitCase() CaseInput {
	r := oneSeries("app", analysis.Leaking, "", 10, 22, 34)
	s := &r.Series[0]
	u1 := "u1"
	s.Families = []report.Family{
		{Fingerprint: "g1:0", Kind: analysis.KindGoroutine, Title: "main.leak", Verdict: analysis.Leaking, Counts: numbers(0, 8, 16), Rise: 16, Unit: &u1},
		{Fingerprint: "d1:0", Kind: analysis.KindDescriptor, Title: "TCP client to h:1", Verdict: analysis.Leaking, Counts: numbers(0, 4, 8), Rise: 8, Unit: &u1},
		{Fingerprint: "g1:1", Kind: analysis.KindGoroutine, Title: "main.hold", Verdict: analysis.Stable, Counts: numbers(1, 1, 1), Role: "possible_culprit"},
	}
	s.Units = []report.Unit{{
		ID: "u1", Ratio: map[string]float64{"g1:0": 2, "d1:0": 1}, Counts: numbers(0, 4, 8), Members: numbers(0, 12, 24), Verdict: analysis.Leaking,
		Each: "2 goroutines, 1 descriptor", Text: "2 families rise together, 2:1; +8: 2 goroutines, 1 descriptor each time",
		Onset: &report.Onset{Windows: []report.Window{{From: r.Snapshots[0].ID, To: r.Snapshots[1].ID, Share: 1}}, Text: "began between t0 and t1"},
	}}
	s.Findings = []report.Finding{
		{Rank: 1, Verdict: analysis.Leaking, Title: "main.leak and 1 family that rises with it", Text: "app, t0 to t2: long.", Families: []string{"g1:0", "d1:0"}, Unit: "u1", Counts: numbers(0, 12, 24)},
		{Rank: 2, Kind: report.HolderFinding, Title: "What main.leak waits for may be held by main.hold", Text: "as told by the report.", Families: []string{"g1:1"}},
	}
	s.Bounds = []report.Bound{{What: "open files", Bound: 20, Used: 8, PerHour: &[3]float64{240, 200, 280}, HoursLeft: &[3]float64{.05, .04, .06}, Counts: []*float64{ptr(0), ptr(4), ptr(8)}}}
	return CaseInput{ID: "c", Report: r, More: []CaseMore{{
		Points: []trend.Point{{Section: trend.MayHold, Families: []string{"g1:1"}, Of: "g1:0", Why: []analysis.Evidence{{Rule: trend.RuleSuspect, Form: "same_creator", Names: []string{"main.serve"}}, {Rule: trend.RuleSuspect, Form: "came_before", At: new(1)}}}},
		Events: []trend.Event{{At: time.Date(2026, 11, 21, 3, 0, 30, 0, time.UTC), Kind: "deploy", Text: "build 7"}},
	}}}
}

func ptr(v float64) *float64 { return &v }

func TestAFindingAboutAUnitSpeaksOfInstances(t *testing.T) {
	f := NewCase(unitCase()).Findings[0]
	if d := cmp.Diff("2 goroutines, 1 descriptor each time", f.Each); d != "" {
		t.Error(d)
	}
	var facts []string
	for _, s := range f.Shares {
		facts = append(facts, s.Facts)
	}
	if d := cmp.Diff([]string{"2 each time, goroutines 0 → 16", "1 each time, descriptors 0 → 8"}, facts); d != "" {
		t.Error(d)
	}
}

func TestAUnitWhoseInstancesCannotBeCountedSpeaksOfMembers(t *testing.T) {
	in := unitCase()
	u := &in.Report.Series[0].Units[0]
	u.Each, u.Ratio["g1:0"] = "", 2.3
	c := NewCase(in)
	f := c.Findings[0]
	if f.Each != "" || f.Shares[0].Facts != "goroutines 0 → 16" || c.Units[0].Rise != "+24" {
		t.Errorf("an instance is told: %+v, unit %+v", f, c.Units[0])
	}
}

func TestAHolderIsAPossibleCulpritWithItsReasons(t *testing.T) {
	f := NewCase(unitCase()).Findings[1]
	if f.Verdict != "possible culprit" || len(f.Evidence) != 0 || f.Spark != nil {
		t.Errorf("finding is %+v", f)
	}
	if len(f.Shares) != 1 || f.Shares[0].Reason != "Was started by main.serve as well; does not grow, was not there before t1." {
		t.Errorf("holders are %+v", f.Shares)
	}
	if !strings.HasPrefix(f.Text, "Possible, not proven") {
		t.Errorf("text is %q", f.Text)
	}
	in := unitCase()
	in.More = nil
	if got := NewCase(in).Findings[1].Text; got != "as told by the report." {
		t.Errorf("without reasons the text is %q, want that of the report", got)
	}
}

func TestFamiliesOfAUnitStandBehindItsRow(t *testing.T) {
	c := NewCase(unitCase())
	if len(c.Units) != 1 || len(c.Units[0].Families) != 2 || len(c.Families) != 1 {
		t.Fatalf("%d units, %d families alone", len(c.Units), len(c.Families))
	}
	u := c.Units[0]
	if d := cmp.Diff([]string{"0", "4", "8"}, u.Counts); d != "" {
		t.Error(d)
	}
	if u.Rise != "+8" || u.Families[0].Each != "2" || c.Families[0].Role != "possible_culprit" {
		t.Errorf("unit is %+v, alone %+v", u, c.Families)
	}
}

func TestSmallChartsShowUnitsFirstWithOnsetAndEvents(t *testing.T) {
	c := NewCase(unitCase())
	if len(c.Minis) != 3 || c.Minis[0].Unit == "" || c.Minis[1].Unit != "" {
		t.Fatalf("charts are %+v", c.Minis)
	}
	if d := cmp.Diff(&chart.Span{From: 0, To: 1}, c.Minis[0].Chart.Onset); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]chart.Event{{At: 0, Part: .5, Text: "deploy build 7"}}, c.Minis[0].Chart.Events); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("2 goroutines, 1 descriptor each time, began t0 to t1", c.Minis[0].Note); d != "" {
		t.Error(d)
	}
}

func TestTheLegendNamesOnlyWhatIsDrawn(t *testing.T) {
	words := func(in CaseInput) (out []string) {
		for _, l := range NewCase(in).Legend {
			out = append(out, l.Text)
		}
		return out
	}
	if d := cmp.Diff([]string{"first snapshot"}, words(CaseInput{Report: oneSeries("a", analysis.Stable, "", 1, 2, 3)})); d != "" {
		t.Error(d)
	}
	in := CaseInput{Report: oneSeries("a", analysis.Leaking, "", 1, 9, 1)}
	f := &in.Report.Series[0].Families[0]
	f.RecoveredAt = &in.Report.Snapshots[2].ID
	f.Onset = &report.Onset{Windows: []report.Window{{From: in.Report.Snapshots[0].ID, To: in.Report.Snapshots[1].ID}}}
	if d := cmp.Diff([]string{"first snapshot", "growth began", "recovery"}, words(in)); d != "" {
		t.Error(d)
	}
}

func TestALimitSaysRateAndTimeLeftWithTheirIntervals(t *testing.T) {
	for _, tt := range []struct {
		name       string
		bound      report.Bound
		rate, left string
	}{
		{"a rising use", report.Bound{Bound: 100, Used: 50, PerHour: &[3]float64{10, 5, 20}, HoursLeft: &[3]float64{5, 2.5, 10}}, "+10 (+5 to +20)", "5\u00a0h (2\u00a0h\u00a030\u00a0min to 10\u00a0h)"},
		{"a rate that may be none", report.Bound{Bound: 100, Used: 50, PerHour: &[3]float64{10, -1, 20}}, "+10 (−1 to +20)", "5\u00a0h (2\u00a0h\u00a030\u00a0min at the earliest)"},
		{"no rate", report.Bound{Bound: 100, Used: 50, Text: "open files: 50 of 100 (50 %); the snapshots tell no rate"}, "n/a", "the snapshots tell no rate"},
		{"a flat use", report.Bound{Bound: 100, Used: 50, PerHour: &[3]float64{0, 0, 0}}, "+0 (+0 to +0)", "does not rise"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rate, left := rateAndLeft(&tt.bound)
			if d := cmp.Diff([]string{tt.rate, tt.left}, []string{rate, left}); d != "" {
				t.Error(d)
			}
		})
	}
	l := NewCase(unitCase()).Limits[0]
	if l.Used != "8" || l.Bound != "20" || l.Share != "40\u00a0%" || l.Chart.Limit != 20 || l.Chart.Max != 20 {
		t.Errorf("limit is %+v", l)
	}
}

func TestARestartIsMarkedInTables(t *testing.T) {
	in := CaseInput{Report: oneSeries("app", analysis.Leaking, "", 3, 162, 16)}
	in.Report.Snapshots[2].Epoch = 1
	c := NewCase(in)
	if c.Columns[2].Restart != "app" || c.Columns[1].Restart != "" {
		t.Errorf("columns are %+v", c.Columns)
	}
	if md := c.Page().Body.Markdown(); !strings.Contains(md, "t2 (restarted: app)") {
		t.Errorf("Markdown marks no restart:\n%s", md)
	}
}

// restarted is a family that rose to 162 and began again with 16.
func restarted() FamilyInput {
	start := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	in := FamilyInput{
		Process: "app", Family: report.Family{Kind: analysis.KindGoroutine, Title: "main.leak"},
		Judgement: analysis.Judgement{Verdict: analysis.Leaking, RecoveredAt: -1, Survivors: -1},
		Evidence: []report.Evidence{
			{Text: "rose by 159", Evidence: analysis.Evidence{Rule: "series"}}, {Text: "over 1 min: too short", Evidence: analysis.Evidence{Rule: "span"}},
			{Text: "one more snapshot", Evidence: analysis.Evidence{Rule: "decides"}}},
		Labels: []string{"t0", "t1", "t2"}, Counts: numbers(3, 162, 16), Epochs: []int{0, 0, 1}, Groups: make([]*analysis.Group, 3), SnapshotIndex: 2,
	}
	for i := range 3 {
		in.Times = append(in.Times, start.Add(time.Duration(i)*time.Minute))
	}
	for id := range int64(162) {
		first := 0
		if id >= 3 {
			first = 1
		}
		in.Lifelines = append(in.Lifelines, trend.Lifeline{Identity: analysis.Identity{ID: id}, First: first, Last: 1, Seen: 2 - first})
	}
	for id := range int64(16) {
		in.Lifelines = append(in.Lifelines, trend.Lifeline{Identity: analysis.Identity{ID: id}, First: 2, Last: 2, Seen: 1})
	}
	return in
}

func TestNothingIsCountedOverARestart(t *testing.T) {
	f := NewFamily(restarted())
	if d := cmp.Diff("app: 3 goroutines at t0, 162 at t1, restarted with 16 at t2.", f.Sentence); d != "" {
		t.Error(d)
	}
	for _, k := range f.Figures {
		if k.IsChange {
			t.Errorf("a change of %d %s is told over the restart", k.Delta, k.Text)
		}
	}
	if d := cmp.Diff([]chart.Bar{{Label: "t1", Count: 159}}, f.Births.Bars); d != "" {
		t.Error(d)
	}
	if want := "16 are of the process that was started before t2"; !strings.Contains(f.BirthNote, want) {
		t.Errorf("note %q lacks %q", f.BirthNote, want)
	}
	if md := f.Page().Body.Markdown(); !strings.Contains(md, "t2 (restarted)") {
		t.Errorf("Markdown marks no restart:\n%s", md)
	}
	in := restarted()
	in.SnapshotIndex = 1
	for _, k := range NewFamily(in).Figures {
		if k.IsChange && (k.Delta != 159 || k.Text != "since t0") {
			t.Errorf("change before the restart is %d %s", k.Delta, k.Text)
		}
	}
}

func TestEvidenceIsSortedByWhatItIsGoodFor(t *testing.T) {
	f := NewFamily(restarted())
	if len(f.Evidence) != 1 || f.Evidence[0].Name != "Series" {
		t.Errorf("reasons are %+v", f.Evidence)
	}
	if d := cmp.Diff([]string{"Over 1 min: too short."}, f.Cannot); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"One more snapshot."}, f.Decides); d != "" {
		t.Error(d)
	}
}

func TestVersionsAreTabledOnlyWhereThereAreTwo(t *testing.T) {
	in := restarted()
	in.Bisection = trend.Bisection{Rows: []trend.VersionRow{{Version: "1.2", Verdict: trend.Bad, Epochs: 1, Hours: 3, Rate: 40, PerUnit: math.NaN(), Below: math.NaN()}}}
	if f := NewFamily(in); f.Versions != nil {
		t.Error("one version is compared with nothing")
	}
	in.Bisection.Rows = append([]trend.VersionRow{{Version: "1.1", Verdict: trend.Good, Epochs: 2, Hours: 6, PerUnit: math.NaN(), Below: .5}}, in.Bisection.Rows...)
	in.Bisection.FirstBad = "1.2"
	in.Bisection.Rows[1].Mass = .97
	f := NewFamily(in)
	want := []VersionLine{
		{Version: "1.1", Rate: "+0", Exposure: "6\u00a0h in 2\u00a0process starts", Verdict: "good, below 0.5/h", Mark: "=", Share: "n/a"},
		{Version: "1.2", Rate: "+40", Exposure: "3\u00a0h in 1\u00a0process start", Verdict: "bad", Mark: "▲", Share: "97\u00a0%"},
	}
	if d := cmp.Diff(want, f.Versions.Rows); d != "" {
		t.Error(d)
	}
	if f.Versions.Text != "First bad version: 1.2." {
		t.Errorf("text is %q", f.Versions.Text)
	}
}

func TestBirthsPerHourNeedMoreThanOneHour(t *testing.T) {
	in := restarted()
	hour := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	in.Hours = []trend.Births{{Hour: hour, Born: 16}}
	if f := NewFamily(in); f.HourBars != nil || !strings.Contains(f.HourNote, "16 goroutines at t2 were born in the hour from 21 Nov 02:00") {
		t.Errorf("note is %q", f.HourNote)
	}
	in.Hours[0].Born = 1
	if f := NewFamily(in); !strings.Contains(f.HourNote, "1 goroutine at t2 was born in the hour from 21 Nov 02:00 on, by the snapshots that lack it.") {
		t.Errorf("note is %q", f.HourNote)
	}
	in.Hours = []trend.Births{{Hour: hour, Born: 6}, {Hour: hour.Add(time.Hour), Born: 10}}
	if d := cmp.Diff([]chart.Bar{{Label: "02:00", Count: 6}, {Label: "03:00", Count: 10}}, NewFamily(in).HourBars.Bars); d != "" {
		t.Error(d)
	}
}

func TestTheFrameThatTitlesAThreadIsMarked(t *testing.T) {
	for title, want := range map[string]string{
		"OkHttp http://<addr>/... · WebSocketReader.readHeader": "WebSocketReader.readHeader",
		"http-nio-N-exec-N · Scenario$7.run (blocked)":          "Scenario$7.run",
		"pool-N-thread-N · DelayedWorkQueue.take #b4a8ea":       "DelayedWorkQueue.take",
		"GC Thread#N": "",
	} {
		if got := threadTitle(title); got != want {
			t.Errorf("threadTitle(%q) is %q, want %q", title, got, want)
		}
	}
}

func TestJavaNamesAreSplitBehindTheirPackage(t *testing.T) {
	for full, want := range map[string][2]string{
		"java.lang.Thread.run":                           {"java.lang.", "Thread.run"},
		"okhttp3.internal.ws.WebSocketReader.readHeader": {"okhttp3.internal.ws.", "WebSocketReader.readHeader"},
		"net/http.(*persistConn).readLoop":               {"net/http.", "(*persistConn).readLoop"},
		"github.com/google/cadvisor/manager.(*x).Start":  {"github.com/google/cadvisor/manager.", "(*x).Start"},
		"Scenario$7.run":                                 {"", "Scenario$7.run"},
		"context.Background":                             {"context.", "Background"},
		"main.main.func1":                                {"main.", "main.func1"},
		"sync.(*Mutex).Lock":                             {"sync.", "(*Mutex).Lock"},
		"gopkg.in/yaml.v3.Unmarshal":                     {"gopkg.in/yaml.", "v3.Unmarshal"},
	} {
		path, name := document.FunctionName(full)
		if d := cmp.Diff(want, [2]string{path, name}); d != "" {
			t.Errorf("%s: %s", full, d)
		}
	}
}
