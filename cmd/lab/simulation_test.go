package lab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"leakdiff/cmd/lab/simulation"
)

// simulationSeed is not the one with which the rules were looked at.
const simulationSeed = 20261125

// shortRuns is the number of runs of each class that every test run has.
const shortRuns = 5

// shortClasses are those of every test run: what a leak looks like in each kind of evidence,
// and the look-alikes that rules are most easily wrong about.
func shortClasses() []simulation.Class {
	names := []string{"steady-fast", "churn-quick", "cardinality-type", "cut-dumps", "sockets", "cache-cap", "warm-up", "sessions-short", "backlog-late", "thread-pool-fills"}
	return slices.DeleteFunc(simulation.Classes(), func(c simulation.Class) bool { return !slices.Contains(names, c.Name) })
}

// chosenClasses are those whose names LEAKDIFF_CLASSES matches, all without it.
func chosenClasses(t *testing.T) []simulation.Class {
	t.Helper()
	wanted, err := regexp.Compile(os.Getenv("LEAKDIFF_CLASSES"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(simulation.Classes(), func(c simulation.Class) bool { return !wanted.MatchString(c.Name) })
}

// program is the leakdiff that LEAKDIFF_BINARY names, else one built from this checkout.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("LEAKDIFF_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "leakdiff")
	if out, err := exec.Command("go", "build", "-o", path, "../leakdiff").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// TestSimulatedProgramsKeepTheirBounds runs ten classes through the program, each against its
// own bounds. With LEAKDIFF_SIMULATION, a number of runs, it runs all classes at every number
// of captures, and prints the table: this is `make lab`. LEAKDIFF_CLASSES, a regular
// expression, chooses among them.
func TestSimulatedProgramsKeepTheirBounds(t *testing.T) {
	classes, runs, sizes := shortClasses(), shortRuns, []int{10}
	if len(classes) != 10 {
		t.Fatalf("%d short classes are known, want 10", len(classes))
	}
	more := os.Getenv("LEAKDIFF_SIMULATION")
	if more != "" {
		all := simulation.Sizes()
		var err error
		if runs, err = strconv.Atoi(more); err != nil || runs < 1 {
			t.Fatalf("LEAKDIFF_SIMULATION is a number of runs: %q", more)
		}
		classes, sizes = chosenClasses(t), all[:]
	}
	lab := simulation.Lab{Binary: program(t), Temp: t.TempDir(), Seed: simulationSeed}
	var columns [][]simulation.Score
	for _, n := range sizes {
		scores, err := lab.Measure(classes, runs, n)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, scores)
		for _, score := range scores {
			for _, broken := range score.Broken() {
				t.Error(broken)
			}
		}
	}
	if more == "" {
		return
	}
	turns, err := lab.Prefixes(classes, max(1, runs/5))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	simulation.Table(&out, lab.Seed, columns, turns)
	t.Log("\n" + out.String())
}
