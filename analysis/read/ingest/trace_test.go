package ingest

import (
	"bytes"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// held is where the goroutines of the test wait.
func held(end <-chan struct{}) { <-end }

func TestGoroutinesOfAnExecutionTraceAreASnapshot(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	waiting := func() (n int) {
		var dump bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&dump, 2); err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(dump.String(), "\n\n") {
			if strings.Contains(block, "ingest.held(") && strings.Contains(block, "[chan receive") {
				n++
			}
		}
		return n
	}
	take := func() string {
		before := waiting()
		var out bytes.Buffer
		if err := trace.Start(&out); err != nil {
			t.Fatal("the trace did not begin; is the test itself traced? ", err)
		}
		for range 20 {
			go held(end)
		}
		for waiting() < before+20 {
			time.Sleep(10 * time.Millisecond)
		}
		trace.Stop()
		return out.String()
	}
	r := run(t, map[string]string{"t0/app/trace.out": take(), "t1/app/trace.out": take()})
	if len(r.Snapshots) != 2 {
		t.Fatalf("%d snapshots; %+v", len(r.Snapshots), r.Problems)
	}
	ids := map[int64]int{}
	for i, want := range []int{20, 40} {
		s := r.Snapshots[i]
		found := 0
		for _, g := range s.Groups {
			if strings.Contains(g.Family.Title, "ingest.held") {
				found += g.Count
				for id := range g.Members.Identities() {
					ids[id.ID]++
				}
			}
		}
		if found != want || s.Totals.Goroutines == nil || *s.Totals.Goroutines < want || s.CapturedAt.IsZero() {
			t.Errorf("%s: %d in held, want %d; total %v at %s", s.Label, found, want, s.Totals.Goroutines, s.CapturedAt)
		}
	}
	stayed := 0
	for _, n := range ids {
		if n == 2 {
			stayed++
		}
	}
	if len(ids) != 40 || stayed != 20 {
		t.Errorf("%d ids, %d of them in both traces, want 40 and 20", len(ids), stayed)
	}
	said := 0
	for _, p := range r.Problems {
		if p.Severity == analysis.Note && strings.Contains(p.What, "of the trace") && strings.Contains(p.What, "started") {
			said++
		}
	}
	if said != 2 {
		t.Errorf("who came and went is said %d times, want 2; %+v", said, r.Problems)
	}
}
