package goroutine_test

import (
	"bytes"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/DataDog/gostackparse"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/maruel/panicparse/v2/stack"

	"leakdiff/analysis"
	"leakdiff/analysis/goroutine"
)

// opinion is what all parsers can say about a goroutine.
type opinion struct {
	ID     int64
	State  string
	Wait   int
	Locked bool
	Parent string // panicparse only
	Stack  analysis.Stack
}

func ours(list []goroutine.Goroutine) []opinion {
	var out []opinion
	for _, g := range list {
		o := opinion{ID: g.ID, State: g.State, Wait: max(0, g.Wait), Locked: g.Locked, Stack: *g.Stack}
		if g.Durable {
			o.State += " (durable)"
		}
		if g.Leaked {
			o.State += " (leaked)"
		}
		o.Stack.Elided = 0
		o.Stack.Unavailable = ""
		out = append(out, o)
	}
	return out
}

// unescaped is how oracles' names compare: they keep the linker's escapes.
func unescaped(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

func byGostackparse(list []*gostackparse.Goroutine) []opinion {
	var out []opinion
	for _, g := range list {
		o := opinion{ID: int64(g.ID), State: g.State, Wait: int(g.Wait.Minutes()), Locked: g.LockedToThread}
		for _, f := range g.Stack {
			o.Stack.Frames = append(o.Stack.Frames, analysis.Frame{Func: unescaped(f.Func), File: f.File, Line: f.Line})
		}
		if f := g.CreatedBy; f != nil {
			o.Stack.CreatedBy = analysis.Frame{Func: unescaped(f.Func), File: f.File, Line: f.Line}
		}
		out = append(out, o)
	}
	return out
}

func TestGostackparseAgreesOnPlainDumps(t *testing.T) {
	heavy(t)
	var paths []string
	for _, pattern := range []string{"series/*/*/*/goroutine-debug2.txt", "series/restart/*/*/p?-t?.txt", "goroutine/public/*.txt", "goroutine/gen/debug2-*.txt", "goroutine/signals/*.stacks.log"} {
		found, _ := filepath.Glob(corpus(t, pattern))
		paths = append(paths, found...)
	}
	dumps, goroutines := 0, 0
	for _, path := range paths {
		text := read(t, path)
		if bytes.Contains(text, []byte("frames elided...")) || bytes.Contains(text, []byte("[originating from")) {
			continue // it loses these goroutines
		}
		list, errs := gostackparse.Parse(bytes.NewReader(text))
		if len(errs) > 0 || len(list) == 0 || bytes.Contains(text, []byte("labels:{")) {
			continue // gzip, debug=1, or headers that it does not know
		}
		dumps++
		goroutines += len(list)
		got := parseBytes(t, text)
		if diff := cmp.Diff(byGostackparse(list), ours(got.list), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: gostackparse (-), leakdiff (+):\n%s", path, diff)
		}
	}
	if dumps < 45 || goroutines < 10000 {
		t.Errorf("only %d dumps with %d goroutines were compared", dumps, goroutines)
	}
}

func byPanicparse(t *testing.T, text []byte) []opinion {
	t.Helper()
	var out []opinion
	in := io.Reader(bytes.NewReader(text))
	for {
		snapshot, suffix, err := stack.ScanSnapshot(in, io.Discard, &stack.Opts{})
		if snapshot != nil {
			for _, g := range snapshot.Goroutines {
				o := opinion{ID: int64(g.ID), State: g.State, Wait: g.SleepMin, Locked: g.Locked}
				for _, c := range g.Stack.Calls {
					o.Stack.Frames = append(o.Stack.Frames, analysis.Frame{Func: unescaped(c.Func.Complete), File: c.RemoteSrcPath, Line: c.Line})
				}
				for _, c := range g.CreatedBy.Calls {
					var name string
					name, o.Parent, _ = strings.Cut(c.Func.Complete, " in goroutine ")
					o.Stack.CreatedBy = analysis.Frame{Func: unescaped(name), File: c.RemoteSrcPath, Line: c.Line}
				}
				out = append(out, o)
			}
		}
		if err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			return out
		}
		in = io.MultiReader(bytes.NewReader(suffix), in)
	}
}

func TestPanicparseAgreesWhereItIsRight(t *testing.T) {
	for _, name := range []string{
		"debug2-go1.26.8.txt", "debug2-go1.18.10.txt", "sigquit-go1.27.0.txt", "sigquit-go1.18.10.txt",
		"synctest-go1.26.8.txt", "debug2-wait-go1.27.0.txt", "leak2-go1.27.0.txt",
	} {
		t.Run(name, func(t *testing.T) {
			text := read(t, corpus(t, "goroutine", "gen", name))
			list := parseBytes(t, text).list
			want, got := byPanicparse(t, text), ours(list)
			for i, g := range list {
				if g.Parent != 0 {
					got[i].Parent = strconv.FormatInt(g.Parent, 10)
				}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("panicparse (-), leakdiff (+):\n%s", diff)
			}
			if len(want) < 10 || strings.TrimSpace(want[0].State) == "" {
				t.Errorf("panicparse read %d goroutines", len(want))
			}
		})
	}
}
