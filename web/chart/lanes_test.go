package chart

import (
	"fmt"
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
			{Figure: "9", Noun: "sessions", Runs: []Run{{0, 3, 3}, {1, 1, 2}, {2, 3, 4}, {3, 3, 2}}, EndedAt: -1, GoneAt: -1},
			{Role: "db", Figure: "4", Noun: "calls", Runs: []Run{{2, 2, 4}}, EndedAt: 3, GoneAt: -1},
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
		if got := (&LifeLane{Runs: []Run{{0, 1, n}}}).perLine(); got != want {
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
		many.Lanes[0].Runs = append(many.Lanes[0].Runs, Run{i, 199, 50})
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
