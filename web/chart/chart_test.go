package chart

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

func values(n ...int) analysis.Counts { return analysis.CountsOf(n...) }

func clock(minutes ...float64) []time.Time {
	start := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	out := make([]time.Time, len(minutes))
	for i, m := range minutes {
		if m >= 0 {
			out[i] = start.Add(time.Duration(m * float64(time.Minute)))
		}
	}
	return out
}

func TestGapsAreIntervalsOverThreeTimesTheMedian(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times []time.Time
		want  []Gap
	}{
		{"even captures have none", clock(0, 1, 2, 3), nil},
		{"the long interval of a hung collection is one", clock(0, 0.5, 5.5, 6, 6.5), []Gap{{At: 2, Duration: 5 * time.Minute}}},
		{"exactly three times the median is none", clock(0, 1, 2, 3, 6), nil},
		{"two intervals have no usual length", clock(0, 1, 60), nil},
		{"untimed snapshots bound no interval", clock(0, 1, 2, -1, 60, 61), nil},
		{"no snapshot, no gap", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Gaps(tt.times, nil)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTheAxisPlacesColumns(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times []time.Time
		want  []float64
	}{
		{"by time where all have one", clock(0, 1, 4), []float64{0, 25, 100}},
		{"evenly where none has one", clock(-1, -1, -1), []float64{0, 50, 100}},
		{"an untimed one between its neighbours", clock(0, -1, 4), []float64{0, 50, 100}},
		{"an untimed end one mean interval further", clock(0, 1, -1), []float64{0, 50, 100}},
		{"evenly where times run backwards", clock(4, 1, 0), []float64{0, 50, 100}},
		{"one alone in the middle", clock(3), []float64{50}},
		{"all at one instant evenly", clock(2, 2, 2), []float64{0, 50, 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, newAxis(len(tt.times), tt.times, nil, 0, 100).x); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAGapOfDaysLeavesRoomForTheEvidence(t *testing.T) {
	a := newAxis(6, clock(0, 1, 2, 10000, 10001, 10002), nil, 0, 100)
	if !a.cut {
		t.Fatal("the axis does not say that it is not to scale")
	}
	if width := a.x[3] - a.x[2]; width < 49 || width > 51 {
		t.Errorf("the gap takes %.1f %% of the width, want half", width)
	}
}

func TestColumnsNeverRunBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := rapid.SliceOfN(rapid.Float64Range(-1, 1e6), 1, 40).Draw(t, "minutes")
		a := newAxis(len(minutes), clock(minutes...), nil, 10, 350)
		for i, x := range a.x {
			if !(x >= 9.99 && x <= 350.01) {
				t.Fatalf("column %d at %v is outside 10..350", i, x)
			}
			if i > 0 && x < a.x[i-1] {
				t.Fatalf("column %d at %v lies before column %d at %v", i, x, i-1, a.x[i-1])
			}
		}
	})
}

func render(t testing.TB, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sampleTimeline() TimelineData {
	return TimelineData{
		ID: "tl", Title: "Totals", Labels: []string{"t0", "t1", "t2", "t3", "t4"}, Times: clock(0, 0.5, 5.5, 6, 6.5), A: 0, B: 3,
		Lanes: []Lane{
			{Name: "kubelet", Unit: "goroutines", Values: values(87, 115, 140, 263, 87), RecoveredAt: 4},
			{Name: "containerd", Unit: "goroutines", Values: values(28, -1, 192, 357, 28), RecoveredAt: -1, Epochs: []int{4}},
		},
	}
}

func TestATimelineShowsItsFiguresGapsRestartsAndPicks(t *testing.T) {
	html := render(t, Timeline(sampleTimeline()))
	for _, want := range []string{
		">263<", ">357<", "5\u00a0min without a snapshot", "no snapshot for 5\u00a0min", "restart", ">A<", ">B<", "c-rec", `stroke-dasharray="2 5"`,
		"kubelet, goroutines: t0 87, t1 115, t2 140, t3 263, t4 87", "Figures as a table", "not captured",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("chart lacks %q", want)
		}
	}
	if n := strings.Count(html, "<svg"); n != 2 {
		t.Errorf("chart is drawn %d times, want wide and narrow", n)
	}
}

func TestALineStopsAtARestart(t *testing.T) {
	d := TimelineData{ID: "x", Labels: []string{"a", "b", "c", "d"}, A: -1, B: -1, Lanes: []Lane{{Values: values(1, 2, 3, 4), Epochs: []int{2}, RecoveredAt: -1}}}.draw(1216)
	lines := 0
	for _, m := range d.marks {
		if m.shape == polyline {
			lines++
			if n := len(m.points); n != 2 {
				t.Errorf("a line joins %d points, want 2", n)
			}
		}
	}
	if lines != 2 {
		t.Errorf("%d lines are drawn, want one for each epoch", lines)
	}
}

func TestLanesOfATimelineShareOneScale(t *testing.T) {
	tl := TimelineData{ID: "x", Labels: []string{"a", "b"}, A: -1, B: -1, Lanes: []Lane{{Values: values(0, 100), RecoveredAt: -1}, {Values: values(0, 50), RecoveredAt: -1}}}
	d := tl.draw(1216)
	var rises []float64
	for _, m := range d.marks {
		if m.shape == polyline {
			rises = append(rises, m.points[0].y-m.points[1].y)
		}
	}
	if len(rises) != 2 || rises[0] < 1.99*rises[1] || rises[0] > 2.01*rises[1] {
		t.Errorf("rises are %v, want the first twice the second", rises)
	}
}

func TestLifelinesAreBoundedAndSaySo(t *testing.T) {
	l := LifelinesData{ID: "l", Title: "Lives", Labels: []string{"t0", "t1"}, Values: values(0, 75), RecoveredAt: -1}
	for i := range 75 {
		l.Lives = append(l.Lives, Life{Name: fmt.Sprint(i), First: 1, Last: 1})
	}
	html := render(t, Lifelines(l))
	for _, want := range []string{"60 of 75 members, some of every cohort; 15 are not drawn", "75 members, 75 first seen at t1", ">75<"} {
		if !strings.Contains(html, want) {
			t.Errorf("chart lacks %q", want)
		}
	}
	if n := strings.Count(html, `class="lfd"`); n != 2*60 {
		t.Errorf("%d dots are drawn, want 60 in each of two drawings", n)
	}
}

func TestTheSummaryBarIsToScale(t *testing.T) {
	d := SummaryData{ID: "s", Ended: 25, Survived: 50, Born: 25}.draw(400)
	var got []float64
	for _, m := range d.marks {
		got = append(got, m.x)
	}
	if diff := cmp.Diff([]float64{0, 100, 300}, got); diff != "" {
		t.Error(diff)
	}
	if d.title != "25 ended, 50 survived, 25 born" {
		t.Errorf("title is %q", d.title)
	}
}

func TestASparkWithoutEvidenceSaysSo(t *testing.T) {
	html := render(t, Spark(SparkData{ID: "s", Labels: []string{"t0"}, Values: values(-1), A: 0, B: 0}))
	if !strings.Contains(html, "not captured") {
		t.Errorf("spark is %s", html)
	}
}

// Whatever is drawn is well-formed, escaped and holds finite numbers.
func TestDrawingsAreWellFormedWhateverTheyShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		series := func(name string) analysis.Counts {
			return values(rapid.SliceOfN(rapid.IntRange(-1, 2_000_000), 0, n+2).Draw(t, name)...)
		}
		labels := rapid.SliceOfN(rapid.StringMatching(`[a-z<>&"]{0,30}`), n, n).Draw(t, "labels")
		times := clock(rapid.SliceOfN(rapid.Float64Range(-1, 1e5), n, n).Draw(t, "times")...)
		pick := rapid.IntRange(-1, 40)
		lane := Lane{Name: "<b>", Unit: "goroutines", Values: series("lane"), Epochs: []int{pick.Draw(t, "epoch")}, RecoveredAt: pick.Draw(t, "recovered")}
		life := LifelinesData{ID: "l", Title: "<i>", Labels: labels, Values: series("life"), Lives: []Life{{"1", pick.Draw(t, "first"), pick.Draw(t, "last")}}, RecoveredAt: pick.Draw(t, "r")}
		for name, c := range map[string]templ.Component{
			"timeline":  Timeline(TimelineData{ID: "tl", Title: "&", Labels: labels, Times: times, Lanes: []Lane{lane}, A: pick.Draw(t, "a"), B: pick.Draw(t, "b")}),
			"spark":     Spark(SparkData{ID: "s", Labels: labels, Values: lane.Values, A: pick.Draw(t, "a"), B: pick.Draw(t, "b")}),
			"small":     SmallMultiple(SmallData{ID: "m", Title: "<", Labels: labels, Times: times, Values: lane.Values, RecoveredAt: pick.Draw(t, "r"), Max: 7}),
			"members":   Members(MembersData{ID: "e", Title: "<", Labels: labels, Times: times, Values: lane.Values, RecoveredAt: pick.Draw(t, "r")}),
			"lifelines": Lifelines(life),
		} {
			var b bytes.Buffer
			if err := c.Render(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
			html := b.String()
			for _, no := range []string{"NaN", "Inf", "<b>", "<i>"} {
				if strings.Contains(html, no) {
					t.Fatalf("%s has %s", name, no)
				}
			}
			parse := xml.NewDecoder(strings.NewReader("<all>" + html + "</all>"))
			parse.Strict = true
			parse.Entity = xml.HTMLEntity
			for {
				_, err := parse.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v in %s", name, err, html)
				}
			}
		}
	})
}

func TestTextIsWrittenAsTheStandardLibraryEscapesIt(t *testing.T) {
	for _, s := range []string{"", "main.run", `<a href="x">'&'</a>`, "&&&", "a&b", "◍ <ü>", "\x00\xff<"} {
		if got, want := string(AppendText([]byte("x"), s)), "x"+html.EscapeString(s); got != want {
			t.Errorf("%q gives %q, want %q", s, got, want)
		}
	}
}

func TestCoordinatesAreWrittenToATenth(t *testing.T) {
	for _, v := range []float64{0, 4, 12.345, 0.96, 0.04, -0.06, -3.25, -12, 1e6 + .1, 1e17, 99.95} {
		if got, want := num(v), strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64); got != want {
			t.Errorf("%v gives %q, want %q", v, got, want)
		}
	}
	if got := num(-0.01); got != "0" {
		t.Errorf("what rounds to nothing gives %q", got)
	}
}

func TestAChoiceOfCapturesMakesNoGap(t *testing.T) {
	taken := clock(0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 21, 22, 23)
	columns := clock(0, 4, 8, 20, 21, 22, 23)
	want := []Gap{{At: 3, Duration: 12 * time.Minute}}
	if d := cmp.Diff(want, Gaps(columns, taken)); d != "" {
		t.Error(d)
	}
	if got := Gaps(columns[:3], taken[:9]); len(got) > 0 {
		t.Errorf("captures lie between: %v", got)
	}
	chosen := MembersData{ID: "m", Labels: []string{"t0", "t4", "t8", "t9"}, Times: columns[:4], Taken: taken, Values: values(1, 2, 3, 4), RecoveredAt: -1, A: -1, B: -1}
	if svg := render(t, Members(chosen)); strings.Count(svg, "12\u00a0min without a snapshot") != 1 || strings.Contains(svg, "4\u00a0min without") {
		t.Errorf("the chart of members: %s", svg)
	}
	for i, want := range []float64{0, 0.25, 1} {
		if got := placed(i, 3, []int{0, 2, 8}); got != want {
			t.Errorf("column %d of three of nine captures stands at %g, want %g", i, got, want)
		}
	}
	if got := placed(1, 3, nil); got != 0.5 {
		t.Errorf("the middle of three captures stands at %g", got)
	}
}
