package chart

import (
	"testing"
)

func TestAStrokeMeetsTheBoxItRunsThrough(t *testing.T) {
	room := box{10, 10, 20, 20}
	tests := []struct {
		name string
		line segment
		want bool
	}{
		{"through the middle", segment{point{0, 0}, point{30, 30}}, true},
		{"from inside", segment{point{15, 15}, point{15, 90}}, true},
		{"past the corner", segment{point{0, 25}, point{25, 40}}, false},
		{"ending in front", segment{point{0, 15}, point{9, 15}}, false},
		{"upright beside it", segment{point{21, 0}, point{21, 90}}, false},
		{"upright through it", segment{point{12, 0}, point{12, 90}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.line.meets(room); got != test.want {
				t.Errorf("meets is %v, want %v", got, test.want)
			}
		})
	}
}

func TestFiguresStandClearOfLinesAndVerticals(t *testing.T) {
	for _, width := range []float64{1216, 358} {
		timeline := TimelineData{
			ID: "t", Labels: []string{"t0", "t1", "t2", "t3"}, A: 0, B: 2,
			Lanes: []Lane{{Name: "kubelet", Unit: "goroutines", Values: values(87, 115, 263, 87), RecoveredAt: 3}, {Name: "containerd", Unit: "goroutines", Values: values(28, 151, 357, 28), RecoveredAt: 3}},
		}
		d := timeline.draw(width)
		var verticals []float64
		for _, m := range d.marks {
			if m.shape == line && m.class == "c-ab" {
				verticals = append(verticals, m.x)
			}
		}
		if len(verticals) != 2 {
			t.Fatalf("at %g: %d verticals, want 2", width, len(verticals))
		}
		for _, m := range d.marks {
			if m.shape != text || m.anchor == "start" || m.text == "A" || m.text == "B" || m.text[0] == 't' {
				continue
			}
			half := textWidth(m.text) / 2
			if m.anchor == "end" {
				continue
			}
			for _, x := range verticals {
				if m.x-half < x && m.x+half > x {
					t.Errorf("at %g: %q stands on the vertical at %g", width, m.text, x)
				}
			}
		}
	}
}
