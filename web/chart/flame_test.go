package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func call(name string, weight int, children ...FlameBox) FlameBox {
	return FlameBox{Name: "pkg.(*T)." + name, Bare: "(*T)." + name, Last: name, Told: "whole " + name, Figure: fmt.Sprint(weight), Weight: weight, Look: "f1", URL: "/zoom/" + name, Children: children}
}

func TestABoxIsAsWideAsItsShareAndHangsBelowItsCaller(t *testing.T) {
	d := FlameData{ID: "f", Root: call("all", 100, call("a", 75, call("b", 25)), call("c", 25))}.draw(1216)
	var got []string
	for _, m := range d.marks {
		got = append(got, fmt.Sprintf("%s at %g+%g row %g", m.full, m.x, m.w, m.y/boxStep))
	}
	want := []string{"whole all at 0+1215 row 0", "whole a at 0+911 row 1", "whole b at 0+303 row 2", "whole c at 912+303 row 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d.h != 3*boxStep {
		t.Errorf("the drawing is %g high, want three rows", d.h)
	}
}

func TestCallersStandAboveTheirFunction(t *testing.T) {
	up := call("f", 100, call("a", 75, call("b", 25)), call("c", 25))
	d := FlameData{ID: "f", Root: call("f", 100, call("g", 50)), Callers: &up}.draw(1216)
	var got []string
	for _, m := range d.marks {
		got = append(got, fmt.Sprintf("%s at %g+%g row %g", m.full, m.x, m.w, m.y/boxStep))
	}
	want := []string{"whole a at 0+911 row 1", "whole b at 0+303 row 0", "whole c at 912+303 row 1", "whole f at 0+1215 row 2", "whole g at 0+607 row 3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d.h != 4*boxStep {
		t.Errorf("the drawing is %g high, want four rows", d.h)
	}
}

func TestNarrowBoxesAreFoldedIntoOne(t *testing.T) {
	var children []FlameBox
	children = append(children, call("wide", 900))
	for i := range 100 {
		children = append(children, call(fmt.Sprint("s", i), 1))
	}
	root := call("all", 1000, children...)
	for _, w := range []float64{1216, 358} {
		d := FlameData{ID: "f", Root: root}.draw(w)
		if len(d.marks) != 3 {
			t.Fatalf("at %g %d boxes are drawn, want the root, the wide one and the rest", w, len(d.marks))
		}
		rest := d.marks[2]
		if !strings.HasPrefix(rest.full, "100 more below") || rest.frame.href != "/zoom/all" || rest.w < w/12 {
			t.Errorf("at %g the rest is %q, %g wide, to %s", w, rest.full, rest.w, rest.frame.href)
		}
	}
}

func TestWhatWasLeftOutCountsInTheRest(t *testing.T) {
	root := call("all", 100, call("a", 60))
	root.Left, root.LeftWeight = 7, 40
	d := FlameData{ID: "f", Root: root}.draw(1216)
	if last := d.marks[len(d.marks)-1]; last.text != "7 more" || last.w < 480 || last.w > 490 {
		t.Errorf("the rest is %q, %g wide, want 7 more on 40 %%", last.text, last.w)
	}
}

func TestANameGivesWayFromItsFront(t *testing.T) {
	b := FlameBox{Name: "kubelet.(*podWorkers).UpdatePod", Bare: "(*podWorkers).UpdatePod", Last: "UpdatePod", Figure: "▲+40"}
	for _, tt := range []struct {
		letters    int
		first      bool
		name, want string
	}{
		{40, false, "kubelet.(*podWorkers).UpdatePod", "▲+40"},
		{31, false, "(*podWorkers).UpdatePod", "▲+40"},
		{16, false, "UpdatePod", "▲+40"},
		{12, false, "UpdatePod", ""},
		{7, false, "Update…", ""},
		{2, false, "", ""},
		{12, true, "Updat…", "▲+40"},
		{8, true, "", "▲+40"},
		{3, true, "", ""},
	} {
		b.FigureFirst = tt.first
		name, fig := b.words(float64(tt.letters)*boxLetter + .1)
		if name != tt.name || fig != tt.want {
			t.Errorf("%d letters, figure first %v: %q and %q, want %q and %q", tt.letters, tt.first, name, fig, tt.name, tt.want)
		}
	}
}

func TestNothingHangsBelowABoxThatNoLetterFitsInto(t *testing.T) {
	root := call("all", 100, call("a", 93, call("b", 93)), call("thin", 7, call("below", 7, call("leaf", 7))))
	for w, want := range map[float64]string{1216: "all a b thin below leaf", 358: "all a b thin"} {
		var got []string
		for _, m := range (FlameData{ID: "f", Root: root}).draw(w).marks {
			got = append(got, strings.TrimPrefix(m.full, "whole "))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %g: %q, want %q", w, got, want)
		}
	}
}

func TestAGraphWithLinksIsAGroupAndOneWithoutAnImage(t *testing.T) {
	live := FlameData{ID: "f", Title: "<x>", Desc: "d", Root: call("all", 2, call("a", 2))}
	html := render(t, Flame(live))
	for _, want := range []string{`role="group"`, `<a class="fb f1" href="/zoom/a"><title>whole a</title>`, "&lt;x&gt;", "<desc"} {
		if !strings.Contains(html, want) {
			t.Errorf("the live graph lacks %q", want)
		}
	}
	kept := FlameData{ID: "f", Title: "x", Root: FlameBox{Name: "all", Weight: 1}}
	html = render(t, Flame(kept))
	if strings.Contains(html, "<a ") || !strings.Contains(html, `role="img"`) {
		t.Errorf("the kept graph has links or is no image: %s", html)
	}
}

func TestAChangeIsHatchedAndSigned(t *testing.T) {
	up, down := call("up", 3), call("down", 1)
	up.Look, up.Figure, down.Look, down.Figure = "up", "▲+3", "down", "▼−1"
	html := render(t, Flame(FlameData{ID: "f", Root: FlameBox{Name: "all", Weight: 4, Look: "up", Children: []FlameBox{up, down}}}))
	for _, want := range []string{`class="pt up" id="f-1216-up"`, `class="pt down" id="f-358-down"`, "url(#f-1216-down)", ">▲+3<", ">▼−1<", "rotate(45)", "rotate(-45)"} {
		if !strings.Contains(html, want) {
			t.Errorf("the graph lacks %q", want)
		}
	}
}

func TestAnEmptyGraphDrawsNothing(t *testing.T) {
	if d := (FlameData{ID: "f"}).draw(1216); len(d.marks) != 0 || d.h <= 0 {
		t.Errorf("%d marks on %g px", len(d.marks), d.h)
	}
}

// Whatever is uploaded, the drawing is well-formed, inside its frame, and no box
// reaches over its caller.
func TestFlameGraphsAreWellFormedWhateverTheyShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var make func(weight, depth int) FlameBox
		make = func(weight, depth int) FlameBox {
			b := call(rapid.StringMatching(`[a-z<>&"]{0,20}`).Draw(t, "name"), weight)
			for left := weight; depth > 0 && left > 0 && len(b.Children) < 5; {
				w := rapid.IntRange(0, left).Draw(t, "weight")
				b.Children, left = append(b.Children, make(w, depth-1)), left-w
			}
			return b
		}
		f := FlameData{ID: "f", Title: "&", Root: make(rapid.IntRange(0, 5000).Draw(t, "total"), 4)}
		for _, w := range []float64{1216, 358} {
			d := f.draw(w)
			for _, m := range d.marks {
				if m.x < 0 || m.x+m.w > w+.5 || m.y < 0 || m.y+m.h > d.h {
					t.Fatalf("a box lies at %g+%g, %g+%g outside %g x %g", m.x, m.w, m.y, m.h, w, d.h)
				}
			}
			parse := xml.NewDecoder(strings.NewReader(string(d.markup(nil))))
			for {
				if _, err := parse.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
