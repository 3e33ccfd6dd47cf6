package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestALongStackKeepsWhatTellsMost checks any stack: no frame is lost or moved. At most
// twelve are shown, except single ones between others. Among them are the leaf, the
// outermost, the first of own code, and the creator.
func TestALongStackKeepsWhatTellsMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []TraceRow
		for i, own := range rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(t, "own") {
			name := rapid.SampledFrom([]string{"sync.f%d", "example.com/a.f%d", "java.net.f%d"}).Draw(t, "name")
			rows = append(rows, TraceRow{Function: fmt.Sprintf(name, i), Own: own})
		}
		n := len(rows)
		if rapid.Bool().Draw(t, "creator") {
			rows = append(rows, TraceRow{Function: "main.main", Creator: true})
		}
		folded := fold(slices.Clone(rows), mostFrames)
		var all, shown []TraceRow
		for _, r := range folded {
			switch {
			case len(r.Folded) == 1:
				t.Fatalf("one frame is folded: %+v", r)
			case len(r.Folded) > 0:
				all = append(all, r.Folded...)
			default:
				all, shown = append(all, r), append(shown, r)
			}
		}
		if d := cmp.Diff(rows, all); d != "" {
			t.Fatal(d)
		}
		if n > mostFrames && len(shown) > 2*mostFrames {
			t.Fatalf("%d of %d frames are shown", len(shown), n)
		}
		must := []TraceRow{rows[0], rows[n-1], rows[len(rows)-1]}
		if at := slices.IndexFunc(rows, func(r TraceRow) bool { return r.Own }); at >= 0 {
			must = append(must, rows[at])
		}
		for _, r := range must {
			if !slices.ContainsFunc(shown, func(x TraceRow) bool { return x.Function == r.Function }) {
				t.Fatalf("%s is not shown of %+v", r.Function, rows)
			}
		}
	})
}

func TestThePlumbingOfALongStackIsFolded(t *testing.T) {
	var rows []TraceRow
	for i := range 10 {
		rows = append(rows, TraceRow{Function: fmt.Sprintf("net/http.f%d", i), Place: fmt.Sprintf("http.go:%d", i)})
	}
	rows = append(rows, TraceRow{Function: "example.com/lib.Do", Place: "do.go:1"}, TraceRow{Function: "main.work", Place: "main.go:2", Own: true}, TraceRow{Function: "main.serve", Place: "main.go:3", Own: true})
	for i := range 5 {
		rows = append(rows, TraceRow{Function: fmt.Sprintf("example.com/web.f%d", i)})
	}
	rows = append(rows, TraceRow{Function: "main.main", Place: "main.go:1", Own: true, Creator: true})
	trace := Trace{Caption: "Stack of 3 of 4 goroutines at t1", Rows: fold(rows, mostFrames)}
	want := []string{
		"  net/http.f0           http.go:0", "  net/http.f1           http.go:1", "  net/http.f2           http.go:2", "  net/http.f3           http.go:3",
		"  … 6 more frames",
		"  example.com/lib.Do    do.go:1", "> main.work             main.go:2", "> main.serve            main.go:3",
		"  example.com/web.f0", "  example.com/web.f1", "  example.com/web.f2", "  example.com/web.f3", "  example.com/web.f4",
		"> created by main.main  main.go:1",
	}
	if d := cmp.Diff(want, trace.Lines(80)); d != "" {
		t.Error(d)
	}
	if got := trace.Head(); got != "Stack of 3 of 4 goroutines at t1 (> own code):" {
		t.Error(got)
	}
}

func TestAPlaceThatDoesNotFitStandsBelow(t *testing.T) {
	long := "example.com/" + strings.Repeat("x", 40) + ".f"
	trace := Trace{Rows: []TraceRow{{Function: "main.f", Place: "a.go:1"}, {Function: long, Place: "long_name.go:12"}}}
	got := trace.Lines(60)
	if d := cmp.Diff([]string{"  main.f  a.go:1", "  " + long, "      long_name.go:12"}, got); d != "" {
		t.Error(d)
	}
	for _, l := range got {
		if utf8.RuneCountInString(l) > 60 {
			t.Errorf("%q is wider than 60", l)
		}
	}
}

func TestTheCaptionCountsTheMembersWithThatStack(t *testing.T) {
	for _, tt := range []struct {
		of   StackOf
		want string
	}{
		{StackOf{Kind: "goroutine", Members: 60, Of: 64}, "Stack of 60 of 64 goroutines at t7"},
		{StackOf{Kind: "goroutine", Members: 64, Of: 64}, "Stack of all 64 goroutines at t7"},
		{StackOf{Kind: "thread", Members: 1, Of: 1}, "Stack of the thread at t7"},
		{StackOf{Kind: "thread", Members: 1, Of: 3}, "Stack of 1 of 3 threads at t7"},
	} {
		tt.of.Snapshot = "s7"
		f := Finding{Stack: []StackFrame{{Function: "a.B", File: "/x/b.go", Line: 3}}, StackOf: &tt.of}
		got := new(Traces).Of(&f, func(id string) string { return "t" + id[1:] })
		if got.Caption != tt.want || got.Rows[0].Place != "b.go:3" {
			t.Errorf("%+v, want %q", got, tt.want)
		}
	}
	for elided, want := range map[int]string{0: "", 51: "The runtime left out 51 more frames.", -1: "The runtime left out an unknown number of frames."} {
		f := Finding{Stack: []StackFrame{{Function: "a.B"}}, StackOf: &StackOf{Kind: "goroutine", Members: 1, Of: 1, Elided: elided}}
		if got := new(Traces).Of(&f, func(string) string { return "t0" }).Note; got != want {
			t.Errorf("%d elided frames: %q", elided, got)
		}
	}
	if new(Traces).Of(&Finding{Stack: []StackFrame{}}, nil) != nil {
		t.Error("a finding without a stack has a trace")
	}
}

func TestAShortTraceFoldsMoreAndLosesNothing(t *testing.T) {
	var rows []TraceRow
	for i := range 20 {
		rows = append(rows, TraceRow{Function: fmt.Sprintf("net/http.f%d", i)})
	}
	rows = append(rows, TraceRow{Function: "main.main", Creator: true})
	all := Trace{Rows: fold(rows, mostFrames)}
	short := all.Short(6)
	n := 0
	for _, r := range short.Rows {
		n += max(1, len(r.Folded))
	}
	if n != len(rows) || len(short.Rows) > 9 || !short.Rows[len(short.Rows)-1].Creator {
		t.Errorf("%d frames in %d rows", n, len(short.Rows))
	}
}
