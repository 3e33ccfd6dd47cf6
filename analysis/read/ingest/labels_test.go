package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// The program started 10 goroutines for each of the tenants b and c, then 20 a capture for a:
// debug2.txt is the second capture, the others are the fourth.
func TestLabelsOfEachFormAreCounted(t *testing.T) {
	for file, ofA := range map[string]int{"debug1.txt": 60, "profile.pb.gz": 60, "debug2.txt": 20} {
		text, err := os.ReadFile(filepath.Join("testdata", "labels", file))
		if err != nil {
			t.Fatal(err)
		}
		s := run(t, map[string]string{"app/" + file: string(text)}).Snapshots[0]
		label := func(key, value string, n int) analysis.LabelCount {
			return analysis.LabelCount{Label: analysis.Label{Key: key, Value: value}, Count: n}
		}
		want := []analysis.LabelCount{label("svc", "api, v2", 20+ofA), label("tenant", "a", ofA), label("tenant", "b", 10), label("tenant", "c", 10)}
		if len(s.Groups) != 1 || len(s.Labels) != 1 {
			t.Fatalf("%s: %d families, labels %v", file, len(s.Groups), s.Labels)
		}
		if d := cmp.Diff(want, s.Labels[s.Groups[0].Family.Fingerprint]); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

func TestAncestorsOfAFamilyAreCountedByTheirPlaces(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "labels", "debug2.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, map[string]string{"app/goroutine.txt": string(text)}).Snapshots[0]
	all := s.Ancestries[s.Groups[0].Family.Fingerprint]
	if len(all) != 2 || all[0].Count != 20 || all[1].Count != 20 { // b and c are started in one loop, a in another
		t.Fatalf("got %+v", all)
	}
	for _, a := range all {
		if len(a.Stacks) != 2 || a.Stacks[0].Frames[0].Func != "main.start" || a.Stacks[0].CreatedBy.Func != "main.main" || a.Stacks[1].Frames[0].Func != "main.main" {
			t.Errorf("got %+v", a)
		}
	}
}

func TestAncestorsOfADumpAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 2 * analysis.MostAncestries {
		for k := range i + 1 {
			fmt.Fprintf(&b, "goroutine %d [select]:\nmain.work()\n\t/src/app/work.go:21 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:12 +0x5a\n[originating from goroutine 1]:\nmain.main(...)\n\t/src/app/main.go:%d +0x1\n\n", 100*i+k+10, 100+i)
		}
	}
	s := run(t, map[string]string{"app/goroutine.txt": b.String()}).Snapshots[0]
	all := s.Ancestries[s.Groups[0].Family.Fingerprint]
	if len(all) != analysis.MostAncestries {
		t.Fatalf("%d ancestries", len(all))
	}
	for i, a := range all {
		if want := 2*analysis.MostAncestries - i; a.Count != want || a.Stacks[0].Frames[0].Line != 100+want-1 {
			t.Errorf("ancestry %d: %+v", i, a)
		}
	}
}

// Go prints labels in a dump from 1.26 on, and always in a profile: one of the same instant has those
// of a dump without.
func TestLabelsOfAProfileAreThoseOfTheDumpBesideIt(t *testing.T) {
	const profile = "goroutine profile: total 5\n%d @ 0x1\n# labels: {\"tenant\":\"a\"}\n#\t0x1\tmain.work+0x1d\t/src/app/work.go:21\n\n%d @ 0x1\n#\t0x1\tmain.work+0x1d\t/src/app/work.go:21\n\n"
	bare := strings.NewReplacer(" labels:{\"tenant\": \"t0\"}", "", " labels:{\"tenant\": \"t1\"}", "", " labels:{\"tenant\": \"t2\"}", "", " labels:{\"tenant\": \"t3\"}", "", " labels:{\"tenant\": \"t4\"}", "")
	for name, tc := range map[string]struct {
		dump string
		want []analysis.LabelCount
	}{
		"a dump without labels":  {bare.Replace(labelledDump(5)), []analysis.LabelCount{{Label: analysis.Label{Key: "tenant", Value: "a"}, Count: 3}}},
		"a dump with its labels": {strings.Replace(bare.Replace(labelledDump(5)), "[select]", "[select labels:{\"tenant\": \"t0\"}]", 1), []analysis.LabelCount{{Label: analysis.Label{Key: "tenant", Value: "t0"}, Count: 1}}},
	} {
		r := run(t, map[string]string{"app/goroutine.debug2.txt": tc.dump, "app/goroutine.debug1.txt": fmt.Sprintf(profile, 3, 2)})
		if len(r.Snapshots) != 1 || len(r.Snapshots[0].Groups) != 1 {
			t.Fatalf("%s: %d snapshots, %+v", name, len(r.Snapshots), r.Problems)
		}
		s := &r.Snapshots[0]
		if d := cmp.Diff(tc.want, s.Labels[s.Groups[0].Family.Fingerprint]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
