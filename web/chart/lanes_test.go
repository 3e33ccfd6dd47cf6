package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// chain is a cause without counts, things that stay, and calls that came with them and ended.
func chain() LanesData {
	return LanesData{
		ID: "l", Title: "Who stayed", Labels: []string{"t0", "t1", "t2", "t3"},
		Lanes: []LifeLane{
			{Role: "likely cause, app", Figure: "1", Noun: "main.serve", Notes: []string{"starts them"}, URL: "#f-1", Cause: true, EndedAt: -1, GoneAt: -1},
			{Figure: "9", Noun: "sessions", Runs: []Run{{First: 0, Last: 3, N: 3}, {First: 1, Last: 1, N: 2}, {First: 2, Last: 3, N: 4}, {First: 3, Last: 3, N: 2}}, EndedAt: -1, GoneAt: -1},
			{Role: "db", Figure: "4", Noun: "calls", Runs: []Run{{First: 2, Last: 2, N: 4}}, EndedAt: 3, GoneAt: -1},
		},
		Totals: []LaneTotal{{Name: "Goroutines", Course: "20 → 29", Values: analysis.CountsOf(20, 22, 24, 29)}},
	}
}

// texts are the labels of a drawing in order.
func texts(d drawing) (out []string) {
	for _, m := range d.marks {
		if m.shape == text {
			out = append(out, m.text)
		}
	}
	return out
}

func TestLanesHaveALinePerMemberThatStayed(t *testing.T) {
	d := chain().draw(lanesWide)
	if n := len(lines(d, "lf thin")); n != 3+4 { // those that were seen once have no length
		t.Errorf("%d lines of sessions, want 7", n)
	}
	if n := len(lines(d, "lf")); n != 4 {
		t.Errorf("%d births of sessions are marked, want 4", n)
	}
	if n := len(lines(d, "lf soft")); n != 1 {
		t.Errorf("%d births of calls are marked, want 1", n)
	}
	if n := len(lines(d, "ln-arrow")); n != 1 {
		t.Errorf("%d arrows, want 1 where both came", n)
	}
	if want := "likely cause, app: 1 main.serve. 9 sessions: t0 3, t1 5, t2 7, t3 9. db: 4 calls: t0 0, t1 0, t2 4, t3 0. Goroutines: 20 → 29"; d.desc != want {
		t.Errorf("said: %s", d.desc)
	}
}

func TestLanesOfManyMembersHaveALineForSeveral(t *testing.T) {
	for n, want := range map[int]int{60: 1, 61: 2, 600: 10} {
		if got := (&LifeLane{Runs: []Run{{Last: 1, N: n}}}).perLine(); got != want {
			t.Errorf("%d members: a line is for %d, want %d", n, got, want)
		}
	}
}

func TestTheNameOfALaneLeadsToWhatIsSaidOfIt(t *testing.T) {
	d := chain().draw(lanesWide)
	svg := string(d.markup(nil))
	if !strings.Contains(svg, `<a href="#f-1"><text class="c-t ln-n"`) || !strings.Contains(svg, `main.serve</text></a>`) || !strings.Contains(svg, `role="group"`) {
		t.Error(svg)
	}
}

func TestAFileOfLanesLeadsNowhere(t *testing.T) {
	if svg := string(File(chain(), "")); strings.Contains(svg, "href") || !strings.Contains(svg, `role="img"`) {
		t.Error(svg)
	}
}

func TestLanesStayInTheirFrame(t *testing.T) {
	many := LanesData{ID: "l", Lanes: []LifeLane{{Figure: "10 000", Noun: strings.Repeat("goroutines of example.org/with/a/long.(*name).ofAFunction ", 3), EndedAt: 199, GoneAt: -1}}}
	for i := range 200 {
		many.Labels, many.Times = append(many.Labels, fmt.Sprint("t", i)), append(many.Times, time.Unix(int64(i), 0))
		many.Lanes[0].Runs = append(many.Lanes[0].Runs, Run{First: i, Last: 199, N: 50})
	}
	counts := chain()
	counts.Lanes[1].Runs, counts.Lanes[1].Values = nil, analysis.CountsOf(3, -1, 7, 9)
	for name, l := range map[string]LanesData{"a chain": chain(), "many": many, "counts": counts, "totals alone": {ID: "t", Labels: []string{"a", "b"}, Totals: chain().Totals}} {
		for _, w := range []float64{lanesWide, lanesNarrow} {
			d := l.draw(w)
			for _, m := range d.marks {
				for _, y := range []float64{m.y, m.y2} {
					if y < 0 || y > d.h {
						t.Errorf("%s at %g: a mark at %g of %g", name, w, y, d.h)
					}
				}
				if m.x > w || m.x2 > w {
					t.Errorf("%s at %g: a mark at %g, %g", name, w, m.x, m.x2)
				}
			}
		}
	}
}

func TestAProcessThatEndedHasABar(t *testing.T) {
	l := chain()
	l.Lanes = append([]LifeLane{{Role: "opener", Figure: "12", Noun: "connections", EndedAt: -1, GoneAt: 3}}, l.Lanes[1:]...)
	d := l.draw(lanesWide)
	if bars := lines(d, "ln-gone"); len(bars) != 1 || bars[0].x <= 0 {
		t.Errorf("%+v", bars)
	}
	if said := strings.Join(texts(d), "|"); !strings.Contains(said, "|ended|") {
		t.Error(said)
	}
}

func TestTextIsWrappedAtSpacesAndBeforeDots(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"24 pod starts", []string{"24 pod starts"}},
		{"49 goroutines in main.(*inbox).watchMail", []string{"49 goroutines in", "main.(*inbox)", ".watchMail"}},
		{"one two three four five six seven eight nine ten eleven twelve thirteen", []string{"one two three four", "five six seven eight", "nine ten eleven twe…"}},
		{"", nil},
	} {
		if got := wrapped(test.text, 20, 3); strings.Join(got, "|") != strings.Join(test.want, "|") {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestALineBeginsWithALinkToItsMember(t *testing.T) {
	born := func(n int) (out []Birth) {
		for i := range n {
			out = append(out, Birth{Name: fmt.Sprint("goroutine ", i), URL: fmt.Sprint("/members/", i)})
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		runs    []Run
		want    []string
		skipped int
	}{
		{"each member has its own", []Run{{First: 1, Last: 3, N: 2, Some: born(2)}, {First: 2, Last: 2, N: 1, Some: born(1)}}, []string{"goroutine 0, first seen at t1", "goroutine 1, first seen at t1", "goroutine 0, first seen at t2"}, 1},
		{"a line for several leads to one of them", []Run{{First: 0, Last: 3, N: 120, Some: born(2)}}, []string{"goroutine 0, first seen at t0", "goroutine 1, first seen at t0"}, 59},
		{"what is kept leads nowhere", []Run{{First: 1, Last: 3, N: 2}}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := chain()
			l.Lanes = l.Lanes[1:2]
			l.Lanes[0].URL, l.Lanes[0].Runs = "", tt.runs
			d := l.draw(lanesWide)
			var got []string
			skipped := 0
			for _, m := range d.marks {
				if m.shape != framed {
					continue
				}
				if len(got) == 0 || got[len(got)-1] != m.full {
					got = append(got, m.full)
				}
				if m.frame.skipped {
					skipped++
				}
			}
			if !slices.Equal(got, tt.want) || skipped != tt.skipped {
				t.Errorf("links %q, the Tab key passes over %d, want %q and %d", got, skipped, tt.want, tt.skipped)
			}
			if d.linked != (len(tt.want) > 0) {
				t.Errorf("that it has links is %v", d.linked)
			}
			text := string(d.markup(nil))
			if open, closed := strings.Count(text, "<g"), strings.Count(text, "</g>"); open != 1 || closed != 1 || !strings.Contains(text, `<g class="lane0">`) {
				t.Errorf("%d groups are opened and %d closed, want one for the lane", open, closed)
			}
		})
	}
}

func TestALaneCountsAsTheEvidenceDoes(t *testing.T) {
	for _, tc := range []struct {
		name         string
		runs         []Run
		counts, want []int
	}{
		{"the runs say the same", []Run{{First: 0, Last: 1, N: 3}, {First: 1, Last: 1, N: 2}}, []int{3, 5}, nil},
		{"two were in another state at first", []Run{{First: 0, Last: 1, N: 3}, {First: 1, Last: 1, N: 2}}, []int{1, 5}, []int{1, 5}},
		{"no member is known", nil, []int{1, 5}, []int{1, 5}},
	} {
		l := LifeLane{Runs: tc.runs}
		l.Count(analysis.CountsOf(tc.counts...))
		var got []int
		for _, n := range l.Values {
			got = append(got, n.N)
		}
		if !slices.Equal(got, tc.want) || l.alive(2)[1].N != 5 {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
