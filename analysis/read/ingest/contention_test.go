package ingest

import (
	"os"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

func profileFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../goroutine/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const lockedDump = "goroutine 1 [sync.Mutex.Lock]:\nmain.add()\n\t/src/main.go:9 +0x1d\n\ngoroutine 7 [sleep]:\nmain.flush()\n\t/src/main.go:9 +0x1d\n\n"

func TestAMutexProfileBelongsToTheDumpBesideIt(t *testing.T) {
	mutex, block := profileFile(t, "mutex-go1.26.8.pb.gz"), profileFile(t, "block-go1.26.8.txt")
	r := run(t, map[string]string{
		"t0/goroutine.txt": lockedDump,
		"t1/goroutine.txt": lockedDump, "t1/mutex.pb.gz": mutex, "t1/mutex.txt": profileFile(t, "mutex-go1.26.8.txt"), "t1/block.txt": block,
	})
	if len(r.Snapshots) != 2 {
		t.Fatalf("%d snapshots", len(r.Snapshots))
	}
	for _, s := range r.Snapshots {
		want := map[string]int{"t0": 0, "t1": 2}[s.Label]
		if len(s.Contention) != want || *s.Totals.Goroutines != 2 || len(s.Groups) != 2 {
			t.Errorf("%s: %d profiles, %d goroutines in %d groups", s.Label, len(s.Contention), *s.Totals.Goroutines, len(s.Groups))
		}
		// Text and proto of one time are never added up.
		if want == 2 && (s.Contention[0].Profile != analysis.MutexProfile || s.Contention[0].Count != 20 || s.Contention[1].Count != 37) {
			t.Errorf("%+v", s.Contention)
		}
		if at := "2026-11-24 11:41:52"; s.Label == "t1" && (s.CapturedAt.Format(time.DateTime) != at || s.Process.Name.Value != "ledger") {
			t.Errorf("at %s, of %q", s.CapturedAt, s.Process.Name.Value)
		}
	}
}

func TestAMutexProfileAloneIsASnapshotWithoutFamilies(t *testing.T) {
	r := run(t, map[string]string{"mutex.pb.gz": profileFile(t, "mutex-go1.26.8.pb.gz")})
	if len(r.Snapshots) != 1 {
		t.Fatalf("%d snapshots", len(r.Snapshots))
	}
	s := r.Snapshots[0]
	if len(s.Contention) != 1 || len(s.Groups) != 0 || s.Totals != (analysis.Totals{}) || s.Process.Name.Value != "ledger" {
		t.Errorf("%+v", s)
	}
}

func TestAMutexProfileThatFitsSeveralDumpsIsNamed(t *testing.T) {
	r := run(t, map[string]string{"goroutine-1.txt": lockedDump, "goroutine-2.txt": lockedDump + "\n", "mutex.txt": profileFile(t, "mutex-go1.26.8.txt")})
	for _, s := range r.Snapshots {
		if len(s.Contention) > 0 {
			t.Errorf("%s has it", s.Label)
		}
	}
	for _, p := range r.Problems {
		if p.What == "the profile of waits is not shown" && p.Path == "mutex.txt" && p.Severity == analysis.Warning {
			return
		}
	}
	t.Errorf("%+v", r.Problems)
}

func TestAnEmptyProfileSaysHowItFills(t *testing.T) {
	r := run(t, map[string]string{"goroutine.txt": lockedDump, "block.txt": "--- contention:\ncycles/second=2096012853\n"})
	for _, p := range r.Problems {
		if p.What == "the block profile is empty" && strings.Contains(p.Why, "SetBlockProfileRate") && p.Severity == analysis.Note {
			return
		}
	}
	t.Errorf("%+v", r.Problems)
}
