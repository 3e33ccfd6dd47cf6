package goroutine

import (
	"os"
	"testing"

	"leakdiff/analysis"
)

func TestTheOriginOfAStackIsWhatATraceCallsIt(t *testing.T) {
	stack := func(creator string, frames ...string) *analysis.Stack {
		s := &analysis.Stack{CreatedBy: analysis.Frame{Func: creator}}
		for _, f := range frames {
			s.Frames = append(s.Frames, analysis.Frame{Func: f})
		}
		return s
	}
	deep := make([]string, mostTracedFrames)
	elided := stack("main.main", "main.run")
	elided.Elided = -1
	for name, tc := range map[string]struct {
		of   *analysis.Stack
		want Origin
	}{
		"the outermost function and the creator":      {stack("main.main", "runtime.gopark", "main.wait", "main.run"), Origin{"main.run", "main.main"}},
		"runtime.goexit is no function of it":         {stack("main.main", "main.run", "runtime.goexit"), Origin{"main.run", "main.main"}},
		"the wrapper of a go statement is left out":   {stack("main.main", "main.run", "main.main.gowrap1"), Origin{"main.run", "main.main"}},
		"a function whose name begins like a wrapper": {stack("main.main", "main.run", "main.main.gowrapped"), Origin{"main.main.gowrapped", "main.main"}},
		"a wrapper alone":                             {stack("main.main", "main.main.gowrap1"), Origin{"main.main.gowrap1", "main.main"}},
		"type arguments are those of a dump":          {stack("main.start[go.shape.int]", "main.run[go.shape.struct { F [2]int }].func1"), Origin{"main.run[...].func1", "main.start[...]"}},
		"no creator":                                  {stack("", "main.main"), Origin{"main.main", ""}},
		"no frames":                                   {stack("main.main"), Origin{"", "main.main"}},
		"outer frames that are left out":              {elided, Origin{"", "main.main"}},
		"as many frames as a trace records":           {stack("main.main", deep...), Origin{"", "main.main"}},
		"one frame fewer":                             {stack("main.main", append(deep[2:len(deep):len(deep)], "main.run")...), Origin{"main.run", "main.main"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OriginOf(tc.of); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// While the traces were taken the program opened 12 sessions, started 6 workers, and 20 jobs that
// ended: see testdata/trace/program of ingest.
func TestStartsAndEndsOfATraceAreExactAndHaveTheirGoStatement(t *testing.T) {
	for _, version := range []string{"go1.26.8", "go1.22.12"} {
		t.Run(version, func(t *testing.T) {
			f, err := os.Open("../ingest/testdata/trace/" + version + "/trace-2.out")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			started := map[string]int{} // by the frames of the go statement
			found, _, err := ParseTrace(f, Config{}, func(g *Goroutine) error {
				if stacks := ParseAncestors(g.Ancestors); len(stacks) == 1 && len(stacks[0].Frames) > 2 {
					s := stacks[0].Frames
					started[s[0].Func+" < "+s[1].Func+" < "+s[2].Func]++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for o, want := range map[Origin][2]int{
				{"example.com/shop/lib.(*Session).keepAlive", "example.com/shop/lib.(*Session).start"}: {12, 0},
				{"main.worker", "main.grow"}:    {6, 0},
				{"main.job", "main.jobs.func1"}: {20, 20},
			} {
				if got := found.Births[o]; got.Started != want[0] || got.Ended != want[1] || got.Window != found.Window {
					t.Errorf("%v: %+v in %v, want %v", o, got, found.Window, want)
				}
			}
			for stack, want := range map[string]int{
				"example.com/shop/lib.(*Session).start < example.com/shop/lib.Dial < main.syncCustomer": 12,
				"main.grow < main.times < main.main.func2":                                              6,
			} {
				if started[stack] != want {
					t.Errorf("%d of %s, want %d: %v", started[stack], stack, want, started)
				}
			}
			if n := found.Births[Origin{}]; n.Started+n.Ended > 0 {
				t.Errorf("%+v of no known origin", n)
			}
		})
	}
}

func TestOriginsAndGoStatementsOfATraceAreBounded(t *testing.T) {
	b := newBirths()
	for i := range mostOrigins + 3 {
		b.count(Origin{Entry: "main.f", Creator: string(rune('a' + i))}, analysis.Births{Started: 1})
	}
	if unknown := b.all[Origin{}].Started; len(b.all) != mostOrigins+1 || unknown != 3 {
		t.Errorf("%d origins, %d beyond them", len(b.all), unknown)
	}
	b.count(Origin{Creator: "main.main"}, analysis.Births{Ended: 1})
	if b.all[Origin{}].Ended != 1 {
		t.Error("an end of an unknown function is lost")
	}
}
