package goroutine_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// traces is ParsePprof as the other parsers of profiles are.
func traces(r io.Reader, cfg goroutine.Config, visit func(*goroutine.Record) error) (goroutine.Profile, []analysis.Problem, error) {
	p, _, problems, err := goroutine.ParsePprof(r, cfg, visit)
	return p, problems, err
}

const tracesText = "File: prober\nBuild ID: abc\nType: goroutine\nTime: Nov 21, 2026 at 3:00am (UTC)\n" +
	"-----------+-------------------------------------------------------\n" +
	"        10   runtime.gopark\n             runtime.chanrecv (inline)\n             main.(*T).work /src/m.go:12\n" +
	"-----------+-------------------------------------------------------\n" +
	"     controller:  node\n         1   main.main\n             runtime.main\n" +
	"-----------+-------------------------------------------------------\n"

func TestStacksOfPprofTracesAreCounted(t *testing.T) {
	got := parseProfile(t, traces, strings.NewReader(tracesText))
	want := []*analysis.Stack{
		{Frames: []analysis.Frame{frame("runtime.gopark", "", 0), frame("runtime.chanrecv", "", 0), frame("main.(*T).work", "/src/m.go", 12)}},
		{Frames: []analysis.Frame{frame("main.main", "", 0), frame("runtime.main", "", 0)}},
	}
	if len(got.list) != 2 || got.list[0].Count != 10 || got.list[1].Count != 1 {
		t.Fatalf("got %+v", got.list)
	}
	if diff := cmp.Diff(want, []*analysis.Stack{got.list[0].Stack, got.list[1].Stack}); diff != "" {
		t.Errorf("stacks (-want +got):\n%s", diff)
	}
	if got.Sum != 11 || got.Total != 11 || !got.Whole() || got.Executable != "prober" || !got.Time.Equal(time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", got.Profile)
	}
}

func TestFunctionsOfPprofTopAreNoStacks(t *testing.T) {
	text := "File: prober\nType: goroutine\nShowing nodes accounting for 811, 100% of 811 total\nDropped 30 nodes (cum <= 4)\n" +
		"      flat  flat%   sum%        cum   cum%\n       810 99.88% 99.88%        810 99.88%  runtime.gopark\n         1  0.12%   100%        801 98.77%  main.(*worker).run (inline)\n"
	p, functions, _, err := goroutine.ParsePprof(strings.NewReader(text), goroutine.Config{}, nil)
	if diff := cmp.Diff([]goroutine.FunctionCount{{Func: "runtime.gopark", Count: 810}, {Func: "main.(*worker).run", Count: 801}}, functions); diff != "" || err != nil {
		t.Errorf("%v, functions (-want +got):\n%s", err, diff)
	}
	if p.Total != 811 || p.Sum != 0 || p.Records != 0 || p.Whole() {
		t.Errorf("got %+v", p)
	}
}

func FuzzPprof(f *testing.F) {
	f.Add([]byte(tracesText))
	f.Add([]byte("Type: goroutine\n-----------+---\n 0 a:\n 7 b: c\n")) // counts without a frame
	f.Add([]byte("Type: goroutine\n      flat  flat%   sum%        cum   cum%\n 1 1% 1% 1 1% main.f\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := 0
		p, functions, _, err := goroutine.ParsePprof(bytes.NewReader(data), goroutine.Config{}, func(r *goroutine.Record) error {
			if sum += r.Count; r.Stack == nil || r.Count < 0 || r.Length <= 0 || r.Offset+r.Length > int64(len(data))+1 {
				t.Errorf("got record %+v", r)
			}
			return nil
		})
		var fault *analysis.Fault
		if err != nil && !errors.As(err, &fault) || err == nil && (p.Sum != sum || p.Total < p.Sum) || len(functions) > 1000 {
			t.Errorf("got %+v of %d, %v", p, sum, err)
		}
	})
}
