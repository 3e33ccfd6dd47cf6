package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// stack reads "leaf:12 outer:34 <creator:5", file x.go throughout.
func stack(text string) *analysis.Stack {
	s := &analysis.Stack{}
	for _, word := range strings.Fields(text) {
		name, isCreator := strings.CutPrefix(word, "<")
		frame := analysis.Frame{Func: name, File: "/src/x.go"}
		if function, line, ok := strings.Cut(name, ":"); ok {
			frame.Func = function
			fmt.Sscan(line, &frame.Line)
		}
		if isCreator {
			s.CreatedBy = frame
		} else {
			s.Frames = append(s.Frames, frame)
		}
	}
	return s
}

// drawing writes pairs as "= x", one word pair each.
func drawing(pairs []Pair) []string {
	var out []string
	for _, p := range pairs {
		frame := p.A
		if frame == nil {
			frame = p.B
		}
		out = append(out, p.Mark+" "+frame.Func)
	}
	return out
}

func TestAlign(t *testing.T) {
	tests := []struct {
		name string
		a, b *analysis.Stack
		want []string
	}{
		{"equal stacks", stack("park:1 select:2 run:3 <start:4"), stack("park:1 select:2 run:3 <start:4"),
			[]string{"= park", "= select", "= run", "= start"}},
		{"one stack goes deeper from the same frame", stack("wait:1 loop:20 func1:30 <UpdatePod:40"), stack("header:1 invoke:2 sandbox:3 loop:24 func1:30 <UpdatePod:40"),
			[]string{"- wait", "+ header", "+ invoke", "+ sandbox", "~ loop", "= func1", "= UpdatePod"}},
		{"a frame in between", stack("leaf mid outer"), stack("leaf outer"), []string{"= leaf", "- mid", "= outer"}},
		{"recursion is anchored at the outermost frame", stack("walk main"), stack("walk walk walk main"),
			[]string{"+ walk", "+ walk", "= walk", "= main"}},
		{"a crossing keeps one of the two", stack("x y main"), stack("y x main"), []string{"- x", "= y", "+ x", "= main"}},
		{"nothing in common", stack("a b"), stack("c"), []string{"- a", "- b", "+ c"}},
		{"other creators", stack("run:1 <one:2"), stack("run:1 <two:2"), []string{"= run", "- one", "+ two"}},
		{"a creator on one side", stack("run:1"), stack("run:1 <two:2"), []string{"= run", "+ two"}},
		{"no stack on one side", nil, stack("run:1 <start:2"), []string{"+ run", "+ start"}},
		{"no stack at all", nil, nil, nil},
		{"an unknown line is the same line", stack("run:0"), stack("run:7"), []string{"= run"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, drawing(Align(tc.a, tc.b))); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheDirectoryOfAFileIsNoOtherLine(t *testing.T) {
	frame := func(file string) *analysis.Stack {
		return &analysis.Stack{Frames: []analysis.Frame{{Func: "run", File: file, Line: 7}}}
	}
	for file, want := range map[string]string{"/usr/local/go/src/x.go": Same, `C:\go\src\x.go`: Same, "/go/src/y.go": OtherLine} {
		if got := Align(frame("/go/src/x.go"), frame(file))[0].Mark; got != want {
			t.Errorf("%s: mark %q, want %q", file, got, want)
		}
	}
}

func TestVeryDeepStacksAreAlignedByTheirEnds(t *testing.T) {
	deep := func(name string, n int) *analysis.Stack {
		s := stack("leaf:1")
		for i := range n {
			s.Frames = append(s.Frames, analysis.Frame{Func: fmt.Sprint(name, i%7)})
		}
		s.Frames = append(s.Frames, analysis.Frame{Func: "main"})
		return s
	}
	got := Align(deep("x", 3000), deep("y", 3000))
	if len(got) != 6002 || got[0].Mark != Same || got[6001].Mark != Same {
		t.Errorf("%d pairs from %q to %q, want 6002 from = to =", len(got), got[0].Mark, got[len(got)-1].Mark)
	}
}

func drawnStack(t *rapid.T, name string) *analysis.Stack {
	frames := rapid.SliceOfN(rapid.SampledFrom([]string{"a:1", "a:2", "b:1", "c:1", "d:1"}), 0, 9).Draw(t, name)
	creator := rapid.SampledFrom([]string{"", "<p:1", "<p:2", "<q:1"}).Draw(t, name+" creator")
	return stack(strings.Join(append(frames, creator), " "))
}

func TestAlignMirrors(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawnStack(rt, "a"), drawnStack(rt, "b")
		there, back := Align(a, b), Align(b, a)
		for i := range back {
			back[i].A, back[i].B = back[i].B, back[i].A
			back[i].Mark = map[string]string{OnlyA: OnlyB, OnlyB: OnlyA, Same: Same, OtherLine: OtherLine}[back[i].Mark]
		}
		if diff := cmp.Diff(firstAThenB(there), firstAThenB(back)); diff != "" {
			rt.Fatalf("pairs (-there +back):\n%s", diff)
		}
	})
}

// firstAThenB sorts the frames of one side in each gap.
func firstAThenB(pairs []Pair) []Pair {
	out := slices.Clone(pairs)
	for i := 0; i < len(out); {
		j := i
		for j < len(out) && (out[j].A == nil || out[j].B == nil) {
			j++
		}
		slices.SortStableFunc(out[i:j], func(x, y Pair) int { return strings.Compare(y.Mark, x.Mark) })
		i = j + 1
	}
	return out
}

func TestAlignKeepsEveryFrameInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawnStack(rt, "a"), drawnStack(rt, "b")
		var left, right []analysis.Frame
		for _, p := range Align(a, b) {
			if p.A != nil {
				left = append(left, *p.A)
			}
			if p.B != nil {
				right = append(right, *p.B)
			}
			if p.A != nil && p.B != nil && p.A.Func != p.B.Func {
				rt.Fatalf("%s beside %s", p.A.Func, p.B.Func)
			}
		}
		for _, side := range []struct {
			of  *analysis.Stack
			got []analysis.Frame
		}{{a, left}, {b, right}} {
			want := slices.Clone(side.of.Frames)
			if side.of.CreatedBy.Func != "" {
				want = append(want, side.of.CreatedBy)
			}
			if !slices.Equal(want, side.got) {
				rt.Fatalf("frames %v, want %v", side.got, want)
			}
		}
	})
}

func BenchmarkAlignTwoStacksOf100Frames(b *testing.B) {
	var x, y []string
	for i := range 100 {
		x = append(x, fmt.Sprintf("f%d:1", i))
		y = append(y, fmt.Sprintf("f%d:1", i+i%3))
	}
	left, right := stack(strings.Join(x, " ")), stack(strings.Join(y, " "))
	for b.Loop() {
		Align(left, right)
	}
}
