package view

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/report"
	"leakdiff/web/chart"
)

// answeredCase is shortCase with a stack, a chain and members that are followed.
func answeredCase() CaseInput {
	in := shortCase()
	app := &in.Report.Series[0]
	f := &app.Findings[0]
	f.Stack = []report.StackFrame{{Function: "main.wait", File: "/x/main.go", Line: 9, Own: true}, {Function: "main.serve", File: "/x/main.go", Line: 3, Own: true, CreatedBy: true}}
	f.StackOf = &report.StackOf{Family: "g1:0", Kind: analysis.KindGoroutine, Snapshot: app.Snapshots[2], Members: 24, Of: 24}
	zero := 0
	in.Report.Diagnosis = report.Diagnosis{
		Sentence: "app started 24 sessions and none ended.", Verdict: analysis.Leaking, State: "leaking", Series: &zero, Finding: 1, Holder: "main.serve",
		Chain: []report.Link{
			{Figure: "1", Noun: "main.serve", Text: "starts them", Finding: 1},
			{Figure: "24", Noun: "sessions", Text: "0 to 24", Course: &report.Rise{Counts: []int{0, 24}}, Finding: 1},
			{Figure: "each", Noun: "2 goroutines", Finding: 1},
			{Figure: "9", Noun: "calls", Process: "db", Text: "0 to 9", Course: &report.Rise{Counts: []int{0, 9}}, Series: 1, Finding: 2},
		},
		Proved: "24 of 24", Proof: "24 of 24 started since t0 are still there at t2.", Since: "before the first dump, t0", Rate: "+12 a minute", Limit: "none near: 3 of 20 files",
		Growth: &report.Certainty{Word: "certain", Reason: "every goroutine tracked by id"}, Cause: &report.Certainty{Word: "likely", Reason: "main.serve starts them"},
		Next:   &report.Action{Text: "Stop each.", Command: "leakdiff collect --pid 12 --every 30s --count 5 -o app.tar.gz"},
		Also:   []string{"db: calls 0 to 9"},
		Claims: &report.Claims{N: 24, Top: 2, Last: 2, PerHour: 720, EndedAt: -1, RestartedAt: -1},
	}
	in.More = []CaseMore{{Lives: map[string][]report.Lives{"g1:0": {{First: 1, Last: 2, N: 12}, {First: 2, Last: 2, N: 12}}}}, {}}
	return in
}

func TestWhereItBeganIsACauseOnlyIfSomethingSaysSo(t *testing.T) {
	for word, want := range map[string]chart.LifeLane{
		"certain": {Role: "cause, app", Notes: []string{"starts them"}}, "likely": {Role: "likely cause, app", Notes: []string{"starts them"}}, "open": {Role: "starts them, app"},
	} {
		in := answeredCase()
		in.Report.Diagnosis.Cause.Word = word
		if got := NewCase(in).Answer.Lanes.Lanes[0]; got.Role != want.Role || !slices.Equal(got.Notes, want.Notes) || !got.Cause {
			t.Errorf("%s: %+v, want %+v", word, got, want)
		}
	}
}

func TestALaneMarksItsStackAndLeadsToItsMembers(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		in := answeredCase()
		in.Frozen = frozen
		in.More[0].Lives["g1:0"][0].Some = []analysis.Identity{{ID: 7}}
		c := NewCase(in)
		if got := c.Answer.Opened[0].Lane; got != "of0 of1" {
			t.Errorf("the stack belongs to the lanes %q, want those of its finding, of0 of1", got)
		}
		for _, f := range c.Families {
			if want := map[string]document.Look{"app g1:0": "of0 of1", "db g1:1": "of2"}[f.Process+" "+f.fingerprint]; f.Lane != want {
				t.Errorf("the row of %s belongs to %q, want %q", f.fingerprint, f.Lane, want)
			}
		}
		got, want := c.Answer.Lanes.Lanes[1].Runs[0].Some, []chart.Birth{{Name: "goroutine 7", URL: "/members/goroutine:7?case=" + in.ID + "&series=" + url.QueryEscape(seriesKeyOf(&in.Report.Series[0]))}}
		if frozen {
			want = nil
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("frozen %v: %s", frozen, d)
		}
	}
}

func TestTheAnswerIsMadeOfTheDiagnosis(t *testing.T) {
	a := NewCase(answeredCase()).Answer
	if a == nil {
		t.Fatal("there is none")
	}
	lanes := []chart.LifeLane{
		{Role: "likely cause, app", Figure: "1", Noun: "main.serve", Notes: []string{"starts them"}, URL: "#f-1", Cause: true, EndedAt: -1, GoneAt: -1},
		{Figure: "24", Noun: "sessions", Notes: []string{"0 → 24", "each keeps 2 goroutines"}, URL: "#f-1", Runs: []chart.Run{{First: 1, Last: 2, N: 12}, {First: 2, Last: 2, N: 12}}, EndedAt: -1, GoneAt: -1},
		{Role: "db", Figure: "9", Noun: "calls", Notes: []string{"0 → 9"}, URL: "#f-2", Values: numbers(0, 5, 9), EndedAt: -1, GoneAt: -1},
	}
	if d := cmp.Diff(lanes, a.Lanes.Lanes); d != "" {
		t.Error(d)
	}
	facts := []AnswerFact{
		{"Since", []Pair{{"before the first dump", ", t0"}}}, {"How fast", []Pair{{"+12 sessions a minute", ""}}}, {"Limit", []Pair{{"none near", ": 3 of 20 files"}}},
		{"How sure", []Pair{{"Growing: certain", ", every goroutine tracked by id"}, {"Cause: likely", ", main.serve starts them"}}},
	}
	if d := cmp.Diff(facts, a.Facts); d != "" {
		t.Error(d)
	}
	if a.Proved != "24 of 24" || a.Proof != "started since t0 are still there at t2." || len(a.Opened) != 1 || a.Opened[0].Stack == nil {
		t.Errorf("%+v", a)
	}
	if d := cmp.Diff([]AnswerChip{{"leaking", "leaking"}}, a.Chips); d != "" {
		t.Error(d)
	}
	if f := a.Fold(FoldFindings); f == nil || f.Title != "Also" || f.Inside != "2\u00a0findings" || f.Open {
		t.Errorf("findings: %+v", f)
	}
	if got := a.Do.Lines(); got != "leakdiff collect --pid 12 --every 30s \\\n  --count 5 -o app.tar.gz" {
		t.Errorf("command:\n%s", got)
	}
}

func TestDocumentsBeginWithTheAnswer(t *testing.T) {
	text := NewCase(answeredCase()).Page().Body.Markdown()
	at := 0
	for _, want := range []string{"# app started 24 sessions", "24 of 24 started", "- Since: before", "- How fast: +12 sessions a minute", "- Limit: none near", "- How sure: Growing: certain", "> main.wait", "Do this: Stop each.", "leakdiff collect --pid 12 --every 30s \\\n  --count 5", "## Findings"} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing or too early:\n%s", want, text)
		}
		at += i
	}
}

func TestWithoutALeakThereIsNoChainAndNothingToDo(t *testing.T) {
	in := answeredCase()
	in.Report.Series[0].Findings[0].Verdict = analysis.Scaling
	in.Report.Diagnosis.State = "no leak"
	a := NewCase(in).Answer
	if len(a.Lanes.Lanes) > 0 || a.Do != nil || a.Chips[0] != (AnswerChip{"stable", "no leak"}) || len(a.Facts) != 4 || len(a.Facts[3].Lines) != 1 {
		t.Errorf("%+v", a)
	}
}

// singleDump is a case of one dump with two groups.
func singleDump() CaseInput {
	in := CaseInput{ID: "c1", Report: oneSeries("app", analysis.TooFewPoints, "", 10)}
	wait := 8
	in.Report.Series[0].Families = []report.Family{
		{Fingerprint: "g1:0", Kind: analysis.KindGoroutine, Title: "main.a", Counts: numbers(2)},
		{Fingerprint: "g1:1", Kind: analysis.KindGoroutine, Title: "main.b", Counts: numbers(8), OldestWait: &wait},
	}
	in.Report.Diagnosis = in.Report.Diagnose(noun.Builtin())
	return in
}

func TestOneDumpShowsItsLargestGroups(t *testing.T) {
	a := NewCase(singleDump()).Answer
	if len(a.Groups) != 2 || a.Groups[0].Count != "8" || a.Groups[0].Oldest != "≥ 8\u00a0min" || a.Groups[1].Oldest != "n/a" {
		t.Errorf("groups: %+v", a.Groups)
	}
	if a.Do == nil || !strings.HasPrefix(a.Do.Command, "leakdiff collect ") || a.Proof != "One dump cannot say what grows." || a.Lanes != nil {
		t.Errorf("%+v", a)
	}
}

func TestADeadlockIsRedAndItsSecondLineSaysNothingOfGrowth(t *testing.T) {
	in := CaseInput{ID: "c1", Report: oneSeries("app", analysis.TooFewPoints, "", 10)}
	in.Report.Diagnosis = report.Diagnosis{Sentence: "Possible deadlock in app: goroutines 5 and 6 wait for each other.", Verdict: analysis.TooFewPoints, State: "deadlock"}
	if a := NewCase(in).Answer; a.Chips[0] != (AnswerChip{"leaking", "deadlock"}) || a.Proved+a.Proof != "" {
		t.Errorf("%+v, second line %q", a.Chips, a.Proved+a.Proof)
	}
}

func TestPartsOpenWhereTheAddressAsks(t *testing.T) {
	for query, want := range map[string][]string{
		"": nil, "open=findings": {FoldFindings}, "q=kind:goroutine": {FoldGroups}, "charts=1": nil,
		"open=all": {FoldFindings, FoldGroups, FoldTimeline, FoldFiles}, "open=objects,forms": {FoldGroups, FoldFiles}, "open=evidence": {FoldFindings},
	} {
		in := answeredCase()
		in.Query, _ = url.ParseQuery(query)
		var got []string
		for _, f := range NewCase(in).Answer.Folds {
			if f.Open {
				got = append(got, f.Key)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", query, d)
		}
	}
}

func TestAFrozenAnswerKeepsNoLinks(t *testing.T) {
	in := answeredCase()
	in.Frozen = true
	c := NewCase(in)
	if text := c.Page().Body.Text(); c.Answer == nil || strings.Contains(text, "Add files") {
		t.Errorf("%+v\n%s", c.Answer, text)
	}
}

func TestLifelinesAreThoseOfTheThing(t *testing.T) {
	for _, test := range []struct {
		name  string
		n     int
		lines int
	}{
		{"a group with as many members as the sentence says is drawn", 24, 2},
		{"one with fewer is another thing", 25, 0},
		{"one with more is another thing", 23, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := answeredCase()
			in.Report.Diagnosis.Chain[1].Course = &report.Rise{Counts: []int{0, test.n}}
			if drawn := len(NewCase(in).Answer.Lanes.Lanes[1].Runs); drawn != test.lines {
				t.Errorf("%d lines, want %d", drawn, test.lines)
			}
		})
	}
}

func TestGroupsOfReplicasNameTheirHosts(t *testing.T) {
	in := CaseInput{ID: "c1", Report: oneSeries("srv", analysis.TooFewPoints, "", 10)}
	in.Report.Series = append(in.Report.Series, in.Report.Series[0])
	for i, host := range []string{"web-0", "web-1"} {
		in.Report.Series[i].Host = &host
		in.Report.Series[i].Families = []report.Family{{Fingerprint: "g1:0", Kind: analysis.KindGoroutine, Title: "main.a", Counts: numbers(9 - i)}}
	}
	in.More = []CaseMore{{}, {}}
	in.Report.Diagnosis = in.Report.Diagnose(noun.Builtin())
	if got := NewCase(in).Answer.Groups; len(got) != 2 || got[0].Process != "srv on web-0" || got[1].Process != "srv on web-1" {
		t.Errorf("%+v", got)
	}
}

func TestTotalsAreDrawnOfCapturesThatAreNotJudged(t *testing.T) {
	in := answeredCase()
	app := &in.Report.Series[0]
	app.Captures = append([]string{app.Snapshots[0], "between"}, app.Snapshots[1:]...)
	between := in.Report.Snapshots[0]
	total := 77
	between.ID, between.Label, between.Totals.Goroutines = "between", "b", &total
	in.Report.Snapshots = append(in.Report.Snapshots, between)
	in.Report.Series, in.Report.Diagnosis.Chain = in.Report.Series[:1], nil
	drawn := NewCase(in).Answer.Lanes
	if about := NewCase(in).Answer.About; !strings.Contains(about, "4\u00a0dumps") || !strings.HasSuffix(about, "3 judged") {
		t.Errorf("about is %q", about)
	}
	if values := drawn.Totals[0].Values; len(values) != len(app.Snapshots)+1 || values[1] != analysis.Counted(total) || drawn.Labels[1] != "b" {
		t.Errorf("drawn are %v at %q", values, drawn.Labels)
	}
}

func TestALevelTotalIsDrawnOnlyWhereNothingMoved(t *testing.T) {
	names := func(goroutines, files [3]int) (out []string) {
		in := answeredCase()
		in.Report.Series, in.Report.Diagnosis.Chain = in.Report.Series[:1], nil
		for i, id := range in.Report.Series[0].Snapshots {
			for k := range in.Report.Snapshots {
				if s := &in.Report.Snapshots[k]; s.ID == id {
					s.Totals = analysis.Totals{Goroutines: &goroutines[i], Descriptors: &files[i]}
				}
			}
		}
		for _, total := range NewCase(in).Answer.Lanes.Totals {
			out = append(out, total.Name+" "+total.Course)
		}
		return out
	}
	if d := cmp.Diff([]string{"Goroutines 40", "Descriptors 7"}, names([3]int{40, 40, 40}, [3]int{7, 7, 7})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"Descriptors 7 → 9"}, names([3]int{40, 40, 40}, [3]int{7, 7, 9})); d != "" {
		t.Error(d)
	}
}

func TestOneOfThoseThatHangStandsBesideTheAnswer(t *testing.T) {
	for state, want := range map[report.State]int{report.Saturated: 1, report.Deadlock: 1, report.NoLeakSeen: 0} {
		in := answeredCase()
		in.Report.Series[0].PoolWait = &report.PoolWait{Kind: analysis.KindGoroutine, N: 30, Captures: 3, Stacks: []report.MemberStack{{Who: "goroutine 22", Stack: []report.StackFrame{{Function: "main.place"}}}}}
		in.Report.Diagnosis = report.Diagnosis{Sentence: "app: 30 goroutines wait for a connection.", State: string(state)}
		if got := NewCase(in).Answer.Stacks; len(got) != want {
			t.Errorf("%s: %d stacks, want %d", state, len(got), want)
		}
	}
}

func TestAGaugeThatMovedStandsAmongTheTotals(t *testing.T) {
	for name, c := range map[string]struct {
		last float64
		want []string
	}{"by more than a quarter": {101, []string{"Memory, MiB 80 → 101"}}, "by a quarter": {100, nil}} {
		in := answeredCase()
		first := 80.0
		in.Report.Series[0].Gauges = []report.Gauge{{Name: "process_resident_memory_bytes", Unit: "MiB", Values: []*float64{&first, nil, &c.last}}}
		var got []string
		for _, total := range NewCase(in).Answer.Lanes.Totals {
			if strings.Contains(total.Name, "emory") {
				got = append(got, strings.TrimPrefix(total.Name, "app, ")+" "+total.Course)
			}
		}
		if len(got) != len(c.want) || len(got) > 0 && !strings.EqualFold(got[0], c.want[0]) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestProcessesThatShareALimitHaveALaneEach(t *testing.T) {
	in := answeredCase()
	d := &in.Report.Diagnosis
	d.Chain, d.Together = nil, []report.FindingRef{{Series: 0, Rank: in.Report.Series[0].Findings[0].Rank}, {Series: 1, Rank: in.Report.Series[1].Findings[0].Rank}}
	d.Claims.N, d.Claims.Many = 33, "things"
	in.Report.Series[0].Findings[0].Counts, in.Report.Series[1].Findings[0].Counts = analysis.CountsOf(0, 12, 24), analysis.CountsOf(0, 9)
	a := NewCase(in).Answer
	var got []string
	for _, l := range a.Lanes.Lanes {
		got = append(got, l.Role+": "+l.Figure+" "+l.Noun)
	}
	if want := []string{"app: 24 things", "db: 9 things"}; !slices.Equal(got, want) || !a.Lanes.Alike || a.Known != nil {
		t.Errorf("lanes %q, want %q; alike %v, known %v", got, want, a.Lanes.Alike, a.Known)
	}
}

func TestGroupsOfWhichNoneWaitsHaveNoColumnOfWaits(t *testing.T) {
	for _, waits := range []bool{false, true} {
		a := Answer{Groups: []AnswerGroup{{Count: "3", Oldest: "n/a"}, {Count: "2", Oldest: "≥ 8 min", Waits: waits}}}
		table := a.groups()[0].(document.Table)
		want := 3
		if waits {
			want = 4
		}
		if cells := len(table.Parts[0].Rows[0].Cells); len(table.Head) != want || cells != want {
			t.Errorf("waits %t: %d heads over %d cells, want %d", waits, len(table.Head), cells, want)
		}
	}
}
