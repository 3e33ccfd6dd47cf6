package chart

import (
	"strings"
	"testing"
	"time"
)

func lines(d drawing, class string) (out []mark) {
	for _, m := range d.marks {
		if m.class == class {
			out = append(out, m)
		}
	}
	return out
}

func minutes(n int) []time.Time {
	out := make([]time.Time, n)
	for i := range out {
		out[i] = time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)
	}
	return out
}

func TestATimelineShadesTheOnsetAndSaysSo(t *testing.T) {
	lane := Lane{Name: "app", Unit: "goroutines", Values: values(1, 2, 30, 60), RecoveredAt: -1, Onset: &Span{From: 1, To: 2}, Events: []Event{{At: 1, Part: .5, Text: "version 1.1 to 1.2"}}}
	d := TimelineData{ID: "t", Labels: []string{"t0", "t1", "t2", "t3"}, Times: minutes(4), Lanes: []Lane{lane}, A: -1, B: -1}.draw(1216)
	if n := len(lines(d, "c-onset")); n != 1 {
		t.Errorf("%d onsets are shaded, want 1", n)
	}
	event := lines(d, "c-event")
	shade := lines(d, "c-onset")[0]
	if len(event) != 1 || event[0].x <= shade.x || event[0].x >= shade.x+shade.w {
		t.Errorf("the event stands at %+v, want it inside of %+v", event, shade)
	}
	for _, want := range []string{"growth began between t1 and t2", "version 1.1 to 1.2 between t1 and t2"} {
		if !strings.Contains(d.desc, want) {
			t.Errorf("description %q lacks %q", d.desc, want)
		}
	}
}

func TestALimitIsDrawnOnlyWhereItIsNear(t *testing.T) {
	for _, tt := range []struct {
		name        string
		limit, want int
	}{
		{"a limit just above", 128, 1}, {"a limit far away", 20000, 0}, {"a limit that was passed", 50, 1}, {"no limit", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lane := Lane{Name: "app", Unit: "descriptors", Values: values(10, 100), RecoveredAt: -1, Limit: tt.limit}
			d := TimelineData{ID: "t", Labels: []string{"t0", "t1"}, Lanes: []Lane{lane}, A: -1, B: -1}.draw(1216)
			if n := len(lines(d, "c-limit")); n != tt.want {
				t.Errorf("%d limits are drawn in a timeline, want %d", n, tt.want)
			}
			s := SmallData{ID: "s", Labels: []string{"t0", "t1"}, Values: values(10, 100), RecoveredAt: -1, Limit: tt.limit}
			s.Max = s.Top()
			if n := len(lines(s.draw(272, 104), "c-limit")); n != tt.want {
				t.Errorf("%d limits are drawn in a small chart, want %d", n, tt.want)
			}
		})
	}
}

func TestNoLineLeadsOverARestart(t *testing.T) {
	epochs := []int{3}
	for name, d := range map[string]drawing{
		"small chart": SmallData{ID: "s", Labels: []string{"t0", "t1", "t2", "t3"}, Values: values(1, 5, 9, 2), RecoveredAt: -1, Max: 9, Epochs: epochs}.draw(272, 104),
		"spark":       SparkData{ID: "p", Values: values(1, 5, 9, 2), A: -1, B: -1, Epochs: epochs}.draw(),
	} {
		t.Run(name, func(t *testing.T) {
			for _, m := range d.marks {
				if m.shape == polyline && len(m.points) != 3 {
					t.Errorf("a line has the points %v, want the three before the restart", m.points)
				}
			}
		})
	}
}

func TestLifelinesAreDrawnFromEveryCohort(t *testing.T) {
	l := LifelinesData{Labels: []string{"t0", "t1", "t2"}, RecoveredAt: -1}
	for i, n := range []int{3, 100, 200} {
		for range n {
			l.Lives = append(l.Lives, Life{First: i, Last: 2})
		}
	}
	drawn := map[int]int{}
	for _, life := range l.shown() {
		drawn[life.First]++
	}
	if len(l.shown()) > maxLives || drawn[0] == 0 || drawn[1] < 15 || drawn[2] < 30 {
		t.Errorf("drawn by cohort: %v of 3, 100 and 200", drawn)
	}
}
