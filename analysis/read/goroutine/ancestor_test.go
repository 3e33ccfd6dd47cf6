package goroutine

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// ancestorsOf are the ancestors of the last goroutine of a dump.
func ancestorsOf(t testing.TB, text string) []analysis.Stack {
	t.Helper()
	var out []analysis.Stack
	if _, _, err := ParseText(strings.NewReader(text), Config{}, func(g *Goroutine) error {
		out = ParseAncestors(g.Ancestors)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAncestorsAreReadWithTheirPlaces(t *testing.T) {
	const read = "goroutine 21 [chan receive]:\nlib.read(...)\n\t/src/lib/c.go:15 +0x1\ncreated by lib.Dial in goroutine 7\n\t/src/lib/c.go:9 +0x1\n"
	const dial = "[originating from goroutine 7]:\nlib.Dial(...)\n\t/src/lib/c.go:9 +0x4f\napp.(*T).sync(...)\n\t/src/app/sync.go:77 +0x17\ncreated by app.Run\n\t/src/app/run.go:5 +0x55\n"
	stack := analysis.Stack{
		Frames:    []analysis.Frame{{Func: "lib.Dial", File: "/src/lib/c.go", Line: 9}, {Func: "app.(*T).sync", File: "/src/app/sync.go", Line: 77}},
		CreatedBy: analysis.Frame{Func: "app.Run", File: "/src/app/run.go", Line: 5},
	}
	main := analysis.Stack{Frames: []analysis.Frame{{Func: "main.main", File: "/src/app/main.go", Line: 28}}}
	for name, c := range map[string]struct {
		text string
		want []analysis.Stack
	}{
		"none":                              {read, nil},
		"one":                               {read + dial, []analysis.Stack{stack}},
		"one whose frames were elided":      {read + strings.Replace(dial, "created by", "...additional frames elided...\ncreated by", 1), []analysis.Stack{stack}},
		"one of another goroutine":          {read + strings.ReplaceAll(dial, "goroutine 7", "goroutine 8"), []analysis.Stack{stack}},
		"two":                               {read + dial + "[originating from goroutine 1]:\nmain.main(...)\n\t/src/app/main.go:28 +0x55\n", []analysis.Stack{stack, main}},
		"one without frames":                {read + "[originating from goroutine 7]:\n", []analysis.Stack{{}}},
		"those of the goroutine before":     {read + dial + "\n" + strings.Replace(read, "21", "22", 1), nil},
		"a frame whose file is lost":        {read + "[originating from goroutine 7]:\nlib.Dial(...)\n", []analysis.Stack{{}}},
		"after a block that is known by it": {read + "\n" + strings.Replace(read, "21", "22", 1) + "\n" + strings.Replace(read, "21", "23", 1) + dial, []analysis.Stack{stack}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, ancestorsOf(t, c.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAncestorsAreBounded(t *testing.T) {
	frame := "main.f(...)\n\t/f.go:1 +0x1\n"
	text := "goroutine 2 [select]:\n" + frame + "[originating from goroutine 1]:\n" + strings.Repeat(frame, 1000)
	stacks := ancestorsOf(t, text)
	if want := (maxAncestors - len("\x04\n") - 1) / len("main.f\n/f.go:1\n"); len(stacks) != 1 || len(stacks[0].Frames) != want {
		t.Errorf("%d stacks, of %d frames %d are kept, want %d", len(stacks), 1000, len(stacks[0].Frames), want)
	}
}

func FuzzAncestors(f *testing.F) {
	f.Add([]byte("\x04\nmain.f\n/f.go:1\n\x01main.g\n/g.go:2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n := len(ParseAncestors(text)); n > bytes.Count(text, []byte{markAncestor}) {
			t.Errorf("%d stacks of %q", n, text)
		}
	})
}
