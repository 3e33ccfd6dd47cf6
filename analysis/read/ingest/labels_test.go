package ingest

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// labelledDump has a goroutine for each label set, whose header prints it.
func labelledDump(sets int) string {
	var b strings.Builder
	for i := range sets {
		fmt.Fprintf(&b, "goroutine %d [select labels:{\"tenant\": \"t%d\"}]:\nmain.work()\n\t/src/app/work.go:21 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:12 +0x5a\n\n", 10+i, i)
	}
	return b.String()
}

func TestLabelsOfGoroutinesAreKeptUpToABoundWhichIsSaid(t *testing.T) {
	for _, tc := range []struct{ sets, kept, problems int }{{3, 3, 0}, {maxLabelled, maxLabelled, 0}, {maxLabelled + 2, maxLabelled, 1}} {
		r := run(t, map[string]string{"app/goroutine.txt": labelledDump(tc.sets)})
		if len(r.Snapshots) != 1 || len(r.Snapshots[0].Groups) != 1 || r.Snapshots[0].Groups[0].Count != tc.sets {
			t.Fatalf("%d: %d snapshots, %+v", tc.sets, len(r.Snapshots), r.Problems)
		}
		g, kept := &r.Snapshots[0].Groups[0], 0
		for m := range g.Members.All() {
			if m.State != "select" {
				t.Fatalf("state %q", m.State)
			}
			if want := analysis.LabelsOf(map[string]string{"tenant": fmt.Sprintf("t%d", m.Identity.ID-10)}); m.Labels == want {
				kept++
			}
		}
		if kept != tc.kept || g.States["select"] != tc.sets {
			t.Errorf("%d sets: %d kept, want %d; states %v", tc.sets, kept, tc.kept, g.States)
		}
		problems := 0
		for _, p := range r.Problems {
			if strings.HasPrefix(p.What, "the labels of 2 goroutines were not kept") {
				problems++
			}
		}
		if problems != tc.problems {
			t.Errorf("%d sets: %+v", tc.sets, r.Problems)
		}
	}
}
