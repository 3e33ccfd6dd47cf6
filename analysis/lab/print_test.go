package lab_test

import (
	"os"
	"strconv"
	"testing"

	"leakdiff/analysis/lab"
)

// TestLaboratoryPrints is `make lab`: it measures with as many runs for each
// class as LEAKDIFF_LAB says and prints the table.
func TestLaboratoryPrints(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("LEAKDIFF_LAB"))
	if err != nil {
		t.Skip("LEAKDIFF_LAB is not set to a number of runs; make lab sets it")
	}
	if err := lab.Run(os.Stdout, 20261121, runs); err != nil {
		t.Fatal(err)
	}
}
