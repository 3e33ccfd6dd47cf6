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

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
