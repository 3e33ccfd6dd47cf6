package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"leakdiff/internal/test/hostile"
	"leakdiff/samples/corpus"
)

// mostSteps is how many times as many steps a report of twice an input may take.
const mostSteps = 2.3

// TestAReportOfTwiceAHostileInputTakesTwiceTheSteps counts how often each block of our code
// runs, with a program that the compiler gave counters. What a library does is not counted.
func TestAReportOfTwiceAHostileInputTakesTwiceTheSteps(t *testing.T) {
	if os.Getenv("LEAKDIFF_STEPS") == "" {
		corpus.LeaveOut(t, "counted steps take minutes: make long runs it")
	}
	counted := filepath.Join(t.TempDir(), "leakdiff")
	build := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg=leakdiff/...", "-o", counted, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// A family has a count for each capture, so where each capture has families of its own the
	// work is that of captures times families, up to the bound of a file or directory.
	bounded := map[string]int{"dumps in a tar": 1000, "listings of lsof one after the other": 1000}
	for _, in := range hostile.All() {
		t.Run(in.Name, func(t *testing.T) {
			n := max(in.N/200, 20, bounded[in.Name])
			least, once, twice := steps(t, counted, in, 1), steps(t, counted, in, n), steps(t, counted, in, 2*n)
			ratio := (twice - least) / (once - least)
			t.Logf("%d members take %.0f steps, %d take %.2f times as many", n, once, 2*n, ratio)
			if ratio > mostSteps {
				t.Errorf("%d members take %.0f steps, %d take %.2f times as many, want at most %v", n, once, 2*n, ratio, mostSteps)
			}
		})
	}
}

// steps is how many blocks of our code run for a report of n members.
func steps(t *testing.T, counted string, in hostile.Input, n int) float64 {
	t.Helper()
	dir := t.TempDir()
	path, counters := filepath.Join(dir, in.File), filepath.Join(dir, "counters")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Write(f, n); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(counters, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(counted, "report", "--format", "json", path)
	cmd.Env = append(environment(), "GOCOVERDIR="+counters)
	// An input without evidence ends with a status of its own, and has its steps all the same.
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("%v: %.300s", err, out)
	}
	table := filepath.Join(dir, "table.txt")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+table).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return stepsIn(t, table)
}

// stepsIn adds the last figures of the lines "file:1.2,3.4 statements count".
func stepsIn(t *testing.T, table string) float64 {
	t.Helper()
	f, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum, lines := 0.0, bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 {
			n, err := strconv.ParseFloat(fields[2], 64)
			if err != nil {
				t.Fatal(fmt.Errorf("%s: %w", lines.Text(), err))
			}
			sum += n
		}
	}
	if err := lines.Err(); err != nil || sum == 0 {
		t.Fatalf("%v, %.0f steps", err, sum)
	}
	return sum
}
