package goroutine_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

func TestHeadersOfEveryReleaseAreRead(t *testing.T) {
	type header = goroutine.Goroutine
	tests := []struct {
		line string
		want header
	}{
		{`goroutine 5 [select, 6 minutes]:`, header{ID: 5, State: "select", Wait: 6}},
		{`goroutine 17 [sleep, locked to thread]:`, header{ID: 17, State: "sleep", Wait: -1, Locked: true}},
		{`goroutine 17 [syscall, 978 minutes, locked to thread]:`, header{ID: 17, State: "syscall", Wait: 978, Locked: true}},
		{`goroutine 41 [chan send (leaked)]:`, header{ID: 41, State: "chan send", Wait: -1, Leaked: true}},
		{`goroutine 41 [chan receive (nil chan) (leaked) (scan), 3 minutes]:`, header{ID: 41, State: "chan receive (nil chan)", Wait: 3, Leaked: true, Scan: true}},
		{`goroutine 8 [select (durable), synctest bubble 1]:`, header{ID: 8, State: "select", Wait: -1, Durable: true, Bubble: 1}},
		{`goroutine 8 [select (no cases) (durable), synctest bubble 12]:`, header{ID: 8, State: "select (no cases)", Wait: -1, Durable: true, Bubble: 12}},
		{`goroutine 8 [chan receive, synctest group 4]:`, header{ID: 8, State: "chan receive", Wait: -1, Bubble: 4}},
		{
			`goroutine 69 [chan receive labels:{"controller": "node-lifecycle", "na me": "quo\"te]:, x"}]:`,
			header{ID: 69, State: "chan receive", Wait: -1, Labels: `{"controller": "node-lifecycle", "na me": "quo\"te]:, x"}`},
		},
		{
			`goroutine 69 [select, 2 minutes, locked to thread labels:{"k": "a, 9 minutes]:"}]:`,
			header{ID: 69, State: "select", Wait: 2, Locked: true, Labels: `{"k": "a, 9 minutes]:"}`},
		},
		{
			`goroutine 69 [chan receive (leaked), 4 minutes] {controller: "node-lifecycle", k: v1, "na me": "quo\"te}]:, x"}:`,
			header{ID: 69, State: "chan receive", Wait: 4, Leaked: true, Labels: `{controller: "node-lifecycle", k: v1, "na me": "quo\"te}]:, x"}`},
		},
		{`goroutine 1 gp=0x359e6f70c1e0 m=nil [select, 2 minutes]:`, header{ID: 1, State: "select", Wait: 2}},
		{`goroutine 0 gp=0xa6e0e0 m=0 mp=0xa6f2c0 [idle]:`, header{ID: 0, State: "idle", Wait: -1}},
		{`goroutine 7 [GC worker (idle)]:`, header{ID: 7, State: "GC worker (idle)", Wait: -1}},
		{`goroutine 7 [???]:`, header{ID: 7, State: "???", Wait: -1}},
		{`goroutine 7 [quantum wait, 2 minutes, on loan, locked to thread]:`, header{ID: 7, State: "quantum wait, on loan", Wait: 2, Locked: true}},
		{`goroutine 7 [select, -3 minutes]:`, header{ID: 7, State: "select", Wait: -1}},
		{`goroutine -1 [running]:`, header{ID: -1, State: "running", Wait: -1}},
		{`goroutine 99999999999999999999999 [running]:`, header{ID: 1<<63 - 1, State: "running", Wait: -1}},
		{`goroutine 9 []:`, header{ID: 9, Wait: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			// A first goroutine keeps the one looked at from being the dumper.
			text := "goroutine 2 [running]:\nmain.a()\n\t/a.go:1 +0x1\n\n" + tt.line + "\nmain.f(0x1)\n\t/f.go:1 +0x1\ncreated by main.g\n\t/g.go:1 +0x1\n"
			got := parseText(t, strings.NewReader(text))
			if len(got.list) != 2 {
				t.Fatalf("got %d goroutines, want 2", len(got.list))
			}
			ignore := cmpopts.IgnoreFields(header{}, "Stack", "StackNumber", "Line", "Offset", "Length")
			if diff := cmp.Diff(tt.want, got.list[1], ignore); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
		})
	}
}

func TestTextThatOnlyLooksLikeAHeaderIsNone(t *testing.T) {
	for _, line := range []string{
		"goroutine 9 [fake]: [recovered]",
		"goroutine 9 [fake]",
		"goroutine [running]:",
		"goroutine 9 running:",
		"goroutine 9x [running]:",
		"goroutine 9 stopped [running]:",
		"a goroutine 9 [running]:",
		`goroutine 9 [running] {a: b`,
		"goroutine profile: total 3",
		"Goroutine 7 (running) created at:",
	} {
		if got := parseText(t, strings.NewReader(line+"\nmain.f(0x1)\n\t/f.go:1 +0x1\n")); got.Headers != 0 {
			t.Errorf("%q counts as a header", line)
		}
	}
}

func frame(name, file string, line int) analysis.Frame {
	return analysis.Frame{Func: name, File: file, Line: line}
}

func TestFramesOfEveryKindAreRead(t *testing.T) {
	tests := []struct {
		name, body string
		want       analysis.Stack
		parent     int64
	}{
		{
			name: "receivers, type arguments and inlined calls keep their names",
			body: "main.(*Stack[...]).Spawn.func1({0x1?, 0x2?})\n\t/s.go:7 +0x1d\nmain.T.run(...)\n\t/t.go:8\nmain.(*T).Run-fm({0x1, {0x2, ...}, _, ...})\n\t/t.go:9 +0x1\n",
			want: analysis.Stack{Frames: []analysis.Frame{
				frame("main.(*Stack[...]).Spawn.func1", "/s.go", 7), frame("main.T.run", "/t.go", 8), frame("main.(*T).Run-fm", "/t.go", 9),
			}},
		},
		{
			name:   "the parent is taken off the creator",
			body:   "main.leak()\n\t/m.go:1 +0x1\ncreated by main.(*P).Start in goroutine 17\n\t/m.go:2 +0x2\n",
			want:   analysis.Stack{Frames: []analysis.Frame{frame("main.leak", "/m.go", 1)}, CreatedBy: frame("main.(*P).Start", "/m.go", 2)},
			parent: 17,
		},
		{
			name: "escaped dots of import paths are unescaped",
			body: "example.com/Lab/gdump.io/yaml%2ev2.(*Decoder).Parse(0x1)\n\t/y.go:3 +0x1\ncreated by gopkg.in/yaml%2ev2.Start\n\t/y.go:4 +0x1\n",
			want: analysis.Stack{
				Frames:    []analysis.Frame{frame("example.com/Lab/gdump.io/yaml.v2.(*Decoder).Parse", "/y.go", 3)},
				CreatedBy: frame("gopkg.in/yaml.v2.Start", "/y.go", 4),
			},
		},
		{
			name: "files may have drives, spaces, versions, or be none",
			body: "a.A(0x1)\n\tC:/Program Files/a.go:1 +0x1\nb.B()\n\tk8s.io/kubernetes@v1.34.4/pkg/b.go:2 +0x2 fp=0x1 sp=0x2 pc=0x3\nmain._Cfunc_c(0x1)\n\t_cgo_gotypes.go:74 +0x3\nd.D()\n\t<autogenerated>:1 +0x4\ne.E()\n\t??:?\n",
			want: analysis.Stack{Frames: []analysis.Frame{
				frame("a.A", "C:/Program Files/a.go", 1), frame("b.B", "k8s.io/kubernetes@v1.34.4/pkg/b.go", 2),
				frame("main._Cfunc_c", "_cgo_gotypes.go", 74), frame("d.D", "<autogenerated>", 1), frame("e.E", "??", 0),
			}},
		},
		{
			name: "the number of elided frames is kept",
			body: "a.A(0x1)\n\t/a.go:1 +0x1\n...51 frames elided...\nb.B()\n\t/b.go:2 +0x2\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1), frame("b.B", "/b.go", 2)}, Elided: 51},
		},
		{
			name: "releases before 1.21 elide without a number",
			body: "a.A(0x1)\n\t/a.go:1 +0x1\n...additional frames elided...\ncreated by b.B\n\t/b.go:2 +0x2\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1)}, CreatedBy: frame("b.B", "/b.go", 2), Elided: -1},
		},
		{
			name:   "an unavailable stack keeps its text and creator",
			body:   "\tgoroutine running on other thread; stack unavailable\ncreated by main.main in goroutine 1\n\t/m.go:2 +0x2\n",
			want:   analysis.Stack{Unavailable: "goroutine running on other thread; stack unavailable", CreatedBy: frame("main.main", "/m.go", 2)},
			parent: 1,
		},
		{
			name:   "ancestors never enter the stack",
			body:   "a.A(0x1)\n\t/a.go:1 +0x1\ncreated by b.B in goroutine 3\n\t/b.go:2 +0x2\n[originating from goroutine 3]:\nb.B(...)\n\t/b.go:2 +0x2\n...additional frames elided...\ncreated by c.C\n\t/c.go:3 +0x3\n[originating from goroutine 1]:\nc.C(...)\n\t/c.go:3 +0x3\n",
			want:   analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1)}, CreatedBy: frame("b.B", "/b.go", 2)},
			parent: 3,
		},
		{
			name: "gccgo prints neither parentheses nor arguments",
			body: "runtime_1pprof.Profile.WriteTo\n\t../../../src/pprof.go:332\nmain.main\n\tgccgo/m.go:24\ncreated by main.main\n\tgccgo/m.go:18 +0xc7\n",
			want: analysis.Stack{
				Frames:    []analysis.Frame{frame("runtime_1pprof.Profile.WriteTo", "../../../src/pprof.go", 332), frame("main.main", "gccgo/m.go", 24)},
				CreatedBy: frame("main.main", "gccgo/m.go", 18),
			},
		},
		{
			name: "symbolizers of cgo print names, addresses or nothing",
			body: "cInner\n\t/src/inner.c:42 pc=0x1111\ncOuter\n\tpc=0x2222\nnon-Go function\n\tpc=0x3333\nnon-Go function at pc=0x4444\nruntime.cgocall(0x1, 0x2)\n\t/c.go:167 +0x4b fp=0x1 sp=0x2 pc=0x3\n",
			want: analysis.Stack{Frames: []analysis.Frame{
				frame("cInner", "/src/inner.c", 42), frame("cOuter", "", 0), frame("non-Go function", "", 0),
				frame("non-Go function", "", 0), frame("runtime.cgocall", "/c.go", 167),
			}},
		},
		{
			name: "log lines that cut in are left out",
			body: "a.A(0x1)\n2026/01/02 something happened (twice)\n\t/a.go:1 +0x1\n2026/01/02 dialing 10.0.0.1:443\nb.B()\nlistening on 0.0.0.0:8080\n\t/b.go:2 +0x2\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1), frame("b.B", "/b.go", 2)}},
		},
		{
			name: "what follows a blank line and a foreign line is another text",
			body: "a.A(0x1)\n\t/a.go:1 +0x1\n\nhandling failed\nmain.handle\n\t/h.go:3\nmain.other(0x1)\n\t/o.go:4 +0x1\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1)}},
		},
		{
			name: "registers behind the last frame are no frames",
			body: "a.A(0x1)\n\t/a.go:1 +0x1 fp=0x1 sp=0x2 pc=0x3\nrax    0xca\nrip    0x499aa1\nmain.x(0x1)\n\t/x.go:4 +0x1\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1)}},
		},
		{
			name: "blank lines between all lines are borne",
			body: "\na.A(0x1)\n\n\t/a.go:1 +0x1\n\ncreated by b.B\n\n\t/b.go:2 +0x2\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1)}, CreatedBy: frame("b.B", "/b.go", 2)},
		},
		{
			name: "lost tabs are borne",
			body: "a.A(0x1)\n/a.go:1 +0x1\ncreated by b.B\n/b.go:2 +0x2\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("a.A", "/a.go", 1)}, CreatedBy: frame("b.B", "/b.go", 2)},
		},
		{
			name: "names of Go 1.4 are UTF-8",
			body: "kubelet.func·018(0x1)\n\t/k.go:1 +0x1\n",
			want: analysis.Stack{Frames: []analysis.Frame{frame("kubelet.func·018", "/k.go", 1)}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			block := "goroutine 7 [select]:\n" + tt.body + "\n"
			// Three times: once to learn, once recognised, once after foreign text.
			got := parseText(t, strings.NewReader(block+block+"\nsome text\n"+block))
			if len(got.list) != 3 {
				t.Fatalf("got %d goroutines, want 3", len(got.list))
			}
			for _, g := range got.list {
				if diff := cmp.Diff(&tt.want, g.Stack, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("want (-) got (+):\n%s", diff)
				}
				if g.Parent != tt.parent {
					t.Errorf("got parent %d, want %d", g.Parent, tt.parent)
				}
				if g.Stack != got.list[0].Stack {
					t.Error("equal stacks do not share a pointer")
				}
			}
		})
	}
}

func TestPanicTextCannotFakeGoroutines(t *testing.T) {
	genuine := "goroutine 1 [running]:\nmain.main()\n\t/m.go:1 +0x1\n"
	tests := []struct {
		name, text string
		want       []int64
	}{
		{"a header inside the value", "panic: first\ngoroutine 9 [fake]:\n\n" + genuine, []int64{1}},
		{"a stack inside the value", "panic: first\ngoroutine 9 [running]:\nmain.x(0x1)\n\t/x.go:1 +0x1\n\n" + genuine, []int64{1}},
		{"a header inside an indented value", "panic: first\n\tgoroutine 9 [fake]:\n\t\n\tgoroutine 8 [fake]:\n\n" + genuine, []int64{1}},
		{"an indented crash", "\tpanic: first\n\n\tgoroutine 1 [running]:\n\tmain.main()\n\t\t/m.go:1 +0x1\n", []int64{1}},
		{"lost blank lines", "panic: first\n" + genuine + strings.Replace(genuine, "1", "7", 1), []int64{1, 7}},
		{"lost blank lines and one goroutine", "panic: first\n" + genuine, []int64{1}},
		{"text after a dump", genuine + "\npanic: again\ngoroutine 9 [fake]:\n\n" + genuine, []int64{1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []int64
			for _, g := range parseText(t, strings.NewReader(tt.text)).list {
				got = append(got, g.ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
		})
	}
}

func TestSystemGoroutinesAreThoseThatDebug2Hides(t *testing.T) {
	// The same program in two runs, dumped by SIGQUIT and by debug=2.
	for _, release := range []string{"1.21.13", "1.23.12", "1.25.5", "1.26.8", "1.27.0"} {
		t.Run(release, func(t *testing.T) {
			crash := parseText(t, open(t, corpus.Path(t, "goroutine", "gen", "sigquit-go"+release+".txt")))
			creators := regexp.MustCompile(`(?m)^created by (runtime\.|unique\.)`)
			want := len(creators.FindAllString(string(read(t, corpus.Path(t, "goroutine", "gen", "sigquit-go"+release+".txt"))), -1))
			// The finalizer goroutine runs a finalizer of the program in all of them.
			if crash.System != want-1 {
				t.Errorf("got %d system goroutines, want %d", crash.System, want-1)
			}
			for _, g := range crash.list {
				if g.Dumper || g.System && g.ID == 1 {
					t.Errorf("goroutine %d: dumper %v, system %v", g.ID, g.Dumper, g.System)
				}
			}
			plain := parseText(t, open(t, corpus.Path(t, "goroutine", "gen", "debug2-go"+release+".txt")))
			if plain.System != 0 {
				t.Errorf("debug=2 shows %d system goroutines", plain.System)
			}
			if diff := crash.Goroutines - plain.Goroutines; diff < -2 || diff > 2 {
				t.Errorf("got %d goroutines by SIGQUIT, %d by debug=2", crash.Goroutines, plain.Goroutines)
			}
		})
	}
}

func TestEachDebug2DumpHasOneDumper(t *testing.T) {
	dumps := []string{"states/labels1-debug2.txt", "signals/containerd-SIGUSR1.stacks.log", "public/stackgazer-crdb-stacks.txt", "public/transferfile-goroutines.txt", "gen/gccgo12-debug2.txt", "prefixed/bom.txt", "prefixed/klog-multiline.txt"}
	for _, name := range dumps {
		if !corpus.Has(t, "goroutine", name) {
			continue
		}
		got := parseText(t, open(t, corpus.Path(t, "goroutine", name)))
		if n := dumpers(got.list); n != 1 || !got.list[0].Dumper {
			t.Errorf("%s: got %d dumpers, first %v; want the first only", name, n, got.list[0].Dumper)
		}
	}
}

// A caller separates two dumps in one file by their dumpers.
func TestTwoDumpsInOneFileHaveTwoDumpers(t *testing.T) {
	dump := read(t, "testdata/debug2-go1.26.8.txt")
	got := parseBytes(t, bytes.Join([][]byte{dump, dump}, []byte("\n")))
	if got.Headers != 162 || dumpers(got.list) != 2 || !got.list[81].Dumper || len(got.problems) != 0 {
		t.Errorf("got %d headers, %d dumpers, problems %v", got.Headers, dumpers(got.list), got.problems)
	}
}

func TestLeakedMarksAreCounted(t *testing.T) {
	for _, name := range []string{"goroutine-after-leakprofile-debug2.txt", "goroutineleak-debug2.txt"} {
		got := map[string]int{}
		for _, g := range parseText(t, open(t, corpus.Path(t, "goroutine", "states", name))).list {
			if g.Leaked {
				got[g.State]++
			}
		}
		if diff := cmp.Diff(map[string]int{"chan send": 20, "chan receive": 20}, got); diff != "" {
			t.Errorf("%s: want (-) got (+):\n%s", name, diff)
		}
	}
}

func TestPublicDumpsHoldWhatTheirNotesTell(t *testing.T) {
	waits := 0
	for _, g := range parseText(t, open(t, corpus.Path(t, "goroutine", "public", "transferfile-goroutines.txt"))).list {
		if g.Wait >= 0 {
			waits++
		}
		if g.Wait > 10 {
			t.Errorf("goroutine %d waits %d minutes, want at most 10", g.ID, g.Wait)
		}
	}
	if waits != 102 {
		t.Errorf("got %d goroutines with a wait, want 102", waits)
	}
	families := map[string]bool{}
	for _, g := range parseText(t, open(t, corpus.Path(t, "goroutine", "public", "stackgazer-crdb-stacks.txt"))).list {
		var names []string
		for _, f := range g.Stack.Frames {
			names = append(names, f.Func)
		}
		families[strings.Join(names, "\n")] = true
	}
	if len(families) != 247 {
		t.Errorf("got %d families by function list, want 247", len(families))
	}
}

func TestLabelsOfBothReleasesAreFound(t *testing.T) {
	for _, name := range []string{"debug2-labels-go1.26.8.txt", "debug2-labels-go1.27.0.txt"} {
		var got []string
		for _, g := range parseText(t, open(t, corpus.Path(t, "goroutine", "gen", name))).list {
			if g.Labels != "" {
				got = append(got, fmt.Sprint(g.ID, " ", g.State, " ", strings.ReplaceAll(g.Labels, `"`, "")))
			}
		}
		quoted := `{controller: node-lifecycle, k: v1, na me: quo\te]:, x}`
		want := []string{"69 chan receive " + quoted, "70 chan receive " + quoted, "71 chan receive {req: 0}", "72 chan receive {req: 1}"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want (-) got (+):\n%s", name, diff)
		}
	}
}

// plain are the dumps that the property tests cut and join: complete, and each
// of another grammar.
func plain(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range []string{
		"debug2-go1.26.8.txt", "debug2-labels-go1.27.0.txt", "debug2-ancestors-go1.26.8.txt",
		"synctest-go1.26.8.txt", "cgo-sym-crash-go1.26.8.txt", "gccgo12-debug2.txt", "panicboth-go1.21.13.txt",
	} {
		out[name] = read(t, filepath.Join("testdata", name))
	}
	return out
}

// names are the keys in an order that is the same in every run, as rapid needs.
func names(dumps map[string][]byte) []string {
	return slices.Sorted(maps.Keys(dumps))
}

// comparable leaves out what depends on where in a file a goroutine stands, and on
// which stacks stand before.
func comparable(list []goroutine.Goroutine) []goroutine.Goroutine {
	out := append([]goroutine.Goroutine{}, list...)
	for i := range out {
		out[i].Line, out[i].Offset, out[i].Length, out[i].Dumper, out[i].StackNumber = 0, 0, 0, false, 0
	}
	return out
}

func TestJoinedDumpsGiveTheGoroutinesOfBoth(t *testing.T) {
	dumps := plain(t)
	rapid.Check(t, func(t *rapid.T) {
		a := dumps[rapid.SampledFrom(names(dumps)).Draw(t, "a")]
		b := dumps[rapid.SampledFrom(names(dumps)).Draw(t, "b")]
		gotA, gotB := parseRapid(t, bytes.NewReader(a)), parseRapid(t, bytes.NewReader(b))
		both := parseRapid(t, io.MultiReader(bytes.NewReader(a), strings.NewReader("\n"), bytes.NewReader(b)))
		want := append(comparable(gotA.list), comparable(gotB.list)...)
		if diff := cmp.Diff(want, comparable(both.list)); diff != "" {
			t.Fatalf("want (-) got (+):\n%s", diff)
		}
		if both.Headers != gotA.Headers+gotB.Headers || both.Race != gotA.Race+gotB.Race {
			t.Fatalf("got %+v of %+v and %+v", both.Dump, gotA.Dump, gotB.Dump)
		}
	})
}

func TestStacksAreNumberedInTheOrderOfTheirFirstGoroutine(t *testing.T) {
	for name, dump := range plain(t) {
		var order []*analysis.Stack
		for _, g := range parseText(t, bytes.NewReader(dump)).list {
			if !slices.Contains(order, g.Stack) {
				order = append(order, g.Stack)
			}
			if at := slices.Index(order, g.Stack); g.StackNumber != at {
				t.Fatalf("%s, line %d: stack %d, want %d", name, g.Line, g.StackNumber, at)
			}
		}
	}
}

func TestAnyPrefixGivesAPrefixOfTheGoroutines(t *testing.T) {
	dumps := plain(t)
	rapid.Check(t, func(t *rapid.T) {
		dump := dumps[rapid.SampledFrom(names(dumps)).Draw(t, "dump")]
		whole := comparable(parseRapid(t, bytes.NewReader(dump)).list)
		part := comparable(parseRapid(t, bytes.NewReader(dump[:rapid.IntRange(0, len(dump)).Draw(t, "length")])).list)
		if len(part) > len(whole) {
			t.Fatalf("got %d goroutines of %d", len(part), len(whole))
		}
		if len(part) == 0 {
			return
		}
		if diff := cmp.Diff(whole[:len(part)-1], part[:len(part)-1]); diff != "" {
			t.Fatalf("want (-) got (+):\n%s", diff)
		}
	})
}

func parseRapid(t *rapid.T, r io.Reader) (out parsed) {
	var err error
	out.Dump, out.problems, err = goroutine.ParseText(r, goroutine.Config{}, func(g *goroutine.Goroutine) error {
		kept := *g
		kept.Body, kept.Ancestors = nil, nil // valid during the callback only
		out.list = append(out.list, kept)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDisguisesGiveTheSameGoroutines(t *testing.T) {
	disguises := map[string]func(string) string{
		"CRLF":                    func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"a byte order mark":       func(s string) string { return "\xef\xbb\xbf" + s },
		"tabs as 8 spaces":        func(s string) string { return strings.ReplaceAll(s, "\t", "        ") },
		"indentation of 4":        func(s string) string { return regexp.MustCompile(`(?m)^.`).ReplaceAllString(s, "    $0") },
		"trailing spaces":         func(s string) string { return strings.ReplaceAll(s, "\n", "  \n") },
		"lost newline at the end": func(s string) string { return strings.TrimSuffix(s, "\n") },
		"a log before it":         func(s string) string { return "2026/01/02 starting\nlistening on :8080\n" + s },
		"HTTP headers before it":  func(s string) string { return "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 10:00:01 GMT\r\n\r\n" + s },
	}
	for name, dump := range plain(t) {
		if name == "panicboth-go1.21.13.txt" {
			continue // its text depends on indentation
		}
		want := parseBytes(t, dump)
		for disguise, wrap := range disguises {
			got := parseBytes(t, []byte(wrap(string(dump))))
			if diff := cmp.Diff(comparable(want.list), comparable(got.list)); diff != "" {
				t.Errorf("%s in %s: want (-) got (+):\n%s", disguise, name, diff)
			}
			if got.Truncated {
				t.Errorf("%s in %s: truncated: %s", disguise, name, got.TruncatedWhy)
			}
		}
	}
}

func TestKnownBlocksReadLikeLines(t *testing.T) {
	corpus.Heavy(t)
	var paths []string
	for _, pattern := range []string{"goroutine/*/*", "series/*/t0/*/goroutine-debug2.txt"} {
		found, _ := filepath.Glob(corpus.Path(t, pattern))
		paths = append(paths, found...)
	}
	if len(paths) < 150 {
		t.Fatalf("only %d files", len(paths))
	}
	for _, path := range paths {
		if strings.HasSuffix(path, ".gz") {
			continue
		}
		data := read(t, path)
		data = bytes.Join([][]byte{data, data, []byte("tail\n")}, []byte("\n"))
		sameByLines(t, data)
		sameByLines(t, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
		if t.Failed() {
			t.Fatalf("in %s", path)
		}
	}
}

// TestDamagedBlocksReadLikeLines damages copies of blocks that are known.
func TestDamagedBlocksReadLikeLines(t *testing.T) {
	dumps := plain(t)
	for _, name := range []string{"debug2-go1.26.8.txt", "debug2-labels-go1.27.0.txt", "debug2-ancestors-go1.26.8.txt"} {
		dumps[name] = dumps[name][len(dumps[name])*3/4:]
	}
	for _, name := range names(dumps) {
		dumps[name+" with CRLF"] = bytes.ReplaceAll(dumps[name], []byte("\n"), []byte("\r\n"))
	}
	pieces := []string{"", "\n", "\n\n", "\t", " ", "(", ")", ")\n", ":", "\r", "\r\n", " +0x1", " fp=0x", " sp=0x", "main.x(0x1)\n\t/x.go:1 +0x1\n", "created by ", " in goroutine ", "...", "panic: x", "goroutine 7 [select]:\n", "0", "\x01", "\x02\n", "\xef\xbb\xbf", "%2e", "[originating from goroutine 3]:\n"}
	rapid.Check(t, func(t *rapid.T) {
		dump := dumps[rapid.SampledFrom(names(dumps)).Draw(t, "dump")]
		data := append(dump[:len(dump):len(dump)], dump...)
		for range rapid.IntRange(1, 6).Draw(t, "damages") {
			at := rapid.IntRange(0, len(data)).Draw(t, "at")
			gone := min(len(data)-at, rapid.IntRange(0, 3).Draw(t, "gone"))
			piece := rapid.SampledFrom(pieces).Draw(t, "piece")
			data = slices.Concat(data[:at], []byte(piece), data[at+gone:])
		}
		want, got := parseRapid(t, iotest.OneByteReader(bytes.NewReader(data))), parseRapid(t, bytes.NewReader(data))
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("by lines (-), by blocks (+):\n%s", cmp.Diff(want, got, cmp.AllowUnexported(parsed{})))
		}
	})
}

// TestBlocksThatAreHardToTellApartReadLikeLines has more names of one length and
// end than the tree keeps side by side, beside a name that begins another one and a
// call that is inlined now and then.
func TestBlocksThatAreHardToTellApartReadLikeLines(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "goroutine %d [select]:\nmain.worker%02dOfThePool(0x%x)\n\t/f.go:1 +0x1\n", i+2, i%50, i)
		text.WriteString([]string{"main.a(0x1)\n", "main.a(...)\n", "main.ab()\n"}[i%3] + "\t/f.go:2 +0x1\ncreated by main.g in goroutine 1\n\t/g.go:1 +0x1\n\n")
	}
	if got := sameByLines(t, []byte(text.String())); got.Headers != 200 || got.Truncated {
		t.Errorf("got %+v", got.Dump)
	}
}

func TestPlacesSpanTheBlock(t *testing.T) {
	for name, dump := range plain(t) {
		last := int64(0)
		for _, g := range parseBytes(t, append(dump, dump...)).list {
			both := append(dump, dump...)
			block := string(both[g.Offset : g.Offset+g.Length])
			if !strings.HasPrefix(block, fmt.Sprintf("goroutine %d ", g.ID)) || strings.Count(block, "\ngoroutine ") > strings.Count(block, "stack unavailable") {
				t.Errorf("%s: block at %d is %q", name, g.Offset, block)
			}
			if strings.HasSuffix(block, "\n\n") || g.Offset < last {
				t.Errorf("%s: goroutine %d at %d overlaps or ends with a blank line", name, g.ID, g.Offset)
			}
			if line := int64(bytes.Count(both[:g.Offset], []byte("\n"))) + 1; g.Line != line {
				t.Errorf("%s: goroutine %d at line %d, want %d", name, g.ID, g.Line, line)
			}
			last = g.Offset + g.Length
		}
	}
}

func TestCutDumpsAreMarked(t *testing.T) {
	whole := string(read(t, "testdata/debug2-go1.26.8.txt"))
	last := whole[strings.LastIndex(whole, "\ngoroutine "):]
	rest := strings.TrimSuffix(whole, last)
	filler := func(size int) string {
		return whole + strings.Repeat("\n", (size-len(whole))%64) + strings.Repeat(strings.Repeat("x", 63)+"\n", (size-len(whole))/64)
	}
	tests := []struct {
		name, text string
		want       bool
	}{
		{"a whole dump", whole, false},
		{"a lost last newline", strings.TrimSuffix(whole, "\n"), false},
		{"a cut inside a header", rest + "\ngoroutine 77 [chan rec", true},
		{"a cut inside the word goroutine", rest + "\ngorou", true},
		{"a header without stack", rest + "\ngoroutine 77 [chan receive]:\n", true},
		{"a cut inside a function", rest + "\ngoroutine 77 [chan receive]:\nmain.lea", true},
		{"a cut inside arguments", rest + "\ngoroutine 77 [chan receive]:\nmain.leakRecv(0x1, {0x", true},
		{"a function without file", rest + "\ngoroutine 77 [chan receive]:\nmain.leakRecv(0x1)\n", true},
		{"a cut inside a file", rest + "\ngoroutine 77 [chan receive]:\nmain.leakRecv(0x1)\n\t/srv/leak", true},
		{"a cut inside a creator", rest + "\ngoroutine 77 [chan receive]:\nmain.x(0x1)\n\t/x.go:1 +0x1\ncreated by ma", true},
		{"a cut inside a creator's line", rest + "\ngoroutine 77 [chan receive]:\nmain.x(0x1)\n\t/x.go:1 +0x1\ncreated by main.y in goroutine 1\n\t/y.go:1", true},
		{"a stack without creator and without kin", last[1:strings.Index(last, "created by ")], false},
		{"a stack without the creator of its kin", whole + last[:strings.Index(last, "created by ")], true},
		{"64 MiB", filler(64 << 20), true},
		{"a power of two", filler(64 << 10), true},
		{"another size", filler(64<<10 - 1), false},
		{"log lines at the end", whole + "\nexit status 2", false},
		{"no dump", strings.Repeat("x\n", 2048), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := parseText(t, strings.NewReader(tt.text))
			if got.Truncated != tt.want || (got.TruncatedWhy != "") != tt.want {
				t.Fatalf("got truncated %v (%s), want %v", got.Truncated, got.TruncatedWhy, tt.want)
			}
			if tt.want && (len(got.problems) == 0 || got.problems[len(got.problems)-1].Offset != int64(len(tt.text))) {
				t.Errorf("got problems %v, want one with the end's offset", got.problems)
			}
		})
	}
}

// endless repeats a text without end.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		c := copy(b[n:], e.text[e.at:])
		n += c
		e.at = (e.at + c) % len(e.text)
	}
	return n, nil
}

func TestHostileInputDoesNotGrowMemory(t *testing.T) {
	corpus.Heavy(t)
	const mebibyte = 1 << 20
	header := "goroutine 1 [running]:\nmain.f(0x1)\n\t/f.go:1 +0x1\n"
	tests := []struct {
		name, start, repeat, problem string
		size                         int64
	}{
		{"a line of 200 MiB", header, strings.Repeat("x", 4096), "a line is longer than 64 KiB", 200 * mebibyte},
		{"a header of 200 MiB", "goroutine 1 [running labels:{", strings.Repeat(`"a": "b", `, 100), "a line is longer than 64 KiB", 200 * mebibyte},
		{"a block without end", header, strings.Repeat("main.f(0x1)\n\t/f.go:1 +0x1\n", 100), "a goroutine's block is longer than 1 MiB", 32 * mebibyte},
		{"calls without files", header, strings.Repeat("main.f(0x1)\n", 100), "a goroutine's block is longer than 1 MiB", 32 * mebibyte},
		{"creators without end", header, strings.Repeat("created by main.f\n", 100), "a goroutine's block is longer than 1 MiB", 32 * mebibyte},
		{"ancestors without end", header, strings.Repeat("[originating from goroutine 1]:\nmain.f(...)\n\t/f.go:1 +0x1\n", 100), "", 32 * mebibyte},
		{"foreign lines without end", header, strings.Repeat("what is this\n", 100), "more problems are not listed", 32 * mebibyte},
		{"race reports without end", header, strings.Repeat("WARNING: DATA RACE\n", 100), "race detector", 32 * mebibyte},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			input := io.MultiReader(strings.NewReader(tt.start), io.LimitReader(&endless{text: tt.repeat}, tt.size))
			dump, problems, err := goroutine.ParseText(input, goroutine.Config{}, nil)
			runtime.ReadMemStats(&after)
			if err != nil || dump.Headers != 1 || dump.Bytes != tt.size+int64(len(tt.start)) {
				t.Fatalf("got %+v, error %v", dump, err)
			}
			if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 16*mebibyte {
				t.Errorf("allocated %d MiB", grown>>20)
			}
			if len(problems) > 105 {
				t.Errorf("got %d problems", len(problems))
			}
			found := tt.problem == ""
			for _, p := range problems {
				found = found || strings.Contains(p.What, tt.problem)
			}
			if !found {
				t.Errorf("no problem says %q: %v", tt.problem, problems)
			}
		})
	}
}

func TestTooManyStacksShareOne(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "goroutine %d [select]:\nmain.f%d(0x1)\n\t/f.go:1 +0x1\ncreated by main.g\n\t/g.go:1 +0x1\n\n", i+2, i%25)
	}
	stacks := map[*analysis.Stack]int{}
	dump, problems, err := goroutine.ParseText(strings.NewReader(text.String()), goroutine.Config{MaxStacks: 20, Path: "p"}, func(g *goroutine.Goroutine) error {
		stacks[g.Stack]++
		return nil
	})
	if err != nil || dump.Headers != 50 {
		t.Fatalf("got %+v, error %v", dump, err)
	}
	for stack, n := range stacks {
		want := 2
		if stack.Unavailable == analysis.TooManyStacks {
			want = 10
		}
		if n != want {
			t.Errorf("got %d goroutines with %v, want %d", n, stack, want)
		}
	}
	if len(stacks) != 21 || len(problems) != 1 || !strings.Contains(problems[0].What, "10 goroutines") || problems[0].Path != "p" {
		t.Errorf("got %d stacks, problems %v", len(stacks), problems)
	}
}

func TestKeptStacksAreBoundedByWhatTheyHold(t *testing.T) {
	const goroutines = 300
	kept, held, others := map[*analysis.Stack]bool{}, 0, 0
	dump, problems, err := goroutine.ParseText(deepDump(goroutines, 0), goroutine.Config{}, func(g *goroutine.Goroutine) error {
		switch {
		case g.Stack.Unavailable == analysis.TooManyStacks:
			others++
		case !kept[g.Stack]:
			kept[g.Stack] = true
			held += len(g.Stack.Frames)
		}
		return nil
	})
	if err != nil || dump.Headers != goroutines || len(kept)+others != goroutines {
		t.Fatalf("got %+v with %d stacks and %d others, error %v", dump, len(kept), others, err)
	}
	if held == 0 || held > 200_000 {
		t.Errorf("%d frames are kept, want as many as 24 MiB hold", held)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].What, fmt.Sprintf("%d goroutines", others)) {
		t.Errorf("got problems %v, want one that says how many stacks were not kept", problems)
	}
}

// deepDump has goroutines of distinct stacks, whose functions differ from those of another
// seed.
func deepDump(goroutines, seed int) io.Reader {
	const frames = 1500
	text, write := io.Pipe()
	go func() {
		out := bufio.NewWriter(write)
		for g := range goroutines {
			fmt.Fprintf(out, "goroutine %d [select]:\n", g+2)
			for f := range frames {
				fmt.Fprintf(out, "example.com/deep%d.f%d_%d(0x1)\n\t/src/deep/p%d/f%d.go:1 +0x1\n", seed, g, f, g, f)
			}
			fmt.Fprintf(out, "created by main.g\n\t/g.go:1 +0x1\n\n")
		}
		out.Flush()
		write.Close()
	}()
	return text
}

// TestDumpsShareStacks reads dumps that share stacks, and more of them than are shared:
// each must yield what it yields alone.
func TestDumpsShareStacks(t *testing.T) {
	known := map[string]*analysis.Stack{}
	shared := &goroutine.Stacks{}
	same, apart := 0, 0
	for _, seed := range []int{0, 1, 0, 1} {
		alone, _, wantProblems, err := textStacks(deepDump(60, seed), nil)
		if err != nil {
			t.Fatal(err)
		}
		together, printed, problems, err := textStacks(deepDump(60, seed), shared)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(wantProblems, problems) || !reflect.DeepEqual(alone, together) {
			t.Fatalf("the goroutines of seed %d differ from those of its dump alone; problems are %v, want %v", seed, problems, wantProblems)
		}
		for i, stack := range printed {
			if stack.Unavailable != "" {
				continue
			}
			key := stack.Frames[0].Func
			switch known[key] {
			case nil:
				known[key] = printed[i]
			case stack:
				same++
			default:
				apart++
			}
		}
	}
	if same == 0 || apart == 0 {
		t.Errorf("%d stacks are shared and %d are not, want some of both", same, apart)
	}
}

func textStacks(r io.Reader, stacks *goroutine.Stacks) (all []goroutine.Goroutine, of []*analysis.Stack, problems []analysis.Problem, err error) {
	_, problems, err = goroutine.ParseText(r, goroutine.Config{Stacks: stacks}, func(g *goroutine.Goroutine) error {
		kept := *g
		kept.Body, kept.Ancestors = nil, nil
		all, of = append(all, kept), append(of, g.Stack)
		return nil
	})
	return all, of, problems, err
}

func TestKnownGoroutinesCostNoAllocation(t *testing.T) {
	dump := append(read(t, "testdata/debug2-go1.26.8.txt"), '\n')
	parse := func(times int) float64 {
		data := bytes.Repeat(dump, times)
		return testing.AllocsPerRun(3, func() {
			if _, _, err := goroutine.ParseText(bytes.NewReader(data), goroutine.Config{}, func(*goroutine.Goroutine) error { return nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := parse(20), parse(220)
	if perGoroutine := (many - few) / (200 * 81); perGoroutine > 0.01 {
		t.Errorf("got %.3f allocations per goroutine", perGoroutine)
	}
}

func TestNewStacksCostFewAllocations(t *testing.T) {
	dump := read(t, "testdata/debug2-go1.26.8.txt")
	parse := func(times int) float64 {
		data := distinct(bytes.Repeat(append(dump, '\n'), times))
		return testing.AllocsPerRun(1, func() {
			found, _, err := goroutine.ParseText(bytes.NewReader(data), goroutine.Config{}, nil)
			if err != nil || found.Headers != 81*times {
				t.Fatalf("got %+v, error %v", found, err)
			}
		})
	}
	few, many := parse(20), parse(70)
	if each := (many - few) / (50 * 81); each > 0.5 {
		t.Errorf("got %.3f allocations for each stack", each)
	}
}

func TestErrorsOfReaderAndVisitorComeBack(t *testing.T) {
	dump := read(t, "testdata/debug2-go1.26.8.txt")
	broken := errors.New("broken")
	got, _, err := goroutine.ParseText(io.MultiReader(bytes.NewReader(dump[:20000]), iotest.ErrReader(broken)), goroutine.Config{}, nil)
	if !errors.Is(err, broken) || got.Headers == 0 {
		t.Errorf("got %+v, error %v, want part of the dump and %v", got, err, broken)
	}
	n := 0
	_, _, err = goroutine.ParseText(bytes.NewReader(dump), goroutine.Config{}, func(*goroutine.Goroutine) error {
		if n++; n == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || n != 3 {
		t.Errorf("got error %v after %d goroutines, want %v after 3", err, n, broken)
	}
}

func TestNothingIsAnError(t *testing.T) {
	got := parseText(t, strings.NewReader(""))
	if got.Headers != 0 || len(got.problems) != 1 || got.problems[0].Severity != analysis.Error {
		t.Errorf("got %+v, problems %v", got.Dump, got.problems)
	}
}

// sameByLines compares reading in large pieces, where blocks are recognised whole,
// with reading byte by byte, where they never are.
func sameByLines(t testing.TB, data []byte) parsed {
	t.Helper()
	got := parseBytes(t, data)
	slow := parseText(t, iotest.OneByteReader(bytes.NewReader(data)))
	if !reflect.DeepEqual(slow, got) {
		t.Errorf("by lines (-), by blocks (+):\n%s", cmp.Diff(slow, got, cmp.AllowUnexported(parsed{})))
	}
	return got
}

// endings are texts whose last header is none of a goroutine: it stands in the value of a
// panic. One without a body stands before it.
var endings = []string{
	"goroutine 42 [select]:\n\npanic: oops\ngoroutine 48 [sleep]:\n",
	"goroutine 42 [select]:\n\npanic: oops\ngoroutine 48 [sleep]:\n\t/src/a.go:1 +0x1",
	"goroutine 42 [select]:\n\npanic: oops\ngoroutine 48 [sleep]:\n\t/src/a.go:1 +0x1\n",
}

func TestATextMayEndWithAHeaderThatIsNoGoroutine(t *testing.T) {
	for _, end := range endings {
		got := sameByLines(t, []byte("goroutine 1 [running]:\nmain.main()\n\t/src/a.go:1 +0x1\n\n"+end))
		var ids []int64
		for _, g := range got.list {
			ids = append(ids, g.ID)
		}
		if !slices.Equal(ids, []int64{1, 42}) {
			t.Errorf("%q: goroutines %v, want 1 and 42", end, ids)
		}
	}
}

// What is learned of a block must be all that its stack was made of.
func TestAFunctionWithoutFileBehindABlockIsCountedOnce(t *testing.T) {
	block := "goroutine 7 [select]:\nmain.run()\n\t/src/a.go:1 +0x1\n\nmain.stray()\n\nand so on, he said\n\n"
	got := sameByLines(t, []byte(strings.Repeat(block, 4)))
	for _, g := range got.list {
		var names []string
		for _, f := range g.Stack.Frames {
			names = append(names, f.Func)
		}
		if !slices.Equal(names, []string{"main.run", "main.stray"}) {
			t.Errorf("goroutine at %d has %v", g.Offset, names)
		}
	}
	if len(got.list) != 4 {
		t.Errorf("%d goroutines, want 4", len(got.list))
	}
}

// Each text has a block that is known by then, and one that differs from it in a way
// that only reading line by line shows.
var nearlyKnown = map[string]string{
	"the end of an older dump behind it": "goroutine 20 [select]:\nmain.f()\n\t/srv/main.go:76 +0x19\ncreated by main.g in goroutine 1\n\t/srv/main.go:76 +0x67\n\n" +
		"goroutine 21 [select]:\nmain.f()\n\t/srv/main.go:76 +0x19\ncreated by main.g in goroutine 1\n\t/srv/main.go:76 +0x67\n\t/srv/pool.go:42 +0x1d\n\n",
	"an address that is none": "goroutine 20 gp=0xc000002380 m=nil [select]:\nmain.f()\n\t/srv/main.go:76 +0x19 fp=0xc00004 sp=0xc00002 pc=0x40841c\n\n" +
		"goroutine 21 gp=0xc000002380 m=nil [select]:\nmain.f()\n\t/srv/main.go:76 +0x19 fp=0xc00004:0 sp=0xc00002 pc=0x40841c\n\n",
}

func TestWhatIsNearlyAKnownBlockIsReadByItsLines(t *testing.T) {
	for name, text := range nearlyKnown {
		t.Run(name, func(t *testing.T) { sameByLines(t, []byte(text)) })
	}
	if got := sameByLines(t, []byte(nearlyKnown["the end of an older dump behind it"])); len(got.problems) != 1 {
		t.Errorf("problems: %v", got.problems)
	}
}

func FuzzText(f *testing.F) {
	for _, text := range nearlyKnown {
		f.Add([]byte(text))
	}
	for _, end := range endings {
		f.Add([]byte(end))
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".txt") {
			data := read(f, filepath.Join("testdata", entry.Name()))
			f.Add(data[:min(len(data), 3<<10)])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append(data[:len(data):len(data)], data...) // so that blocks are recognised
		windows := bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		sameByLines(t, append(windows, data...))
		got := sameByLines(t, data)
		if got.Headers != len(got.list) || got.Bytes != int64(len(data)) || len(got.problems) > 106 {
			t.Errorf("got %+v for %d goroutines, %d problems", got.Dump, len(got.list), len(got.problems))
		}
		end := int64(0)
		for _, g := range got.list {
			if g.Stack == nil || g.Offset < end || g.Length <= 0 || g.Offset+g.Length > int64(len(data)) {
				t.Errorf("goroutine at %d, length %d, after %d of %d", g.Offset, g.Length, end, len(data))
			}
			end = g.Offset + g.Length
		}
	})
}

func TestTheEndOfAnOlderDumpBehindANewOneIsSuspected(t *testing.T) {
	block := func(id int) string {
		return fmt.Sprintf("goroutine %d [select]:\nmain.(*Pool).run(0xc000010000)\n\t/src/pool.go:42 +0x1d\ncreated by main.start in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id)
	}
	older := block(7) + block(8) + block(9)
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"a dump alone", block(1) + block(2), false},
		{"two dumps one after the other", block(1) + block(2) + older, false},
		{"the rest of a file line", block(1) + "\t/src/pool.go:42 +0x1d\n" + older, true},
		{"the rest of a function", block(1) + block(2) + "ol).run(0xc000010000)\n\t/src/pool.go:42 +0x1d\ncreated by main.start in goroutine 1\n\t/src/main.go:9 +0x1d\n\n" + older, true},
		{"a log line between goroutines", block(1) + "2026/11/21 03:00:00 server.go:12: slow +0x1d\n" + older, false},
		{"text of the user between dumps", block(1) + "  dump 2, after the restart\n" + older, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems, err := goroutine.ParseText(strings.NewReader(tt.text), goroutine.Config{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.ContainsFunc(problems, func(p analysis.Problem) bool { return strings.Contains(p.What, "the end of an older dump") })
			if got != tt.want {
				t.Errorf("suspected: %t, problems %+v", got, problems)
			}
		})
	}
}

func TestWhatBeginsACrashOrAProfileEndsTheFramesBeforeIt(t *testing.T) {
	for name, between := range map[string]string{
		"a panic whose value looks like a call": "panic: main.Code(5)\nmain.other()\n",
		"a fatal error that ends in a bracket":  "fatal error: negative counter (5)\n",
		"a signal that does":                    "SIGSEGV: segmentation violation (5)\nmain.other()\n",
		"a word before the total of a profile":  "main.other\ngoroutine profile: total 3\n",
	} {
		got := parseText(t, strings.NewReader("goroutine 7 [select]:\nmain.f()\n\t/a.go:1 +0x1\n"+between+"\t/b.go:7 +0x1\n"))
		want := []analysis.Frame{{Func: "main.f", File: "/a.go", Line: 1}}
		if len(got.list) != 1 || !slices.Equal(got.list[0].Stack.Frames, want) {
			t.Errorf("%s: got %+v", name, got.list)
		}
	}
}

func TestNamesWithBlanksAreReadBehindBlankLines(t *testing.T) {
	for _, name := range []string{"main.run[go.shape.struct { A int; B string }]", "type:.eq.struct { F int; G string }", "std::vector<int, std::allocator<int> >::push", "void work<int>"} {
		text := "goroutine 7 [select]:\n\nmain.f()\n\n\t/a.go:1 +0x1\n\n" + name + "(0x7)\n\n\t/b.go:7 +0x1\n"
		got := parseText(t, strings.NewReader(text))
		if len(got.list) != 1 || len(got.list[0].Stack.Frames) != 2 || got.list[0].Stack.Frames[1].Func != name {
			t.Errorf("%s: got %+v", name, got.list)
		}
	}
}

func TestOnlySignalsThatShowGoroutinesOpenADump(t *testing.T) {
	const block = "goroutine 7 [select]:\nmain.f()\n\t/a.go:1 +0x1\n\n"
	for line, opens := range map[string]bool{"SIGQUIT: quit": true, "SIGSEGV: segmentation violation": true, "SIGTERM: draining connections": false, "SIGHUP: reloading": false, "-----\n\nSIGQUIT: quit": false} {
		got := parseText(t, strings.NewReader(block+line+"\n\n"+strings.ReplaceAll(block, "7", "8")))
		if len(got.list) != 2 || got.list[0].Opens || got.list[1].Opens != opens {
			t.Errorf("%s: got %+v, want a second goroutine that opens a dump: %t", line, got.list, opens)
		}
	}
}

func TestNamesThatWereWrappedAreMended(t *testing.T) {
	const header = "goroutine 5 [select]:\n"
	want := analysis.Stack{
		Frames:    []analysis.Frame{{Func: "example.com/m/subscriptions.(*Dispatcher).await", File: "/home/b/src/d.go", Line: 251}},
		CreatedBy: analysis.Frame{Func: "example.com/m/subscriptions.(*Dispatcher).start", File: "/home/b/src/d.go", Line: 9},
	}
	const call, place = "example.com/m/subscriptions.(*Dispatcher).await(0xc000010000, 0x1)\n", "\t/home/b/src/d.go:251 +0x268\n"
	const creator, created = "created by example.com/m/subscriptions.(*Dispatcher).start in goroutine 1\n", "\t/home/b/src/d.go:9 +0x1\n"
	for name, text := range map[string]string{
		"not wrapped":                   header + call + place + creator + created,
		"a call within its type":        header + strings.Replace(call, "Dispatcher", "Dispat\ncher", 1) + place + creator + created,
		"a call within its path":        header + strings.Replace(call, "subscr", "sub\nscr", 1) + place + creator + created,
		"a call within its arguments":   header + strings.Replace(call, ", ", ", \n", 1) + place + creator + created,
		"a path":                        header + call + strings.Replace(place, "b/src", "b\n/src", 1) + creator + created,
		"a creator within its type":     header + call + place + strings.Replace(creator, "Dispatcher", "Dis\npatcher", 1) + created,
		"a creator behind its function": header + call + place + strings.Replace(creator, "goroutine", "gor\noutine", 1) + created,
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			_, problems, err := goroutine.ParseText(strings.NewReader(text+"\n"), goroutine.Config{}, func(g *goroutine.Goroutine) error {
				n++
				if diff := cmp.Diff(want, *g.Stack); diff != "" || g.Parent != 1 {
					t.Errorf("parent %d, stack (-want +got):\n%s", g.Parent, diff)
				}
				return nil
			})
			if n != 1 || err != nil || len(problems) > 0 {
				t.Errorf("%d goroutines, %v, %+v", n, err, problems)
			}
		})
	}
	text := header + "example.com/m/subscriptions.(*Dispat\n" + place + "\n"
	if _, problems, _ := goroutine.ParseText(strings.NewReader(text), goroutine.Config{}, nil); len(problems) != 1 || problems[0].What != "1 name of a function is cut" || problems[0].Line != 2 {
		t.Errorf("a name that is not continued: %+v", problems)
	}
}
