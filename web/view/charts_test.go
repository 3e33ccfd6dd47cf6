package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/web/chart"
)

// drawnCase is one process with the given totals and families of goroutines, whose
// charts are drawn.
func drawnCase(totals []int, families ...[]int) CaseInput {
	r := oneSeries("app", analysis.Leaking, "", totals...)
	s := &r.Series[0]
	s.Families = nil
	for i, counts := range families {
		s.Families = append(s.Families, report.Family{Fingerprint: fmt.Sprintf("g1:%02d", i), Kind: analysis.KindGoroutine, Title: fmt.Sprintf("main.f%d", i), Verdict: analysis.Stable, Counts: numbers(counts...)})
	}
	return CaseInput{ID: "c", Report: r, More: []CaseMore{{Drawn: &report.Drawn{}}}}
}

// layersOf are the parts of the first stack: "main.f1 5 6 7".
func layersOf(in CaseInput) []string {
	var out []string
	for _, l := range NewCase(in).Further.Processes[0].Stacks[0].Chart.Layers {
		line := l.Name
		for _, v := range l.Values {
			line += " " + orDash(v)
		}
		if l.Grows {
			line += " ▲"
		}
		out = append(out, line)
	}
	return out
}

func TestFamiliesThatRoseMostAreStackedOnTheOthers(t *testing.T) {
	in := drawnCase([]int{101, 121, 161}, []int{50, 50, 50}, []int{5, 15, 35}, []int{1, 1, 1}, []int{4, 14, 34}, []int{40, 40, 40})
	in.Report.Series[0].Families[1].Verdict = analysis.Leaking
	// f2 neither rises nor is large; the member that belongs to no family stands with it.
	want := []string{"others, 1\u00a0family 2 2 2", "main.f1 5 15 35 ▲", "main.f3 4 14 34", "main.f0 50 50 50", "main.f4 40 40 40"}
	if d := cmp.Diff(want, layersOf(in)); d != "" {
		t.Error(d)
	}
}

func TestNoMoreThanSevenFamiliesAreTold(t *testing.T) {
	var families [][]int
	sum := []int{0, 0}
	for i := range 30 {
		families = append(families, []int{10, 10 + i})
		sum[0], sum[1] = sum[0]+10, sum[1]+10+i
	}
	layers := layersOf(drawnCase(sum, families...))
	if len(layers) != 1+maxLayers || !strings.HasPrefix(layers[0], "others, 23\u00a0families") || !strings.HasPrefix(layers[1], "main.f29 ") {
		t.Errorf("the layers are %q", layers)
	}
}

func TestWhatWasNotCapturedOrNotListedHasNoParts(t *testing.T) {
	// t1 was not captured; at t2 the total is known and its families are not.
	in := drawnCase([]int{10, -1, 12, 14}, []int{4, -1, -1, 8})
	if d := cmp.Diff([]string{"in no family 6 – – 6", "main.f0 4 – – 8"}, layersOf(in)); d != "" {
		t.Error(d)
	}
	if NewCase(drawnCase([]int{-1, -1}, []int{-1, -1})).Further.Processes[0].Stacks != nil {
		t.Error("a process without any figure has a chart of it")
	}
}

func TestAFamilyThatDoesNotMoveIsDrawnAllTheSame(t *testing.T) {
	if d := cmp.Diff([]string{"main.f0 9 9 9"}, layersOf(drawnCase([]int{9, 9, 9}, []int{9, 9, 9}))); d != "" {
		t.Error(d)
	}
}

// The parts of every column add up to its total, whatever was captured.
func TestThePartsAddUpToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "n")
		var families [][]int
		totals := make([]int, n)
		for range rapid.IntRange(1, 12).Draw(t, "families") {
			counts := rapid.SliceOfN(rapid.IntRange(0, 1000), n, n).Draw(t, "counts")
			for i, c := range counts {
				totals[i] += c
			}
			families = append(families, counts)
		}
		for i := range totals {
			totals[i] += rapid.IntRange(0, 3).Draw(t, "in no family")
		}
		d := NewCase(drawnCase(totals, families...)).Further.Processes[0].Stacks[0].Chart
		for i := range totals {
			sum := 0
			for _, l := range d.Layers {
				sum += l.Values[i].N
			}
			if sum != totals[i] {
				t.Fatalf("at t%d the parts are %d, the whole %d", i, sum, totals[i])
			}
		}
	})
}

func TestAChartOfPartsExplainsItsMarks(t *testing.T) {
	in := drawnCase([]int{10, 20, 5, 15}, []int{1, 11, 1, 2})
	in.Report.Snapshots[1].LowerBound = true
	in.Report.Snapshots[2].Epoch, in.Report.Snapshots[3].Epoch = 1, 1
	st := NewCase(in).Further.Processes[0].Stacks[0]
	if d := cmp.Diff([]bool{false, true, false, false}, st.Chart.Lower); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{2}, st.Chart.Epochs); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"Dashed: restart.", "△: a cut dump, at least as many."} {
		if !strings.Contains(st.Note, want) {
			t.Errorf("the note %q lacks %q", st.Note, want)
		}
	}
	if got := st.Chart.Layers[1].Course; got != "1 → 2" {
		t.Errorf("the course is %q: the cut dump must not be in it", got)
	}
}

func TestStatesAreStackedWhereTheyWerePrinted(t *testing.T) {
	d := chart.StackData{Labels: []string{"t0", "t1", "t2", "t3"}, Totals: numbers(5, 6, 7, 0)}
	if !stackStates(&d, []map[string]int{{"select": 3, "IO wait": 1}, nil, {"select": 6, "": 1}, nil}) {
		t.Fatal("there are states to compare")
	}
	var got []string
	for _, l := range d.Layers {
		line := l.Name
		for _, v := range l.Values {
			line += " " + orDash(v)
		}
		got = append(got, line)
	}
	// t1 printed none (debug=1); t3 has no member.
	want := []string{"select 3 – 6 0", "no state 0 – 1 0", "IO wait 1 – 0 0", "without a printed state 1 – 0 0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if stackStates(&chart.StackData{Labels: []string{"t0"}, Totals: numbers(5)}, []map[string]int{{"select": 5}}) {
		t.Error("one state is nothing to compare")
	}
}

func TestBirthsAreRatesOfTheirInterval(t *testing.T) {
	in := drawnCase([]int{1, 11, 71}, []int{0, 10, 70})
	in.Report.Series[0].Families[0].Verdict = analysis.Leaking
	in.More[0].Drawn.Cohorts = map[string][]trend.Cohort{"g1:00": {{From: 0, To: 1, Born: 10}, {From: 1, To: 2, Born: 60}}}
	p := NewCase(in).Further.Processes[0]
	if len(p.Births) != 1 || p.BirthTitle != "Births per hour" {
		t.Fatalf("%d charts, titled %q", len(p.Births), p.BirthTitle)
	}
	// oneSeries takes a snapshot every minute.
	want := []chart.Rate{{From: 0, To: 1, Born: 10, Each: 600}, {From: 1, To: 2, Born: 60, Each: 3600}}
	if d := cmp.Diff(want, p.Births[0].Chart.Bars); d != "" {
		t.Error(d)
	}
	if p.Births[0].Chart.Max != 3600 || p.Births[0].Note != "70 born in 2\u00a0intervals" {
		t.Errorf("scale %g, note %q", p.Births[0].Chart.Max, p.Births[0].Note)
	}
	in.Report.Snapshots[1].CapturedAt = nil
	if p := NewCase(in).Further.Processes[0]; p.BirthTitle != "Births per snapshot" || p.Births[0].Chart.Bars[1].Each != 60 {
		t.Errorf("without times: %q, %v", p.BirthTitle, p.Births[0].Chart.Bars)
	}
	in.More[0].Drawn.Cohorts = nil
	if p := NewCase(in).Further.Processes[0]; !strings.Contains(p.BirthNote, "Nothing that grows can be followed") {
		t.Errorf("without identities: %q", p.BirthNote)
	}
}

func TestTimesThatDoNotAscendAreNoHours(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		times []time.Time
		want  bool
	}{{nil, false}, {[]time.Time{at}, true}, {[]time.Time{at, at.Add(1)}, true}, {[]time.Time{at, at}, false}, {[]time.Time{at, {}}, false}, {[]time.Time{at, at.Add(-1)}, false}} {
		if got := timed(tt.times); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.times, got, tt.want)
		}
	}
}

func TestAFrozenCaseKeepsItsChartsAndNoLink(t *testing.T) {
	in := drawnCase([]int{1, 11}, []int{0, 10})
	other := oneSeries("other", analysis.Stable, "", 5, 5)
	in.Report.Series = append(in.Report.Series, other.Series...)
	in.Report.Snapshots = append(in.Report.Snapshots, other.Snapshots...)
	if c := NewCase(in).Further; len(c.Links) != 1 || c.Links[0].URL != "/cases/c?charts=%2Fother#charts" {
		t.Errorf("the other process has the links %v", c.Links)
	}
	in.Frozen = true
	if c := NewCase(in).Further; len(c.Processes) != 1 || len(c.Links) != 0 {
		t.Errorf("kept: %d processes, links %v", len(c.Processes), c.Links)
	}
}
