package chart

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// cutLane is a rise whose third and last dump are cut.
func cutLane() Lane {
	return Lane{Name: "app", Unit: "goroutines", Values: values(161, 281, 175, 641, 255), Lower: []bool{false, false, true, false, true}, RecoveredAt: -1}
}

func TestALowerBoundStandsOffTheLine(t *testing.T) {
	lane := cutLane()
	labels := []string{"t0", "t1", "t2", "t3", "t4"}
	small := SmallData{ID: "s", Labels: labels, Values: lane.Values, Lower: lane.Lower, RecoveredAt: -1, Max: 641}
	spark := SparkData{ID: "p", Labels: labels, Values: lane.Values, Lower: lane.Lower, A: -1, B: -1}
	for name, d := range map[string]drawing{
		"timeline":    TimelineData{ID: "t", Labels: labels, Times: minutes(5), Lanes: []Lane{lane}, A: -1, B: -1}.draw(1216),
		"small chart": small.draw(272, 104),
		"members":     MembersData{ID: "m", Labels: labels, Values: lane.Values, Lower: lane.Lower, RecoveredAt: -1, A: -1, B: -1}.draw(700),
		"spark":       spark.draw(),
	} {
		t.Run(name, func(t *testing.T) {
			points, hollow := map[point]bool{}, 0
			for _, m := range d.marks {
				switch m.shape {
				case polyline:
					for _, p := range m.points {
						points[p] = true
					}
				case polygon:
					hollow++
					if strings.Contains(m.class, "full") {
						t.Errorf("the mark %q is filled", m.class)
					}
				}
			}
			if len(points) != 3 || hollow != 2 {
				t.Errorf("the line joins %d points and %d are hollow, want the 3 complete ones and 2", len(points), hollow)
			}
			if said := d.title + d.desc; !strings.Contains(said, "t2 at least 175") || !strings.Contains(said, "t4 at least 255") {
				t.Errorf("said is %q", said)
			}
		})
	}
}

func TestALowerBoundIsLabelledAsOne(t *testing.T) {
	d := TimelineData{ID: "t", Labels: []string{"t0", "t1", "t2", "t3", "t4"}, Lanes: []Lane{cutLane()}, A: 0, B: 3}
	var words []string
	for _, m := range d.draw(1216).marks {
		words = append(words, m.text)
	}
	for _, want := range []string{"≥\u00a0175", "≥\u00a0255", "161", "641"} {
		if !slices.Contains(words, want) {
			t.Errorf("labels %q lack %q", words, want)
		}
	}
	if row := d.table().Rows[0]; row[3] != "≥\u00a0175" || row[4] != "641" {
		t.Errorf("row is %q", row)
	}
}

func TestLowerBoundsAloneMakeNoLine(t *testing.T) {
	lane := Lane{Name: "app", Unit: "goroutines", Values: values(5, 9), Lower: []bool{true, true}, RecoveredAt: -1}
	d := TimelineData{ID: "t", Labels: []string{"t0", "t1"}, Lanes: []Lane{lane}, A: -1, B: -1}.draw(1216)
	for _, m := range d.marks {
		if m.shape == polyline || strings.Contains(m.text, "captured") {
			t.Errorf("drawn is %+v", m)
		}
	}
}

func TestAnEventIsNamedByTheSnapshotsAroundIt(t *testing.T) {
	labels := []string{"t4", "t5", "t6"}
	for _, tt := range []struct {
		name string
		e    Event
		want string
	}{
		{"at the time of a snapshot", Event{At: 1, Part: 0}, "at t5"},
		{"at the time of the next", Event{At: 0, Part: 1}, "at t5"},
		{"between two", Event{At: 0, Part: .2}, "between t4 and t5"},
		{"behind the last", Event{At: 2, Part: .5}, "after t6"},
		{"at the last", Event{At: 2}, "at t6"},
		{"at no column", Event{At: 7}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.e.When(labels); got != tt.want {
				t.Errorf("when is %q, want %q", got, tt.want)
			}
		})
	}
}

// crowded has all words that a timeline writes beside its figures, close together.
func crowded() TimelineData {
	times := make([]time.Time, 0, 15)
	for day := range 3 {
		for hour := range 5 {
			times = append(times, time.Date(2026, 5, 1+day, 9+hour, 0, 0, 0, time.UTC))
		}
	}
	labels := []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10", "t11", "t12", "t13", "t14"}
	lane := Lane{
		Name: "a process with a long name", Unit: "goroutines", RecoveredAt: -1, Epochs: []int{10}, Onset: &Span{From: 4, To: 5},
		Values: values(410, 410, 410, 410, 410, 530, 650, 770, 890, 1010, 530, 650, 770, 890, 1010),
		Events: []Event{{At: 5, Text: "version 1.0 to 1.1"}, {At: 9, Text: "deploy of build 7"}, {At: 13, Part: .5, Text: "version 1.1 to 1.2"}},
	}
	return TimelineData{ID: "t", Labels: labels, Times: times, Lanes: []Lane{lane, lane}, A: 0, B: 9}
}

func TestNoTextOfATimelineRunsIntoAnother(t *testing.T) {
	for _, width := range []float64{1216, 358} {
		d := crowded().draw(width)
		var boxes []box
		var words []string
		for _, m := range d.marks {
			if m.shape != text {
				continue
			}
			wide := textWidth(m.text)
			from := m.x
			switch m.anchor {
			case "middle":
				from -= wide / 2
			case "end":
				from -= wide
			}
			b := box{from, m.y - 9, from + wide, m.y + 1}
			for i, o := range boxes {
				if b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1 {
					t.Errorf("at %g: %q runs into %q", width, m.text, words[i])
				}
			}
			boxes, words = append(boxes, b), append(words, m.text)
		}
		if !slices.Contains(words, "restart") {
			t.Errorf("at %g: the restart is not written: %q", width, words)
		}
	}
}

func TestWhatALabelHasNoRoomForIsToldToWhoPointsAtIt(t *testing.T) {
	html := render(t, Timeline(crowded()))
	for _, want := range []string{"<title>a process with a long name</title>", "<title>version 1.0 to 1.1 at t5</title>", "<title>restart before t10</title>"} {
		if !strings.Contains(html, want) {
			t.Errorf("chart lacks %q", want)
		}
	}
}
