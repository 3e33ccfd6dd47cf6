package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
)

// functionLines are the functions of a page in words.
func functionLines(f *Flame) (out []string) {
	for _, l := range strings.Split(document.Document{Blocks: f.functionSection()}.Text(), "\n") {
		if line, listed := strings.CutPrefix(l, "  • "); listed {
			out = append(out, strings.ReplaceAll(line, hardSpace, " "))
		}
	}
	return out
}

func TestAFunctionIsChosenFromAListAndShownWithItsCallers(t *testing.T) {
	a := stackedSnapshot("t0", stackedFamily(1, "m.start > m.a > m.send"))
	b := stackedSnapshot("t1", stackedFamily(5, "m.start > m.a > m.send"), stackedFamily(2, "m.other > m.b > m.send > m.wait"), stackedFamily(3, "m.other > m.b"))
	for _, tt := range []struct {
		name, query      string
		a                *analysis.Snapshot
		headline         string
		callers, callees []string
		functions        []string
	}{
		{"the whole lists them by the stacks that have them", "", nil, "app at t1: 10 goroutines, by what they call.", nil, nil, []string{
			"7 m.send 70.0 %, 5 end in it", "5 m.b 50.0 %, 3 end in it", "5 m.a 50.0 %", "5 created by m.other 50.0 %", "5 created by m.start 50.0 %", "2 m.wait 20.0 %, 2 end in it"}},
		{"or by the stacks that end in them", "list=own", nil, "app at t1: 10 goroutines, by what they call.", nil, nil, []string{
			"7 m.send 70.0 %, 5 end in it", "5 m.b 50.0 %, 3 end in it", "2 m.wait 20.0 %, 2 end in it"}},
		{"a search leaves out the others", "q=SEND", nil, "app at t1: 10 goroutines, by what they call.", nil, nil, []string{"7 m.send 70.0 %, 5 end in it"}},
		{"one has its callers above it, heaviest first, and its callees below", "function=m.send&q=wait", nil, "app at t1: 7 goroutines in m.send.",
			[]string{"m.send: 7 goroutines, 100.0 %", " m.a: 5 goroutines, 71.4 %", "  created by m.start: 5 goroutines, 71.4 %", " m.b: 2 goroutines, 28.6 %", "  created by m.other: 2 goroutines, 28.6 %"},
			[]string{"m.send: 7 goroutines, 100.0 %", " m.wait: 2 goroutines, 28.6 %"}, []string{"2 m.wait 20.0 %, 2 end in it"}},
		{"of two snapshots they have what rose", "function=m.send&list=own&q=a", a, "app from t0 to t1: +6 goroutines in m.send.",
			[]string{"m.send: 1 → 7 goroutines, ▲+6", " m.a: 1 → 5 goroutines, ▲+4", "  created by m.start: 1 → 5 goroutines, ▲+4", " m.b: 0 → 2 goroutines, ▲+2", "  created by m.other: 0 → 2 goroutines, ▲+2"},
			[]string{"m.send: 1 → 7 goroutines, ▲+6", " m.wait: 0 → 2 goroutines, ▲+2"}, []string{"▲+2 m.wait 0 → 2, 2 end in it"}},
		{"one that is not there is said", "function=m.none&q=send", nil, "app at t1: 10 goroutines, by what they call.", nil, nil, []string{"7 m.send 70.0 %, 5 end in it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := NewFlame(flameInput(tt.a, b, tt.query))
			if f.Headline != tt.headline {
				t.Errorf("headline is %q, want %q", f.Headline, tt.headline)
			}
			spaced := func(lines []string) []string {
				for i := range lines {
					lines[i] = strings.ReplaceAll(lines[i], hardSpace, " ")
				}
				return lines
			}
			if tt.callers != nil {
				if d := cmp.Diff(tt.callers, spaced(tells(*f.Chart.Callers, 0))); d != "" {
					t.Errorf("callers: %s", d)
				}
				if d := cmp.Diff(tt.callees, spaced(tells(f.Chart.Root, 0))); d != "" {
					t.Errorf("callees: %s", d)
				}
			} else if f.Chart.Callers != nil {
				t.Error("the whole has callers")
			}
			if d := cmp.Diff(tt.functions, functionLines(&f)); d != "" {
				t.Errorf("functions: %s", d)
			}
			if missing := slices.ContainsFunc(f.Minds, func(m string) bool { return strings.Contains(m, "No stack at t1 has the function") }); missing != strings.Contains(tt.query, "none") {
				t.Errorf("the page minds %q", f.Minds)
			}
		})
	}
}

func TestTheTableOfAFunctionHasItsCallersBelowLevelZero(t *testing.T) {
	f := NewFlame(flameInput(nil, stackedSnapshot("t0", stackedFamily(4, "m.start > m.a > m.send > m.wait")), "function=m.send"))
	want := [][]string{{"m.a", "-1", "4"}, {"created by m.start", "-2", "4"}, {"m.send", "0", "4"}, {"m.wait", "1", "4"}}
	var got [][]string
	for _, r := range f.Chart.Twin.Rows {
		got = append(got, r[:3])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
