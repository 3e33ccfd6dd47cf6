package ingest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// recorded is a file of testdata/trace. Between its two dumps the program had a trace of 3 s, in
// which it opened 12 sessions and started 6 workers, then it opened 8 more sessions. other.txt is
// of a second process, which gave the same ids to workers.
func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "trace", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shown are the first own frames that started the sessions of a snapshot, how many of how many
// are known, and the starts and ends of a trace.
func shown(s *analysis.Snapshot) (by string, count, of int, births analysis.Births) {
	for i := range s.Groups {
		f := s.Groups[i].Family
		if !strings.Contains(f.Title, "keepAlive") {
			continue
		}
		births = s.Births[f.Fingerprint]
		for _, a := range s.Ancestries[f.Fingerprint] {
			by, count, of = a.Stacks[0].Frames[1].Func, count+a.Count, a.Of
		}
	}
	return by, count, of, births
}

func TestADumpShowsTheGoStatementsOfThoseThatStartedInATraceBeforeIt(t *testing.T) {
	first, trace, last, other := recorded(t, "go1.26.8/goroutine-1.txt"), recorded(t, "go1.26.8/trace-2.out"), recorded(t, "go1.26.8/goroutine-3.txt"), recorded(t, "go1.26.8/other.txt")
	const dial = "example.com/shop/lib.Dial"
	type shows struct {
		by             string
		known          int
		started, ended int
	}
	none, all := shows{}, shows{dial, 12, 12, 0}
	for name, tc := range map[string]struct {
		files map[string]string
		want  []shows
		said  string
	}{
		"two dumps and a trace between them in one directory": {map[string]string{"shop/goroutine-1.txt": first, "shop/trace-2.out": trace, "shop/goroutine-3.txt": last}, []shows{none, all, all}, ""},
		"a trace beside the last dump":                        {map[string]string{"t0/shop/goroutine.txt": first, "t1/shop/goroutine.txt": last, "t1/shop/trace.out": trace}, []shows{none, all}, ""},
		"a trace in a directory of its own":                   {map[string]string{"t0/shop/goroutine.txt": first, "t1/shop/trace.out": trace, "t2/shop/goroutine.txt": last}, []shows{none, all, all}, ""},
		"a trace after the dump":                              {map[string]string{"shop/goroutine-1.txt": first, "shop/trace-2.out": trace}, []shows{none, all}, ""},
		"a trace alone":                                       {map[string]string{"shop/trace.out": trace}, []shows{all}, ""},
		"a trace of a program of Go 1.22, which has no clock": {map[string]string{"shop/trace-2.out": recorded(t, "go1.22.12/trace-2.out"), "shop/goroutine-3.txt": recorded(t, "go1.22.12/goroutine-3.txt")}, []shows{all, all}, "does not say when"},
		"a trace that was cut after those starts":             {map[string]string{"shop/trace-2.out": trace[:len(trace)*4/5], "shop/goroutine-3.txt": last}, []shows{all, all}, "was read up to"},
		"a dump of another process":                           {map[string]string{"shop/trace-2.out": trace, "shop/goroutine-3.txt": other}, []shows{all, none}, "what the trace shows is not joined to goroutine-3.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, tc.files)
			if len(r.Snapshots) != len(tc.want) {
				t.Fatalf("%d snapshots, want %d; %+v", len(r.Snapshots), len(tc.want), r.Problems)
			}
			for i, want := range tc.want {
				by, count, of, b := shown(&r.Snapshots[i])
				if got := (shows{by, count, b.Started, b.Ended}); got != want || of != count || want.started > 0 && b.Window.Round(time.Second) != 3*time.Second && tc.said != "was read up to" {
					t.Errorf("snapshot %d shows %+v of %d in %v, want %+v", i, got, of, b.Window, want)
				}
			}
			if tc.said != "" && !slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool { return strings.Contains(p.What+p.Why, tc.said) }) {
				t.Errorf("nothing says %q: %+v", tc.said, r.Problems)
			}
		})
	}
}

func TestADumpOfAnotherPidOrHostIsNotJoinedToATrace(t *testing.T) {
	fact := func(value string) analysis.Fact { return analysis.Fact{Value: value} }
	p := analysis.Process{Host: fact("a"), Name: fact("shop"), PID: fact("7")}
	for name, tc := range map[string]struct {
		change func(*analysis.Process)
		one    bool
	}{
		"the same":     {func(*analysis.Process) {}, true},
		"no pid known": {func(q *analysis.Process) { q.PID = fact("") }, true},
		"another pid":  {func(q *analysis.Process) { q.PID = fact("8") }, false},
		"another host": {func(q *analysis.Process) { q.Host = fact("b") }, false},
		"another name": {func(q *analysis.Process) { q.Name = fact("shopper") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := p
			tc.change(&q)
			if oneProcess(&p, &q) != tc.one || oneProcess(&q, &p) != tc.one {
				t.Errorf("one process: %t", !tc.one)
			}
		})
	}
}

// startsIn has the goroutines from 1 to n as started by lib.start in goroutine 1.
func startsIn(n int64) *window {
	w := newWindow()
	for id := range n {
		w.started[id+1] = start{1, "\x04\nlib.start\n/lib.go:1\n"}
	}
	return w
}

func TestATraceIsHeldToCreatorsAndParents(t *testing.T) {
	group := func(creator string, parent int64, ids ...int64) analysis.Group {
		c := &analysis.Columns{}
		for _, id := range ids {
			c.ID, c.Parent, c.Variant = append(c.ID, id), append(c.Parent, parent), append(c.Variant, 0)
		}
		stack := &analysis.Stack{Frames: []analysis.Frame{{Func: "lib.run"}}, CreatedBy: analysis.Frame{Func: creator}}
		return analysis.Group{Family: &analysis.Family{Kind: analysis.KindGoroutine, Fingerprint: creator + string(rune('0'+parent))}, Count: len(ids), Variants: []analysis.Variant{{Stack: stack, Count: len(ids)}}, Members: analysis.Members{Columns: c}}
	}
	nine := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for name, tc := range map[string]struct {
		groups      []analysis.Group
		same, other int
		lent        map[string]int
	}{
		"all are the same":                  {[]analysis.Group{group("lib.start", 1, nine...)}, 9, 0, map[string]int{"lib.start1": 9}},
		"a parent that no dump prints":      {[]analysis.Group{group("lib.start", 0, nine...)}, 9, 0, map[string]int{"lib.start0": 9}},
		"another parent":                    {[]analysis.Group{group("lib.start", 2, nine...)}, 0, 9, map[string]int{}},
		"another creator":                   {[]analysis.Group{group("lib.other", 1, nine...)}, 0, 9, map[string]int{}},
		"one of ten is another":             {[]analysis.Group{group("lib.start", 1, nine...), group("lib.other", 1, 10)}, 9, 1, map[string]int{"lib.start1": 9}},
		"one of nine is another":            {[]analysis.Group{group("lib.start", 1, nine[:8]...), group("lib.other", 1, 10)}, 8, 1, map[string]int{}},
		"none of them started in the trace": {[]analysis.Group{group("lib.start", 1, 11, 12)}, 0, 0, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			counts := map[string]map[string]int{}
			same, other := startsIn(10).held(tc.groups, counts)
			lent := map[string]int{}
			for print, of := range counts {
				for _, n := range of {
					lent[print] += n
				}
			}
			if same != tc.same || other != tc.other || !maps.Equal(lent, tc.lent) {
				t.Errorf("%d the same, %d others, lent %v", same, other, lent)
			}
		})
	}
}

// TestStartsAreExactThoughOthersEndedOfUnknownOrigin: those that ended may be older than the trace.
func TestStartsAreExactThoughOthersEndedOfUnknownOrigin(t *testing.T) {
	groups := []analysis.Group{{
		Family:   &analysis.Family{Kind: analysis.KindGoroutine, Fingerprint: "g1:work"},
		Variants: []analysis.Variant{{Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: "main.work"}}, CreatedBy: analysis.Frame{Func: "main.serve"}}}},
	}}
	for _, c := range []struct {
		name    string
		unknown analysis.Births
		want    map[string]analysis.Births
	}{
		{"all known", analysis.Births{}, map[string]analysis.Births{"g1:work": {Started: 42, Ended: 1}}},
		{"some that ended are not", analysis.Births{Ended: 9}, map[string]analysis.Births{"g1:work": {Started: 42, Ended: 1, Untold: 9}}},
		{"one that started is not", analysis.Births{Started: 1, Ended: 9}, nil},
	} {
		w := window{births: map[goroutine.Origin]analysis.Births{{Entry: "main.work", Creator: "main.serve"}: {Started: 42, Ended: 1}, {}: c.unknown}}
		if d := cmp.Diff(c.want, w.bornTo(groups)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
