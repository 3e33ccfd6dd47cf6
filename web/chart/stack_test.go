package chart

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// stacked is a whole of two parts, of which the upper one grows.
func stacked(lower, upper analysis.Counts, times []time.Time) StackData {
	s := StackData{ID: "s", Title: "Parts", Unit: "goroutines", Times: times}
	for i := range lower {
		s.Labels = append(s.Labels, fmt.Sprint("t", i))
	}
	s.Layers = []Layer{{Name: "others", Full: "others", Course: "1", Values: lower, Rest: true}, {Name: "main.run", Full: "main.run", Course: "2", Values: upper, Grows: true}}
	return s
}

func TestAnAreaJoinsWhatMayBeJoined(t *testing.T) {
	even := clock(0, 1, 2, 3, 4)
	for _, tt := range []struct {
		name   string
		change func(*StackData)
		times  []time.Time
		want   [][]int
	}{
		{"neighbours", func(*StackData) {}, even, [][]int{{0, 1, 2, 3, 4}}},
		{"not over a restart", func(s *StackData) { s.Epochs = []int{3} }, even, [][]int{{0, 1, 2}, {3, 4}}},
		{"not over a gap", func(*StackData) {}, clock(0, 1, 2, 30, 31), [][]int{{0, 1, 2}, {3, 4}}},
		{"not over a snapshot without this kind", func(s *StackData) { s.Layers[0].Values[2], s.Layers[1].Values[2] = analysis.Count{}, analysis.Count{} }, even, [][]int{{0, 1}, {3, 4}}},
		{"not over one whose parts are not all known", func(s *StackData) { s.Layers[1].Values[2] = analysis.Count{} }, even, [][]int{{0, 1}, {3, 4}}},
		{"over a cut dump, which it leaves out", func(s *StackData) { s.Lower = []bool{false, false, true, false, false} }, even, [][]int{{0, 1, 3, 4}}},
		{"every dump is cut", func(s *StackData) { s.Lower = []bool{true, true, true, true, true} }, even, nil},
		{"nothing is known", func(s *StackData) { s.Layers = nil }, even, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := stacked(values(5, 5, 5, 5, 5), values(1, 2, 3, 4, 5), tt.times)
			tt.change(&s)
			if d := cmp.Diff(tt.want, s.runs()); d != "" {
				t.Error(d)
			}
		})
	}
}

// shapes counts the marks of a drawing by shape and class.
func shapes(d drawing, s shape, class string) int {
	n := 0
	for _, m := range d.marks {
		if m.shape == s && strings.HasPrefix(m.class, class) {
			n++
		}
	}
	return n
}

func TestAStackShowsGapsRestartsCutDumpsAndSingleSnapshots(t *testing.T) {
	s := stacked(values(5, 5, 5, 5, 5, 5), values(1, 2, 3, 4, 5, 6), clock(0, 1, 2, 30, 31, 32))
	s.Epochs, s.Lower, s.Totals = []int{5}, []bool{false, true, false, false, false, false}, values(6, 900, 8, 9, 10, 11)
	d := s.draw(1216)
	if n := shapes(d, polygon, "ly "); n != 3*2 {
		t.Errorf("%d areas, want one for each part of three runs", n)
	}
	html := render(t, Stack(s))
	for _, want := range []string{"28\u00a0min without a snapshot", "c-epoch", "restart before t5", "t1: ≥\u00a0900, the dump is cut", "url(#s-1216-h)", `role="img"`, "<desc", "≥\u00a02", "t5 (restarted)", "Figures as a table"} {
		if !strings.Contains(html, want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
}

func TestAStackWithoutFiguresSaysSo(t *testing.T) {
	s := stacked(values(-1, -1), values(-1, -1), nil)
	if html := render(t, Stack(s)); !strings.Contains(html, "no goroutines captured whose parts are known") || !strings.Contains(html, "not captured") {
		t.Errorf("nothing says that nothing is known: %s", html)
	}
}

func TestTheLayersOfAStackAreToScale(t *testing.T) {
	s := stacked(values(30, 30), values(10, 70), clock(0, 1))
	d := s.draw(1216)
	var heights []float64
	for _, m := range d.marks {
		if m.shape != polygon || !strings.HasPrefix(m.class, "ly ") {
			continue
		}
		heights = append(heights, m.points[2].y-m.points[1].y)
	}
	if len(heights) != 2 || heights[1] < 2.3*heights[0] || heights[1] > 2.4*heights[0] {
		t.Errorf("at t1 the parts are %v high, want 30 to 70", heights)
	}
}

func TestOneSnapshotIsABar(t *testing.T) {
	s := stacked(values(5), values(3), clock(0))
	if n := shapes(s.draw(1216), polygon, "ly "); n != 2 {
		t.Errorf("%d parts are drawn, want 2", n)
	}
}

func TestAHundredSnapshotsKeepTheirNamesApart(t *testing.T) {
	n := make([]int, 120)
	for i := range n {
		n[i] = i
	}
	s := stacked(values(n...), values(n...), nil)
	for _, w := range []float64{1216, 358} {
		var taken []point
		for _, m := range s.draw(w).marks {
			if m.shape != text || m.class != "c-t s" || !strings.HasPrefix(m.text, "t") {
				continue
			}
			half := textWidth(m.text) / 2
			for _, other := range taken {
				if m.x-half < other.y && m.x+half > other.x {
					t.Errorf("at %g the name %s meets another", w, m.text)
				}
			}
			taken = append(taken, point{m.x - half, m.x + half})
		}
		if len(taken) < 4 {
			t.Errorf("at %g only %d snapshots are named", w, len(taken))
		}
	}
}

func TestTheAreaOfABarIsTheNumberOfBirths(t *testing.T) {
	r := RatesData{ID: "r", Title: "Births", Unit: "per hour", Labels: []string{"t0", "t1", "t2"}, Times: clock(0, 10, 70), Max: 60,
		Bars: []Rate{{From: 0, To: 1, Born: 10, Each: 60}, {From: 1, To: 2, Born: 10, Each: 10}}}
	var areas []float64
	for _, m := range r.draw(272, 104).marks {
		if m.shape == rect && m.class == "c-bar" {
			areas = append(areas, (m.w+1)*m.h)
		}
	}
	if len(areas) != 2 || areas[0] < .95*areas[1] || areas[0] > 1.05*areas[1] {
		t.Errorf("ten births have the areas %v, want equal ones", areas)
	}
	html := render(t, Rates(r))
	for _, want := range []string{"t0 to t1: 10 born, 60 per hour", "Per hour", `role="img"`, "<desc"} {
		if !strings.Contains(html, want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
}
