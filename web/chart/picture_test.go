package chart

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"testing"
	"time"
)

// decoded is a card as a reader of pictures sees it.
func decoded(t *testing.T, c Card) image.Image {
	t.Helper()
	b, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if out := os.Getenv("LEAKDIFF_PICTURE"); out != "" {
		os.WriteFile(out, b, 0o644)
	}
	got, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if size := got.Bounds().Size(); size != image.Pt(CardWidth, CardHeight) {
		t.Errorf("the picture is %v", size)
	}
	return got
}

// leaking are two lanes of a process that opens and one that holds.
func leaking() *LanesData {
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	return &LanesData{ID: "lanes", Labels: []string{"t0", "t1", "t2", "t3"}, Times: []time.Time{start, start.Add(time.Minute), start.Add(2 * time.Minute), start.Add(3 * time.Minute)},
		Lanes: []LifeLane{
			{Role: "likely cause, kubelet", Figure: "24", Noun: "pod starts", Cause: true, Runs: []Run{{First: 0, Last: 3, N: 6}, {First: 1, Last: 3, N: 9}, {First: 2, Last: 3, N: 9}}, EndedAt: -1, GoneAt: -1},
			{Role: "kubelet", Figure: "288", Noun: "goroutines in watch", Notes: []string{"72 \u2192 288"}, Runs: []Run{{First: 0, Last: 3, N: 72}, {First: 1, Last: 3, N: 108}, {First: 2, Last: 3, N: 108}}, EndedAt: -1, GoneAt: -1},
		},
		Totals: []LaneTotal{{Name: "Goroutines", Course: "380 \u2192 596", Values: values(380, 452, 530, 596)}},
	}
}

// count says how many pixels of a picture differ.
func differing(a, b image.Image) (n int) {
	for y := range CardHeight {
		for x := range CardWidth {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}

func TestACardShowsItsTitleItsSentenceAndItsLanes(t *testing.T) {
	full := decoded(t, Card{Title: "kubelet, 4 dumps", Text: "kubelet leaks 12 goroutines at each pod start.", Lanes: leaking()})
	for name, c := range map[string]Card{
		"without a title":    {Text: "kubelet leaks 12 goroutines at each pod start.", Lanes: leaking()},
		"without a sentence": {Title: "kubelet, 4 dumps", Lanes: leaking()},
		"without lanes":      {Title: "kubelet, 4 dumps", Text: "kubelet leaks 12 goroutines at each pod start."},
	} {
		if n := differing(full, decoded(t, c)); n < 1000 {
			t.Errorf("%s: %d pixels differ", name, n)
		}
	}
}

func TestABareDrawingShowsNoName(t *testing.T) {
	named, other := leaking(), leaking()
	other.Labels, other.Totals[0].Name = []string{"secret-0", "secret-1", "secret-2", "secret-3"}, "secret"
	for i := range other.Lanes {
		other.Lanes[i].Role, other.Lanes[i].Noun, other.Lanes[i].Notes = "secret role", "secret noun", []string{"secret note"}
	}
	if n := differing(decoded(t, Card{Lanes: named}), decoded(t, Card{Lanes: other})); n == 0 {
		t.Error("names make no difference to a drawing that has them")
	}
	a, b := named.Bare(), other.Bare()
	if n := differing(decoded(t, Card{Lanes: &a}), decoded(t, Card{Lanes: &b})); n > 0 {
		t.Errorf("%d pixels depend on names", n)
	}
}

func TestACardOfAnySizeHasAPicture(t *testing.T) {
	long := leaking()
	for range 12 {
		long.Lanes = append(long.Lanes, long.Lanes[1])
	}
	long.Lanes[0].Noun = string(bytes.Repeat([]byte("long"), 500))
	decoded(t, Card{Title: string(bytes.Repeat([]byte("title "), 400)), Text: string(bytes.Repeat([]byte("x"), 5000)), Lanes: long})
	decoded(t, Card{Text: "\x00\u202e\U0001F600", Lanes: &LanesData{Lanes: []LifeLane{{EndedAt: -1, GoneAt: -1}}}})
	decoded(t, Card{})
}

// Every class that the lanes of a picture use is drawn, or is meant not to be.
func TestEveryMarkOfLanesHasALookInAPicture(t *testing.T) {
	l := leaking()
	l.From, l.To = "t1", "t2"
	l.Lanes[0].EndedAt, l.Lanes[1].GoneAt = 2, 3
	l.Lanes = append(l.Lanes, LifeLane{Figure: "3", Noun: "mounts", Values: values(1, 2, 3, 3), EndedAt: -1, GoneAt: -1})
	d := l.draw(lanesWide)
	for i := range d.marks {
		switch m := &d.marks[i]; m.shape {
		case opening, closing, framed:
		default:
			if _, known := looks[m.look()]; !known && !m.hatched && m.class != "ln-hit" && m.class != "c-hatch" {
				t.Errorf("the class %q has no look", m.class)
			}
		}
	}
}
