package thread_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
	"leakdiff/samples/corpus"
)

// seeds adds real dumps, as far as the corpus is there, and the texts of the
// tables.
func seeds(f *testing.F, pattern string, own ...string) {
	for _, text := range own {
		f.Add(text)
	}
	root, _ := corpus.Root(f)
	names, _ := filepath.Glob(filepath.Join(root, "threads", "jdk-matrix", pattern))
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b[:min(len(b), 8<<10)]))
			f.Add(string(b[max(len(b)-4<<10, 0):]))
		}
	}
}

func check(t *testing.T, text string, parse func(visit func(int, *analysis.Thread) error) ([]thread.Dump, []analysis.Problem, error)) {
	counts := map[int]int{}
	dumps, problems, err := parse(func(ordinal int, x *analysis.Thread) error {
		counts[ordinal]++
		if x.Stack == nil || x.Offset < 0 || x.Length < 0 || x.Offset+x.Length > int64(len(text)) || x.Line < 1 {
			t.Fatalf("place of %+v in %d bytes", x, len(text))
		}
		for _, l := range x.Locks {
			if l.How == "" || l.Frame < -1 || l.Frame >= len(x.Stack.Frames) {
				t.Fatalf("lock %+v of %d frames", l, len(x.Stack.Frames))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 101 {
		t.Fatalf("%d problems", len(problems))
	}
	for i, d := range dumps {
		if d.Ordinal != i || d.Threads != counts[i] || d.Offset < 0 || d.Offset > int64(len(text)) || d.Truncated != (d.TruncatedWhy != "") {
			t.Fatalf("%d threads were visited of %+v", counts[i], d)
		}
	}
}

func FuzzParseText(f *testing.F) {
	seeds(f, "*/*.txt", hotSpotThread, "Name: a\nState: WAITING on C@1b\n", "Thread 5: (state = BLOCKED)\n - a.B.c() @bci=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text, func(visit func(int, *analysis.Thread) error) ([]thread.Dump, []analysis.Problem, error) {
			return thread.ParseText(strings.NewReader(text), thread.Config{MaxStacks: 100}, visit)
		})
		thread.Foreign(strings.NewReader(text), "x")
	})
}

func FuzzParseJavacore(f *testing.F) {
	f.Add(openJ9)
	f.Add(classic)
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text, func(visit func(int, *analysis.Thread) error) ([]thread.Dump, []analysis.Problem, error) {
			return thread.ParseJavacore(strings.NewReader(text), thread.Config{MaxStacks: 100}, visit)
		})
	})
}

func FuzzParseHotThreads(f *testing.F) {
	f.Add(hotThreads)
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text, func(visit func(int, *analysis.Thread) error) ([]thread.Dump, []analysis.Problem, error) {
			return thread.ParseHotThreads(strings.NewReader(text), thread.Config{MaxStacks: 100}, visit)
		})
	})
}

func FuzzParseJSON(f *testing.F) {
	seeds(f, "*/*.json", fileJSON, actuatorJSON)
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text, func(visit func(int, *analysis.Thread) error) ([]thread.Dump, []analysis.Problem, error) {
			return thread.ParseJSON(strings.NewReader(text), thread.Config{MaxStacks: 100}, visit)
		})
	})
}

func FuzzParseClients(f *testing.F) {
	f.Add(clientText)
	f.Fuzz(func(t *testing.T, text string) {
		c, problems, err := thread.ParseClients(strings.NewReader(text), "x")
		if err != nil || len(problems) > 101 {
			t.Fatalf("%v, %d problems", err, len(problems))
		}
		c.Figures()
		c.Saturated()
		c.Quiet()
		if _, _, err := thread.ParseTargets(strings.NewReader(text), "x"); err != nil {
			t.Fatal(err)
		}
	})
}
