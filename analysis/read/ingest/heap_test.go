package ingest

import (
	"os"
	"testing"
	"time"

	"leakdiff/analysis"
)

func histogramFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../histogram/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAHeapProfileBelongsToTheDumpBesideIt(t *testing.T) {
	r := run(t, map[string]string{
		"t0/goroutine.txt": lockedDump, "t0/heap.pb.gz": profileFile(t, "heap-1-go1.26.8.pb.gz"),
		"t1/goroutine.txt": lockedDump, "t1/heap.pb.gz": profileFile(t, "heap-3-go1.26.8.pb.gz"), "t1/allocs.pb.gz": profileFile(t, "allocs-3-go1.26.8.pb.gz"),
	})
	if len(r.Snapshots) != 2 {
		t.Fatalf("%d snapshots", len(r.Snapshots))
	}
	for _, s := range r.Snapshots {
		want := map[string]int64{"t0": 11004396, "t1": 26856236}[s.Label]
		if s.Heap == nil || s.Heap.Bytes != want || s.Figures[analysis.HeapBytes] != float64(want) || *s.Totals.Goroutines != 2 || s.Process.Name.Value != "cachegrow" {
			t.Errorf("%s of %s: %+v", s.Label, s.Process.Name.Value, s.Heap)
		}
	}
}

func TestHeapsOfSeveralMomentsAreSnapshots(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"profiles": {"heap-1.pb.gz": profileFile(t, "heap-1-go1.26.8.pb.gz"), "heap-2.pb.gz": profileFile(t, "heap-2-go1.26.8.pb.gz"), "heap-3.pb.gz": profileFile(t, "heap-3-go1.26.8.pb.gz")},
		"profiles beside a dump of the first": {"heap-1.pb.gz": profileFile(t, "heap-1-go1.26.8.pb.gz"), "heap-2.pb.gz": profileFile(t, "heap-2-go1.26.8.pb.gz"), "heap-3.pb.gz": profileFile(t, "heap-3-go1.26.8.pb.gz"),
			"goroutine-1.txt": lockedDump},
		"histograms":                       {"histo-1.txt": histogramFile(t, "jcmd-1-jdk17.txt"), "histo-2.txt": histogramFile(t, "jcmd-2-jdk17.txt"), "histo-3.txt": histogramFile(t, "jcmd-3-jdk17.txt")},
		"histograms of a loop in one file": {"loop.txt": histogramFile(t, "loop-jdk17.txt")},
	} {
		r := run(t, files)
		if len(r.Snapshots) != 3 {
			t.Errorf("%s: %d snapshots", name, len(r.Snapshots))
			continue
		}
		for i, s := range r.Snapshots {
			if s.Heap == nil || i > 0 && s.Heap.Bytes <= r.Snapshots[i-1].Heap.Bytes || s.Process.Key() != r.Snapshots[0].Process.Key() {
				t.Errorf("%s: %d of %s: %+v", name, i+1, s.Process.Key(), s.Heap)
			}
		}
	}
}

func TestHistogramsBelowDatesHaveTheirTimes(t *testing.T) {
	s := run(t, map[string]string{"loop.txt": histogramFile(t, "loop-jdk17.txt")}).Snapshots
	if at := s[0].CapturedAt.Format(time.DateTime); at != "2026-11-28 14:37:45" || s[0].Process.PID.Value != "2714" || !s[0].Heap.LowerBound {
		t.Errorf("at %s of %s", at, s[0].Process.PID.Value)
	}
}

func TestAHeapThatFitsSeveralDumpsIsNamed(t *testing.T) {
	r := run(t, map[string]string{"goroutine-1.txt": lockedDump, "goroutine-2.txt": lockedDump + "\n", "heap.txt": profileFile(t, "heap-3-go1.26.8.txt")})
	for _, p := range r.Problems {
		if p.What == "what the heap holds is not shown" && p.Path == "heap.txt" && p.Severity == analysis.Warning {
			return
		}
	}
	t.Errorf("%+v", r.Problems)
}

func TestAHistogramBelowItsCommandIsOfTheProcessItNames(t *testing.T) {
	r := run(t, map[string]string{"shell.txt": "$ jcmd 2714 GC.class_histogram\n" + histogramFile(t, "jmap-3-jdk17.txt")})
	if len(r.Snapshots) != 1 || r.Snapshots[0].Heap == nil || r.Snapshots[0].Heap.Bytes != 21043712 {
		t.Fatalf("%+v", r.Artifacts)
	}
}

func TestAReportOfNodeHasTheSpacesOfItsHeap(t *testing.T) {
	b, err := os.ReadFile("../nodereport/testdata/agent-t0.json")
	if err != nil {
		t.Fatal(err)
	}
	h := run(t, map[string]string{"report.json": string(b)}).Snapshots[0].Heap
	if h == nil || h.By != analysis.HeapBySpace || h.Bytes != 44038392 || h.Rows[0].Name != "old_space" || h.Rows[0].Bytes != 23986640 {
		t.Errorf("%+v", h)
	}
}
