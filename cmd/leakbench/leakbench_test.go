package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// binary returns the program to measure: LEAKDIFF_BINARY, or one built for this test.
func binary(t *testing.T) string {
	if path := os.Getenv("LEAKDIFF_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "leakdiff")
	build := exec.Command("go", "build", "-o", path, "./cmd/leakdiff")
	build.Dir = filepath.Join("..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return path
}

func TestKeptCapturesAreJudgedAtLeastAsWellAsBefore(t *testing.T) {
	cases, err := readCases("")
	if err != nil {
		t.Fatal(err)
	}
	results, err := judgeAll(cases, binary(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("held.tsv")
	if err != nil {
		t.Fatal(err)
	}
	now := map[string][]string{}
	for _, r := range results {
		now[r.name] = strings.Split(heldRow(r), "\t")
		if n := r.accused(); n != nil {
			t.Errorf("%s: a version without a leak is called leaking at %v captures", r.name, n)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		before := strings.Split(line, "\t")
		got := now[before[0]]
		if got == nil {
			t.Errorf("%s: held.tsv has it and its captures are gone", before[0])
			continue
		}
		for i, what := range []string{"found", "holder first"} {
			if atoi(t, got[i+1]) > atoi(t, before[i+1]) {
				t.Errorf("%s: %s from %s captures on, before from %s", before[0], what, got[i+1], before[i+1])
			}
		}
		if before[3] == "yes" && got[3] != "yes" {
			t.Errorf("%s: its known leak was named on the bad version alone, and is not now", before[0])
		}
	}
}

// The count is this module's own, so that no pair stands on leakdiff's word.
func TestTheBadVersionOfEachPairLeaksAndTheGoodOneDoesNot(t *testing.T) {
	cases, err := readCases("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.kind == "healthy" {
			continue
		}
		for _, suffix := range c.versions() {
			raw, err := os.ReadFile(kept(c, suffix))
			if err != nil {
				t.Fatal(err)
			}
			members, err := unpack(raw)
			if err != nil {
				t.Fatal(err)
			}
			for i, counts := range heldByPart(c, members) {
				if counts[rounds-1]-counts[0] < 20 {
					t.Errorf("%s: the holder of %s has %v", c.name, c.parts[i].name, counts)
				}
			}
			counts := held(c, members)
			if grown := counts[rounds-1] - counts[0]; suffix == "bad" && grown < 20 || suffix == "good" && grown > 6 {
				t.Errorf("%s %s: the holder has %v", c.name, suffix, counts)
			}
			if len(raw) > 100_000 {
				t.Errorf("%s %s: %d bytes, more than 0.1 MB", c.name, suffix, len(raw))
			}
		}
	}
}

func TestGoroutinesAreReadWithTheirCreator(t *testing.T) {
	got := goroutines([]byte("goroutine 7 [chan receive]:\nmain.(*t).work(0x1)\n\tx/driver.go:9 +0x1\ncreated by main.main in goroutine 1\n\tx/driver.go:3 +0x1\n\ngoroutine 8 [running]:\nmain.main()\n"))
	if len(got) != 2 || got[0].id != "7" || strings.Join(got[0].frames, " ") != "main.(*t).work main.main" || got[1].frames[0] != "main.main" {
		t.Errorf("got %+v", got)
	}
}

func TestAPartOfSeveralLeaksCountsAsNamed(t *testing.T) {
	c := leakCase{parts: []leakCase{{name: "a", holders: []string{"x.(*A).run"}}, {name: "b", holders: []string{"fd:socket:", "127.0.0.1:"}}}}
	for _, test := range []struct {
		when     string
		findings []finding
		want     int
	}{
		{"not at all without a finding", nil, 0},
		{"by the stack of a finding that grew", []finding{{Verdict: "grew", Stack: []byte(`[{"function":"x.(*A).run"}]`)}}, 1},
		{"not by a finding that recovered", []finding{{Verdict: "recovered", Stack: []byte(`[{"function":"x.(*A).run"}]`)}}, 0},
		{"once, though two findings name it", []finding{{Verdict: "leaking", Text: "x.(*A).run"}, {Verdict: "leaking", Title: "x.(*A).run"}}, 1},
		{"each by a finding of its own", []finding{{Verdict: "leaking", Text: "x.(*A).run"}, {Verdict: "leaking", Title: "to 127.0.0.1:80"}}, 2},
	} {
		if got := readVerdict(c, report{Series: []series{{Findings: test.findings}}}).parts; got != test.want {
			t.Errorf("%s: %d, not %d", test.when, got, test.want)
		}
	}
}

func TestAnEntryIsListedAsNotBenchedUntilItHasAPair(t *testing.T) {
	listed := func(cases []leakCase) bool {
		all, err := notBenched(cases)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range all {
			if strings.HasPrefix(entry, "k8s-67285 ") {
				t.Errorf("%s is of a program", entry)
			}
		}
		return strings.Contains(strings.Join(all, "\n"), "pgx-1999 (pgx 5.9.0)")
	}
	if !listed(nil) || listed([]leakCase{{entry: "pgx-1999"}}) {
		t.Error("pgx-1999 is listed with a pair, or not listed without one")
	}
}

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
