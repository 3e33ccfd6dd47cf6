package goroutine_test

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/DataDog/gostackparse"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/maruel/panicparse/v2/stack"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
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

func (o opinion) equal(other opinion) bool {
	return o.ID == other.ID && o.State == other.State && o.Wait == other.Wait && o.Locked == other.Locked &&
		slices.Equal(o.Stack.Frames, other.Stack.Frames) && o.Stack.CreatedBy == other.Stack.CreatedBy
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
	corpus.Heavy(t)
	var paths []string
	for _, pattern := range []string{"series/*/*/*/goroutine-debug2.txt", "series/restart/*/*/p?-t?.txt", "goroutine/public/*.txt", "goroutine/gen/debug2-*.txt", "goroutine/signals/*.stacks.log"} {
		found, _ := filepath.Glob(corpus.Path(t, pattern))
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

// otherForms print a dump as other programs would have it.
var otherForms = map[string]func([]byte) []byte{
	"debug=2": func(b []byte) []byte { return b },
	"CRLF":    func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) },
	"labels":  labelled,
	"SIGQUIT": crashed,
}

var (
	bracket = regexp.MustCompile(`(?m)^(goroutine \d+ )(\[.*)(\]:)$`)
	offset  = regexp.MustCompile(`(?m)^\t.* \+0x[0-9a-f]+$`)
	header  = regexp.MustCompile(`(?m)^goroutine \d+ .*\n`)
)

// labelled adds one of seven label sets to each header.
func labelled(dump []byte) []byte {
	n := 0
	return bracket.ReplaceAllFunc(dump, func(b []byte) []byte {
		n++
		return bracket.ReplaceAll(b, fmt.Appendf(nil, "$1$2 labels:{%q: %q}$3", "endpoint", "/objects/]:, "+strconv.Itoa(n%7)))
	})
}

// crashed adds what GOTRACEBACK=system does, with other addresses each time.
func crashed(dump []byte) []byte {
	n := 0
	dump = bracket.ReplaceAllFunc(dump, func(b []byte) []byte {
		n++
		return bracket.ReplaceAll(b, fmt.Appendf(nil, "${1}gp=0xc000%06x m=nil $2$3", n))
	})
	dump = offset.ReplaceAllFunc(dump, func(b []byte) []byte {
		n++
		return fmt.Appendf(nil, "%s fp=0xc%x sp=0xc%x pc=0x40841c", b, n*n, n*7)
	})
	return append([]byte("SIGQUIT: quit\nPC=0x491de1 m=0 sigcode=0\n\n"), dump...)
}

// distinct moves the innermost function of each goroutine to another import path.
func distinct(dump []byte) []byte {
	n := 0
	return header.ReplaceAllFunc(dump, func(b []byte) []byte {
		n++
		return fmt.Appendf(nil, "%svariant%d/", b, n)
	})
}

// TestGostackparseAgreesOnOtherForms reads dumps in forms that gostackparse knows
// little of, and compares with what it says about the plain text. The dumps come
// several times, so that all ways of reading are taken: stacks that are new, that
// come again and that are recognised, and those that are all distinct.
func TestGostackparseAgreesOnOtherForms(t *testing.T) {
	corpus.Heavy(t)
	dumps := map[string][]byte{}
	for _, path := range []string{
		corpus.Path(t, "series", "kubelet-probe-leak", "t7", "kubelet", "goroutine-debug2.txt"),
		corpus.Path(t, "series", "kubelet-probe-leak", "t7", "containerd", "goroutine-debug2.txt"),
		corpus.Path(t, "goroutine", "public", "stackgazer-crdb-stacks.txt"),
	} {
		dumps[filepath.Base(filepath.Dir(path))] = append(read(t, path), '\n')
	}
	for _, name := range names(dumps) {
		again := bytes.Repeat(dumps[name], 4)
		// A distinct stack is learned at its second appearance and known at its third.
		apart := bytes.Repeat(distinct(bytes.Repeat(dumps[name], 4)), 3)
		for _, text := range [][]byte{again, apart} {
			list, errs := gostackparse.Parse(bytes.NewReader(text))
			if len(errs) > 0 || len(list) < 300 {
				t.Fatalf("%s: gostackparse read %d goroutines: %v", name, len(list), errs)
			}
			want := byGostackparse(list)
			for form, print := range otherForms {
				got := ours(parseBytes(t, print(text)).list)
				if len(got) != len(want) {
					t.Fatalf("%s as %s: got %d goroutines, want %d", name, form, len(got), len(want))
				}
				for i := range got {
					if !got[i].equal(want[i]) {
						t.Fatalf("%s as %s: gostackparse on the plain text (-), leakdiff (+):\n%s", name, form, cmp.Diff(want[i], got[i]))
					}
				}
			}
		}
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
			text := read(t, corpus.Path(t, "goroutine", "gen", name))
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
